"""Small clusters while they are being made: pools and claims that features change before they become objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from drasat.scenarios import objects
from drasat.scenarios.objects import DRIVER, AttributeValue, DraftClaim, Mapped

NAMESPACE = "default"
# The expression of a GPU's attributes.
GPU = f'device.attributes["{DRIVER}"]'


@dataclass
class DraftPool:
    """A pool of devices; its slices are made at the end."""

    driver: str
    name: str
    where: Mapped
    devices: list[Mapped] = field(default_factory=list)
    counter_sets: list[Mapped] = field(default_factory=list)
    generation: int = 1
    # How many slices the devices are spread over.
    parts: int = 1
    # What is added to the number of slices that the pool declares: not 0 makes it incomplete (POOL-4).
    miscounted: int = 0
    # Further fields of the slices' spec.
    fields: Mapped = field(default_factory=dict)
    # Slices beside the pool's own: other generations, duplicates.
    strays: list[Mapped] = field(default_factory=list)

    def slices(self) -> list[Mapped]:
        """The slices: of devices first, then one for the counters."""
        chunks = [self.devices[part :: self.parts] for part in range(self.parts)]
        count = len(chunks) + bool(self.counter_sets) + self.miscounted
        made = [self.slice_of(f"{part}", chunk, count=max(count, 1)) for part, chunk in enumerate(chunks)]
        if self.counter_sets:
            made.append(self.slice_of("counters", [], count=max(count, 1), shared_counters=self.counter_sets))
        return made + self.strays

    def slice_of(self, suffix: str, devices: list[Mapped], **fields: Any) -> Mapped:
        """A slice of the pool."""
        name = f"{self.name}-{self.driver}-{suffix}"
        fields = {"generation": self.generation, **fields}
        made = objects.resource_slice(name, self.driver, self.name, self.where, devices, **fields)
        made["spec"] |= self.fields
        return made


@dataclass
class ClusterDraft:
    """A small cluster and what is asked of it."""

    rng: Random
    nodes: list[Mapped] = field(default_factory=list)
    pools: list[DraftPool] = field(default_factory=list)
    classes: dict[str, Mapped] = field(default_factory=dict)
    claims: list[DraftClaim] = field(default_factory=list)
    namespace: str = NAMESPACE
    # Further fields of the pods' spec.
    pod_fields: Mapped = field(default_factory=dict)
    # Allocated claims, taint rules and the like.
    others: list[Mapped] = field(default_factory=list)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.rng.random() < probability

    def devices(self) -> list[Mapped]:
        """The devices of all pools."""
        return [device for pool in self.pools for device in pool.devices]

    def gpus(self) -> list[Mapped]:
        """The devices of the GPU driver."""
        return [device for pool in self.pools if pool.driver == DRIVER for device in pool.devices]

    def bodies(self) -> list[Mapped]:
        """All exact requests and alternatives."""
        return [body for claim in self.claims for body in claim.bodies()]

    def some(self, names: list[str]) -> list[str]:
        """Some of the names, at least one, in their order; often all."""
        if self.chance(0.5):
            return names
        chosen = set(self.rng.sample(names, self.rng.randint(1, len(names))))
        return [name for name in names if name in chosen]

    def objects(self) -> list[Mapped]:
        """The cluster as v1 objects."""
        slices = [slice_ for pool in self.pools for slice_ in pool.slices()]
        return [*self.nodes, *self.classes.values(), *slices, *self.others, *self._asked()]

    def _asked(self) -> list[Mapped]:
        """One pod with all claims, loose claims, or a pod for each claim, one from a template."""
        claims = [objects.claim(claim.name, claim.spec(), self.namespace) for claim in self.claims]
        form = self.rng.choices(["pod", "loose", "pods"], [6, 2, 1])[0]
        if self.pod_fields:
            form = "pod"
        if form == "loose":
            return claims
        if form == "pod":
            entries = [objects.by_claim(claim.name, claim.name) for claim in self.claims]
            return [*claims, objects.pod("pod", entries, self.namespace, **self.pod_fields)]
        return [made for claim in self.claims for made in self._templated(claim)]

    def _templated(self, claim: DraftClaim) -> list[Mapped]:
        entries = [objects.by_template("devices", claim.name)]
        pod = objects.pod(f"pod-{claim.name}", entries, self.namespace)
        return [objects.template(claim.name, claim.spec(), self.namespace), pod]


@dataclass(frozen=True, slots=True)
class DraftSize:
    """Least and most of what a member of a family has."""

    nodes: tuple[int, int] = (1, 2)
    # On a node.
    devices: tuple[int, int] = (4, 6)
    claims: tuple[int, int] = (1, 2)
    # In a claim.
    requests: tuple[int, int] = (1, 3)
    # Devices for a request.
    count: tuple[int, int] = (1, 2)


def plain_draft(rng: Random, size: DraftSize) -> ClusterDraft:
    """Nodes with GPUs of two models, and claims that ask for some of them."""
    draft = ClusterDraft(rng)
    draft.classes = {
        "any": objects.device_class("any"),
        "gpu": objects.device_class("gpu", f'device.driver == "{DRIVER}"'),
        "model-a": objects.device_class("model-a", f'device.driver == "{DRIVER}"', f'{GPU}.model == "a"'),
        "first": objects.device_class("first", f'device.driver == "{DRIVER}"', f"{GPU}.index <= 1"),
    }
    for number in range(rng.randint(*size.nodes)):
        name = f"node-{number}"
        draft.nodes.append(objects.node(name))
        members = [_plain_device(rng, index) for index in range(rng.randint(*size.devices))]
        draft.pools.append(DraftPool(DRIVER, name, objects.on_node(name), members, parts=rng.choice([1, 1, 2])))
    claims, first = rng.randint(*size.claims), True
    for number in range(claims):
        asked = []
        for index in range(rng.randint(*size.requests)):
            # Narrow classes come late: what was taken first is then often in their way.
            weights = [6, 3, 1, 0] if first else [3, 1, 3, 2]
            class_name = rng.choices(["gpu", "any", "model-a", "first"], weights)[0]
            asked.append(objects.exactly(f"r{index}", objects.wanted(class_name, count=rng.randint(*size.count))))
            first = False
        draft.claims.append(DraftClaim(f"claim-{number}", asked))
    return draft


def _plain_device(rng: Random, index: int) -> Mapped:
    version = objects.version(f"{rng.randint(0, 2)}.1.0")
    attributes: dict[str, AttributeValue] = {"model": rng.choice("ab"), "index": index, "driverVersion": version}
    return objects.device(f"gpu-{index}", attributes, {"memory": rng.choice(["20Gi", "40Gi", "80Gi"])})
