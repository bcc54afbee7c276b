"""What all checks of one verification look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...models.claims import DeviceClass
from ...models.core import Node
from ...models.gates import FeatureGates
from ...models.topologies import DeviceTopology
from .devices import DeviceRules
from .expressions import Expressions
from .inventory import Inventory
from .ledger import Attempt, Ledger


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """The cluster as the rules see it; the ledger moves on from unit to unit.

    ``errors_left_out`` says that a request for all devices leaves out those on which an expression fails.
    """

    classes: Mapping[str, DeviceClass]
    nodes: Sequence[Node]
    topologies: Mapping[str, DeviceTopology]
    gates: FeatureGates
    inventory: Inventory
    ledger: Ledger
    expressions: Expressions
    errors_left_out: bool = False

    @property
    def devices(self) -> DeviceRules:
        """The unary rules."""
        return DeviceRules(self.classes, self.gates, self.expressions)


class Seat(NamedTuple):
    """Where a claim is: on a node, as one of a unit's claims, after what the unit has taken."""

    node: Node
    attempt: Attempt
    number: int
