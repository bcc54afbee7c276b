"""Small clusters with finished allocations, for tests that break them one way at a time."""

from copy import deepcopy
from dataclasses import dataclass, field

import msgspec
import pytest
from support.gates import ALL

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import AllocationResult, DeviceClass, DeviceTaintRule, ResourceClaim
from drasat.models.kubernetes.core import Node, Pod
from drasat.models.kubernetes.extensions import ConstraintGroup, DeviceTopology
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.slices import ResourceSlice
from drasat.models.kubernetes.workloads import PodGroup
from drasat.scenarios import objects
from drasat.solver.verification.verify import Placement, verify

GPU = "gpu.example.com"
NIC = "nic.example.com"

_MODELS = (ConstraintGroup, DeviceClass, DeviceTaintRule, DeviceTopology, Node, Pod, ResourceClaim, ResourceSlice)
_KINDS = {kind.__name__: kind for kind in (*_MODELS, PodGroup)}


def share_id(number):
    return f"7b0d0e4b-8f8c-4f0c-a8a0-{number:012d}"


# What is published.


def gpu(index, **fields):
    """A GPU of model a, or b from index 2 on, on numa node 0, or 1 from index 2 on."""
    model, numa = ("a", 0) if index < 2 else ("b", 1)
    attributes = {"model": model, "index": index, "numa": numa, **fields.pop("attributes", {})}
    return objects.device(f"gpu-{index}", attributes, fields.pop("capacity", {"memory": "40Gi"}), **fields)


def piece(devices, name="n1", pool=None, driver=GPU, where=None, **fields):
    """A slice of the pool ``pool`` (by default of the slice's name), on the node of the pool's name."""
    pool = pool or name
    return objects.resource_slice(name, driver, pool, where or objects.on_node(pool), devices, **fields)


def chip(**fields):
    """A pool of partitions: halves a and b and the whole of a chip of 4 slices, and how many slices the pool has."""
    halves = [partition(name, 2, **fields) for name in ("half-a", "half-b")]
    sets = [objects.counter_set("chip", {"slices": 4})]
    return [
        piece([*halves, partition("whole", 4)], count=2),
        piece([], "n1-counters", "n1", count=2, shared_counters=sets),
    ]


def partition(name, slices, groups=(), counter_set="chip", **fields):
    consumed = objects.consumption(counter_set, {"slices": slices})
    return objects.device(
        name,
        {"size": slices},
        consumesCounters=[consumed | objects.present(compatibilityGroups=list(groups))],
        **fields,
    )


def shared(name, capacity=None, **fields):
    """A device that many may share."""
    return objects.device(name, {}, capacity or {"memory": "10Gi"}, allowMultipleAllocations=True, **fields)


# What is asked for.


def request(name, count=1, class_name="gpu", **fields):
    """An exact request with the API server's defaults."""
    return objects.exactly(name, wanted(count, class_name, **fields))


def wanted(count=1, class_name="gpu", **fields):
    return objects.wanted(class_name, **{"allocationMode": "ExactCount", "count": count, **fields})


def everything(class_name="gpu", **fields):
    """What asks for all devices."""
    return objects.wanted(class_name, allocationMode="All", **fields)


def claim(name, *requests, constraints=(), config=()):
    return objects.claim(name, objects.claim_spec(list(requests), constraints, config))


# What was allocated.


def result(request_name, device, pool="n1", driver=GPU, **fields):
    return objects.result(request_name, driver, pool, device, **fields)


def results(request_name, *devices, **fields):
    return [result(request_name, device, **fields) for device in devices]


def on(node="n1"):
    """The node selector of devices that only this node has."""
    name_is = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {"nodeSelectorTerms": [{"matchFields": [name_is]}]}


def allocation(given, config=(), selector=True):
    """An allocation; ``selector`` True: for node n1, None: for all nodes."""
    chosen = on() if selector is True else selector
    return {
        "devices": objects.present(results=list(given), config=list(config)),
        **objects.present(nodeSelector=chosen),
    }


def held(name, *given, node=None):
    """A claim that holds devices already."""
    return objects.allocated(claim(name, request("r", class_name="any")), list(given), node)


@dataclass
class Scene:
    """Objects, and units placed on nodes: (node, {claim: allocation}) with perhaps a pod and earlier claims."""

    objects: list = field(default_factory=list)
    units: list = field(default_factory=list)
    gates: FeatureGates = ALL

    def place(self, allocations, node="n1", pod=None, earlier=()):
        """Add a unit."""
        self.units.append({"node": node, "claims": allocations, "pod": pod, "earlier": list(earlier)})
        return self

    def find(self, kind, name):
        """The object of this kind and name, to be changed in place."""
        return next(item for item in self.objects if (item["kind"], item["metadata"]["name"]) == (kind, name))

    def device(self, name, slice_name="n1"):
        devices = self.find("ResourceSlice", slice_name)["spec"]["devices"]
        return next(device for device in devices if device["name"] == name)

    def claim(self, name="a"):
        """What a claim asks for."""
        return self.find("ResourceClaim", name)["spec"]["devices"]

    def asked(self, name="a", number=0):
        """What an exact request asks for."""
        return self.claim(name)["requests"][number]["exactly"]

    def allocation(self, name="a"):
        """The allocation of a claim."""
        return next(unit["claims"][name] for unit in self.units if name in unit["claims"])

    def results(self, name="a"):
        return self.allocation(name)["devices"]["results"]

    def copy(self):
        return deepcopy(self)

    def question(self):
        """The cluster and the placements."""
        models = [msgspec.convert(item, _KINDS[item["kind"]]) for item in deepcopy(self.objects)]
        cluster = Cluster.of(models)
        return cluster, [self._placement(cluster, unit) for unit in self.units]

    def violations(self, **options):
        return verify(*self.question(), self.gates, **options)

    def _placement(self, cluster, unit):
        pairs = [
            (cluster.claims["default", name], msgspec.convert(made, AllocationResult))
            for name, made in unit["claims"].items()
        ]
        earlier = tuple(cluster.claims["default", name] for name in unit["earlier"])
        pod = cluster.pods["default", unit["pod"]] if unit["pod"] else None
        return Placement(cluster.node(unit["node"]), tuple(pairs), pod, earlier)

    def rules(self, **options):
        """The ids of the rules that are broken."""
        return {violation.rule for violation in self.violations(**options)}


def nodes(*names):
    return [objects.node(name) for name in names]


def classes(*config):
    """Class gpu, with this configuration, and class any."""
    gpus = objects.device_class("gpu", f'device.driver == "{GPU}"', config=config)
    return [gpus, objects.device_class("any")]


def everyday():
    """Claim a has GPUs 0 and 1 of four on node n1; n2 has the same."""
    devices = [gpu(index) for index in range(4)]
    published = [piece(devices, name) for name in ("n1", "n2")]
    scene = Scene([*nodes("n1", "n2"), *classes(), *published, claim("a", request("r", 2))])
    return scene.place({"a": allocation(results("r", "gpu-0", "gpu-1"))})


def one_claim(published, requests, given, *, constraints=(), config=(), class_config=(), selector=True, in_use=()):
    """Claim a with these requests and these results on node n1."""
    asked = claim("a", *requests, constraints=constraints, config=config)
    scene = Scene([*nodes("n1", "n2"), *classes(*class_config), *published, asked, *in_use])
    return scene.place({"a": allocation(given, selector=selector)})


def way(what, edit, *rules):
    """A way to break a valid scene, and the rules that are broken then."""
    return pytest.param(edit, set(rules), id=f"{rules[0]} {what}")
