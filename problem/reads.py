"""What a question reads of devices, gathered from its claims and their classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..cel.devices_projection import Path
from ..models.claims import DeviceClass, DeviceConstraint, DeviceSelector, ResourceClaim
from ..models.entries import Entry, annotated_entries
from ..models.given import Given
from ..models.predicates import Predicate
from .asks import Spec
from .selectors import ExpressionError, Expressions
from .topology_places import TopologyPlaces, coordinate_names
from .visible import ATTRIBUTES, Visible


def reads_of(
    claims: Iterable[ResourceClaim],
    entries: Iterable[Given],
    classes: Mapping[str, DeviceClass],
    expressions: Expressions,
    topologies: TopologyPlaces,
) -> Visible:
    """Find all that these claims could look at, in alternatives that nobody needs too, and entries beside their own."""
    paths: set[Path] = set()
    names: set[str] = set()
    coordinates: set[str] = set()
    claims = list(claims)
    given = list(entries)
    if any(isinstance(entry, Predicate) for entry in given):
        paths.add(())
    own = [entry for entry in given if isinstance(entry, Entry)]
    added = [*own, *(entry for claim in claims for entry in annotated_entries(claim.metadata))]
    for entry in (*(entry for claim in claims for entry in claim.spec.devices.constraints or ()), *added):
        names.update(filter(None, (entry.match_attribute, entry.distinct_attribute)))
        paths |= _read_by(entry, expressions)
    for entry in added:
        selectors, placing = _placing(entry, topologies)
        coordinates.update(placing)
        paths.update(*(expressions.reads(_text(selector)) for selector in selectors))
    for claim in claims:
        for spec in _specs(claim):
            known = classes.get(spec.device_class_name)
            for selector in (*((known.spec.selectors if known else None) or ()), *(spec.selectors or ())):
                paths |= expressions.reads(_text(selector))
            for derived in spec.derived_attributes or ():
                paths |= expressions.derivation_reads(derived.expression)
    # What begins with another path adds nothing: equal sets are then one lens more often.
    shortest = (path for path in paths if not any(path[:length] in paths for length in range(len(path))))
    kept = frozenset(path for path in shortest if path[:1] in ((), (ATTRIBUTES,)))
    return Visible(kept, frozenset(names), frozenset(coordinates))


def _read_by(entry: DeviceConstraint, expressions: Expressions) -> frozenset[Path]:
    """Find what an expression over ``devices`` looks at; one that does not compile, at nothing."""
    if entry.cel is None:
        return frozenset()
    expression = expressions.device_set(entry.cel.expression)
    return frozenset() if isinstance(expression, ExpressionError) else expression.reads


def _placing(entry: Entry, topologies: TopologyPlaces) -> tuple[Iterable[DeviceSelector], Iterable[str]]:
    """Find what says which devices a topology places, and where."""
    topology = topologies.topologies.get(entry.topology.name) if entry.topology else None
    return (topologies.selectors(topology), coordinate_names(topology)) if topology else ((), ())


def _specs(claim: ResourceClaim) -> Iterator[Spec]:
    for request in claim.spec.devices.requests or ():
        if request.exactly is not None:
            yield request.exactly
        yield from request.first_available or ()


def _text(selector: DeviceSelector) -> str:
    return selector.cel.expression if selector.cel else ""
