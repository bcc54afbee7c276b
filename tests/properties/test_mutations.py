"""Valid allocations changed by chance: the verifier finds what is wrong, unless the engine could give that too."""

from collections import Counter
from random import Random

from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace
from support.families import FAMILIES
from support.random_clusters import clusters, examples, gates, load, pinned, with_pins

from drasat.models.kubernetes.claims import DeviceToleration
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.results.common import Status
from drasat.models.workload.requested import requested_units
from drasat.problem.node_state import AllocatedState
from drasat.solver.engines.engine import Session
from drasat.solver.engines.registry import backtracking_engine
from drasat.solver.verification.verify import Placement, verify

# What a result repeats follows from the devices, and is not what is asked here.
SEEDS = st.integers(0, 999)

REPEATED = ("CAP-7", "CAP-8", "RES-2", "RES-3", "RES-4", "RES-5", "RES-7")
# All devices are all, pinned or not.
WITHOUT_ALL = [family for family in FAMILIES if family not in ("all", "mixed")]


def first_answer(cluster, gates):
    """The first unit that can be placed: its node, claims and allocations."""
    for unit in requested_units(cluster):
        claims = [ref.claim for ref in unit.requested_claims]
        for node in cluster.nodes.values():
            made = attempt(cluster, gates, node, claims)
            if made.status is Status.ALLOCATED:
                return node, claims, made.allocations
    return None


def attempt(cluster, gates, node, claims):
    engine = backtracking_engine(Session(cluster, gates, "strict", 0))
    return engine.allocate_on(node, claims, AllocatedState(cluster.usage(gates)), None)


def with_results(allocation, results):
    return replace(allocation, devices=replace(allocation.devices, results=tuple(results)))


def rules(cluster, gates, node, claims, allocations):
    placement = Placement(node, tuple(zip(claims, allocations, strict=True)))
    return {found.rule for found in verify(cluster, [placement], gates)}


def devices_near(rng, cluster, result):
    """The devices of the same pool, or now and then all."""
    names = [
        (slice_.spec.driver, slice_.spec.pool.name, device.name)
        for slice_ in cluster.slices
        for device in slice_.spec.devices or ()
    ]
    return names if rng.random() < 0.25 else [name for name in names if name[:2] == (result.driver, result.pool)]


def swapped(rng, cluster, allocations):
    """One result, or two, with other devices."""
    changed = [list(allocation.devices.results or ()) for allocation in allocations]
    places = [(number, place) for number, results in enumerate(changed) for place in range(len(results))]
    for number, place in rng.sample(places, min(len(places), rng.choice([1, 1, 2]))):
        old = changed[number][place]
        driver, pool, device = rng.choice(devices_near(rng, cluster, old))
        changed[number][place] = replace(old, driver=driver, pool=pool, device=device)
    return [with_results(old, new) for old, new in zip(allocations, changed, strict=True)]


def order_matters(gates, claims):
    """CON-9: without list attributes, whether devices may differ depends on which comes first."""
    constraints = [one for claim in claims for one in claim.spec.devices.constraints or ()]
    return not gates.list_attributes and any(one.distinct_attribute for one in constraints)


def devices_by_request(allocation):
    found = {}
    for result in allocation.devices.results or ():
        found.setdefault(result.request, []).append((result.driver, result.pool, result.device))
    return found


def could_be_given(cluster, gates, node, claims, allocations):
    """Whether the engine finds these devices where it may take no others."""
    given = [devices_by_request(allocation) for allocation in allocations]
    if any(len(set(devices)) < len(devices) for one in given for devices in one.values()):
        return False
    asked = [pinned(claim, one, cluster) for claim, one in zip(claims, given, strict=True)]
    return attempt(with_pins(cluster), gates, node, asked).status is Status.ALLOCATED


@examples(200)
@given(clusters(*WITHOUT_ALL), gates(), SEEDS)
def test_other_devices_are_refused_unless_the_engine_could_give_them(name, gates, seed):
    """DEV-1, DEV-3, DEV-4, DEV-10, DEV-11, CAP-6, CTR-2, GRP-3, POOL-1: found wherever they are broken."""
    cluster = load(*name)
    answer = first_answer(cluster, gates)
    assume(answer is not None)
    node, claims, allocations = answer
    assume(not order_matters(gates, claims))
    changed = swapped(Random(seed), cluster, allocations)
    found = rules(cluster, gates, node, claims, changed) - set(REPEATED)
    assert (found == set()) == could_be_given(cluster, gates, node, claims, changed), found


def test_both_kinds_of_change_occur():
    """The test above would say little if all changes were refused, or none."""
    found = Counter()
    for seed in range(60):
        cluster, gates = load("match", seed), FeatureGates.all_on()
        answer = first_answer(cluster, gates)
        if answer is not None:
            node, claims, allocations = answer
            changed = swapped(Random(seed), cluster, allocations)
            found[could_be_given(cluster, gates, node, claims, changed)] += 1
    assert min(found[True], found[False]) >= 5


def drop_result(rng, allocation):
    results = list(allocation.devices.results)
    results.pop(rng.randrange(len(results)))
    return with_results(allocation, results)


def repeat_result(rng, allocation):
    results = list(allocation.devices.results)
    return with_results(allocation, [*results, rng.choice(results)])


def rename_request(rng, allocation):
    results = list(allocation.devices.results)
    place = rng.randrange(len(results))
    results[place] = replace(results[place], request=f"{results[place].request}-x")
    return with_results(allocation, results)


def change_result(**fields):
    def change(rng, allocation):
        results = list(allocation.devices.results)
        place = rng.randrange(len(results))
        changed = {name: value(getattr(results[place], name)) for name, value in fields.items()}
        results[place] = replace(results[place], **changed)
        return with_results(allocation, results)

    return change


def drop_config(rng, allocation):
    config = list(allocation.devices.config or ())
    assume(config)
    config.pop(rng.randrange(len(config)))
    return replace(allocation, devices=replace(allocation.devices, config=tuple(config)))


def toggle_selector(_, allocation):
    assume(allocation.node_selector is not None)
    return replace(allocation, node_selector=None)


SPOILING = {
    "drop-result": drop_result,
    "repeat-result": repeat_result,
    "rename-request": rename_request,
    "administer": change_result(admin_access=lambda old: None if old else True),
    "tolerate": change_result(tolerations=lambda old: (*(old or ()), DeviceToleration(key="x", operator="Exists"))),
    "bind": change_result(binding_conditions=lambda old: None if old else ("ready",)),
    "share": change_result(share_id=lambda old: None if old else "7b0d0e4b-8f8c-4f0c-a8a0-6b8a1d5f3c11"),
    "consume": change_result(consumed_capacity=lambda old: {**(old or {}), "other": "1"}),
    "unknown-device": change_result(device=lambda old: f"{old}-x"),
    "drop-config": drop_config,
    "drop-selector": toggle_selector,
}


@examples(150)
@given(clusters(), gates(), st.sampled_from(sorted(SPOILING)), SEEDS)
def test_changes_that_are_never_right_are_found(name, gates, way, seed):
    """RES-1, RES-2, RES-3, RES-7, CAP-7, CAP-8, PRE-7, PRE-8, POOL-8"""
    cluster = load(*name)
    answer = first_answer(cluster, gates)
    assume(answer is not None)
    node, claims, allocations = answer
    rng = Random(seed)
    number = rng.randrange(len(allocations))
    assume(allocations[number].devices.results)
    changed = list(allocations)
    changed[number] = SPOILING[way](rng, allocations[number])
    assert rules(cluster, gates, node, claims, changed) != set()
