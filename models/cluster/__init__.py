"""The immutable cluster: nodes, pools, devices, and what is in use."""
