"""A plan as rows of tables and as lines."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias, cast

import msgspec

from ..models.formats.errors import plural
from ..models.workload.expansion import UnplacedRun, unit_parts
from .tables import display_cells, display_names

if TYPE_CHECKING:
    from ..models.results.plan import (
        Number,
        PlanDocument,
        PlannedUnit,
        PlanStage,
        PlanStep,
        SchedulerDecision,
        ShadowPrice,
    )

Row: TypeAlias = tuple[object, ...]
HEADERS = ("kind", "namespace", "name", "asked", "placed", "nodes")
UNIT_HEADERS = ("kind", "namespace", "name", "unit", "gang", "node", "devices", "outcome", "reasons")
NODE_HEADERS = ("node", "new", "devices", "used", "units")
BOUGHT_HEADERS = ("template", "count", "price", "cost")
POOL_HEADERS = ("pool", "type", "zone", "capacity type", "count", "price", "cost")
WORKLOAD_HEADERS = ("namespace", "workload", "queue", "pods", "flavors", "outcome")
QUEUE_HEADERS = ("queue", "flavor", "resource", "nominal", "used", "borrowed")
COVERAGE_HEADERS = ("namespace", "coverage group", "demand", "covered", "units", "not needed")
STEP_HEADERS = ("step", "action", "object", "from", "to", "note")
VICTIM_HEADERS = ("pod that goes", "node", "priority", "devices", "exceeded budgets", "returns", "reason")
SCHEDULER_HEADERS = ("kube-scheduler alone", "for", "units", "victims", "once victims are gone", "note")
REMOVED_HEADERS = ("node that goes", "price")
STAGE_HEADERS = ("stage", "value", "bound", "gap", "proven", "sense")


def rows(document: PlanDocument) -> Iterator[Row]:
    """One row an owner in the order of the queue, under ``HEADERS``; ``nodes`` is a list."""
    asked, nodes = Counter[tuple[str, str, str]](), defaultdict[tuple[str, str, str], list[str]](list)
    for part in unit_parts(document.units):
        unit, number = (part[0], len(part)) if isinstance(part, UnplacedRun) else (part, 1)
        asked[unit.kind, unit.namespace, unit.name] += number
        if unit.node is not None:
            nodes[unit.kind, unit.namespace, unit.name].append(unit.node)
    for owner, number in asked.items():
        yield (*owner, number, len(nodes[owner]), sorted(set(nodes[owner])))


def unit_rows(document: PlanDocument) -> Iterator[Row]:
    """One row a unit, under ``UNIT_HEADERS``; ``devices`` and ``reasons`` are lists, what is absent is None."""
    for unit in document.units:
        place = unit.kind, unit.namespace, unit.name, unit.unit, unit.gang or None, unit.node
        made = [claim.allocation.devices.results or () for claim in unit.claims if claim.allocation]
        devices = [result.device for results in made for result in results]
        yield (*place, devices, unit.outcome, list(dict.fromkeys(reason.message for reason in unit.reasons)))


def node_rows(document: PlanDocument) -> Iterator[Row]:
    """One row a node, under ``NODE_HEADERS``; of a node to be bought, ``new`` is its template, else None."""
    for node in document.nodes:
        yield node.name, node.template or None, node.devices, node.used, node.units


def bought_rows(document: PlanDocument) -> Iterator[Row]:
    """Yield a row for each NodeTemplate with bought nodes and one for the sum, under ``BOUGHT_HEADERS``."""
    for one in document.bought:
        yield one.template, one.count, one.price, one.cost
    if document.bought:
        cost = sum(Decimal(str(one.cost)) for one in document.bought)
        yield "total", sum(one.count for one in document.bought), "", f"{cost:f}"


def bought_table(document: PlanDocument) -> tuple[tuple[str, ...], Iterator[Row]]:
    """The headers and rows of what is bought: by offering where anything is bought of pools, by template otherwise.

    A NodeTemplate beside offerings of pools is named as the type, without a pool.
    """
    if not any(one.pool for one in document.bought):
        return BOUGHT_HEADERS, bought_rows(document)
    return POOL_HEADERS, _offering_rows(document)


def _offering_rows(document: PlanDocument) -> Iterator[Row]:
    counts: dict[tuple[str, str, str, str, Number], int] = {}
    for one in document.bought:
        offering = one.pool, one.instance_type or one.template, one.zone, one.capacity_type, one.price
        counts[offering] = counts.get(offering, 0) + one.count
    total = Decimal(0)
    for (*place, price), count in counts.items():
        cost = Decimal(str(price)) * count
        total += cost
        yield *place, count, price, f"{cost.normalize():f}"
    yield "total", "", "", "", sum(counts.values()), "", f"{total.normalize():f}"


PRICE_HEADERS = ("one more", "effect")


def price_rows(prices: Sequence[ShadowPrice]) -> Iterator[Row]:
    """Say what one more of something changes, a row each, under ``PRICE_HEADERS``."""
    for one in prices:
        yield display_one_more(one), _display_effect(one)


def display_one_more(price: ShadowPrice) -> str:
    """Of what there is one more."""
    if price.kind == "budget":
        return "unit of budget"
    return f"{price.kind} like those of {price.name}" if price.kind == "unit" else f"node of template {price.name}"


def _display_effect(price: ShadowPrice) -> str:
    amount = _display_amount(abs(price.change))
    if price.stage == "cost":
        if not price.change:
            return "costs nothing more"
        return f"costs {amount} more" if price.change > 0 else f"saves {amount}"
    if price.stage == "admitted":
        return f"{amount} more units placed"
    head, _, priority = price.stage.partition("=")
    if head == "priority":
        return f"{amount} more units of priority {priority} placed"
    return f"{amount} more of {price.stage}"


def stage_rows(document: PlanDocument) -> Iterator[Row]:
    """One row a stage, under ``STAGE_HEADERS``."""
    for one in document.objective:
        yield one.stage, one.value, one.bound, one.gap, one.proven, one.sense


def workload_rows(document: PlanDocument) -> Iterator[Row]:
    """One row a workload that needs quota, under ``WORKLOAD_HEADERS``; ``flavors`` is a list."""
    for one in document.workloads or ():
        admitted, count = (sum(getattr(own, name) for own in one.pod_sets) for name in ("admitted", "count"))
        flavors = list(dict.fromkeys(flavor for own in one.pod_sets for flavor in own.flavors.values()))
        yield one.namespace, one.name, one.queue or None, f"{admitted}/{count}", flavors, one.outcome


def queue_rows(document: PlanDocument) -> Iterator[Row]:
    """One row for each queue, flavor and resource, under ``QUEUE_HEADERS``."""
    for one in document.queues or ():
        yield one.queue, one.flavor, one.resource, one.nominal, one.used, one.borrowed


def coverage_rows(document: PlanDocument) -> Iterator[Row]:
    """One row a coverage group, under ``COVERAGE_HEADERS``."""
    for one in document.coverage or ():
        demand, covered = (_display_amount(amount) for amount in (one.demand, one.covered))
        yield one.namespace, one.name, demand, covered, one.units, one.unneeded


def step_rows(document: PlanDocument) -> Iterator[Row]:
    """One row a step, in their order, under ``STEP_HEADERS``."""
    for number, one in enumerate(document.steps or (), 1):
        name = f"{one.namespace}/{one.name}" if one.namespace else one.name
        notes = [*(["room for both at once"] if one.overlap else []), *([one.note] if one.note else [])]
        yield number, one.action, f"{one.kind} {name}", one.source or None, one.node or None, notes


def victim_rows(document: PlanDocument) -> Iterator[Row]:
    """One row for each pod that loses its place, under ``VICTIM_HEADERS``; ``exceeded budgets`` is a list."""
    for one in document.victims or ():
        returns = "yes" if one.returns else "no"
        yield f"{one.namespace}/{one.name}", one.node, one.priority, one.devices, list(one.budgets), returns, one.reason


def scheduler_rows(document: PlanDocument) -> Iterator[Row]:
    """One row for each owner and what kube-scheduler would do for its units, under ``SCHEDULER_HEADERS``.

    ``victims`` is a list. ``once victims are gone`` says how many of the units it places then, and how many of these
    on the node of the plan.
    """
    planned = {(one.kind, one.namespace, one.name, one.replica): one.node for one in document.units}
    rows: dict[tuple[str, str, str], list[SchedulerDecision]] = {}
    for one in document.scheduler_would or ():
        rows.setdefault((one.action, f"{one.kind} {one.namespace}/{one.name}", one.reason), []).append(one)
    for (action, owner, reason), own in rows.items():
        places = [(one.after_evictions, planned.get((one.kind, one.namespace, one.name, one.replica))) for one in own]
        there = [(after, node) for after, node in places if after is not None]
        told = f"places {len(there)}, {sum(after == node for after, node in there)} as planned"
        yield action, owner, len(own), list(dict.fromkeys(key for one in own for key in one.victims)), told, reason


def removed_rows(document: PlanDocument) -> Iterator[Row]:
    """Yield a row for each node that goes and one for the sum, under ``REMOVED_HEADERS``."""
    for one in document.removed or ():
        yield one.name, one.price
    if document.removed:
        yield "total", f"{sum(Decimal(str(one.price)) for one in document.removed):f}"


_WAIT = "--timeout=15m"
_RUNNING = "status.phase=Running"
# Nobody knows the name of a pod before its controller makes it: it is there once enough pods run on its node.
_FUNCTIONS = (
    "# running NAMESPACE NODE: how many pods of the namespace run on the node",
    f'running() {{ kubectl -n "$1" get pod --field-selector "spec.nodeName=$2,{_RUNNING}" -o name | wc -l; }}',
    "# arrive NAMESPACE NODE NUMBER: wait until so many of them run there, and are ready",
    "arrive() {",
    "  left=180",
    '  until [ "$(running "$1" "$2")" -ge "$3" ]; do',
    '    [ "$left" -gt 0 ] || { echo "$3 pods of namespace $1 do not run on node $2" >&2; exit 1; }',
    "    left=$((left - 1))",
    "    sleep 5",
    "  done",
    f'  kubectl -n "$1" wait --for=condition=Ready pod --all --field-selector "spec.nodeName=$2,{_RUNNING}" {_WAIT}',
    "}",
)


def command_lines(document: PlanDocument) -> Iterator[str]:
    """Yield lines for a shell that carry out the steps in their order, with waits between them.

    Pods are evicted, so that PodDisruptionBudgets hold. While a pod leaves a node, the node takes no others. The
    scheduler chooses where the next pod goes: comments say where the plan has it.
    """
    cordoned, gone = set[str](), set[tuple[str, str]]()
    arrivals = _Arrivals(document)
    yield "set -eu"
    yield from arrivals.first_lines()
    for number, one in enumerate(document.steps or (), 1):
        name, node = shlex.quote(one.name), shlex.quote(one.node)
        said = [one.action, one.kind, f"{one.namespace}/{one.name}" if one.namespace else one.name]
        said += [*(["from", one.source] if one.source else []), *(["to", one.node] if one.node else [])]
        yield f"# step {number}: {' '.join(said)}"
        if one.note:
            yield f"# {one.note}"
        if one.action == "add":
            yield f"kubectl wait --for=create node/{name} {_WAIT}"
            yield f"kubectl wait --for=condition=Ready node/{name} {_WAIT}"
        elif one.action == "remove":
            yield f"kubectl cordon {name}"
            yield f"kubectl delete node/{name}"
            cordoned.discard(one.name)
            continue
        if one.source and (one.namespace, one.name) in gone:
            yield f"# {one.name} moves again: unless a StatefulSet made it, the pod on {one.source} has another name"
        if one.source:
            gone.add((one.namespace, one.name))
        if one.source and one.source not in cordoned:
            cordoned.add(one.source)
            yield f"kubectl cordon {shlex.quote(one.source)}"
        if one.node in cordoned:
            cordoned.discard(one.node)
            yield f"kubectl uncordon {node}"
        if one.kind == "Pod":
            yield from _eviction(one) if one.source else ()
            yield from arrivals.wait(one)
    yield from (f"kubectl uncordon {shlex.quote(name)}" for name in sorted(cordoned))


class _Arrivals:
    """Waits for pods to run where the steps of a plan have them."""

    def __init__(self, document: PlanDocument) -> None:
        self._named = {(one.namespace, one.unit) for one in document.units if one.kind == "Pod"}
        steps = [one for one in document.steps or () if one.kind == "Pod" and one.node]
        places = ((one.namespace, one.node) for one in steps if not self._has_name(one))
        self._variables = {place: f"there_{number}" for number, place in enumerate(dict.fromkeys(places), 1)}
        self._change = Counter[tuple[str, str]]()

    def _has_name(self, step: PlanStep) -> bool:
        """Whether the pod is there already, and waits."""
        return step.action == "place" and (step.namespace, step.name) in self._named

    def first_lines(self) -> Iterator[str]:
        """Yield lines that count the pods that run before the first step."""
        yield from _FUNCTIONS if self._variables else ()
        for (namespace, node), variable in self._variables.items():
            yield f"{variable}=$(running {shlex.quote(namespace)} {shlex.quote(node)})"

    def wait(self, step: PlanStep) -> Iterator[str]:
        """Yield the line that waits for a pod, if it goes anywhere."""
        space, node = shlex.quote(step.namespace), shlex.quote(step.node)
        self._change[step.namespace, step.source] -= 1
        self._change[step.namespace, step.node] += 1
        if step.node and self._has_name(step):
            yield f"kubectl -n {space} wait --for=condition=Ready pod/{shlex.quote(step.name)} {_WAIT}"
        elif step.node:
            place = step.namespace, step.node
            yield f"arrive {space} {node} $(({self._variables[place]} + {self._change[place]}))"


def _eviction(step: PlanStep) -> Iterator[str]:
    """Evict a pod, and wait until it is gone."""
    space, name = shlex.quote(step.namespace), shlex.quote(step.name)
    if step.action == "evict" and "PodDisruptionBudget" in step.note:
        # The API evicts no pod of a budget that does not allow it.
        yield f"kubectl -n {space} delete pod/{name} --wait=true {_WAIT}"
        return
    metadata = {"name": step.name, "namespace": step.namespace}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    body = shlex.quote(msgspec.json.encode(eviction).decode())
    path = shlex.quote(f"/api/v1/namespaces/{step.namespace}/pods/{step.name}/eviction")
    yield f"echo {body} | kubectl create --raw {path} -f -"
    yield f"kubectl -n {space} wait --for=delete pod/{name} {_WAIT}"


def quota_tables(document: PlanDocument, *, wide: bool) -> Iterator[tuple[Sequence[str], list[list[str]]]]:
    """Yield headers and cells: the workloads, those that are not admitted first, and the queues that are in use."""
    if not document.workloads:
        return
    rows = sorted(workload_rows(document), key=lambda row: row[WORKLOAD_HEADERS.index("outcome")] == "Admitted")
    yield WORKLOAD_HEADERS, display_cells(rows)
    used = (row for row in queue_rows(document) if wide or row[QUEUE_HEADERS.index("used")] != "0")
    yield QUEUE_HEADERS, display_cells(used)


def owner_cells(document: PlanDocument) -> list[list[str]]:
    """One row an owner for printing, those of which something is not placed first."""
    found = [(row, placed == asked) for row in rows(document) for asked, placed in (row[3:5],)]
    ordered = sorted(found, key=lambda one: one[1])
    return [[*map(str, row[:-1]), _display_nodes(cast("list[str]", row[-1]))] for row, _ in ordered]


def _display_nodes(names: Sequence[str]) -> str:
    summary = display_names(names)
    return summary if summary == ", ".join(names) else f"{len(names)} nodes: {summary}"


def unit_cells(document: PlanDocument) -> list[list[str]]:
    """One row a unit for printing, what is not placed first."""
    return display_cells(sorted(unit_rows(document), key=lambda row: row[UNIT_HEADERS.index("outcome")] == "Placed"))


def summary(document: PlanDocument) -> str:
    """One line: how good the plan is, and how much is placed."""
    if document.unread:
        return f"{document.outcome}: the time limit ended before the queue was read"
    nodes = sum(node.units > 0 for node in document.nodes)
    summary = (
        f"{document.outcome}: {document.placed} of {plural(document.asked, 'unit')} placed on {plural(nodes, 'node')}"
    )
    count = sum(one.count for one in document.bought)
    summary = f"{summary}, {count} of them to be bought" if count else summary
    if document.coverage:
        covered = sum(one.covered >= one.demand for one in document.coverage)
        summary = f"{summary}; {covered} of {plural(len(document.coverage), 'demand')} covered"
    if document.steps is not msgspec.UNSET:
        lost = len(document.victims or ())
        moved = sum(one.action in ("move", "evict") for one in document.steps) - lost
        if document.victims is not msgspec.UNSET:
            summary = f"{summary}; {plural(lost, 'running pod')} evicted"
        if moved or document.victims is msgspec.UNSET:
            summary = f"{summary}; {plural(moved, 'running pod')} moved"
    if document.removed:
        spared = sum((Decimal(str(one.price)) for one in document.removed), Decimal(0))
        spared -= sum((Decimal(str(one.cost)) for one in document.bought), Decimal(0))
        summary = f"{summary}; {plural(len(document.removed), 'node')} can go, which saves {spared:f}"
    return summary


def stages(document: PlanDocument) -> Iterator[str]:
    """Yield a line for each stage of the objective: value, bound and gap."""
    for one in document.objective:
        yield f"{one.stage}: {_display_amount(one.value)}, {_display_certainty(one)}"


def reasons(document: PlanDocument) -> Iterator[str]:
    """Why units are not placed: one line for all that have the same reasons."""
    groups: dict[tuple[str, str], tuple[PlannedUnit, int]] = {}
    for part in unit_parts(document.units):
        unit, number = (part[0], len(part)) if isinstance(part, UnplacedRun) else (part, 1)
        if unit.outcome != "Placed":
            key = "claim" if unit.kind == "ResourceClaim" else "pod", _display_reasons(unit)
            first, before = groups.get(key, (unit, 0))
            groups[key] = first, before + number
    for (title, reason), (first, number) in groups.items():
        more = f" and {number - 1} more" if number > 1 else ""
        yield f"not placed: {title} {first.namespace}/{first.unit}{more}" + (f": {reason}" if reason else "")


def display_progress(stage: str, value: Number, bound: Number | None, gap: float | None) -> str:
    """How far a stage is."""
    parts = [f"{stage} {_display_amount(value)}"]
    if bound is not None:
        parts.append(f"bound {_display_amount(round(bound, 1))}")
    if gap is not None:
        parts.append(f"gap {_display_percent(gap)}")
    return ", ".join(parts)


def _display_certainty(stage: PlanStage) -> str:
    word, claim = "at most" if stage.sense == "max" else "at least", stage.solver_bound
    unproven = "" if stage.proven or not isinstance(claim, int | float) else f"; the solver says {word} {claim:.10g}"
    if stage.bound is None:
        return f"no bound known{unproven}"
    if stage.bound == stage.value:
        return "proven"
    gap = "" if stage.gap is None else f", gap {_display_percent(stage.gap)}"
    certainty = "close enough" if stage.proven else "not proven"
    return f"{word} {_display_amount(stage.bound)}{gap}, {certainty}{unproven}"


def _display_amount(number: Number) -> str:
    return f"{number:.10g}" if number != int(number) else str(int(number))


def _display_percent(part: float) -> str:
    return f"{100 * part:.3g} %"


def _display_reasons(unit: PlannedUnit) -> str:
    """The reasons in one line, without the names of claims: they differ where units are equal."""
    return "; ".join(dict.fromkeys(reason.message for reason in unit.reasons))


FRAMES: Mapping[str, tuple[Sequence[str], Callable[[PlanDocument], Iterator[Row]]]] = {
    "units": (UNIT_HEADERS, unit_rows),
    "nodes": (NODE_HEADERS, node_rows),
    "owners": (HEADERS, rows),
    "objective": (STAGE_HEADERS, stage_rows),
    "workloads": (WORKLOAD_HEADERS, workload_rows),
    "queues": (QUEUE_HEADERS, queue_rows),
    "steps": (STEP_HEADERS, step_rows),
    "victims": (VICTIM_HEADERS, victim_rows),
    "scheduler": (SCHEDULER_HEADERS, scheduler_rows),
    "coverage": (COVERAGE_HEADERS, coverage_rows),
}
"""The columns and the rows of each table that a frame is made of."""
