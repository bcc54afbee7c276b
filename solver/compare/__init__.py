"""The same input through several engines or planners, side by side."""
