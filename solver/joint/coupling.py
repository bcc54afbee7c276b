"""Which units must be decided together: those with claims that a ConstraintGroup is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from ...models.claims import ResourceClaim
from ...models.cluster import Cluster
from ...models.constraint_groups import ConstraintGroup
from ...models.core import Node
from ...models.group_members import members
from ...models.identity import ObjectKey, key_of
from ...models.pod_claims import ClaimRef
from ...models.units import Unit
from ..capacity_parts import linked
from ..outcome import Reason


@dataclass(frozen=True, slots=True)
class Tie:
    """A group with the claims that it is about."""

    group: ConstraintGroup
    claims: tuple[ObjectKey, ...]

    @property
    def label(self) -> str:
        """How messages name it."""
        return f"ConstraintGroup {'/'.join(key_of(self.group.metadata))}"

    @property
    def is_soft(self) -> bool:
        """Whether any of its entries need not hold."""
        return any(entry.weight is not None for entry in self.group.spec.constraints or ())

    @property
    def demand(self) -> Tie:
        """The tie with what must hold alone."""
        spec = self.group.spec
        hard = tuple(entry for entry in spec.constraints or () if entry.weight is None)
        return replace(self, group=structs.replace(self.group, spec=structs.replace(spec, constraints=hard)))


@dataclass(frozen=True, slots=True)
class Seat:
    """Units that go to one node: one, or several that share a claim; ``asked`` are their claims, each once."""

    units: tuple[Unit, ...]
    asked: tuple[ClaimRef, ...]

    @property
    def claims(self) -> list[ResourceClaim]:
        """The claims to be allocated."""
        return [ref.claim for ref in self.asked if ref.claim is not None]


@dataclass(frozen=True, slots=True)
class Suited:
    """Nodes that a seat may go to, whatever devices they have, and why others do not suit it."""

    nodes: tuple[Node, ...]
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Coupled:
    """Seats that are decided together, and why."""

    seats: tuple[Seat, ...]
    ties: tuple[Tie, ...]

    @property
    def units(self) -> Iterator[Unit]:
        """Yield all units."""
        for seat in self.seats:
            yield from seat.units


def coupled(cluster: Cluster, asked: Sequence[Unit], there: Sequence[Unit] | None = None) -> tuple[Coupled, ...]:
    """Find the sets of units that groups tie, in the order asked. Raises ``ValueError`` for a group that is wrong.

    ``there`` are the units that groups may speak of; None: those of the cluster.
    """
    groups = [group for group in cluster.constraint_groups.values() if _says_any(group)]
    ties = [Tie(group, members(group, cluster, there)) for group in groups]
    return _sets(_seats(asked), ties)


def loosened(coupled: Coupled) -> tuple[Unit | Coupled, ...]:
    """Take apart what only soft entries hold together: they must not stand in anybody's way (SOFT-1)."""
    demands = [tie.demand for tie in coupled.ties]
    sets = _sets(coupled.seats, [tie for tie in demands if _says_any(tie.group)])
    return tuple(in_order([*coupled.units], sets))


def _sets(seats: Sequence[Seat], ties: Sequence[Tie]) -> tuple[Coupled, ...]:
    own = [{ref.key for ref in seat.asked} for seat in seats]
    reached = {
        number: [place for place, tie in enumerate(ties) if not keys.isdisjoint(tie.claims)]
        for number, keys in enumerate(own)
    }
    sets = linked({number: places for number, places in reached.items() if places})
    return tuple(_coupled(set_, seats, ties, reached) for set_ in sets)


def _says_any(group: ConstraintGroup) -> bool:
    return bool(group.spec.constraints or group.spec.same_node_label)


def _seats(asked: Sequence[Unit]) -> list[Seat]:
    """Put units that share a claim which has no devices yet on one seat."""
    sharing = linked({number: [ref.key for ref in unit.asked] for number, unit in enumerate(asked)})
    return [_seat([asked[number] for number in numbers]) for numbers in sharing]


def _seat(units: Sequence[Unit]) -> Seat:
    refs = {ref.key: ref for unit in reversed(units) for ref in reversed(unit.asked)}
    ordered = dict.fromkeys(ref.key for unit in units for ref in unit.asked)
    return Seat(tuple(units), tuple(refs[key] for key in ordered))


def _coupled(
    numbers: Iterable[int], seats: Sequence[Seat], ties: Sequence[Tie], reached: Mapping[int, Sequence[int]]
) -> Coupled:
    own = sorted(numbers)
    concerned = sorted({tie for number in own for tie in reached[number]})
    return Coupled(tuple(seats[number] for number in own), tuple(ties[tie] for tie in concerned))


def in_order(asked: Sequence[Unit], sets: Sequence[Coupled]) -> Iterator[Unit | Coupled]:
    """Yield units and, in the place of its first unit, each coupled set."""
    owner = {id(unit): coupled for coupled in sets for unit in coupled.units}
    seen: set[int] = set()
    for unit in asked:
        coupled = owner.get(id(unit))
        if coupled is None:
            yield unit
        elif id(coupled) not in seen:
            seen.add(id(coupled))
            yield coupled
