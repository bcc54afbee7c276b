"""API types of Kubernetes and of drasat.dev, quantities, versions, label selectors, feature gates."""
