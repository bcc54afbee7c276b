"""Allocate Kubernetes DRA devices with a constraint solver."""
