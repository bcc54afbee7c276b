"""The result documents and their JSON Schema."""
