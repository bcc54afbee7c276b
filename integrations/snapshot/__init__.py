"""A file of a cluster's state: read through kubectl, with names replaced where that is asked for."""
