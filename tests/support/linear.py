"""Clusters whose devices are alike: whole, or with a capacity that several claims share."""

from uuid import UUID

from support.plan_building import DRIVER, claim, device, entry, maker, node, of, posed, published, template

CAPACITY = 10


def shareable(name, capacity=CAPACITY, **fields):
    """A device that several claims may hold."""
    return device(name, allowMultipleAllocations=True, capacity={"mem": {"value": str(capacity)}}, **fields)


def room(name, *devices, cpu="9"):
    """A node with a slice of these devices, if any."""
    return [node(name, cpu=cpu), *([published(name, *devices)] if devices else [])]


def shares(name, number, cpu="9"):
    """A node with so many devices to be shared."""
    return room(name, *(shareable(f"gpu-{one}") for one in range(number)), cpu=cpu)


def wholes(name, number, cpu="9"):
    """A node with so many devices that one claim has at a time."""
    return room(name, *(f"gpu-{one}" for one in range(number)), cpu=cpu)


def part(amount, count=1, **fields):
    """A claim for so much of each of some devices."""
    return of(count, capacity={"requests": {"mem": str(amount)}}, **fields)


def held(number, where, place, amount):
    """A claim that has so much of a device."""
    result = {"request": "r", "driver": DRIVER, "pool": where, "device": place}
    result |= {"shareID": str(UUID(int=number + 1)), "consumedCapacity": {"mem": str(amount)}}
    return claim(f"held-{number}", part(amount), status={"allocation": {"devices": {"results": [result]}}})


def wanting(name, count, spec=None, cpu="1", **options):
    """So many equal pods, with a claim of this spec if there is one."""
    entries = [entry("g", template=name)] if spec else []
    made = maker("Deployment", name, *entries, cpu=cpu, spec={"replicas": count}, **options)
    return [*([template(name, spec)] if spec else []), made]


def linear(*given, **options):
    """Names of the nodes that are priced by sums."""
    return linear_of(posed(*given, **options))


def linear_of(found):
    kinds = [kind for kind in found.node_classes if kind.index in found.pricer.linear.devices]
    return sorted(one.metadata.name for kind in kinds for one in kind.nodes)


def random_shares(rng):
    """Nodes with devices to be shared, of which parts are held, and pods for wholes, parts and nothing."""
    made, number = [], 0
    for name in ("n1", "n2")[: rng.choice((1, 2, 2))]:
        devices = rng.randint(0, 3)
        made += shares(name, devices, cpu=str(rng.randint(2, 8)))
        for place in range(devices):
            if rng.random() < 0.4:
                made.append(held(number, name, f"gpu-{place}", rng.choice((2, 3, 5, 10))))
                number += 1
    return [*made, *random_pods(rng, [part(10), part(10, 2), of(1), of(2), part(4), part(5), part(6), part(3), None])]


def random_wholes(rng):
    """Nodes with devices that are not shared, some of which are held."""
    made = []
    for name in ("n1", "n2", "n3")[: rng.randint(1, 3)]:
        made += wholes(name, rng.randint(0, 4), cpu=str(rng.randint(2, 8)))
    return [*made, *random_pods(rng, [of(1), of(2), of(3), None])]


def counted(name, counters, *devices, cpu="9"):
    """A node with a set of counters, and devices that draw on it: by name a model and what it draws."""
    sets = [{"name": "s", "counters": {key: {"value": str(amount)} for key, amount in counters.items()}}]
    members = [
        device(one, model=model, consumesCounters=[{"counterSet": "s", "counters": counters_of(drawn)}])
        for one, model, drawn in devices
    ]
    slices = [
        published(name, count=2, slice_name=f"sets-{name}", sharedCounters=sets),
        published(name, *members, count=2),
    ]
    return [node(name, cpu=cpu), *slices]


def counters_of(amounts):
    return {key: {"value": str(amount)} for key, amount in amounts.items()}


def of_model(model, count=1):
    """A claim for devices of a model."""
    return of(count, "gpu", f'device.attributes["{DRIVER}"].model == "{model}"')


def random_partitions(rng):
    """Nodes whose devices draw on two counters, as their models say."""
    draws = {model: {"a": rng.randint(1, 3), "b": rng.randint(1, 3)} for model in "xyz"}
    made = []
    for name in ("n1", "n2")[: rng.choice((1, 2))]:
        models = [model for model in "xyz" for _ in range(rng.randint(0, 3))] or ["x"]
        members = [(f"part-{number}", model, draws[model]) for number, model in enumerate(models)]
        made += counted(name, {"a": rng.randint(3, 7), "b": rng.randint(3, 7)}, *members, cpu=str(rng.randint(3, 8)))
    return [*made, *random_pods(rng, [of_model("x"), of_model("y"), of_model("z"), of_model("x", 2), None])]


def random_capacities(rng):
    """Nodes with one device that has two capacities."""
    made = []
    for name in ("n1", "n2")[: rng.choice((1, 2))]:
        capacity = {key: {"value": str(rng.randint(5, 12))} for key in ("bw", "mem")}
        made += room(name, device("nic", allowMultipleAllocations=True, capacity=capacity), cpu=str(rng.randint(3, 8)))
    asked = [of(1, capacity={"requests": {"mem": str(rng.randint(1, 5)), "bw": str(rng.randint(1, 5))}}) for _ in "abc"]
    return [*made, *random_pods(rng, [*asked, None, None])]


def random_pods(rng, specs):
    """Two to four Deployments of these specs."""
    chosen = rng.sample(specs, rng.randint(2, 4) if len(specs) > 4 else 2)
    return [
        item
        for number, spec in enumerate(chosen)
        for item in wanting(f"d{number}", rng.randint(1, 4), spec, cpu=str(rng.randint(1, 3)))
    ]
