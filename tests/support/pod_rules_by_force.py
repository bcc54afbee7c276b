"""Small random clusters whose pods have rules about one another, and the best plan by trying every order of placements.

Pods are placed one after the other as kube-scheduler would; nothing of the package is used.
"""

from random import Random

from support.manifests import container, obj

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
APPS = ("a", "b", "c")


class Case:
    """Nodes, pods that run, and pods that wait, as they are written."""

    def __init__(self, seed, *, rules=("apart", "near", "spread", "ports"), pods=5):
        random = self.random = Random(seed)
        zones = [random.choice(("x", "y", None)) for _ in range(random.randint(2, 4))]
        self.nodes = [
            obj(
                "Node",
                f"n{number}",
                labels={HOST: f"n{number}", **({ZONE: zone} if zone else {})},
                status={"allocatable": {"cpu": str(random.randint(1, 3)), "pods": "10"}},
            )
            for number, zone in enumerate(zones)
        ]
        kinds = [self._kind(rules) for _ in range(random.randint(1, 3))]
        self.running = [
            self._pod(f"r{number}", random.choice(kinds), node=f"n{random.randrange(len(zones))}")
            for number in range(random.choice((0, 0, 1, 2)))
        ]
        self.waiting = [self._pod(f"w{number}", random.choice(kinds)) for number in range(random.randint(2, pods))]

    @property
    def documents(self):
        return [*self.nodes, *self.running, *self.waiting]

    def _selector(self):
        if self.random.random() < 0.7:
            return {"matchLabels": {"app": self.random.choice(APPS)}}
        operator = self.random.choice(("In", "NotIn"))
        return {"matchExpressions": [{"key": "app", "operator": operator, "values": self.random.sample(APPS, 2)}]}

    def _term(self):
        return {"topologyKey": self.random.choice((HOST, ZONE)), "labelSelector": self._selector()}

    def _kind(self, rules):
        """Labels and the spec of pods."""
        random, spec, affinity = self.random, {}, {}
        if "apart" in rules and random.random() < 0.4:
            affinity["podAntiAffinity"] = {REQUIRED: [self._term() for _ in range(random.choice((1, 1, 2)))]}
        if "near" in rules and random.random() < 0.4:
            affinity["podAffinity"] = {REQUIRED: [self._term() for _ in range(random.choice((1, 1, 2)))]}
        if affinity:
            spec["affinity"] = affinity
        if "spread" in rules and random.random() < 0.4:
            spread = {
                "maxSkew": random.choice((1, 1, 2)),
                "topologyKey": random.choice((HOST, ZONE)),
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": self._selector(),
            }
            if random.random() < 0.2:
                spread["minDomains"] = random.choice((2, 3))
            spec["topologySpreadConstraints"] = [spread]
        ports = []
        if "ports" in rules and random.random() < 0.25:
            ports = [{"containerPort": 80, "hostPort": random.choice((80, 81))}]
            if random.random() < 0.4:
                ports[0]["hostIP"] = random.choice(("10.0.0.1", "10.0.0.2"))
        return {"app": random.choice(APPS)}, spec, ports

    def _pod(self, name, kind, node=None):
        labels, spec, ports = kind
        own = {**spec, "containers": [container("1", **({"ports": ports} if ports else {}))]}
        return obj("Pod", name, own | ({"nodeName": node} if node else {}), labels=labels)

    def best(self):
        """How many pods can be placed at most, in any order."""
        nodes = {node["metadata"]["name"]: node for node in self.nodes}
        start = tuple((None, pod, pod["spec"]["nodeName"]) for pod in self.running)
        seen, best, waiting = set(), 0, [(frozenset(), start)]
        while waiting:
            placed, there = waiting.pop()
            best = max(best, len(placed))
            taken = {number for number, _ in placed}
            for number, pod in enumerate(self.waiting):
                for name in nodes if number not in taken else ():
                    after = placed | {(number, name)}
                    if after not in seen and fits(pod, name, nodes, [(one, where) for _, one, where in there]):
                        seen.add(after)
                        waiting.append((after, (*there, (number, pod, name))))
        return best


def fits(pod, name, nodes, there):
    """Whether kube-scheduler's filters let a pod go to a node beside pods that are there."""
    cpu = int(nodes[name]["status"]["allocatable"]["cpu"])
    if sum(where == name for _, where in there) >= cpu:
        return False
    for other, where in there:
        if where == name and any(clash(one, two) for one in ports_of(pod) for two in ports_of(other)):
            return False
        for owner, other_pod in ((pod, other), (other, pod)):
            for term in terms(owner, "podAntiAffinity"):
                same = label(nodes[name], term) is not None and label(nodes[name], term) == label(nodes[where], term)
                if same and selects(term, other_pod):
                    return False
    return near_enough(pod, name, nodes, there) and even_enough(pod, name, nodes, there)


def near_enough(pod, name, nodes, there):
    own = terms(pod, "podAffinity")
    if not own:
        return True
    if any(label(nodes[name], term) is None for term in own):
        return False
    meant = [where for other, where in there if all(selects(term, other) for term in own)]
    if all(any(label(nodes[where], term) == label(nodes[name], term) for where in meant) for term in own):
        return True
    nobody = not any(label(nodes[where], term) is not None for where in meant for term in own)
    return nobody and all(selects(term, pod) for term in own)


def even_enough(pod, name, nodes, there):
    for rule in pod["spec"].get("topologySpreadConstraints", ()):
        value = label(nodes[name], rule)
        if value is None:
            return False
        counts = {label(node, rule): 0 for node in nodes.values() if label(node, rule) is not None}
        for other, where in there:
            if selects(rule, other) and label(nodes[where], rule) is not None:
                counts[label(nodes[where], rule)] += 1
        least = min(counts.values()) if len(counts) >= rule.get("minDomains", 1) else 0
        if counts[value] + selects(rule, pod) - least > rule["maxSkew"]:
            return False
    return True


def terms(pod, field):
    return pod["spec"].get("affinity", {}).get(field, {}).get(REQUIRED, ())


def label(node, term):
    return node["metadata"]["labels"].get(term["topologyKey"])


def selects(term, pod):
    app, selector = pod["metadata"]["labels"]["app"], term["labelSelector"]
    if "matchLabels" in selector:
        return selector["matchLabels"]["app"] == app
    (test,) = selector["matchExpressions"]
    return (app in test["values"]) is (test["operator"] == "In")


def ports_of(pod):
    return [port for one in pod["spec"]["containers"] for port in one.get("ports", ())]


def clash(one, two):
    addresses = {one.get("hostIP", "0.0.0.0"), two.get("hostIP", "0.0.0.0")}
    return one["hostPort"] == two["hostPort"] and (len(addresses) == 1 or "0.0.0.0" in addresses)
