"""What the document of ``overlay`` says, checked against NodePools, InstanceTypes and NodeOverlays alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...models.formats.errors import plural
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.karpenter import CAPACITY_TYPE_LABEL, ZONE_LABEL
from ...models.kubernetes.quantity import NANO, Quantity
from ...models.results.common import ProofKind
from ...models.results.overlay import OverlaidType, OverlayAnswer, OverlayDocument
from .documents import LATE, CheckQuestion, Lines, line
from .node_pools import NodePoolReading, OverlaidKind, OverlaidWay, OverlayJudgement


def overlay_lines(document: OverlayDocument, gates: FeatureGates, question: CheckQuestion) -> Lines:
    """Check the document of ``overlay``: each overlay's fate, and prices, resources and devices of all types."""
    try:
        read = NodePoolReading(question.cluster, gates)
    except ValueError as error:
        yield line("document", "overlays", [f"the manifests cannot be read: {error}"])
        return
    names = [one.overlay.metadata.name for one in read.judgements]
    told = [one.name for one in document.overlays]
    yield line("document", plural(len(told), "overlay"), [] if told == names else [f"they are {', '.join(names)}"])
    by_name = {one.overlay.metadata.name: one for one in read.judgements}
    for answer in document.overlays:
        judged = by_name.get(answer.name)
        said = f"counts for {plural(answer.types, 'type')}" if answer.ready else answer.reason
        wrong = ["the input has no such overlay"] if judged is None else list(_judgement_flaws(answer, judged))
        yield line(f"NodeOverlay {answer.name}", said, wrong)
    pairs = Counter((one.pool, one.type) for one in document.types)
    left = sorted(read.kinds.keys() - pairs.keys())
    wrong = [f"{left[0][1]} of NodePool {left[0][0]} is not there"] if left else []
    wrong += [f"{name} of NodePool {pool} is there twice" for (pool, name), times in pairs.items() if times > 1]
    yield line("document", plural(len(document.types), "type"), wrong)
    for one in document.types:
        about, said = f"NodePool {one.pool}, {one.type}", plural(len(one.offerings), "offering")
        if question.is_late:
            yield line(about, said, [], LATE)
            continue
        kind = read.kinds.get((one.pool, one.type))
        yield line(about, said, ["the input has no such type"] if kind is None else list(_flaws(one, kind, read)))


def _judgement_flaws(told: OverlayAnswer, judged: OverlayJudgement) -> Iterator[str]:
    pairs = (
        ("reason", told.reason, judged.reason),
        ("ready", told.ready, not judged.reason),
        ("other", told.other, judged.other),
        ("weight", told.weight, judged.overlay.spec.weight or 0),
        ("types", told.types, judged.types),
        ("offerings", told.offerings, judged.offerings),
        ("proof", told.proof or "", ProofKind.WITNESS if judged.reason else ""),
    )
    for name, said, found in pairs:
        if said != found:
            yield f"{name} is {found if found != '' else 'empty'}, not {said if said != '' else 'empty'}"


def _flaws(told: OverlaidType, kind: OverlaidKind, read: NodePoolReading) -> Iterator[str]:
    if len(told.offerings) != len(kind.ways):
        yield f"it has {plural(len(kind.ways), 'offering')}"
    for number, (one, way) in enumerate(zip(told.offerings, kind.ways, strict=False)):
        free = way.offering.available and way.offering.reservation_capacity != 0
        listed = way.offering.price if way.offering.price is not None else 0
        pairs = (
            ("zone", one.zone, _single(way, ZONE_LABEL)),
            ("capacityType", one.capacity_type, _single(way, CAPACITY_TYPE_LABEL)),
            ("available", one.available, free),
            ("listPrice", _nano(one.list_price), Quantity.parse(listed).nano),
            ("price", _nano(one.price), int(way.price * NANO)),
            ("overlay", one.overlay, way.overlay),
        )
        for name, said, found in pairs:
            if said != found:
                shown = Quantity.from_nano(int(found)) if name in ("listPrice", "price") else found
                yield f"{name} of offering {number} is {shown}"
    capacity = kind.type.spec.capacity or {}
    listed_by = {
        name: (_nano(str(capacity.get(name, ""))), _nano(str(amount)), overlay)
        for name, (amount, overlay) in kind.resources.items()
    }
    said_by = {one.name: (_nano(one.listed), _nano(one.amount), one.overlay) for one in told.resources}
    for name in sorted(listed_by.keys() | said_by.keys()):
        if listed_by.get(name) != said_by.get(name):
            yield f"{name} is {kind.resources[name][0] if name in kind.resources else 'set by no overlay'}"
    slices, _ = read.devices(kind)
    devices = Counter[str]()
    for each in slices:
        devices[each.driver] += len(each.devices or ())
    found_drivers = {
        name: (count, kind.drivers[name][0].metadata.name if name in kind.drivers else "")
        for name, count in devices.items()
    }
    said_drivers = {one.driver: (one.devices, one.overlay) for one in told.drivers}
    for name in sorted(found_drivers.keys() | said_drivers.keys()):
        if found_drivers.get(name) != said_drivers.get(name):
            count, overlay = found_drivers.get(name, (0, ""))
            yield f"driver {name} has {plural(count, 'device')}{f' by {overlay}' if overlay else ''}"
    changed = bool(kind.resources or kind.drivers or any(way.overlay for way in kind.ways))
    if told.changed != changed:
        yield f"it is {'' if changed else 'not '}changed"


def _single(way: OverlaidWay, label: str) -> str:
    values = way.requirements.get(label)
    return next(iter(values.values)) if values is not None and not values.others and len(values.values) == 1 else ""


def _nano(written: str) -> int | None:
    """An amount in billionths; None for an empty one, and for one that is none."""
    try:
        return Quantity.parse(written).nano if written else None
    except ValueError:
        return None
