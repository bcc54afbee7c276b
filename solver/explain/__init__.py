"""Why a unit does not fit: a minimal unsatisfiable subset, and the cheapest relaxations."""
