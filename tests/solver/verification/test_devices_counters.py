"""Counters and compatibility groups of partitions (sections 11 and 12)."""

import pytest
from support.gates import without
from support.verification import (
    NIC,
    allocation,
    chip,
    claim,
    everything,
    gpu,
    held,
    one_claim,
    partition,
    piece,
    request,
    result,
    results,
    share_id,
    way,
)

from drasat.scenarios import objects


def two_halves():
    return one_claim(chip(), [request("r", 2)], results("r", "half-a", "half-b"))


def one_unit_short(scene):
    sets = scene.find("ResourceSlice", "n1-counters")["spec"]["sharedCounters"]
    sets[0]["counters"]["slices"]["value"] = "3999m"


def whole_in_use(scene):
    scene.objects.append(held("h", result("r", "whole")))


def half_in_use(scene):
    """The claim has a half that is free, but the whole as well."""
    scene.results()[1]["device"] = "whole"


def on_another_node(scene):
    """A device of this pool on another node holds a slice; counters belong to the pool."""
    for name in ("n1", "n1-counters"):
        scene.find("ResourceSlice", name)["spec"]["pool"]["resourceSliceCount"] = 3
    far = piece([partition("far", 1)], "far", "n1", where=objects.on_node("n2"), count=3)
    scene.objects += [far, held("h", result("r", "far"))]


def another_set(scene):
    """A set of the pool that these devices do not use is overdrawn already."""
    sets = scene.find("ResourceSlice", "n1-counters")["spec"]["sharedCounters"]
    sets.append(objects.counter_set("other", {"slices": 1}))
    greedy = partition("greedy", 2, counter_set="other")
    scene.find("ResourceSlice", "n1")["spec"]["devices"].append(greedy)
    scene.objects.append(held("h", result("r", "greedy")))


@pytest.mark.parametrize(
    ("edit", "rules"),
    [
        way("a thousandth short", one_unit_short, "CTR-2"),
        way("in use by another claim", whole_in_use, "CTR-2"),
        way("taken by the same claim", half_in_use, "CTR-2"),
        way("in use on another node (CTR-4)", on_another_node, "CTR-2"),
        way("an unrelated set is overdrawn", another_set, "CTR-2"),
    ],
)
def test_counters_that_are_overdrawn(edit, rules):
    scene = two_halves()
    assert scene.rules() == set()
    edit(scene)
    assert scene.rules() == rules


def test_devices_without_counters_do_not_mind():
    """CTR-2"""
    scene = two_halves()
    another_set(scene)
    scene.find("ResourceSlice", "n1")["spec"]["devices"].append(gpu(0))
    scene.asked()["count"] = 1
    scene.allocation()["devices"]["results"] = results("r", "gpu-0")
    assert scene.rules() == set()


def test_a_set_that_is_used_up_exactly_is_not_overdrawn():
    """CTR-2"""
    scene = two_halves()
    another_set(scene)
    scene.device("greedy")["consumesCounters"][0]["counters"] = objects.counters({"slices": 1})
    assert scene.rules() == set()


def test_another_pool_of_this_name_has_its_own_counters():
    """CTR-5"""
    scene = two_halves()
    other = chip()
    for part in other:
        part["metadata"]["name"] += "-nic"
        part["spec"]["driver"] = NIC
    scene.objects += [*other, held("h", result("r", "whole", driver=NIC))]
    assert scene.rules() == set()


def test_units_share_counters():
    """CTR-4: what an earlier unit took is in use, also in part."""
    scene = one_claim(chip(), [request("r")], results("r", "half-a"))
    scene.objects += [claim("b", request("r")), claim("c", request("r"))]
    scene.place({"b": allocation(results("r", "half-b"))})
    assert scene.rules() == set()
    scene.results("b")[0]["device"] = "whole"
    assert [(found.rule, found.claim) for found in scene.violations()] == [("CTR-2", "default/b")]


def test_claims_of_a_unit_share_counters():
    """CTR-4"""
    scene = one_claim(chip(), [request("r")], results("r", "half-a"))
    scene.objects.append(claim("b", request("r")))
    scene.units[0]["claims"]["b"] = allocation(results("r", "whole"))
    assert scene.rules() == {"CTR-2"}


def test_administrators_draw_again_from_counters():
    """DEV-15: access to a partition takes its counters a second time, for as long as the unit is placed."""
    asked = request("r", adminAccess=True)
    scene = one_claim(chip(), [asked], [result("r", "half-a", adminAccess=True)])
    scene.objects.append(held("h", result("r", "half-a")))
    assert scene.rules() == set()
    scene.objects.append(claim("b", request("r")))
    scene.place({"b": allocation(results("r", "half-b"))})
    assert scene.rules() == set()
    scene.objects.append(held("i", result("r", "half-b")))
    assert "CTR-2" in scene.rules()


def shares(count):
    """Requests for shares of one partition that takes three of four slices."""
    device = partition("d", 3, allowMultipleAllocations=True)
    published = [piece([device], count=2), chip()[1]]
    names = [f"r{number}" for number in range(count)]
    given = [result(name, "d", shareID=share_id(number)) for number, name in enumerate(names)]
    return one_claim(published, [request(name) for name in names], given)


def test_further_shares_cost_no_counters():
    """CTR-3: neither of this unit's device nor of one in use."""
    assert shares(1).rules() == set()
    assert shares(2).rules() == set()
    scene = shares(2)
    scene.objects.append(held("h", result("r", "d", shareID=share_id(7))))
    assert scene.rules() == set()


def test_further_shares_leave_counters_to_others():
    """CTR-3: the slice that is left goes to a partition, the next one finds none."""
    scene = shares(2)
    for name in ("small", "other"):
        scene.find("ResourceSlice", "n1")["spec"]["devices"].append(partition(name, 1))
    scene.claim()["requests"].append(request("small"))
    scene.results().append(result("small", "small"))
    assert scene.rules() == set()
    scene.claim()["requests"].append(request("other"))
    scene.results().append(result("other", "other"))
    assert scene.rules() == {"CTR-2"}


def test_a_dedicated_hold_is_no_share():
    """CTR-3: an administrator's share of a device that is held as a whole costs counters."""
    scene = shares(1)
    scene.asked()["adminAccess"] = True
    scene.results()[0]["adminAccess"] = True
    scene.objects.append(held("h", result("r", "d")))
    assert scene.rules() == {"CTR-2"}


def test_a_device_that_is_published_no_more_frees_its_counters():
    """CTR-1, BUG-11"""
    scene = two_halves()
    scene.objects.append(held("h", result("r", "gone")))
    assert scene.rules() == set()


def test_all_partitions_at_once_overdraw_the_chip():
    """SRCH-6"""
    asked = objects.exactly("r", everything())
    assert one_claim(chip(), [asked], results("r", "half-a", "half-b", "whole")).rules() == {"CTR-2"}


def grouped(*groups, in_use=0):
    """Partitions of one slice with these groups, the first ``in_use`` of which others hold; the claim has the rest."""
    names = [f"d{number}" for number in range(len(groups))]
    devices = [partition(name, 1, made) for name, made in zip(names, groups, strict=True)]
    others = [held(f"h{name}", result("r", name)) for name in names[:in_use]]
    taken = results("r", *names[in_use:])
    return one_claim([piece(devices, count=2), chip()[1]], [request("r", len(taken))], taken, in_use=others)


@pytest.mark.parametrize(
    ("groups", "fits"),
    [
        pytest.param(["x", "x"], True, id="GRP-3 same"),
        pytest.param(["xy", "yz"], True, id="GRP-3 overlapping"),
        pytest.param(["x", "y"], False, id="GRP-3 different"),
        pytest.param(["xy", "yz", "zx"], False, id="GRP-3 pairwise only"),
        pytest.param(["", ""], True, id="GRP-3 none"),
        pytest.param(["x", ""], False, id="GRP-3 some, then none"),
        pytest.param(["", "x"], False, id="GRP-3 none, then some"),
    ],
)
@pytest.mark.parametrize("in_use", [0, 1], ids=["together", "in-use"])
def test_partitions_of_a_chip_have_a_group_in_common(groups, fits, in_use):
    assert grouped(*groups, in_use=in_use).rules() == (set() if fits else {"GRP-3"})


@pytest.mark.parametrize(
    ("groups", "fits"),
    [
        pytest.param(["x", "y", ""], False, id="GRP-2 nothing is compatible with a clash"),
        pytest.param(["", "x", ""], True, id="GRP-2 none came first"),
        pytest.param(["", "x", "x"], False, id="GRP-2 some came later"),
    ],
)
def test_what_is_in_use_may_clash_already(groups, fits):
    assert grouped(*groups, in_use=2).rules() == (set() if fits else {"GRP-3"})


def test_groups_of_other_counter_sets_do_not_matter():
    """GRP-3"""
    scene = grouped("x", "y", in_use=1)
    sets = scene.find("ResourceSlice", "n1-counters")["spec"]["sharedCounters"]
    sets.append(objects.counter_set("other", {"slices": 1}))
    scene.device("d1")["consumesCounters"][0]["counterSet"] = "other"
    assert scene.rules() == set()


def test_further_shares_are_not_checked_for_groups():
    """GRP-4"""
    scene = grouped("x", "y", in_use=2)
    scene.device("d1")["allowMultipleAllocations"] = True
    scene.objects[-1] = held("hd1", result("r", "d1", shareID=share_id(1)))
    scene.claim()["requests"] = [request("r")]
    scene.allocation().update(allocation([result("r", "d1", shareID=share_id(2))]))
    assert scene.rules() == set()


def test_without_their_feature_partitions_are_not_counted():
    """DEV-7, POOL-2"""
    scene = two_halves()
    scene.gates = without("DRAPartitionableDevices")
    assert scene.rules() == {"DEV-7"}
