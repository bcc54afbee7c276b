"""What is asked of a plan, and what it becomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ....models.planned_units import PlannedUnit
from ....problem.in_use import Ledger
from ...attempts import Session
from ...node_engine import NodeEngine
from ..bundles.question import BundleQuestion
from ..instance import Instance
from .buying import Shop
from .gangs import GangChoice
from .goals import Goal
from .node_kinds import NodeKind
from .pricers import Pricers
from .roles import Role
from .shared_devices import SharedDevices
from .together import Together
from .unit_kinds import UnitKind


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked of a plan: stages by name, the places in the queue that are open, what may be bought.

    ``ahead`` is what was placed before, and what it leaves; ``mix`` are the units that ``fragmentation`` leaves room
    for, None for those of the queue.
    """

    session: Session
    queue: Sequence[PlannedUnit]
    open: Sequence[int]
    objective: tuple[str, ...]
    ahead: Together
    shop: Shop | None = None
    only_new: bool = False
    budget: Fraction | None = None
    mix: Sequence[PlannedUnit] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Posed:
    """A question of planning: what the core solves, and what its numbers mean.

    ``hopeless`` says of places in the queue why nothing can be placed there; ``is_narrowed``: bounds are about the
    instance and not about all plans, of which some were left out.
    """

    instance: Instance
    goals: tuple[Goal, ...]
    pricer: Pricers
    kinds: tuple[UnitKind, ...]
    roles: tuple[Role, ...]
    choices: tuple[GangChoice, ...]
    nodes: tuple[NodeKind, ...]
    questions: Mapping[int, BundleQuestion]
    shared: SharedDevices
    engine: NodeEngine
    ledger: Ledger
    hopeless: Mapping[int, str]
    is_narrowed: bool
