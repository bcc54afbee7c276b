"""Claims that ask for everything at once, with expressions that fail in every way an expression can."""

from random import Random
from uuid import UUID

from support.differential.wild_expressions import DERIVATIONS, FAILING, SOUND
from support.differential.wild_supply import CAPACITIES, Supply, taint

from drasat.scenarios import objects
from drasat.scenarios.objects import Mapped

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
