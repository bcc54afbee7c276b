"""A question as a Problem, and the model's own answer to it: no proof and no dive comes first."""

from collections import defaultdict
from dataclasses import dataclass, replace
from time import monotonic

from support.objects import NODE, device_class, node

from drasat.encoders.constraints import ENCODERS
from drasat.encoders.model import AllocationModel, build_model
from drasat.encoders.solution import decode_solution
from drasat.encoders.symmetry import build_symmetry_classes, merge_equal_requests
from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import DeviceClass, ResourceClaim
from drasat.models.kubernetes.core import Node
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.results.common import Status
from drasat.problem.compiler import Compiler
from drasat.problem.filters import usable_devices
from drasat.problem.node_state import AllocatedState
from drasat.problem.problem import InUse, Problem
from drasat.problem.selectors import ExpressionEvaluator
from drasat.problem.shapes import NodeViews
from drasat.solver.engines.cp_sat import Limits, SolverStatus, run_solver
from drasat.solver.engines.engine import Counts
from drasat.solver.engines.optimize import solve
from drasat.solver.engines.search import Search


@dataclass
class Question:
    """A Problem, what is in use, and the names of the devices."""

    problem: Problem
    in_use: InUse
    names: list

    def model(self, **options) -> AllocationModel:
        together = options.pop("together", True)
        candidates = usable_devices(self.problem, self.in_use)
        return build_model(
            collapse_problem(self.problem, self.in_use, candidates, together=together), ENCODERS, **options
        )

    def taken(self, *, together=True):
        """Demand and device of each pick by the model alone, None if it has no solution."""
        model = self.model(together=together)
        found = run_solver(model.rows, Limits())
        assert found.status in (SolverStatus.OPTIMAL, SolverStatus.INFEASIBLE)
        return decode_solution(model, found.values) if found.status is SolverStatus.OPTIMAL else None

    def decision(self, *, thorough=True, backend=None):
        """What the solver says with confirmation and preference; ``backend`` runs in its place."""
        candidates = usable_devices(self.problem, self.in_use)
        return solve(self.problem, self.in_use, candidates, Counts(), Limits(backend=backend), thorough=thorough)


def collapse_problem(problem, in_use, candidates, *, together=True):
    """Merge what is equal; without ``together`` every request and every device stays alone."""
    merged = merge_equal_requests(problem, in_use, candidates, merging=together)
    return build_symmetry_classes(merged, ENCODERS, grouping=together)


def question(*objects, gates=None, on=NODE) -> Question:
    """All claims without allocation among the objects, together, on one node; as ``support.objects.attempt``."""
    claims = [item for item in objects if isinstance(item, ResourceClaim) and not item.status]
    given = [item for item in objects if item not in claims]
    if not any(isinstance(item, DeviceClass) and item.metadata.name == "any" for item in given):
        given.append(device_class())
    if not any(isinstance(item, Node) and item.metadata.name == on for item in given):
        given.append(node(on))
    return asked(Cluster.of(given), FeatureGates.all_on().with_(gates or {}), on, claims)


def asked(cluster, gates, on, claims, allocated_state=None) -> Question:
    """These claims on this node of a cluster. Raises ``FatalError``."""
    views = NodeViews(cluster.pools(gates), gates)
    compiler = Compiler(cluster.classes, gates, ExpressionEvaluator(), "strict", topologies=cluster.topologies)
    compiled = compiler.question(claims)
    view = views.of(cluster.node(on), compiled.visible)
    problem = compiler.problem(compiled, view.shape).order_independent()
    in_use = (allocated_state or AllocatedState(cluster.usage(gates))).in_use(view)
    return Question(problem, in_use, [device.id[2] for device in view.devices])


def picked(*objects, together=True, **options):
    """Pairs of demand label and device name, None if there is no solution."""
    asked_ = question(*objects, **options)
    taken = asked_.taken(together=together)
    if taken is None:
        return None
    return [(asked_.problem.demands[demand].label, asked_.names[device]) for demand, device in taken]


def fits(*objects, **options):
    """Whether the model has a solution, the same with everything merged and with nothing merged."""
    merged, alone = (picked(*objects, together=together, **options) is not None for together in (True, False))
    assert merged == alone
    return merged


def answer(*objects, **options) -> Status:
    return question(*objects, **options).decision().status


def searched(question):
    """The first solution of the search, None if there is none."""
    return Search(question.problem, question.in_use, deadline=monotonic() + 0.5).run()


def replayed(question, taken):
    """Whether the search accepts exactly these devices, in its own order."""
    chosen = defaultdict(list)
    for demand, device in taken:
        chosen[demand].append(device)
    demands = tuple(_exactly(demand, chosen[demand.index]) for demand in question.problem.demands)
    expected = {demand.index: demand.count for demand in question.problem.demands}
    assert all(len(devices) == expected[demand] for demand, devices in chosen.items() if devices)
    return searched(replace(question, problem=replace(question.problem, demands=demands))) is not None


def _exactly(demand, devices):
    """The demand for these devices and no others; one that nothing is taken for cannot be served."""
    return replace(demand, candidates=tuple(sorted(devices)), count=len(devices) or 99, all_devices=False)
