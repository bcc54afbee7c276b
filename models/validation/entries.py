"""Entries of our own: annotations of claims and templates, and what ConstraintGroups say (SOFT-1, SOFT-2, TOPO-2).

Nobody but us knows them, so that an entry without a meaning is never lifted; names and numbers are limits.
"""

from collections.abc import Callable

from ..base import api_name
from ..claims import DeviceClaim, ResourceClaimTemplate
from ..entries import ANNOTATION, Entry, TopologyAsk, annotated_entries
from ..meta import ObjectMeta
from ..topology_asks import ASKED_SHAPES, ORIENTATIONS
from .checked_names import check_label, check_subdomain
from .constraints import check_parts
from .findings import STRUCTURE, Findings, Key, Path, quote
from .request_references import check_references, reference_names

ENTRIES_MAX = 32
# The solver multiplies weights by numbers of pairs.
WEIGHT_MAX = 2**31 - 1

_KINDS = ("match_attribute", "distinct_attribute", "cel", "topology")
_PER = ("Entry", "Pair")


def check_annotated(found: Findings, path: Path, metadata: ObjectMeta, claim: DeviceClaim) -> None:
    """Check the annotation of a claim's metadata."""
    entries = annotated_entries(metadata)
    names = set(reference_names(claim.requests or ())) if entries else set()
    place: Path = (*path, "annotations", Key(ANNOTATION))
    check_entries(found, place, entries, lambda where, entry: check_references(found, where, entry.requests, names))


def check_annotated_template(found: Findings, template: ResourceClaimTemplate) -> None:
    """Check a template's annotation, which may stand in its own metadata or in that of its claims."""
    copied = template.spec.metadata
    check_annotated(found, ("metadata",), template.metadata, template.spec.spec.devices)
    if copied is None or ANNOTATION not in (copied.annotations or {}):
        return
    check_annotated(found, ("spec", "metadata"), copied, template.spec.spec.devices)
    if ANNOTATION in (template.metadata.annotations or {}):
        path: Path = ("spec", "metadata", "annotations", Key(ANNOTATION))
        found.forbidden(path, "is in metadata.annotations of the template too", STRUCTURE)


def check_entries(
    found: Findings, path: Path, entries: tuple[Entry, ...], check_requests: Callable[[Path, Entry], None]
) -> None:
    """Check a list of entries; ``check_requests`` knows what their ``requests`` may name."""
    found.at_most(path, entries, ENTRIES_MAX)
    named = [(index, entry.name) for index, entry in enumerate(entries) if entry.name]
    for position, (index, name) in enumerate(named):
        check_label(found, (*path, index, "name"), name)
        if name in (earlier for _, earlier in named[:position]):
            found.duplicate((*path, index, "name"), name)
    for index, entry in enumerate(entries):
        check_requests((*path, index, "requests"), entry)
        _check_entry(found, (*path, index), entry)


def _check_entry(found: Findings, path: Path, entry: Entry) -> None:
    given = [kind for kind in _KINDS if getattr(entry, kind) is not None]
    names = [f"`{api_name(kind)}`" for kind in _KINDS]
    wanted = f"exactly one of {', '.join(names[:-1])} or {names[-1]} is required"
    if not given:
        found.required(path, wanted, STRUCTURE)
    elif len(given) > 1:
        shown = ", ".join(f"`{api_name(kind)}`" for kind in given)
        found.invalid(path, f"{{{shown}}}", f"{wanted}, but multiple fields are set", STRUCTURE)
    check_parts(found, path, entry)
    if entry.topology is not None:
        _check_topology(found, (*path, "topology"), entry.topology)
    _check_weight(found, path, entry)


def _check_weight(found: Findings, path: Path, entry: Entry) -> None:
    """SOFT-1, SOFT-2."""
    if entry.weight is not None and not 0 < entry.weight <= WEIGHT_MAX:
        detail = f"must be between 1 and {WEIGHT_MAX}; without a weight the entry must hold"
        found.invalid((*path, "weight"), entry.weight, detail, STRUCTURE)
    if entry.per and entry.per not in _PER:
        found.unsupported((*path, "per"), entry.per, _PER, STRUCTURE)
    elif entry.per and (entry.weight is None or entry.match_attribute is None):
        found.forbidden((*path, "per"), "is for `matchAttribute` with a `weight` only", STRUCTURE)


def _check_topology(found: Findings, path: Path, ask: TopologyAsk) -> None:
    check_subdomain(found, (*path, "name"), ask.name)
    if not ask.shape:
        found.required((*path, "shape"), category=STRUCTURE)
    elif ask.shape not in ASKED_SHAPES:
        found.unsupported((*path, "shape"), ask.shape, ASKED_SHAPES, STRUCTURE)
    else:
        known = _OWN_FIELDS.get(ask.shape, ())
        for field, value in _fields(ask).items():
            if value and field not in known:
                found.forbidden((*path, field), f"is not for shape {quote(ask.shape)}", STRUCTURE)
        _check_fields(found, path, ask)


# What may be asked of each shape beside its name.
_OWN_FIELDS = {"Box": ("size", "orientation"), "Compact": ("maxDistance",), "Subtree": ("level",)}


def _fields(ask: TopologyAsk) -> dict[str, bool]:
    return {
        "size": ask.size is not None,
        "orientation": bool(ask.orientation),
        "maxDistance": ask.max_distance is not None,
        "level": bool(ask.level),
    }


def _check_fields(found: Findings, path: Path, ask: TopologyAsk) -> None:
    if ask.shape == "Box" and not ask.size:
        found.required((*path, "size"), category=STRUCTURE)
    for axis, length in enumerate(ask.size or ()):
        if length < 1:
            found.invalid((*path, "size", axis), length, "must be greater than zero", STRUCTURE)
    if ask.orientation and ask.orientation not in ORIENTATIONS:
        found.unsupported((*path, "orientation"), ask.orientation, ORIENTATIONS, STRUCTURE)
    if ask.max_distance is not None and ask.max_distance < 0:
        found.invalid((*path, "maxDistance"), ask.max_distance, "must not be negative", STRUCTURE)
    if ask.shape == "Subtree" and not ask.level:
        found.required((*path, "level"), category=STRUCTURE)
