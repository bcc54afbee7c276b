"""How schedulers place one unit after another, on the same units and nodes as a plan: rivals to compare with."""
