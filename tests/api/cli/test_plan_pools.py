"""``drasat plan --buy`` and ``overlay`` with NodePools: options, tables, warnings, files of kwok."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from support.pools import CLASSES, KIND, ZONE, devices, machine, node_pool, offering, requirement, waiting
from support.texts import rows

EXAMPLE = "examples/plan-pools"
GPU = "gpu.example.com"


@pytest.fixture
def saved(tmp_path):
    def save(*objects):
        path = tmp_path / "objects.yaml"
        path.write_text(yaml.safe_dump_all(objects))
        return str(path)

    return save


def test_bought_offerings_are_a_table_and_nodes_are_not_missed(drasat):
    done = drasat("plan", "--buy", "-f", EXAMPLE)
    assert "POOL TYPE ZONE CAPACITY TYPE COUNT PRICE COST" in rows(done.out)
    assert "accelerated g4.4xlarge zone-a reserved 1 2 2" in rows(done.out)
    assert "no Nodes" not in done.err
    assert "no Nodes" in drasat("plan", "-f", EXAMPLE).err


def either(*names: str) -> dict[str, object]:
    """A claim of any of these drivers, the first of all."""
    listed = [{"name": name, "deviceClassName": name} for name in names]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "either", "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "r", "firstAvailable": listed}]}},
    }


@pytest.mark.parametrize(("order", "cost"), [("any", 1), ("in-order", 8)])
def test_alternatives_count_more_or_less_than_the_cost(drasat, saved, order, cost):
    """R9, E6."""
    dear = machine("dear", offering("8.0"), slices=[devices("g0")])
    cheap = machine("cheap", offering("1.0"), slices=[devices("n0", driver="nic")])
    path = saved(*CLASSES, node_pool(), dear, cheap, either("gpu", "nic"), waiting("p", "either"))
    document = json.loads(drasat("plan", "--buy", "-f", path, "--alternatives", order, "-o", "json").out)
    assert sum(one["cost"] for one in document["bought"]) == cost


def test_another_word_for_alternatives_is_bad_usage(drasat):
    done = drasat("plan", "--buy", "-f", EXAMPLE, "--alternatives", "first")
    assert done.code == 2
    assert "in-order" in done.err


KWOK = [
    {
        "name": "g-8x-amd64-linux",
        "offerings": [
            {
                "Price": price,
                "Available": True,
                "Requirements": [
                    {"key": KIND, "operator": "In", "values": [kind]},
                    {"key": ZONE, "operator": "In", "values": [zone]},
                ],
            }
            for zone, kind, price in (
                ("test-zone-a", "spot", 0.117),
                ("test-zone-a", "on-demand", 0.168),
                ("test-zone-b", "on-demand", 0.172),
            )
        ],
        "architecture": "amd64",
        "operatingSystems": ["linux"],
        "resources": {"cpu": "8", "ephemeral-storage": "20Gi", "memory": "32Gi", "pods": "128"},
    },
    {
        "name": "c-2x-arm64-linux",
        "offerings": [
            {
                "Price": 0.02,
                "Available": True,
                "Requirements": [
                    {"key": KIND, "operator": "In", "values": ["spot"]},
                    {"key": ZONE, "operator": "In", "values": ["test-zone-a"]},
                ],
            }
        ],
        "architecture": "arm64",
        "operatingSystems": ["linux"],
        "resources": {"cpu": "2", "ephemeral-storage": "20Gi", "memory": "4Gi", "pods": "32"},
    },
]
CONFIG = {
    "apiVersion": "test.karpenter.sh/v1alpha1",
    "kind": "DRAConfig",
    "metadata": {"name": "gpus"},
    "spec": {
        "driver": GPU,
        "pools": [
            {
                "name": "gpus",
                "nodeSelectorTerms": [{"matchExpressions": [requirement("kubernetes.io/arch", "amd64")]}],
                "resourceSlices": [{"devices": [{"name": "gpu-0"}, {"name": "gpu-1"}]}],
            }
        ],
    },
}


@pytest.fixture
def kwok(tmp_path) -> str:
    path: Path = tmp_path / "instance_types.json"
    path.write_text(json.dumps(KWOK))
    return str(path)


def asking_claim(name: str) -> dict[str, object]:
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": spec}


def test_plans_buy_types_of_kwok_with_the_devices_of_its_configuration(drasat, saved, kwok):
    """The type of amd64 has two devices, so that three pods need two nodes, and a pod for arm64 the other type."""
    pods = [one for name in "abc" for one in (asking_claim(name), waiting(name, name))]
    arm = waiting("arm", nodeSelector={"kubernetes.io/arch": "arm64"})
    path = saved(*CLASSES, node_pool(), CONFIG, *pods, arm)
    done = drasat("plan", "--buy", "-f", path, "--instance-types", kwok, "-o", "json")
    bought = {(one["instanceType"], one["capacityType"]): one["count"] for one in json.loads(done.out)["bought"]}
    assert bought == {("g-8x-amd64-linux", "spot"): 2, ("c-2x-arm64-linux", "spot"): 1}


def test_overlays_change_types_of_kwok(drasat, saved, kwok):
    overlay = {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": "half"},
        "spec": {"requirements": [requirement(KIND, "on-demand")], "priceAdjustment": "-50%"},
    }
    done = drasat("overlay", "-f", saved(node_pool(), CONFIG, overlay), "--instance-types", kwok, "-o", "json")
    (large,) = (one for one in json.loads(done.out)["types"] if one["type"] == "g-8x-amd64-linux")
    assert [str(one["price"]) for one in large["offerings"]] == ["0.117", "0.084", "0.086"]
    assert [(one["driver"], one["devices"]) for one in large["drivers"]] == [(GPU, 2)]


@pytest.mark.parametrize("command", [("plan", "--buy"), ("overlay",)])
@pytest.mark.parametrize(
    ("text", "said"), [("{", "invalid JSON"), ("[{}]", "[0].name: is missing"), (None, "No such file")]
)
def test_a_bad_file_of_kwok_is_one_line(drasat, tmp_path, command, text, said):
    path = tmp_path / "bad.json"
    if text is not None:
        path.write_text(text)
    done = drasat(*command, "-f", EXAMPLE, "--instance-types", str(path))
    assert done.code == 2
    assert f"--instance-types: {path}" in done.err
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_node_claims_have_fields_of_the_published_kind_only(drasat, saved, tmp_path):
    """The list of fields of karpenter.sh/v1 knows all of a NodeClaim that a plan prints."""
    done = drasat("plan", "--buy", "-f", EXAMPLE, "-o", "manifests")
    claims = [one for one in yaml.safe_load_all(done.out) if one["kind"] == "NodeClaim"]
    assert len(claims) == 6
    checked = drasat("validate", "--strict", "-f", saved(*claims))
    assert (checked.code, checked.err) == (0, "")
    claims[0]["spec"]["requierments"] = []
    assert 'unknown field "spec.requierments"' in drasat("validate", "--strict", "-f", saved(*claims)).out


def test_misspelt_fields_of_instance_types_and_overlays_are_found(drasat, saved):
    kind = machine("m", offering("1.0") | {"pirce": "2"}, slices=[devices("g0") | {"alNodes": True}])
    overlay = {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": "o"},
        "spec": {"requirements": [], "prise": "1", "dynamicResources": {"templates": []}},
    }
    out = drasat("validate", "--strict", "-f", saved(kind, overlay, node_pool(wieght=3))).out
    found = [line.partition('unknown field "')[2].partition('"')[0] for line in out.splitlines()[:-1]]
    wanted = "spec.offerings[0].pirce spec.slices[0].alNodes spec.prise spec.dynamicResources.templates spec.wieght"
    assert sorted(filter(None, found)) == sorted(wanted.split())


def test_other_types_of_a_pool_with_min_values_are_in_the_document(drasat, saved):
    """R18: the type that is too small is none of them."""
    pool = node_pool("general", {"key": "node.kubernetes.io/instance-type", "operator": "Exists", "minValues": 2})
    types = [
        machine("one", offering("1.0")),
        machine("two", offering("2.0")),
        machine("tiny", offering("0.1"), cpu="1"),
    ]
    done = drasat("plan", "--buy", "-f", saved(*CLASSES, pool, *types, waiting("p", cpu="4")), "-o", "json")
    assert [(one["instanceType"], one["otherTypes"]) for one in json.loads(done.out)["bought"]] == [("one", ["two"])]
    done = drasat("plan", "--buy", "-f", saved(*CLASSES, pool, *types[::2], waiting("p", cpu="4")))
    assert "warning: NodePool general: one and the types that serve the same pods show 1 value" in done.err


@pytest.mark.parametrize(
    ("reach", "said"),
    [
        (
            {"nodeSelector": {"nodeSelectorTerms": []}},
            "nodeSelectorTerms: Invalid value: 0: must have exactly one term",
        ),
        (
            {"allNodes": True, "nodeSelector": {"nodeSelectorTerms": [{"matchLabelKeys": [ZONE]}]}},
            "allNodes: Invalid value: true: may not be set beside nodeSelector",
        ),
    ],
)
def test_devices_with_a_bad_reach_are_bad_input(drasat, saved, reach, said):
    kind = machine("m", offering("1.0"), slices=[devices("g0") | reach])
    done = drasat("plan", "--buy", "-f", saved(*CLASSES, node_pool(), kind, waiting("p")))
    assert done.code == 2
    assert said in done.err
