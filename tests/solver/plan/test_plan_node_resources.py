"""Devices that take cpu and memory of their node in plans: what fits, with which devices, and what is proven."""

from itertools import combinations, product
from random import Random

import pytest
from support.manifests import cluster, obj, template
from support.moving import holder
from support.plan_building import cel, classes, device, node, of, published

import drasat
from drasat.models.kubernetes.gates import FeatureGates
from drasat.solver.compare.plans import compare_plans
from drasat.solver.plan.plan import plan
from drasat.solver.verification.plans import plan_violations

KINDS = ("a", "b")
UID = "00000000-0000-0000-0000-000000000001"
REQUESTS = {
    "one": of(1),
    "two": of(2),
    "a": of(1, "gpu", 'device.attributes["gpu.example.com"].kind == "a"'),
    "b or a": None,
}


def mapped(cpu=0, memory=0, pod=0, container=0):
    """The fields of a device: amounts of cpu and Gi of memory, and overhead of memory in Mi."""
    found = {}
    if cpu:
        found["cpu"] = {"mapping": {"deviceMultiplier": cpu}}
    if memory:
        found["memory"] = {"mapping": {"deviceMultiplier": f"{memory}Gi"}}
    if pod or container:
        given = {"perPod": f"{pod}Mi"} if pod else {}
        given |= {"perContainer": f"{container}Mi"} if container else {}
        found["memory"] = {**found.get("memory", {}), "overhead": given}
    return {"nodeAllocatableResources": found} if found else {}


class Scene:
    """One or two nodes with a few devices, and pods that take some of them; ``best`` is the most that can be placed."""

    def __init__(self, seed):
        random = Random(seed)
        self.nodes = {
            name: (random.randint(2, 9), random.randint(2, 12)) for name in ("m", "n")[: random.randint(1, 2)]
        }
        self.devices = [
            (name, f"{name}{number}", random.choice(KINDS), self._amounts(random))
            for name in self.nodes
            for number in range(random.randint(1, 4))
        ]
        self.pods = [self._pod(random, number) for number in range(random.randint(1, 4))]

    def _amounts(self, random):
        cpu = random.choice([0, 1, 1, 2, 3, 1.5])
        return cpu, random.choice([0, 0, 1, 4]), random.choice([0, 0, 512]), random.choice([0, 0, 1024])

    def _pod(self, random, number):
        cpu, wanted = random.choice([0.5, 1, 2]), random.choice(sorted(REQUESTS))
        containers = random.randint(0, 2)
        whole = random.choice([None, None, None, 2, 4])
        limit = random.choice([None, None, 1, 3]) if whole is None else None
        return f"p{number}", cpu, wanted, containers, whole and max(whole, cpu), limit and max(limit, cpu)

    def manifests(self):
        yield from classes()
        for name, request in REQUESTS.items():
            if request is not None:
                yield template(name.replace(" ", "-"), request)
        texts = {kind: f'device.attributes["gpu.example.com"].kind == "{kind}"' for kind in "ba"}
        listed = [{"name": one, "deviceClassName": "gpu", "selectors": [cel(text)]} for one, text in texts.items()]
        yield template("b-or-a", {"devices": {"requests": [{"name": "r", "firstAvailable": listed}]}})
        for name, (cpu, memory) in self.nodes.items():
            yield node(name, cpu=str(cpu), memory=f"{memory}Gi", pods="9")
            own = [(one, kind, amounts) for home, one, kind, amounts in self.devices if home == name]
            yield published(name, *(device(one, kind=kind, **mapped(*self._texts(given))) for one, kind, given in own))
        for name, cpu, wanted, containers, whole, limit in self.pods:
            parts = [{"name": "main", "resources": {"requests": {"cpu": str(cpu)}}}]
            parts += [{"name": f"c{number}", "resources": {"claims": [{"name": "c"}]}} for number in range(containers)]
            spec = {"containers": parts}
            if containers and limit:
                parts[1]["resources"]["limits"] = {"cpu": "500m"}
                parts[1]["resources"]["requests"] = {"cpu": "0"}
                spec["resources"] = {"limits": {"cpu": str(limit)}}
            if whole:
                spec["resources"] = {"requests": {"cpu": str(whole)}}
            entry = {"name": "c", "resourceClaimTemplateName": wanted.replace(" ", "-")}
            yield obj("Pod", name, {**spec, "resourceClaims": [entry]})

    @staticmethod
    def _texts(amounts):
        cpu, memory, pod, container = amounts
        return f"{cpu}" if cpu else 0, memory, pod, container

    def choices(self, pod):
        """All nodes and sets of devices for a pod that its own limits allow, with what it takes in all."""
        _, cpu, wanted, containers, whole, limit = pod
        for name in self.nodes:
            own = [one for one in self.devices if one[0] == name]
            kinds = {"a": ("a",)}.get(wanted, KINDS)
            for chosen in combinations([one for one in own if one[2] in kinds], 2 if wanted == "two" else 1):
                amounts = [one[3] for one in chosen]
                more = sum(one[0] for one in amounts)
                memory = sum(one[1] * 1024 + one[2] + containers * one[3] for one in amounts)
                if whole and cpu + more > whole:
                    continue
                if containers and limit and 0.5 + more > limit:
                    continue
                yield name, {one[1] for one in chosen}, whole or cpu + more, memory

    def best(self):
        options = [[None, *self.choices(pod)] for pod in self.pods]
        return max(sum(one is not None for one in taken) for taken in product(*options) if self.fits(taken))

    def fits(self, taken):
        placed = [one for one in taken if one is not None]
        held = [one for _, devices, _, _ in placed for one in devices]
        if len(held) != len(set(held)):
            return False
        for name, (cpu, memory) in self.nodes.items():
            own = [one for one in placed if one[0] == name]
            if sum(one[2] for one in own) > cpu or sum(one[3] for one in own) > memory * 1024:
                return False
        return True


@pytest.mark.parametrize("seed", range(60))
def test_plans_equal_brute_force(seed):
    """NAR-1 to NAR-7, NAR-9, NAR-10: as many pods as any assignment of nodes and devices places, and that is proven."""
    scene = Scene(seed)
    found = plan(cluster(*scene.manifests()), gap=0)
    assert (found.placed, found.outcome) == (scene.best(), "Optimal")
    assert found.verified


def user(name, claim="t", cpu="1", key="resourceClaimTemplateName", **spec):
    parts = [{"name": "m", "resources": {"requests": {"cpu": cpu}}}]
    return obj("Pod", name, {"containers": parts, "resourceClaims": [{"name": "c", key: claim}], **spec})


def there(*cpus, room=8, name="n", named="x"):
    """A node, with a device for each amount of cpu that it takes."""
    devices = [device(f"{named}{number}", **mapped(cpu)) for number, cpu in enumerate(cpus)]
    return [node(name, cpu=str(room), pods="9"), published(name, *devices)]


def test_the_devices_are_chosen_so_that_the_most_pods_fit():
    """NAR-9: the first devices by name leave no room for a second pod."""
    made = cluster(*classes(), *there(6, 2, 2), user("p"), user("q"))
    found = plan(made)
    assert (found.placed, found.outcome) == (2, "Optimal")
    assert {one.device for unit in found.units for _, got in unit.allocations for one in got.devices.results} == {
        "x1",
        "x2",
    }


def test_reasons_name_what_devices_leave():
    """NAR-7"""
    found = plan(cluster(*classes(), *there(6, 6), user("p"), user("q")))
    assert (found.placed, found.outcome) == (1, "Optimal")
    (reasons,) = (one.reasons for one in found.units if one.node is None)
    assert any("Insufficient cpu" in one.message for one in reasons)


def test_recorded_amounts_of_running_pods_count():
    """NAR-11"""
    running = obj("Pod", "r", {"containers": [{"name": "m"}], "nodeName": "n"})
    running["status"] = {
        "nodeAllocatableResourceClaimStatuses": [{"resourceClaimName": "x", "resources": {"cpu": "4"}}]
    }
    made = [*classes(), *there(3), user("p")]
    assert (plan(cluster(*made)).placed, plan(cluster(*made, running)).placed) == (1, 1)
    made = [node("n", cpu="7", pods="9") if one["kind"] == "Node" else one for one in made]
    assert (plan(cluster(*made)).placed, plan(cluster(*made, running)).placed) == (1, 0)


def test_pods_that_share_such_a_claim_are_refused_without_a_proof():
    """NAR-8: where it is not planned who has a device, nothing is proven."""
    shared = obj("ResourceClaim", "s", of(1))
    pods = [user(name, "s", key="resourceClaimName") for name in "pq"]
    found = plan(cluster(*classes(), *there(1), shared, *pods))
    assert (found.placed, found.outcome) == (0, "Feasible")
    assert "that is not counted where pods share a claim" in found.units[0].reasons[0].message
    alone = plan(cluster(*classes(), *there(1), shared, pods[0]))
    assert (alone.placed, alone.outcome) == (1, "Optimal")


class SharingScene:
    """Pods that share claims for a device each, whose overhead each of them pays; some have a device of their own."""

    def __init__(self, seed):
        random = Random(f"sharing/{seed}")
        self.nodes = {name: random.randint(1, 8) for name in ("m", "n")[: random.randint(1, 2)]}
        self.devices = [
            (name, f"{name}{number}", random.choice((0, 1, 1, 2)), random.choice((0, 0, 1)))
            for name in self.nodes
            for number in range(random.randint(1, 3))
        ]
        names = [tuple(one for one in ("s", "t") if random.random() < 0.6) for _ in range(random.randint(2, 4))]
        self.pods = [(random.choice((0, 1)), own, random.random() < 0.3, random.randint(0, 1)) for own in names]
        self.shared = sorted({one for own in names for one in own})

    def manifests(self):
        yield from classes()
        yield from (obj("ResourceClaim", name, of(1)) for name in self.shared)
        for name, memory in self.nodes.items():
            yield node(name, cpu="50", memory=f"{memory}Gi", pods="9")
            own = [one for one in self.devices if one[0] == name]
            yield published(name, *(device(one, **mapped(0, 0, 1024 * pod, 1024 * use)) for _, one, pod, use in own))
        for number, (memory, named, alone, uses) in enumerate(self.pods):
            entries = [{"name": one, "resourceClaimName": one} for one in named]
            entries += [{"name": "own", "resourceClaimTemplateName": "t"}] if alone else []
            resources = {"requests": {"memory": f"{memory}Gi"}}
            resources |= {"claims": [{"name": one["name"]} for one in entries]} if uses and entries else {}
            spec = {"containers": [{"name": "m", "resources": resources}], "resourceClaims": entries}
            yield obj("Pod", f"p{number}", spec)

    def best(self):
        most = 0
        for made in product((None, *self.devices), repeat=len(self.shared)):
            at = dict(zip(self.shared, made, strict=True))
            for state in product(*([None, *self._places(at, *pod)] for pod in self.pods)):
                placed = [one for one in state if one]
                most = max(most, len(placed) if self._fits(placed, filter(None, made)) else 0)
        return most

    def _places(self, at, memory, named, alone, uses):
        for name in self.nodes if all(at[one] for one in named) else ():
            for own in (one for one in self.devices if one[0] == name) if alone else [None]:
                devices = [*(at[one] for one in named), *([own] if own else [])]
                if all(one[0] == name for one in devices):
                    yield name, own, memory + sum(pod + uses * use for _, _, pod, use in devices)

    def _fits(self, placed, held):
        taken = [*(own for _, own, _ in placed if own), *held]
        used = {name: sum(memory for at, _, memory in placed if at == name) for name in self.nodes}
        return len(taken) == len(set(taken)) and all(used[name] <= room for name, room in self.nodes.items())


@pytest.mark.parametrize("seed", range(60))
def test_each_pod_of_a_shared_claim_pays_its_overhead(seed):
    """NAR-3, NAR-8: equal to trying everything, where it is proven and where it is not."""
    scene = SharingScene(seed)
    found = plan(cluster(*scene.manifests()), gap=0)
    assert found.placed == scene.best()


def test_the_verifier_counts_what_devices_take():
    """NAR-7: two pods whose devices take three of eight cpu each are one too many where devices take five."""
    found = plan(cluster(*classes(), *there(3, 3), user("p"), user("q")))
    wrong = cluster(*classes(), *there(5, 5), user("p"), user("q"))
    assert [one.rule for one in plan_violations(wrong, found.units, FeatureGates.all_on())] == ["POD-ROOM"]
    checked = drasat.check(drasat.plan(cluster(*classes(), *there(3, 3), user("p"), user("q"))).document, wrong)
    assert [one.about for one in checked.lines if one.verdict == "fails"] == ["Pod default/q"]


def test_a_claim_that_is_held_counts_where_its_pod_goes():
    """NAR-4, NAR-8"""
    held = obj("ResourceClaim", "s", of(1))
    result = {"request": "r", "driver": "gpu.example.com", "pool": "n", "device": "x0"}
    held["status"] = {"allocation": {"devices": {"results": [result]}}}
    for room, placed in ((4, 1), (3, 0)):
        made = cluster(*classes(), *there(3, room=room), held, user("p", "s", key="resourceClaimName"))
        found = plan(made)
        assert (found.placed, found.outcome) == (placed, "Optimal")
    held["status"]["reservedFor"] = [{"resource": "pods", "name": "other", "uid": "u"}]
    found = plan(cluster(*classes(), *there(3), held, user("p", "s", key="resourceClaimName")))
    assert (found.placed, found.outcome) == (0, "Optimal")
    assert "cannot be shared across pods" in found.units[0].reasons[0].message


def test_shares_take_what_they_consume():
    """NAR-2: the pods consume 2 and 1 cores of a device, each core takes 2 cpu."""
    cores = {
        "allowMultipleAllocations": True,
        "capacity": {"cores": {"value": "8"}},
        "nodeAllocatableResources": {"cpu": {"mapping": {"capacityKey": "cores", "capacityMultiplier": "2"}}},
    }
    asks = [template(f"cores-{n}", of(1, capacity={"requests": {"cores": str(n)}})) for n in (1, 2)]
    pods = [user("p", "cores-1"), user("q", "cores-2")]
    for room, placed in ((8, 2), (7, 1)):
        given = [node("n", cpu=str(room), pods="9"), published("n", device("x", **cores))]
        found = plan(cluster(*classes(), *given, *asks, *pods))
        assert (found.placed, found.outcome) == (placed, "Optimal")


def test_what_new_nodes_offer_counts():
    """NAR-1: a node of the template has room for one such pod, as its device takes six of eight cpu."""
    spec = {
        "price": "1",
        "allocatable": {"cpu": "8", "pods": "9"},
        "slices": [
            {"driver": "gpu.example.com", "devices": [device(f"x{number}", **mapped(6)) for number in range(2)]}
        ],
    }
    offer = obj("NodeTemplate", "big", spec, api="drasat.dev/v1alpha1")
    found = plan(cluster(*classes(), offer, user("p"), user("q")), buy=True)
    assert (found.placed, found.outcome, [len(nodes) for nodes in found.bought.values()]) == (2, "Optimal", [2])


def test_without_the_gate_devices_take_nothing():
    off = FeatureGates.all_on().with_({"DRANodeAllocatableResources": False})
    found = plan(cluster(*classes(), *there(99), user("p")), feature_gates=off)
    assert (found.placed, found.outcome) == (1, "Optimal")


def test_a_pod_goes_for_cpu_that_a_device_takes():
    """EVT-9: the device is free, and kube-scheduler preempts for what it takes of the node."""
    low = obj("Pod", "low", {"containers": [{"name": "m", "resources": {"requests": {"cpu": "6"}}}], "nodeName": "n"})
    made = cluster(*classes(), *there(4), low, user("p", priority=9))
    found = drasat.plan(made, preempt=True)
    assert (found.document.outcome, [one.name for one in found.victims]) == ("Optimal", ["low"])
    assert [(one.action, one.victims) for one in found.document.scheduler_would] == [("preempt", ("default/low",))]


@pytest.mark.parametrize(("recorded", "placed"), [("3", 1), ("2", 0), (None, 0)])
def test_a_pod_goes_only_if_its_status_has_what_its_devices_take(recorded, placed):
    """NAR-11: what is free once it has gone is known only then."""
    low, claim = holder("low", "n", 0)
    if recorded:
        entry = {"resourceClaimName": "low-g", "resources": {"cpu": recorded}}
        low["status"]["nodeAllocatableResourceClaimStatuses"] = [entry]
    found = drasat.plan(cluster(*classes(), *there(3, named="gpu-"), low, claim, user("p", priority=9)), preempt=True)
    assert (found.document.outcome, found.document.placed, len(found.victims)) == ("Optimal", placed, placed)


@pytest.mark.parametrize("seed", range(8))
def test_no_planner_places_more(seed):
    """NAR-7, NAR-9: planners choose devices first and check then; all of their plans are verified."""
    scene = Scene(seed)
    found = compare_plans(cluster(*scene.manifests()), time_limit=None)
    placed = [(run.planner, run.figures.admitted) for run in found.runs]
    assert max(number for _, number in placed) == dict(placed)["plan"] == scene.best()


def test_a_running_pod_whose_share_cannot_be_counted_exactly_stays_without_a_proof():
    """NAR-2: half a core is less than the step in which cpu is counted; it could go to n for the pod that waits."""
    cores = {"cpu": {"mapping": {"capacityKey": "cores", "capacityMultiplier": "1"}}}
    shared = {
        "allowMultipleAllocations": True,
        "capacity": {"cores": {"value": "1"}},
        "nodeAllocatableResources": cores,
    }
    asked = {name: of(1, capacity={"requests": {"cores": text}}) for name, text in (("half", "500m"), ("all", "1"))}
    low, held = holder("low", "m", 0, spec="half", wanted=asked["half"])
    held["status"]["allocation"]["devices"]["results"][0] |= {"consumedCapacity": {"cores": "500m"}, "shareID": UID}
    entry = {"resourceClaimName": "low-g", "resources": {"cpu": "500m"}}
    low["status"]["nodeAllocatableResourceClaimStatuses"] = [entry]
    rooms = [node("m", cpu="2", pods="9"), node("n", cpu="1500m", pods="9")]
    parts = [published(name, device("gpu-0", **shared)) for name in "mn"]
    asks = [template(name, spec) for name, spec in asked.items()]
    found = drasat.plan(cluster(*classes(), *rooms, *parts, *asks, low, held, user("p", "all")), moves=1)
    assert (found.document.outcome, found.document.placed) == ("Feasible", 0)
