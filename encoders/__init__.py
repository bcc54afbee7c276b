"""How a Problem becomes CP-SAT: one small module for each kind of constraint."""
