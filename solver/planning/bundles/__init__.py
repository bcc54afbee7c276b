"""Bundles: what one node can take at once under every rule that ``allocate`` knows, priced by CP-SAT."""
