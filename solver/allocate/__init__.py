"""Claims and pods get devices, one unit after the other; coupled units together."""
