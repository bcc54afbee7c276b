"""From a cluster and its queue to an instance of planning: classes of units and nodes, gangs, goals, what is bought."""
