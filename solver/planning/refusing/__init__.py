"""Why units of a queue have no place in a plan: what ran out, by how much, and what would help."""
