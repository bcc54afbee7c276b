"""Pricing: the most valuable column of one node class, exactly or by dynamic programming."""
