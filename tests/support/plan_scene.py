"""Small clusters with a queue, and plans that are written down by hand."""

import msgspec
from msgspec.structs import replace
from support.gates import ALL
from support.manifests import claim, container, device_class, entry, maker, obj, pod, template
from support.manifests import cluster as cluster_of

from drasat.models.kubernetes.claims import AllocationResult
from drasat.models.workload.expansion import QueuedUnit, expand_units
from drasat.models.workload.queue import read_queue
from drasat.scenarios import objects
from drasat.solver.plan.outcome import PlannedUnitOutcome
from drasat.solver.verification.plans import plan_violations

DRIVER = "gpu.example.com"
ZONES = {"n1": "a", "n2": "a", "n3": "b", "n4": None}

__all__ = ["cluster_of", "container", "device_class", "entry", "maker", "obj", "pod", "template"]


def node(name, zone=None, cpu="4", **amounts):
    labels = {"zone": zone} if zone else None
    return obj("Node", name, labels=labels, status={"allocatable": {"cpu": cpu, "pods": "10", **amounts}})


def gpus(name, count=4):
    """A slice of the node with so many devices."""
    devices = [objects.device(f"gpu-{number}", {"index": number}) for number in range(count)]
    return objects.resource_slice(f"slice-{name}", DRIVER, name, objects.on_node(name), devices)


def scene(*given, nodes=ZONES):
    """A cluster of nodes with four devices and 4 cpu each, class gpu, template t of one device, and more."""
    made = [one for name, zone in nodes.items() for one in (node(name, zone), gpus(name))]
    return cluster_of(*made, device_class(), template(), *given)


def user(name, *entries, cpu="1", **options):
    """A pod with one device of its own, and more claims."""
    return pod(name, entry("g", template="t"), *entries, cpu=cpu, **options)


def allocation(node_name, *devices):
    name_is = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    results = [objects.result("r", DRIVER, node_name, device) for device in devices]
    written = {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [name_is]}]}}
    return msgspec.convert(written, AllocationResult)


class Plan:
    """A plan that tests may change; ``places`` are nodes and devices (for the first claims) by the names of units."""

    def __init__(self, cluster, gates=ALL, **places):
        self.cluster = cluster
        self.gates = gates
        queue = list(expand_units(cluster, read_queue(cluster, gates=gates), gates))
        self.sets = {one.unit.name: one.unit_set for one in queue}
        self.units = [self._outcome(one, *places.get(one.unit.name.replace("-", "_"), (None,))) for one in queue]

    def _outcome(self, one, where, *devices):
        """Claims get a device each, or several as a tuple."""
        given = [device if isinstance(device, tuple) else (device,) for device in devices]
        made = [(ref, allocation(where, *own)) for ref, own in zip(one.unit.requested_claims, given, strict=False)]
        return PlannedUnitOutcome(one, where, allocations=tuple(made))

    def __getitem__(self, name):
        return self.units[self._position(name)]

    def _position(self, name):
        return next(number for number, one in enumerate(self.units) if one.unit.name == name)

    def change(self, name, **fields):
        """Change a unit's outcome, the number of its ``replica`` or the ``unit`` itself."""
        one = self[name]
        number, unit = fields.pop("replica", one.replica), fields.pop("unit", one.unit)
        queued = QueuedUnit(one.queued.unit_set, number, unit)
        self.units[self._position(name)] = replace(one, queued=queued, **fields)
        return self

    def change_unit(self, name, **fields):
        return self.change(name, unit=replace(self[name].unit, **fields))

    def violations(self, **options):
        return plan_violations(self.cluster, self.units, self.gates, **options)

    def rules(self, **options):
        """Ids of the rules that are broken, in order, each once."""
        return list(dict.fromkeys(one.rule for one in self.violations(**options)))


TAINTS = [{"key": "team", "value": "x", "effect": "NoSchedule"}]


def random_cluster(rng):
    """A few nodes with few devices, and more pods and loose claims than they can take."""
    there = []
    for number in range(rng.randint(2, 4)):
        made = node(f"n{number}", rng.choice("ab"), cpu=str(rng.randint(2, 6)))
        if rng.random() < 0.3:
            made["spec"] = {"taints": TAINTS}
        there += [made, gpus(f"n{number}", rng.randint(1, 4))]
    there += [template(f"t{count}", of(count)) for count in (1, 2, 3)]
    there += [_pod(rng, f"p{number}") for number in range(rng.randint(4, 8))]
    there += [claim(f"c{number}", of(rng.randint(1, 3))) for number in range(rng.randint(0, 2))]
    return scene(*there, nodes={})


def _pod(rng, name):
    entries = [entry("g", template=f"t{rng.randint(1, 3)}")] if rng.random() < 0.8 else []
    spec = {"nodeSelector": {"zone": rng.choice("ab")}} if rng.random() < 0.3 else {}
    return pod(name, *entries, cpu=str(rng.randint(1, 4)), spec=spec)


def first_fit(rng, cluster):
    """Put units on the first node that takes them, but for some that are passed over."""
    free = {name: [f"gpu-{number}" for number in range(_devices(cluster, name))] for name in cluster.nodes}
    places = {}
    for one in Plan(cluster).units:
        count = sum(ref.claim.spec.devices.requests[0].exactly.count for ref in one.unit.requested_claims)
        for name in cluster.nodes:
            found = places | {one.unit.name: (name, tuple(free[name][:count]))}
            if rng.random() < 0.8 and len(free[name]) >= count and not Plan(cluster, **found).violations():
                places, free[name] = found, free[name][count:]
                break
    return Plan(cluster, **places)


def _devices(cluster, name):
    return sum(len(one.spec.devices) for one in cluster.slices if one.spec.node_name == name)


def of(count):
    """A claim's spec with one request for so many devices."""
    return {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": count}}]}}
