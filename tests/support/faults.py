"""Faults that are put into the solver, each of which makes it believe something false: the table ``FAULTS``.

A fault is called with pytest's ``monkeypatch``. Nothing of it is in the verifier.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps

from drasat.encoders import constraints, symmetry
from drasat.models.results.common import ProofKind, Status
from drasat.problem import filters
from drasat.solver.allocate import allocate
from drasat.solver.allocate.group_problem import GroupRelations
from drasat.solver.allocate.groups import GroupSolver
from drasat.solver.engines import auto, cp_sat, optimize, search
from drasat.solver.engines.cp_sat import SolverStatus
from drasat.solver.engines.engine import Decision
from drasat.solver.explain import conflict, explain, wording
from drasat.solver.plan.pricing import DispatchingPricer, cp_sat_model

Fault = Callable[..., None]
# All that imports the table of encoders by name.
_ENCODING = (optimize, cp_sat_model, wording, conflict, constraints)


def _answers(change):
    """Change what every run of CP-SAT answers."""

    def put(patch):
        right = cp_sat._solve_result
        patch.setattr(cp_sat, "_solve_result", lambda model, solver: change(right(model, solver)))

    return put


def _infeasible(found):
    return replace(found, status=SolverStatus.INFEASIBLE, values=(), objective=0, bound=0)


def _off_by_one(found):
    return replace(found, values=(1 - min(1, found.values[0]), *found.values[1:])) if found.values else found


def _shuffled(found):
    return replace(found, values=tuple(reversed(found.values))) if found.values else found


def _first_is_optimal(patch):
    right = cp_sat._configured_solver

    def configured(*given):
        solver = right(*given)
        solver.parameters.stop_after_first_solution = True
        return solver

    def optimal(found):
        return replace(found, status=SolverStatus.OPTIMAL, bound=found.objective) if found.values else found

    patch.setattr(cp_sat, "_configured_solver", configured)
    _answers(optimal)(patch)


def _too_tight(patch):
    """The first Boolean of every model is zero."""
    right = cp_sat.CpSatRun.solve

    def solve(self, model, callback=None):
        tight = type(model)()
        tight.copy_from(model)
        first = next((one for one in tight.variables if list(one.domain) == [0, 1]), None)
        if first is not None:
            first.domain[1] = 0
        return right(self, tight, callback)

    patch.setattr(cp_sat.CpSatRun, "solve", solve)


def _without(encoder):
    """One kind of rule is in no model."""

    def put(patch):
        for module in _ENCODING:
            patch.setattr(module, "ENCODERS", tuple(one for one in constraints.ENCODERS if one is not encoder))

    return put


def _lost_candidates(patch):
    """Every second device that passes the filters is lost."""
    right = filters.CandidateFilter.result

    def result(self, ask, shape):
        found = right(self, ask, shape)
        return replace(found, passing=found.passing[::2])

    patch.setattr(filters.CandidateFilter, "result", result)


def _search_ends(patch):
    """The search says that it has tried everything once there are two requests."""
    right = search.bounded_search

    def bounded(problem, *given, **options):
        if len(problem.demands) > 1:
            return Decision(Status.UNALLOCATABLE, proof_kind=ProofKind.EXHAUSTED)
        return right(problem, *given, **options)

    for module in (search, auto):
        patch.setattr(module, "bounded_search", bounded)


def _priced(change):
    """Change what pricing answers."""

    def put(patch):
        right = DispatchingPricer.price

        def price(self, *given, **options):
            return change(right(self, *given, **options))

        patch.setattr(DispatchingPricer, "price", price)

    return put


def _one_too_many(found):
    """The first column has one unit more than its devices are for."""
    if not found.columns or not found.columns[0].counts:
        return found
    (unit, amount), *others = found.columns[0].counts
    return replace(found, columns=(replace(found.columns[0], counts=((unit, amount + 1), *others)), *found.columns[1:]))


def _bound_times(part, found):
    return replace(found, bound=None if found.bound is None else int(found.bound * part))


def _merged(patch):
    """Devices that the same requests may take are equal, whatever the rules see of them."""
    right = symmetry.build_symmetry_classes

    @wraps(right)
    def build(merged, sources, **options):
        return right(merged, (), **options)

    patch.setattr(symmetry, "build_symmetry_classes", build)
    for module in (*_ENCODING, conflict):
        if hasattr(module, "build_symmetry_classes"):
            patch.setattr(module, "build_symmetry_classes", build)


def _one_node(patch):
    """Of the nodes that tied units may go to, all but the first are lost."""
    right = GroupSolver.candidate_node_sets

    def sets(self, admissible):
        return ([nodes[:1] for nodes in found] for found in right(self, admissible))

    patch.setattr(GroupSolver, "candidate_node_sets", sets)


def _covering_all(patch):
    """Entries of groups are about all requests of each claim."""
    patch.setattr(GroupRelations, "_covered", lambda self, _entry, claim: self._builder.asks_of(claim))


def _untied(patch):
    """No group ties anything."""
    for module in (allocate, explain):
        patch.setattr(module, "find_coupled_units", lambda *_given: ())


FAULTS: dict[str, Fault] = {
    "the solver always says infeasible": _answers(_infeasible),
    "the first solution is called optimal": _first_is_optimal,
    "values are off by one": _answers(_off_by_one),
    "values are shuffled": _answers(_shuffled),
    "models are too tight by one variable": _too_tight,
    "candidates are lost": _lost_candidates,
    "the search ends early": _search_ends,
    "a column has one unit too many": _priced(_one_too_many),
    "bounds of columns are halved": _priced(partial(_bound_times, 0.5)),
    "bounds of columns are zero": _priced(partial(_bound_times, 0)),
    "different devices are one class": _merged,
    "nodes of tied units are lost": _one_node,
    "entries of groups cover other requests": _covering_all,
    "groups tie nothing": _untied,
    **{f"the encoder {one.id} is missing": _without(one) for one in constraints.ENCODERS},
}
