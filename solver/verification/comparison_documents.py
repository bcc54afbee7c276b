"""What documents of ``compare`` and ``tune`` say, checked against the manifests: devices, counts, sums and bounds.

Documents of comparisons have devices by name, and no allocations: whether the devices are there, free and given once is
checked. Answers of other programs are not derived.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from ...models.formats.errors import plural
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.karpenter import InstanceType
from ...models.results.common import ProofKind, Status
from ...models.results.comparison import (
    ComparisonDocument,
    PlanComparisonDocument,
    PlannerAnswer,
    PurchaseAnswer,
    PurchaseComparisonDocument,
    TuneDocument,
    UnitSide,
)
from .documents import LATE, CheckQuestion, Lines, UnitCheck, line
from .node_pools import NodePoolReading
from .payments import stage_flaws, widest_gap
from .published import PublishedDevice
from .verify import Replay

_NO_PLACEMENTS = "the document does not say which nodes and devices units get"


def proof_flaws(proof: ProofKind | None, certified: bool) -> list[str]:
    """Whether what is certified rests on a witness or an audit."""
    is_checked = proof is not None and proof.is_checked
    return [] if certified == is_checked else [f"certified is {str(certified).lower()}, and proof {proof}"]


def comparison_lines(document: ComparisonDocument, gates: FeatureGates, question: CheckQuestion) -> Lines:
    """Check the document of ``compare``: units, devices, and what engines agree on."""
    yield from UnitCheck(question, gates, document.cel_errors).missing(
        [(one.pod, one.claims) for one in document.units]
    )
    engines = [one.engine for one in document.engines]
    sides: dict[str, list[UnitSide]] = defaultdict(list)
    for unit in document.units:
        for side in unit.sides:
            sides[side.engine].append(side)
    wrong = [f"{name} is no engine of the document" for name in sides if name not in engines]
    yield line("document", plural(len(engines), "engine"), wrong)
    for one in document.engines:
        own = sides[one.engine]
        admitted = sum(side.outcome == "Allocated" for side in own)
        gravest = min((Status(side.outcome) for side in own), key=list(Status).index, default=Status.ALLOCATED)
        wrong = [] if one.admitted == admitted else [f"its units are {admitted}"]
        wrong += [] if one.outcome == gravest.value else [f"the gravest outcome is {gravest.value}"]
        yield line(one.engine, f"{one.outcome}, {one.admitted} admitted", wrong)
        if question.is_late:
            yield line(one.engine, "devices", [], LATE)
            continue
        yield line(one.engine, "devices", list(_device_flaws(own, gates, question)), "")
        refused = [side for side in own if side.outcome == "Unallocatable"]
        if refused:
            rests = sorted({str(side.proof or "another program") for side in refused})
            said = f"{plural(len(refused), 'unit')} refused"
            yield line(one.engine, said, [], f"the document has no witnesses: it rests on {' and '.join(rests)}")
    yield line("document", "what engines agree on", list(_agreement_flaws(document)))


def _agreement_flaws(document: ComparisonDocument) -> Iterator[str]:
    done = {(one.outcome, one.admitted) for one in document.engines if one.outcome != "Unknown"}
    if len(done) > 1 and document.same_verdict:
        yield "the engines differ"
    parted = any(
        (side.outcome, side.node, side.requests) != (unit.sides[0].outcome, unit.sides[0].node, unit.sides[0].requests)
        for unit in document.units
        for side in unit.sides[1:]
    )
    if document.identical and parted:
        yield "the engines are not identical"
    if document.asked != len(document.units):
        yield f"{len(document.units)} units are there, not {document.asked}"


def _device_flaws(sides: Sequence[UnitSide], gates: FeatureGates, question: CheckQuestion) -> Iterator[str]:
    """Devices that are not there, in use, or given twice; nodes that are not there."""
    cluster = question.cluster.with_gates(gates)
    context = Replay(cluster, gates, "strict", (), deadline=question.deadline).context
    admin = _admin_requests(question)
    reached: dict[str, dict[str, PublishedDevice]] = {}
    given: Counter[str] = Counter()
    for side in sides:
        if side.outcome != "Allocated" or side.node is None:
            continue
        if side.node not in cluster.nodes:
            yield f"the input has no node {side.node}"
            continue
        if side.node not in reached:
            views = context.inventory.views(cluster.node(side.node))
            reached[side.node] = {"/".join(one.id): one for view in views for one in view.devices.values()}
        for request in side.requests:
            for device in request.devices:
                entry = reached[side.node].get(device)
                if entry is None:
                    yield f"node {side.node} does not reach {device}"
                elif request.request.partition("/")[0] in admin or entry.device.allow_multiple_allocations:
                    continue
                elif context.held_devices.holds(entry.id):
                    yield f"{device} is in use"
                else:
                    given[device] += 1
    yield from (f"{device} is given {times} times" for device, times in given.items() if times > 1)


def _admin_requests(question: CheckQuestion) -> set[str]:
    """Names of requests with admin access, which share their devices with others."""
    cluster = question.cluster
    specs = [one.spec for one in cluster.claims.values()] + [one.spec.spec for one in cluster.templates.values()]
    requests = (one for spec in specs for one in spec.devices.requests or ())
    return {one.name for one in requests if one.exactly is not None and one.exactly.admin_access}


def plan_comparison_lines(document: PlanComparisonDocument, _: FeatureGates, question: CheckQuestion) -> Lines:
    """Check the document of ``compare --plan``: counts, stages, and whether somebody beats ``plan``."""
    own = [one.admitted for one in document.planners if one.planner == "plan"]
    best = max((one.admitted for one in document.planners), default=0)
    wrong = [f"a planner admits {best}"] if own and document.beaten != (best > own[0]) else []
    yield line("document", f"beaten: {str(document.beaten).lower()}", wrong)
    for one in document.planners:
        yield line(
            one.label,
            f"{one.admitted} of {document.asked} admitted",
            list(_planner_flaws(one, document)),
            _NO_PLACEMENTS,
        )
        for stage in one.objective:
            gap = widest_gap(stage.stage, one.objective, document.gap, document.asked)
            yield line(one.label, f"{stage.stage} is {stage.value}", stage_flaws(stage, gap), _NO_PLACEMENTS)
    if question.is_late:
        yield line("document", "planners", [], LATE)


def _planner_flaws(one: PlannerAnswer, document: PlanComparisonDocument) -> Iterator[str]:
    if not 0 <= one.admitted <= document.asked:
        yield f"{document.asked} units were asked about"
    if not 0 <= one.gangs <= document.gangs:
        yield f"the queue has {document.gangs} gangs"
    if one.used is not None and one.devices is not None and not 0 <= one.used <= one.devices:
        yield f"{one.used} of {one.devices} devices are in use"
    quota = one.quota
    if quota is not None and (quota.placed + quota.stranded != quota.admitted or quota.admitted > quota.workloads):
        yield f"{quota.placed} of {quota.admitted} workloads are placed, and {quota.stranded} are not"
    proofs = [stage.proof or ProofKind.SOLVER for stage in one.objective if stage.proven]
    whole = bool(one.objective) and len(proofs) == len(one.objective)
    weakest = ProofKind.weakest(proofs) if whole else None
    if one.proof != weakest:
        yield f"proof is {one.proof}, that of its stages is {weakest}"
    yield from proof_flaws(one.proof, one.certified)


def tune_lines(document: TuneDocument, _: FeatureGates, question: CheckQuestion) -> Lines:
    """Check the document of ``tune``: orders of what is there, and numbers that agree."""
    asked, best = document.asked, max(document.after, default=0)
    wrong = [f"{one} of {asked} units" for one in (*document.before, *document.after) if not 0 <= one <= asked]
    wrong += ["before and after are of different arrivals"] if len(document.before) != len(document.after) else []
    if document.bound is not None and best > document.bound:
        wrong.append(f"the bound is {document.bound}")
    said = f"{sum(document.before)} units before, {sum(document.after)} after"
    yield line("document", said, wrong, "first fit is not run again")
    yield line("document", document.outcome, list(_tune_flaws(document)))
    if document.bound is not None:
        sure = document.bound >= asked
        yield line("document", f"at most {document.bound}", [], "" if sure else "the document has no duals")
    slices = {one.metadata.name: one for one in question.cluster.slices}
    for one in document.orders:
        wrong = [] if sorted(one.before) == sorted(one.after) else ["after has other names than before"]
        listed = [slices.get(name) for name in one.objects] if one.order != "alternatives" else []
        wrong += ["the input has no such ResourceSlice"] if None in listed else []
        for found in listed if one.order == "devices" else ():
            names = tuple(each.name for each in (found.spec.devices if found else None) or ())
            wrong += [] if not found or names == one.before else [f"{found.metadata.name} has other devices"]
        about = f"{one.order} of {', '.join(one.objects[:1])}"
        yield line(about, f"order of {len(one.after)}", wrong)


def _tune_flaws(document: TuneDocument) -> Iterator[str]:
    whole = bool(document.after) and all(one == document.asked for one in document.after)
    reached = document.bound is not None and bool(document.after) and all(x == document.bound for x in document.after)
    if document.outcome == "Optimal" and not (whole or reached or document.exhausted):
        yield "after is below the bound, and not all orders were tried"
    if (document.outcome == "Unknown") != (not document.after):
        yield f"{len(document.after)} arrivals were simulated"
    proof = ProofKind.EXHAUSTED if document.exhausted else ProofKind.SOLVER
    expected = None if document.outcome != "Optimal" else ProofKind.WITNESS if whole else proof
    if document.proof != expected:
        yield f"proof is {document.proof}, not {expected}"
    yield from proof_flaws(document.proof, document.certified)


_ROUNDING = Decimal("1e-6")


def purchase_lines(document: PurchaseComparisonDocument, gates: FeatureGates, question: CheckQuestion) -> Lines:
    """Check the document of ``compare --plan`` with planners that buy: sums, prices, and which pods there are."""
    try:
        read: NodePoolReading | None = NodePoolReading(question.cluster, gates)
    except ValueError:
        read = None
    pods = {"/".join(key) for key in question.cluster.pods}
    # Controllers make pods of other names.
    whole = not question.cluster.workload_objects
    for one in document.planners:
        cost = sum((Decimal(str(node.price)) for node in one.nodes), Decimal())
        placed = [pod for node in one.nodes for pod in node.pods]
        wrong = [] if abs(cost - Decimal(str(one.cost))) <= _ROUNDING else [f"the nodes cost {cost}"]
        wrong += [f"pod {pod} is there twice" for pod, times in Counter(placed).items() if times > 1]
        wrong += [f"pod {pod.pod} has a node" for pod in one.unplaced if pod.pod in set(placed)]
        if whole:
            wrong += [f"the input has no pod {pod}" for pod in placed if pod not in pods]
        yield line(one.planner, f"{plural(len(one.nodes), 'node')} for {one.cost}", wrong)
        types = question.cluster.objects(InstanceType)
        lost = [
            f"there is no InstanceType {node.instance_type}" for node in one.nodes if node.instance_type not in types
        ]
        yield line(one.planner, "instance types", lost)
        if read is not None:
            yield line(one.planner, "prices", list(_price_flaws(one, read)))
        if one.bound is not None:
            beyond = [f"the nodes cost {one.cost}"] if one.bound > one.cost else []
            beyond += ["it is proven with a gap"] if one.proven and one.cost - one.bound > float(_ROUNDING) else []
            yield line(one.planner, f"at least {one.bound}", beyond, "the document has no duals")
        proof = [] if (one.proof is not None) == one.proven else [f"proof is {one.proof}"]
        yield line(
            one.planner,
            f"proven: {str(one.proven).lower()}",
            [*proof, *proof_flaws(one.proof, one.certified)],
            "the document has no duals" if one.proven else "",
        )
        yield line(one.planner, f"{one.placed} pods placed", [], "the document does not say which devices they get")
    most = max((one.placed for one in document.planners), default=0)
    least = min((Decimal(str(one.cost)) for one in document.planners if one.placed == most), default=Decimal())
    cheapest = {
        one.planner for one in document.planners if one.placed == most and Decimal(str(one.cost)) - least <= _ROUNDING
    }
    wrong = [] if set(document.cheapest) == cheapest else [f"they are {', '.join(sorted(cheapest)) or 'none'}"]
    yield line("document", f"cheapest: {', '.join(document.cheapest) or 'none'}", wrong)


def _price_flaws(one: PurchaseAnswer, read: NodePoolReading) -> Iterable[str]:
    """Prices that no offering of the pool's type has, overlays applied."""
    for node in one.nodes:
        kind = read.kinds.get((node.pool, node.instance_type))
        prices = {round(float(way.price), 9) for way in kind.ways} if kind else set()
        if kind is None and node.pool:
            yield f"there is no {node.instance_type} of NodePool {node.pool}"
        elif kind is not None and float(node.price) not in prices:
            yield f"{node.instance_type} of NodePool {node.pool} has no offering for {node.price}"
