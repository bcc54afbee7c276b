"""Why nothing fits, and what would have to change: minimal sets of reasons, and the smallest relaxations."""
