"""How many more copies of a claim or pod fit."""
