"""Property tests: what must hold for any cluster, tried on clusters made by chance.

A run is the same every time. To search longer, ask for a multiple of the examples; to begin elsewhere, add an
offset to the numbers that clusters are made from:

    DRASAT_PROPERTY_FACTOR=100 DRASAT_PROPERTY_OFFSET=1000000 pytest tests/properties
"""
