"""Kueue: quota for devices, decided as Kueue decides it."""
