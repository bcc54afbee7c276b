"""Results as tables, lines, graphs and pictures for people."""
