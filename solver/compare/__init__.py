"""Comparisons of engines and of planners: the same input, answered by several of them."""
