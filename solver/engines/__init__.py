"""Engines answer one question: these claims, on this node, beside what is in use."""
