"""Clusters with nodes of several shapes."""

from collections.abc import Callable, Mapping

from .channels import channel_shape
from .cpus import cpu_shape
from .gpus import gpu_shape
from .mig import mig_shape
from .nics import nic_shape
from .objects import Mapped
from .shapes import Shape, nodes_of

SHAPES: dict[str, Callable[[], Shape]] = {
    "a100": lambda: gpu_shape("A100-SXM4-40GB", 8),
    "h100": lambda: gpu_shape("H100-SXM5-80GB", 8),
    "l4": lambda: gpu_shape("L4", 4),
    "mig": lambda: mig_shape(4),
    "nic": lambda: nic_shape(8, 4),
    "cpu": lambda: cpu_shape(2, 32),
    "channel": lambda: channel_shape(16),
}

_USUAL = {"h100": 4, "a100": 3, "l4": 2, "mig": 2, "nic": 3, "cpu": 2}


def mixed_nodes(
    nodes: int = 10, *, seed: int = 0, fullness: float = 0.0, mix: Mapping[str, float] | None = None
) -> list[Mapped]:
    """Nodes each of one of SHAPES, drawn by the weights of ``mix``; ``fullness`` as in the shapes' own generators."""
    weights = mix or _USUAL
    for name in weights:
        if name not in SHAPES:
            raise ValueError(f"unknown shape {name!r}, known are: {', '.join(SHAPES)}")
    return nodes_of([(SHAPES[name](), weight) for name, weight in weights.items()], nodes, "node", seed, fullness)
