"""Units that share a claim go to one node; which of them come is a choice among variants."""

import pytest
from support.plan_building import (
    asking,
    claim,
    devices,
    holding,
    nodes,
    of,
    placed,
    planning,
    posed,
    reasons,
    sharing,
    user,
    values,
    where,
)

from drasat.solver.plan.build.units import group_by_shared_claims, omits_variants


def variants(*given):
    """Sets of variants by the names of their units, and names of units that stand alone."""
    ask = asking(*given)
    single, sets = group_by_shared_claims(ask.queue, ask.open_positions)
    names = [[[one.unit.name for one in entry.units] for entry in own] for own in sets]
    return names, [one.units[0].unit.name for one in single]


def test_all_ways_to_choose_some_of_the_units_are_variants_the_whole_first():
    found, alone = variants(claim("s"), sharing("a", "s"), sharing("b", "s", cpu="1"), user("c"))
    assert alone == ["c"]
    assert found == [[["a", "b"], ["a"], ["b"]]]


def test_of_equal_units_the_first_ones_come():
    found, _ = variants(claim("s"), *(sharing(name, "s") for name in "abc"))
    assert found == [[["a", "b", "c"], ["a", "b"], ["a"]]]


def test_units_of_a_party_are_in_the_order_of_the_queue():
    found, _ = variants(claim("s"), sharing("a", "s"), sharing("b", "s", cpu="1"), sharing("c", "s"))
    assert found[0][0] == ["a", "b", "c"]
    assert ["a", "b"] in found[0]


def test_claims_connect_through_other_units():
    given = claim("s"), claim("t"), sharing("a", "s"), sharing("b", "t"), sharing("c", "s", "t")
    found, _ = variants(*given)
    assert [own[0] for own in found] == [["a", "b", "c"]]


def test_sets_that_nothing_connects_are_apart():
    found, _ = variants(claim("s"), claim("t"), *(sharing(f"{name}{one}", one) for one in "st" for name in "ab"))
    assert [own[0] for own in found] == [["as", "bs"], ["at", "bt"]]


def test_a_claim_of_one_unit_makes_no_set():
    assert variants(claim("s"), sharing("a", "s")) == ([], ["a"])


def test_an_allocated_claim_makes_no_set():
    found, alone = variants(*nodes("n1"), holding("h", "n1", "gpu-0"), sharing("a", "h"), sharing("b", "h"))
    assert (found, alone) == ([], ["a", "b"])


def test_units_that_are_left_out_are_in_no_set():
    ask = asking(claim("s"), sharing("a", "s"), sharing("b", "s"), sharing("c", "s", cpu="1"))
    _, sets = group_by_shared_claims(ask.queue, [0, 2])
    assert [[one.unit.name for one in entry.units] for entry in sets[0]] == [["a", "c"], ["a"], ["c"]]


@pytest.mark.parametrize(("units", "narrowed"), [(2, False), (6, False), (7, True), (9, True)])
def test_too_many_ways_are_narrowed_to_the_first_units(units, narrowed):
    """Of 6 different units there are 63 ways, of 7 there are 127."""
    ask = asking(claim("s"), *(sharing(f"p{number}", "s", cpu=f"{number + 1}m") for number in range(units)))
    _, (own,) = group_by_shared_claims(ask.queue, ask.open_positions)
    assert omits_variants(own) is narrowed
    assert len(own) == (units if narrowed else 2**units - 1)
    assert len(own[0].positions) == units


def test_many_equal_units_are_narrowed_to_large_numbers_of_them():
    ask = asking(claim("s"), *(sharing(f"p{number}", "s") for number in range(70)))
    _, (own,) = group_by_shared_claims(ask.queue, ask.open_positions)
    assert omits_variants(own)
    assert [len(one.positions) for one in own] == list(range(70, 6, -1))


def test_of_many_units_that_share_a_claim_the_best_part_is_placed():
    """The first unit fits nowhere, and the others do."""
    pods = [sharing(f"p{number}", "s", cpu="100" if not number else f"{100 + number}m") for number in range(7)]
    found = planning(*nodes("n1"), claim("s"), *pods, objective="admitted")
    (stage,) = found.objective
    assert (stage.value, stage.bound) == (6, 6)
    assert found.outcome == "Optimal"


def test_at_most_one_variant_of_a_set_is_placed():
    found = posed(*nodes("n1"), claim("s"), sharing("a", "s"), sharing("b", "s", cpu="1"))
    (row,) = found.problem.rows
    assert (row.lower, row.upper) == (None, 1)
    assert sorted(row.terms.units) == [unit.index for unit in found.problem.units]
    assert [unit.weight for unit in found.problem.units] == [2, 1, 1]
    assert not found.is_narrowed


def test_units_that_share_a_claim_are_on_one_node_and_have_it_once():
    found = planning(*nodes("n1", "n2", devices=1), claim("s"), *(sharing(name, "s", cpu="2") for name in "abc"))
    there = {node for node in where(found).values() if node}
    assert len(placed(found)) == 2
    assert len(there) == 1
    assert sum(map(len, devices(found).values())) == 1
    assert found.outcome == "Optimal"


def test_the_rest_of_a_set_comes_where_one_unit_fits_nowhere():
    found = planning(*nodes("n1"), claim("s"), sharing("a", "s", cpu="9"), sharing("b", "s", cpu="1"))
    assert where(found) == {"a": None, "b": "n1"}
    assert values(found)["admitted"] == 1
    assert reasons(found, "a")


def test_units_that_share_and_have_claims_of_their_own():
    more = [sharing(name, "s", cpu="1") for name in "ab"]
    for one in more:
        one["spec"]["resourceClaims"].append({"name": "own", "resourceClaimTemplateName": "t2"})
    found = planning(*nodes("n1", devices=5), claim("s"), *more)
    assert placed(found) == ["a", "b"]
    assert sorted(map(len, devices(found).values())) == [2, 3]
    found = planning(*nodes("n1", devices=4), claim("s"), *more)
    assert len(placed(found)) == 1


def test_a_shared_claim_that_nothing_serves_leaves_all_out():
    found = planning(*nodes("n1"), claim("s", of(9)), sharing("a", "s"), sharing("b", "s"))
    assert placed(found) == []
    assert found.outcome == "Optimal"
