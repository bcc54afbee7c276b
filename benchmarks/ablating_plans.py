"""Planning without one of its heuristics, or without the pricer of linear nodes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from statistics import median
from time import monotonic, process_time
from typing import Any
from unittest.mock import patch

from ablating import Part, Row, chosen, in_turns, noted
from tables import show

from drasat.models.cluster.cluster import Cluster
from drasat.reports.comparison import display_duration
from drasat.scenarios.openb import manifests, openb
from drasat.scenarios.queues import GANG_MEMBERS, WORKLOADS, fleet, gang_queue
from drasat.solver.allocate.load import load
from drasat.solver.plan import plan as planning
from drasat.solver.plan import price_and_branch
from drasat.solver.plan import pricing as plan_pricing
from drasat.solver.plan.column_generation import Prices, PricingLimits
from drasat.solver.plan.enumeration import EnumerationProof
from drasat.solver.plan.heuristics import fill_at_duals, filling_deadline
from drasat.solver.plan.master_problem import IntegerPlan, ObjectiveStage, PlanSolution, StageResult, empty_plan
from drasat.solver.plan.pricing import lagrangian

TESTS = Path(__file__).parents[1] / "tests"


def _nothing(*_arguments: Any, **_options: Any) -> Iterator[Any]:
    return iter(())


class _NoDive:
    def __init__(self, *_arguments: Any) -> None: ...

    run = plans = staticmethod(_nothing)
    gangs: Sequence[float] = ()


def _best_seen(_relax: Any, seen: Sequence[Any], *_rest: Any) -> Any:
    return min(seen, key=lambda one: one.bound)


def _uncompleted(_generator: Any, _stage: Any, _duals: Any, plan: IntegerPlan, _deadline: Any) -> EnumerationProof:
    return EnumerationProof(plan, proven=False)


def _start_at_duals(run: Any, stage: ObjectiveStage) -> None:
    if stage.maximise and not run._plan.columns:  # noqa: SLF001
        fill_at_duals(run._generator, stage, filling_deadline(run._limits.deadline))  # noqa: SLF001


HEURISTICS = (
    Part("greedy filling at the start", price_and_branch._StageSolver, "_start", _start_at_duals),  # noqa: SLF001
    Part("fill at duals", price_and_branch, "fill_at_duals", lambda *_: None),
    Part("both fillings", price_and_branch._StageSolver, "_start", lambda *_: None),  # noqa: SLF001
    Part("packing by size", price_and_branch._StageSolver, "_pack", lambda *_: None),  # noqa: SLF001
    Part("arc flow", price_and_branch._StageSolver, "_flow", lambda *given: given[-1]),  # noqa: SLF001
    Part("gang filling", price_and_branch, "fill_whole_gangs", _nothing),
    Part("neighbourhood", price_and_branch, "LargeNeighbourhoodSearch", _NoDive),
    Part("trimming", planning, "remove_slack", lambda _instance, plan, _pricer: plan),
    Part("counting", price_and_branch, "plan_from_columns", lambda instance, *_: empty_plan(instance)),
    Part("completion", price_and_branch, "prove_by_enumeration", _uncompleted),
    Part("implied bound", price_and_branch, "implied_bound", lambda *_: None),
    Part("dive", price_and_branch, "DivingHeuristic", _NoDive),
    Part("integer master on few columns", price_and_branch._StageSolver, "_choose_from", lambda *_: None),  # noqa: SLF001
    Part("lagrangian cutting", lagrangian, "minimise_bound", _best_seen),
)
_LINEAR_NODES = plan_pricing.linear_nodes
PRICING = (Part("pricer of linear nodes", plan_pricing, "linear_nodes", lambda _, *units: _LINEAR_NODES({}, *units)),)


@dataclass
class Planned:
    """What one search came to: CPU seconds, how often a node class was priced, and the stages."""

    seconds: float
    pricings: int
    stages: tuple[StageResult, ...]
    plan: IntegerPlan

    @property
    def gaps(self) -> list[float | None]:
        """Gaps relative to the bounds; None without a bound."""
        return [
            None if stage.bound is None else abs(stage.bound - stage.value) / max(1, abs(stage.bound))
            for stage in self.stages
        ]


class _EnoughError(Exception):
    """The search is over; devices, reasons and the verifier are not what is measured."""


@dataclass
class Search:
    """Measures the search inside ``plan``; ``seconds`` is a limit by the clock."""

    objects: Callable[[], list[Any]]
    gap: float = 0.001
    objective: Sequence[str] = ()
    seconds: float | None = None
    whole: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def cluster(self) -> Cluster:
        """Read when it is first asked about."""
        return load(self.objects())

    def run(self) -> Planned:
        """Plan once; with ``whole`` the plan is verified, too."""
        found: list[Planned] = []
        original, priced = planning._solve_instance, [0]  # noqa: SLF001
        price = plan_pricing.DispatchingPricer.price

        def counting(*arguments: Any) -> Any:
            priced[0] += 1
            return price(*arguments)

        def solved(posed: Any, limits: Any, *rest: Any) -> PlanSolution:
            until = None if self.seconds is None else monotonic() + self.seconds
            started = process_time()
            result = original(posed, replace(limits, deadline=until), *rest)
            found.append(Planned(process_time() - started, priced[0], result.stages, result.plan))
            if not self.whole:
                raise _EnoughError
            return result

        price_counted = patch.object(plan_pricing.DispatchingPricer, "price", counting)
        with patch.object(planning, "_solve_instance", solved), price_counted, suppress(_EnoughError):
            planning.plan(self.cluster, objective=self.objective, gap=self.gap, time_limit=None, **self.options)
        return found[0]


HEAD = ("question", "without", "value", "bound", "gap", "CPU", "pricings", "CPU : all on")


def planned(name: str, search: Search, every: Sequence[Part], turns: int) -> Iterator[Row]:
    """A row for everything, and one for each part that the search uses."""
    parts = chosen(every)
    used: set[str] = set()
    with noted(parts, used):
        first = search.run()
    there = [part for part in parts if part.name in used]
    if turns > 1:
        measured = in_turns(there, turns, search.run)
        for without, runs in measured.items():
            yield _row(name, without, runs, measured[""])
    else:
        # Long searches are not repeated, and told as they end.
        yield _row(name, "", [first], [first])
        for part in there:
            with part.off():
                yield _row(name, part.name, [search.run()], [first])
    unused = [part.name for part in parts if part.name not in used]
    if unused:
        yield name, f"not reached: {', '.join(unused)}", *[""] * (len(HEAD) - 2)


def _row(name: str, without: str, runs: Sequence[Planned], base: Sequence[Planned]) -> Row:
    seconds, ratio = (median(one.seconds for one in own) for own in (runs, base))
    told = f"{seconds / ratio:.2f}" + (", same plan" if without and runs[0].plan == base[0].plan else "")
    return name, without, *_reached(runs[0]), display_duration(seconds), f"{runs[0].pricings}", told


def _reached(one: Planned) -> Row:
    gaps = ("none" if gap is None else f"{100 * gap:.3f} %" for gap in one.gaps)
    values = (f"{stage.value}" for stage in one.stages)
    bounds = ("none" if stage.bound is None else f"{stage.bound}" for stage in one.stages)
    return "; ".join(values), "; ".join(bounds), "; ".join(gaps)


def plan_questions(quick: bool) -> Iterator[tuple[str, Search, int]]:
    """Name the searches, and how many turns each has."""
    turns = 3 if quick else 7
    yield "fleet, 1,000 nodes", Search(partial(fleet, 1_000)), turns
    yield "fleet, 100 nodes", Search(partial(fleet, 100)), 1
    for name, workload in WORKLOADS.items():
        yield f"perf, {name}", Search(partial(workload.objects, 50 if quick else 500)), turns
    for size in (40, 345):
        for objective in ("admitted", "admitted=devices"):
            yield f"gangs, {size} nodes, {objective}", Search(partial(gang_queue, size), objective=[objective]), turns
    yield "different gangs, 80 nodes", Search(partial(_different_gangs, 80), objective=["admitted"]), 1
    for queue, gap in (("plain", 0.002), ("models", 0.005)):
        trace = partial(_trace, queue)
        if not quick:
            yield f"openb {queue}, 110 %", Search(trace, gap, ["admitted=capacity:share"]), 1


def _different_gangs(nodes: int) -> list[Any]:
    """Gangs of which no two are alike: each asks for an amount of processors of its own."""
    items = [*gang_queue(nodes)]
    for number, item in enumerate(item for item in items if item["kind"] == "Pod"):
        requests = item["spec"]["containers"][0]["resources"]["requests"]
        requests["cpu"] = f"{125 * int(requests['cpu']) + number // GANG_MEMBERS}m"
    return items


def _trace(queue: str) -> list[Any]:
    return list(manifests(openb(queue, 1.1)))


def at_random(parts: Sequence[Part], number: int, large: bool = False) -> Iterator[Row]:
    """Random small instances of the tests, all of them verified: how many stages are proven, and how well."""
    sys.path[:0] = [str(TESTS), str(TESTS / "properties")]
    from test_plan_against_brute_force import FAMILIES, Question

    runs: list[dict[str, Planned]] = []
    for place in range(number):
        question = Question([*FAMILIES][place % len(FAMILIES)], place // len(FAMILIES), large)
        budget = None if question.budget is None else planning.Decimal(question.budget)
        asked = {"buy": question.buys, "budget": budget, "only_new": question.only_new}
        search = Search(partial(_documents, question), 0.0, question.stages, whole=True, options=asked)
        used: set[str] = set()
        with noted(parts, used):
            search.run()
        found = {"": search.run()}
        for part in parts:
            if part.name in used:
                with part.off():
                    found[part.name] = search.run()
        runs.append(found)
    yield "instances", "without", "reached in", "stages proven", "sum of gaps", "better", "worse", "CPU : all on there"
    for name in ("", *(part.name for part in parts)):
        there = [(one[""], one[name]) for one in runs if name in one]
        every = [one.get(name, one[""]) for one in runs]
        stages = sum(len(one.stages) for one in every)
        proven = sum(stage.proven for one in every for stage in one.stages)
        gaps = sum(gap for one in every for gap in one.gaps if gap is not None)
        better, worse = (sum(_differs(a, b) == sign for a, b in there) for sign in (1, -1))
        base, own = (sum(pair[place].seconds for pair in there) for place in (0, 1))
        ratio = f"{own / base:.2f}" if base else ""
        told = (f"{proven} of {stages}", f"{gaps:.3f}", f"{better}", f"{worse}", ratio)
        yield f"{number} random{', large' * large}", name, f"{len(there)}", *told


def _documents(question: Any) -> list[Any]:
    documents: list[Any] = question.documents
    return documents


def _differs(one: Planned, other: Planned) -> int:
    """1 where the second is better in the first stage that differs, -1 where it is worse."""
    for first, second in zip(one.stages, other.stages, strict=False):
        if first.value != second.value:
            up = first.bound is not None and first.bound >= max(first.value, second.value)
            return 1 if (second.value > first.value) is up else -1
    return 0


def heuristics(quick: bool, only: str) -> None:
    """Each heuristic of planning, off one at a time."""
    for large in (False, True):
        if only in f"random{', large' * large}":
            show(at_random(HEURISTICS, 40 if quick else 200, large))
    for name, search, turns in plan_questions(quick):
        if only in name:
            show(chain([HEAD], planned(name, search, HEURISTICS, turns)))


def pricing(quick: bool, only: str) -> None:
    """Linear nodes priced by dynamic programs, and by models as all others are."""
    for name, search, turns in plan_questions(quick):
        if only in name and "openb" not in name:
            show(chain([HEAD], planned(name, search, PRICING, turns)))
    for queue in ("plain", "models"):
        name = f"openb {queue}, 110 %"
        if only in name:
            show(chain([("question", "node classes", "without", "CPU", "worth", "bound", "CPU : all on")],
                       _round(name, queue, 4 if quick else 27)))  # fmt: skip


def _round(name: str, queue: str, most: int) -> Iterator[Row]:
    """Price node classes once, each pod at the GPU that it takes: whole searches by models alone take too long."""
    trace = openb(queue, 1.1)
    cluster = load(manifests(trace))

    def measure() -> tuple[float, int, int]:
        posed: list[Any] = []

        def solved(found: Any, *_rest: Any) -> PlanSolution:
            posed.append(found)
            raise _EnoughError

        with patch.object(planning, "_solve_instance", solved), suppress(_EnoughError):
            planning.plan(cluster, objective=["admitted=capacity:share"], time_limit=None)
        (own,) = posed
        instance, (goal,) = own.instance, own.goals
        prices = Prices(tuple(goal.stage.terms.units.get(unit.index, 0) for unit in instance.units))
        started = process_time()
        found = [
            own.pricer.price(node.index, prices, instance.most(), PricingLimits()) for node in instance.nodes[:most]
        ]
        worth = sum(prices.value(one.columns[0]) for one in found if one.columns)
        return process_time() - started, worth, sum(one.bound or 0 for one in found)

    measured = in_turns(PRICING, 1, measure)
    for without, ((seconds, worth, bound),) in measured.items():
        ratio = f"{seconds / measured[''][0][0]:.2f}"
        yield name, f"{most}", without, display_duration(seconds), f"{worth}", f"{bound}", ratio
