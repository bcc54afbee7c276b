"""What an error of an expression on a device does (CEL-6, CEL-7)."""

KUBE = "kube"
"""It is fatal when the search comes to the device, as in the scheduler."""
STRICT = "strict"
"""The device is never used, and if nothing fits without it, that is an error."""
SKIP = "skip"
"""The device is never used."""

POLICIES = (KUBE, STRICT, SKIP)
