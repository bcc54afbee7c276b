"""Texts with blanks: a problem is shared by equal nodes and claims, so that names are filled in last."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from ..models.identity import DeviceId, ObjectKey, PoolId


class Blank(Enum):
    """What is filled in."""

    CLAIM = "namespace and name of the claim"
    CLAIM_NAME = "name of the claim"
    DEVICE = "driver, pool and name of the device"
    DEVICE_NAME = "name of the device"
    POOL = "driver and name of the pool"


Message: TypeAlias = tuple[str | Blank, ...]


def claim_text(claim: ObjectKey) -> str:
    """Namespace and name as in messages: without a namespace the name alone."""
    return "/".join(part for part in claim if part)


@dataclass(frozen=True, slots=True)
class Names:
    """Names of the things a Problem numbers."""

    claims: tuple[ObjectKey, ...]
    devices: tuple[DeviceId, ...]
    pools: tuple[PoolId, ...]

    def fill(
        self, message: Message, *, claim: int | None = None, device: int | None = None, pool: int | None = None
    ) -> str:
        """Text of the message about the claim, device and pool of these numbers."""
        values: dict[Blank, str] = {}
        if claim is not None:
            values[Blank.CLAIM] = claim_text(self.claims[claim])
            values[Blank.CLAIM_NAME] = self.claims[claim][1]
        if device is not None:
            values[Blank.DEVICE] = "/".join(self.devices[device])
            values[Blank.DEVICE_NAME] = self.devices[device][2]
        if pool is not None:
            values[Blank.POOL] = "/".join(self.pools[pool])
        return "".join(part if isinstance(part, str) else values[part] for part in message)
