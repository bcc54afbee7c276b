"""The question ``allocate``: units, nodes, limits, and what is said when nothing fits."""

import pytest
from msgspec.structs import replace
from support.engines import changed
from support.objects import claim, device, device_class, devices, labels, node, pod, pool, taint, want
from support.peers import allocation, result

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import ResourceClaimTemplate, ResourceClaimTemplateSpec
from drasat.models.kubernetes.core import NodeSpec, Taint
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.results.common import Status
from drasat.solver.allocate.allocate import allocate, search_seconds
from drasat.solver.allocate.check import VerificationError
from drasat.solver.engines.engine import NodeResult
from drasat.solver.engines.outcome import worst_outcome


def gpus(node_name, count=2, **fields):
    return pool(*devices(*(f"g{number}" for number in range(count)), **fields), name=node_name, node_name=node_name)


def named(name, *requests, **fields):
    return claim(*(requests or (want(),)), name=name, **fields)


def ask(*objects, **options):
    given = list(objects)
    if not any(getattr(item, "metadata", None) and item.metadata.name == "any" for item in given):
        given.append(device_class())
    return allocate(Cluster.of(given), **options)


def placed(answer):
    """Node and devices of each unit."""
    return [
        (unit.node, [result.device for _, made in unit.allocations for result in made.devices.results or ()])
        for unit in answer.units
    ]


def test_each_unit_sees_what_earlier_ones_took():
    answer = ask(gpus("n1"), *(named(f"c{number}") for number in range(3)))
    assert answer.outcome == "Unallocatable"
    assert placed(answer) == [("n1", ["g0"]), ("n1", ["g1"]), (None, [])]


def test_a_unit_goes_to_the_first_node_by_name_that_fits():
    answer = ask(gpus("n2", 4), gpus("n1", 1), named("two", want(count=2)), named("one"))
    assert placed(answer) == [("n2", ["g0", "g1"]), ("n1", ["g0"])]
    assert answer.verified


def test_a_pod_takes_all_its_claims_on_one_node():
    objects = (gpus("n1", 1), gpus("n2"), named("a"), named("b"), pod("a", "b", name="p"))
    assert placed(ask(*objects)) == [("n2", ["g0", "g1"])]


def test_a_pod_gets_claims_from_templates():
    template = ResourceClaimTemplate(
        metadata=ObjectMeta(name="t", namespace="ns"), spec=ResourceClaimTemplateSpec(spec=named("x").spec)
    )
    (unit,) = ask(gpus("n1"), template, pod("@t", name="p")).units
    assert unit.allocations[0][0].generated
    assert unit.outcome == "Allocated"


def test_a_pod_stays_off_nodes_that_do_not_suit_it():
    tainted = replace(node("n1"), spec=NodeSpec(taints=(Taint(key="k", effect="NoSchedule"),)))
    objects = (gpus("n1"), gpus("n2"), gpus("n3"), tainted, node("n2"), node("n3", disk="ssd"), named("a"))
    assert placed(ask(*objects, pod("a", name="p"))) == [("n2", ["g0"])]
    assert placed(ask(*objects, pod("a", name="p", node_selector={"disk": "ssd"}))) == [("n3", ["g0"])]
    assert placed(ask(*objects, pod("a", name="p", node_name="n3"))) == [("n3", ["g0"])]


def test_a_pod_that_suits_no_node_is_told_why():
    (unit,) = ask(gpus("n1"), node("n1"), named("a"), pod("a", name="p", node_selector={"disk": "ssd"})).units
    assert [(reason.id, reason.message) for reason in unit.reasons] == [
        ("nodeSelector", "1 of 1 node: node(s) didn't match Pod's node affinity/selector: no label disk=ssd")
    ]


def test_an_allocated_claim_restricts_the_nodes_of_its_pod():
    """SCHED-2."""
    before = ask(gpus("n2"), named("a"))
    made = next(iter(before.units[0].allocations))
    from support.objects import allocated

    held = allocated(made[0].claim, made[1])
    answer = ask(gpus("n1"), gpus("n2"), held, named("b"), pod("a", "b", name="p"))
    assert placed(answer) == [("n2", ["g1"])]


def test_a_claim_of_two_pods_is_allocated_by_the_first_and_followed_by_the_second():
    """SCHED-2."""
    objects = (gpus("n1", 1), gpus("n2", 2), named("both", want(count=2)), named("own"))
    answer = ask(*objects, pod("both", name="p"), pod("both", "own", name="q"))
    assert [unit.outcome for unit in answer.units] == ["Allocated", "Unallocatable"]
    more = ask(*objects[1:3], gpus("n3"), pod("both", name="p"), pod("both", name="q"))
    assert [unit.node for unit in more.units if unit.unit.pod] == ["n2", "n2"]


def test_a_missing_claim_keeps_its_pod_waiting():
    """SCHED-1."""
    (unit,) = ask(gpus("n1"), pod("nope", name="p")).units
    assert (unit.outcome, unit.reasons[0].id) == ("Unallocatable", "claim")


def test_an_unknown_class_keeps_a_unit_waiting():
    """SCHED-3: even of an alternative that nobody would need."""
    from support.objects import either, option

    (unit,) = ask(gpus("n1"), named("a", either("r", option("s"), option("t", cls="gold")))).units
    assert [(reason.id, reason.claim, reason.message) for reason in unit.reasons] == [
        ("deviceClass", "ns/a", "device class gold does not exist")
    ]


def test_a_fatal_error_aborts_the_unit_and_only_that():
    """SCHED-6: n2 would have done."""
    broken = pool(device("z"), name="n1", node_name="n1", count=2)
    answer = ask(broken, gpus("n2"), named("all", want(count="All")), named("one"))
    assert [unit.outcome for unit in answer.units] == ["Error", "Allocated"]
    assert answer.units[0].reasons[0].message == (
        "node n1: claim ns/all, request r: asks for all devices, but resource pool d.x/n1 is currently being updated"
    )
    assert answer.outcome == "Error"


WRONG = 'device.attributes["d.x"].x == 1'


@pytest.mark.parametrize(
    ("policy", "outcome", "where"),
    [("kube", "Error", None), ("strict", "Allocated", "n2"), ("skip", "Allocated", "n2")],
)
def test_policies_for_errors_of_expressions(policy, outcome, where):
    """CEL-6 to CEL-8: with ``strict`` the device on n1 is not used, and n2 has another."""
    supply = gpus("n1"), gpus("n2", x=1)
    answer = ask(*supply, named("a", want(select=WRONG)), engine="backtracking", cel_errors=policy)
    assert (answer.outcome, answer.units[0].node) == (outcome, where)


@pytest.mark.parametrize(("policy", "outcome"), [("strict", "Error"), ("skip", "Unallocatable")])
def test_an_error_decides_only_if_nothing_fits_without_it(policy, outcome):
    asked = [named(name, want(select=WRONG)) for name in ("a", "b")]
    answer = ask(gpus("n1"), gpus("n2"), *asked, cel_errors=policy)
    assert [unit.outcome for unit in answer.units] == [outcome, outcome]
    if policy == "strict":
        texts = [unit.reasons[0].message for unit in answer.units]
        assert [text[: text.index(": selector")] for text in texts] == ["node n1: claim ns/a", "node n1: claim ns/b"]


def test_with_a_node_all_loose_claims_are_one_pods():
    objects = (gpus("n1"), gpus("n2", 4), *(named(f"c{number}", want(count=2)) for number in range(2)))
    assert placed(ask(*objects, node="n2")) == [("n2", ["g0", "g1", "g2", "g3"])]
    (unit,) = ask(*objects, node="n1").units
    assert (unit.outcome, unit.allocations) == ("Unallocatable", ())
    assert len(ask(*objects).units) == 2


def test_with_a_node_pods_stay_units_of_their_own():
    objects = (gpus("n1", 4), named("a"), named("b"), named("c"), pod("c", name="p"))
    assert [len(unit.allocations) for unit in ask(*objects, node="n1").units] == [2, 1]


def test_a_node_that_is_not_among_the_objects_has_only_its_name():
    assert placed(ask(gpus("n1"), node("n9"), named("a"), node="n1")) == [("n1", ["g0"])]


def test_claims_can_be_picked_by_name():
    answer = ask(gpus("n1"), named("a"), named("b"), claims=["ns/b"])
    assert [unit.unit.name for unit in answer.units] == ["b"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"engine": "dice"}, "unknown engine 'dice', known are: auto, cp-sat, backtracking"),
        ({"cel_errors": "loud"}, "unknown policy 'loud' for CEL errors, known are: kube, strict, skip"),
        ({"feature_gates": {"Nope": True}}, "unknown feature gate 'Nope'"),
        ({"claims": ["nope"]}, "not found"),
    ],
    ids=["engine", "policy", "gate", "claim"],
)
def test_bad_options_are_refused_in_one_line(options, text):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        ask(gpus("n1"), named("a"), **options)
    assert text in str(refusal.value)


def test_gates_may_be_given_either_way():
    tainted = pool(device("a", taints=(taint(),)))
    off = {"DRADeviceTaints": False}
    for gates in (off, FeatureGates.all_on().with_(off)):
        answer = ask(tainted, named("c"), feature_gates=gates)
        assert (answer.outcome, answer.gates.device_taints) == ("Allocated", False)


def test_what_comes_after_the_time_limit_is_unknown():
    """SRCH-10: UNKNOWN is never a no."""
    answer = ask(gpus("n1", 31), named("a", want(count=32)), named("b"), engine="backtracking", time_limit=0.05)
    assert [unit.outcome for unit in answer.units] == ["Unknown", "Unknown"]
    assert [unit.reasons[0].id for unit in answer.units] == ["timeLimit", "timeLimit"]


def test_the_same_seed_gives_the_same_answer():
    member = pool(device("a", multi=True))
    asked = [named("c1"), named("c2")]
    first, again, other = (ask(member, *asked, seed=seed) for seed in (3, 3, 4))
    assert [unit.allocations[0][1] for unit in first.units] == [unit.allocations[0][1] for unit in again.units]
    assert first.units[0].allocations[0][1] != other.units[0].allocations[0][1]


def test_progress_is_told_after_each_unit():
    told = []
    ask(gpus("n1"), named("a"), named("b"), progress=lambda done, of: told.append((done, of)))
    assert told == [(1, 2), (2, 2)]


def test_statistics_count_the_work():
    statistics = ask(gpus("n1"), gpus("n2", 3), named("a", want(select='device.driver == "d.x"'))).statistics
    assert (statistics.steps, statistics.devices, statistics.classes) == (4, 5, 1)
    assert statistics.cel_evaluations == 1


def test_equal_nodes_fail_once():
    """A failure is remembered for nodes of one shape with equal usage; no second search is made."""
    one = ask(gpus("n1", 6), named("a", want(count=7)), engine="backtracking").statistics.steps
    many = ask(
        *(gpus(f"n{number}", 6) for number in range(20)), named("a", want(count=7)), engine="backtracking"
    ).statistics.steps
    assert many == one == 64


def test_a_failed_unit_is_tried_again_where_something_changed():
    """A pool that two kinds of units share: what is left for one changes when the other is placed."""
    answer = ask(
        gpus("n1", 3), gpus("n2", 1), named("a", want(count=2)), named("b", want(count=2)), named("c"), named("d")
    )
    assert placed(answer) == [("n1", ["g0", "g1"]), (None, []), ("n1", ["g2"]), ("n2", ["g0"])]


def test_failures_are_put_together_by_node_class():
    kinds = [gpus("n1", 1), gpus("n2", 1), gpus("n3", 0)]
    held = named("first", want(count=1))
    answer = ask(*kinds, held, named("big", want(count=2)))
    failures = answer.units[1].failures
    assert [(failure.nodes, str(failure.tables[0])) for failure in failures] == [
        (("n1",), "1 device: 1 in use"),
        (("n2",), "1 device"),
        (("n3",), "0 devices"),
    ]


def test_reasons_name_what_most_devices_fail_at():
    members = [
        device(f"v{number}", kind="a" if number < 4 else "b", taints=(taint("ml", "x"),) if number < 3 else None)
        for number in range(6)
    ]
    asked = named("c", want(count=2, select='device.attributes["d.x"].kind == "a"'))
    (unit,) = ask(pool(*members), asked).units
    (reason,) = unit.reasons
    assert (reason.id, reason.claim) == ("taint", "ns/c")
    assert reason.message == (
        "1 of 1 node: request r needs 2, 1 fit of 6 devices: 3 taint ml=x:NoSchedule, 2 request selector"
    )


def test_a_unit_that_fails_only_as_a_whole_is_told_so():
    (unit,) = ask(gpus("n1"), named("c", want("q", 2), want("r")), engine="backtracking").units
    assert [reason.id for reason in unit.reasons] == ["combination"]


def test_a_unit_that_fails_only_as_a_whole_has_a_witness():
    (unit,) = ask(gpus("n1"), named("c", want("q", 2), want("r"))).units
    assert [reason.message for reason in unit.reasons] == [
        "1 of 1 node: requests q and r need 3 devices, 2 can be used"
    ]


def test_a_list_request_is_short_only_if_all_alternatives_are():
    from support.objects import either, option

    asked = named("c", either("q", option("s", 3), option("t", 2)), want("r"))
    (unit,) = ask(gpus("n1"), asked, engine="backtracking").units
    assert [reason.id for reason in unit.reasons] == ["combination"]


def test_invalid_pools_are_a_reason():
    """POOL-13."""
    double = pool(device("z"), device("z"), name="n1")
    (unit,) = ask(double, named("c")).units
    assert unit.reasons[0].message == "1 of 1 node: invalid resource pools were encountered"


def test_devices_for_many_nodes_are_used_up_once():
    """CTR-4: a pool that all nodes see."""
    anywhere = pool(*devices("a", "b"), all_nodes=True)
    answer = ask(anywhere, node("n1"), node("n2"), *(named(f"c{number}") for number in range(3)))
    assert placed(answer) == [("n1", ["a"]), ("n1", ["b"]), (None, [])]


def test_a_node_with_labels_sees_what_is_selected_for_it():
    """NODE-1, SCHED-5."""
    selected = pool(device("a"), node_selector=labels({"zone": ("z",)}))
    assert placed(ask(selected, node("n1"), node("n2", zone="z"), named("c"))) == [("n2", ["a"])]


@pytest.mark.parametrize(
    ("outcomes", "whole"),
    [
        ([], "Allocated"),
        (["Allocated", "Unknown"], "Unknown"),
        (["Unknown", "Unallocatable", "Allocated"], "Unallocatable"),
        (["Unallocatable", "Error"], "Error"),
    ],
)
def test_the_gravest_outcome_decides(outcomes, whole):
    assert worst_outcome(outcomes) == whole


def test_a_wrong_answer_is_never_returned(register):
    """The checker's word is final: a defect is reported as one."""
    register("auto", changed(lambda _: NodeResult(Status.ALLOCATED, allocations=(allocation(result("nowhere")),))))
    with pytest.raises(VerificationError, match="nowhere"):
        ask(gpus("n1"), named("a"))


def test_a_search_leaves_time_for_the_verification_of_many_units():
    """SCHED-7: the limit is for everything."""
    assert search_seconds(60.0, 1) > 59.99
    assert 50 < search_seconds(60.0, 48_000) < 56
    assert search_seconds(2.0, 48_000) == 1.2
    assert search_seconds(0.0, 5) == 0.0
