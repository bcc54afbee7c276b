"""Goals of an allocation, one module each: what a stage minimises."""
