"""What the API server, or drasat, refuses or warns about."""
