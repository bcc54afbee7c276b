"""What plans come to, counted by hand."""

import pytest
from support.manifests import entry, obj, pod, template
from support.plan_scene import DRIVER, maker, node
from support.random_plans import plan_manifests
from support.sequential import OURS, given, given_of, needs, read, supply, taker

from drasat.scenarios import objects
from drasat.solver.compare.figures import SchedulingContext, TargetWorkload, figures
from drasat.solver.compare.schedulers import schedule
from drasat.solver.engines.engines import NodeCompiler
from drasat.solver.plan.node_states import TimeOverError
from drasat.solver.plan.outcome import PlannedUnitOutcome


def counted(what, units, limit=None, latest=None):
    return figures(what, units, limit, latest)


def before(what):
    """The figures while nothing of the queue is placed."""
    return counted(what, list(map(PlannedUnitOutcome, what.units)))


def after(what, planner="first-fit"):
    return counted(what, schedule(what, planner, "given", None).units)


def asking(**exactly):
    return {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", **exactly}}]}}


def test_fragmentation_is_what_the_average_unit_cannot_use():
    queue = [taker("a", 2), taker("b", 2), taker("c", 4), pod("d", cpu="1")]
    found = before(given(*supply(n1=3), *queue)).fragmentation
    # Pairs can use all three devices, a four and a pod without claims none of them.
    assert (found.free, found.wasted, found.all) == (3, (2 * 0 + 3 + 3) / 4, 3)
    assert (found.of_free, found.of_all) == (0.5, 0.5)


def test_parts_are_of_free_and_of_all_devices():
    found = after(given(*supply(n1=4), taker("a", 3))).fragmentation
    assert (found.free, found.wasted, found.all) == (1, 1, 4)
    assert (found.of_free, found.of_all) == (1, 0.25)


def test_without_room_devices_are_of_no_use():
    busy = pod("busy", cpu="7", spec={"nodeName": "n1"})
    found = before(given(*supply(n1=2, n2=2), busy, taker("a", 1, cpu="2"))).fragmentation
    assert (found.free, found.wasted) == (4, 2)


def test_a_node_that_does_not_suit_is_of_no_use():
    found = before(given(*supply(n1=2, n2=3), taker("a", 1, spec={"nodeSelector": {"zone": "a"}}))).fragmentation
    assert found.wasted == 5


def test_devices_that_a_request_would_not_take_are_of_no_use():
    chosen = asking(selectors=[{"cel": {"expression": f'device.attributes["{DRIVER}"].index == 0'}}])
    what = given(*supply(n1=3), template("first", chosen), pod("a", entry("g", template="first")))
    assert before(what).fragmentation.wasted == 2


def test_who_only_looks_uses_no_device():
    watch = template("watch", asking(adminAccess=True))
    space = objects.namespace("default", admin=True)
    what = given(*supply(n1=3), space, watch, pod("a", entry("g", template="watch")), taker("b", 1))
    assert before(what).fragmentation.wasted == 3 / 2


def test_devices_that_no_node_reaches_do_not_count():
    here, away = ({**objects.device(f"x-{name}", {}), "nodeName": name} for name in ("n1", "n9"))
    slice_ = objects.resource_slice("mixed", DRIVER, "mixed", {"perDeviceNodeSelection": True}, [here, away])
    found = before(given(*supply(n1=1), slice_, taker("a", 1)))
    assert (found.devices, found.fragmentation.free, found.fragmentation.all) == (2, 2, 2)


def test_of_a_shared_device_the_part_counts_that_is_left():
    wide = {"width": {"value": "10", "requestPolicy": {"default": "4"}}}
    slice_ = objects.resource_slice(
        "s",
        DRIVER,
        "n1",
        objects.on_node("n1"),
        [{**objects.device("nic-0", {}), "allowMultipleAllocations": True, "capacity": wide}],
    )
    share = template("share", asking(capacity={"requests": {"width": "4"}}))
    rest = [one for one in supply() if one["kind"] != "Node"]
    queue = [pod(name, entry("g", template="share")) for name in ("a", "b", "c")]
    what = given(node("n1"), slice_, *rest, share, *queue)
    assert (before(what).fragmentation.free, before(what).fragmentation.wasted) == (1, 0)
    found = after(what)
    # Two of three have a share; the fifth that is left is too little for a third.
    assert (found.admitted, found.used) == (2, 1)
    assert (found.fragmentation.free, found.fragmentation.wasted) == (0.2, 0.2)


def card():
    """A card of four parts: as a whole, as two halves, or as one half and nothing else of use."""
    parts = {"whole": "4", "half-0": "2", "half-1": "2"}
    devices = [
        {
            **objects.device(name, {"size": name.split("-")[0]}),
            "consumesCounters": [objects.consumption("card", {"parts": size})],
        }
        for name, size in parts.items()
    ]
    where = objects.on_node("n1")
    yield objects.resource_slice("d", DRIVER, "n1", where, devices, count=2)
    yield objects.resource_slice(
        "c", DRIVER, "n1", where, count=2, shared_counters=[objects.counter_set("card", {"parts": "4"})]
    )


def sized(size):
    return template(
        size, asking(selectors=[{"cel": {"expression": f'device.attributes["{DRIVER}"].size == "{size}"'}}])
    )


def test_partitions_that_neighbours_make_impossible_are_not_free():
    rest = [one for one in supply() if one["kind"] != "Node"]
    queue = [pod("a", entry("g", template="half")), pod("b", entry("g", template="whole"))]
    what = given(node("n1"), *card(), *rest, sized("half"), sized("whole"), *queue)
    found = before(what).fragmentation
    # Of three devices a half can use two, a whole one.
    assert (found.free, found.wasted, found.all) == (3, (1 + 2) / 2, 3)
    found = after(what).fragmentation
    # One half is left, and no whole.
    assert (found.free, found.wasted) == (1, (0 + 1) / 2)


def test_a_device_that_several_nodes_reach_counts_once():
    anywhere = objects.resource_slice("fabric", DRIVER, "fabric", {"allNodes": True}, [objects.device("f-0", {})])
    rest = [one for one in supply() if one["kind"] != "Node"]
    what = given(node("n1"), node("n2", cpu="1"), anywhere, *rest, taker("a", 1, cpu="2"))
    found = before(what).fragmentation
    # There is room on one of the nodes.
    assert (found.free, found.wasted, found.all) == (1, 0, 1)


def test_devices_of_others_count_as_used():
    held = objects.allocated(objects.claim("held", needs(1)), [objects.result("r", DRIVER, "n1", "gpu-0")], "n1")
    found = after(given(*supply(n1=3), held, taker("a", 1)))
    assert (found.admitted, found.used, found.devices, found.fragmentation.free) == (1, 2, 3, 1)


def test_gangs_count_if_they_are_whole():
    whole = [taker(f"a{number}", 1, GANG="a") for number in range(2)]
    torn = [taker(f"b{number}", 2, GANG="b") for number in range(2)]
    found = after(given(*supply(n1=2, n2=2), *whole, *torn))
    assert (found.admitted, found.gangs) == (2, 1)


def test_a_gang_with_members_that_run_counts_if_one_of_the_queue_is_placed():
    group = obj("PodGroup", "g", {"schedulingPolicy": {"gang": {"minCount": 1}}})
    grouped = {"schedulingGroup": {"podGroupName": "g"}}
    there = pod("there", cpu="1", spec={**grouped, "nodeName": "n1"})
    assert after(given(*supply(n1=1), group, there, taker("m", 1, spec=grouped))).gangs == 1
    assert after(given(*supply(n1=1), group, there, taker("m", 2, spec=grouped))).gangs == 0


def test_an_empty_queue_wastes_nothing():
    found = before(given(*supply(n1=2)))
    assert (found.admitted, found.fragmentation.wasted, found.fragmentation.of_all) == (0, 0, 0)


def test_no_devices_are_no_division_by_zero():
    found = before(given(node("n1"), pod("a", cpu="1"))).fragmentation
    assert (found.of_free, found.of_all) == (0, 0)


def test_a_schedule_that_is_not_verified_in_time_is_not_shown():
    """SCHED-7"""
    what = given(*supply(n1=2), taker("a", 1))
    found = schedule(what, "first-fit", "given", None, latest=0.0)
    assert not found.in_time
    assert [(one.node, [reason.id for reason in one.reasons]) for one in found.units] == [(None, ["timeLimit"])]


def test_without_time_fragmentation_is_unknown_and_later_the_number_of_devices_is_too():
    what = given(*supply(n1=2), taker("a", 1))
    units = schedule(what, "first-fit", "given", None).units
    found = counted(what, units, limit=0.0)
    assert (found.admitted, found.used, found.devices, found.fragmentation) == (1, 1, 2, None)
    found = counted(what, units, limit=0.0, latest=0.0)
    assert (found.admitted, found.used, found.devices, found.fragmentation) == (1, None, None, None)


def test_time_that_ends_while_devices_of_use_are_compiled_is_time_that_is_over():
    """Whether a unit fits may be known already, so that nothing else looks at the clock before."""
    what = given(*supply(n1=2), taker("a", 1))
    context = SchedulingContext(what, None)
    [[requirements, _]], [state] = context.workload.classes, context.node_states.groups
    assert context.trials.of(requirements, state).fits
    late = NodeCompiler(what.session)
    late.limit(0.0)
    workload = TargetWorkload(context.workload.classes, context.trials, late)
    with pytest.raises(TimeOverError):
        workload.usable(requirements, state)


@pytest.mark.parametrize("planner", OURS)
def test_figures_are_within_bounds_on_random_clusters(planner):
    for seed in range(6):
        what = given_of(read(plan_manifests("mixed", seed)))
        found = after(what, planner)
        assert 0 <= found.fragmentation.wasted <= found.fragmentation.free <= found.devices
        assert found.used <= found.devices


def test_jobs_are_counted_by_their_pods():
    job = maker("Job", "train", entry("g", template="t2"), spec={"parallelism": 3})
    found = before(given(*supply(n1=3), job, taker("x", 4))).fragmentation
    assert found.wasted == 3 / 4
