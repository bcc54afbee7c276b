"""What the containers of a pod ask of a node."""

from .base import Model, QuantityText


class ResourceRequirements(Model):
    """Amounts of resources; a request that is absent is the limit, as the API server has it."""

    requests: dict[str, QuantityText] | None = None
    limits: dict[str, QuantityText] | None = None


class Container(Model):
    """A container; an init container with ``restart_policy`` Always is a sidecar, which runs as long as the pod."""

    name: str = ""
    resources: ResourceRequirements | None = None
    restart_policy: str = ""
