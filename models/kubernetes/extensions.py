"""Our own kinds (``drasat.dev/v1alpha1``), constraints beyond the API, and annotations for plans.

- ConstraintGroup: constraints on the devices of several claims together.
- DeviceTopology: which attributes of devices say where they are (TOPO-1 to TOPO-3).
- Entries of the annotation ``drasat.dev/constraints`` and of ConstraintGroups (SOFT-1, SOFT-2). The annotation is YAML
  or JSON. It is read once, within bounds, and strictly: a misspelt ``weight`` would make a preference a requirement.
- Predicates: constraints that are Python functions over the chosen devices of an entry.
- Annotations that say what a plan needs to know beyond the API: gangs, copies and weights.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import msgspec

from ..formats.decode import DecodeProblem, Int64, Model, to_object_strictly
from ..formats.errors import Unreadable, child_path
from ..formats.json import read_json
from ..formats.yaml import yaml_documents
from . import slices as slice_types
from .claims import DeviceConstraint
from .core import LabelSelector
from .meta import KubernetesObject, ObjectMeta
from .quantity import Quantity


class GroupClaim(Model):
    """A claim of the group's namespace; one that is made for a pod from a template may be named too."""

    name: str = ""


class GroupPod(Model):
    """Which claims of a pod belong to the group: those of the named entries of its ``spec.resourceClaims``.

    Without ``claims`` all of them. Without a ``name`` it speaks of the pods that ``podSelector`` selects.
    """

    name: str = ""
    claims: tuple[str, ...] | None = None


class ConstraintGroupSpec(Model):
    """``spec`` of a ConstraintGroup.

    Its claims are those that are named or selected in any of the four ways. ``same_node_label``: their nodes have
    one value of this label. ``constraints``: entries whose ``requests`` are ``REQUEST`` for all claims, or
    ``CLAIM/REQUEST``, or ``CLAIM/REQUEST/SUBREQUEST``; without any, all requests of all claims.
    """

    claims: tuple[GroupClaim, ...] | None = None
    claim_selector: LabelSelector | None = None
    pods: tuple[GroupPod, ...] | None = None
    pod_selector: LabelSelector | None = None
    same_node_label: str = ""
    constraints: tuple[Entry, ...] | None = None


class ConstraintGroup(KubernetesObject):
    """What must hold, or had better hold, of the devices of several claims of one namespace."""

    spec: ConstraintGroupSpec = ConstraintGroupSpec()


def requests_in_claim(entry: Entry, claim: str) -> tuple[str, ...] | None:
    """Return the requests of a claim that a group's entry applies to, as a claim's own entry would name them.

    Empty: all of them. None: the entry does not apply to this claim.
    """
    if not entry.requests:
        return ()
    references = (text.partition("/") for text in entry.requests)
    names = (head if not slash else tail if head == claim else "" for head, slash, tail in references)
    return tuple(filter(None, names)) or None


TopologyShape = Literal["Ring", "Line", "Grid", "Torus", "Tree", "Links"]
TopologyScope = Literal["Node", "Pool", "Cluster"]
SCOPES: tuple[TopologyScope, ...] = get_args(TopologyScope)
SHAPES: tuple[TopologyShape, ...] = get_args(TopologyShape)
STRAIGHT = frozenset({"Ring", "Line"})
"""Shapes of one axis, on which there are segments."""
LATTICES: frozenset[TopologyShape] = frozenset({"Ring", "Line", "Grid", "Torus"})
"""Shapes whose coordinates are integers, one an axis."""
WRAPPED = frozenset({"Ring", "Torus"})
"""Shapes of which every axis wraps around."""


class TopologyLinks(Model):
    """For ``Links``: the attribute with a device's own id, and the one that lists its neighbours' ids."""

    id: str = ""
    peers: str = ""


class DeviceTopologySpec(Model):
    """``spec`` of a DeviceTopology.

    ``coordinates`` are names of attributes: one for a Ring or Line, one an axis for a Grid or Torus, one a level for a
    Tree, from the root. ``size`` is the number of places along each axis, counted from 0; absent, it spans what is
    present. ``periodic`` says which axes of a Grid wrap.
    """

    driver: str | None = None
    device_class_name: str | None = None
    scope: str = "Node"
    shape: str = ""
    coordinates: tuple[str, ...] | None = None
    size: tuple[Int64, ...] | None = None
    periodic: tuple[bool, ...] | None = None
    links: TopologyLinks | None = None


class DeviceTopology(KubernetesObject):
    """Where devices of a driver or a class stand; coordinates are unique within one node, pool or the cluster."""

    spec: DeviceTopologySpec = DeviceTopologySpec()

    @property
    def known_shape(self) -> TopologyShape:
        """The shape, of a valid topology."""
        shape: TopologyShape = msgspec.convert(self.spec.shape, TopologyShape)
        return shape


CONSTRAINTS_ANNOTATION = "drasat.dev/constraints"
# What all annotations of an object may have together.
CONSTRAINTS_TEXT_MAX = 262144
# What aliases may repeat, in characters.
CONSTRAINTS_ALIASED_MAX = 262144


class TopologyRequest(Model):
    """The shape that the devices of an entry must have in a ``DeviceTopology`` (TOPO-1, TOPO-2)."""

    name: str = ""
    shape: str = ""
    size: tuple[Int64, ...] | None = None
    orientation: str = ""
    max_distance: Int64 | None = None
    level: str = ""


class Entry(DeviceConstraint):
    """A constraint with all that the API does not know; without a weight it must hold (SOFT-1, SOFT-2)."""

    name: str = ""
    weight: Int64 | None = None
    per: str = ""
    topology: TopologyRequest | None = None


class EntryError(ValueError):
    """An annotation that cannot be read: a line for the first thing that is wrong, with its field."""


def annotated_entries(metadata: ObjectMeta) -> tuple[Entry, ...]:
    """Read the entries of the annotation; none without it.

    Raises ``EntryError`` for objects made in Python only: others are refused when they are read (``entry_problems``).
    """
    text = (metadata.annotations or {}).get(CONSTRAINTS_ANNOTATION)
    if text is None:
        return ()
    entries, problems = _read_entries(text)
    for suffix, message in problems:
        raise EntryError(f"{child_path('metadata', 'annotations')}[{CONSTRAINTS_ANNOTATION}]{suffix}: {message}")
    return entries


def with_entries(metadata: ObjectMeta, entries: Sequence[Entry]) -> ObjectMeta:
    """Return metadata whose annotation has these entries instead."""
    text = msgspec.json.encode(entries).decode()
    return msgspec.structs.replace(metadata, annotations={**(metadata.annotations or {}), CONSTRAINTS_ANNOTATION: text})


def constraints_annotation(*places: ObjectMeta | None) -> dict[str, str]:
    """Return the annotation alone, of the last of these that has it; empty if none has."""
    for place in reversed(places):
        if place is not None and place.annotations and CONSTRAINTS_ANNOTATION in place.annotations:
            return {CONSTRAINTS_ANNOTATION: place.annotations[CONSTRAINTS_ANNOTATION]}
    return {}


def entry_problems(metadata: ObjectMeta, path: str) -> Iterator[DecodeProblem]:
    """Yield what makes the annotation unreadable, with the fields it is about; ``path`` is that of the metadata."""
    text = (metadata.annotations or {}).get(CONSTRAINTS_ANNOTATION)
    if text is not None:
        start = f"{path}.annotations[{CONSTRAINTS_ANNOTATION}]"
        yield from (DecodeProblem(start + field, message) for field, message in _read_entries(text)[1])


@lru_cache(maxsize=256)
def _read_entries(text: str) -> tuple[tuple[Entry, ...], tuple[DecodeProblem, ...]]:
    """Read a text once for all that carry it: claims of one template are many."""
    value = _parse_entries_text(text)
    if isinstance(value, Unreadable):
        return (), tuple(DecodeProblem(_field_suffix(field), reason) for field, reason in value.reasons)
    if not isinstance(value, list):
        return (), (DecodeProblem("", "Invalid value: must be a list of entries"),)
    entries: list[Entry] = []
    problems: list[DecodeProblem] = []
    for index, item in enumerate(value):
        entry, found = to_object_strictly(item, Entry)
        problems += (DecodeProblem(f"[{index}]{_field_suffix(field)}", message) for field, message in found)
        entries += [entry] if entry else []
    return tuple(entries), tuple(problems)


def _field_suffix(field: str) -> str:
    return f".{field}" if field else ""


def _parse_entries_text(text: str) -> Any:
    """Parse the text: one list, or nothing at all. What is no JSON may be YAML's flow style."""
    data = text.encode(errors="backslashreplace")
    if len(data) > CONSTRAINTS_TEXT_MAX:
        return Unreadable((("", f"Too long: may not be more than {CONSTRAINTS_TEXT_MAX} bytes"),))
    if data.lstrip().startswith(b"["):
        value = read_json(data, 0, data)
        if not isinstance(value, Unreadable):
            return value
    documents = list(islice(yaml_documents(data, CONSTRAINTS_ALIASED_MAX), 2))
    if len(documents) > 1:
        return Unreadable((("", "Invalid value: must be one document"),))
    return documents[0] if documents and documents[0] is not None else []


PredicateScalar: TypeAlias = bool | int | str


@dataclass(frozen=True, slots=True)
class ChosenDevice:
    """A chosen device as a predicate sees it: all that is published but its names, which are the driver's affair.

    Names of attributes and capacities are qualified, ``gpu.example.com/index``; lists are tuples.
    """

    driver: str
    attributes: Mapping[str, PredicateScalar | tuple[PredicateScalar, ...]] = field(default_factory=dict)
    capacity: Mapping[str, Decimal] = field(default_factory=dict)


PredicateFunction = Callable[[Sequence[ChosenDevice]], bool]


@dataclass(frozen=True, slots=True, eq=False)
class Predicate:
    """A Python function as a constraint of every claim in a question; no model knows what it means.

    It gets the devices that the entry applies to once all of them are chosen, in result order. It must be a function of
    what it gets, in any order: it is called once for indistinguishable devices, and its answers are remembered.
    ``antimonotone``: what it refuses it refuses with more devices, too, which saves questions.

    ``requests``, ``name`` and ``weight`` are those of an entry (CON-1, SOFT-1).
    """

    function: PredicateFunction
    requests: tuple[str, ...] | None = None
    name: str = ""
    weight: int | None = None
    antimonotone: bool = False

    @property
    def per(self) -> str:
        """It costs its weight once (SOFT-2)."""
        return "Entry"

    def holds(self, devices: Sequence[ChosenDevice]) -> bool:
        """Call the function. Raises ``PredicateError`` from what it raises."""
        try:
            return bool(self.function(devices))
        except Exception as error:
            name = self.name or getattr(self.function, "__name__", repr(self.function))
            raise PredicateError(f"the predicate {name} raised {type(error).__name__}: {error}") from error


class PredicateError(RuntimeError):
    """A predicate raised an exception, which is the cause of this one; the message names the predicate."""


CallerConstraint: TypeAlias = Entry | Predicate
"""An entry beside those of the API: of the annotation, or given by the caller in Python, for all claims."""


def chosen_device(driver: str, device: slice_types.Device) -> ChosenDevice:
    """Show a device to a predicate."""
    attributes = {
        _qualified_name(driver, name): _predicate_value(value)
        for name, value in (device.attributes or {}).items()
        if not isinstance(value, slice_types.UnknownValue)
    }
    capacity = {
        _qualified_name(driver, name): Decimal(Quantity.parse(one.value).nano).scaleb(-9)
        for name, one in (device.capacity or {}).items()
    }
    return ChosenDevice(driver, attributes, capacity)


def _qualified_name(driver: str, name: str) -> str:
    return name if "/" in name else f"{driver}/{name}"


def _predicate_value(attribute: slice_types.DeviceAttribute) -> PredicateScalar | tuple[PredicateScalar, ...]:
    scalar = slice_types.scalar_value(attribute)
    return tuple(member.value for member in slice_types.member_values(attribute)) if scalar is None else scalar.value


GANG_ANNOTATION = "drasat.dev/gang"
GANG_DOMAIN_ANNOTATION = "drasat.dev/gang-domain"
REPLICAS_ANNOTATION = "drasat.dev/replicas"
VALUE_ANNOTATION = "drasat.dev/value"
MOVE_COST_ANNOTATION = "drasat.dev/move-cost"
COVERAGE_ANNOTATION = "drasat.dev/coverage"
REPLICAS_MAX = 1_000_000
# What an object weighs that does not say.
DEFAULT_VALUE = Decimal(1)
_NAME_MAX = 253
_is_name = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII).fullmatch
_is_label = re.compile(r"(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?").fullmatch
_is_count = re.compile("0|[1-9][0-9]{0,6}").fullmatch
_is_decimal = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,6})?", re.ASCII).fullmatch
# Rows of a linear program have these beside ones.
_is_amount = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,3})?", re.ASCII).fullmatch


class AnnotationError(ValueError):
    """An annotation that cannot be read; one line with its field."""


class CoverageEntry(NamedTuple):
    """What a unit adds to its coverage group, and what the placed units of the group must add up to."""

    group: str
    value: Decimal
    demand: Decimal


class PlanAnnotations(NamedTuple):
    """What the annotations of an object say; None is what they do not say."""

    gang: str | None = None
    domain: str | None = None
    replicas: int | None = None
    value: Decimal | None = None
    coverage: CoverageEntry | None = None


NO_PLAN_ANNOTATIONS = PlanAnnotations()


def annotation_problems(annotations: Mapping[str, str] | None) -> Iterator[tuple[str, str]]:
    """Yield the key of each annotation that cannot be read, and what is wrong with it."""
    for key in _ANNOTATION_RULES if annotations else ():
        text = (annotations or {}).get(key)
        if text is not None and (problem := _annotation_problem(key, text)):
            yield key, problem


def read_annotations(annotations: Mapping[str, str] | None, value: str = VALUE_ANNOTATION) -> PlanAnnotations:
    """Read them; ``value`` names the annotation that holds the weight.

    Raises ``AnnotationError``: for objects made in Python, for others are refused when they are read, and for a weight
    of the caller's own.
    """
    if not annotations:
        return NO_PLAN_ANNOTATIONS
    texts = {key: annotations[key] for key in (*_ANNOTATION_RULES, value) if key in annotations}
    for key, text in texts.items():
        if problem := _annotation_problem(key, text):
            raise AnnotationError(f"metadata.annotations[{key}]: {problem}")
    replicas, weight = texts.get(REPLICAS_ANNOTATION), texts.get(value)
    coverage = texts.get(COVERAGE_ANNOTATION)
    return PlanAnnotations(
        texts.get(GANG_ANNOTATION),
        texts.get(GANG_DOMAIN_ANNOTATION),
        None if replicas is None else int(replicas),
        None if weight is None else Decimal(weight).normalize(),
        None if coverage is None else _coverage_entry(coverage),
    )


def is_decimal(text: str) -> bool:
    """Whether the text is a decimal number that is not negative, of at most 12 digits before the point and 6 behind."""
    return _is_decimal(text) is not None


class _CoverageText(msgspec.Struct, forbid_unknown_fields=True):
    group: str
    value: Decimal
    demand: Decimal


def _coverage_entry(text: str) -> CoverageEntry | None:
    """Read the annotation of a coverage group; None if it cannot be read."""
    try:
        read = msgspec.json.decode(text, type=_CoverageText)
        # The decoder keeps the last of repeated keys; this reader refuses them.
        is_unique = not isinstance(read_json(data := text.encode(), 0, data), Unreadable)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    is_named = len(read.group) <= _NAME_MAX and _is_name(read.group) is not None
    amounts = (read.value, read.demand)
    if not (is_unique and is_named) or any(not _is_amount(str(amount)) or amount <= 0 for amount in amounts):
        return None
    return CoverageEntry(read.group, read.value.normalize(), read.demand.normalize())


def _annotation_problem(key: str, text: str) -> str | None:
    fits, rule = _ANNOTATION_RULES.get(key, _ANNOTATION_RULES[VALUE_ANNOTATION])
    return None if fits(text) else f'Invalid value: "{text[:_NAME_MAX]}": {rule}'


_ANNOTATION_RULES: dict[str, tuple[Callable[[str], bool], str]] = {
    GANG_ANNOTATION: (
        lambda text: len(text) <= _NAME_MAX and _is_name(text) is not None,
        f"must be a name of at most {_NAME_MAX} letters, digits, '-', '_' and '.', with a letter or digit at both ends",
    ),
    GANG_DOMAIN_ANNOTATION: (
        lambda text: len(text) <= _NAME_MAX and _is_label(text) is not None,
        "must be the key of a node label, such as topology.kubernetes.io/zone",
    ),
    REPLICAS_ANNOTATION: (
        lambda text: _is_count(text) is not None and int(text) <= REPLICAS_MAX,
        f"must be a whole number from 0 to {REPLICAS_MAX}",
    ),
    MOVE_COST_ANNOTATION: (
        lambda text: _is_count(text) is not None and int(text) <= REPLICAS_MAX,
        f"must be a whole number from 0 to {REPLICAS_MAX}",
    ),
    COVERAGE_ANNOTATION: (
        lambda text: _coverage_entry(text) is not None,
        'must be {"group": NAME, "value": NUMBER, "demand": NUMBER} as JSON, with numbers more than 0 of at most 9 '
        "digits before the point and 3 behind it",
    ),
    VALUE_ANNOTATION: (
        is_decimal,
        "must be a decimal number, at least 0, of at most 12 digits before the point and 6 behind it",
    ),
}
