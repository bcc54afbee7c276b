"""Coverage groups: any members whose values add up to a demand, in plans and in what is verified of them."""

import json
from itertools import product
from random import Random

import msgspec
import pytest
from support.gates import ALL
from support.manifests import device_class
from support.plan_building import maker, obj, pod
from support.plan_scene import Plan, cluster_of, gpus, node

from drasat import InputError, check, load, plan

STAGES = "coverage,fewest-nodes"


def covering(group, value, demand):
    return json.dumps({"group": group, "value": value, "demand": demand})


def template(devices):
    request = {"name": "r", "exactly": {"deviceClassName": "gpu", "count": devices}}
    return obj("ResourceClaimTemplate", f"t{devices}", {"spec": {"devices": {"requests": [request]}}})


def shape(name, group, devices, replicas, value, demand):
    entries = [{"name": "g", "resourceClaimTemplateName": f"t{devices}"}]
    marks = {"COVERAGE": covering(group, value, demand)}
    return maker("Deployment", name, *entries, marks=marks, spec={"replicas": replicas})


def cluster(nodes, devices, *given):
    made = [one for number in range(nodes) for one in (node(f"n{number}", cpu="99"), gpus(f"n{number}", devices))]
    return cluster_of(*made, device_class(), *map(template, (1, 2, 3)), *given)


def groups_of(found):
    return {one.name: (one.demand, one.covered, one.units) for one in found.coverage}


def values(found):
    return [(stage.stage, stage.value, stage.bound) for stage in found.objective]


def fewest_bins(sizes, room):
    """How many nodes with this room hold all sizes, by trying every node for each."""
    best = len(sizes)

    def place(number, left):
        nonlocal best
        if len(left) >= best and number < len(sizes):
            return
        if number == len(sizes):
            best = min(best, len(left))
            return
        for at, free in {free: at for at, free in enumerate(left)}.items():
            size = sizes[number]
            if at >= size:
                place(number + 1, [*left[:free], at - size, *left[free + 1 :]])
        place(number + 1, [*left, room - sizes[number]])

    place(0, [])
    return best


def best_by_force(shapes, nodes, room):
    """The most groups that are covered, and the fewest nodes for so many."""
    names = sorted({group for group, *_ in shapes})
    best = (0, 0)
    for counts in product(*(range(replicas + 1) for _, _, replicas, _, _ in shapes)):
        sums, demands = dict.fromkeys(names, 0), {}
        for (group, _, _, value, demand), count in zip(shapes, counts, strict=True):
            sums[group] += value * count
            demands[group] = demand
        if any(0 < sums[name] < demands[name] for name in names):
            continue
        covered = sum(sums[name] >= demands[name] for name in names)
        if covered < best[0]:
            continue
        pairs = zip(shapes, counts, strict=True)
        sizes = sorted((size for (_, size, *_), count in pairs for _ in range(count)), reverse=True)
        if sum(sizes) > nodes * room:
            continue
        used = fewest_bins(sizes, room)
        if used <= nodes:
            best = max(best, (covered, -used))
    return best


def random_shapes(seed):
    random = Random(seed)
    found = []
    for group in "ab"[: random.randint(1, 2)]:
        demand = random.randint(2, 9)
        found += [
            (group, size, random.randint(1, 3), size * 2 + random.randint(-1, 1), demand)
            for size in random.sample((1, 2, 3), random.randint(1, 2))
        ]
    return found, random.randint(1, 3), random.randint(3, 4)


@pytest.mark.parametrize("seed", range(60))
def test_plans_equal_brute_force(seed):
    shapes, nodes, room = random_shapes(seed)
    given = [
        shape(f"{group}-{size}", group, size, replicas, value, demand)
        for group, size, replicas, value, demand in shapes
    ]
    document = plan(cluster(nodes, room, *given), objective=STAGES).document
    covered, used = best_by_force(shapes, nodes, room)
    assert [stage.value for stage in document.objective] == [covered, -used]
    assert (document.outcome, document.verified) == ("Optimal", True)


def test_any_members_cover_a_demand_and_the_others_say_so():
    given = (shape("small", "a", 1, 4, 10, 25), shape("large", "a", 3, 1, 24, 25))
    found = plan(cluster(1, 4, *given), objective=STAGES).document
    assert groups_of(found) == {"a": (25, 30, 3)} or groups_of(found) == {"a": (25, 34, 2)}
    reasons = {reason.message for one in found.units for reason in one.reasons if reason.id == "gang"}
    assert reasons == {f"Coverage default/a is covered without it: {groups_of(found)['a'][1]} of 25"}


def test_a_group_that_cannot_be_covered_has_no_place():
    found = plan(cluster(1, 2, shape("s", "a", 1, 4, 10, 30)), objective=STAGES).document
    assert (found.placed, groups_of(found), values(found)[0]) == (0, {"a": (30, 0, 0)}, ("coverage", 0, 0))
    too_little = plan(cluster(4, 4, shape("s", "a", 1, 2, 10, 30)), objective=STAGES).document
    messages = {reason.message for one in too_little.units for reason in one.reasons}
    assert messages == {"Coverage default/a needs 30, and its members add up to 20"}


def test_members_that_run_count():
    running = pod("there", spec={"nodeName": "n0"}, COVERAGE=covering("a", 20, 30))
    found = plan(cluster(1, 4, running, shape("s", "a", 1, 4, 10, 30)), objective=STAGES).document
    assert groups_of(found) == {"a": (30, 30, 1)}
    enough = pod("there", spec={"nodeName": "n0"}, COVERAGE=covering("a", 30, 30))
    found = plan(cluster(1, 4, enough, shape("s", "a", 1, 4, 10, 30)), objective=STAGES).document
    assert (groups_of(found), values(found)[0]) == ({"a": (30, 30, 0)}, ("coverage", 1, 1))


@pytest.mark.parametrize(("runs", "covered"), [(20, 0), (30, 1)])
@pytest.mark.parametrize("others", [(), (shape("o", "b", 1, 3, 10, 20),)])
def test_groups_whose_waiting_members_are_all_refused_count_too(runs, covered, others):
    running = pod("there", spec={"nodeName": "n0"}, COVERAGE=covering("a", runs, 30))
    refused = maker(
        "Deployment",
        "s",
        {"name": "g", "resourceClaimTemplateName": "absent"},
        marks={"COVERAGE": covering("a", 10, 30)},
        spec={"replicas": 2},
    )
    asked = cluster(1, 4, running, refused, *others)
    document = plan(asked, objective=STAGES).document
    total = covered + len(others)
    assert (document.outcome, values(document)[0]) == ("Optimal", ("coverage", total, total))
    assert groups_of(document)["a"] == (30, runs, 0)
    told = json.loads(msgspec.json.encode(document))
    assert [one for one in check(told, asked).lines if one.verdict == "fails"] == []


def test_values_need_not_be_whole_numbers():
    found = plan(cluster(1, 4, shape("s", "a", 1, 4, 0.1, 0.3)), objective=STAGES).document
    assert groups_of(found) == {"a": (0.3, 0.3, 3)}


def test_stages_that_count_units_count_members_like_others():
    found = plan(cluster(1, 4, shape("s", "a", 1, 9, 10, 25))).document
    assert (found.placed, groups_of(found)) == (4, {"a": (25, 40, 4)})


def test_the_verifier_counts_on_its_own():
    given = [gpus("n1", 4), node("n1"), device_class(), template(1), shape("s", "a", 1, 3, 10, 20)]
    whole = Plan(cluster_of(*given), ALL, s_0=("n1", "gpu-0"), s_1=("n1", "gpu-1"))
    assert whole.rules() == []
    part = Plan(cluster_of(*given), ALL, s_0=("n1", "gpu-0"))
    assert part.rules() == ["PLAN-COVERAGE"]


def test_members_name_one_demand():
    given = shape("s", "a", 1, 2, 10, 20), shape("t", "a", 2, 2, 10, 30)
    with pytest.raises(ValueError, match=r"^coverage group default/a: its members name two demands, 20 and 30$"):
        plan(cluster(1, 4, *given), objective=STAGES)


def test_moves_are_not_planned_beside_coverage():
    with pytest.raises(ValueError, match=r"^Coverage default/a: coverage groups are not planned beside running pods"):
        plan(cluster(1, 4, shape("s", "a", 1, 2, 10, 20)), moves=1)


def test_an_audit_counts_groups_and_has_no_bound_of_what_they_need():
    given = shape("s", "a", 1, 4, 10, 25)
    document = plan(cluster(2, 2, given), objective=STAGES, audit=20).document
    covered, nodes = document.objective
    assert (covered.bound, covered.proven, nodes.proven) == (1, True, False)
    assert (nodes.bound, nodes.solver_bound) == (0, 2)
    assert document.outcome == "Feasible"


@pytest.mark.parametrize("key", ["value", "\\u0076alue"])
def test_a_repeated_key_is_refused(key):
    """The last one does not win silently, as in any other object that is read."""
    text = covering("a", 1, 25).replace('"demand"', f'"{key}": 30, "demand"')
    given = obj("Pod", "p", {"spec": {"containers": [{"name": "c", "image": "i"}]}})
    given["metadata"]["annotations"] = {"drasat.dev/coverage": text}
    with pytest.raises(InputError, match=r"drasat\.dev/coverage.*must be"):
        load([given])
