"""Small random clusters whose pods prefer something, and the best plan by trying every placement.

The score is counted from the manifests, pair by pair; nothing of the package is used.
"""

from itertools import permutations, product

from support.pod_rules_by_force import HOST, ZONE, Case, clash, label, ports_of, selects, terms

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
POOL = "pool"
KEYS = (HOST, ZONE, ZONE, POOL)


class PreferringCase(Case):
    """Nodes with taints and labels, pods that run, and pods that wait; ``terms`` of the topology keys alone."""

    def __init__(self, seed, *, pods=4, required=False):
        self.required = required
        super().__init__(seed, rules=("apart", "ports") if required else (), pods=pods)
        for node in self.nodes:
            if self.random.random() < 0.6:
                node["metadata"]["labels"][POOL] = self.random.choice(("p", "q"))
            if self.random.random() < 0.3:
                effects = ["PreferNoSchedule", "PreferNoSchedule", "NoSchedule"]
                taint = {"key": self.random.choice(("t", "u")), "value": "v", "effect": self.random.choice(effects)}
                node["spec"] = {**node.get("spec", {}), "taints": [taint]}
        if self.random.random() < 0.2 and self.running:
            self.running[0]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    def _weight(self):
        return self.random.choice((1, 10, 50, 100))

    def _kind(self, rules):
        random = self.random
        labels, spec, ports = super()._kind(rules)
        affinity = spec.setdefault("affinity", {})
        if random.random() < 0.5:
            test = {"key": random.choice((ZONE, POOL)), "operator": "In", "values": [random.choice("xypq")]}
            absent = {"key": POOL, "operator": random.choice(("Exists", "DoesNotExist"))}
            wanted = [{"matchExpressions": [test]}, {"matchExpressions": [absent]}, {}]
            own = random.sample(wanted, random.choice((1, 2)))
            affinity["nodeAffinity"] = {PREFERRED: [{"weight": self._weight(), "preference": one} for one in own]}
        for field in ("podAffinity", "podAntiAffinity"):
            if random.random() < 0.45:
                own = [self._preferred_term() for _ in range(random.choice((1, 1, 2)))]
                affinity.setdefault(field, {})[PREFERRED] = own
        if random.random() < 0.4:
            spec["topologySpreadConstraints"] = [self._soft_spread() for _ in range(random.choice((1, 1, 2)))]
        if random.random() < 0.4:
            spec["tolerations"] = [{"key": random.choice(("t", "u")), "operator": "Exists"}]
        return labels, spec, ports

    def _preferred_term(self):
        term = {"topologyKey": self.random.choice(KEYS), "labelSelector": self._selector()}
        return {"weight": self._weight(), "podAffinityTerm": term}

    def _soft_spread(self):
        return {
            "maxSkew": self.random.choice((1, 1, 2)),
            "topologyKey": self.random.choice(KEYS),
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": self._selector(),
        }

    def best(self, *, most_first):
        """The best (number of pods, score), where the number counts first, or (0, the best score)."""
        names = [node["metadata"]["name"] for node in self.nodes]
        best = None
        for chosen in product((None, *names), repeat=len(self.waiting)):
            placed = [(pod, name) for pod, name in zip(self.waiting, chosen, strict=True) if name]
            if self._fits(placed):
                value = (len(placed) if most_first else 0, self.score(placed))
                best = value if best is None or value > best else best
        return best

    def _fits(self, placed):
        nodes = {node["metadata"]["name"]: node for node in self.nodes}
        running = [(pod, pod["spec"]["nodeName"]) for pod in self.running]
        for name, node in nodes.items():
            new = sum(where == name for _, where in placed)
            if new and new + sum(where == name for _, where in running) > int(node["status"]["allocatable"]["cpu"]):
                return False
        for pod, name in placed:
            for taint in nodes[name].get("spec", {}).get("taints", ()):
                if taint["effect"] == "NoSchedule" and not tolerated(taint, pod):
                    return False
        for place, (pod, name) in enumerate(placed):
            for other, where in (*running, *placed[:place]):
                if name == where and any(clash(one, two) for one in ports_of(pod) for two in ports_of(other)):
                    return False
                for owner, meant in ((pod, other), (other, pod)):
                    for term in terms(owner, "podAntiAffinity"):
                        if shared(nodes, name, where, term) and selects(term, meant):
                            return False
        return True

    def score(self, placed):
        """The score of placed pods, beside those that run."""
        nodes = {node["metadata"]["name"]: node for node in self.nodes}
        running = [(pod, pod["spec"]["nodeName"]) for pod in self.running]
        total = sum(of_node(pod, nodes[name]) for pod, name in placed)
        ours = [*((pod, name, True) for pod, name in placed), *((pod, name, False) for pod, name in running)]
        for (one, where, mine), (other, there, theirs) in permutations(ours, 2):
            if not (mine or theirs):
                continue
            for sign, field in ((1, "podAffinity"), (-1, "podAntiAffinity")):
                for term in one["spec"].get("affinity", {}).get(field, {}).get(PREFERRED, ()):
                    own = term["podAffinityTerm"]
                    if selects(own, other) and shared(nodes, where, there, own):
                        total += sign * term["weight"]
        seen = []
        for pod in self.waiting:
            for rule in pod["spec"].get("topologySpreadConstraints", ()):
                keys = soft_keys(pod)
                if (rule, keys) not in seen:
                    seen.append((rule, keys))
                    total -= 100 * self._excess(rule, keys, [*placed, *running])
        return total

    def _excess(self, rule, keys, there):
        counts = {}
        for node in self.nodes:
            if all(key in node["metadata"]["labels"] for key in keys):
                name = node["metadata"]["name"]
                own = [pod for pod, where in there if where == name and selects(rule, pod)]
                number = sum("deletionTimestamp" not in pod["metadata"] for pod in own)
                counts[label(node, rule)] = counts.get(label(node, rule), 0) + number
        return sum(max(0, number - min(counts.values()) - rule["maxSkew"]) for number in counts.values())


def soft_keys(pod):
    return {rule["topologyKey"] for rule in pod["spec"].get("topologySpreadConstraints", ())}


def shared(nodes, one, other, term):
    return label(nodes[one], term) is not None and label(nodes[one], term) == label(nodes[other], term)


def tolerated(taint, pod):
    return any(one["key"] == taint["key"] for one in pod["spec"].get("tolerations", ()))


def of_node(pod, node):
    """What a pod's own terms, taints, and constraints count on a node."""
    labels, total = node["metadata"]["labels"], 0
    for term in pod["spec"].get("affinity", {}).get("nodeAffinity", {}).get(PREFERRED, ()):
        tests = term["preference"].get("matchExpressions", ())
        total += term["weight"] * (bool(tests) and all(holds(test, labels) for test in tests))
    taints = node.get("spec", {}).get("taints", ())
    total -= 100 * sum(one["effect"] == "PreferNoSchedule" and not tolerated(one, pod) for one in taints)
    rules = pod["spec"].get("topologySpreadConstraints", ())
    distinct = [rule for number, rule in enumerate(rules) if rule not in rules[:number]]
    return total - 100 * sum(not all(key in labels for key in soft_keys(pod)) for _ in distinct)


def holds(test, labels):
    if test["operator"] == "In":
        return labels.get(test["key"]) in test["values"]
    return (test["key"] in labels) is (test["operator"] == "Exists")
