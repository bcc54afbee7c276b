"""Queues for sequential schedulers, and a scheduler that walks over all nodes and remembers nothing."""

from collections import Counter

from support.gates import ALL
from support.manifests import cluster as cluster_of
from support.manifests import device_class, entry, pod, template
from support.plan_scene import gpus, node

from drasat.models.cluster.cluster import Cluster
from drasat.models.cluster.node_fit import pod_fits, selector_test
from drasat.models.manifests.reader import read_manifests
from drasat.models.results.common import Status
from drasat.models.workload.expansion import expand_units
from drasat.models.workload.node_room import missing_resources
from drasat.models.workload.queue import read_queue
from drasat.solver.compare.figures import SchedulingContext, SchedulingInput
from drasat.solver.compare.schedulers import PLACEMENT_POLICIES, arrival_order, schedule
from drasat.solver.engines.engine import Session
from drasat.solver.engines.outcome import missing_reference_reasons
from drasat.solver.engines.registry import backtracking_engine

OURS = ("first-fit", "best-fit", "fgd")


def needs(count):
    """The spec of a claim for so many devices."""
    return {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": count}}]}}


def supply(**counts):
    """Nodes of 8 cpu with so many devices each, and templates ``t1`` to ``t4`` of so many devices."""
    made = [one for name, count in counts.items() for one in (node(name, cpu="8"), gpus(name, count))]
    return [*made, device_class(), *(template(f"t{count}", needs(count)) for count in range(1, 5))]


def taker(name, count, cpu=None, **options):
    """A pod with a claim for so many devices."""
    return pod(name, entry("g", template=f"t{count}"), cpu=cpu, **options)


def given(*objects, gates=ALL, cel_errors="strict", seed=0):
    return given_of(cluster_of(*objects), gates=gates, cel_errors=cel_errors, seed=seed)


def given_of(cluster, gates=ALL, cel_errors="strict", seed=0):
    units = tuple(expand_units(cluster, read_queue(cluster, gates=gates), gates))
    return SchedulingInput(cluster, units, gates, cel_errors, seed)


def read(objects):
    manifests, problems, _ = read_manifests([list(objects)])
    assert not problems
    return Cluster.build(manifests)


def places(what, planner="first-fit", order="given"):
    """The node of each unit by its name, after the scheduler's own verification."""
    found = schedule(what, planner, order, None)
    assert found.in_time
    return {one.unit.name: one.node for one in found.units}


def told(found):
    """Node and allocations of each unit."""
    return [one.node and (one.node, [allocation for _, allocation in one.allocations]) for one in found.units]


class Walk:
    """A scheduler by the book: each unit asks every node anew, in a context of its own, with all placed so far."""

    def __init__(self, what, planner):
        self._given, self._policy = what, PLACEMENT_POLICIES[planner](SchedulingContext(what, None))
        self._nodes = list(what.cluster.nodes.values())
        self._engine = backtracking_engine(Session(what.cluster, what.gates, what.cel_errors, what.seed))
        self._placed = {}

    def run(self, order):
        queue = arrival_order(self._given.units, order, self._given.seed)
        waiting = Counter(unit.unit_set.gang for unit in queue)
        for unit in queue:
            self._arrive(unit)
            waiting[unit.unit_set.gang] -= 1
            if unit.unit_set.gang is not None and not waiting[unit.unit_set.gang]:
                self._end(unit.unit_set.gang, [one for one in queue if one.unit_set.gang == unit.unit_set.gang])
        return [self._told(unit) for unit in self._given.units]

    def _told(self, unit):
        position, made = self._placed.get(id(unit.unit), (None, ()))
        if position is None:
            return None
        keys = [ref.key for ref in unit.unit.claims]
        ordered = sorted(made, key=lambda pair: keys.index(pair[0].key))
        return self._nodes[position].metadata.name, [one for _, one in ordered]

    def _arrive(self, unit):
        gang = unit.unit_set.gang
        if missing_reference_reasons(unit.unit, self._given.cluster.classes) or (gang and gang.problem):
            return
        best = None
        for position in range(len(self._nodes)):
            attempt = self._attempt(unit, position)
            if attempt is not None and attempt.status is Status.ERROR:
                return
            if attempt is not None and attempt.status is Status.ALLOCATED:
                made = list(zip(self._asked(unit), attempt.allocations, strict=True))
                score = self._score(unit, position, made)
                if best is None or score < best[0]:
                    best = score, position, made
                if self._policy.takes_first:
                    break
        if best is not None:
            self._placed[id(unit.unit)] = best[1:]

    def _attempt(self, unit, position):
        if not self._suits(unit, self._nodes[position]) or missing_resources(
            unit.unit_set.shape.requests, self._room(position)
        ):
            return None
        claims = [ref.claim for ref in self._asked(unit)]
        return self._engine.allocate_on(self._nodes[position], claims, self._node_states().allocated_state, None)

    def _held(self):
        return {ref.key: one for _, made in self._placed.values() for ref, one in made}

    def _asked(self, unit):
        return [ref for ref in unit.unit.requested_claims if ref.key not in self._held()]

    def _suits(self, unit, node):
        held = self._held()
        statuses = [held.get(ref.key) or (ref.claim.status and ref.claim.status.allocation) for ref in unit.unit.claims]
        selectors = [one.node_selector for one in statuses if one is not None and one.node_selector is not None]
        fits = unit.unit.pod is None or not pod_fits(unit.unit.pod.spec, node)
        return fits and all(selector_test(selector)(node) for selector in selectors)

    def _node_states(self, *more):
        node_states = SchedulingContext(self._given, None).node_states
        requests = {id(unit.unit): unit.unit_set.shape.requests for unit in self._given.units}
        for key, (position, made) in [*self._placed.items(), *more]:
            node_states.add_pod(position, requests[key], [(ref.key, one) for ref, one in made])
        return node_states

    def _room(self, position):
        return _state(self._node_states(), position).room

    def _score(self, unit, position, made):
        before = _state(self._node_states(), position)
        after = _state(self._node_states((id(unit.unit), (position, made))), position)
        return self._policy.score(before, after)

    def _end(self, gang, members):
        there = [id(one.unit) for one in members if id(one.unit) in self._placed]
        names = [self._nodes[self._placed[key][0]].metadata.name for key in there] + list(gang.running_nodes)
        enough = len(members) + len(gang.running_nodes) if gang.minimum is None else gang.minimum
        labels = {(self._given.cluster.node(name).metadata.labels or {}).get(gang.domain) for name in names}
        if len(names) < enough or (gang.domain and (None in labels or len(labels) > 1)):
            gone = [pair for key in there for pair in self._placed.pop(key)[1]]
            for ref, one in gone:
                self._hand_on(ref, one)

    def _hand_on(self, ref, allocation):
        """Leave a claim that others have, too, to the first of them."""
        users = {id(unit.unit) for unit in self._given.units if ref.key in [own.key for own in unit.unit.claims]}
        heir = next((key for key in self._placed if key in users), None)
        if heir is not None:
            self._placed[heir][1].append((ref, allocation))


def _state(node_states, position):
    return next(state for state, positions in node_states.groups.items() if position in positions)
