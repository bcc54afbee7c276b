"""Shapes in a topology as rows: a literal for each place where a shape can be, or reaching from device to device."""
