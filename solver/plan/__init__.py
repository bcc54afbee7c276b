"""Many units on many nodes at once, by column generation with a proven bound."""
