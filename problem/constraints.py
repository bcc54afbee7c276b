"""Entries that compare attributes, compiled to tokens: equal values are equal numbers (section 13).

``entries_of_claim`` lists the entries of a claim by kind: those of its spec, then those of its annotation. The value of
an attribute is one thing, or a set of members, as the entry's semantics say (CON-4, CON-7, SEM-2).

Nearly every rule is about the set of devices that is taken, so that counts of equal devices say all. In two legal
manifests the order decides: a device that draws a negative amount makes room for those after it, and a list value may
come first under a scalar ``distinctAttribute`` and not later (CON-9).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..models.kubernetes.claims import SEMANTICS_MODES, DeviceConstraint, ResourceClaim, mode_options, semantics_of
from ..models.kubernetes.extensions import CallerConstraint, Entry, Predicate, annotated_entries
from ..models.kubernetes.gates import FeatureGates
from ..models.kubernetes.slices import (
    DeviceAttribute,
    Scalar,
    UnknownValue,
    member_values,
    published_value,
    scalar_value,
)
from .messages import FatalError, Message, Placeholder
from .problem import Constraint, FilterFailure, InUse, Problem
from .requests import ResolvedRequest
from .selectors import ExpressionError, ExpressionEvaluator
from .shapes import Profile

# In scalar mode a list or a value of no type: may come first, and nothing like it later (CON-8, CON-9).
INCOMPARABLE = -1
AttributeConstraintKind = Literal["matchAttribute", "distinctAttribute"]


class ValueTokens:
    """Numbers for the values of one constraint: one a value, or in set mode one bit a value."""

    def __init__(self, semantics: ValueSemantics) -> None:
        self._semantics = semantics
        self._numbers: dict[object, int] = {}
        self.of: Callable[[DeviceAttribute], int | None] = self._explicit if semantics.explicit else self._plain

    def _plain(self, value: DeviceAttribute) -> int:
        """Return the token of any value; without semantics only an attribute that is missing has none."""
        if self._semantics.sets:
            return self._bits(member_values(value))
        scalar = scalar_value(value)
        return INCOMPARABLE if scalar is None else self._number(scalar)

    def _explicit(self, value: DeviceAttribute) -> int | None:
        """Return the token of what is a value to these semantics, None for what is none (SEM-2, SEM-4)."""
        semantics, members = self._semantics, member_values(value)
        scalar = None if semantics.coerce else scalar_value(value)
        if semantics.sets:
            bits = 0 if scalar else self._bits(members)
            return bits if bits.bit_count() >= semantics.min_size else None
        if scalar:
            return self._number(scalar)
        return self._number(tuple(members) if semantics.ordered else frozenset(members)) if members else None

    def _bits(self, members: Iterable[Scalar]) -> int:
        return sum(1 << self._number(member) for member in dict.fromkeys(members))

    def _number(self, value: object) -> int:
        return self._numbers.setdefault(value, len(self._numbers))


class DerivedAttributes:
    """Attributes that an ask computes on its candidates, for constraints only (CON-12)."""

    def __init__(self, ask: ResolvedRequest, expressions: ExpressionEvaluator) -> None:
        self._expressions = expressions
        # Of two with one name the later counts.
        self._texts = {derived.name: derived.expression for derived in ask.spec.derived_attributes or ()}

    def covers(self, attribute: str) -> bool:
        """Tell whether the ask derives this attribute; then what the device publishes does not matter."""
        return attribute in self._texts

    def value(self, attribute: str, profile: Profile) -> DeviceAttribute | FilterFailure:
        """Compute the attribute."""
        result = self._expressions.derive(self._texts[attribute], profile)
        if not isinstance(result, ExpressionError):
            return result
        name = f"derived attribute {attribute}"
        message: Message = (f"evaluate {name} on device ", Placeholder.DEVICE, f" failed: {result.text}")
        if result.compiling:
            message = (f"compile {name} failed: {result.text}",)
        return FilterFailure("derivedAttribute", f"{name}: {result.text}", message)


class AttributeValueTable:
    """The values of the attributes that entries name, on all devices of a shape: each is read once in each way."""

    def __init__(self, profiles: Sequence[Profile], sets: bool, expressions: ExpressionEvaluator) -> None:
        self.sets = sets
        self.profiles = profiles
        self.expressions = expressions
        self._read: dict[tuple[str, ValueSemantics], tuple[ValueTokens, dict[int, int]]] = {}

    def of(self, name: str, semantics: ValueSemantics) -> tuple[ValueTokens, dict[int, int]]:
        """Return the numbers of an attribute's values, and the published ones by device."""
        key = name, semantics
        read = self._read.get(key)
        if read is None:
            numbers = ValueTokens(semantics)
            values = ((device, published_value(profile, name)) for device, profile in enumerate(self.profiles))
            known = ((device, numbers.of(value)) for device, value in values if value is not None)
            read = self._read[key] = numbers, {device: token for device, token in known if token is not None}
        return read

    def unknown(self, name: str) -> frozenset[int]:
        """The devices of which the attribute's value is not known yet."""
        values = ((device, published_value(profile, name)) for device, profile in enumerate(self.profiles))
        return frozenset(device for device, value in values if isinstance(value, UnknownValue))


def compile_constraint(
    applicable: ApplicableEntry,
    kind: AttributeConstraintKind,
    claim: int,
    requests: Iterable[tuple[int, ResolvedRequest]],
    values: AttributeValueTable,
) -> Constraint:
    """Give every device a token, for each numbered ask that the entry applies to. Raises ``FatalError`` (SEM-1)."""
    entry = applicable.entry
    name = (entry.match_attribute if kind == "matchAttribute" else entry.distinct_attribute) or ""
    semantics = value_semantics_of(entry, claim, applicable.label, values.sets)
    numbers, plain = values.of(name, semantics)
    tokens: dict[int, dict[int, int]] = {}
    errors: dict[int, dict[int, FilterFailure]] = {}
    for index, ask in requests:
        derivation = DerivedAttributes(ask, values.expressions)
        if derivation.covers(name):
            tokens[index], errors[index] = _derived_tokens(name, derivation, values.profiles, numbers)
        elif kind == "matchAttribute":
            tokens[index] = plain
        else:
            unknown = values.unknown(name)
            # What nobody knows yet is not known to differ (R11).
            tokens[index] = {device: token for device, token in plain.items() if device not in unknown}
    return Constraint(
        claim,
        kind,
        name,
        semantics.sets,
        tokens,
        errors,
        applicable.position,
        semantics.min_size,
        semantics.overlap,
        lists_only=semantics.explicit and semantics.sets and not semantics.coerce,
        label=applicable.label,
    )


def _derived_tokens(
    name: str, derivation: DerivedAttributes, profiles: Sequence[Profile], numbers: ValueTokens
) -> tuple[dict[int, int], dict[int, FilterFailure]]:
    tokens: dict[int, int] = {}
    errors: dict[int, FilterFailure] = {}
    for device, profile in enumerate(profiles):
        value = derivation.value(name, profile)
        if isinstance(value, FilterFailure):
            errors[device] = value
        elif (token := numbers.of(value)) is not None:
            tokens[device] = token
    return tokens, errors


def sets_as_scalars(constraint: Constraint) -> Constraint:
    """Write sets of one member each as scalars, which say the same and let more claims be merged."""
    if not constraint.sets or constraint.overlap:
        return constraint
    # Demands that are alike share one table, and go on to do so.
    tables = {id(table): table for table in constraint.tokens.values()}
    if any(bits & (bits - 1) for table in tables.values() for bits in table.values()):
        return constraint
    scalars = {key: {device: bits.bit_length() for device, bits in tables[key].items() if bits} for key in tables}
    return replace(constraint, sets=False, tokens={one: scalars[id(table)] for one, table in constraint.tokens.items()})


@dataclass(frozen=True, slots=True)
class ValueSemantics:
    """What tokens stand for.

    ``sets``: the members of a value, in bits; else the value as a whole. Without ``explicit`` semantics a scalar is a
    set of one, and a list that is not read as a set is equal to nothing (CON-7 to CON-9). With them, ``coerce`` makes
    a scalar a list of one, and ``ordered`` lists are equal only in the same order (SEM-2, SEM-3). ``min_size`` and
    ``overlap`` are those of the entry.
    """

    sets: bool
    explicit: bool = False
    coerce: bool = False
    ordered: bool = False
    min_size: int = 1
    overlap: bool = False


def value_semantics_of(entry: DeviceConstraint, claim: int, label: str, lists: bool) -> ValueSemantics:
    """Find how an entry reads values; ``lists`` tells whether the feature of list attributes is on.

    Raises ``FatalError`` for semantics without the feature, as the scheduler does for other features, and for a mode
    that is for the other attribute: only entries made in Python get that far.
    """
    semantics = semantics_of(entry)
    if semantics is None:
        return ValueSemantics(lists)
    attribute = "distinct_attribute" if entry.match_attribute is None else "match_attribute"
    known = SEMANTICS_MODES.get(semantics.mode)
    problem = "" if lists else "cannot handle entry with semantics, the feature is disabled"
    if known is None or known.attribute != attribute:
        problem = f"unknown mode {semantics.mode!r} of semantics"
    if problem:
        raise FatalError("constraints", ("claim ", Placeholder.CLAIM, f", {label}: {problem}"), claim=claim)
    options, mode = mode_options(semantics), semantics.mode
    return ValueSemantics(
        sets=mode not in ("Identical", "AllDistinct"),
        explicit=True,
        coerce=bool(options.coerce_scalar_to_list),
        ordered=options.list_mode != "Set",
        min_size=1 if options.min_size is None else options.min_size,
        overlap=mode == "EmptyIntersection",
    )


EntryKind = Literal["matchAttribute", "distinctAttribute", "cel", "topology", "predicate"]


@dataclass(frozen=True, slots=True)
class ApplicableEntry:
    """An entry with its kind, its number in the claim, and how messages name it."""

    entry: Entry
    kind: EntryKind
    position: int
    label: str
    predicate: Predicate | None = None


def entries_of_claim(
    number: int, claim: ResourceClaim, caller_constraints: Sequence[CallerConstraint], gates: FeatureGates
) -> tuple[ApplicableEntry, ...]:
    """List the entries of a claim; ``caller_constraints`` stand beside its own. Raises ``FatalError`` (PRE-12)."""
    own = [
        (
            f"constraint #{index}",
            Entry(**{name: getattr(constraint, name) for name in DeviceConstraint.__struct_fields__}),
        )
        for index, constraint in enumerate(claim.spec.devices.constraints or ())
    ]
    added = [
        (_entry_label(index, entry), entry)
        for index, entry in enumerate((*annotated_entries(claim.metadata), *caller_constraints))
    ]
    return tuple(
        _applicable_entry(number, label, entry, position, gates)
        for position, (label, entry) in enumerate((*own, *added))
    )


def entries_of_owner(owner: str, entries: Iterable[Entry], gates: FeatureGates) -> tuple[ApplicableEntry, ...]:
    """List the entries of something else than a claim, which messages name as ``owner``."""
    labels = ((f"{owner}, {_entry_label(index, entry)}", entry) for index, entry in enumerate(entries))
    return tuple(_applicable_entry(0, label, entry, position, gates) for position, (label, entry) in enumerate(labels))


def _applicable_entry(
    claim: int, label: str, entry: CallerConstraint, position: int, gates: FeatureGates
) -> ApplicableEntry:
    if isinstance(entry, Predicate):
        about = Entry(requests=entry.requests, name=entry.name, weight=entry.weight)
        return ApplicableEntry(about, "predicate", position, label, entry)
    return ApplicableEntry(entry, _entry_kind(claim, label, entry, gates), position, label)


def _entry_label(index: int, entry: CallerConstraint) -> str:
    return f"entry {entry.name}" if entry.name else f"entry #{index}"


def _entry_kind(claim: int, label: str, entry: Entry, gates: FeatureGates) -> EntryKind:
    """Tell what an entry asks for; with both attributes it is a match (CLM-2)."""
    if entry.match_attribute is not None:
        return "matchAttribute"
    if entry.distinct_attribute is not None and gates.variant != "stable":
        return "distinctAttribute"
    if entry.cel is not None and gates.cel_device_constraint:
        return "cel"
    if entry.topology is not None:
        return "topology"
    message = ("claim ", Placeholder.CLAIM, f", {label}: empty constraint (unsupported constraint type?)")
    raise FatalError("constraints", message, claim=claim)


def entry_applies(entry: DeviceConstraint, request: str, subrequest: str) -> bool:
    """CON-1: the entry names no request, the (main) request, or this very alternative."""
    names = entry.requests
    return not names or request in names or (bool(subrequest) and f"{request}/{subrequest}" in names)


def draws_counters(problem: Problem, in_use: InUse, device: int) -> bool:
    """Tell whether taking the device draws its counters: not if it is a further share of one in use (CTR-3)."""
    return not (device in problem.shared and in_use.shares.get(device))


def pools_with_negative_draws(problem: Problem) -> frozenset[int]:
    """Find the pools where some device draws a negative amount of a counter."""
    counters = problem.counters
    return frozenset(
        counters.pool_of_row[row] for amounts in counters.consumption.values() for row, amount in amounts if amount < 0
    )


def has_first_only_values(constraint: Constraint) -> bool:
    """Tell whether some value may only come first: a list where lists are not compared as sets."""
    if constraint.kind != "distinctAttribute" or constraint.sets:
        return False
    return any(INCOMPARABLE in tokens.values() for tokens in constraint.tokens.values())
