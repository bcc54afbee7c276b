"""The public functions, one module a verb."""
