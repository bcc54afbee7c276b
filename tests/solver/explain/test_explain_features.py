"""Reasons and changes that are about feature gates and about the node: exact sentences, and what would help."""

from msgspec.structs import replace
from support.explaining import explained, reasons, relaxations, unit
from support.objects import NODE, claim, device, draws, node, partitions, pool, taint, want

NEEDS_ONE = ("exactCount", "request r of claim ns/c needs 1 device")
NEEDS_TWO = ("exactCount", "request r of claim ns/c needs 2 devices")


def off(*gates):
    return dict.fromkeys(gates, False)


PARTITIONABLE = off("DRAPartitionableDevices")
BINDING = off("DRADeviceBindingConditions")


def test_devices_that_draw_counters_need_their_feature():
    there = partitions(device("a", draws("s", m=1)), device("b", draws("s", m=1)), sets={"s": {"m": 5}})
    assert reasons(*there, claim(want()), feature_gates=PARTITIONABLE) == [
        NEEDS_ONE,
        ("countersFeature", "feature gate DRAPartitionableDevices is off: a, b"),
    ]
    assert relaxations(*there, claim(want()), feature_gates=PARTITIONABLE) == [
        (("switch feature gate DRAPartitionableDevices on",), 5)
    ]


def test_only_devices_that_draw_counters_are_named():
    sliced = partitions(device("a", draws("s", m=1)), sets={"s": {"m": 5}})
    found = reasons(*sliced, pool(device("w"), name="whole"), claim(want(count=2)), feature_gates=PARTITIONABLE)
    assert found == [NEEDS_TWO, ("countersFeature", "feature gate DRAPartitionableDevices is off: a")]


def test_a_feature_that_makes_room_for_too_little_is_a_reason_and_no_help():
    sliced = partitions(device("a", draws("s", m=9)), sets={"s": {"m": 5}})
    found = unit(*sliced, claim(want()), feature_gates=PARTITIONABLE)
    (kind,) = found.failures
    assert len(kind.reasons) == 2
    # While the feature is off there are no counters, so that it alone is in the way.
    assert kind.reasons[1].id == "countersFeature"
    assert found.relaxations == ()


def test_several_conditions_are_all_told():
    there = pool(device("a", binding=("ready", "clean")), device("b", binding=("other",)))
    assert reasons(there, claim(want()), feature_gates=BINDING) == [
        NEEDS_ONE,
        ("bindingConditions", "feature gate DRADeviceBindingConditions is off (ready, clean): a, b"),
    ]


def test_two_features_that_are_off_are_switched_on_together():
    there = partitions(device("a", draws("s", m=1), binding=("ready",)), sets={"s": {"m": 5}})
    gates = {**PARTITIONABLE, **BINDING}
    (found,) = unit(*there, claim(want()), feature_gates=gates).relaxations
    assert {change.message for change in found.changes} == {
        "switch feature gate DRAPartitionableDevices on",
        "switch feature gate DRADeviceBindingConditions on",
    }
    assert found.cost == 10


def test_a_slice_with_groups_is_missing_where_their_feature_is_off():
    there = partitions(device("a", draws("s", ("g",), m=1)), sets={"s": {"m": 5}})
    found = unit(*there, claim(want()), feature_gates=off("DRADeviceCompatibilityGroups"))
    (kind,) = found.failures
    assert [reason.id for reason in kind.reasons] == ["exactCount"]
    (note,) = kind.notes
    assert note.startswith("pool d.x/p is incomplete, its devices do not count")


def test_taints_do_not_count_where_their_feature_is_off():
    tainted = pool(device("a", taints=(taint("k"),)))
    assert explained(tainted, claim(want()), feature_gates=off("DRADeviceTaints"))[0].outcome == "Allocated"
    assert reasons(tainted, claim(want(count=2)), feature_gates=off("DRADeviceTaints")) == [NEEDS_TWO]


SKIPPING = replace(pool(device("a")), spec=replace(pool(device("a")).spec, skip_node_operations=("*",)))
DECLARED = node(NODE, features=("DRAOptionalNodeOperations",))


def test_devices_that_skip_node_operations_need_a_node_that_can():
    assert explained(DECLARED, SKIPPING, claim(want()))[0].outcome == "Allocated"
    assert reasons(SKIPPING, claim(want())) == [
        NEEDS_ONE,
        ("nodeOperations", "devices whose node operations the node cannot skip: a"),
    ]
    # The gate is on: it is the node that does not declare it.
    assert relaxations(SKIPPING, claim(want())) == []


def test_the_gate_helps_where_the_node_declares_it():
    assert relaxations(DECLARED, SKIPPING, claim(want()), feature_gates=off("DRAOptionalNodeOperations")) == [
        (("switch feature gate DRAOptionalNodeOperations on",), 5)
    ]


def test_nodes_that_differ_in_what_they_declare_are_two_kinds():
    everywhere = replace(SKIPPING, spec=replace(SKIPPING.spec, node_name=None, all_nodes=True))
    nodes = [DECLARED, node("n2")]
    found = unit(*nodes, everywhere, claim(want(count=2)))
    assert {kind.names: kind.requests[0].free for kind in found.failures} == {("n1",): 1, ("n2",): 0}
    fits = explained(*nodes, everywhere, claim(want()))[0]
    assert (fits.outcome, fits.node) == ("Allocated", "n1")
