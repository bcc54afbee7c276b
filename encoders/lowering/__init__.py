"""Conditions on the set of chosen devices, as formulas over how many are chosen of each kind, and their rows."""
