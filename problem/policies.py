"""What an error of an expression on a device does (CEL-6, CEL-7)."""

KUBE = "kube"
"""It is fatal when the search comes to the device, as in the scheduler."""
STRICT = "strict"
"""The device is never used, and if nothing fits without it, that is an error."""
SKIP = "skip"
"""The device is never used."""

POLICIES = (KUBE, STRICT, SKIP)


def check_policy(name: str) -> None:
    """Raise ``ValueError``, one line, unless there is such a policy."""
    if name not in POLICIES:
        raise ValueError(f"unknown policy {name!r} for CEL errors, known are: {', '.join(POLICIES)}")
