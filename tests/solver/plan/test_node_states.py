"""Nodes are together while nothing tells them apart, and apart as soon as something does."""

import pytest
from support.gates import ALL
from support.manifests import entry, obj, pod
from support.plan_scene import DRIVER, gpus, node
from support.sequential import given, needs, supply, taker

from drasat.models.results.common import Status
from drasat.models.workload.expansion import QueuedUnit
from drasat.scenarios import objects
from drasat.solver.compare.figures import PARTS_OF_DEVICE, SchedulingContext
from drasat.solver.compare.schedulers import ORDERS, BestFitPolicy, FragmentationDescent, arrival_order
from drasat.solver.engines.engine import NodeResult
from drasat.solver.plan.node_choice import FirstFitPolicy, NodeChooser
from drasat.solver.plan.node_states import AllocationTrials, TimeOverError, Trial, TrialAbortedError, trial_of


class Counting:
    """Our search, and how often it was asked."""

    def __init__(self, engine):
        self._engine, self.asked = engine, 0
        self.counts = engine.counts

    def allocate_on(self, *question):
        self.asked += 1
        return self._engine.allocate_on(*question)


class Scene:
    """A context, and what its units come to one by one."""

    def __init__(self, *given_objects, **options):
        self.what = given(*given_objects, **options)
        self.context = SchedulingContext(self.what, None)
        self.node_states = self.context.node_states

    def case(self, number, made=()):
        return self.context.requirements.of(self.what.units[number], dict(made))

    def trial(self, number, position=0):
        return self.context.trials.of(self.case(number), self.state(position))

    def put(self, number, position):
        """Place a unit; returns the keys of its claims."""
        unit = self.what.units[number]
        made = [
            (ref.key, one)
            for ref, one in zip(unit.unit.requested_claims, self.trial_there(number, position), strict=True)
        ]
        self.node_states.add_pod(position, unit.unit_set.shape.requests, made)
        return [key for key, _ in made]

    def trial_there(self, number, position):
        claims = [ref.claim for ref in self.what.units[number].unit.requested_claims]
        node = self.node_states.node(position)
        return self.context.trials.engine.allocate_on(node, claims, self.node_states.allocated_state, None).allocations

    def state(self, position):
        return next(state for state, positions in self.node_states.groups.items() if position in positions)

    @property
    def groups(self):
        return sorted(self.node_states.groups.values())


def test_equal_nodes_are_one_state():
    assert Scene(*supply(n1=2, n2=2, n3=3, n4=2), taker("a", 1)).groups == [[0, 1, 3], [2]]


@pytest.mark.parametrize(
    ("cpu", "labels", "groups"), [("8", None, [[0, 1]]), ("4", None, [[0], [1]]), ("8", {"zone": "a"}, [[0], [1]])]
)
def test_rooms_and_rules_tell_nodes_apart(cpu, labels, groups):
    picky = taker("picky", 1, cpu="1", spec={"nodeSelector": {"zone": "a"}})
    second = node("n2", **(labels or {}), cpu=cpu)
    rest = [one for one in supply(n1=2) if one["metadata"]["name"] != "n2"]
    assert Scene(*rest, second, gpus("n2", 2), picky).groups == groups


def test_what_nobody_asks_for_tells_no_nodes_apart():
    rest = [one for one in supply(n1=2) if one["kind"] != "Node"]
    nodes = node("n1", zone="a", cpu="8", memory="1Gi"), node("n2", zone="b", cpu="8", memory="2Gi")
    assert Scene(*nodes, *rest, gpus("n2", 2), taker("a", 1, cpu="1")).groups == [[0, 1]]


def test_names_and_attributes_that_are_not_read_tell_no_nodes_apart():
    slices = [
        objects.resource_slice(
            name, DRIVER, name, objects.on_node(name), [objects.device(f"{name}-gpu", {"uuid": name})]
        )
        for name in ("n1", "n2")
    ]
    rest = [one for one in supply() if one["kind"] != "Node"]
    assert Scene(node("n1"), node("n2"), *slices, *rest, taker("a", 1)).groups == [[0, 1]]


def test_a_node_moves_when_it_takes_something_and_back_when_that_goes():
    scene = Scene(*supply(n1=2, n2=2, n3=2), taker("a", 1, cpu="1"))
    before = scene.state(1)
    keys = scene.put(0, 1)
    assert scene.groups == [[0, 2], [1]]
    assert scene.state(1).room["cpu"] == 7000
    scene.node_states.remove_pod(1, scene.what.units[0].unit_set.shape.requests, keys)
    assert scene.groups == [[0, 1, 2]]
    assert scene.state(1) is before


def test_what_is_imagined_is_what_comes():
    scene = Scene(*supply(n1=3, n2=3), taker("a", 2, cpu="1"))
    before = scene.state(0)
    imagined = scene.node_states.state_with(before, scene.case(0).requests, scene.trial(0))
    assert scene.groups == [[0, 1]]
    scene.put(0, 0)
    assert scene.state(0) is imagined
    assert scene.state(1) is before


def test_what_is_imagined_twice_adds_up():
    scene = Scene(*supply(n1=4), taker("a", 1))
    once = scene.node_states.state_with(scene.state(0), {}, scene.trial(0))
    trial = scene.context.trials.of(scene.case(0), once)
    twice = scene.node_states.state_with(once, {}, trial)
    free = [sum(scene.context.workload.free(state.devices).values()) for state in (scene.state(0), once, twice)]
    assert free == [4 * PARTS_OF_DEVICE, 3 * PARTS_OF_DEVICE, 2 * PARTS_OF_DEVICE]


def test_a_node_of_which_nothing_is_known_takes_any_pod():
    unknown = {key: value for key, value in node("n1").items() if key != "status"}
    scene = Scene(unknown, *[one for one in supply(n1=4) if one["kind"] != "Node"], taker("a", 1, cpu="999"))
    assert scene.state(0).room is None
    scene.put(0, 0)
    assert scene.state(0).room is None
    assert BestFitPolicy(scene.context.workload, scene.node_states.groups).score(scene.state(0), scene.state(0)) > 0


def test_equal_questions_on_equal_devices_are_asked_once():
    scene = Scene(*supply(n1=2, n2=2), taker("a", 1, cpu="1"), taker("b", 1, cpu="2"), taker("c", 2))
    engine = Counting(scene.context.trials.engine)
    trials = AllocationTrials(engine, None)
    for number in (0, 1, 0, 2, 2):
        assert trials.of(scene.case(number), scene.state(1)).fits
    assert engine.asked == 2


def test_who_asks_for_no_device_asks_nobody():
    scene = Scene(*supply(n1=1), pod("a", cpu="1"))
    engine = Counting(scene.context.trials.engine)
    assert AllocationTrials(engine, None).of(scene.case(0), scene.state(0)).fits
    assert engine.asked == 0


def test_first_fit_asks_no_further_than_the_first():
    scene = Scene(*supply(n1=1, n2=2, n3=3, n4=4), taker("a", 2))
    engine = Counting(scene.context.trials.engine)
    assert NodeChooser(scene.node_states, FirstFitPolicy(), AllocationTrials(engine, None)).position(scene.case(0)) == 1
    assert engine.asked == 2


def test_where_a_unit_failed_it_is_not_tried_again():
    scene = Scene(*supply(n1=1, n2=1, n3=2), *(taker(f"a{number}", 2) for number in range(2)))
    engine = Counting(scene.context.trials.engine)
    chooser = NodeChooser(scene.node_states, FirstFitPolicy(), AllocationTrials(engine, None))
    assert chooser.position(scene.case(0)) == 2
    scene.put(0, 2)
    assert chooser.position(scene.case(1)) is None
    # One device, two, none left of two; each but once.
    assert engine.asked == 3


def test_equal_units_are_one_case_until_a_claim_that_they_share_is_allocated():
    shared = obj("ResourceClaim", "shared", needs(1))
    users = [pod(name, entry("s", claim="shared")) for name in "ab"]
    scene = Scene(*supply(n1=1, n2=1), shared, *users, taker("own", 1), taker("other", 1))
    assert scene.case(0) is scene.case(1)
    assert scene.case(2) is scene.case(3)
    (made,) = scene.trial_there(0, 1)
    follower = scene.case(1, [(scene.what.units[0].unit.claims[0].key, made)])
    assert follower is not scene.case(1)
    assert follower.claims == ()
    assert follower.suitable.members == {1}
    assert scene.case(2, [(scene.what.units[0].unit.claims[0].key, made)]) is scene.case(2)


def test_followers_of_a_shared_claim_go_where_it_is_among_equal_nodes():
    shared = obj("ResourceClaim", "shared", needs(1))
    users = [pod(name, entry("s", claim="shared")) for name in "ab"]
    scene = Scene(*supply(n1=1, n2=1, n3=1), shared, *users)
    (made,) = scene.trial_there(0, 2)
    follower = scene.case(1, [(scene.what.units[0].unit.claims[0].key, made)])
    chooser = NodeChooser(scene.node_states, FirstFitPolicy(), scene.context.trials)
    assert chooser.position(scene.case(0)) == 0
    assert chooser.position(follower) == 2


def test_endings_of_attempts():
    assert trial_of(NodeResult(Status.UNALLOCATABLE, message="no")) == Trial(Status.UNALLOCATABLE, (), "no")
    assert not trial_of(NodeResult(Status.UNKNOWN)).fits
    with pytest.raises(TimeOverError):
        trial_of(NodeResult(Status.UNKNOWN, rule="timeLimit"))
    with pytest.raises(TimeOverError):
        NodeChooser(Scene(*supply(n1=1)).node_states, FirstFitPolicy(), AllocationTrials(None, -1.0)).position(None)


def test_an_error_says_where_it_was():
    wrong = needs(1)
    wrong["devices"]["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": 'device.attributes["x"].y == 1'}}]
    scene = Scene(*supply(n1=1, n2=1), obj("ResourceClaim", "wrong", wrong), cel_errors="kube")
    chooser = NodeChooser(scene.node_states, FragmentationDescent(scene.context.workload), scene.context.trials)
    with pytest.raises(TrialAbortedError, match=r"^node n1: "):
        chooser.position(scene.case(0))


def test_fragmentation_falls_where_what_was_of_no_use_is_taken():
    scene = Scene(*supply(n1=3), taker("one", 1), taker("four", 4))
    policy = FragmentationDescent(scene.context.workload)
    before = scene.state(0)
    after = scene.node_states.state_with(before, {}, scene.trial(0))
    # Before, three devices are of no use to one of two units; after, two.
    assert (scene.context.workload.wasted(before), scene.context.workload.wasted(after)) == (
        3 * PARTS_OF_DEVICE,
        2 * PARTS_OF_DEVICE,
    )
    assert policy.score(before, after) == -PARTS_OF_DEVICE


def test_best_fit_counts_in_parts_of_the_most_that_any_node_has():
    scene = Scene(*supply(n1=4, n2=2), taker("a", 1, cpu="2"))
    policy = BestFitPolicy(scene.context.workload, scene.node_states.groups)
    large, small = scene.state(0), scene.state(1)
    # Devices, cpu and the number of pods: two of four devices, and all of the others.
    assert policy.score(large, large) == 3
    assert policy.score(small, small) == 2.5
    after = scene.node_states.state_with(small, scene.case(0).requests, scene.trial(0, 1))
    assert policy.score(small, after) == pytest.approx(1 / 4 + 6 / 8 + 9 / 10)


def test_orders_are_of_all_units_and_stable():
    queue = [taker(f"p{number}", 1, spec={"priority": number % 3}) for number in range(9)]
    units = given(*supply(n1=1), *queue).units
    names = {order: [one.unit.name for one in arrival_order(units, order, 5)] for order in ORDERS}
    assert names["given"] == [f"p{number}" for number in range(9)]
    assert names["priority"] == ["p2", "p5", "p8", "p1", "p4", "p7", "p0", "p3", "p6"]
    assert sorted(names["random"]) == names["given"]
    assert names["random"] == [one.unit.name for one in arrival_order(units, "random", 5)]
    assert names["random"] != [one.unit.name for one in arrival_order(units, "random", 6)]
    assert all(isinstance(one, QueuedUnit) for one in arrival_order(units, "random", 5))


def test_gates_decide_what_is_seen():
    anywhere = {**objects.device("x", {}), "nodeName": "n1"}
    slice_ = objects.resource_slice("mixed", DRIVER, "mixed", {"perDeviceNodeSelection": True}, [anywhere])
    seen, unseen = (
        Scene(*supply(n1=1), slice_, taker("a", 1), gates=gates)
        for gates in (ALL, ALL.with_({"DRAPartitionableDevices": False}))
    )
    counts = [
        sum(scene.context.workload.free(scene.state(0).devices).values()) // PARTS_OF_DEVICE for scene in (seen, unseen)
    ]
    assert counts == [2, 1]
