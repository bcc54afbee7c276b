"""Comparisons of engines and of planners, also those that buy nodes, as rows of tables and as lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from ..models.formats.errors import plural
from ..models.results.comparison import AnswerRelation, PriorityCount
from ..solver.compare.plans import PLAN
from .tables import display_names, display_unit

if TYPE_CHECKING:
    from ..models.results.comparison import (
        ComparisonDocument,
        PlanComparisonDocument,
        PurchaseAnswer,
        PurchaseComparisonDocument,
        SweepDocument,
        SweepEngine,
        TuneDocument,
        UnitSide,
        UnitSides,
    )


COMPARISON_HEADERS = ("engine", "outcome", "admitted", "devices", "steps", "time", "free devices", "whole nodes")
COMPARISON_UNIT_HEADERS = ("pod", "claims", "engine", "outcome", "node", "devices", "relation")
_RELATIONS: tuple[AnswerRelation, ...] = ("equal", "equivalent", "different")
COMPARISON_COLUMNS = (
    *("engine", "version", "outcome", "admitted", "asked", *_RELATIONS),
    *("steps", "time", "free devices", "devices", "whole nodes"),
)


def comparison_rows(document: ComparisonDocument, seconds: Mapping[str, float]) -> Iterator[tuple[str, ...]]:
    """One row an engine, under ``COMPARISON_HEADERS``; ``devices`` says how units relate to the first engine's."""
    for position, engine in enumerate(document.engines):
        relations = Counter(unit.sides[position].relation for unit in document.units)
        summary = ", ".join(f"{relations[name]} {name}" for name in _RELATIONS if relations[name])
        yield (
            f"{engine.engine} {engine.version}".strip(),
            engine.outcome,
            f"{engine.admitted} of {document.asked}",
            summary if position else "",
            str(engine.steps),
            display_duration(seconds[engine.engine]),
            f"{engine.left.free} of {engine.left.devices}",
            str(engine.left.whole_nodes),
        )


def comparison_figures(document: ComparisonDocument, seconds: Mapping[str, float]) -> Iterator[tuple[object, ...]]:
    """The same as numbers, under ``COMPARISON_COLUMNS``; the first engine has nothing to be related to."""
    for position, engine in enumerate(document.engines):
        relations = Counter(unit.sides[position].relation for unit in document.units)
        related = [relations[name] if position else None for name in _RELATIONS]
        left = (engine.left.free, engine.left.devices, engine.left.whole_nodes)
        head = (engine.engine, engine.version or None, engine.outcome, engine.admitted, document.asked)
        yield (*head, *related, engine.steps, timedelta(seconds=seconds[engine.engine]), *left)


def comparison_unit_rows(document: ComparisonDocument) -> Iterator[tuple[str, ...]]:
    """One row a unit and engine, under ``COMPARISON_UNIT_HEADERS``."""
    for unit in document.units:
        for side in unit.sides:
            place = "<none>" if side.node is None else side.node or "<any>"
            names = (unit.pod or "<none>", ", ".join(unit.claims))
            yield (*names, side.engine, side.outcome, place, _display_devices(side), side.relation)


def _display_devices(side: UnitSide) -> str:
    return "; ".join(f"{one.request}: {', '.join(one.devices)}" for one in side.requests) or "<none>"


def comparison_summary(document: ComparisonDocument) -> Iterator[str]:
    """Say whether the answers agree, and if not, where they part, both answers side by side."""
    yield _display_agreement(document)
    if document.parting is not None:
        yield f"they part at {_unit_title(document.parting)}:"
        width = max(len(side.engine) for side in document.parting.sides)
        for side in document.parting.sides:
            answer = f"{side.outcome}: " + "; ".join(reason.message for reason in side.reasons)
            if side.outcome == "Allocated":
                answer = f"Allocated on {side.node or '<any>'}, {_display_devices(side)}"
            yield f"  {side.engine:{width}}  {answer}"


def _display_agreement(document: ComparisonDocument) -> str:
    if document.identical:
        return "same answers"
    undecided = "" if document.decided else "; not all engines were done in time"
    agreement = "same verdict, other answers" if document.same_verdict else "different verdicts"
    return agreement + undecided


def _unit_title(unit: UnitSides) -> str:
    name = display_unit(unit.pod, unit.claims)
    if not unit.request:
        return name
    return f"{name}, request {unit.request}" + (f" of claim {unit.claim}" if unit.pod else "")


_TIME_UNITS = ((1.0, "s", 1), (1e-3, "ms", 1e3), (0.0, "us", 1e6))


def display_duration(seconds: float) -> str:
    """Seconds in the unit that reads best, with three digits."""
    unit, factor = next((unit, factor) for least, unit, factor in _TIME_UNITS if seconds >= least)
    return f"{seconds * factor:.3g} {unit}"


def sweep_table(document: SweepDocument) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Headers, and one row a size: steps and time of each engine, and the time as a multiple of the first's."""
    names = [one.engine for one in document.points[0].engines]
    columns = [f"{name} {what}" for name in names for what in ("steps", "time")]
    ratios = [f"{name} : {names[0]}" for name in names[1:]]
    rows = []
    for point in document.points:
        found = {one.engine: one for one in point.engines}
        cells = [cell for name in names for cell in _sweep_cells(found.get(name))]
        outcomes = ", ".join(dict.fromkeys(one.outcome for one in point.engines))
        first = found[names[0]].seconds if names[0] in found else 0
        times = [found[name].seconds / first if first and name in found else None for name in names[1:]]
        rows.append((str(point.size), outcomes, *cells, *("" if one is None else f"{one:.3g}" for one in times)))
    return ("size", "outcome", *columns, *ratios), rows


def _sweep_cells(one: SweepEngine | None) -> tuple[str, str]:
    if one is None:
        return "", ""
    return str(one.steps), display_duration(one.seconds) + (" (out of time)" if one.outcome == "Unknown" else "")


PLAN_COMPARISON_HEADERS = (
    "planner",
    "order",
    "outcome",
    "admitted",
    "gangs",
    "devices",
    "wasted of free",
    "wasted of all",
    "time",
)
QUOTA_COMPARISON_HEADERS = (
    "planner",
    "outcome",
    "workloads",
    "admitted",
    "placed",
    "stranded",
    "least share",
    "fairness",
    "pods",
    "devices",
    "time",
)
PLAN_COMPARISON_COLUMNS = (
    "planner",
    "order",
    "outcome",
    "admitted",
    "asked",
    "gangs",
    "used",
    "devices",
    "free",
    "wasted",
    "wasted of free",
    "wasted of all",
    "seconds",
)
MOVES_COMPARISON_HEADERS = (
    *PLAN_COMPARISON_HEADERS[:4],
    "moves",
    "cost",
    *PLAN_COMPARISON_HEADERS[4:6],
    "in whole nodes",
    "wasted of free",
    "time",
)
PREEMPTION_COMPARISON_HEADERS = (
    *PLAN_COMPARISON_HEADERS[:4],
    *("placed by priority", "victims by priority", "beyond budgets", "devices lost"),
    *PLAN_COMPARISON_HEADERS[4:6],
    "time",
)
# Where running pods may lose their places also these.
PREEMPTION_COMPARISON_COLUMNS = ("victims", "beyond budgets", "devices lost")
# Where running pods may move also these: ``whole`` are the devices on nodes that reach none in use.
MOVES_COMPARISON_COLUMNS = ("moves", "move cost", "whole")
# With quota of Kueue also these, of workloads.
QUOTA_COMPARISON_COLUMNS = ("workloads", "with quota", "placed", "stranded", "least share", "fairness")


def has_quota(document: PlanComparisonDocument) -> bool:
    """Whether quota of Kueue counts in a comparison."""
    return any(one.quota is not None for one in document.planners)


def has_moves(document: PlanComparisonDocument) -> bool:
    """Whether running pods may move in a comparison."""
    return any(one.moves is not None for one in document.planners)


def has_preemption(document: PlanComparisonDocument) -> bool:
    """Whether running pods may lose their places in a comparison."""
    return any(one.preemption is not None for one in document.planners)


def plan_comparison_columns(document: PlanComparisonDocument) -> tuple[str, ...]:
    """The columns of ``plan_comparison_figures``."""
    quota = QUOTA_COMPARISON_COLUMNS if has_quota(document) else ()
    lost = PREEMPTION_COMPARISON_COLUMNS if has_preemption(document) else ()
    return (*PLAN_COMPARISON_COLUMNS, *quota, *(MOVES_COMPARISON_COLUMNS if has_moves(document) else ()), *lost)


def plan_comparison_table(
    document: PlanComparisonDocument, seconds: Mapping[str, float]
) -> tuple[tuple[str, ...], Iterator[tuple[str, ...]]]:
    """Headers, and a row for each planner and order.

    With quota of Kueue workloads are counted, and where running pods may move, or lose their places, what that costs.
    """
    if has_quota(document):
        return QUOTA_COMPARISON_HEADERS, _quota_comparison_rows(document, seconds)
    if has_moves(document):
        return MOVES_COMPARISON_HEADERS, _moves_comparison_rows(document, seconds)
    if has_preemption(document):
        return PREEMPTION_COMPARISON_HEADERS, _preemption_comparison_rows(document, seconds)
    return PLAN_COMPARISON_HEADERS, plan_comparison_rows(document, seconds)


def _quota_comparison_rows(document: PlanComparisonDocument, seconds: Mapping[str, float]) -> Iterator[tuple[str, ...]]:
    for one in document.planners:
        found = one.quota
        counts = (found.workloads, found.admitted, found.placed, found.stranded) if found else ("?",) * 4
        shares = (found.least_share, found.fairness) if found else (None, None)
        yield (
            one.planner,
            one.outcome or ("" if one.decided else "out of time"),
            *map(str, counts),
            *("?" if share is None else f"{share:.3f}" for share in shares),
            f"{one.admitted} of {document.asked}",
            "?" if one.devices is None else f"{one.used} of {one.devices}",
            display_duration(seconds[one.label]),
        )


def plan_comparison_rows(document: PlanComparisonDocument, seconds: Mapping[str, float]) -> Iterator[tuple[str, ...]]:
    """One row a planner and order, under ``PLAN_COMPARISON_HEADERS``; what is not known is ``?``."""
    for one in document.planners:
        found = one.fragmentation
        yield (
            f"{one.planner} {one.version}".strip(),
            one.order or "",
            one.outcome or ("" if one.decided else "out of time"),
            f"{one.admitted} of {document.asked}",
            f"{one.gangs} of {document.gangs}",
            "?" if one.devices is None else f"{one.used} of {one.devices}",
            "?" if found is None else f"{found.of_free:.1%}",
            "?" if found is None else f"{found.of_all:.1%}",
            display_duration(seconds[one.label]),
        )


def _moves_comparison_rows(document: PlanComparisonDocument, seconds: Mapping[str, float]) -> Iterator[tuple[str, ...]]:
    rows = plan_comparison_rows(document, seconds)
    for one, (*head, gangs, devices, of_free, _, time) in zip(document.planners, rows, strict=True):
        counts = ("?" if count is None else str(count) for count in (one.moves, one.move_cost))
        yield (*head, *counts, gangs, devices, "?" if one.whole is None else str(one.whole), of_free, time)


def _preemption_comparison_rows(
    document: PlanComparisonDocument, seconds: Mapping[str, float]
) -> Iterator[tuple[str, ...]]:
    rows = plan_comparison_rows(document, seconds)
    for one, (*head, gangs, devices, _, _, time) in zip(document.planners, rows, strict=True):
        found = one.preemption
        told = [_by_priority(found.placed), _by_priority(found.lost)] if found else ["?", "?"]
        told += [str(found.beyond_budgets), str(found.devices_lost)] if found else ["?", "?"]
        yield (*head, *told, gangs, devices, time)


def _by_priority(counts: Iterable[PriorityCount]) -> str:
    return ", ".join(f"{one.count} of {one.priority}" for one in counts) or "none"


def plan_comparison_figures(document: PlanComparisonDocument, seconds: Mapping[str, float]) -> list[tuple[object, ...]]:
    """The same as numbers, under ``plan_comparison_columns``."""
    moves = has_moves(document)
    return [
        (
            one.planner,
            one.order,
            one.outcome,
            one.admitted,
            document.asked,
            one.gangs,
            one.used,
            one.devices,
            *((left.free, left.wasted, left.of_free, left.of_all) if left else (None,) * 4),
            seconds[one.label],
            *(msgspec.structs.astuple(one.quota) if one.quota else ()),
            *((one.moves, one.move_cost, one.whole) if moves else ()),
            *((len(lost.victims), lost.beyond_budgets, lost.devices_lost) if lost else ()),
        )
        for one in document.planners
        for left, lost in ((one.fragmentation, one.preemption),)
    ]


def plan_comparison_summary(document: PlanComparisonDocument) -> str:
    """One line: how many units ``plan`` admits, and how many the best of the others does."""
    plan = next((one for one in document.planners if one.planner == PLAN), None)
    best = max((one for one in document.planners if one is not plan), key=lambda one: one.admitted, default=None)
    if plan is not None and best is not None and plan.quota and best.quota:
        own, other = plan.quota, best.quota
        stranded = f"{other.stranded} of {best.label}'s {plural(other.admitted, 'admission')} are stranded"
        return (
            f"plan places {own.placed} of {plural(own.workloads, 'workload')}, {best.label} {other.placed}; {stranded}"
        )
    summary = [] if plan is None else [f"plan admits {plan.admitted} of {plural(document.asked, 'unit')}"]
    if best is not None:
        head = "the best of the others is" if summary else "the best is"
        summary.append(f"{head} {best.label} with {best.admitted}")
    return ", ".join(summary)


TUNE_HEADERS = ("order of", "in", "before", "after")
_FEW_NAMES = 8


def tune_rows(document: TuneDocument, *, wide: bool = False) -> Iterator[tuple[str, ...]]:
    """One row a list whose order changes, under ``TUNE_HEADERS``; long lists are cut off unless ``wide``."""
    for one in document.orders:
        first, *others = one.objects
        objects = ", ".join(one.objects) if wide or not others else f"{first} and {plural(len(others), 'other')}"
        yield one.order, objects, *(_names(names, wide) for names in (one.before, one.after))


def _names(names: tuple[str, ...], wide: bool) -> str:
    return ", ".join(names) if wide or len(names) <= _FEW_NAMES else f"{', '.join(names[:_FEW_NAMES])}, ..."


Row: TypeAlias = tuple[object, ...]
PURCHASE_HEADERS = ("planner", "placed", "nodes", "cost", "bound", "against plan", "refused", "time")
PURCHASE_COLUMNS = ("planner", "pool", "type", "zone", "capacity type", "price", "pods")


def purchase_rows(document: PurchaseComparisonDocument, seconds: Mapping[str, float]) -> Iterator[tuple[str, ...]]:
    """One row a planner, under ``PURCHASE_HEADERS``."""
    least = next((one for one in document.planners if one.planner == "plan"), None)
    for one in document.planners:
        bound = "" if one.bound is None else f"{one.bound:g}"
        # Planners that place less also pay less.
        share = _share(one, least) if least and one.planner != "plan" else ""
        yield (
            f"{one.planner} {one.version}".strip(),
            f"{one.placed} of {document.asked}",
            str(len(one.nodes)),
            f"{one.cost:g}",
            bound,
            share,
            str(len(one.refused)),
            display_duration(seconds[one.planner]),
        )


def bought_rows(document: PurchaseComparisonDocument) -> Iterator[tuple[str, ...]]:
    """One row for equal nodes of a planner, under ``PURCHASE_COLUMNS`` with numbers of nodes and pods."""
    for one in document.planners:
        kinds = Counter((n.pool, n.instance_type, n.zone, n.capacity_type, n.price) for n in one.nodes)
        for kind, count in sorted(kinds.items()):
            pods = sum(
                len(n.pods) for n in one.nodes if (n.pool, n.instance_type, n.zone, n.capacity_type, n.price) == kind
            )
            yield (one.planner, *map(str, kind[:4]), f"{kind[4]:g}", str(count), str(pods))


PURCHASE_NODE_HEADERS = ("planner", "pool", "type", "zone", "capacity type", "price", "nodes", "pods")


def purchase_figures(document: PurchaseComparisonDocument) -> Iterator[Row]:
    """One row a node, under ``PURCHASE_COLUMNS``; ``pods`` is a list."""
    for one in document.planners:
        for node in one.nodes:
            place = node.pool, node.instance_type, node.zone, node.capacity_type
            yield (one.planner, *place, node.price, list(node.pods))


def purchase_summary(document: PurchaseComparisonDocument) -> str:
    """One line: who buys cheapest, and what the others pay."""
    found: dict[str, PurchaseAnswer] = {one.planner: one for one in document.planners}
    best = found[document.cheapest[0]]
    others = [_against(one, best) for one in document.planners if one.planner not in document.cheapest]
    names = " and ".join(document.cheapest)
    verb = "place" if len(document.cheapest) > 1 else "places"
    head = f"{names} {verb} {best.placed} of {plural(document.asked, 'pod')} for {best.cost:g}"
    return "; ".join([head, *others])


def _against(one: PurchaseAnswer, best: PurchaseAnswer) -> str:
    share = _share(one, best)
    return f"{one.planner} {one.placed} for {one.cost:g}{f' ({share})' if share else ''}"


def _share(one: PurchaseAnswer, best: PurchaseAnswer) -> str:
    """How much more a planner pays for as many pods; empty where it places others."""
    return f"{one.cost / best.cost - 1:+.1%}" if best.cost and one.placed == best.placed else ""


def purchase_reasons(document: PurchaseComparisonDocument) -> Iterator[str]:
    """Pods without a place, pods that the replay refuses, and where the planners part."""
    for one in document.planners:
        for pod in one.unplaced:
            yield f"{one.planner}: {pod.pod} has no place: {pod.reason}"
        if one.refused:
            who = "Karpenter" if one.planner == "plan" else "kube-scheduler"
            yield f"{one.planner}: {who} would refuse {display_names(one.refused)} on these nodes"
    for skipped in document.skipped:
        yield f"{skipped.name} could not answer: {skipped.reason}"
    if document.differing:
        yield f"the planners differ in the nodes of {display_names(document.differing)}"
