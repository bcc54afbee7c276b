"""Whole provisioning rounds by the greedy in Python, beside Karpenter's own (karpenter-dra 4.2, 3.5 to 3.8)."""

from __future__ import annotations

from typing import Any

import pytest
from support.karpenter_families import FAMILIES, question

import drasat
from drasat.integrations.karpenter.greedy import greedy_round
from drasat.integrations.karpenter.overlays import evaluate
from drasat.integrations.karpenter.simulation import ProvisioningRound, simulate_round
from drasat.integrations.karpenter.starting_nodes import with_starting_nodes
from drasat.models.kubernetes.gates import FeatureGates
from drasat.solver.compare.figures import scheduling_input

ROUNDS = 150


def shown(found: ProvisioningRound) -> Any:
    nodes = [
        (node.pool, node.pods, sorted(node.types), node.instance_type, round(node.price, 9)) for node in found.nodes
    ]
    return nodes, dict(found.existing), sorted(found.unplaced)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_the_greedy_decides_as_karpenter(karpenter, family):
    nodes = unplaced = compared = 0
    for seed in range(ROUNDS):
        cluster = drasat.load(question(family, seed), skip_validation=True)
        options: dict[str, Any] = {"cel_errors": "kube", "seed": 0, "namespace": None, "selector": ""}
        inputs = scheduling_input(cluster, gates=FeatureGates.all_on(), **options)
        units = [one.unit for one in inputs.units]
        verdicts = {repr(shown(simulate_round(inputs.cluster, units, karpenter, 30))) for _ in range(3)}
        if len(verdicts) > 1:
            # Karpenter leaves it to chance.
            continue
        types = evaluate(inputs.cluster, FeatureGates.all_on()).types
        ours = greedy_round(with_starting_nodes(inputs.cluster, types, trusted=False)[0], units, types)
        assert repr(shown(ours)) in verdicts, seed
        nodes, unplaced, compared = nodes + len(ours.nodes), unplaced + len(ours.unplaced), compared + 1
    assert compared > 0.9 * ROUNDS
    assert nodes > ROUNDS // 2
    assert unplaced < 6 * ROUNDS
