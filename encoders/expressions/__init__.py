"""CEL expressions over several devices as constraints of a CP-SAT model."""
