"""Slices in which everything the API allows meets everything else; more is refused or odd than in the families."""

from random import Random

from drasat.scenarios import objects
from drasat.scenarios.objects import Mapped

DRIVERS = ("a.example.com", "b.example.com", "Mixed.Example.Com")
POOLS = ("node-0", "shared", "rack/1")
ZONE = "example.com/zone"
ATTRIBUTES = ("x", "y", "flag", "release", "tags", "std.example.org/root")
CAPACITIES = ("memory", "cores", "a.example.com/lanes")

_SCALARS = {
    "int": lambda rng: rng.choice([-1, 0, 1, 1, 1, 2]),
    "string": lambda rng: rng.choice(["", "a", "b", "1", "ä"]),
    "bool": lambda rng: rng.random() < 0.5,
    "version": lambda rng: rng.choice(["1.0.0", "1.0.0+build", "1.0.0-rc.1", "2.10.0"]),
}
_USUAL = {"x": "int", "y": "string", "flag": "bool", "release": "version"}

_POLICIES: tuple[Mapped | None, ...] = (
    None,
    {"default": "3"},
    {"default": "2", "validValues": ["1", "2", "4"]},
    {"default": "1500m", "validRange": {"min": "500m", "step": "500m"}},
    {"default": "2", "validRange": {"min": "2", "max": "6", "step": "2"}},
    {"default": "1", "validRange": {"min": "1"}},
    {"default": "0", "validRange": {"min": "0", "max": "7"}},
)


class Supply:
    """Nodes and slices; ``pools`` maps driver and pool to the devices that may be in use."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.pools: dict[tuple[str, str], list[Mapped]] = {}
        # Each feature is in some members only, so that no rule hides the others.
        chances = ("attributes", "sharing", "counters", "groups", "taints", "binding", "operations", "broken", "lists")
        self.on = {name: rng.random() < (0.25 if name in ("broken", "binding") else 0.45) for name in chances}

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def nodes(self) -> list[Mapped]:
        made = [self._node(f"node-{number}") for number in range(self.rng.randint(1, 3))]
        for node in made:
            if self.chance(0.5):
                node["status"] = {"declaredFeatures": ["DRAOptionalNodeOperations"]}
        return made

    def _node(self, name: str) -> Mapped:
        labels = {ZONE: self.rng.choice("xy"), "rank": str(self.rng.randint(1, 9))}
        return objects.node(name, labels if self.chance(0.8) else {})

    def slices(self) -> list[Mapped]:
        ids = [(driver, pool) for driver in DRIVERS for pool in POOLS]
        wanted = self.rng.sample(ids, self.rng.choice([1, 1, 2, 3]))
        return [made for driver, pool in wanted for made in self._pool(driver, pool)]

    def _pool(self, driver: str, pool: str) -> list[Mapped]:
        rng, parts = self.rng, self.rng.choice([1, 1, 2, 3])
        sets = [f"set-{number}" for number in range(rng.randint(1, 2))] if self.on["counters"] else []
        count = parts + bool(sets)
        generation = rng.randint(0, 2)
        made = [self._slice(driver, pool, part, sets, generation, count) for part in range(parts)]
        if sets:
            shared = [objects.counter_set(name, self._counters()) for name in sets]
            where = rng.choice([objects.on_node("node-0"), {"allNodes": True}])
            fields = {"generation": generation, "count": count, "shared_counters": shared}
            made.append(objects.resource_slice(self._name(), driver, pool, where, (), **fields))
        self.pools[driver, pool] = [device for slice_ in made for device in slice_["spec"].get("devices", ())]
        if self.on["broken"]:
            self._break(rng.choice(made)["spec"], made)
        return made

    def _name(self) -> str:
        # The order of names is not that of creation.
        return f"slice-{self.rng.getrandbits(32):08x}"

    def _slice(self, driver: str, pool: str, part: int, sets: list[str], generation: int, count: int) -> Mapped:
        where = self._where(each=True)
        devices = [self._device(f"d-{part}-{index}", driver, sets) for index in range(self.rng.randint(0, 6))]
        if "perDeviceNodeSelection" in where:
            for device in devices:
                device |= self._where(each=False)
        made = objects.resource_slice(self._name(), driver, pool, where, devices, generation=generation, count=count)
        if self.on["operations"] and self.chance(0.4):
            made["spec"]["skipNodeOperations"] = self.rng.choice([["*"], ["NodeUnprepareResources"]])
        return made

    def _where(self, *, each: bool) -> Mapped:
        rng = self.rng
        requirement = rng.choice(
            [
                {"key": ZONE, "operator": "In", "values": rng.choice([["x"], ["y", "x"], ["y"]])},
                {"key": ZONE, "operator": "NotIn", "values": ["y"]},
                {"key": ZONE, "operator": "Exists"},
                {"key": "rank", "operator": "Gt", "values": ["4"]},
                {"key": "none", "operator": "DoesNotExist"},
            ]
        )
        name = {"key": "metadata.name", "operator": rng.choice(["In", "NotIn"]), "values": ["node-0"]}
        term = rng.choice([{"matchExpressions": [requirement]}, {"matchFields": [name]}])
        selector = {"nodeSelector": {"nodeSelectorTerms": [term]}}
        everywhere = [{"allNodes": True}, {"perDeviceNodeSelection": True} if each else {"allNodes": True}]
        return rng.choice([*[objects.on_node("node-0")] * 4, selector, selector, *everywhere])

    def _counters(self) -> Mapped:
        return {"units": self.rng.randint(0, 5), "power": self.rng.choice(["1500m", "3", "2Ki"])}

    def _break(self, spec: Mapped, made: list[Mapped]) -> None:
        pool, devices = spec["pool"], spec.get("devices")
        harms = {
            "newer": lambda: pool.update(generation=pool["generation"] + 1),
            "more": lambda: [other["spec"]["pool"].update(resourceSliceCount=len(made) + 1) for other in made],
            "fewer": lambda: pool.update(resourceSliceCount=1),
            "twin": lambda: devices and spec is not made[0]["spec"] and devices[-1].update(name="d-0-0"),
            "away": lambda: spec.get("nodeName") and spec.update(nodeName="far-away"),
        }
        harms[self.rng.choice(list(harms))]()

    def _device(self, name: str, driver: str, sets: list[str]) -> Mapped:
        rng, on = self.rng, self.on
        made: Mapped = objects.device(name, self._attributes(driver), self._capacity())
        if on["sharing"] and self.chance(0.5):
            made["allowMultipleAllocations"] = self.chance(0.9)
            for amount in made.get("capacity", {}).values():
                policy = rng.choice(_POLICIES)
                if policy and made["allowMultipleAllocations"]:
                    amount["requestPolicy"] = policy
        if sets and self.chance(0.7):
            made["consumesCounters"] = [self._consumption(set_) for set_ in rng.sample(sets, rng.randint(1, len(sets)))]
        if on["taints"] and self.chance(0.4):
            made["taints"] = [taint(rng) for _ in range(rng.randint(1, 2))]
        if on["binding"] and self.chance(0.4):
            made |= {"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}
        if on["binding"] and self.chance(0.2):
            made["bindsToNode"] = self.chance(0.7)
        return made

    def _attributes(self, driver: str) -> Mapped:
        made: Mapped = {}
        for name in ATTRIBUTES if self.chance(0.95) else ():
            if self.chance(0.9 if self.on["attributes"] else 0.6):
                # Never both spellings: which one an expression sees is not defined (CEL-10).
                made[f"{driver}/{name}" if "/" not in name and self.chance(0.15) else name] = self._value(name)
        return made

    def _value(self, name: str) -> Mapped:
        rng = self.rng
        kind = _USUAL.get(name) if self.chance(0.9) else None
        kind = kind or rng.choice(list(_SCALARS))
        if self.on["lists"] and (name in ("tags", "std.example.org/root") or self.chance(0.1)):
            return {f"{kind}s": [_SCALARS[kind](rng) for _ in range(rng.randint(1, 3))]}
        return {kind: _SCALARS[kind](rng)}

    def _capacity(self) -> Mapped:
        names = [name for name in CAPACITIES if self.chance(0.5)]
        return {name: self.rng.choice(["8", "10", "7500m", "8Gi", "1e2"]) for name in names}

    def _consumption(self, set_: str) -> Mapped:
        amounts = {"units": self.rng.randint(0, 3), "power": self.rng.choice(["500m", "1", "1Ki"])}
        chosen = self.rng.sample(list(amounts), self.rng.randint(1, 2))
        made = objects.consumption(set_, {name: amounts[name] for name in chosen})
        if self.on["groups"] and self.chance(0.5):
            made["compatibilityGroups"] = self.rng.sample(["g", "h", "i"], self.rng.randint(1, 2))
        return made


def taint(rng: Random) -> Mapped:
    return objects.taint(rng.choice("kl"), rng.choice(["", "v"]), rng.choice(["NoSchedule", "NoExecute", "None"]))
