"""The stages of a plan's objective by name, as terms over an instance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import lcm

from ....models.planned_sets import UnitShape
from ..instance import Gang, Stage, Terms
from .gangs import GangChoice
from .node_kinds import NodeKind
from .roles import Role
from .weights import Weigh, weigher

DEFAULT = ("priority", "admitted")
COST = "cost"
MEASURES = ("spread", "preference", "soft", "compact")
"""Stages about what a node's bundle is like; each is a meter."""
FRAGMENTATION = "fragmentation"
NAMES = ("priority", "admitted", COST, "fewest-nodes", *MEASURES, FRAGMENTATION)


@dataclass(frozen=True, slots=True)
class Goal:
    """A stage of the core, whose values are in 1 / ``scale`` of what the user thinks in.

    ``ahead`` is what was placed before the core came to it, ``limit`` what no plan at all exceeds (or falls below), in
    the same unit.
    """

    stage: Stage
    scale: int = 1
    ahead: int = 0
    limit: int = 0

    def told(self, value: int) -> int | float:
        """A value as the user knows it."""
        whole = value + self.ahead
        return whole // self.scale if whole % self.scale == 0 else whole / self.scale


@dataclass(frozen=True, slots=True)
class Material:
    """What goals are about: roles and gangs of the instance, nodes and prices by number, the meter of each measure.

    ``ahead`` are the units that were placed before, on ``opened`` nodes that were not in use; ``asked`` are all units.
    """

    roles: Sequence[Role]
    gangs: Sequence[tuple[Gang, GangChoice]]
    nodes: Sequence[NodeKind]
    prices: Mapping[int, Fraction]
    meters: Mapping[str, int]
    asked: Sequence[UnitShape] = ()
    ahead: Sequence[UnitShape] = ()
    opened: int = 0
    mix: Stage | None = None


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


def goals(names: Sequence[str], material: Material) -> tuple[Goal, ...]:
    """Make the stages of an objective; those that repeat the one before are left out."""
    found: list[Goal] = []
    for name in names:
        head, _, rest = name.partition("=")
        found += _MAKERS[head](material, name, rest)
    return tuple(found)


def _priority(material: Material, _name: str, _rest: str) -> Iterator[Goal]:
    """One stage for each priority, the highest first."""
    shapes = (shape for role in material.roles for shape in role.kind.shapes)
    there = {shape.priority for shape in (*shapes, *material.ahead)}
    for priority in sorted(there, reverse=True):
        yield _weighted(material, f"priority={priority}", partial(_is_of, priority))


def _is_of(priority: int, shape: UnitShape) -> Fraction:
    return Fraction(shape.priority == priority)


def _admitted(material: Material, name: str, rest: str) -> Iterator[Goal]:
    yield _weighted(material, name, weigher(rest or "count")[0])


def _weighted(material: Material, name: str, weigh: Weigh) -> Goal:
    values = {role.kind.index: _worth(role.kind.shapes, weigh) for role in material.roles}
    ahead = _worth(material.ahead, weigh)
    scale = lcm(_worth(material.asked, weigh).denominator, *(value.denominator for value in values.values()))
    worth = {kind: int(value * scale) for kind, value in values.items()}
    units = {role.index: worth[role.kind.index] for role in material.roles if worth[role.kind.index]}
    gangs = {}
    for number, (gang, choice) in enumerate(material.gangs):
        kinds = {role: kind for kind, role in choice.roles.items()}
        total = sum(size * worth[kinds[role]] for role, size in gang.members)
        if total:
            gangs[number] = total
    limit = int(_worth(material.asked, weigh) * scale)
    return Goal(Stage(name, Terms(units=units, gangs=gangs)), scale, int(ahead * scale), limit)


def _worth(shapes: Sequence[UnitShape], weigh: Weigh) -> Fraction:
    return sum(map(weigh, shapes), Fraction(0))


def _cost(material: Material, name: str, _rest: str) -> Iterator[Goal]:
    scale = lcm(*(price.denominator for price in material.prices.values()))
    terms = Terms(nodes={node: int(price * scale) for node, price in material.prices.items() if price})
    yield Goal(Stage(name, terms, maximise=False), scale)


def _fewest_nodes(material: Material, name: str, _rest: str) -> Iterator[Goal]:
    """Nodes that are in use anyway count nothing."""
    terms = Terms(nodes={node.index: 1 for node in material.nodes if not node.is_in_use})
    yield Goal(Stage(name, terms, maximise=False), ahead=material.opened)


def _measured(material: Material, name: str, _rest: str) -> Iterator[Goal]:
    yield Goal(Stage(name, Terms(usage={material.meters[name]: 1}), maximise=False))


def _fragmentation(material: Material, _name: str, _rest: str) -> Iterator[Goal]:
    if material.mix is not None:
        yield Goal(material.mix)


_MAKERS: Mapping[str, Callable[[Material, str, str], Iterator[Goal]]] = {
    "priority": _priority,
    "admitted": _admitted,
    COST: _cost,
    "fewest-nodes": _fewest_nodes,
    **dict.fromkeys(MEASURES, _measured),
    FRAGMENTATION: _fragmentation,
}
