"""Fragmented clusters: valid, as full as said, with pods that may move, and with free devices in pieces."""

from collections import Counter

import kubernetes_validate
import pytest

from drasat.models.kubernetes.gates import gates_of
from drasat.models.workload.queue import read_queue
from drasat.models.workload.running import read_running_pods
from drasat.scenarios.fragmented import CLIQUE_LABEL, GENERATORS, RACK_NODES, fragmented
from drasat.scenarios.mig import MIG_PROFILES
from drasat.scenarios.openb import NODES, openb
from drasat.solver.allocate.load import load_all
from drasat.solver.compare.plans import compare_plans
from drasat.solver.plan.lifted import MoveOptions
from drasat.solver.plan.moves import plan_with_moves

SIZES = {"openb": 40, "partitions": 3, "racks": 1}
EVERY = pytest.mark.parametrize("kind", SIZES)


def cluster_of(kind, size=None, **options):
    loaded = load_all([fragmented(kind, size or SIZES[kind], **options)])
    assert not loaded.warnings
    assert not loaded.ignored
    return loaded.cluster


def running_of(cluster):
    return read_running_pods(cluster, gates_of(None)).values()


def held(one):
    return [result for own in one.held for result in own.allocation.devices.results]


def test_there_is_a_generator_for_each_kind():
    assert SIZES.keys() == GENERATORS.keys()


@EVERY
def test_objects_have_the_shape_of_the_published_schema(kind):
    for item in fragmented(kind, min(SIZES[kind], 6), departed=0.8):
        kubernetes_validate.validate(item, "1.37", strict=True)


@EVERY
def test_what_runs_and_moves_nowhere_is_a_valid_plan(kind):
    # The verifier looks at the state that steps begin with.
    cluster = cluster_of(kind, departed=0.5, waiting=0)
    found = plan_with_moves(cluster, MoveOptions(0), time_limit=None)
    assert found.verified
    assert (found.asked, found.moves) == (0, ())


@pytest.mark.parametrize(("kind", "size"), [("partitions", 2), ("racks", 1)])
def test_no_plan_with_moves_is_worse_than_first_fit_without_any(kind, size):
    cluster = cluster_of(kind, size, seed=1)
    plain = compare_plans(cluster, ["first-fit"], orders=["given"]).runs[0].figures.admitted
    found = plan_with_moves(cluster, MoveOptions(0), objective="admitted", time_limit=None)
    assert found.placed >= plain
    assert found.objective[0].bound is None or found.objective[0].value <= found.objective[0].bound


@EVERY
def test_the_seed_decides_what_is_left(kind):
    size = SIZES[kind]
    assert fragmented(kind, size, seed=1) == fragmented(kind, size, seed=1) != fragmented(kind, size, seed=2)


@EVERY
def test_most_pods_may_move_and_a_few_may_not(kind):
    running = running_of(cluster_of(kind, fixed=0))
    assert running
    assert not any(one.stays for one in running)
    reasons = Counter(one.stays for one in running_of(cluster_of(kind, fixed=0.5)))
    assert reasons.keys() == {
        "",
        "no controller makes it again",
        "its annotation cluster-autoscaler.kubernetes.io/safe-to-evict is false",
    }


@EVERY
def test_departed_says_which_part_of_the_pods_is_gone(kind):
    whole, half = (len(running_of(cluster_of(kind, departed=part))) for part in (0, 0.5))
    assert abs(half - whole / 2) <= 0.5
    assert not running_of(cluster_of(kind, departed=1))


@EVERY
def test_nothing_waits_where_nothing_is_asked_to_wait(kind):
    assert not any(one.numbers for one in read_queue(cluster_of(kind, waiting=0)))


@pytest.mark.parametrize("options", [{"size": 0}, {"size": 6, "load": 0}])
def test_openb_can_be_empty(options):
    made = fragmented("openb", **options)
    assert sum(one["kind"] == "Node" for one in made) == options["size"]
    cluster = load_all([made]).cluster
    assert not running_of(cluster)
    assert not any(one.numbers for one in read_queue(cluster))


def test_openb_has_nodes_in_the_proportions_of_the_trace():
    assert sum(node.count for node in openb("plain", 1.0).nodes) == NODES
    trace = openb("plain", 1.0, 40)
    assert sum(node.count for node in trace.nodes) == 40
    for node, whole in zip(trace.nodes, openb("plain", 1.0).nodes, strict=True):
        assert abs(node.count - whole.count * 40 / NODES) < 1


@pytest.mark.parametrize("waiting", [0.5, 1.0])
def test_pods_wait_for_so_many_times_the_free_gpus(waiting):
    cluster = cluster_of("openb", 200, waiting=waiting)
    free = sum(1000 for slice_ in cluster.slices for _ in slice_.spec.devices)
    results = [result for one in running_of(cluster) for result in held(one)]
    free -= sum(int(str(result.consumed_capacity["share"])) for result in results)
    pods = openb("plain", 1.0).pods
    takes = sum(pods[int(one.name.removeprefix("pods-"))].takes * len(one.numbers) for one in read_queue(cluster))
    assert takes / (waiting * free) == pytest.approx(1, abs=0.1)


def test_partitions_leave_memory_slices_free_between_them():
    cluster = cluster_of("partitions")
    taken = {}
    for one in running_of(cluster):
        for result in held(one):
            card, start = result.device.split("-mig-")[0], int(result.device.rsplit("-", 1)[1])
            profile = one.pod.metadata.labels["app"]
            (size,) = {p.size for name, p in MIG_PROFILES.items() if f"mig-{name.replace('.', '-')}" == profile} or {1}
            taken.setdefault((result.pool, card), set()).update(range(start, start + size))
    holes = [card for card, own in taken.items() if set(range(min(own), max(own))) - own]
    assert len(holes) >= 3


def test_racks_are_domains_of_eighteen_nodes_with_four_devices():
    cluster = cluster_of("racks", 2)
    assert set(Counter(node.metadata.labels[CLIQUE_LABEL] for node in cluster.nodes.values()).values()) == {RACK_NODES}
    assert {len(slice_.spec.devices) for slice_ in cluster.slices} == {4}
    gangs = {one.gang.name: one.gang for one in read_queue(cluster)}
    assert gangs
    assert {gang.domain for gang in gangs.values()} == {CLIQUE_LABEL}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"kind": "torus"}, "unknown kind 'torus', known are: openb, partitions, racks"),
        ({"departed": 1.5}, "departed must be between 0 and 1, not 1.5"),
        ({"kind": "racks", "fixed": -0.1}, "fixed must be between 0 and 1, not -0.1"),
    ],
)
def test_bad_arguments_are_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        fragmented(**arguments)
