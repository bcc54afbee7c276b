"""The CEL expression language as Kubernetes DRA uses it."""
