"""Kueue: what it admits by counting quota, and why."""
