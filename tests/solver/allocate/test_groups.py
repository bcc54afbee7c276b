"""What units of a group get: nodes and devices that suit all of them."""

import pytest
from support.groups import ISLAND, answered, asking, group, holding, placed, refused, together
from support.objects import DRIVER, claim, device, distinct, either, labels, node, option, pod, pool, want
from support.soft import apart, cel, wishing

from drasat.models.results.common import Status
from drasat.verbs.allocate import allocation_document

ENGINES = pytest.mark.parametrize("engine", ["backtracking", "cp-sat", "auto"])


def island(name, *numbers, **fields):
    """A pool on the node of its name, with a device on each of these islands."""
    members = (device(f"d{place}", island=number) for place, number in enumerate(numbers))
    return pool(*members, name=name, node_name=name, **fields)


def racks(**of):
    return [node(name, rack=rack) if rack else node(name) for name, rack in of.items()]


@ENGINES
def test_claims_of_a_group_are_on_the_island_that_has_enough(engine):
    supply = [island("n1", 1, 2), island("n2", 2, 2)]
    answer = answered(
        *supply, asking("a", 2), asking("b"), group("a", "b", entries=[together()]), nodes=["n1", "n2"], engine=engine
    )
    assert placed(answer) == {"a": ("n2", ["n2/d0", "n2/d1"]), "b": ("n1", ["n1/d1"])}
    assert answer.verified


@ENGINES
def test_distinct_over_claims_spreads_them(engine):
    supply = [island("n1", 1, 1, 2), island("n2", 2, 3)]
    spread = group("a", "b", entries=[apart(attribute=ISLAND, weight=None)])
    found = placed(answered(*supply, asking("a", 2), asking("b"), spread, nodes=["n1", "n2"], engine=engine))
    assert found["a"][0] == "n1"
    assert found["b"] == ("n2", ["n2/d1"])


@ENGINES
def test_nodes_of_a_group_have_one_value_of_the_label(engine):
    supply = [island("n1", 1), island("n2", 1), island("n3", 1)]
    nodes = racks(n1="x", n2="y", n3="y")
    found = placed(
        answered(*supply, asking("a"), asking("b"), group("a", "b", label="rack"), nodes=nodes, engine=engine)
    )
    assert {where for where, _ in found.values()} == {"n2", "n3"}


@ENGINES
def test_a_node_without_the_label_is_of_no_use(engine):
    nodes = racks(n1=None, n2="y")
    supply = [island("n1", 1, 1), island("n2", 1)]
    answer = answered(*supply, asking("a"), asking("b"), group("a", "b", label="rack"), nodes=nodes, engine=engine)
    assert refused(answer) == {"a": ["constraintGroup", "nodeLabel"], "b": ["constraintGroup", "nodeLabel"]}


@ENGINES
def test_references_say_which_requests_of_which_claims_are_compared(engine):
    both = [want("r"), want("q")]
    supply = [island("n1", 1, 2), island("n2", 3, 1)]
    tie = group("a", "b", entries=[together("a/r", "b/q")])
    answer = answered(*supply, asking("a", 1, *both), asking("b", 1, *both), tie, nodes=["n1", "n2"], engine=engine)
    found = placed(answer)
    values = {"n1/d0": 1, "n1/d1": 2, "n2/d0": 3, "n2/d1": 1}
    assert values[found["a"][1][0]] == values[found["b"][1][1]] == 1


@ENGINES
def test_an_entry_of_the_claim_holds_beside_the_group(engine):
    own = claim(want(count=2), name="a", constraints=[distinct(ISLAND)])
    tie = group("a", "b", entries=[cel("devices.all(d, d.attributes['d.x'].island != 2)", weight=None)])
    answer = answered(
        island("n1", 1, 1), island("n2", 1, 2, 3), own, asking("b"), tie, nodes=["n1", "n2"], engine=engine
    )
    assert placed(answer) == {"a": ("n2", ["n2/d0", "n2/d2"]), "b": ("n1", ["n1/d0"])}


@ENGINES
def test_expressions_see_claims_by_name_whatever_the_order_read(engine):
    first = cel("devices[0].attributes['d.x'].island == 2 && devices[1].attributes['d.x'].island == 1", weight=None)
    for claims in (("a", "b"), ("b", "a")):
        answer = answered(
            island("n1", 1),
            island("n2", 2),
            *map(asking, claims),
            group(*claims, entries=[first]),
            nodes=["n1", "n2"],
            engine=engine,
        )
        assert placed(answer) == {"a": ("n2", ["n2/d0"]), "b": ("n1", ["n1/d0"])}


@ENGINES
def test_all_devices_of_a_node_are_compared_too(engine):
    supply = [island("n1", 1, 2), island("n2", 2, 2), island("n3", 2)]
    everything = asking("a", 1, want(count="All"))
    answer = answered(
        *supply, everything, asking("b"), group("a", "b", entries=[together()]), nodes=["n1", "n2", "n3"], engine=engine
    )
    found = placed(answer)
    assert found["a"] in (("n2", ["n2/d0", "n2/d1"]), ("n3", ["n3/d0"]))
    assert found["b"][1] in (["n1/d1"], ["n3/d0"], ["n2/d0"], ["n2/d1"])


@ENGINES
def test_alternatives_of_several_claims_are_chosen_together(engine):
    def list_of(name):
        return asking(name, 1, either("r", option("two", 2), option("one", 1)))

    supply = [island("n1", 1, 1, 1)]
    tie = group("a", "b", entries=[together()])
    answer = answered(*supply, list_of("a"), list_of("b"), tie, nodes=["n1"], engine=engine)
    assert {name: len(found) for name, (_, found) in placed(answer).items()} == {"a": 2, "b": 1}


@ENGINES
def test_admin_access_looks_at_devices_in_use(engine):
    watching = asking("a", 1, want(admin=True))
    other = holding(asking("other"), "n1/d0", on="n1")
    answer = answered(
        island("n1", 1, 2),
        other,
        watching,
        asking("b", 1, want(select=f"device.attributes['{DRIVER}'].island == 1")),
        island("n2", 1),
        group("a", "b", entries=[together()]),
        nodes=["n1", "n2"],
        engine=engine,
    )
    found = placed(answer)
    assert found["b"] == ("n2", ["n2/d0"])
    assert found["a"][1] in (["n1/d0"], ["n2/d0"])


@ENGINES
def test_a_pod_with_two_claims_of_a_group_is_on_one_node(engine):
    supply = [island("n1", 1, 2), island("n2", 2, 2)]
    tie = group("a", "b", entries=[together()])
    found = placed(
        answered(*supply, asking("a"), asking("b"), pod("a", "b", name="p"), tie, nodes=["n1", "n2"], engine=engine)
    )
    assert found == {"p": ("n2", ["n2/d0", "n2/d1"])}


@ENGINES
def test_pods_that_share_a_claim_are_on_one_node(engine):
    supply = [island("n1", 1), island("n2", 1, 1), island("n3", 1)]
    pods = [pod("a", name="p"), pod("a", "b", name="q"), pod("c", name="r")]
    tie = group("a", "b", "c", entries=[together()])
    answer = answered(*supply, *map(asking, "abc"), *pods, tie, nodes=["n1", "n2", "n3"], engine=engine)
    found = placed(answer)
    assert found["p"][0] == found["q"][0] == "n2"
    assert found["r"][0] != "n2"
    assert sorted(found["p"][1] + found["q"][1]) == ["n2/d0", "n2/d1"]


def test_pods_that_share_a_claim_of_one_node_and_fit_on_none_are_refused():
    supply = [island("n1", 1), island("n2", 1)]
    pods = [pod("a", name="p"), pod("a", "b", name="q")]
    answer = answered(
        *supply, asking("a"), asking("b"), *pods, group("a", "b", entries=[together()]), nodes=["n1", "n2"]
    )
    assert answer.outcome == Status.UNALLOCATABLE
    # The claims of both pods are not those of one.
    document = allocation_document(answer)
    assert (document.proof, document.certified) == ("solver", False)


def test_pods_that_share_a_claim_for_all_nodes_may_fit_on_several():
    supply = [pool(device("far", island=1), name="net", all_nodes=True), island("n1", 2), island("n2", 2)]
    one = asking("a", 1, want(select=f"device.attributes['{DRIVER}'].island == 1"))
    pods = [pod("a", "b", name="p"), pod("a", "c", name="q")]
    answer = answered(*supply, one, asking("b"), asking("c"), *pods, group("b", "c", label="rack"), nodes=["n1", "n2"])
    assert answer.outcome == Status.UNKNOWN
    assert "share a claim" in answer.units[0].reasons[0].message


@ENGINES
def test_a_pod_that_is_bound_gets_devices_of_its_node(engine):
    supply = [island("n1", 1, 1), island("n2", 2, 1)]
    tie = group("a", "b", entries=[together()])
    answer = answered(
        *supply, asking("a"), asking("b"), pod("a", name="p", node_name="n2"), tie, nodes=["n1", "n2"], engine=engine
    )
    found = placed(answer)
    assert found["p"][0] == "n2"


def test_with_a_node_loose_claims_of_a_group_are_one_pod():
    supply = [island("n1", 1, 2), island("n2", 2, 2)]
    tie = group("a", "b", entries=[together()])
    objects = [*supply, asking("a"), asking("b"), tie]
    found = placed(answered(*objects, nodes=["n1", "n2"], node="n2"))
    assert found == {"a+b": ("n2", ["n2/d0", "n2/d1"])}
    assert answered(*objects, nodes=["n1", "n2"], node="n1").outcome == Status.UNALLOCATABLE


def test_members_that_are_not_asked_do_not_count():
    supply = [island("n1", 1), island("n2", 2)]
    tie = group("a", "b", entries=[together()])
    objects = [*supply, asking("a"), asking("b"), tie]
    assert answered(*objects, nodes=["n1", "n2"]).outcome == Status.UNALLOCATABLE
    assert placed(answered(*objects, nodes=["n1", "n2"], claims=["ns/b"])) == {"b": ("n1", ["n1/d0"])}


@ENGINES
def test_what_a_member_holds_already_counts(engine):
    supply = [island("n1", 1, 1), island("n2", 2, 2)]
    held = holding(asking("b"), "n2/d1", on="n2")
    tie = group("a", "b", entries=[together()])
    assert placed(answered(*supply, asking("a"), held, tie, nodes=["n1", "n2"], engine=engine)) == {
        "a": ("n2", ["n2/d0"])
    }


@ENGINES
def test_a_member_holds_the_label_of_the_nodes_where_it_can_be_used(engine):
    supply = [island("n1", 1), island("n2", 1), island("n3", 1)]
    held = holding(asking("b"), "n3/d0", on="n3")
    nodes = racks(n1="x", n2="y", n3="y")
    answer = answered(*supply, asking("a"), held, group("a", "b", label="rack"), nodes=nodes, engine=engine)
    assert placed(answer) == {"a": ("n2", ["n2/d0"])}


def test_a_member_that_can_be_used_everywhere_leaves_all_values_of_the_label():
    supply = [pool(device("far"), name="net", all_nodes=True), island("n1", 1)]
    held = holding(asking("b"), "net/far")
    answer = answered(*supply, asking("a"), held, group("a", "b", label="rack"), nodes=racks(n1="x", n2="y"))
    assert placed(answer)["a"][0] == "n1"


def test_a_member_where_no_node_has_the_label_leaves_no_value():
    supply = [island("n1", 1), island("n2", 1)]
    held = holding(asking("b"), "n2/d0", on="n2")
    answer = answered(*supply, asking("a"), held, group("a", "b", label="rack"), nodes=racks(n1="x", n2=None))
    assert refused(answer) == {"a": ["constraintGroup", "nodeLabel"]}


def test_what_is_held_and_not_published_any_more_says_nothing():
    held = holding(asking("b"), "gone/d7", on="n1")
    answer = answered(island("n1", 1), asking("a"), held, group("a", "b", entries=[together()]), nodes=["n1"])
    assert placed(answer) == {"a": ("n1", ["n1/d0"])}


def test_a_group_that_held_claims_break_among_themselves_stands_in_nobodys_way():
    supply = [island("n1", 1, 2, 3)]
    held = [holding(asking("b"), "n1/d0", on="n1"), holding(asking("c"), "n1/d1", on="n1")]
    tie = group("a", "b", "c", entries=[together("b/r", "c/r")])
    assert placed(answered(*supply, asking("a"), *held, tie, nodes=["n1"])) == {"a": ("n1", ["n1/d2"])}


@ENGINES
def test_derived_attributes_of_what_is_held_are_compared(engine):
    derived = {ISLAND: "device.attributes['d.x'].slot / 2"}
    slots = pool(*(device(f"d{slot}", slot=slot) for slot in range(4)), name="n1", node_name="n1")
    held = holding(asking("b", 1, want(derived=derived)), "n1/d3", on="n1")
    new = asking("a", 1, want(derived=derived))
    answer = answered(slots, new, held, group("a", "b", entries=[together()]), nodes=["n1"], engine=engine)
    assert placed(answer) == {"a": ("n1", ["n1/d2"])}


def test_two_members_may_hold_one_device():
    far = pool(device("far", island=1), name="net", all_nodes=True)
    held = [holding(asking("b"), "net/far"), holding(asking("c", 1, want(admin=True)), "net/far")]
    tie = group("a", "b", "c", entries=[together()])
    assert placed(answered(far, island("n1", 2, 1), asking("a"), *held, tie, nodes=["n1"])) == {"a": ("n1", ["n1/d1"])}


def test_a_claim_without_requests_has_no_say():
    empty = claim(name="b")
    answer = answered(island("n1", 1), asking("a"), empty, group("a", "b", label="rack"), nodes=racks(n2=None, n1="x"))
    assert placed(answer)["a"] == ("n1", ["n1/d0"])


def test_a_claim_of_a_group_without_any_requests_is_allocated():
    answer = answered(island("n1", 1), claim(name="b"), group("b", entries=[together()]), nodes=["n1"])
    assert answer.outcome == Status.ALLOCATED


@ENGINES
def test_selectors_that_cannot_be_combined_are_avoided_or_an_error(engine):
    several = labels({"rack": ("x",)}, {"rack": ("y",)})
    awkward = pool(device("d0", island=1), name="aaa", node_selector=several)
    plain = pool(device("d0", island=1), name="bbb", node_selector=labels({"rack": ("x",)}))
    objects = [asking("a"), asking("b"), group("a", "b", entries=[together()]), island("n1", 1)]
    nodes = racks(n1="x")
    free = answered(awkward, plain, *objects, nodes=nodes, engine=engine)
    assert (free.outcome == "Error") == (engine == "backtracking")
    alone = answered(awkward, *objects, nodes=nodes, engine=engine)
    assert alone.outcome == "Error"
    assert alone.units[0].reasons[0].id == "nodeSelector"


def test_soft_entries_do_not_tie_what_does_not_fit_together():
    supply = [island("n1", 1)]
    tie = group("a", "b", entries=[together(weight=3)])
    answer = answered(*supply, asking("a"), asking("b", 5), tie, nodes=["n1"])
    assert [unit.outcome for unit in answer.units] == [Status.ALLOCATED, Status.UNALLOCATABLE]
    assert any("ConstraintGroup ns/g" in notice for notice in answer.notices)


def test_a_soft_entry_over_claims_is_kept_if_that_costs_nothing():
    supply = [island("n1", 1, 2, 2, 3)]
    tie = group("a", "b", entries=[together(weight=3)])
    answer = answered(*supply, asking("a"), asking("b"), tie, nodes=["n1"])
    assert [unit.outcome for unit in answer.units] == [Status.ALLOCATED, Status.ALLOCATED]
    entries = [entry for unit in answer.units for entry in unit.soft_entries]
    assert [(entry.claim, entry.id, entry.kept, entry.cost) for entry in entries] == [("", "matchAttribute", True, 0)]


def test_soft_entries_of_a_claim_are_told_where_it_is_placed():
    soft = wishing(asking("b", 2), apart(attribute=ISLAND, weight=2))
    tie = group("a", "b", entries=[together("b/r", weight=7), together()])
    answer = answered(island("n1", 1, 1, 1), asking("a"), soft, tie, nodes=["n1"])
    told = {unit.unit.name: [(one.claim, one.weight, one.cost) for one in unit.soft_entries] for unit in answer.units}
    assert told == {"a": [("", 7, 0)], "b": [("ns/b", 2, 2)]}


def test_an_objective_looks_at_all_nodes():
    names = [f"n{number:02}" for number in range(12)]
    supply = [island(name, number, number // 11) for number, name in enumerate(names)]
    tie = group("a", "b", entries=[together(weight=5)])
    plain, best = (
        answered(*supply, asking("a", 2), asking("b"), tie, nodes=names, objective=objective)
        for objective in ((), ("soft",))
    )
    assert plain.outcome == best.outcome == Status.ALLOCATED
    (value,) = best.units[0].objective
    assert value.value == sum(entry.cost for unit in best.units for entry in unit.soft_entries) == 0


def test_kube_scheduler_overlooks_soft_groups_and_refuses_others():
    objects = [island("n1", 1, 2), asking("a"), asking("b")]
    with pytest.raises(ValueError, match="cannot honour ConstraintGroup ns/g"):
        answered(*objects, group("a", "b", entries=[together()]), nodes=["n1"], engine="kube-scheduler")


@ENGINES
def test_the_stable_variant_keeps_groups_too(engine):
    stable = (
        "DRAListTypeAttributes",
        "DRAOptionalNodeOperations",
        "DRADerivedAttributes",
        "DRADeviceCompatibilityGroups",
        "DRADeviceBindingConditions",
        "DRAConsumableCapacity",
        "DRAFractionalCapacityRange",
    )
    supply = [island("n1", 1, 2), island("n2", 2, 2)]
    tie = group("a", "b", entries=[together()])
    gates = dict.fromkeys(stable, False)
    answer = answered(*supply, asking("a", 2), asking("b"), tie, nodes=["n1", "n2"], engine=engine, feature_gates=gates)
    assert placed(answer) == {"a": ("n2", ["n2/d0", "n2/d1"]), "b": ("n1", ["n1/d1"])}
