"""Units that ConstraintGroups tie to each other: decided together, over several nodes."""
