"""Connections of drasat with other programs; the solver knows none of them."""
