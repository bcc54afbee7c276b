"""The entries of a claim as they are posed: those of its spec, then those of its annotation, by kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..models.claims import DeviceConstraint, ResourceClaim
from ..models.entries import Entry, annotated_entries
from ..models.gates import FeatureGates
from ..models.given import Given
from ..models.predicates import Predicate
from .messages import Blank
from .outcomes import FatalError

EntryKind = Literal["matchAttribute", "distinctAttribute", "cel", "topology", "predicate"]


@dataclass(frozen=True, slots=True)
class Posed:
    """An entry with its kind, its number in the claim, and how messages name it."""

    entry: Entry
    kind: EntryKind
    position: int
    label: str
    predicate: Predicate | None = None


def entries_of(number: int, claim: ResourceClaim, given: Sequence[Given], gates: FeatureGates) -> tuple[Posed, ...]:
    """List the entries of a claim; ``given`` are asked for beside its own. Raises ``FatalError`` (PRE-12)."""
    own = [
        (f"constraint #{index}", _entry(constraint))
        for index, constraint in enumerate(claim.spec.devices.constraints or ())
    ]
    added = [(_label(index, entry), entry) for index, entry in enumerate((*annotated_entries(claim.metadata), *given))]
    return tuple(
        _posed(number, label, entry, position, gates) for position, (label, entry) in enumerate((*own, *added))
    )


def posed_by(owner: str, entries: Iterable[Entry], gates: FeatureGates) -> tuple[Posed, ...]:
    """List the entries of something else than a claim, which messages name as ``owner``."""
    labels = ((f"{owner}, {_label(index, entry)}", entry) for index, entry in enumerate(entries))
    return tuple(_posed(0, label, entry, position, gates) for position, (label, entry) in enumerate(labels))


def _posed(claim: int, label: str, entry: Given, position: int, gates: FeatureGates) -> Posed:
    if isinstance(entry, Predicate):
        about = Entry(requests=entry.requests, name=entry.name, weight=entry.weight)
        return Posed(about, "predicate", position, label, entry)
    return Posed(entry, _kind(claim, label, entry, gates), position, label)


def _entry(constraint: DeviceConstraint) -> Entry:
    return Entry(**{name: getattr(constraint, name) for name in DeviceConstraint.__struct_fields__})


def _label(index: int, entry: Given) -> str:
    return f"entry {entry.name}" if entry.name else f"entry #{index}"


def _kind(claim: int, label: str, entry: Entry, gates: FeatureGates) -> EntryKind:
    """Tell what an entry asks for; with both attributes it is a match (CLM-2)."""
    if entry.match_attribute is not None:
        return "matchAttribute"
    if entry.distinct_attribute is not None and gates.variant != "stable":
        return "distinctAttribute"
    if entry.cel is not None and gates.cel_device_constraint:
        return "cel"
    if entry.topology is not None:
        return "topology"
    message = ("claim ", Blank.CLAIM, f", {label}: empty constraint (unsupported constraint type?)")
    raise FatalError("constraints", message, claim=claim)


def applies(entry: DeviceConstraint, request: str, subrequest: str) -> bool:
    """CON-1: the entry names no request, the (main) request, or this very alternative."""
    names = entry.requests
    return not names or request in names or (bool(subrequest) and f"{request}/{subrequest}" in names)
