"""Every scenario of karpenter-dra 6 by its name: Karpenter's round in Python, and the plan that buys."""

from __future__ import annotations

import pytest
from support.karpenter_scenarios import SCENARIOS

import drasat


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name):
    one = SCENARIOS[name]
    loaded = drasat.load(list(one.objects), skip_validation=True)
    greedy, plan = drasat.compare_purchases(loaded, ["karpenter-like", "plan"]).planners
    assert sorted(node.instance_type for node in greedy.nodes) == list(one.launched)
    assert [pod.pod for pod in greedy.unplaced] == list(one.left)
    assert greedy.refused == ()
    pods = sum(made["kind"] == "Pod" for made in one.objects)
    planned = {pod for node in plan.nodes for pod in node.pods if pod.partition("/")[2] in "abc"}
    assert len(planned) == (pods - len(one.left) if one.planned is None else one.planned)
