"""Answers about redacted objects are the answers about the objects, up to names."""

from pathlib import Path

import pytest
from support.clusters_to_read import made
from support.controllers import POD_SPEC, SPECS
from support.families import FAMILIES as CLUSTERS
from support.families import member
from support.kinds import BY_MODEL
from support.random_plans import FAMILIES as QUEUES
from support.random_plans import plan_manifests
from support.redaction import both, differences, objects_in

import drasat
from drasat.scenarios import combine, mixed_nodes, requests, with_taints
from drasat.scenarios.clusters import CLAIM_KINDS

EXAMPLES = sorted(
    path for path in (Path(__file__).parents[3] / "examples").iterdir() if path.is_dir() and any(path.glob("*.yaml"))
)


def compare(objects, *verbs, **options):
    plain, redacted, redactor = both(objects)
    for verb in verbs:
        before, after = (getattr(drasat, verb)(drasat.load(one), **options).to_dict() for one in (plain, redacted))
        assert differences(before, after, redactor.names) == [], verb


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda path: path.name)
def test_examples(folder):
    compare(objects_in(folder), "allocate", "plan", "explain")


@pytest.mark.parametrize("folder", ["whole-gpus", "mig-partitions", "ring-topology"])
def test_capacity_of_every_claim(folder):
    folder = Path(__file__).parents[3] / "examples" / folder
    plain, redacted, redactor = both(objects_in(folder))
    for one in plain:
        if one["kind"] == "ResourceClaim":
            name = f"{one['metadata']['namespace']}/{one['metadata']['name']}"
            before = drasat.capacity(drasat.load(plain), claim=name).to_dict()
            after = drasat.capacity(drasat.load(redacted), claim=redactor.names.translate(name)).to_dict()
            assert differences(before, after, redactor.names) == []


@pytest.mark.parametrize("family", CLUSTERS)
def test_random_clusters(family):
    for seed in range(3):
        compare(member(family, seed), "allocate", "explain")


@pytest.mark.parametrize("family", QUEUES)
def test_random_queues(family):
    for seed in range(2):
        compare(plan_manifests(family, seed), "allocate", "plan")


def test_a_mixed_cluster():
    nodes = with_taints(mixed_nodes(8, fullness=0.3))
    compare(combine(nodes, requests(12, dict.fromkeys(CLAIM_KINDS, 1))), "allocate", "plan", "explain")


def controllers_and_their_pods():
    """Two objects of every kind that makes pods, of which the second has its first pods already."""
    template = {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "gpu.example.com"}}]}}
    objects = [
        *objects_in(Path(__file__).parents[3] / "examples" / "whole-gpus"),
        made("resource.k8s.io/v1", "ResourceClaimTemplate", "template", "ns", spec={"spec": template}),
    ]
    for number, (model, (spec, _, names)) in enumerate(SPECS.items()):
        kind = BY_MODEL[model]
        for name in ("front-end", "x"):
            namespace = "ns" if kind.namespaced else ""
            objects.append(made(kind.api_versions()[0], kind.name, name, namespace, spec=spec))
        owner = {"apiVersion": kind.api_versions()[0], "kind": kind.name, "name": "x", "uid": "u", "controller": True}
        for pod in names[:1]:
            metadata = {"ownerReferences": [owner]}
            objects.append(made("v1", "Pod", pod, f"there-{number}", metadata=metadata, spec=POD_SPEC))
            objects.append(
                made(kind.api_versions()[0], kind.name, "x", f"there-{number}", spec=spec)
                if kind.namespaced
                else made("v1", "Namespace", f"there-{number}")
            )
    return objects


def test_every_kind_that_makes_pods():
    compare(controllers_and_their_pods(), "plan", "allocate")
