"""What plans are compared with: brute force and one model of the whole say the same, and both know simple answers."""

from collections import Counter
from random import Random

import pytest
from support.plan_by_force import Force, TooLargeError, by_force
from support.plan_monolith import Monolith
from support.random_plans import FAMILIES, GPU, MIG, NIC, ZONE, cel, made, plan_manifests, spec_of

from drasat.models.cluster.cluster import Cluster
from drasat.models.manifests.reader import read_manifests
from drasat.models.validation.validate import validate_manifests
from drasat.models.workload.expansion import expand_units
from drasat.models.workload.queue import read_queue

STAGES = ("priority", "admitted", "admitted=devices", "fewest-nodes", "spread", "cost")
WORTHS = ("admitted=annotation:drasat.dev/value", "admitted=annotation:team.example/worth")


def cluster(documents):
    manifests, problems, _ = read_manifests([documents])
    assert [str(one) for one in (*problems, *validate_manifests(manifests)) if one.severity == "error"] == []
    return Cluster.build(manifests)


@pytest.mark.parametrize("family", FAMILIES)
def test_brute_force_and_the_model_say_the_same(family):
    told = Counter()
    for seed in range(40):
        random = Random(f"references/{family}/{seed}")
        stages = random.sample((*STAGES, *(WORTHS if family == "values" else ())), 3)
        documents = plan_manifests(family, seed)
        asked = {"buy": family.startswith("bu"), "budget": random.choice((2, 4, 5)) if family == "budget" else None}
        model = Monolith(documents, stages, **asked)
        if not model.knows():
            continue
        try:
            best = Force(documents, stages, **asked).solve()
        except TooLargeError:
            told["large"] += 1
            continue
        assert [float(value) for value in model.solve()] == [float(value) for value in best], seed
        told["compared"] += 1
        told["not free"] += any(best)
    assert told["compared"] > 5
    assert told["not free"] > 2
    assert told["large"] <= told["compared"] // 10


@pytest.mark.parametrize("family", FAMILIES)
def test_members_are_valid_and_their_queue_is_read_as_it_is_planned(family):
    sizes = set()
    for seed in range(40):
        documents = plan_manifests(family, seed)
        read = cluster(documents)
        units = [(one.unit_set.kind, one.unit_set.name, one.number) for one in expand_units(read, read_queue(read))]
        force = Force(documents, ["priority"])
        assert sorted(unit.id for unit in force.units) == sorted(units)
        sizes.add(len(units))
    assert len(sizes) > 3


GPUS = {"driver": GPU, "devices": [{"name": "g0"}, {"name": "g1"}]}
PARTS = {"counterSet": "card", "counters": {"parts": {"value": "3"}}}
CARD = [
    {"driver": MIG, "devices": [{"name": name, "consumesCounters": [PARTS]} for name in ("m0", "m1")]},
    {"driver": MIG, "sharedCounters": [{"name": "card", "counters": {"parts": {"value": "5"}}}]},
]
WIRE = {"name": "e0", "allowMultipleAllocations": True, "capacity": {"width": {"value": "10"}}}


def scene(*slices, nodes=2, zones=(None, None)):
    """Equal nodes with these slices."""
    found = [made("DeviceClass", name, {"selectors": [cel(f'device.driver == "{name}"')]}) for name in (GPU, MIG, NIC)]
    for number, zone in zip(range(nodes), zones, strict=False):
        name = f"n{number}"
        found.append(made("Node", name, {}, labels={ZONE: zone} if zone else None))
        for place, one in enumerate(slices):
            pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
            found.append(made("ResourceSlice", f"{name}-{place}", {**one, "nodeName": name, "pool": pool}))
    return found


def wanted(name, copies=1, driver=GPU, **marks):
    count = marks.pop("count", 1)
    capacity = {"capacity": {"requests": {"width": marks.pop("width")}}} if "width" in marks else {}
    annotations = {"drasat.dev/replicas": str(copies), **{f"drasat.dev/{key}": text for key, text in marks.items()}}
    request = {"name": "r", "exactly": {"deviceClassName": driver, "count": count, **capacity}}
    return made("ResourceClaim", name, spec_of([request]), annotations)


KNOWN = {
    "four devices": (scene(GPUS), [wanted("c", 5)], {"admitted": 4, "fewest-nodes": 2, "spread": 8}),
    "a pair is on one node": (
        scene(GPUS),
        [wanted("c", 3), wanted("d", 2, count=2)],
        {"admitted=devices": 4, "admitted": 3},
    ),
    "counters": (scene(*CARD), [wanted("c", 4, driver=MIG)], {"admitted": 2}),
    "shares": (scene({"driver": NIC, "devices": [WIRE]}), [wanted("c", 9, driver=NIC, width="3")], {"admitted": 6}),
    "all of a share": (scene({"driver": NIC, "devices": [WIRE]}), [wanted("c", 3, driver=NIC)], {"admitted": 2}),
    "a gang that is too large": (scene(GPUS), [wanted("c", 5, gang="g"), wanted("d", 1)], {"admitted": 1}),
    "a gang in a domain": (
        scene(GPUS, nodes=3, zones=("a", "b", "b")),
        [wanted("c", 4, gang="g", **{"gang-domain": ZONE}), wanted("d", 3)],
        {"admitted": 6, "fewest-nodes": 3},
    ),
    "no node has the label": (scene(GPUS), [wanted("c", 1, gang="g", **{"gang-domain": ZONE})], {"admitted": 0}),
    "values": (scene(GPUS, nodes=1), [wanted("c", 1, value="3", count=2), wanted("d", 2, value="2")], {WORTHS[0]: 4}),
}


@pytest.mark.parametrize("kind", [Force, Monolith])
@pytest.mark.parametrize("name", KNOWN)
def test_simple_answers_are_known(name, kind):
    objects, queue, expected = KNOWN[name]
    documents = [*objects, *queue]
    assert cluster(documents)
    found = kind(documents, [*expected])
    assert [float(value) for value in found.solve()] == [*expected.values()]


def offer(name, price, devices, **fields):
    own = {"driver": GPU, "devices": [{"name": f"g{number}"} for number in range(devices)]}
    return made("NodeTemplate", name, {"price": price, "slices": [own], **fields})


@pytest.mark.parametrize("kind", [Force, Monolith])
def test_the_cheapest_nodes_are_bought_and_a_budget_is_kept(kind):
    offers = [offer("big", "5", 4), offer("small", "2", 1, limit=2)]
    documents = [*scene(GPUS, nodes=1), *offers, wanted("c", 7)]
    assert kind(documents, ["admitted", "cost"], buy=True).solve() == [7, 7]
    assert kind(documents, ["admitted", "cost"], buy=True, budget=6).solve() == [6, 5]
    assert kind(documents, ["admitted", "cost"], buy=True, only_new=True).solve() == [7, 10]


def test_the_first_alternative_is_preferred_where_it_is_free():
    options = [{"name": driver[:3], "deviceClassName": driver, "count": 1} for driver in (MIG, GPU)]
    claims = made(
        "ResourceClaim", "c", spec_of([{"name": "r", "firstAvailable": options}]), {"drasat.dev/replicas": "3"}
    )
    documents = [*scene(GPUS, *CARD, nodes=1), claims]
    assert by_force(documents, ["admitted", "preference"]) == {"admitted": 3, "preference": 2}
