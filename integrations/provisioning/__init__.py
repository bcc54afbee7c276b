"""ProvisioningRequests of Kueue: what is asked of the autoscaler, and what its answers lead to."""
