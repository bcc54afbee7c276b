"""Slices in which everything the API allows meets everything else; more is refused or odd than in the families."""

from random import Random
from uuid import UUID

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


_A = 'device.attributes["a.example.com"]'
_C = 'device.capacity["a.example.com"]'

SOUND = (
    "true",
    "false",
    'device.driver == "a.example.com"',
    'device.driver.startsWith("a.")',
    'device.driver.endsWith("example.com")',
    "device.allowMultipleAllocations",
    "!device.allowMultipleAllocations",
    f"{_A}.?x.orValue(0) == 1",
    f"has({_A}.y)",
    f'!has({_A}.y) || {_A}.y != "a"',
    f'"x" in {_A}',
    'device.attributes["nowhere.example.com"].?x.hasValue() == false',
    '"std.example.org" in device.attributes',
    f"has({_C}.memory) && {_C}.memory.isGreaterThan(quantity('7'))",
    f"{_C}.?memory.orValue(quantity('0')).compareTo(quantity('8')) >= 0",
    f"{_A}.exists(name, name == 'x')",
    f"{_A}.all(name, name != 'flag')",
    f"size({_A}) > 3",
    f"{_A}.?release.hasValue()",
    f"cel.bind(a, {_A}, has(a.x) ? a.x != 2 : true)",
    "[1, 2, 3].exists_one(n, n > 2)",
    "sets.intersects([1, 2], [2, 3])",
    "device.driver.matches('^[ab]\\\\.')",
    "device.driver.lowerAscii() == device.driver",
    "semver('1.2.3').isLessThan(semver('1.10.0'))",
)

# What a device must have for these to work, some have not, or have of another type.
FAILING = (
    f"{_A}.x == 1",
    f"{_A}.x > 0",
    f"{_A}.x + 1 > 1",
    f"{_A}.x / {_A}.x == 1",
    f"1 % {_A}.x == 0",
    f'{_A}.y == "a"',
    f'{_A}.y.startsWith("a")',
    f'{_A}.y + "b" == "ab"',
    f"int({_A}.y) == 1",
    f"size({_A}.y) == 1",
    f"{_A}.y[0] == 'a'",
    f"{_A}.y.matches({_A}.y)",
    f"{_A}.flag",
    f"!{_A}.flag",
    f"{_A}.flag && {_A}.x == 1",
    f"{_A}.flag || {_A}.x == 1",
    f"{_A}.flag ? {_A}.x == 1 : true",
    f"{_A}.x",
    f"{_A}.y",
    f"{_A}.release.isGreaterThan(semver('1.0.0'))",
    f"{_A}.release.major() == 1",
    f"{_A}.release == semver('1.0.0')",
    f"semver({_A}.y).isLessThan(semver('1.0.0'))",
    f"quantity({_A}.y).isGreaterThan(quantity('0'))",
    f"{_A}.tags.exists(tag, tag == 1)",
    f"{_A}.tags.size() > 1",
    f"{_A}.tags[1] == 1",
    f"{_A}.x in {_A}.tags",
    f"{_A}.tags.includes(1)",
    f"{_A}.y.includes('a')",
    f"{_A}.tags.all(tag, tag > 0)",
    f"{_A}.tags.map(tag, tag + 1).size() > 0",
    f"{_A}.x < {_A}.y",
    f"{_A}.x == {_A}.y",
    f"-{_A}.x < 0",
    f"9223372036854775807 + {_A}.x > 0",
    f"{_A}['none'] == 1",
    f"{_C}.memory.isGreaterThan(quantity('7'))",
    f"{_C}.memory.sub(quantity('1')).asInteger() > 1",
    f"{_C}.memory.asInteger() == 8",
    "device.attributes['std.example.org'].root == 1",
    "device.attributes['std.example.org'].root.size() == 1",
    "device.attributes['nowhere.example.com'].x == 1",
    f"timestamp({_A}.y) > timestamp('2020-01-01T00:00:00Z')",
    f"duration({_A}.y) > duration('1s')",
    f"url({_A}.y).getHost() == 'a'",
    f"ip({_A}.y).family() == 4",
    f"[1, 2][{_A}.x] == 1",
    f"{{'a': 1}}[{_A}.y] == 1",
    f"{_A}.?x.value() == 1",
    f"optional.of({_A}.x).value() == 1",
    f"string({_A}.x) == '1'",
    f"double({_A}.x) > 0.5",
    f"uint({_A}.x) == 1u",
    f"dyn({_A}.x) == '1'",
    f"{_A}.y.substring(1) == ''",
    f"{_A}.y.charAt(3) == ''",
    f"'%s'.format([{_A}.y]) == 'a'",
    f"'%d'.format([{_A}.x]) == '1'",
)

DERIVATIONS = (
    "1",
    "'a'",
    "device.driver",
    "true",
    "['a', 'b']",
    f"{_A}.x",
    f"{_A}.?x.orValue(3)",
    f"{_A}.?x.orValue(3) % 2",
    f"{_A}.tags",
    "semver('1.0.0')",
    "[1, 2]",
    f"{_A}.y.split('')",
    f"{_A}.?y.orValue('b-a').split('-')[0]",
    f"{_A}.?y.orValue('b').upperAscii() + ':'",
    f"{_A}.?y.orValue('abc').substring(0, 1)",
    f"{_A}.?y.orValue('a:b').replace(':', '').find('[a-z]')",
    f"{_A}.tags.distinct().join('/')",
    f"{_A}.tags.distinct().isSorted()",
)


NAMESPACE = "wild"
_CONSTRAINED = ("a.example.com/x", "a.example.com/y", "a.example.com/release", "b.example.com/x", "a.example.com/tags")


class Asks:
    """Classes, claims in use, and the claims of one pod or two."""

    def __init__(self, rng: Random, supply: Supply) -> None:
        self.rng = rng
        self.supply = supply
        self.failing = 0.5 if self.chance(0.3) else 0.0
        self.admin = self.chance(0.3)
        self.derives = self.chance(0.3)
        self.lists = self.chance(0.5)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def classes(self) -> list[Mapped]:
        made = [objects.device_class("any"), objects.device_class("of-a", 'device.driver == "a.example.com"')]
        made.append(objects.device_class("odd", *self._expressions()))
        for device_class in made:
            if self.chance(0.4):
                device_class["spec"]["config"] = [self._opaque() for _ in range(self.rng.randint(1, 2))]
        return made

    def _opaque(self) -> Mapped:
        return objects.opaque("a.example.com", {"number": self.rng.randint(0, 9)})

    def _expressions(self) -> list[str]:
        count = self.rng.choice([0, 1, 1, 2])
        return [self.rng.choice(FAILING if self.chance(self.failing) else SOUND) for _ in range(count)]

    def in_use(self) -> list[Mapped]:
        made = []
        for (driver, pool), devices in self.supply.pools.items():
            for device in devices:
                if self.chance(0.12):
                    made.append(self._held(driver, pool, device, f"held-{len(made)}"))
                    made[-1]["metadata"]["name"] += f"-{len(self.supply.pools)}-{self.rng.getrandbits(24):x}"
        return made

    def _held(self, driver: str, pool: str, device: Mapped, name: str) -> Mapped:
        fields: Mapped = {}
        if device.get("allowMultipleAllocations") or self.chance(0.05):
            fields["shareID"] = str(UUID(int=self.rng.getrandbits(128), version=4))
            consumed = {name: self.rng.choice(["1", "2", "1500m", "1Gi"]) for name in device.get("capacity", {})}
            fields |= {"consumedCapacity": consumed} if consumed and self.chance(0.8) else {}
        if self.admin and self.chance(0.3):
            fields["adminAccess"] = True
        spec = objects.claim_spec([objects.exactly("held", objects.wanted("any"))])
        result = objects.result("held", driver, pool, device["name"], **fields)
        return objects.allocated(objects.claim(name, spec, NAMESPACE), [result])

    def rules(self) -> list[Mapped]:
        if not self.supply.on["taints"]:
            return []
        selector = self.rng.choice([{"device": "d-0-1"}, {"driver": "a.example.com"}, {"pool": "shared"}, {}])
        made = objects.taint_rule("rule", taint(self.rng), **selector)
        if not selector and self.chance(0.5):
            made["spec"]["deviceSelector"] = {}
        return [made]

    def asked(self) -> list[Mapped]:
        claims = [self._claim(f"claim-{number}") for number in range(self.rng.choice([1, 1, 2, 2, 3]))]
        cut = self.rng.randint(0, len(claims)) if self.chance(0.3) else len(claims)
        pods = [self._pod(f"pod-{number}", part) for number, part in enumerate((claims[:cut], claims[cut:])) if part]
        return [*claims, *pods]

    def _pod(self, name: str, claims: list[Mapped]) -> Mapped:
        names = [claim["metadata"]["name"] for claim in claims]
        return objects.pod(name, [objects.by_claim(claim, claim) for claim in names], NAMESPACE)

    def _claim(self, name: str) -> Mapped:
        requests, names = [], []
        for number in range(self.rng.choice([1, 1, 2, 2, 3])):
            request, labels = self._request(f"r{number}")
            requests.append(request)
            names += labels
        constraints = [self._constraint(names) for _ in range(self.rng.choice([0, 0, 0, 1, 1, 2]))]
        config = [self._some(names) | self._opaque() for _ in range(self.rng.choice([0, 0, 1, 2]))]
        spec = objects.claim_spec(requests, constraints + self._used(requests), config)
        return objects.claim(name, spec, NAMESPACE)

    def _used(self, requests: list[Mapped]) -> list[Mapped]:
        """A constraint for derived attributes, which are refused if nothing uses them (CON-12)."""
        bodies = [body for request in requests for body in (request.get("exactly"), *request.get("firstAvailable", ()))]
        names = {entry["name"] for body in bodies if body for entry in body.get("derivedAttributes", ())}
        return [{self.rng.choice(["matchAttribute", "distinctAttribute"]): name} for name in sorted(names)]

    def _request(self, name: str) -> tuple[Mapped, list[str]]:
        if not (self.lists and self.chance(0.5)):
            body = self._body()
            if self.admin and self.chance(0.4):
                body["adminAccess"] = self.chance(0.8)
            return objects.exactly(name, body), [name]
        subs = [f"s{number}" for number in range(self.rng.randint(1, 3))]
        made = objects.first_available(name, [(sub, self._body()) for sub in subs])
        return made, [name, *(f"{name}/{sub}" for sub in subs)]

    def _body(self) -> Mapped:
        rng = self.rng
        made = objects.wanted(rng.choice(["any", "any", "any", "of-a", "odd"]))
        if self.chance(0.35):
            made["selectors"] = objects.selectors(*self._expressions())
        if self.chance(0.12):
            made["allocationMode"] = "All"
        else:
            made["count"] = rng.choices([1, 2, 3, 33], [80, 15, 5, 1])[0]
        if self.supply.on["taints"] and self.chance(0.6):
            made["tolerations"] = [self._toleration()]
        if self.chance(0.3):
            names = [name for name in CAPACITIES if self.chance(0.4)]
            made["capacity"] = {"requests": {name: rng.choice(["0", "1", "2500m", "3", "7", "2Gi"]) for name in names}}
        if self.derives and self.chance(0.4):
            name = rng.choice(["a.example.com/x", "new.example.org/z"])
            made["derivedAttributes"] = [{"name": name, "expression": rng.choice(DERIVATIONS)}]
        return made

    def _toleration(self) -> Mapped:
        rng = self.rng
        made: Mapped = {"effect": rng.choice(["NoSchedule", "NoExecute"])} if self.chance(0.3) else {}
        if self.chance(0.2):
            return {"operator": "Exists"}
        if self.chance(0.6):
            return made | {"key": rng.choice("kl"), "operator": "Exists"}
        return made | {"key": rng.choice("kl"), "operator": "Equal", "value": "v"}

    def _constraint(self, names: list[str]) -> Mapped:
        kind = self.rng.choice(["matchAttribute", "matchAttribute", "distinctAttribute"])
        name = self.rng.choice([*_CONSTRAINED, "std.example.org/root"])
        return self._some(names) | {kind: name}

    def _some(self, names: list[str]) -> Mapped:
        if self.chance(0.5):
            return {}
        return {"requests": self.rng.sample(names, self.rng.randint(1, min(3, len(names))))}


def wild(seed: int) -> list[Mapped]:
    """The cluster that belongs to the seed."""
    rng = Random(f"wild/{seed}")
    supply = Supply(rng)
    nodes, slices = supply.nodes(), supply.slices()
    asks = Asks(rng, supply)
    made = [*nodes, objects.namespace(NAMESPACE, admin=True), *asks.classes(), *slices]
    return [*made, *asks.rules(), *asks.in_use(), *asks.asked()]
