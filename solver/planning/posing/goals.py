"""The stages of a plan's objective by name, as terms over an instance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from math import lcm

from ....models.entries import annotated_entries
from ....models.planned_sets import UnitShape
from ..bundles.copy_costs import COMPACT as COMPACT_MEASURE
from ..bundles.copy_costs import PREFERENCE, SOFT
from ..bundles.measures import SPREAD, Measure, Occupied
from ..bundles.question import BundleQuestion
from ..instance import Gang, Instance, Row, Stage, Terms
from .gangs import GangChoice
from .mix import NAME as FRAGMENTATION
from .mix import Mix, Mixed, target_mix
from .node_kinds import NodeKind
from .roles import Role
from .weights import Weigh, devices_of, weigher

DEFAULT = ("priority", "admitted")
COST, FEWEST_NODES, COMPACT = "cost", "fewest-nodes", COMPACT_MEASURE.id
MEASURES: Mapping[str, Measure] = {one.id: one for one in (SPREAD, PREFERENCE, SOFT, COMPACT_MEASURE)}
"""Stages about what a node's bundle is like; each is a meter."""
# More units of a node than so many are few kinds of them, where exact prices hardly matter.
_CROWD = 256
NAMES = ("priority", "admitted", COST, FEWEST_NODES, *MEASURES, FRAGMENTATION)


def parse_objective(objective: str | Sequence[str], buys: bool) -> tuple[str, ...]:
    """Read names of stages; without any the usual ones, and what is bought costs something. Raises ``ValueError``."""
    parts = [part.strip() for part in objective.split(",")] if isinstance(objective, str) else list(objective)
    names = [part for part in parts if part] or list(DEFAULT)
    for number, name in enumerate(names):
        head, equals, rest = name.partition("=")
        if head not in NAMES or (equals and head != "admitted"):
            raise ValueError(f"unknown stage {name!r} of an objective, known are: {', '.join(NAMES)}")
        if equals:
            weigher(rest)
        if name in names[:number]:
            raise ValueError(f"stage {name!r} comes twice in the objective")
    return (*names, COST) if buys and COST not in names else tuple(names)


def value_annotation(names: Sequence[str]) -> str | None:
    """The annotation that holds the value of units, where a stage names one. Raises ``ValueError`` for two of them."""
    kinds = (name.partition("=")[2] for name in names if name.startswith("admitted="))
    keys = list(dict.fromkeys(weigher(kind)[1] for kind in kinds if kind.startswith("annotation:")))
    if len(keys) > 1:
        raise ValueError(f"an objective may name one annotation, not {' and '.join(keys)}")
    return keys[0] if keys else None


@dataclass(frozen=True, slots=True)
class Goal:
    """A stage of the core, whose values are in 1 / ``scale`` of what the user thinks in.

    ``ahead`` is what was placed before the core came to it, ``limit`` what no plan at all exceeds (or falls below), in
    the same unit. ``is_of_units``: it counts what is placed of the queue, of which ``limit`` is all.
    """

    stage: Stage
    scale: int = 1
    ahead: int = 0
    limit: int = 0
    is_of_units: bool = False

    def told(self, value: float) -> float:
        """A value as the user knows it."""
        whole = value + self.ahead
        return whole // self.scale if whole % self.scale == 0 else whole / self.scale


@dataclass
class Goals:
    """Makes the stages that ``names`` ask for, and what they need of instance and questions.

    ``roles``, ``gangs`` and ``nodes`` are those of the instance, ``mixed`` the roles of which ``fragmentation`` leaves
    room for more; ``prices`` those of nodes that could be bought. ``asked`` are all units of the queue, ``ahead`` those
    that were placed before, on ``opened`` nodes that were not in use.
    """

    names: Sequence[str]
    roles: Sequence[Role]
    gangs: Sequence[tuple[Gang, GangChoice]]
    nodes: Sequence[NodeKind]
    prices: Mapping[int, Fraction]
    budget_limit: Fraction | None
    asked: Sequence[UnitShape]
    ahead: Sequence[UnitShape]
    opened: int
    mixed: Sequence[Role]

    @cached_property
    def mix(self) -> Mix | None:
        """The guests of ``fragmentation``, where that is asked for."""
        if FRAGMENTATION not in self.names:
            return None
        playing = {role.kind.index: role for role in reversed(self.mixed)}
        mixed = [
            Mixed(role.index, len(role.kind.entries), devices_of(role.kind.shapes))
            for _, role in sorted(playing.items())
        ]
        devices = sum(node.count * len(node.view.devices) for node in self.nodes if not node.template)
        return target_mix(mixed, len(self.roles), devices)

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures; where guests may be on nodes, a measure says which of these are in use."""
        counted = [name for name in (COST, FEWEST_NODES) if name in self.names or self._limits(name)]
        return (*(name for name in MEASURES if name in self.names), *(counted if self.mix else ()))

    @property
    def sizes(self) -> tuple[int, ...]:
        """By how much one more unit may raise each measure, roughly."""
        known = {
            SPREAD.id: min(_CROWD, 2 * len(self.asked)),
            SOFT.id: max((_soft_weight(role) for role in self.roles), default=0),
            COMPACT: _CROWD,
            COST: max(self._amounts(COST).values(), default=0),
        }
        return tuple(max(1, known.get(name, 1)) for name in self.measures)

    def measures_of(self, node: NodeKind) -> list[Measure]:
        """The measures of a node kind's questions, in the order of their names."""
        return [MEASURES.get(name) or Occupied(self._amounts(name).get(node.index, 0)) for name in self.measures]

    def instance(self, instance: Instance) -> Instance:
        """Add what stages place beside the plan."""
        return self.mix.instance(instance) if self.mix else instance

    def question(self, question: BundleQuestion) -> BundleQuestion:
        """Let a node have what stages place beside the plan."""
        return self.mix.question(question) if self.mix else question

    def budget(self, first: int) -> list[Row]:
        """What may be spent; ``first`` is the meter of the first measure."""
        if self.budget_limit is None:
            return []
        return [Row(self._counted(COST, first), upper=int(self.budget_limit * self._price_scale))]

    def stages(self, first: int) -> tuple[Goal, ...]:
        """The stages in order; ``first`` is the meter of the first measure."""
        return tuple(goal for name in self.names for goal in self._made(name, first))

    def _made(self, name: str, first: int) -> Iterator[Goal]:
        head, _, rest = name.partition("=")
        if head == "priority":
            for priority in sorted({shape.priority for shape in self.asked}, reverse=True):
                yield self._weighted(f"priority={priority}", partial(_is_of, priority))
        elif head == "admitted":
            yield self._weighted(name, weigher(rest or "count")[0])
        elif head == FRAGMENTATION:
            yield from () if self.mix is None else (Goal(self.mix.stage, limit=self.mix.most),)
        else:
            stage = Stage(name, self._counted(name, first), maximise=False)
            scale = self._price_scale if name == COST else 1
            yield Goal(stage, scale, self.opened if name == FEWEST_NODES else 0)

    def _counted(self, name: str, first: int) -> Terms:
        """A measure by its meter, and nodes by themselves where no measure counts them."""
        if name in self.measures:
            return Terms(usage={first + self.measures.index(name): 1})
        return Terms(nodes=self._amounts(name))

    def _amounts(self, name: str) -> dict[int, int]:
        """What a node of each kind counts once it is in use; one that is so anyway counts nothing."""
        if name == COST:
            return {node: int(price * self._price_scale) for node, price in self.prices.items() if price}
        return {node.index: 1 for node in self.nodes if not node.is_in_use}

    @cached_property
    def _price_scale(self) -> int:
        return lcm(*(price.denominator for price in (*self.prices.values(), self.budget_limit or Fraction(0))))

    def _limits(self, name: str) -> bool:
        return name == COST and self.budget_limit is not None

    def _weighted(self, name: str, weigh: Weigh) -> Goal:
        values = {role.kind.index: _worth(role.kind.shapes, weigh) for role in self.roles}
        everything, ahead = _worth(self.asked, weigh), _worth(self.ahead, weigh)
        worths = (everything, ahead, *values.values())
        scale = lcm(*(value.denominator for value in worths))
        worth = {kind: int(value * scale) for kind, value in values.items()}
        units = {role.index: worth[role.kind.index] for role in self.roles if worth[role.kind.index]}
        gangs = {number: total for number, pair in enumerate(self.gangs) if (total := _of_gang(*pair, worth))}
        return Goal(
            Stage(name, Terms(units=units, gangs=gangs)), scale, int(ahead * scale), int(everything * scale), True
        )


def _soft_weight(role: Role) -> int:
    """The weight of all soft entries of a party."""
    return sum(entry.weight or 0 for claim in role.kind.claims for entry in annotated_entries(claim.metadata))


def _is_of(priority: int, shape: UnitShape) -> Fraction:
    return Fraction(shape.priority == priority)


def _worth(shapes: Sequence[UnitShape], weigh: Callable[[UnitShape], Fraction]) -> Fraction:
    return sum((weigh(shape) * number for shape, number in Counter(shapes).items()), Fraction(0))


def _of_gang(gang: Gang, choice: GangChoice, worth: Mapping[int, int]) -> int:
    kinds = {role: kind for kind, role in choice.roles.items()}
    return sum(size * worth[kinds[role]] for role, size in gang.members)
