"""What manifests of a plan say, read by plain code: units, nodes, devices and gangs; nothing of the package is used.

Only what ``random_plans`` writes is understood.
"""

import json
import re
from dataclasses import dataclass, field
from fractions import Fraction

OURS = "drasat.dev/"
_CLOSED = ({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},)
UNITS = {"m": Fraction(1, 1000), "Ki": 1024, "Mi": 1024**2, "Gi": 1024**3, "": 1}
_EQUAL = re.compile(r'device\.attributes\["(?P<domain>[^"]+)"\]\.(?P<name>\w+) == "(?P<value>[^"]*)"')
_DRIVER = re.compile(r'device\.driver == "(?P<value>[^"]+)"')


def amount(text):
    """A quantity as an exact number."""
    digits, suffix = re.fullmatch(r"([0-9.]+)(\w*)", str(text)).groups()
    return Fraction(digits) * UNITS[suffix]


@dataclass(frozen=True, eq=False)
class Device:
    """A device of a slice; ``on`` tells its node, ``labels`` the nodes that reach it, None and None: all nodes."""

    id: tuple
    on: str | None
    labels: dict | None
    attributes: dict
    capacity: dict
    draws: dict
    multi: bool
    taints: list

    def reached(self, node):
        """Whether a node sees the device."""
        if self.on is not None:
            return node.name == self.on
        return all(node.labels.get(key) == value for key, value in (self.labels or {}).items())

    @property
    def is_local(self):
        return self.on is not None

    def value(self, name):
        """The attribute of this name as constraints look it up, with its type; None: it has none."""
        domain, _, bare = name.partition("/")
        return self.attributes.get(name) or (self.attributes.get(bare) if domain == self.id[0] else None)


@dataclass(frozen=True, eq=False)
class Node:
    """``room`` is what running pods leave, None if nothing is known; ``price`` is None for a node that is there."""

    name: str
    labels: dict
    taints: list
    unschedulable: bool
    room: dict | None
    template: str = ""
    price: Fraction | None = None

    def takes(self, unit):
        """Whether the rules of the unit's pod allow the node."""
        spec = unit.spec
        if spec is None:
            return True
        if spec.get("nodeName") not in (None, self.name):
            return False
        wanted = [*spec.get("nodeSelector", {}).items()]
        if any(self.labels.get(key) != value for key, value in wanted) or not self._suits(spec.get("affinity")):
            return False
        effects = ("NoExecute",) if spec.get("nodeName") else ("NoSchedule", "NoExecute")
        kept = [one for one in (*self.taints, *_CLOSED[: self.unschedulable]) if one["effect"] in effects]
        return all(any(tolerates(one, taint) for one in spec.get("tolerations", ())) for taint in kept)

    def _suits(self, affinity):
        if not affinity:
            return True
        terms = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        return any(all(self._holds(one) for one in term["matchExpressions"]) for term in terms)

    def _holds(self, one):
        there = self.labels.get(one["key"])
        listed = there in one.get("values", ())
        return {"In": listed, "NotIn": not listed, "Exists": there is not None, "DoesNotExist": there is None}[
            one["operator"]
        ]


def tolerates(toleration, taint):
    """Whether a toleration, of a pod or a request, covers a taint."""
    if toleration.get("effect", taint["effect"]) != taint["effect"]:
        return False
    if toleration.get("key", taint["key"]) != taint["key"]:
        return False
    exists = toleration.get("operator", "Equal") == "Exists"
    return exists or toleration.get("value", "") == taint.get("value", "")


@dataclass(frozen=True, eq=False)
class Claim:
    """A claim; ``allocation`` if it has devices already. ``shared``: it has a name that several pods may use.

    ``wishes`` are the entries of its annotation.
    """

    key: str
    spec: dict
    allocation: dict | None = None
    shared: bool = False
    wishes: tuple = ()

    @property
    def compared(self):
        """The attributes that its constraints and wishes compare."""
        entries = (*self.spec["devices"].get("constraints", ()), *self.wishes)
        return {one.get("matchAttribute") or one["distinctAttribute"] for one in entries}


@dataclass(frozen=True, eq=False)
class Unit:
    """A unit of the queue; units with equal ``alike`` may change places."""

    id: tuple
    spec: dict | None
    claims: tuple
    requests: dict
    priority: int
    values: dict
    gang: str | None
    alike: str


@dataclass
class Gang:
    """``minimum`` None: all of its units. ``placed``: the nodes of members that run."""

    minimum: int | None = None
    domain: str | None = None
    placed: list = field(default_factory=list)


class Reading:
    """Everything that a list of manifests says."""

    def __init__(self, documents):
        self._by_kind = {}
        for one in documents:
            self._by_kind.setdefault(one["kind"], []).append(one)
        self.classes = {one["metadata"]["name"]: one.get("spec", {}) for one in self._kind("DeviceClass")}
        self._priorities = {one["metadata"]["name"]: one["value"] for one in self._kind("PriorityClass")}
        self._default = next((one["value"] for one in self._kind("PriorityClass") if one.get("globalDefault")), 0)
        self._templates = {one["metadata"]["name"]: one for one in self._kind("ResourceClaimTemplate")}
        self.claims = {one["metadata"]["name"]: _claim(one) for one in self._kind("ResourceClaim")}
        self.gangs = {}
        self.devices, self.totals = [], {}
        for one in self._kind("ResourceSlice"):
            self._slice(one["spec"])
        running = [one for one in self._kind("Pod") if self._runs(one)]
        self.busy = {one["spec"]["nodeName"] for one in running}
        self.nodes = [self._node(one, running) for one in self._kind("Node")]
        self.templates = self._kind("NodeTemplate")
        for one in running:
            self._join(one["metadata"].get("annotations", {}), one["spec"], one["spec"]["nodeName"])
        self.units = [unit for one in documents for unit in self._units(one)]

    def _kind(self, kind):
        return self._by_kind.get(kind, [])

    def with_bought(self, counts):
        """Nodes and devices with so many nodes of each template added: pairs of lists."""
        nodes, devices = [], []
        for template, count in zip(self.templates, counts, strict=True):
            for number in range(1, count + 1):
                name = f"{template['metadata']['name']}-{number}"
                nodes.append(_new_node(template, name))
                for one in template["spec"].get("slices", ()):
                    own = {**one, "nodeName": name, "pool": {"name": name}}
                    devices += self._slice(own, keep=False)
        return nodes, devices

    def _slice(self, spec, keep=True):
        pool = spec["driver"], spec["pool"]["name"]
        for one in spec.get("sharedCounters", ()):
            for name, counter in one["counters"].items():
                self.totals[(*pool, one["name"], name)] = amount(counter["value"])
        each = spec.get("perDeviceNodeSelection", False)
        found = [_device(one, pool, one if each else spec) for one in spec.get("devices", ())]
        if keep:
            self.devices += found
        return found

    def _runs(self, pod):
        names = [one.get("resourceClaimName") for one in pod["spec"].get("resourceClaims", ())]
        waits = any(name is None or self.claims[name].allocation is None for name in names)
        return bool(pod["spec"].get("nodeName")) and not waits

    def _node(self, one, running):
        spec, status = one.get("spec", {}), one.get("status", {})
        room = None
        if status.get("allocatable"):
            room = {name: amount(text) for name, text in status["allocatable"].items()}
            for pod in running:
                if pod["spec"]["nodeName"] == one["metadata"]["name"]:
                    for name, used in _requests(pod["spec"], ()).items():
                        if name in room or name != "pods":
                            room[name] = room.get(name, 0) - used
        metadata = one["metadata"]
        return Node(
            metadata["name"], metadata.get("labels", {}), spec.get("taints", []), spec.get("unschedulable", False), room
        )

    def _units(self, one):
        kind, metadata, spec = one["kind"], one["metadata"], one.get("spec", {})
        marks = metadata.get("annotations", {})
        if kind == "Pod" and not self._runs(one):
            copies = int(marks.get(OURS + "replicas", 1))
            yield from (self._pod(kind, metadata, number, marks, spec) for number in range(copies))
        elif kind in ("Job", "Deployment", "StatefulSet", "ReplicaSet"):
            template = spec["template"]
            marks = {**marks, **template.get("metadata", {}).get("annotations", {})}
            copies = spec.get("parallelism", 1) if kind == "Job" else spec.get("replicas", 1)
            if kind == "Job" and "completions" in spec:
                copies = min(copies, spec["completions"])
            yield from (self._pod(kind, metadata, number, marks, template["spec"]) for number in range(copies))
        elif kind == "ResourceClaim" and not one.get("status") and not self._is_named(metadata["name"]):
            copies = int(marks.get(OURS + "replicas", 1))
            for number in range(copies):
                key = f"{metadata['name']}/{number}"
                self.claims[key] = Claim(key, spec, wishes=_wishes(metadata))
                yield self._unit((kind, metadata["name"], number), None, (key,), {}, 0, marks)

    def _is_named(self, claim):
        makers = [one for kind in ("Job", "Deployment", "StatefulSet", "ReplicaSet") for one in self._kind(kind)]
        specs = [one["spec"] for one in self._kind("Pod")] + [one["spec"]["template"]["spec"] for one in makers]
        entries = [entry for spec in specs for entry in spec.get("resourceClaims", ())]
        return any(entry.get("resourceClaimName") == claim for entry in entries)

    def _pod(self, kind, metadata, number, marks, spec):
        name = f"{kind}/{metadata['name']}/{number}"
        keys = []
        for entry in spec.get("resourceClaims", ()):
            if "resourceClaimName" in entry:
                keys.append(entry["resourceClaimName"])
                continue
            key = f"{name}/{entry['name']}"
            template = self._templates[entry["resourceClaimTemplateName"]]
            self.claims[key] = Claim(key, template["spec"]["spec"], wishes=_wishes(template["metadata"]))
            keys.append(key)
        backing = {
            one["extendedResourceName"]: cls for cls, one in self.classes.items() if "extendedResourceName" in one
        }
        requests = [
            {"name": f"e{place}", "exactly": {"deviceClassName": backing[resource], "count": int(count)}}
            for place, container in enumerate(spec.get("containers", ()))
            for resource, count in container.get("resources", {}).get("requests", {}).items()
            if resource in backing
        ]
        if requests:
            self.claims[name] = Claim(name, {"devices": {"requests": requests}})
            keys.append(name)
        priority = self._priorities.get(spec.get("priorityClassName"), self._default)
        amounts = _requests(spec, backing)
        return self._unit((kind, metadata["name"], number), spec, tuple(dict.fromkeys(keys)), amounts, priority, marks)

    def _unit(self, id_, spec, keys, requests, priority, marks):
        gang = self._join(marks, spec or {})
        values = {key: Fraction(marks.get(key, 1)) for key in (OURS + "value", "team.example/worth")}
        claims = tuple(self.claims[key] for key in keys)
        told = [one.key if one.shared else [one.spec, one.wishes] for one in claims]
        worth = {key: str(value) for key, value in values.items()}
        amounts = {name: str(used) for name, used in requests.items()}
        rules = {key: (spec or {}).get(key) for key in ("nodeName", "nodeSelector", "affinity", "tolerations")}
        alike = json.dumps([told, amounts, priority, worth, gang, spec is None, rules], sort_keys=True)
        return Unit(id_, spec, claims, requests, priority, values, gang, alike)

    def _join(self, marks, spec, runs_on=None):
        """The gang that somebody is in, by its key."""
        if OURS + "gang" in marks:
            key, minimum, domain = "gang/" + marks[OURS + "gang"], None, marks.get(OURS + "gang-domain")
        elif "schedulingGroup" in spec:
            name = spec["schedulingGroup"]["podGroupName"]
            (group,) = [one["spec"] for one in self._kind("PodGroup") if one["metadata"]["name"] == name]
            key, minimum = "group/" + name, group["schedulingPolicy"].get("gang", {"minCount": 0})["minCount"]
            topology = group.get("schedulingConstraints", {}).get("topology")
            domain = marks.get(OURS + "gang-domain") or (topology[0]["key"] if topology else None)
        else:
            return None
        gang = self.gangs.setdefault(key, Gang(minimum))
        gang.domain = gang.domain or domain
        if runs_on:
            gang.placed.append(runs_on)
        return key


def _claim(one):
    name, allocation = one["metadata"]["name"], one.get("status", {}).get("allocation")
    return Claim(name, one["spec"], allocation, shared=True, wishes=_wishes(one["metadata"]))


def _wishes(metadata):
    return tuple(json.loads(metadata.get("annotations", {}).get(OURS + "constraints", "[]")))


def _device(one, pool, where):
    labels = None
    if "nodeSelector" in where:
        (term,) = where["nodeSelector"]["nodeSelectorTerms"]
        labels = {item["key"]: item["values"][0] for item in term["matchExpressions"]}
    draws = {
        (*pool, consumed["counterSet"], name): amount(counter["value"])
        for consumed in one.get("consumesCounters", ())
        for name, counter in consumed["counters"].items()
    }
    attributes = {name: tuple(*value.items()) for name, value in one.get("attributes", {}).items()}
    multi = one.get("allowMultipleAllocations", False)
    taints = [taint for taint in one.get("taints", ()) if taint["effect"] != "None"]
    return Device(
        (*pool, one["name"]), where.get("nodeName"), labels, attributes, one.get("capacity", {}), draws, multi, taints
    )


def _new_node(template, name):
    spec = template["spec"]
    room = {key: amount(text) for key, text in spec["allocatable"].items()} if spec.get("allocatable") else None
    labels = {**spec.get("labels", {}), "kubernetes.io/hostname": name}
    price = amount(spec.get("price", "0"))
    return Node(name, labels, spec.get("taints", []), False, room, template["metadata"]["name"], price)


def _requests(spec, apart):
    """What a pod takes; init containers run one after the other before the others."""
    total, highest = {"pods": Fraction(1)}, {}
    for container in spec.get("containers", ()):
        for name, text in container.get("resources", {}).get("requests", {}).items():
            total[name] = total.get(name, 0) + amount(text)
    for container in spec.get("initContainers", ()):
        for name, text in container.get("resources", {}).get("requests", {}).items():
            highest[name] = max(highest.get(name, 0), amount(text))
    for name, most in highest.items():
        total[name] = max(total.get(name, 0), most)
    for name, text in spec.get("overhead", {}).items():
        total[name] = total.get(name, 0) + amount(text)
    return {name: used for name, used in total.items() if name not in apart and used}


def selects(expression, device):
    """What an expression of the kinds that are written says of a device."""
    found = _DRIVER.fullmatch(expression)
    if found:
        return device.id[0] == found["value"]
    found = _EQUAL.fullmatch(expression)
    assert found["domain"] == device.id[0], "selectors of a class come first"
    return device.attributes[found["name"]] == ("string", found["value"])
