"""What allocations look like (section 15), and how attempts end (section 16)."""

import pytest
from support.objects import (
    NODE,
    attempt,
    claim,
    config,
    device,
    device_class,
    devices,
    either,
    fails,
    fatal,
    labels,
    node,
    option,
    pool,
    tolerate,
    want,
)

from drasat.models.kubernetes.core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from drasat.models.results.common import Status

THREE = pool(*devices("a", "b", "c"))


def only(*objects, **options):
    """The allocation of the only claim."""
    answer = attempt(*objects, **options)
    assert answer.status is Status.ALLOCATED, answer.message
    return answer.allocations[0]


def test_one_allocation_a_claim_in_order_of_requests():
    """RES-1."""
    asked = [claim(want("q", 2), name="c1"), claim(either("r", option("s")), name="c2"), claim(name="c3")]
    answer = attempt(THREE, *asked)
    found = [[(r.request, r.device) for r in made.devices.results or ()] for made in answer.allocations]
    assert found == [[("q", "a"), ("q", "b")], [("r/s", "c")], []]


def test_results_name_driver_and_pool():
    """RES-1."""
    result = only(pool(device("a"), driver="e.x", name="pool/x"), claim(want())).devices.results[0]
    assert (result.driver, result.pool, result.device) == ("e.x", "pool/x", "a")


@pytest.mark.parametrize(("admin", "shown"), [(None, None), (False, None), (True, True)])
def test_admin_access_is_shown_only_if_asked_for(admin, shown):
    """RES-2."""
    assert only(THREE, claim(want(admin=admin))).devices.results[0].admin_access is shown


def test_tolerations_of_the_selected_alternative_are_copied():
    """RES-2."""
    tolerated = (tolerate("k"), tolerate("l"))
    asked = claim(either("r", option("s", 4), option("t", tolerations=tolerated)))
    assert only(THREE, asked).devices.results[0].tolerations == tolerated
    assert only(THREE, claim(want())).devices.results[0].tolerations is None


def test_binding_conditions_are_copied():
    """RES-2."""
    result = only(pool(device("a", binding=("ready", "set"))), claim(want())).devices.results[0]
    assert result.binding_conditions == ("ready", "set")
    assert result.binding_failure_conditions == ("failed",)


def test_skipped_node_operations_are_copied():
    """RES-2."""
    skipping = pool(device("a"), skip_node_operations=("*",))
    declared = node(NODE, features=("DRAOptionalNodeOperations",))
    assert only(skipping, declared, claim(want())).devices.results[0].skip_node_operations == ("*",)


def entries(allocation):
    """Source, value and requests of each config entry."""
    return [(entry.source, entry.opaque.parameters, entry.requests) for entry in allocation.devices.config or ()]


def test_configs_of_classes_come_once_with_all_requests_that_use_the_class():
    """RES-3, BUG-8: in order of the first use."""
    objects = (THREE, device_class("k1", config=("one", "two")), device_class("k2", config=("three",)))
    asked = claim(want("q", cls="k2"), want("r", cls="k1"), want("s", cls="k2"))
    assert entries(only(*objects, asked)) == [
        ("FromClass", "three", ("q", "s")),
        ("FromClass", "one", ("r",)),
        ("FromClass", "two", ("r",)),
    ]


def test_only_the_class_of_the_selected_alternative_counts():
    """RES-3."""
    objects = (THREE, device_class("k1", config=("one",)), device_class("k2", config=("two",)))
    asked = claim(either("q", option("s", 4, cls="k1"), option("t", cls="k2")), want("r"))
    assert entries(only(*objects, asked)) == [("FromClass", "two", ("q/t",))]


@pytest.mark.parametrize(
    ("named", "kept"),
    [
        pytest.param((), None, id="RES-4-all"),
        pytest.param(("r",), ("r",), id="RES-4-request"),
        pytest.param(("q/t",), ("q/t",), id="RES-4-selected"),
        pytest.param(("q",), ("q",), id="RES-4-main-name"),
        pytest.param(("q/s",), "dropped", id="RES-4-not-selected"),
        pytest.param(("q/s", "q/t"), ("q/s", "q/t"), id="RES-5-alternatives-of-one-request-BUG-8"),
        pytest.param(("r", "q"), None, id="RES-5-covers-every-request"),
        pytest.param(("q/s", "q/t", "r"), None, id="RES-5-by-the-selected-alternative"),
        pytest.param(("q/s", "r"), ("q/s", "r"), id="RES-5-not-by-another"),
    ],
)
def test_configs_of_the_claim(named, kept):
    asked = claim(either("q", option("s", 4), option("t")), want("r"), configs=[config("v", *named)])
    expected = [] if kept == "dropped" else [("FromClaim", "v", kept)]
    assert entries(only(THREE, asked)) == expected


def test_a_class_used_by_every_request_has_no_list_of_requests():
    """RES-5."""
    objects = (THREE, device_class("any", config=("one",)))
    assert entries(only(*objects, claim(want("q"), want("r")))) == [("FromClass", "one", None)]


def test_configs_come_from_classes_first_and_choose_nothing():
    """RES-3, RES-4, RES-6."""
    objects = (THREE, device_class("any", config=("class",)))
    made = only(*objects, claim(want("q"), configs=[config("claim")]))
    assert [source for source, _, _ in entries(made)] == ["FromClass", "FromClaim"]
    assert [result.device for result in made.devices.results] == ["a"]


def requirements(allocation):
    """Kind, key and values of each requirement of the only term."""
    if allocation.node_selector is None:
        return None
    (term,) = allocation.node_selector.node_selector_terms
    return [
        (kind, requirement.key, requirement.values)
        for kind, group in (("label", term.match_expressions), ("field", term.match_fields))
        for requirement in group or ()
    ]


HERE = [("field", "metadata.name", (NODE,))]
IN_Z = labels({"zone": ("z", "y")})


@pytest.mark.parametrize(
    ("slices", "expected"),
    [
        pytest.param([pool(device("a"))], HERE, id="RES-7-node-name"),
        pytest.param([pool(device("a"), all_nodes=True)], None, id="RES-7-everywhere"),
        pytest.param([pool(device("a", binds_to_node=True), all_nodes=True)], HERE, id="RES-7-binds-to-node"),
        pytest.param([pool(device("a"), node_selector=IN_Z)], [("label", "zone", ("z", "y"))], id="RES-7-selector"),
        pytest.param(
            [pool(device("a", node_selector=IN_Z), per_device_node_selection=True)],
            [("label", "zone", ("z", "y"))],
            id="RES-7-per-device",
        ),
        pytest.param(
            [pool(device("a", node_name=NODE), per_device_node_selection=True)], HERE, id="RES-7-per-device-name"
        ),
        pytest.param(
            [
                pool(device("a"), node_selector=IN_Z),
                pool(device("b"), name="q", node_selector=labels({"zone": ("y", "z"), "rack": ("r",)})),
            ],
            [("label", "zone", ("z", "y")), ("label", "rack", ("r",))],
            id="RES-7-combined-without-repetition",
        ),
        pytest.param(
            [pool(device("a"), node_selector=IN_Z), pool(device("b"), name="q")], HERE, id="RES-7-one-name-decides"
        ),
    ],
)
def test_where_an_allocation_can_be_used(slices, expected):
    devices_ = sum(len(slice_.spec.devices) for slice_ in slices)
    made = only(*slices, node(NODE, zone="z", rack="r"), claim(want(count=devices_)))
    assert requirements(made) == expected


def test_match_fields_of_a_selector_are_kept():
    """RES-7."""
    field = NodeSelectorRequirement(key="metadata.name", operator="In", values=(NODE,))
    by_name = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(field,)),))
    assert requirements(only(pool(device("a"), node_selector=by_name), claim(want()))) == HERE


def test_two_terms_cannot_be_combined():
    """RES-7: validation does not forbid them on a device."""
    member = device("a", node_selector=labels({"zone": ("z",)}, {"rack": ("r",)}))
    slices = pool(member, per_device_node_selection=True)
    text = fatal(slices, node(NODE, zone="z"), claim(want()))
    assert text == "create NodeSelector for claim c: unsupported ResourceSlice.NodeSelector with 2 terms"


def test_the_node_selector_of_a_claim_without_devices_is_everywhere():
    """RES-7."""
    assert only(THREE, claim()).node_selector is None


def test_what_the_scheduler_adds_at_binding_is_not_there():
    """RES-8."""
    assert only(THREE, claim(want())).allocation_timestamp is None


def test_an_invalid_pool_is_named_if_nothing_is_found():
    """POOL-13: exact requests pass it over; without a solution it is the reason."""
    double = pool(device("z"), device("z"), name="q")
    assert only(THREE, double, claim(want(count=3))).devices.results
    answer = attempt(THREE, double, claim(want(count=4)))
    assert (answer.status, answer.message) == (Status.UNALLOCATABLE, "invalid resource pools were encountered")


def test_an_incomplete_pool_is_no_reason():
    """POOL-13."""
    partial = pool(device("z"), name="q", count=2)
    assert fails(THREE, partial, claim(want(count=4)))
    assert attempt(THREE, partial, claim(want(count=4))).message == "cannot allocate all claims"


def test_a_selector_that_cannot_be_parsed_is_fatal():
    """NODE-2."""
    odd = NodeSelectorRequirement(key="zone", operator="Near", values=("z",))
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(odd,)),))
    assert "gather pool information" in fatal(pool(device("a"), node_selector=selector), claim(want()))


def test_pools_are_visited_by_driver_and_name_and_slices_by_name():
    """POOL-11."""
    slices = [
        pool(device("z"), name="b", driver="a.x"),
        pool(device("y"), name="a", driver="b.x"),
        pool(device("x2"), name="c", count=2, slice_name="s-2", driver="b.x"),
        pool(device("x1"), name="c", count=2, slice_name="s-1", driver="b.x"),
    ]
    assert [r.device for r in only(*slices, claim(want(count=4))).devices.results] == ["z", "y", "x1", "x2"]
