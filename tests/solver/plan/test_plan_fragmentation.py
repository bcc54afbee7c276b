"""What ``fragmentation`` leaves room for, on clusters where that can be counted by hand."""

import re
from random import Random

import pytest
from support.plan_building import (
    DRIVER,
    claim,
    classes,
    cluster,
    device,
    entry,
    maker,
    node,
    nodes,
    of,
    placed,
    planning,
    pod,
    published,
    template,
    user,
    values,
    where,
)

STAGES = "admitted,fragmentation"
SELECTING = f'device.attributes["{DRIVER}"].model == "{{}}"'.format


def mix_of(**counts):
    """So many pods of one, two and so on devices."""
    sizes = {"ones": 1, "twos": 2, "threes": 3, "fours": 4}
    return cluster(*(one for name, count in counts.items() for one in pods(name, count, of(sizes[name]))))


def pods(name, count, spec, **options):
    options = {"cpu": "1m", **options}
    return template(name, spec), maker(
        "Deployment", name, entry("g", template=name), spec={"replicas": count}, **options
    )


def room(found):
    assert found.verified
    assert found.outcome == "Optimal"
    return values(found)["fragmentation"]


def two_on_two():
    """Two pods of a device each, two nodes of four."""
    return [*nodes("n1", "n2"), *(user(name) for name in "ab")]


@pytest.mark.parametrize(
    ("mix", "left", "used"),
    [
        # Six ones anywhere; pairs do not fit beside one pod alone.
        ({"ones": 1}, 6, {1, 2}),
        ({"twos": 1}, 6, {1}),
        # Together they spoil one node for three, apart none; for four it is the other way.
        ({"threes": 1}, 6, {2}),
        ({"fours": 1}, 4, {1}),
    ],
)
def test_a_mix_decides_whether_pods_go_together(mix, left, used):
    found = planning(*two_on_two(), objective=STAGES, mix=mix_of(**mix))
    assert room(found) == left
    assert len(set(where(found).values())) in used


@pytest.mark.parametrize(
    ("mix", "left"),
    [
        # Eight devices: three times four and one; three of one in all.
        ({"ones": 1, "fours": 1}, 6),
        # Once three and one, twice: both nodes have three left, or four and two.
        ({"ones": 1, "threes": 1}, 6),
        ({"ones": 1, "threes": 9}, 6),
        # The ones of a mix with many fours are few: once is enough for all devices.
        ({"ones": 1, "fours": 9}, 5),
    ],
)
def test_units_come_in_the_proportions_of_the_mix(mix, left):
    assert room(planning(*two_on_two(), objective=STAGES, mix=mix_of(**mix))) == left


def test_without_a_mix_it_is_the_queue_that_there_is_room_for():
    given = [*nodes("n1", "n2", devices=3), *pods("twos", 1, of(2))]
    # One device is left beside the pod, three are left on the other node.
    assert room(planning(*given, objective=STAGES)) == 2
    assert room(planning(*given, objective=STAGES, mix=mix_of(ones=1))) == 4


def test_a_mix_does_not_change_what_is_placed():
    given = two_on_two()
    for mix in (None, mix_of(threes=1), mix_of(ones=7)):
        found = planning(*given, objective=STAGES, mix=mix)
        assert placed(found) == ["a", "b"]
        assert found.asked == 2


def test_guests_need_processors_too():
    given = [*nodes("n1", "n2", cpu="4"), user("a")]
    mix = cluster(*pods("big", 1, of(1), cpu="3"))
    # Three processors are left of one node, four of the other.
    assert room(planning(*given, objective=STAGES, mix=mix)) == 2
    assert room(planning(*given, objective=STAGES, mix=cluster(*pods("big", 1, of(1), cpu="4")))) == 1


def test_guests_go_to_nodes_that_suit_them():
    made = [*nodes("n1"), node("n2", zone="z"), published("n2", *(f"gpu-{number}" for number in range(3))), user("a")]
    chosen = {"nodeSelector": {"zone": "z"}}
    mix = cluster(*pods("there", 1, of(1), pod_spec=chosen))
    assert room(planning(*made, objective=STAGES, mix=mix)) == 3


def test_guests_take_devices_that_their_selectors_choose():
    members = [device(f"gpu-{number}", model=model) for number, model in enumerate("aabb")]
    given = [node("n1"), published("n1", *members), *pods("any", 1, of(1))]
    mix = cluster(*pods("picky", 1, of(2, "gpu", SELECTING("a"))))
    found = planning(*given, objective=STAGES, mix=mix)
    assert room(found) == 2
    # The pod of the queue keeps off what the mix wants.
    (unit,) = found.units
    assert [r.device for _, made in unit.allocations for r in made.devices.results] in (["gpu-2"], ["gpu-3"])


def test_a_mix_that_fits_nowhere_leaves_room_for_nothing():
    mix = cluster(*pods("huge", 1, of(9)))
    found = planning(*two_on_two(), objective=STAGES, mix=mix)
    assert (room(found), placed(found)) == (0, ["a", "b"])


def test_pods_without_devices_are_not_counted():
    mix = cluster(pod("plain", cpu="1"), *pods("twos", 1, of(2)))
    assert room(planning(*two_on_two(), objective=STAGES, mix=mix)) == 6
    assert values(planning(*two_on_two(), objective=STAGES, mix=cluster(pod("plain", cpu="1"))))["fragmentation"] == 0


def test_later_stages_keep_the_room():
    found = planning(*two_on_two(), objective="admitted,fragmentation,fewest-nodes", mix=mix_of(threes=1))
    assert values(found) == {"admitted": 2, "fragmentation": 6, "fewest-nodes": 2}
    found = planning(*two_on_two(), objective="admitted,fewest-nodes,fragmentation", mix=mix_of(threes=1))
    assert values(found) == {"admitted": 2, "fewest-nodes": 1, "fragmentation": 3}


def test_units_of_a_mix_that_nothing_serves_are_left_out():
    mix = cluster(*pods("twos", 1, of(2)), *pods("lost", 1, of(1, "missing")))
    assert room(planning(*two_on_two(), objective=STAGES, mix=mix)) == 6


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], r"the mix has no unit that could be placed$"),
        ([*classes()], r"the mix has no unit that could be placed$"),
        ([claim("c", of(1, "missing"))], r"the mix has no unit that could be placed: .*missing.*$"),
        ([pod("p", entry("g", template="none"))], r"the mix has no unit that could be placed: .*none.*$"),
    ],
    ids=["empty", "no units", "class", "template"],
)
def test_a_mix_of_nothing_placeable_is_said_in_one_line(given, said):
    with pytest.raises(ValueError, match=f"^{said}") as raised:
        planning(*two_on_two(), objective=STAGES, mix=cluster(*given))
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize("objective", ["", "admitted", "admitted,fewest-nodes"])
def test_a_mix_makes_no_sense_without_its_stage(objective):
    said = re.escape("a mix makes sense with the stage fragmentation alone")
    with pytest.raises(ValueError, match=f"^{said}$"):
        planning(*two_on_two(), objective=objective, mix=mix_of(twos=1))


def most_room(devices, sizes):
    """Devices of a mix of one size that fit on what is left of nodes, the best of all ways to place single devices."""
    queue, size, counts = sizes
    best = 0

    def fill(number, left):
        nonlocal best
        if number == queue:
            best = max(best, min(counts, sum(own // size for own in left)) * size)
            return
        for place, own in enumerate(left):
            if own:
                fill(number + 1, [*left[:place], own - 1, *left[place + 1 :]])

    fill(0, list(devices))
    return best


@pytest.mark.parametrize("seed", range(12))
def test_room_is_the_most_that_any_plan_leaves(seed):
    rng = Random(seed)
    devices = [rng.randint(1, 5) for _ in range(rng.randint(1, 3))]
    queue, size = rng.randint(0, min(4, sum(devices))), rng.randint(1, 4)
    given = [one for place, count in enumerate(devices) for one in nodes(f"n{place}", devices=count)]
    given += [user(f"u{number}", cpu="1m") for number in range(queue)]
    found = planning(*given, objective=STAGES, mix=cluster(*pods("mix", 1, of(size))))
    times = -(-sum(devices) // size)
    assert room(found) == most_room(devices, (queue, size, times))
