"""What schedulers do with slices and devices of features that are off, variant by variant (POOL-2, GRP-5, FEAT-3)."""

import pytest
from support.objects import attempt, claim, device, devices, draws, fails, fatal, names, pool, want

PARTITIONS_OFF = {"DRAPartitionableDevices": False}
GROUPS_OFF = {"DRADeviceCompatibilityGroups": False}
INCUBATING = {
    **GROUPS_OFF,
    "DRAListTypeAttributes": False,
    "DRAOptionalNodeOperations": False,
    "DRADerivedAttributes": False,
}
STABLE = {
    **INCUBATING,
    "DRADeviceBindingConditions": False,
    "DRAConsumableCapacity": False,
    "DRAFractionalCapacityRange": False,
}
SETS = {"s": {"m": 4}}


def counters(**fields):
    return pool(sets=SETS, **fields)


@pytest.mark.parametrize("where", ["n1", "n2"])
def test_a_slice_of_counters_that_is_ignored_still_counts_for_its_pool(where):
    """POOL-2, POOL-6: so that the pool is complete, here without counters."""
    slices = (pool(*devices("a"), count=2), counters(count=2, node_name=where))
    assert names(*slices, claim(want(count="All")), gates=PARTITIONS_OFF) == ["a"]
    short = (pool(*devices("a"), count=3), counters(count=3, node_name=where))
    assert "being updated" in fatal(*short, claim(want(count="All")), gates=PARTITIONS_OFF)


def test_the_generation_of_an_ignored_slice_makes_others_obsolete():
    """POOL-2, POOL-5: the pool vanishes for the node, and does not disturb All."""
    slices = (pool(*devices("a"), count=2), counters(count=2, generation=2), pool(*devices("z"), name="q"))
    assert names(*slices, claim(want(count="All")), gates=PARTITIONS_OFF) == ["z"]


def test_devices_of_a_slice_that_selects_nodes_by_device_are_ignored():
    """POOL-2: though the slice counts."""
    by_device = pool(device("b", all_nodes=True), count=2, slice_name="by-device", per_device_node_selection=True)
    slices = (pool(*devices("a"), count=2), by_device)
    assert names(*slices, claim(want(count="All"))) == ["b", "a"]
    assert names(*slices, claim(want(count="All")), gates=PARTITIONS_OFF) == ["a"]


def with_groups(count, **fields):
    """A slice of which one device declares groups."""
    return pool(device("g", draws("s", ("x",), m=1)), device("h"), count=count, slice_name="groups", **fields)


def test_a_slice_with_groups_does_not_count_at_all():
    """GRP-5: its pool is complete only without it."""
    for count, failing in ((3, True), (2, False)):
        slices = (counters(count=count), with_groups(count), pool(*devices("a"), count=count, slice_name="plain"))
        assert fails(*slices, claim(want()), gates=GROUPS_OFF) is failing
    assert names(*slices, claim(want()), gates=GROUPS_OFF) == ["a"]


def test_the_generation_of_a_slice_with_groups_counts():
    """GRP-5, POOL-5."""
    slices = (counters(count=3), pool(*devices("a"), count=3), with_groups(3, generation=2, node_name="n2"))
    assert fails(*slices, claim(want(count="All")), gates=GROUPS_OFF)


@pytest.mark.parametrize(
    ("gates", "bound"),
    [pytest.param({}, True, id="experimental"), (INCUBATING, True), pytest.param(STABLE, False, id="stable")],
)
def test_devices_that_bind_to_a_node(gates, bound):
    """RES-7, FEAT-3: the stable variant has never heard of them."""
    (made,) = attempt(pool(device("a", binds_to_node=True), all_nodes=True), claim(want()), gates=gates).allocations
    assert (made.node_selector is not None) is bound


@pytest.mark.parametrize(
    ("gates", "chosen"),
    [
        pytest.param({"DRAConsumableCapacity": False, "DRAFractionalCapacityRange": False}, ["a"], id="experimental"),
        pytest.param(STABLE, [], id="stable"),
    ],
)
def test_what_expressions_see_of_sharing(gates, chosen):
    """CEL-1, FEAT-3: the stable variant hides that a device may be shared."""
    asked = claim(want(select="device.allowMultipleAllocations"))
    assert attempt(pool(device("a", multi=True)), asked, gates=gates).names == chosen


def test_distinct_is_unknown_to_the_stable_variant():
    """PRE-12, FEAT-3."""
    from support.objects import distinct

    asked = claim(want(), constraints=[distinct("d.x/k")])
    assert "constraint #0: empty constraint" in fatal(pool(device("a", k=1)), asked, gates=STABLE)


@pytest.mark.parametrize(("gates", "shown"), [({}, ("*",)), (INCUBATING, None)], ids=["experimental", "incubating"])
def test_skipped_operations_are_copied_by_the_experimental_variant_only(gates, shown):
    """RES-2, FEAT-3."""
    from support.objects import node

    skipping = pool(device("a"), skip_node_operations=("*",))
    (result,) = attempt(skipping, node(features=("DRAOptionalNodeOperations",)), claim(want()), gates=gates).results
    assert result.skip_node_operations == shown
