"""The stages of an objective; ``table`` lists them all."""
