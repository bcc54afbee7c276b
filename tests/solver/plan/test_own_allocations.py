"""Units that a plan places, which are made when somebody looks at them, and what the verifier says of those."""

from collections import Counter

import pytest
from msgspec import structs
from support.gates import ALL
from support.manifests import claim, cluster, device_class, entry, maker, node, template
from support.plan_building import DRIVER, classes, device, holding, of, published, running, user
from support.plan_building import nodes as nodes_of

import drasat
from drasat.models.workload.expansion import OwnAllocations, QueuedUnit, UnitExpander, expand_units, unmade_unit
from drasat.models.workload.queue import read_queue
from drasat.solver.plan.outcome import placed_outcomes
from drasat.solver.plan.plan import plan
from drasat.solver.verification.plans import Queue, plan_violations

POD_CLAIM = {"resource.kubernetes.io/pod-claim-name": "g"}


def nodes(*names, devices):
    return nodes_of(*names, devices=devices, pods="110")


def tuned(name, value):
    """A template with parameters for the driver, which have no part in what is allocated."""
    config = [{"opaque": {"driver": DRIVER, "parameters": {"mode": value}}}]
    spec = of(1)
    return template(name, {"devices": {**spec["devices"], "config": config}})


def web(number=20, name="web", spec="t", **options):
    return maker("Deployment", name, entry("g", template=spec), cpu="100m", spec={"replicas": number}, **options)


SHARED = device("s", allowMultipleAllocations=True, capacity={"memory": {"value": "80Gi"}})
SLICED = {
    "devices": {
        "requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "capacity": {"requests": {"memory": "4Gi"}}}}]
    }
}
ADMIN = of(1, adminAccess=True)
MIXED = {
    "two templates of one spec": [*nodes("n1", "n2", devices=30), tuned("a", 1), tuned("b", 2), web(20, "x", "a"),
                                  web(20, "y", "b")],
    "pods of their own": [*nodes("n1", devices=40), web(), tuned("a", 1), user("p", spec="a"), user("q", spec="a")],
    "no claims": [*nodes("n1", devices=1), maker("Deployment", "web", cpu="100m", spec={"replicas": 30})],
    "devices that are shared": [node("n1", cpu="9", pods="110"), published("n1", SHARED), template("s", SLICED),
                                web(spec="s")],
    "admin access": [*nodes("n1", "n2", devices=3), template("s", ADMIN), web(30, spec="s"), web(4, "own")],
    "claims that are there": [*nodes("n1", devices=30), web(), holding("h", "n1", "gpu-0"), running("r", "n1")],
    "a claim that was made": [*nodes("n1", devices=30), web(),
                              claim("old", owner=("Pod", "web-3"), meta={"annotations": POD_CLAIM})],
    "copies of a claim": [*nodes("n1", devices=30), claim("loose", REPLICAS="25")],
    "extended resources": [*nodes("n1", "n2", devices=30), device_class("ext", "example.com/gpu"),
                           maker("Deployment", "e", spec={"replicas": 25}, pod_spec={"containers": [{"name": "c",
                                 "resources": {"requests": {"example.com/gpu": "1"}}}]})],
    "several claims": [*nodes("n1", "n2", devices=30), tuned("a", 1),
                       maker("Deployment", "m", entry("g", template="a"), entry("h", template="t2"),
                             spec={"replicas": 12})],
    "fewer devices than units": [*nodes("n1", "n2", devices=7), tuned("a", 1), web(20, "x", "a"), web(9, "y")],
}  # fmt: skip


def told(given, **options):
    return drasat.plan(cluster(*classes(), *given), gap=0.0, time_limit=None, **options).to_json()


@pytest.mark.parametrize("name", MIXED)
def test_units_that_are_made_late_are_those_that_are_made_at_once(name, monkeypatch):
    late = told(MIXED[name])
    monkeypatch.setattr(UnitExpander, "claim_kind", lambda *_: None)
    assert late == told(MIXED[name])


@pytest.fixture
def made(monkeypatch):
    """Of the units that a plan places, how many are still to be made when the plan is there, and how many are made."""
    found = {}

    def outcomes(*given):
        placed = placed_outcomes(*given)
        found.update(Counter(unmade_unit(one) is None for one in placed.values()))
        return placed

    monkeypatch.setattr("drasat.solver.plan.plan.placed_outcomes", outcomes)
    return found


def test_of_equal_units_few_are_made(made):
    found = drasat.plan(
        cluster(*classes(), *nodes("n1", devices=40), web(30), user("p", cpu="1m"), user("q", cpu="1m"))
    )
    assert sum(made.values()) == 32
    assert made[True] <= 4
    names = [claim.name for one in found.document.units for claim in one.claims]
    assert sorted(names) == sorted([*(f"web-{number}-g" for number in range(30)), "p-g", "q-g"])


def test_shared_devices_have_the_name_of_the_claim(made):
    """DEV-12: the share id is of the claim, so that it is made."""
    found = drasat.plan(cluster(*classes(), *MIXED["devices that are shared"]))
    assert made == {True: 20}
    results = [claim.allocation.devices.results for one in found.document.units for claim in one.claims]
    assert len({result.share_id for own in results for result in own}) == 20


class Scene:
    """A cluster and the units of a plan, which are still to be made."""

    def __init__(self):
        self.cluster = cluster(*classes(), *nodes("n1", devices=40), web(30), web(3, "other", "t2"))
        found = plan(self.cluster, gap=0.0, time_limit=None)
        self.order = found.order
        self.expander = expand_units(self.cluster, read_queue(self.cluster, gates=ALL), ALL).maker
        self.units = [self.unmade(one) for one in found.units]

    def unmade(self, one, unit_set=None, results=None, expander=None):
        """The unit as it is before it is made: of its own set or another one, by this expander or another one."""
        given = tuple(made for _, made in one.allocations) if results is None else results
        queued = QueuedUnit(unit_set or one.queued.unit_set, one.replica, expander or self.expander)
        return structs.replace(one, queued=queued, allocations=OwnAllocations(queued, given))

    def rules(self):
        return {one.rule for one in plan_violations(self.cluster, self.units, ALL, "strict", order=self.order)}

    @property
    def late(self):
        return sum(unmade_unit(one) is not None for one in self.units)


def test_units_that_nobody_made_are_right_without_being_made():
    scene = Scene()
    queue = Queue(scene.cluster, ALL, None, "")
    assert [*queue.compare(scene.units)] == []
    assert scene.late == 33
    assert scene.rules() == set()


def other_pod(one):
    return one._replace(pod=structs.replace(one.pod, spec=structs.replace(one.pod.spec, priority=7)))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(other_pod, id="another pod"),
        pytest.param(lambda one: one._replace(name_prefix="b"), id="another name"),
        pytest.param(lambda one: one._replace(is_copied=False), id="no copy"),
        pytest.param(lambda one: one._replace(kind="Job"), id="another kind"),
        pytest.param(lambda one: one._replace(name_numbers=(*range(1, 31), 0)), id="another number"),
    ],
)
def test_a_unit_of_another_set_is_found_though_nobody_made_it(change):
    scene = Scene()
    own = scene.units[0]
    scene.units[0] = scene.unmade(own, unit_set=change(own.queued.unit_set))
    assert "PLAN-ONCE" in scene.rules()


@pytest.mark.parametrize("times", [0, 2])
def test_a_unit_that_nobody_made_has_an_allocation_for_each_claim(times):
    scene = Scene()
    own = scene.units[0]
    pairs = [*own.allocations] * times
    scene.units[0] = scene.unmade(own, results=tuple(made for _, made in pairs))
    queue = Queue(scene.cluster, ALL, None, "")
    assert [*queue.compare(scene.units)] == []
    # It is made now, so that all rules are about it.
    assert scene.late == 32
    assert ({"SCHED-2"} if times == 0 else {"PLAN-CLAIM"}) == scene.rules()


def test_units_that_another_cluster_makes_are_compared_one_by_one():
    scene = Scene()
    # There the template of the same name asks for two devices.
    changed = cluster(*nodes("n1", devices=40), web(30), web(3, "other", "t2"), template("t", of(2)), template("t2"))
    expander = expand_units(changed, read_queue(changed, gates=ALL), ALL).maker
    place = next(place for place, one in enumerate(scene.units) if one.replica == 3)
    scene.units[place] = scene.unmade(scene.units[place], expander=expander)
    assert "PLAN-CLAIM" in scene.rules()


def test_allocations_of_another_unit_are_found_though_nobody_made_it():
    scene = Scene()
    first, second = scene.units[:2]
    scene.units[0] = structs.replace(first, allocations=OwnAllocations(second.queued, first.allocations.results))
    assert "PLAN-CLAIM" in scene.rules()


def test_allocations_are_a_sequence_of_claims_and_results():
    own = Scene().units[0].allocations
    ((ref, made),) = own
    assert (len(own), own[0], own[-1:], ref.name) == (1, (ref, made), ((ref, made),), "web-0-g")
    assert own == ((ref, made),)
    assert own != ()
    assert repr(own) == repr(tuple(own))
