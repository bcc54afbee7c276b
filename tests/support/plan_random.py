"""Random clusters with a queue, and plans that put units on the first node that takes them."""

from support.manifests import claim
from support.plan_scene import Plan, entry, gpus, node, pod, scene, template

TAINTS = [{"key": "team", "value": "x", "effect": "NoSchedule"}]


def random_cluster(rng):
    """A few nodes with few devices, and more pods and loose claims than they can take."""
    there = []
    for number in range(rng.randint(2, 4)):
        made = node(f"n{number}", rng.choice("ab"), cpu=str(rng.randint(2, 6)))
        if rng.random() < 0.3:
            made["spec"] = {"taints": TAINTS}
        there += [made, gpus(f"n{number}", rng.randint(1, 4))]
    there += [template(f"t{count}", of(count)) for count in (1, 2, 3)]
    there += [_pod(rng, f"p{number}") for number in range(rng.randint(4, 8))]
    there += [claim(f"c{number}", of(rng.randint(1, 3))) for number in range(rng.randint(0, 2))]
    return scene(*there, nodes={})


def _pod(rng, name):
    entries = [entry("g", template=f"t{rng.randint(1, 3)}")] if rng.random() < 0.8 else []
    spec = {"nodeSelector": {"zone": rng.choice("ab")}} if rng.random() < 0.3 else {}
    return pod(name, *entries, cpu=str(rng.randint(1, 4)), spec=spec)


def first_fit(rng, cluster):
    """Put units on the first node that takes them, but for some that are passed over."""
    free = {name: [f"gpu-{number}" for number in range(_devices(cluster, name))] for name in cluster.nodes}
    places = {}
    for one in Plan(cluster).units:
        count = sum(ref.claim.spec.devices.requests[0].exactly.count for ref in one.unit.asked)
        for name in cluster.nodes:
            found = places | {one.unit.name: (name, tuple(free[name][:count]))}
            if rng.random() < 0.8 and len(free[name]) >= count and not Plan(cluster, **found).violations():
                places, free[name] = found, free[name][count:]
                break
    return Plan(cluster, **places)


def _devices(cluster, name):
    return sum(len(one.spec.devices) for one in cluster.slices if one.spec.node_name == name)


def of(count):
    """A claim's spec with one request for so many devices."""
    return {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": count}}]}}
