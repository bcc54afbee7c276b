"""YAML and JSON in, typed objects out; problems with file, document and field path."""
