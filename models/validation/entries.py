"""Entries of constraints, selectors, configs and plan annotations.

- Entries of claims: the requests that they name (CON-1), attributes with their semantics, expressions (CLM-2, CELC-1).
- Semantics of match and distinct entries: one spelling, a mode that fits, and options of that mode only (SEM-1).
- Entries of our own, in annotations, ConstraintGroups and Python (SOFT-1, SOFT-2, TOPO-2). Only drasat knows them, so
  an entry without a meaning is never lifted; names and numbers are limits.
- Annotations for plans: one that cannot be read is never lifted, as it would mean something else.
- CEL selectors: their number, form and length (CLM-6). Opaque parameters and their lists.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from ..formats.decode import api_name, to_object_strictly
from ..kubernetes import claims, extensions
from ..kubernetes.extensions import Entry, Predicate
from ..kubernetes.meta import ObjectMeta, byte_length
from ..topology.places import ORIENTATIONS, REQUESTED_SHAPES
from .findings import STRUCTURE, Findings, MapKey, Path, compact_json, quote


def read_caller_constraints(
    constraints: Iterable[Mapping[str, Any] | Predicate],
) -> tuple[extensions.CallerConstraint, ...]:
    """Read entries as the annotation ``drasat.dev/constraints`` has them; predicates stay what they are.

    Raises ``ValueError``, one line, for the first thing that is wrong.
    """
    found: list[extensions.CallerConstraint] = []
    for index, item in enumerate(constraints):
        found.append(item if isinstance(item, Predicate) else _read_caller_entry(index, item))
    findings = Findings()
    entries = tuple(one for one in found if isinstance(one, Entry))
    check_entries(findings, ("constraints",), entries, lambda _path, _entry: None)
    for problem in findings.problems:
        raise ValueError(str(problem))
    return tuple(found)


def _read_caller_entry(index: int, item: Mapping[str, Any]) -> Entry:
    if not isinstance(item, Mapping):
        raise ValueError(f"constraints[{index}]: must be a mapping or a Predicate, not {type(item).__name__}")
    entry, problems = to_object_strictly(dict(item), Entry)
    for field, message in problems:
        raise ValueError(f"constraints[{index}]{'.' if field else ''}{field}: {message}")
    if entry is None:
        raise ValueError(f"constraints[{index}]: cannot be read")
    return entry


ENTRIES_MAX = 32
# The solver multiplies weights by numbers of pairs.
WEIGHT_MAX = 2**31 - 1
_KINDS = ("match_attribute", "distinct_attribute", "cel", "topology")
_PER = ("Entry", "Pair")


def check_annotated(findings: Findings, path: Path, metadata: ObjectMeta, claim: claims.DeviceClaim) -> None:
    """Check the annotation of a claim's metadata."""
    entries = extensions.annotated_entries(metadata)
    names = set(reference_names(claim.requests or ())) if entries else set()
    place: Path = (*path, "annotations", MapKey(extensions.CONSTRAINTS_ANNOTATION))
    check_entries(
        findings, place, entries, lambda where, entry: check_references(findings, where, entry.requests, names)
    )


def check_annotated_template(findings: Findings, template: claims.ResourceClaimTemplate) -> None:
    """Check a template's annotation, which may stand in its own metadata or in that of its claims."""
    copied = template.spec.metadata
    check_annotated(findings, ("metadata",), template.metadata, template.spec.spec.devices)
    if copied is None or extensions.CONSTRAINTS_ANNOTATION not in (copied.annotations or {}):
        return
    check_annotated(findings, ("spec", "metadata"), copied, template.spec.spec.devices)
    if extensions.CONSTRAINTS_ANNOTATION in (template.metadata.annotations or {}):
        path: Path = ("spec", "metadata", "annotations", MapKey(extensions.CONSTRAINTS_ANNOTATION))
        findings.forbidden(path, "is in metadata.annotations of the template too", STRUCTURE)


def check_entries(
    findings: Findings, path: Path, entries: tuple[Entry, ...], check_requests: Callable[[Path, Entry], None]
) -> None:
    """Check a list of entries; ``check_requests`` knows what their ``requests`` may name."""
    findings.at_most(path, entries, ENTRIES_MAX)
    named = [(index, entry.name) for index, entry in enumerate(entries) if entry.name]
    for position, (index, name) in enumerate(named):
        findings.check_label((*path, index, "name"), name)
        if name in (earlier for _, earlier in named[:position]):
            findings.duplicate((*path, index, "name"), name)
    for index, entry in enumerate(entries):
        check_requests((*path, index, "requests"), entry)
        _check_entry(findings, (*path, index), entry)


def _check_entry(findings: Findings, path: Path, entry: Entry) -> None:
    given = [kind for kind in _KINDS if getattr(entry, kind) is not None]
    names = [f"`{api_name(kind)}`" for kind in _KINDS]
    wanted = f"exactly one of {', '.join(names[:-1])} or {names[-1]} is required"
    if not given:
        findings.required(path, wanted, STRUCTURE)
    elif len(given) > 1:
        shown = ", ".join(f"`{api_name(kind)}`" for kind in given)
        findings.invalid(path, f"{{{shown}}}", f"{wanted}, but multiple fields are set", STRUCTURE)
    check_entry_fields(findings, path, entry)
    if entry.topology is not None:
        _check_topology(findings, (*path, "topology"), entry.topology)
    _check_weight(findings, path, entry)


def _check_weight(findings: Findings, path: Path, entry: Entry) -> None:
    """SOFT-1, SOFT-2."""
    if entry.weight is not None and not 0 < entry.weight <= WEIGHT_MAX:
        detail = f"must be between 1 and {WEIGHT_MAX}; without a weight the entry must hold"
        findings.invalid((*path, "weight"), entry.weight, detail, STRUCTURE)
    if entry.per and entry.per not in _PER:
        findings.unsupported((*path, "per"), entry.per, _PER, STRUCTURE)
    elif entry.per and (entry.weight is None or entry.match_attribute is None):
        findings.forbidden((*path, "per"), "is for `matchAttribute` with a `weight` only", STRUCTURE)


def _check_topology(findings: Findings, path: Path, request: extensions.TopologyRequest) -> None:
    findings.check_subdomain((*path, "name"), request.name)
    if findings.check_choice((*path, "shape"), request.shape, REQUESTED_SHAPES, STRUCTURE):
        known = _SHAPE_FIELDS.get(request.shape, ())
        given = {
            "size": request.size is not None,
            "orientation": bool(request.orientation),
            "maxDistance": request.max_distance is not None,
            "level": bool(request.level),
        }
        for field, value in given.items():
            if value and field not in known:
                findings.forbidden((*path, field), f"is not for shape {quote(request.shape)}", STRUCTURE)
        _check_topology_fields(findings, path, request)


# Fields of a request for each shape, beside the topology's name.
_SHAPE_FIELDS = {"Box": ("size", "orientation"), "Compact": ("maxDistance",), "Subtree": ("level",)}


def _check_topology_fields(findings: Findings, path: Path, request: extensions.TopologyRequest) -> None:
    if request.shape == "Box" and not request.size:
        findings.required((*path, "size"), category=STRUCTURE)
    for axis, length in enumerate(request.size or ()):
        if length < 1:
            findings.invalid((*path, "size", axis), length, "must be greater than zero", STRUCTURE)
    if request.orientation and request.orientation not in ORIENTATIONS:
        findings.unsupported((*path, "orientation"), request.orientation, ORIENTATIONS, STRUCTURE)
    if request.max_distance is not None and request.max_distance < 0:
        findings.invalid((*path, "maxDistance"), request.max_distance, "must not be negative", STRUCTURE)
    if request.shape == "Subtree" and not request.level:
        findings.required((*path, "level"), category=STRUCTURE)


def check_plan_annotations(findings: Findings, metadata: ObjectMeta, path: Path = ("metadata",)) -> None:
    """Check each annotation by itself."""
    for key, problem in extensions.annotation_problems(metadata.annotations):
        findings.error((*path, "annotations", MapKey(key)), problem, STRUCTURE)


def check_gang(findings: Findings, path: Path, grouped: bool, *places: ObjectMeta) -> None:
    """Check that a domain is a gang's: of the annotation, or of a group that the pod's spec names (``grouped``).

    A unit is in a gang or in a coverage group.
    """
    keys = {key for place in places for key in place.annotations or ()}
    if extensions.GANG_DOMAIN_ANNOTATION in keys and extensions.GANG_ANNOTATION not in keys and not grouped:
        findings.error(
            (*path, "annotations", MapKey(extensions.GANG_DOMAIN_ANNOTATION)),
            f"Forbidden: is for gangs only: {extensions.GANG_ANNOTATION}",
            STRUCTURE,
        )
    if extensions.COVERAGE_ANNOTATION in keys and (grouped or extensions.GANG_ANNOTATION in keys):
        findings.error(
            (*path, "annotations", MapKey(extensions.COVERAGE_ANNOTATION)),
            "Forbidden: a member of a gang is in no coverage group",
            STRUCTURE,
        )


def forbid_replicas(findings: Findings, metadata: ObjectMeta, path: Path, instead: str) -> None:
    """Report copies of what has a number of its own."""
    if extensions.REPLICAS_ANNOTATION in (metadata.annotations or ()):
        findings.error(
            (*path, "annotations", MapKey(extensions.REPLICAS_ANNOTATION)), f"Forbidden: use {instead}", STRUCTURE
        )


REFERENCES_MAX = 32


def reference_names(requests: Iterable[claims.DeviceRequest]) -> Iterator[str]:
    """Yield all names by which entries may refer to these requests."""
    for request in requests:
        yield request.name
        yield from (f"{request.name}/{alternative.name}" for alternative in request.first_available or ())


def check_references(findings: Findings, path: Path, listed: tuple[str, ...] | None, names: Collection[str]) -> None:
    """Check the ``requests`` of an entry; none at all are fine."""
    if not listed:
        return
    findings.at_most(path, listed, REFERENCES_MAX)
    findings.unique(path, listed)
    detail = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
    for index, name in enumerate(listed):
        if name not in names:
            findings.invalid((*path, index), name, detail)


_ATTRIBUTES = ("match_attribute", "distinct_attribute")


def check_claim_entry(findings: Findings, path: Path, entry: claims.DeviceConstraint) -> None:
    """Check all of an entry of a claim but the requests it names."""
    match, distinct = entry.match_attribute, entry.distinct_attribute
    if match is None and distinct is None and entry.cel is None:
        findings.required(path, "exactly one of `matchAttribute`, `distinctAttribute` or `cel` is required")
    if match is not None and distinct is not None:
        findings.warning((*path, "distinctAttribute"), "ignored: only `matchAttribute` is evaluated (CLM-2)")
    for field in _ATTRIBUTES:
        if entry.cel is not None and getattr(entry, field) is not None:
            findings.forbidden((*path, "cel"), f"may not be set beside `{api_name(field)}`", STRUCTURE)
    check_entry_fields(findings, path, entry)


def check_entry_fields(findings: Findings, path: Path, entry: claims.DeviceConstraint) -> None:
    """Check each field that is there: names of attributes, expression, semantics."""
    for field in _ATTRIBUTES:
        name = getattr(entry, field)
        if name is not None:
            findings.check_fully_qualified((*path, api_name(field)), name)
    if entry.cel is not None:
        check_expression(findings, (*path, "cel", "expression"), entry.cel.expression)
    check_semantics(findings, path, entry)


def check_semantics(findings: Findings, path: Path, entry: claims.DeviceConstraint) -> None:
    """Check the semantics of an entry, if it has any."""
    given = [field for field in claims.SEMANTICS_FIELDS if getattr(entry, field) is not None]
    attributes = [field for field in claims.SEMANTICS_FIELDS["semantics"] if getattr(entry, field) is not None]
    for field in given[1:]:
        findings.forbidden((*path, api_name(field)), f"may not be set beside `{api_name(given[0])}`", STRUCTURE)
    for field in given[:1]:
        where = (*path, api_name(field))
        if _check_attribute_beside(findings, where, claims.SEMANTICS_FIELDS[field], attributes):
            _check_mode(findings, where, getattr(entry, field), attributes[0])


def _check_attribute_beside(findings: Findings, path: Path, allowed: tuple[str, ...], attributes: list[str]) -> bool:
    """Check that one attribute is there, and the right one."""
    wrong = [field for field in attributes if field not in allowed]
    if len(attributes) == 1 and not wrong:
        return True
    names = " or ".join(f"`{api_name(field)}`" for field in allowed)
    detail = f"may not be set beside `{api_name(wrong[0])}`" if wrong else f"may only be set beside either {names}"
    findings.forbidden(path, detail if attributes else f"may only be set beside {names}", STRUCTURE)
    return False


def _check_mode(findings: Findings, path: Path, semantics: claims.ConstraintSemantics, attribute: str) -> None:
    fitting = [name for name, mode in claims.SEMANTICS_MODES.items() if mode.attribute == attribute]
    if not findings.check_choice((*path, "mode"), semantics.mode, fitting, STRUCTURE) or semantics.options is None:
        return
    chosen = claims.SEMANTICS_MODES[semantics.mode]
    for field in msgspec.structs.fields(claims.SemanticsOptionsByMode):
        options = getattr(semantics.options, field.name)
        if options is None:
            continue
        where = (*path, "options", field.encode_name)
        if field.name == chosen.options:
            _check_mode_options(findings, where, options, chosen)
        else:
            findings.forbidden(where, f"these are not options of mode {semantics.mode}", STRUCTURE)


def _check_mode_options(
    findings: Findings, path: Path, options: claims.SemanticsOptions, mode: claims.SemanticsMode
) -> None:
    for field in msgspec.structs.fields(claims.SemanticsOptions):
        if field.name not in mode.supported_options and getattr(options, field.name) is not None:
            findings.forbidden((*path, field.encode_name), "the mode has no such option", STRUCTURE)
    if "list_mode" in mode.supported_options and options.list_mode not in (None, *claims.LIST_MODES):
        findings.unsupported((*path, "listMode"), options.list_mode, claims.LIST_MODES, STRUCTURE)
    if "min_size" in mode.supported_options and options.min_size is not None and options.min_size < 1:
        findings.invalid((*path, "minSize"), options.min_size, "must be greater than zero", STRUCTURE)


SELECTORS_MAX = 32
EXPRESSION_MAX = 10240


def check_expression(findings: Findings, path: Path, expression: str) -> None:
    """Check a CEL expression: neither empty nor above 10 KiB."""
    if not expression.strip():
        findings.required(path)
    elif byte_length(expression) > EXPRESSION_MAX:
        findings.too_long(path, EXPRESSION_MAX)


def check_selectors(findings: Findings, path: Path, selectors: tuple[claims.DeviceSelector, ...] | None) -> None:
    """Check the selectors of a class or request."""
    findings.at_most(path, selectors, SELECTORS_MAX)
    for index, selector in enumerate(selectors or ()):
        if selector.cel is None:
            findings.required((*path, index, "cel"))
        else:
            check_expression(findings, (*path, index, "cel", "expression"), selector.cel.expression)


CONFIG_MAX = 32
PARAMETERS_MAX = 10240


class ConfigEntry(Protocol):
    """A config entry of any kind."""

    @property
    def opaque(self) -> claims.OpaqueDeviceConfiguration | None:
        """Parameters for a driver; the only form there is."""


def check_configs(
    findings: Findings, path: Path, entries: Sequence[ConfigEntry] | None, limit: int = CONFIG_MAX
) -> None:
    """Check a list of config entries."""
    findings.at_most(path, entries, limit)
    for index, entry in enumerate(entries or ()):
        where = (*path, index, "opaque")
        if entry.opaque is None:
            findings.required(where, "exactly one configuration is required")
            continue
        findings.check_driver((*where, "driver"), entry.opaque.driver)
        where, parameters = (*where, "parameters"), entry.opaque.parameters
        if parameters is None:
            findings.required(where)
            continue
        if not isinstance(parameters, dict):
            findings.invalid(where, parameters, "must be a valid JSON object")
        # Measured as compact JSON, in which clients send it.
        if byte_length(compact_json(parameters)) > PARAMETERS_MAX:
            findings.too_long(where, PARAMETERS_MAX)
