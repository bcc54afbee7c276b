"""What the objects are: models of the APIs, manifests in and out, and the Cluster."""
