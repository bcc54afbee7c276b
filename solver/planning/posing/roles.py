"""What places are counted for in an instance: a kind of unit, some of them within one domain of a node label only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .node_kinds import NodeKind
from .unit_kinds import Entry, UnitKind

Domain = tuple[str, str]
"""A node label and one of its values."""


@dataclass(slots=True, eq=False)
class Role:
    """A unit class of the instance. ``singles`` are parties that are placed one by one."""

    index: int
    kind: UnitKind
    domain: Domain | None = None
    singles: list[Entry] = field(default_factory=list)

    def suits(self, node: NodeKind) -> bool:
        """Whether it may be played on nodes of this kind."""
        if self.kind.index not in node.suited:
            return False
        return self.domain is None or node.labels.get(self.domain[0]) == self.domain[1]


class Roles:
    """All roles, numbered as they are first asked for."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Domain | None], Role] = {}

    def of(self, kind: UnitKind, domain: Domain | None = None) -> Role:
        """Find the role of a kind."""
        key = kind.index, domain
        role = self._known.get(key)
        if role is None:
            role = self._known[key] = Role(len(self._known), kind, domain)
        return role

    @property
    def all(self) -> Sequence[Role]:
        """All of them, by number."""
        return list(self._known.values())
