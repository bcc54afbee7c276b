"""Stages say the same with everything merged and with nothing merged, and no device is merged that they tell apart."""

import pytest
from support.families import FAMILIES, member
from support.gates import ALL
from support.modelling import asked
from support.objects import after, claim, device, devices, draws, either, match, option, partitions, pool, shared, want
from support.staged import asking, came_to, compared, lots, seen

from drasat.encoders.objectives.stages import STAGES, stages_named
from drasat.models.cluster.cluster import Cluster
from drasat.models.manifests.reader import read_manifests
from drasat.models.workload.requested import requested_units
from drasat.problem.messages import FatalError

PCIE_ROOT = "resource.kubernetes.io/pcieRoot"


def questions(family, seed):
    """The first unit's question on each node of a member."""
    cluster = Cluster.build(read_manifests([member(family, seed)])[0])
    for unit in requested_units(cluster):
        claims = [ref.claim for ref in unit.requested_claims]
        for node in cluster.nodes:
            try:
                one = asked(cluster, ALL, node, claims)
            except FatalError:
                continue
            yield seen(one, cluster, ALL, node, claims)


@pytest.mark.parametrize("family", FAMILIES)
def test_merging_changes_no_value(family):
    answered = 0
    for seed in range(4):
        for question in questions(family, seed):
            for stage in STAGES:
                merged, alone = (compared(question, stage, together=together) for together in (True, False))
                assert merged == alone
                answered += merged is not None
    assert answered


def test_devices_that_cost_the_same_are_one_lot():
    supply = pool(*devices(*(f"g{number:02d}" for number in range(64)), attributes={PCIE_ROOT: "a"}))
    for stage in STAGES:
        assert lots(asking(supply, claim(want(count=5))), stage) == 1


def test_a_group_of_one_keeps_nothing_apart_but_for_compact():
    """Every device has a root of its own: for fragmentation they are alike."""
    supply = pool(*(device(f"g{number}", attributes={PCIE_ROOT: str(number)}) for number in range(8)))
    asked_ = asking(supply, claim(want(count=3)))
    assert (came_to(asked_, "fragmentation"), lots(asked_, "fragmentation")) == ([3 * 1000**2], 1)
    assert (came_to(asked_, "compact"), lots(asked_, "compact")) == ([4], 8)


def test_equal_partitions_that_draw_together_are_lost_together():
    """Of three that need half each the third is lost with the second."""
    supply = partitions(
        *(device(f"p{number}", draws("card", slots=2)) for number in range(3)), sets={"card": {"slots": 4}}
    )
    assert [came_to(asking(*supply, claim(want(count=count))), "fragmentation") for count in (1, 2)] == [
        [500**2],
        [3 * 500**2],
    ]


def test_a_partition_that_nobody_asks_for_is_lost_too():
    supply = partitions(
        device("small", draws("card", slots=1), kind="small"),
        device("whole", draws("card", slots=4), kind="whole"),
        sets={"card": {"slots": 4}},
    )
    asked_ = asking(*supply, claim(want(select="device.attributes['d.x'].kind == 'small'")))
    assert came_to(asked_, "fragmentation") == [250**2 + 1000**2]


def test_a_group_is_lost_once():
    supply = pool(*(device(f"{root}{number}", numa=root) for root in "ab" for number in range(4)))
    both = claim(want(count=2), constraints=[match("d.x/numa")])
    assert came_to(asking(supply, both), "fragmentation") == [2 * 1000**2 + 4000**2]


def test_a_card_is_opened_once_however_many_partitions_come_from_it():
    supply = partitions(
        *(device(f"{card}{number}", draws(card, slots=1)) for card in "xy" for number in range(4)),
        sets={card: {"slots": 4} for card in "xy"},
    )
    opened = [came_to(asking(*supply, claim(want(count=count))), "fewest-devices-opened") for count in (1, 4, 5)]
    assert opened == [[1], [1], [2]]
    first = after(*supply, claim(want(), name="one"))
    assert came_to(asking(*supply, claim(want(count=3)), *first), "fewest-devices-opened") == [0]


def test_consumption_weighs_all_kinds_alike_and_a_whole_card_a_million():
    """CTR-3, CAP-3, IN-3."""
    supply = partitions(
        device("half", draws("x", slices=2, engines=1)),
        device("whole", draws("x", slices=4, engines=4)),
        sets={"x": {"slices": 4, "engines": 4}, "y": {"slices": 4, "engines": 4}},
    )
    assert came_to(asking(*supply, claim(want())), "least-consumption") == [375_000]
    assert came_to(asking(*supply, claim(want(admin=True))), "least-consumption") == [0]


def test_consumption_of_whole_devices_and_of_shares():
    """CAP-3."""
    whole = pool(device("small", capacity={"memory": "40Gi"}), device("large", capacity={"memory": "120Gi"}))
    assert came_to(asking(whole, claim(want())), "least-consumption") == [500_000]
    assert came_to(asking(whole, claim(want(count=2))), "least-consumption") == [2_000_000]
    policy = shared("10", default="4", min="2", step="2", max="10")
    fine = device("fine", capacity={"width": shared("10", default="1", min="1", max="10")}, multi=True)
    coarse = device("coarse", capacity={"width": policy}, multi=True)
    wide = claim(want(capacity={"width": "3"}))
    assert came_to(asking(pool(coarse), wide), "least-consumption") == [400_000]
    assert came_to(asking(pool(coarse), claim(want())), "least-consumption") == [400_000]
    assert came_to(asking(pool(coarse, fine), wide), "least-consumption") == [300_000]


def test_devices_without_a_size_consume_nothing():
    assert came_to(asking(pool(*devices("a", "b")), claim(want())), "least-consumption") == [0]


def test_ranks_of_merged_lists_are_those_of_single_ones():
    supply = pool(device("a", kind=0), device("b", kind=1), device("c", kind=2))
    lists = [
        either(name, *(option(f"o{kind}", select=f"device.attributes['d.x'].kind == {kind}") for kind in range(3)))
        for name in ("r", "s", "t")
    ]
    for together in (True, False):
        assert compared(asking(supply, claim(*lists)), "preference", together=together) == [[0, 1, 2]]


def test_names_are_found_in_a_string_or_a_list():
    assert stages_named("compact, soft") == stages_named(["compact", "soft"]) == (STAGES["compact"], STAGES["soft"])
    assert all(stage.id == name and stage.description for name, stage in STAGES.items())
