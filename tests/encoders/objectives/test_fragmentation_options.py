"""What a node offers: sizes of devices, and whole groups."""

from support.objects import after, claim, device, devices, draws, match, partitions, pool, shared, want
from support.staged import asking, offered

PCIE_ROOT = "resource.kubernetes.io/pcieRoot"


def memory(name, quantity, **fields):
    return device(name, capacity={"memory": quantity}, **fields)


def test_sizes_are_thousandths_of_the_largest():
    sizes, groups = offered(asking(pool(memory("a", "40Gi"), memory("b", "5Gi"), memory("c", "1")), claim(want())))
    assert sizes == {"a": 1000, "b": 125, "c": 1}
    assert groups == set()


def test_the_names_of_a_drivers_capacities_count_alike():
    """Having all of one of two is half."""
    supply = pool(memory("a", "40Gi"), device("b", capacity={"cores": "8"}), device("c", capacity={"cores": "4"}))
    assert offered(asking(supply, claim(want())))[0] == {"a": 500, "b": 500, "c": 250}


def test_drivers_are_measured_by_themselves():
    supply = pool(memory("a", "40Gi")), pool(memory("b", "1Gi"), driver="e.x", name="q")
    assert offered(asking(*supply, claim(want())))[0] == {"a": 1000, "b": 1000}


def test_a_device_without_capacities_is_whole():
    assert offered(asking(pool(device("a")), claim(want())))[0] == {"a": 1000}


def test_a_partition_without_capacities_is_the_part_that_it_draws():
    supply = partitions(
        device("all", draws("card", slots=4, engines=2)),
        device("half", draws("card", slots=2, engines=1)),
        device("slot", draws("card", slots=1)),
        sets={"card": {"slots": 4, "engines": 2}},
    )
    assert offered(asking(*supply, claim(want())))[0] == {"all": 1000, "half": 500, "slot": 125}


def test_of_a_shareable_device_counts_what_is_left():
    supply = pool(
        device("a", capacity={"memory": shared("10Gi", default="4Gi")}, multi=True),
        device("b", capacity={"memory": shared("10Gi", default="4Gi")}, multi=True),
        device("c", multi=True),
    )
    first = after(supply, claim(want(capacity={"memory": "4Gi"}), name="one"))
    assert offered(asking(supply, claim(want()), *first))[0] == {"a": 600, "b": 1000}


def test_what_is_in_use_or_blocked_is_not_on_offer():
    supply = partitions(
        device("half-0", draws("card", slots=2)),
        device("half-1", draws("card", slots=2)),
        device("whole", draws("card", slots=4)),
        sets={"card": {"slots": 4}},
    )
    first = after(*supply, claim(want(), name="one"))
    assert offered(asking(*supply, claim(want()), *first))[0] == {"half-1": 500}


def test_groups_have_two_members_or_more_of_one_driver():
    supply = (
        pool(*(device(name, attributes={PCIE_ROOT: name[0]}) for name in ("a0", "a1", "a2", "b0")), device("c")),
        pool(*(device(name, attributes={PCIE_ROOT: "b"}) for name in ("e0",)), driver="e.x", name="q"),
    )
    assert offered(asking(*supply, claim(want())))[1] == {(("a0", "a1", "a2"), 3000)}


def test_attributes_that_constraints_compare_make_groups_too():
    """Two attributes with the same groups make each of them once."""
    supply = pool(*(device(name, numa=name[0], attributes={PCIE_ROOT: name[0]}) for name in ("a0", "a1", "b0", "b1")))
    asked = asking(supply, claim(want(count=2), constraints=[match("d.x/numa")]))
    assert offered(asked)[1] == {(("a0", "a1"), 2000), (("b0", "b1"), 2000)}


def test_what_is_in_use_is_in_no_group():
    supply = pool(*(device(name, attributes={PCIE_ROOT: "a"}) for name in "xyz"))
    first = after(supply, claim(want(), name="one"))
    assert offered(asking(supply, claim(want()), *first))[1] == {(("y", "z"), 2000)}


def test_a_card_counts_as_its_largest_partition():
    def card(name):
        return [
            device(f"{name}-{part}", draws(name, slots=slots), attributes={PCIE_ROOT: "a"})
            for part, slots in (("whole", 4), ("half", 2))
        ]

    supply = partitions(*card("x"), *card("y"), sets={name: {"slots": 4} for name in "xy"})
    assert offered(asking(*supply, claim(want())))[1] == {(("x-whole", "y-whole"), 2000)}


def test_devices_that_nobody_asks_for_are_on_offer():
    supply = pool(*devices("a", "b", kind="x"), device("c", kind="y"))
    sizes, _ = offered(asking(supply, claim(want(select="device.attributes['d.x'].kind == 'y'"))))
    assert set(sizes) == {"a", "b", "c"}
