"""Services that ask for throughput, with what a partition of each size serves, as coverage groups of Deployments.

The time of a batch is an overhead and the work of its requests, which shrinks with the compute of the partition to the
power of a scaling exponent. Half of the time in an SLO is left for waiting. So a partition serves as much as its best
batch that ends in the other half. Most models scale less than linearly: small partitions serve more for what they take,
but miss strict SLOs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, floor
from random import Random

from drasat.scenarios import objects
from drasat.scenarios.mig import mig_nodes
from drasat.scenarios.node_shapes import GPU_DRIVER
from drasat.scenarios.objects import Mapped

PARTITIONS: Mapping[str, tuple[int, int]] = {
    "1g.5gb": (1, 5),
    "2g.10gb": (2, 10),
    "3g.20gb": (3, 20),
    "4g.20gb": (4, 20),
    "7g.40gb": (7, 40),
}
"""Sevenths of the compute and GiB of memory of a GPU, by profile."""
NAMESPACE = "serving"
COVERAGE = "drasat.dev/coverage"
_ALL_COMPUTE = 7
_BATCHES = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True, slots=True)
class InferenceScenario:
    """How many services there are, the range of their rates in requests a second, and that of SLOs in milliseconds."""

    services: int
    rates: tuple[int, int]
    slos: tuple[int, int]


SCENARIOS: Mapping[str, InferenceScenario] = {
    "few services": InferenceScenario(4, (100, 600), (60, 400)),
    "low rates": InferenceScenario(11, (20, 200), (60, 400)),
    "medium rates": InferenceScenario(11, (100, 900), (60, 400)),
    "high rates": InferenceScenario(11, (500, 3000), (60, 400)),
    "strict SLOs": InferenceScenario(11, (100, 900), (20, 80)),
    "many services": InferenceScenario(22, (100, 900), (30, 400)),
}


@dataclass(frozen=True, slots=True)
class InferenceService:
    """A model with its demand: times in milliseconds, on a whole GPU; ``memory`` in GiB, ``rate`` a second."""

    name: str
    rate: int
    slo: int
    overhead: float
    work: float
    scaling: float
    memory: int

    def throughput(self, profile: str) -> float:
        """Requests a second that a partition serves within the SLO; 0 if no batch does, or the model is too large."""
        compute, memory = PARTITIONS[profile]
        if memory < self.memory:
            return 0.0
        slower = (_ALL_COMPUTE / compute) ** self.scaling
        times = {batch: self.overhead + self.work * batch * slower for batch in _BATCHES}
        best = max((1000 * batch / time for batch, time in times.items() if time <= self.slo / 2), default=0.0)
        return floor(10 * best) / 10

    def throughputs(self) -> dict[str, float]:
        """What each partition serves that serves anything."""
        return {profile: served for profile in PARTITIONS if (served := self.throughput(profile)) > 0}


def inference_services(name: str, *, seed: int = 0) -> list[InferenceService]:
    """The services of a scenario by its name; each can be served by some partition. Raises KeyError for other names."""
    scenario, rng, found = SCENARIOS[name], Random(f"{name} {seed}"), list[InferenceService]()
    while len(found) < scenario.services:
        service = InferenceService(
            f"service-{len(found)}",
            rng.randint(*scenario.rates),
            rng.randint(*scenario.slos),
            round(rng.uniform(1, 6), 1),
            round(rng.uniform(0.4, 3), 2),
            round(rng.uniform(0.6, 1.0), 2),
            rng.choice((2, 4, 8, 16)),
        )
        if service.throughputs():
            found.append(service)
    return found


def inference(services: list[InferenceService], gpus: int) -> list[Mapped]:
    """Nodes with one GPU each, and a Deployment for each service and partition, with as many as could be needed."""
    queue = [item for service in services for item in _alternatives(service)]
    return [*mig_nodes(gpus, 1), *map(_template, PARTITIONS), *queue]


def _template(profile: str) -> Mapped:
    test = f'device.attributes["{GPU_DRIVER}"].profile == "{profile}"'
    request = objects.exactly("partition", objects.wanted("mig", test))
    return objects.template(_label(profile), objects.claim_spec([request]), NAMESPACE)


def _label(profile: str) -> str:
    return profile.replace(".", "-")


def _alternatives(service: InferenceService) -> Iterator[Mapped]:
    for profile, served in service.throughputs().items():
        name = f"{service.name}-{_label(profile)}"
        coverage = {"group": service.name, "value": served, "demand": service.rate}
        pod = objects.pod(name, [objects.by_template("gpu", _label(profile))], NAMESPACE)
        metadata = {"labels": {"app": name}, "annotations": {COVERAGE: json.dumps(coverage)}}
        yield {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                "replicas": ceil(service.rate / served),
                "selector": {"matchLabels": {"app": name}},
                "template": {"metadata": metadata, "spec": pod["spec"]},
            },
        }
