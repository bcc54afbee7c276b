"""Claims of scenarios while they are being made, before they become objects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from . import objects
from .objects import Mapped

DRIVER = "gpu.example.com"


@dataclass
class DraftClaim:
    """A claim that asks for devices."""

    name: str
    requests: list[Mapped]
    constraints: list[Mapped] = field(default_factory=list)
    config: list[Mapped] = field(default_factory=list)

    @property
    def request_names(self) -> list[str]:
        """The names of the requests."""
        return [request["name"] for request in self.requests]

    def bodies(self) -> Iterator[Mapped]:
        """What is asked for: exact requests and alternatives alike."""
        for request in self.requests:
            yield from [request["exactly"]] if "exactly" in request else request["firstAvailable"]

    def spec(self) -> Mapped:
        """The spec of the claim."""
        return objects.claim_spec(self.requests, self.constraints, self.config)
