"""Cases with the verdicts of Kueue's own code: the files in ``tests/data/kueue``, one JSON object in a line.

A case has objects, the fields of a configuration, steps that change objects, and the verdict: what was refused, and
what happened in each phase. ``kueue-cases`` is about quota, ``provisioning-cases`` about ProvisioningRequests.
"""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from drasat.models.cluster.cluster import Cluster
from drasat.models.manifests.reader import Manifest, read_manifests

DATA = Path(__file__).resolve().parents[1] / "data" / "kueue"
CONFIGURATION_API = "config.kueue.x-k8s.io/v1beta2"


@dataclass(frozen=True)
class KueueCase:
    """One case; objects are mappings in the order given, steps and verdict as they were recorded."""

    name: str
    family: str
    verdict: Mapping[str, Any]
    objects: list[dict[str, Any]] = field(default_factory=list)
    configuration: Mapping[str, Any] = field(default_factory=dict)
    steps: list[dict[str, Any]] = field(default_factory=list)
    provisioning: bool = False

    @property
    def rejected(self) -> set[tuple[str, str]]:
        """Kind and name of the objects that the webhooks refuse."""
        return {(one["kind"], one["name"]) for one in self.verdict.get("rejected") or ()}

    @cached_property
    def manifests(self) -> list[Manifest]:
        """What is read of the configuration and the objects, those that are refused as well, in the order given."""
        configuration = {"apiVersion": CONFIGURATION_API, "kind": "Configuration", **self.configuration}
        return read_objects([configuration, *self.objects])

    @cached_property
    def cluster(self) -> Cluster:
        """The configuration and the objects that are not refused."""
        refused = self.rejected
        return Cluster.build(
            one
            for one in self.manifests
            if one.object is not None and (one.kind, one.object.metadata.name) not in refused
        )

    def __str__(self) -> str:
        return self.name


def read_objects(objects: list[dict[str, Any]]) -> list[Manifest]:
    """Read mappings, such as those of a step; none of them may have a problem."""
    manifests, problems, ignored = read_manifests([objects] if objects else [])
    assert (problems, dict(ignored)) == ([], {})
    return manifests


@cache
def kueue_cases(file: str = "kueue-cases") -> tuple[KueueCase, ...]:
    """All cases of a file."""
    with gzip.open(DATA / f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return tuple(KueueCase(**json.loads(line)) for line in lines)


def cases_of(*families: str, file: str = "kueue-cases") -> list[KueueCase]:
    """The cases of these families."""
    return [one for one in kueue_cases(file) if one.family in families]


def phase_clusters(case: KueueCase) -> Iterator[Cluster]:
    """The objects of each phase: the initial ones, and those after each step; nothing of what scheduling changes.

    A workload that is applied again keeps its status.
    """
    yield case.cluster
    refused = case.rejected
    current = {_key(one): one for one in case.objects if (one["kind"], one["metadata"]["name"]) not in refused}
    for step in case.steps:
        for one in step.get("apply", ()):
            status = current.get(_key(one), {}).get("status")
            current[_key(one)] = {**one, **({"status": status} if status else {})}
        for gone in step.get("delete", ()):
            current.pop((gone["kind"], gone.get("namespace") or "", gone["name"]), None)
        configuration = {"apiVersion": CONFIGURATION_API, "kind": "Configuration", **case.configuration}
        yield Cluster.build(read_objects([configuration, *current.values()]))


def _key(one: Mapping[str, Any]) -> tuple[str, str, str]:
    return one["kind"], one["metadata"].get("namespace") or "", one["metadata"]["name"]
