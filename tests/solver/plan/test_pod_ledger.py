"""An order in which pods pass: equal to trying all orders, and found with few looks at each pod."""

from itertools import permutations
from random import Random

import pytest
from support.plan_building import classes, cluster, nodes, pod

from drasat.models.workload.pod_rules import pod_rule_book
from drasat.solver.plan.pod_ledger import PodLedger, valid_order

ZONE = "topology.kubernetes.io/zone"


def zoned(zones):
    made = nodes(*(f"n{number}" for number in range(len(zones))), devices=0, cpu="64")
    for one, zone in zip((one for one in made if one["kind"] == "Node"), zones, strict=True):
        one["metadata"]["labels"] = {ZONE: zone, "kubernetes.io/hostname": one["metadata"]["name"]}
    return made


def selecting(app):
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": ZONE}


RULES = {
    "even": {"topologySpreadConstraints": [selecting("even") | {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]},
    "near": {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [selecting("even")]}}},
    "apart": {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [selecting("apart")]}}
    },
    "plain": {},
}


def placements(zones, wanted):
    """The rules of pods of these kinds, each with its node."""
    pods = [pod(f"{kind}-{number}", labels={"app": kind}, spec=RULES[kind]) for number, (kind, _) in enumerate(wanted)]
    made = cluster(*classes(), *zoned(zones), *pods)
    book = pod_rule_book(made)
    found = [
        (place, book.rules(one), node)
        for place, (one, (_, node)) in enumerate(zip(made.pods.values(), wanted, strict=True))
    ]
    return made, found


def passes(made, order):
    ledger = PodLedger(made.nodes)
    for _, rules, node in order:
        if rules is not None:
            if ledger.refusal(rules, node) is not None:
                return False
            ledger.add(rules, node)
    return True


@pytest.mark.parametrize("seed", range(60))
def test_an_order_is_found_where_one_exists(seed):
    random = Random(seed)
    zones = [random.choice("ab") for _ in range(3)]
    wanted = sorted((random.choice([*RULES]), f"n{random.randrange(3)}") for _ in range(random.randint(2, 6)))
    made, found = placements(zones, wanted)
    order, refused = valid_order(PodLedger(made.nodes), found)
    assert sorted([*order, *refused]) == list(range(len(wanted)))
    assert passes(made, [found[place] for place in order])
    if refused:
        assert not any(passes(made, tried) for tried in permutations(found))


def test_pods_are_looked_at_few_times(monkeypatch):
    """Four hundred pods of two zones alternate, and all of one zone come first."""
    made, found = placements("ab", [("even", "n0")] * 200 + [("even", "n1")] * 200)
    looks, refusal = [], PodLedger.refusal
    monkeypatch.setattr(PodLedger, "refusal", lambda *given: looks.append(1) or refusal(*given))
    order, refused = valid_order(PodLedger(made.nodes), found)
    assert (len(order), refused) == (400, [])
    assert len(looks) <= 4 * 400


def test_of_pods_that_a_spread_rule_refuses_in_a_domain_one_is_looked_at_again():
    """Each of two zones has twenty nodes, and one more pod at a time comes to a zone."""
    names = [f"n{number % 40}" for number in range(400)]
    made, found = placements("a" * 20 + "b" * 20, [("even", name) for name in sorted(names)])
    looks = []

    class Looking(PodLedger):
        def refusal(self, rules, node):
            looks.append(node)
            return super().refusal(rules, node)

    order, refused = valid_order(Looking(made.nodes), found)
    assert (len(order), refused) == (400, [])
    assert passes(made, [found[place] for place in order])
    assert len(looks) <= 4 * 400


def test_nothing_is_tried_after_the_deadline():
    made, found = placements("ab", [("even", "n0"), ("plain", "n1"), ("apart", "n1")])
    order, refused = valid_order(PodLedger(made.nodes), found, deadline=0.0)
    assert sorted([*order, *refused]) == [0, 1, 2]
    assert all(found[place][1] is None for place in order)
