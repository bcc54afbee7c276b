"""Manifests: older API versions converted, objects read and written without loss."""
