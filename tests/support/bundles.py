"""Questions about bundles, and what is possible by asking the ordinary engine about every number of copies."""

from dataclasses import replace
from itertools import product

from msgspec.structs import replace as changed
from support.objects import NODE
from support.random_problems import Supply, assembled, template

from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.results.common import Status
from drasat.problem.constraints import draws_counters
from drasat.problem.filters import usable_devices
from drasat.problem.node_state import AllocatedState, NodeContextBuilder
from drasat.problem.problem import InUse, Problem, groups_after_joining
from drasat.solver.engines.cp_sat import LINEARIZED, Limits, SolverStatus, run_solver, solve_with_lazy_constraints
from drasat.solver.engines.engine import Counts, Session
from drasat.solver.engines.optimize import solve
from drasat.solver.engines.registry import cp_sat_engine
from drasat.solver.engines.search import Search
from drasat.solver.plan.pricing.bundle import BundleQuestion, BundleUnit
from drasat.solver.verification.verify import Placement, verify


def random_question(rng, admins=False):
    """Two or three units of one or two random claims, and cpu for some of them."""
    supply = Supply(rng)
    templates = [template(supply, admins) for _ in range(3)]
    kinds = rng.choice((2, 2, 3))
    units = tuple(
        BundleUnit(
            number,
            assembled(supply, rng.choices(templates, k=rng.choice((1, 1, 1, 2)))),
            rng.randint(1, 3 if kinds == 2 else 2),
            (rng.choice((0, 1, 2)),),
        )
        for number in range(kinds)
    )
    return BundleQuestion(units, supply.in_use(), (rng.choice((2, 4, 9)),))


def vectors(question):
    """All numbers of copies."""
    return product(*(range(unit.most + 1) for unit in question.units))


def possible(question, counts):
    """Whether so many copies fit together, by the ordinary engine."""
    for resource, free in enumerate(question.left):
        if sum(unit.needs[resource] * count for unit, count in zip(question.units, counts, strict=True)) > free:
            return False
    copies = [unit.problem for unit, count in zip(question.units, counts, strict=True) for _ in range(count)]
    if not copies:
        return True
    problem = Problem.side_by_side(copies)
    decision = solve(
        problem, question.in_use, usable_devices(problem, question.in_use), Counts(), Limits(), thorough=False
    )
    assert decision.status is not Status.UNKNOWN
    return decision.status is Status.ALLOCATED


def allowed(model, counts):
    """Whether the model has so many copies."""
    rows = model.allocation.rows
    rows.hint({})
    rows.minimize([])
    for placed, count in zip(model.allocation.units.placed, counts, strict=True):
        rows.restrict(placed, count, count)
    found = solve_with_lazy_constraints(
        model.allocation, lambda limits: run_solver(rows, limits, LINEARIZED), Limits(), Counts()
    )
    assert found.status is not SolverStatus.UNKNOWN
    return found.status is not SolverStatus.INFEASIBLE


def replays(question, bundle):
    """Whether the search accepts the picks of copy after copy, each beside what those before it took."""
    in_use = question.in_use
    for unit, copies in zip(question.units, bundle.copies, strict=True):
        for picks in copies:
            if Search(exactly(unit.problem, picks), in_use).run() is None:
                return False
            in_use = after(unit.problem, in_use, picks)
    return True


def exactly(problem, picks):
    """The problem with these devices as the only candidates; a demand that none are picked for cannot be served."""
    devices = {
        demand.index: tuple(sorted(p.device for p in picks if p.demand == demand.index)) for demand in problem.demands
    }
    demands = tuple(
        replace(demand, candidates=devices[demand.index], count=len(devices[demand.index]) or 99, all_devices=False)
        for demand in problem.demands
    )
    kept = [demand for demand in problem.demands if devices[demand.index]]
    assert all(len(devices[demand.index]) == demand.count for demand in kept)
    return replace(problem, demands=demands)


def after(problem, in_use, picks):
    """What is in use once these are allocated, which admin access leaves free (IN-3)."""
    dedicated, shares, consumed = set(in_use.dedicated), dict(in_use.shares), dict(in_use.consumed)
    available, groups = list(in_use.available), list(in_use.groups)
    for pick in picks:
        demand = problem.demands[pick.demand]
        if demand.admin:
            continue
        if draws_counters(problem, replace(in_use, shares=shares), pick.device):
            for row, amount in problem.counters.consumption.get(pick.device, ()):
                available[row] -= amount
            for place, own in problem.groups.membership.get(pick.device, ()):
                groups[place] = groups_after_joining(groups[place], own)
        if pick.device not in problem.shared:
            dedicated.add(pick.device)
            continue
        shares[pick.device] = shares.get(pick.device, 0) + 1
        for row, amount in demand.amounts.get(pick.device, ()):
            consumed[row] = consumed.get(row, 0) + amount
    return InUse(frozenset(dedicated), shares, consumed, tuple(available), tuple(groups))


class Bench:
    """A node of a cluster, units of claims there, and bundles written down as placements for the verifier."""

    def __init__(self, cluster, units, most, on=NODE, gates=None, cel_encoding="auto", **fields):
        self.cluster, self.gates, self.node = cluster, gates or FeatureGates.all_on(), cluster.node(on)
        self.units = units
        self._engine = cp_sat_engine(Session(cluster, self.gates, "strict", 0, cel_encoding=cel_encoding))
        self._asked = [self._engine.compiler.question(claims) for claims in units]
        self._views = [self._engine.compiler.views.of(self.node, one.visible) for one in self._asked]
        in_use = AllocatedState(cluster.usage(self.gates)).in_use(self._views[0])
        made = tuple(
            BundleUnit(number, self._problem(number), copies, needs)
            for number, (copies, needs) in enumerate(zip(most, fields.pop("needs", [()] * len(units)), strict=True))
        )
        self.question = BundleQuestion(made, in_use, **fields)

    def _problem(self, number):
        problem = self._engine.compiler.problem(self._asked[number], self._views[number].shape).order_independent()
        node_context = NodeContextBuilder(self.cluster).survey(self._views[number], self._asked[number].visible)
        return replace(problem, node_context=node_context)

    def numbers(self):
        """Devices by name, as the question has them."""
        return {one.id[2]: number for number, one in enumerate(self._views[0].devices)}

    def placements(self, bundle):
        """Every copy with claims of its own."""
        return [
            self._placement(number, f"{number}-{copy}", picks)
            for number, copies in enumerate(bundle.copies)
            for copy, picks in enumerate(copies)
        ]

    def _placement(self, number, suffix, picks):
        claims = [
            changed(one, metadata=changed(one.metadata, name=f"{one.metadata.name}-{suffix}"), status=None)
            for one in self.units[number]
        ]
        asks = self._engine.compiler.resolved_requests(self._asked[number], self._views[number].shape)
        made = self._engine.builder.build(claims, asks, picks, self._views[number])
        return Placement(self.node, tuple(zip(claims, made, strict=True)))

    def violations(self, bundle):
        return verify(self.cluster, self.placements(bundle), self.gates)
