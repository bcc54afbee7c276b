"""From a queue and a cluster to a planning instance: unit classes, node classes, gangs, shared devices, objectives."""
