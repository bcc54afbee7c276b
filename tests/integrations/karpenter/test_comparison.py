"""Planners that buy nodes, side by side; Karpenter itself is asked in the differential tests."""

from __future__ import annotations

import json

import jsonschema
import pytest
from support.karpenter import claim_spec, device_class, exactly, gpus, instance_type, node_pool, pod, template
from support.karpenter_families import FAMILIES, question

import drasat
from drasat.models.results.schema import results_schema

PLANNERS = ["karpenter-like", "plan"]
FIRST = [
    node_pool(),
    device_class(),
    template("one", claim_spec(exactly())),
    instance_type("small", 1.0, gpus(1)),
    instance_type("large", 2.5, gpus(4)),
    pod("a", "one"),
    pod("b", "one"),
]


def compared(objects, planners=PLANNERS, **options):
    return drasat.compare_purchases(drasat.load(objects, skip_validation=True), planners, **options)


def test_the_greedy_opens_one_node_where_two_are_cheaper():
    """E1."""
    found = {one.planner: one for one in compared(FIRST).planners}
    assert (found["karpenter-like"].cost, found["plan"].cost, found["plan"].bound) == (2.5, 2, 2)
    assert [node.instance_type for node in found["karpenter-like"].nodes] == ["large"]
    assert [node.instance_type for node in found["plan"].nodes] == ["small", "small"]


def test_the_document_keeps_to_its_schema_and_is_the_same_again():
    one, two = compared(FIRST), compared(FIRST)
    jsonschema.validate(json.loads(one.to_json()), results_schema())
    assert one.to_json() == two.to_json()
    assert one.document.cheapest == ("plan",)
    assert one.document.differing == ("default/a", "default/b")
    assert len(one.to_frame()) == 3
    assert "plan places 2 of 2 pods for 2; karpenter-like 2 for 2.5 (+25.0%)" in one.summary()


def test_what_kube_scheduler_refuses_is_told():
    """A device whose taint nobody tolerates: Karpenter gives it away all the same."""
    tainted = gpus(1)
    tainted["devices"][0]["taints"] = [{"key": "broken", "effect": "NoSchedule"}]
    objects = [*FIRST[:3], instance_type("bad", 0.5, tainted), pod("a", "one")]
    (greedy,) = compared(objects, ["karpenter-like"]).planners
    assert (greedy.placed, greedy.refused, len(greedy.nodes)) == (0, ("default/a",), 1)
    assert any("taints" in said for said in greedy.notices)


def test_unknown_planners_and_missing_pools_are_bad_usage():
    with pytest.raises(ValueError, match="unknown planner 'fgd' of nodes to buy"):
        compared(FIRST, ["fgd"])
    with pytest.raises(ValueError, match="there is no NodePool in the input"):
        compared(FIRST[1:])


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_no_round_is_cheaper_than_the_plan(family):
    """Of equally many pods; a plan may place more, and then pay for them."""
    dearer = 0
    for seed in range(12):
        found = compared(question(family, seed), time_limit=60)
        greedy, plan = found.planners
        assert plan.proven, seed
        assert plan.placed >= greedy.placed, seed
        if plan.placed == greedy.placed:
            assert plan.cost <= greedy.cost + 1e-9, seed
            dearer += greedy.cost > plan.cost + 1e-9
    assert dearer or family.__name__ == "sharers"


def test_a_search_that_would_take_forever_ends():
    """12 of 24 equal devices, and one that nobody has: Karpenter gives up after a time, its round here after steps."""
    nobody = exactly("s", selectors=[{"cel": {"expression": "device.attributes['gpu.example.com'].?x.hasValue()"}}])
    wide = template("wide", claim_spec(exactly("r", count=12), nobody))
    objects = [node_pool(), device_class(), wide, instance_type("large", 1.0, gpus(24)), pod("a", "wide")]
    (greedy,) = compared(objects, ["karpenter-like"]).planners
    assert [one.pod for one in greedy.unplaced] == ["default/a"]
