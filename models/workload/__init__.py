"""The queue: pods, controllers, gangs and groups, and the claims that they bring."""
