"""Questions with what objectives see of the node, and what stages come to, merged and with nothing merged."""

from dataclasses import replace

from support.modelling import Question, question
from support.objects import device_class, node

from drasat.encoders.constraints import ENCODERS
from drasat.encoders.model import build_model
from drasat.encoders.objectives.fragmentation import free_offers
from drasat.encoders.objectives.stages import stages_named
from drasat.encoders.symmetry import build_symmetry_classes, merge_equal_requests
from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import DeviceClass, ResourceClaim
from drasat.models.kubernetes.core import Node
from drasat.models.kubernetes.gates import FeatureGates
from drasat.problem.filters import usable_devices
from drasat.problem.node_state import NodeContextBuilder
from drasat.problem.requests import VisibleAttributes
from drasat.problem.shapes import NodeViews
from drasat.solver.engines.cp_sat import Limits, SolverStatus, run_solver
from drasat.solver.engines.engine import Counts
from drasat.solver.engines.lexicographic import LexicographicOptimization


def seen(asked: Question, cluster, gates, on, claims) -> Question:
    """The question with the node's context, as far as these claims look at it."""
    entries = [entry for claim in claims for entry in claim.spec.devices.constraints or ()]
    names = {name for entry in entries for name in (entry.match_attribute, entry.distinct_attribute) if name}
    view = NodeViews(cluster.pools(gates), gates).of(cluster.node(on))
    node_context = NodeContextBuilder(cluster).survey(view, VisibleAttributes(names=frozenset(names)))
    return replace(asked, problem=replace(asked.problem, node_context=node_context))


def asking(*objects, on="n1") -> Question:
    """As ``modelling.question``, with everything on the node's map."""
    given = [item for item in objects if not (isinstance(item, ResourceClaim) and not item.status)]
    if not any(isinstance(item, DeviceClass) for item in given):
        given.append(device_class())
    if not any(isinstance(item, Node) for item in given):
        given.append(node(on))
    claims = [item for item in objects if isinstance(item, ResourceClaim) and not item.status]
    return seen(question(*objects, on=on), Cluster.of(given), FeatureGates.all_on(), on, claims)


def offered(asked: Question):
    """Options of a question: sizes by device name, and groups as pairs of names and size."""
    merged = merge_equal_requests(asked.problem, asked.in_use, usable_devices(asked.problem, asked.in_use))
    found = free_offers(merged)
    groups = {(tuple(asked.names[device] for device in sorted(one.members)), one.size) for one in found.groups}
    return {asked.names[device]: size for device, size in found.sizes.items()}, groups


def modelled(asked: Question, stages, *, together=True):
    merged = merge_equal_requests(
        asked.problem, asked.in_use, usable_devices(asked.problem, asked.in_use), merging=together
    )
    return build_model(build_symmetry_classes(merged, [*ENCODERS, *stages], grouping=together), ENCODERS)


def lots(asked: Question, *names):
    """Into how many lots the stages let devices be put."""
    return len(modelled(asked, stages_named(names)).reduced.classes)


def came_to(asked: Question, *names, together=True):
    """The values of these stages, None if the question has no answer."""
    parts = compared(asked, *names, together=together)
    return parts and [sum(own) for own in parts]


def compared(asked: Question, *names, together=True):
    """What answers are compared by over nodes: the values of each stage's parts."""
    stages = stages_named(names)
    model = modelled(asked, stages, together=together)
    parts = [stage.parts(model) for stage in stages]
    found = run_solver(model.rows, Limits())
    if found.status is SolverStatus.INFEASIBLE:
        return None
    staging = LexicographicOptimization(model, found, Limits(), Counts())
    staging.run([part for own in parts for part in own])
    assert all(one.proven for one in staging.reached)
    left = iter(staging.reached)
    reached = [stage.comparable(model, [next(left) for _ in own]) for stage, own in zip(stages, parts, strict=True)]
    return [[part.value for part in own] for own in reached]
