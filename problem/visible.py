"""What the expressions and constraints of a question can see of devices: the rest makes no difference to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..cel.devices_projection import Path

ATTRIBUTES = "attributes"


@dataclass(frozen=True, slots=True)
class Visible:
    """Which attributes are looked at: those on the ``paths`` of expressions, and those that constraints name.

    ``names`` are compared, so that devices match by them; ``coordinates`` only say where devices stand. Of all of them
    the values are seen; which attributes there are, and everything else of a device, can always be seen.
    """

    paths: frozenset[Path] = frozenset()
    names: frozenset[str] = frozenset()
    coordinates: frozenset[str] = frozenset()

    def joined(self, other: Visible) -> Visible:
        """What either of two sees: devices that look the same so look the same to each."""
        return Visible(self.paths | other.paths, self.names | other.names, self.coordinates | other.coordinates)

    def of(self, driver: str, attributes: Iterable[str]) -> tuple[str, ...]:
        """List the names that are seen among those of a device's attributes."""
        return tuple(name for name in attributes if self._sees(driver, name))

    def _sees(self, driver: str, name: str) -> bool:
        """CEL-10, CON-2: a name without a domain is the driver's."""
        domain, slash, identifier = name.partition("/")
        path = (ATTRIBUTES, domain, identifier) if slash else (ATTRIBUTES, driver, name)
        if any(path[:length] in self.paths for length in range(len(path) + 1)):
            return True
        full = f"{driver}/{name}"
        return any(one in known for known in (self.names, self.coordinates) for one in (name, full))


EVERYTHING = Visible(frozenset({()}))
