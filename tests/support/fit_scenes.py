"""Small clusters by chance in which all that decides whether a pod fits a node is mixed, and the answer by force.

Amounts are kept as numbers, in thousandths of cpu and Gi of memory, so that the answer reads no manifests.
"""

from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from random import Random

from support.manifests import obj

from drasat.solver.allocate.load import load

PLAIN, BACKED = "example.com/plain", "example.com/gpu"
TEXTS = {"cpu": "{}m", "memory": "{}Gi"}


def texts(amounts):
    return {name: TEXTS.get(name, "{}").format(amount) for name, amount in amounts.items()}


@dataclass
class FitNode:
    name: str
    zone: str
    taint: str = ""
    cordoned: bool = False
    room: dict | None = None
    gpus: int = 0

    def objects(self):
        spec = {"unschedulable": self.cordoned}
        if self.taint:
            spec["taints"] = [{"key": "team", "value": self.taint, "effect": "NoSchedule"}]
        status = {} if self.room is None else {"status": {"allocatable": texts(self.room)}}
        yield obj("Node", self.name, spec, meta={"labels": {"zone": self.zone}}, **status)
        if self.gpus:
            pool = {"name": self.name, "generation": 1, "resourceSliceCount": 1}
            devices = [{"name": f"gpu-{number}"} for number in range(self.gpus)]
            spec = {"driver": "gpu.example.com", "pool": pool, "nodeName": self.name, "devices": devices}
            yield obj("ResourceSlice", f"{self.name}-gpus", spec)


@dataclass
class FitPod:
    name: str
    containers: list
    init: list = field(default_factory=list)
    """Pairs: whether it is a sidecar, and what it asks for."""
    whole: dict = field(default_factory=dict)
    overhead: dict = field(default_factory=dict)
    zone: str = ""
    zones: tuple = ()
    tolerates: bool = False
    gpus: int = 0
    node: str = ""

    def object(self):
        def container(name, asked, **more):
            return {"name": name, "resources": {"requests": texts(asked), "limits": extended(asked)}, **more}

        def extended(asked):
            return texts({name: amount for name, amount in asked.items() if "/" in name})

        spec = {
            "containers": [container(f"c{number}", asked) for number, asked in enumerate(self.containers)],
            "initContainers": [
                container(f"i{number}", asked, **({"restartPolicy": "Always"} if sidecar else {}))
                for number, (sidecar, asked) in enumerate(self.init)
            ],
            "overhead": texts(self.overhead),
        }
        if self.whole:
            spec["resources"] = {"requests": texts(self.whole)}
        if self.zone:
            spec["nodeSelector"] = {"zone": self.zone}
        if self.zones:
            term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": list(self.zones)}]}
            required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
            spec["affinity"] = {"nodeAffinity": required}
        if self.tolerates:
            spec["tolerations"] = [{"key": "team", "operator": "Exists"}]
        if self.gpus:
            spec["resourceClaims"] = [{"name": "gpus", "resourceClaimTemplateName": f"gpus-{self.gpus}"}]
        if self.node:
            spec["nodeName"] = self.node
        return obj("Pod", self.name, spec, namespace="default")

    @property
    def takes(self):
        """The most that it takes at any time, with its overhead, as one of ``pods``."""
        beside, peak = Counter(), Counter()
        for sidecar, asked in self.init:
            if sidecar:
                beside = beside + Counter(asked)
                peak |= beside
            else:
                peak |= beside + Counter(asked)
        peak |= sum((Counter(asked) for asked in self.containers), beside)
        total = Counter({**peak, **self.whole})
        total.update(self.overhead)
        return total + Counter(pods=1)

    @property
    def devices(self):
        """How many devices it needs in place of the backed resource, in all containers."""
        return sum(asked.get(BACKED, 0) for asked in (*self.containers, *(own for _, own in self.init)))


@dataclass
class FitScene:
    nodes: list
    running: list
    pods: list
    backed: bool

    @classmethod
    def by_chance(cls, seed):
        rng = Random(f"fit/{seed}")
        nodes = [_node(rng, f"n{number}") for number in range(rng.randint(1, 3))]
        running = [_pod(rng, f"r{number}", node=rng.choice(nodes).name) for number in range(rng.choice((0, 0, 1, 2)))]
        backed = rng.random() < 0.5
        kinds = [_pod(rng, "k") for _ in range(rng.randint(1, 2))]
        pods = []
        for number in range(rng.randint(2, 5)):
            kind = rng.choice(kinds)
            # Only pods that ask for devices are asked about by all verbs.
            gpus = kind.gpus or (0 if backed and kind.devices else 1)
            pods.append(FitPod(**{**vars(kind), "name": f"p{number}", "gpus": gpus}))
        return cls(nodes, running, pods, backed)

    def cluster(self, pods=None):
        spec = {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]}
        if self.backed:
            spec["extendedResourceName"] = BACKED
        templates = [
            obj(
                "ResourceClaimTemplate",
                f"gpus-{count}",
                {"spec": {"devices": {"requests": [_request(count)]}}},
                namespace="default",
            )
            for count in (1, 2)
        ]
        listed = [pod.object() for pod in (*self.running, *(self.pods if pods is None else pods))]
        objects = [one for node in self.nodes for one in node.objects()]
        return load([*objects, obj("DeviceClass", "gpu", spec), *templates, *listed])

    def before(self):
        """What running pods leave of rooms and devices, by node."""
        left = {}
        for node in self.nodes:
            room = None if node.room is None else dict(node.room)
            for pod in self.running:
                if pod.node == node.name and room is not None:
                    for name, amount in pod.takes.items():
                        if name in room or name != "pods":
                            room[name] = room.get(name, 0) - amount
            left[node.name] = room, node.gpus
        return left

    def after(self, left, pod, node):
        """What a pod leaves of a node; None if it does not fit there."""
        suits = (
            (not pod.zone or pod.zone == node.zone)
            and (not pod.zones or node.zone in pod.zones)
            and (not node.taint or pod.tolerates)
            and not node.cordoned
        )
        if not suits:
            return None
        room, gpus = left
        by_devices = self.backed and not (node.room or {}).get(BACKED)
        gpus -= pod.gpus + (pod.devices if by_devices else 0)
        if gpus < 0:
            return None
        if room is None:
            return None, gpus
        room = dict(room)
        for name, amount in pod.takes.items():
            if (name == "pods" and name not in room) or (name == BACKED and by_devices):
                continue
            room[name] = room.get(name, 0) - amount
            if room[name] < 0:
                return None
        return room, gpus

    def first_fit(self):
        """The node of each pod, in order."""
        left, found = self.before(), []
        for pod in self.pods:
            fitting = ((node, self.after(left[node.name], pod, node)) for node in self.nodes)
            node, after = next(((node, after) for node, after in fitting if after), (None, None))
            found.append(node and node.name)
            if node:
                left[node.name] = after
        return found

    def most(self):
        """How many pods can be placed at once."""
        return max(map(self._placed, product((None, *self.nodes), repeat=len(self.pods))))

    def _placed(self, choice):
        left = self.before()
        for pod, node in zip(self.pods, choice, strict=True):
            if node is not None:
                after = self.after(left[node.name], pod, node)
                if after is None:
                    return 0
                left[node.name] = after
        return sum(node is not None for node in choice)

    def copies(self, pod):
        """How many such pods fit beside the running ones, on all nodes; None: any number."""
        total = 0
        for node in self.nodes:
            left, number = self.before()[node.name], 0
            while (after := self.after(left, pod, node)) is not None:
                if after == left:
                    return None
                left, number = after, number + 1
            total += number
        return total


def _request(count):
    return {"name": "r", "exactly": {"deviceClassName": "gpu", "count": count}}


def _node(rng, name):
    room = None
    if rng.random() < 0.9:
        room = {"cpu": rng.choice((2000, 4000, 8000)), "memory": rng.randint(4, 16)}
        if rng.random() < 0.8:
            room["pods"] = rng.randint(2, 6)
        if rng.random() < 0.7:
            room[PLAIN] = rng.randint(1, 4)
        if rng.random() < 0.2:
            room[BACKED] = rng.randint(0, 4)
    taint = rng.choice(("", "", "", "", "x"))
    return FitNode(name, rng.choice("ab"), taint, rng.random() < 0.07, room, rng.randint(1, 6))


def _amounts(rng):
    found = {"cpu": rng.choice((0, 250, 500, 1000, 1500)), "memory": rng.randint(0, 3)}
    if rng.random() < 0.12:
        found[PLAIN] = rng.randint(1, 2)
    if rng.random() < 0.15:
        found[BACKED] = rng.randint(1, 2)
    return {resource: amount for resource, amount in found.items() if amount}


def _pod(rng, name, node=""):
    containers = [_amounts(rng) for _ in range(rng.choice((1, 1, 2)))]
    init = [(rng.random() < 0.4, _amounts(rng)) for _ in range(rng.choice((0, 0, 1, 2)))]
    whole = {"cpu": rng.choice((1000, 2000)), "memory": 2} if rng.random() < 0.15 else {}
    overhead = {"cpu": 250, "memory": 1} if rng.random() < 0.2 else {}
    zone = rng.choice(("", "", "", "", "", "a"))
    zones = rng.choice(((), (), (), ("a",), ("a", "b")))
    # Claims of running pods would need allocations.
    gpus = 0 if node else rng.choice((0, 1, 1, 2))
    return FitPod(name, containers, init, whole, overhead, zone, zones, rng.random() < 0.5, gpus, node)
