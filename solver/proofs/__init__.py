"""Proofs that need no search: bounds that anyone can check by counting."""
