"""Function libraries of the Kubernetes CEL environment, one module each (cel.md 1.4)."""
