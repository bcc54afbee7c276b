"""One encoder a kind of constraint; ``table`` lists them all."""
