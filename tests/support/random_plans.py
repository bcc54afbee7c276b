"""Random small clusters with a queue, as manifests; a name of FAMILIES and an integer make one, always the same."""

import json
from random import Random

ZONE = "example.com/zone"
WORTH = "team.example/worth"
GPU, MIG, NIC, FABRIC = "gpu.x", "mig.x", "nic.x", "fabric.x"

APIS = {
    "Pod": "v1",
    "Node": "v1",
    "Namespace": "v1",
    "Job": "batch/v1",
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "PodGroup": "scheduling.k8s.io/v1beta1",
    "NodeTemplate": "drasat.dev/v1alpha1",
}

# What the members of a family may have.
FAMILIES = {
    "plain": (),
    "resources": ("resources", "rules", "running", "init", "pinned"),
    "partitions": ("mig", "used"),
    "shares": ("nic", "used"),
    "ties": ("ties", "taints"),
    "alternatives": ("alternatives", "all", "ties", "mig"),
    "wishes": ("wishes", "ties"),
    "gangs": ("gangs", "groups", "running"),
    "groups": ("groups", "running"),
    "group-domains": ("groups", "domains", "running"),
    "domains": ("gangs", "groups", "domains", "running"),
    "shared-claims": ("shared-claims", "nic", "earlier"),
    "network": ("network", "used"),
    "priorities": ("priorities", "resources"),
    "values": ("values", "resources"),
    "extended": ("extended", "resources"),
    "buy": ("buy", "mig"),
    "budget": ("buy", "resources"),
    "buy-gangs": ("buy", "gangs", "domains"),
    "mixed": (),
}
# What brute force knows, but ``mixed`` has not: pods that are linked by claims which they share with others.
CHAINS = {"claim-chains": ("chains", "nic", "earlier")}
# Brute force does not know admin access, whose place in the order of units matters.
ADMIN = {
    "admin-network": ("admin", "network", "used"),
    "admin-partitions": ("admin", "network", "mig", "used"),
    "admin-chains": ("admin", "chains", "network", "mig"),
}
_MIXED = tuple(sorted({feature for features in FAMILIES.values() for feature in features} - {"buy"}))


def plan_manifests(family, seed, large=False):
    """The objects of a member of a family; a large one has twice the units and more nodes."""
    return _Maker(family, Random(f"plan/{family}/{seed}"), large).objects()


def spec_of(requests, constraints=()):
    return {"devices": {"requests": requests, **({"constraints": list(constraints)} if constraints else {})}}


def made(kind, name, spec=None, marks=None, labels=None, **fields):
    metadata = {"name": name, **({"annotations": marks} if marks else {}), **({"labels": labels} if labels else {})}
    head = {"apiVersion": APIS.get(kind, "resource.k8s.io/v1"), "kind": kind, "metadata": metadata}
    return head | ({} if spec is None else {"spec": spec}) | fields


def cel(text):
    return {"cel": {"expression": text}}


class _Maker:
    """Writes the objects of one cluster."""

    def __init__(self, family, random, large):
        self._random, self._large = random, large
        features = (
            (FAMILIES | CHAINS | ADMIN)[family]
            if family != "mixed"
            else [one for one in _MIXED if random.random() < 0.35]
        )
        self._features = set(features)
        self._small = bool({"network", "buy"} & self._features)
        self._gangs, self._groups, self._queue, self._claims, self._templates = [], [], [], [], {}
        self._held = []

    def has(self, feature):
        return feature in self._features

    def chance(self, part):
        return self._random.random() < part

    def pick(self, *options):
        return self._random.choice(options)

    def objects(self):
        kinds = [self._kind() for _ in range(self.pick(1, 2, 2, 3))]
        nodes, slices = [], []
        for number in range(self._node_count()):
            kind = self.pick(*kinds)
            name = f"n{number}"
            nodes.append(self._node(name, kind))
            slices += [
                made("ResourceSlice", f"{name}-{place}", {**one, "nodeName": name, "pool": _pool(name, one, kind)})
                for place, one in enumerate(kind["slices"])
            ]
        if self.has("network"):
            slices += self._network()
        self._fill_queue()
        running = self._running(nodes) if self.has("running") else []
        templates = self._to_buy(kinds) if self.has("buy") else []
        if self.has("used") or self.has("earlier"):
            self._occupy(slices)
        priorities = [made("PriorityClass", f"p{value}", value=value) for value in (5, 100) if self.has("priorities")]
        specs = [
            made("ResourceClaimTemplate", name, {"spec": spec}, self._wishes())
            for name, spec in self._templates.items()
        ]
        objects = [*self._classes(), *priorities, *nodes, *slices, *templates, *specs, *self._held, *self._claims]
        if self.has("admin"):
            objects.append(made("Namespace", "default", labels={"resource.kubernetes.io/admin-access": "true"}))
        return [*objects, *self._groups, *running, *self._queue]

    def _node_count(self):
        if self._large:
            return self.pick(2, 3) if self.has("buy") else self.pick(4, 5, 6)
        return self.pick(1, 2, 3) if self._small else self.pick(1, 2, 2, 3, 4)

    def _classes(self):
        for driver in (GPU, MIG, NIC, FABRIC):
            spec = {"selectors": [cel(f'device.driver == "{driver}"')]}
            if driver == GPU and self.has("extended"):
                spec["extendedResourceName"] = "example.com/gpu"
            yield made("DeviceClass", driver, spec)

    def _kind(self):
        """What equal nodes have."""
        slices = [self._gpus()]
        if self.has("mig") and self.chance(0.6):
            slices += self._card()
        if self.has("nic") and self.chance(0.6):
            slices.append(self._nics())
        return {"slices": slices, "room": self._room(), "taints": self._taints(), "zone": self.pick("a", "b", None)}

    def _gpus(self):
        count = self.pick(1, 2, 2, 3, 4)
        return {"driver": GPU, "devices": [self._gpu(f"g{number}") for number in range(count)]}

    def _gpu(self, name):
        attributes = {"model": {"string": self.pick("a", "b")}, "numa": {"int": self.pick(0, 1)}}
        one = {"name": name, "attributes": attributes}
        if self.has("taints") and self.chance(0.3):
            one["taints"] = [{"key": "old", "effect": self.pick("NoSchedule", "NoExecute", "None")}]
        return one

    def _card(self):
        sizes = self.pick(
            ("small", "small", "small", "large"), ("small", "large"), ("small", "small", "middle", "large")
        )
        draws = {"small": "1", "middle": "2", "large": "4"}
        devices = [
            {
                "name": f"m{number}",
                "attributes": {"size": {"string": size}},
                "consumesCounters": [{"counterSet": "card", "counters": {"parts": {"value": draws[size]}}}],
            }
            for number, size in enumerate(sizes)
        ]
        counters = [{"name": "card", "counters": {"parts": {"value": self.pick("3", "4", "4", "6")}}}]
        return [{"driver": MIG, "devices": devices}, {"driver": MIG, "sharedCounters": counters}]

    def _nics(self):
        policy = self.pick(
            None,
            None,
            {"default": "2", "validValues": ["2", "4", "5"]},
            {"default": "3", "validRange": {"min": "3", "max": "9", "step": "2"}},
        )
        capacity = {"width": {"value": "10", **({"requestPolicy": policy} if policy else {})}}
        devices = [
            {"name": f"e{number}", "allowMultipleAllocations": True, "capacity": capacity}
            for number in range(self.pick(1, 1, 2))
        ]
        return {"driver": NIC, "devices": devices}

    def _room(self):
        if not self.has("resources") or self.chance(0.1):
            return None
        room = {"cpu": self.pick("2", "3", "3500m", "4"), "memory": self.pick("4Gi", "6Gi", "8Gi")}
        return {**room, **({"pods": self.pick("2", "3", "9")} if self.chance(0.7) else {})}

    def _taints(self):
        if not self.has("rules") or self.chance(0.7):
            return []
        return [{"key": "team", "value": "x", "effect": self.pick("NoSchedule", "NoExecute", "PreferNoSchedule")}]

    def _node(self, name, kind):
        labels = {"kubernetes.io/hostname": name}
        if kind["zone"]:
            labels[ZONE] = kind["zone"]
        spec = {"taints": kind["taints"]} if kind["taints"] else {}
        if self.has("rules") and self.chance(0.1):
            spec["unschedulable"] = True
        status = {"allocatable": kind["room"]} if kind["room"] else {}
        return made("Node", name, spec, labels=labels, status=status)

    def _network(self):
        """Pools that several nodes reach, which may overlap."""
        return [one for name in ("fabric", "other")[: self.pick(1, 1, 2)] for one in self._fabric(name)]

    def _fabric(self, name):
        devices = [
            {"name": f"{name[0]}{number}", "attributes": {"rail": {"string": self.pick("r", "s")}}}
            for number in range(self.pick(1, 2, 2, 3))
        ]
        kind = self.pick("plain", "plain", "shares", "parts")
        spec = {"driver": FABRIC, "devices": devices}
        if self.chance(0.2):
            spec["perDeviceNodeSelection"] = True
            for one in devices:
                one |= self.pick({"nodeName": "n0"}, {"allNodes": True}, self._zone())
        else:
            spec |= self.pick({"allNodes": True}, self._zone())
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1 + (kind == "parts")}
        found = [made("ResourceSlice", name, {**spec, "pool": pool})]
        if kind == "shares":
            for one in devices:
                one |= {"allowMultipleAllocations": True, "capacity": {"width": {"value": "10"}}}
        elif kind == "parts":
            for one in devices:
                drawn = {"parts": {"value": self.pick("1", "2", "3")}}
                one["consumesCounters"] = [{"counterSet": "card", "counters": drawn}]
            counters = [{"name": "card", "counters": {"parts": {"value": "4"}}}]
            where = {key: value for key, value in spec.items() if key not in ("devices", "perDeviceNodeSelection")}
            where = where if len(where) > 1 else {**where, "allNodes": True}
            found.append(made("ResourceSlice", f"{name}-card", {**where, "sharedCounters": counters, "pool": pool}))
        return found

    def _zone(self):
        one = {"key": ZONE, "operator": "In", "values": [self.pick("a", "b")]}
        return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [one]}]}}

    def _fill_queue(self):
        target = self._random.randint(6, 12) if self._large else self._random.randint(1, 5 if self._small else 8)
        number = 0
        while target > 0:
            copies = min(target, self.pick(1, 1, 1, 2, 3))
            self._planned(number, copies)
            target -= copies
            number += 1

    def _planned(self, number, copies):
        kind = self.pick("Pod", "Pod", "Job", "Deployment", "StatefulSet", "ResourceClaim")
        if kind == "ResourceClaim":
            marks = {**self._marks(), **self._copies(copies), **self._wishes()}
            self._queue.append(made(kind, f"c{number}", self._request(), marks))
            return
        marks, spec = self._marks(), self._pod(number)
        if self.has("groups") and self.chance(0.5 if self.has("gangs") else 0.9):
            spec["schedulingGroup"] = {"podGroupName": self._group()}
        if kind == "Pod":
            self._queue.append(made("Pod", f"u{number}", spec, {**marks, **self._copies(copies)}))
            return
        below = self.chance(0.5)
        template = {"metadata": {"labels": {"app": "x"}, **({"annotations": marks} if below else {})}, "spec": spec}
        owner = {"template": template, "parallelism" if kind == "Job" else "replicas": copies}
        if kind != "Job":
            owner["selector"] = {"matchLabels": {"app": "x"}}
        else:
            spec["restartPolicy"] = "Never"
        if kind == "StatefulSet":
            owner["serviceName"] = "x"
        self._queue.append(made(kind, f"u{number}", owner, None if below else marks))

    def _copies(self, copies):
        return {"drasat.dev/replicas": str(copies)} if copies > 1 or self.chance(0.2) else {}

    def _marks(self):
        marks = {}
        if self.has("values") and self.chance(0.8):
            marks["drasat.dev/value"] = self.pick("0", "0.5", "1", "2", "2.5", "7")
            marks[WORTH] = self.pick("1", "3", "4.25")
        if self.has("gangs") and self.chance(0.6):
            name = self.pick("one", "two")
            marks["drasat.dev/gang"] = name
            if self.has("domains") and name == "one":
                marks["drasat.dev/gang-domain"] = ZONE
        return marks

    def _wishes(self):
        if not self.has("wishes") or self.chance(0.3):
            return {}
        found = []
        for _ in range(self.pick(1, 1, 2)):
            kind = self.pick("matchAttribute", "matchAttribute", "distinctAttribute")
            wish = {kind: self.pick(f"{GPU}/numa", f"{GPU}/model"), "weight": self.pick(1, 3, 10, 400)}
            found.append({**wish, **({"per": "Pair"} if kind == "matchAttribute" and self.chance(0.4) else {})})
        return {"drasat.dev/constraints": json.dumps(found)}

    def _group(self):
        name = self.pick("red", "blue")
        if not any(one["metadata"]["name"] == name for one in self._groups):
            least = self.pick(None, 1, 2, 3, 4, 5)
            policy = {"gang": {"minCount": least}} if least else {"basic": {}}
            spec = {"schedulingPolicy": policy}
            if self.has("domains") and self.chance(0.7):
                spec["schedulingConstraints"] = {"topology": [{"key": ZONE}]}
            self._groups.append(made("PodGroup", name, spec))
        return name

    def _pod(self, number):
        container = {"name": "main", "image": "x"}
        spec = {"containers": [container]}
        requests = {}
        if self.has("resources"):
            requests |= {"cpu": self.pick("500m", "1", "2", "1500m"), "memory": self.pick("1Gi", "2Gi", "3Gi")}
        if self.has("extended") and self.chance(0.6):
            requests["example.com/gpu"] = self.pick("1", "2")
        if requests:
            container["resources"] = {"requests": requests, "limits": {k: v for k, v in requests.items() if "/" in k}}
        if self.has("init") and self.chance(0.3):
            spec["initContainers"] = [{"name": "init", "image": "x", "resources": {"requests": {"cpu": "2500m"}}}]
        self._rules(spec)
        if self.has("priorities") and self.chance(0.7):
            spec["priorityClassName"] = self.pick("p5", "p100")
        entries = self._entries(number)
        if entries:
            spec["resourceClaims"] = entries
        return spec

    def _rules(self, spec):
        if self.has("pinned") and self.chance(0.1):
            spec["nodeName"] = self.pick("n0", "n1")
        if not self.has("rules"):
            return
        if self.chance(0.4):
            spec["tolerations"] = [self.pick({"operator": "Exists"}, {"key": "team", "value": "x"})]
        if self.chance(0.2):
            spec["nodeSelector"] = {ZONE: self.pick("a", "b")}
        if self.chance(0.2):
            one = {"key": ZONE, "operator": self.pick("Exists", "DoesNotExist")}
            terms = {"nodeSelectorTerms": [{"matchExpressions": [one]}]}
            spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}

    def _entries(self, number):
        if self.has("shared-claims") and self.chance(0.6):
            return [{"name": "shared", "resourceClaimName": self._shared()}, *self._own(number, 0.3)]
        if self.has("chains") and self.chance(0.7):
            names = self._random.sample(["s0", "s1", "s2", "s3"], self.pick(1, 2, 2))
            return [{"name": name, "resourceClaimName": self._shared(name)} for name in names]
        # A pod on a node without a claim that waits runs already.
        return self._own(number, 0.85 if not self.has("pinned") else 1)

    def _own(self, number, part):
        if not self.chance(part):
            return []
        name = f"t{number}" if not self._templates or self.chance(0.6) else self.pick(*self._templates)
        if name not in self._templates:
            self._templates[name] = self._request()
        return [{"name": "own", "resourceClaimTemplateName": name}]

    def _shared(self, name=None):
        name = name or self.pick("s0", "s1")
        if not any(one["metadata"]["name"] == name for one in self._claims):
            self._claims.append(made("ResourceClaim", name, self._request()))
        return name

    def _request(self):
        first = self._wanted("r")
        requests = [first]
        if self.chance(0.3 if self.has("ties") and "exactly" in first else 0.1):
            requests.append(self._wanted("q"))
        return spec_of(requests, self._constraints(requests))

    def _wanted(self, name):
        if self.has("alternatives") and self.chance(0.35):
            options = [{"name": f"o{number}", **self._exactly()} for number in range(self.pick(2, 2, 3))]
            return {"name": name, "firstAvailable": options}
        return {"name": name, "exactly": self._exactly(self.has("all") and self.chance(0.15))}

    def _exactly(self, all_=False):
        kinds = [GPU] + [driver for feature, driver in _DRIVERS.items() if self.has(feature)]
        driver = self.pick(*kinds) if not all_ else GPU
        one = {"deviceClassName": driver, "count": 1}
        if driver == GPU:
            one["count"] = self.pick(1, 1, 1, 2, 2, 3)
            if self.chance(0.4):
                one["selectors"] = [cel(f'device.attributes["{GPU}"].model == "{self.pick("a", "b")}"')]
            if self.has("taints") and self.chance(0.4):
                one["tolerations"] = [{"key": "old", "operator": "Exists"}]
        elif driver == MIG:
            one["count"] = self.pick(1, 1, 2)
            one["selectors"] = [cel(f'device.attributes["{MIG}"].size == "{self.pick("small", "small", "large")}"')]
        elif driver == NIC:
            if self.chance(0.85):
                one["capacity"] = {"requests": {"width": self.pick("1", "3", "4", "5", "6")}}
        elif self.chance(0.3):
            one["selectors"] = [cel(f'device.attributes["{FABRIC}"].rail == "{self.pick("r", "s")}"')]
        if self.has("admin") and self.chance(0.5):
            one["adminAccess"] = True
        if all_:
            one = {**one, "allocationMode": "All"}
            del one["count"]
        return one

    def _constraints(self, requests):
        if not self.has("ties") or self.chance(0.4):
            return []
        options = [one["exactly"] for one in requests if "exactly" in one]
        options += [one for request in requests for one in request.get("firstAvailable", ())]
        if any(one["deviceClassName"] != GPU for one in options):
            return []
        kind = self.pick("matchAttribute", "matchAttribute", "distinctAttribute")
        return [{kind: self.pick(f"{GPU}/numa", f"{GPU}/model")}]

    def _running(self, nodes):
        found = []
        for number in range(self.pick(0, 1, 2)):
            requests = {"cpu": self.pick("500m", "1"), "memory": "1Gi"}
            container = {"name": "main", "image": "x", "resources": {"requests": requests}}
            spec = {"containers": [container], "nodeName": self.pick(*nodes)["metadata"]["name"]}
            if self.has("groups") and self._groups and self.chance(0.5):
                spec["schedulingGroup"] = {"podGroupName": self.pick(*self._groups)["metadata"]["name"]}
            found.append(made("Pod", f"run{number}", spec, self._marks(), status={"phase": "Running"}))
        return found

    def _to_buy(self, kinds):
        found = []
        for number in range(self.pick(1, 2, 2)):
            kind = self.pick(*kinds, self._kind())
            spec = {"price": self.pick("1", "2", "2.5", "4"), "slices": _merged(kind["slices"])}
            if self.chance(0.8):
                spec["limit"] = self.pick(1, 1, 2, 3)
            if kind["zone"]:
                spec["labels"] = {ZONE: kind["zone"]}
            if kind["room"]:
                spec["allocatable"] = kind["room"]
            found.append(made("NodeTemplate", f"new{number}", spec))
        return found

    def _occupy(self, slices):
        """Claims that hold devices already, which pods of the queue may have, too."""
        free = [(one["spec"], device) for one in slices for device in one["spec"].get("devices", ())]
        self._random.shuffle(free)
        left = {}
        for number, (spec, device) in enumerate(free[: self.pick(1, 1, 2, 3)]):
            if any(taint["effect"] != "None" for taint in device.get("taints", ())):
                continue
            pool, drawn = (spec["driver"], spec["pool"]["name"]), device.get("consumesCounters")
            if drawn:
                amount = int(drawn[0]["counters"]["parts"]["value"])
                if left.setdefault(pool, 3) < amount:
                    continue
                left[pool] -= amount
            self._held.append(self._holder(f"held{number}", spec, device))

    def _holder(self, name, spec, device):
        result = {"request": "r", "driver": spec["driver"], "pool": spec["pool"]["name"], "device": device["name"]}
        asked = {"deviceClassName": spec["driver"], "count": 1}
        if device.get("allowMultipleAllocations"):
            result["shareID"] = f"00000000-0000-4000-8000-{len(self._held):012}"
            used = self.pick("2", "5")
            result["consumedCapacity"] = {"width": used}
            asked["capacity"] = {"requests": {"width": used}}
        allocation = {"devices": {"results": [result]}}
        where = device if spec.get("perDeviceNodeSelection") else spec
        if "nodeName" in where:
            field = {"key": "metadata.name", "operator": "In", "values": [where["nodeName"]]}
            allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        elif "nodeSelector" in where:
            allocation["nodeSelector"] = where["nodeSelector"]
        if self.has("earlier") and self.chance(0.7):
            entry = [{"name": "earlier", "resourceClaimName": name}]
            self._queue.append(made("Pod", f"with-{name}", {"containers": [_CONTAINER], "resourceClaims": entry}))
        return made(
            "ResourceClaim", name, spec_of([{"name": "r", "exactly": asked}]), status={"allocation": allocation}
        )


_DRIVERS = {"mig": MIG, "nic": NIC, "network": FABRIC}
_CONTAINER = {"name": "main", "image": "x"}


def _pool(name, one, kind):
    count = sum(other["driver"] == one["driver"] for other in kind["slices"])
    return {"name": name, "generation": 1, "resourceSliceCount": count}


def _merged(slices):
    """Slices of a NodeTemplate: counter sets may be with the devices."""
    found = {}
    for one in slices:
        found.setdefault(one["driver"], {}).update(one)
    return [*found.values()]
