"""From a plan over classes to units on nodes, with devices."""
