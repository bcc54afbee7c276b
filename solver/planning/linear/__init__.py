"""Columns of nodes whose resources are all linear, by dynamic programming."""
