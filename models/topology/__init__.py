"""Places of devices on graphs, and the free shapes between them."""
