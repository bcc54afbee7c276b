"""Clusters whose running pods may move: pods with what they hold, and the best plan of moves by trying all of them."""

from dataclasses import dataclass, field, replace
from itertools import combinations
from random import Random

from support.plan_building import DRIVER, classes, cluster, device, entry, node, obj, of, pod, published, template

from drasat.solver.plan.lifted import MoveOptions
from drasat.solver.plan.moves import plan_with_moves

OWNER = ("ReplicaSet", "web")


def holder(name, where, *devices, spec="t", wanted=None, owner=OWNER, cpu="1", **options):
    """A pod that runs on a node, with a claim of its template that holds devices of the node by their numbers."""
    status = {
        "phase": "Running",
        **({"resourceClaimStatuses": [{"name": "g", "resourceClaimName": f"{name}-g"}]} if devices else {}),
    }
    entries = [entry("g", template=spec)] if devices else []
    more = {"nodeName": where, **options.pop("spec_more", {})}
    made = pod(name, *entries, cpu=cpu, spec=more, owner=owner, status=status, **options)
    results = [{"request": "r", "driver": DRIVER, "pool": where, "device": f"gpu-{one}"} for one in devices]
    held = obj(
        "ResourceClaim",
        f"{name}-g",
        wanted or of(len(devices)),
        meta={
            "annotations": {"resource.kubernetes.io/pod-claim-name": "g"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "", "controller": True}],
        },
        status={
            "allocation": {"devices": {"results": results}},
            "reservedFor": [{"resource": "pods", "name": name, "uid": name}],
        },
    )
    return [made, *([held] if devices else [])]


def moving(*given, most=None, bare=False, prices=None, kept=(), **options):
    """The plan of these objects, in which running pods may move; exact unless said otherwise."""
    asked = MoveOptions(most, bare, prices or {}, frozenset(kept))
    return plan_with_moves(cluster(*classes(), *given), asked, **{"gap": 0.0, "time_limit": None, **options})


# What each template asks for: how many devices, and which sets of kinds will do.
SPECS = {
    "t": (1, lambda kinds: True),
    "t2": (2, lambda kinds: True),
    "k1": (1, lambda kinds: set(kinds) <= {1}),
    "m2": (2, lambda kinds: len(set(kinds)) == 1),
}


def claim_specs():
    """What the claims ask for: one device, two, one of kind 1, and two of one kind."""
    matching = of(2)
    matching["devices"]["constraints"] = [{"matchAttribute": f"{DRIVER}/kind"}]
    return {"t": of(1), "t2": of(2), "k1": of(1, "gpu", f"device.attributes['{DRIVER}'].kind == 1"), "m2": matching}


@dataclass(frozen=True)
class MovingPod:
    """A pod that waits, or runs on ``node`` with ``devices``, by their numbers there."""

    name: str
    spec: str
    cpu: int
    node: str | None = None
    devices: tuple[int, ...] = ()
    cost: int = 1
    priority: int = 0
    fixed: bool = False

    def objects(self):
        """The pod and its claim as objects."""
        options = {"cpu": str(self.cpu), "spec": self.spec}
        if self.node is None:
            return [pod(self.name, entry("g", template=self.spec), cpu=str(self.cpu), spec={"priority": self.priority})]
        marks = {"MOVE_COST": str(self.cost)}
        if self.fixed:
            marks = {"meta": {"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}}}
        return holder(self.name, self.node, *self.devices, wanted=claim_specs()[self.spec], **options, **marks)


@dataclass(frozen=True)
class Scene:
    """Nodes with the kinds of their devices and their CPUs, and pods.

    ``draws`` is the CPU that devices take of their node for a pod, by node and number.
    """

    nodes: dict
    pods: tuple
    draws: dict = field(default_factory=dict, kw_only=True)

    def needs(self, one, at):
        """The CPU that a pod and its devices take."""
        return one.cpu + sum(self.draws.get((at[0], number), 0) for number in at[1])

    def _device(self, name, number, kind):
        amount = str(self.draws.get((name, number), 0))
        terms = {"overhead": {"perPod": amount}} if number % 2 else {"mapping": {"deviceMultiplier": amount}}
        more = {"nodeAllocatableResources": {"cpu": terms}} if amount != "0" else {}
        return device(f"gpu-{number}", kind=kind, **more)

    def _pod_objects(self, one):
        made = one.objects()
        taken = self.needs(one, (one.node, one.devices)) - one.cpu
        if one.node is not None and taken:
            entry = {"resourceClaimName": f"{one.name}-g", "resources": {"cpu": str(taken)}}
            made[0]["status"]["nodeAllocatableResourceClaimStatuses"] = [entry]
        return made

    def objects(self):
        made = [template(name, spec) for name, spec in claim_specs().items() if name in ("k1", "m2")]
        for name, (kinds, cpu) in self.nodes.items():
            made += [
                node(name, cpu=str(cpu)),
                published(name, *(self._device(name, n, k) for n, k in enumerate(kinds))),
            ]
        return [*made, *(one for pod in self.pods for one in self._pod_objects(pod))]

    def best(self, value, most=None):
        """The best tuple of ``value`` over all valid states: it gets where every pod is, and how many of them moved."""
        found = None
        for state in self._states([], {name: cpu for name, (_, cpu) in self.nodes.items()}, set()):
            moved = [
                one for one, at in zip(self.pods, state, strict=True) if one.node and at != (one.node, one.devices)
            ]
            if most is None or len(moved) <= most:
                reached = value(state, moved)
                found = reached if found is None else max(found, reached)
        return found

    def _states(self, state, cpu, taken):
        if len(state) == len(self.pods):
            yield tuple(state)
            return
        one = self.pods[len(state)]
        for at in self._places(one):
            if at is None:
                yield from self._states([*state, None], cpu, taken)
                continue
            name, devices = at
            held = {(name, number) for number in devices}
            needs = self.needs(one, at)
            if cpu[name] >= needs and not held & taken:
                yield from self._states([*state, at], cpu | {name: cpu[name] - needs}, taken | held)

    def _places(self, one):
        if one.fixed:
            return [(one.node, one.devices)]
        count, fits = SPECS[one.spec]
        found = [None] if one.node is None else []
        for name, (kinds, _) in self.nodes.items():
            sets = combinations(range(len(kinds)), count)
            found += [(name, chosen) for chosen in sets if fits([kinds[number] for number in chosen])]
        return found


def random_scene(seed, running=5, waiting=2):
    """A small random cluster."""
    random = Random(seed)
    alike = random.random() < 0.4
    there = {
        f"n{number}": (
            tuple(0 if alike else random.randint(0, 1) for _ in range(random.randint(2, 3))),
            random.choice((3, 4, 6)),
        )
        for number in range(random.randint(2, 3))
    }
    pods, taken, cpu = [], set(), {name: amount for name, (_, amount) in there.items()}
    for number in range(random.randint(1, running)):
        one = MovingPod(
            f"r{number}", random.choice([*SPECS]), random.choice((1, 1, 2)), cost=random.choice((1, 1, 2, 5))
        )
        places = [
            (name, devices)
            for name, devices in Scene(there, ())._places(replace(one, node="n0"))
            if cpu[name] >= one.cpu and not taken & {(name, device) for device in devices}
        ]
        if places:
            name, devices = random.choice(places)
            taken |= {(name, device) for device in devices}
            cpu[name] -= one.cpu
            pods.append(replace(one, node=name, devices=devices, fixed=random.random() < 0.15))
    for number in range(random.randint(0, waiting)):
        spec, amount, priority = random.choice([*SPECS]), random.choice((1, 2)), random.choice((0, 0, 10))
        pods.append(MovingPod(f"w{number}", spec, amount, priority=priority))
    return Scene(there, tuple(pods))


def with_draws(scene, seed):
    """A scene whose devices take CPU of their nodes, which have as much more as their pods need, and a little."""
    random = Random(f"draws/{seed}")
    devices = [(name, number) for name, (kinds, _) in scene.nodes.items() for number in range(len(kinds))]
    own = replace(scene, draws={one: random.choice((0, 1, 1, 2)) for one in devices})
    more = {name: random.choice((0, 0, 1)) for name in scene.nodes}
    for one in (one for one in scene.pods if one.node is not None):
        more[one.node] += own.needs(one, (one.node, one.devices)) - one.cpu
    return replace(own, nodes={name: (kinds, cpu + more[name]) for name, (kinds, cpu) in scene.nodes.items()})


@dataclass(frozen=True)
class PricedScene(Scene):
    """A scene whose nodes have prices, with templates of nodes: kinds of devices, CPUs and a price by name."""

    prices: dict = field(default_factory=dict)
    shop: dict = field(default_factory=dict)
    copies: int = 2

    def objects(self):
        made = super().objects()
        for one in made:
            if one["kind"] == "Node":
                one["metadata"]["labels"] = {"drasat.dev/node-template": one["metadata"]["name"]}
        for name, price in self.prices.items():
            made.append(obj("NodeTemplate", name, {"price": str(price), "limit": 0}))
        for name, (kinds, cpu, price) in self.shop.items():
            listed = [{"driver": DRIVER, "devices": [device(f"gpu-{n}", kind=kind) for n, kind in enumerate(kinds)]}]
            made.append(
                obj(
                    "NodeTemplate",
                    name,
                    {"price": str(price), "limit": self.copies, "slices": listed, "allocatable": {"cpu": str(cpu)}},
                )
            )
        return made

    def least_cost(self, replacement="any"):
        """The best placed pods, price, cost of moves, and moves, by trying everything, with a few of each template."""
        new = {
            f"{name}/{copy}": (kinds, cpu, price)
            for name, (kinds, cpu, price) in self.shop.items()
            for copy in range(self.copies)
        }
        whole = Scene({**self.nodes, **{name: one[:2] for name, one in new.items()}}, self.pods)
        prices = {**self.prices, **{name: price for name, (_, _, price) in new.items()}}
        most = {"none": 0, "one": 1, "any": len(new)}[replacement]

        def value(state, moved):
            used = {at[0] for at in state if at}
            if len(used & new.keys()) > most:
                return (-(10**6),)
            placed = sum(one.node is None and at is not None for one, at in zip(self.pods, state, strict=True))
            return placed, -sum(prices[name] for name in used), -sum(one.cost for one in moved), -len(moved)

        return whole.best(value)


def priced_scene(seed):
    """A small random cluster with prices, and two kinds of nodes to be bought."""
    random, plain = Random(seed), random_scene(seed, running=4, waiting=1)
    prices = {name: random.randint(2, 9) for name in plain.nodes}
    shop = {
        f"shop{number}": (
            tuple(random.randint(0, 1) for _ in range(random.randint(1, 3))),
            random.choice((2, 4)),
            random.randint(1, 8),
        )
        for number in range(2)
    }
    return PricedScene(plain.nodes, plain.pods, prices, shop)


HOST, ZONE = "kubernetes.io/hostname", "zone"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _rules(random):
    """What a pod requires of others, if anything: apart, near, spread, or a port of the host."""
    kind, key, app = random.random(), random.choice((HOST, ZONE)), random.choice("abc")
    meant = {"labelSelector": {"matchLabels": {"app": app}}}
    if kind < 0.55:
        way = "podAntiAffinity" if kind < 0.3 else "podAffinity"
        return {"affinity": {way: {_REQUIRED: [{"topologyKey": key, **meant}]}}}
    if kind < 0.7:
        spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **meant}
        return {"topologySpreadConstraints": [spread]}
    return {"ports": [{"containerPort": 80, "hostPort": 80}]} if kind < 0.8 else {}


def objects_with_rules(seed):
    """A random scene as objects, with zones, and pods that have rules about one another."""
    random, made = Random(seed), random_scene(seed, 6, 3).objects()
    for one in made:
        labels = one["metadata"].setdefault("labels", {}) if one["kind"] in ("Node", "Pod") else {}
        if one["kind"] == "Node":
            labels |= {ZONE: random.choice("xy"), HOST: one["metadata"]["name"]}
        if one["kind"] == "Pod":
            labels["app"], rules = random.choice("abc"), _rules(random)
            one["spec"]["containers"][0] |= {"ports": rules.pop("ports")} if "ports" in rules else {}
            one["spec"] |= rules
    return made
