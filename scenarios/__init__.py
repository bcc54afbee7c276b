"""Made-up clusters of real shapes, seeded."""
