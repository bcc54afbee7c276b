"""The flat list of filters, and that a candidate keeps every one it fails."""

import pytest
from support.objects import claim, device, device_class, draws, node, pool, shared, taint, tolerate, want

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.gates import FeatureGates
from drasat.problem import filters
from drasat.problem import filters as filters_module
from drasat.problem.compiler import Compiler
from drasat.problem.filters import EXPRESSION_FILTERS, FILTERS, UNLISTED_FILTERS
from drasat.problem.selectors import ExpressionEvaluator
from drasat.problem.shapes import NodeViews


def failed(member, request, *, cls=None, gates=None, beside=None, **slice_fields):
    """Id and detail of every filter that the first device fails."""
    switched = FeatureGates.all_on().with_(gates or {})
    cluster = Cluster.of([pool(*filter(None, (member, beside)), **slice_fields), cls or device_class(), node()])
    compiler = Compiler(cluster.classes, switched, ExpressionEvaluator(), "strict")
    view = NodeViews(cluster.pools(switched), switched).of(cluster.node("n1"))
    (demand,) = compiler.problem(compiler.question([claim(request)]), view.shape).demands
    return [(failure.filter, failure.detail) for failure in demand.failures[0]]


@pytest.mark.parametrize(
    ("member", "request_", "options", "expected"),
    [
        pytest.param(device("a"), want(), {}, [], id="none"),
        pytest.param(
            device("a", binding=("ready",)),
            want(),
            {"gates": {"DRADeviceBindingConditions": False}},
            [("bindingConditions", "ready")],
            id="DEV-2",
        ),
        pytest.param(
            device("a"),
            want(cls="k"),
            {"cls": device_class("k", "true", "1 > 2")},
            [("classSelector", "1 > 2")],
            id="DEV-3-class",
        ),
        pytest.param(device("a"), want(select="false"), {}, [("requestSelector", "false")], id="DEV-3-request"),
        pytest.param(
            device("a", capacity={"m": "1"}),
            want(capacity={"m": "2"}),
            {},
            [("capacity", "m 1 is less than 2")],
            id="DEV-6",
        ),
        pytest.param(
            device("a", draws("s", m=1)),
            want(),
            {"gates": {"DRAPartitionableDevices": False}},
            [("countersFeature", "needs DRAPartitionableDevices")],
            id="DEV-7",
        ),
        pytest.param(
            device("a"),
            want(),
            {"skip_node_operations": ("*",)},
            [("nodeOperations", "needs DRAOptionalNodeOperations, declared by the node")],
            id="DEV-9",
        ),
        pytest.param(
            device("a", taints=(taint("k", "v"), taint("l", effect="NoExecute"))),
            want(),
            {},
            [("taint", "k=v:NoSchedule, l:NoExecute")],
            id="DEV-10",
        ),
    ],
)
def test_what_a_device_fails(member, request_, options, expected):
    assert failed(member, request_, **options) == expected


def test_a_device_for_another_node_of_a_slice_that_is_relevant():
    """DEV-4."""
    beside = device("b", all_nodes=True)
    found = failed(device("a", node_name="n2"), want(), beside=beside, per_device_node_selection=True)
    assert found == [("deviceNode", "for other nodes")]


def test_every_failure_is_kept_in_order():
    member = device("a", taints=(taint(),), capacity={"m": "1"}, binding=("ready",))
    found = failed(
        member,
        want(cls="k", select="1 == 2", capacity={"m": "2"}),
        cls=device_class("k", "false"),
        gates={"DRADeviceBindingConditions": False},
    )
    assert [filter_ for filter_, _ in found] == [
        "bindingConditions",
        "classSelector",
        "requestSelector",
        "capacity",
        "taint",
    ]


def test_errors_are_recorded_values():
    """CEL-6: with the text, and the search decides what they do."""
    ((filter_, detail),) = failed(device("a"), want(select='device.attributes["d.x"].x == 1'))
    assert filter_ == "requestSelector"
    assert detail.startswith("no such key: x")


def test_ids_are_unique_and_every_filter_says_what_it_is():
    ids = [filter_.id for filter_ in FILTERS]
    assert len(set(ids)) == len(ids)
    assert all("-" in filter_.description and filter_.description.endswith(")") for filter_ in FILTERS)


def test_what_all_does_not_list_comes_before_the_rest():
    """PRE-8, PRE-9: selectable means the first five."""
    listed = [filter_.listed for filter_ in FILTERS]
    assert listed == sorted(listed, reverse=True)
    assert {"classSelector", "requestSelector", "deviceNode", "capacity", "bindingConditions"} == UNLISTED_FILTERS
    assert {"classSelector", "requestSelector"} <= EXPRESSION_FILTERS


def demands(*requests, published, gates=None):
    """The demands of a claim with these requests, and how often an expression was asked about a device."""
    switched = FeatureGates.all_on().with_(gates or {})
    cluster = Cluster.of([published, device_class(), device_class("k"), node()])
    expressions = CountingExpressions()
    compiler = Compiler(cluster.classes, switched, expressions, "strict")
    view = NodeViews(cluster.pools(switched), switched).of(cluster.node("n1"))
    return compiler.problem(compiler.question([claim(*requests)]), view.shape).demands, expressions.tests


class CountingExpressions(ExpressionEvaluator):
    tests = 0

    def test_all(self, expression, profiles):
        self.tests += len(profiles)
        return super().test_all(expression, profiles)


def test_requests_that_are_alike_are_judged_once():
    """Whatever their names and counts."""
    published = pool(device("a", x=1), device("b", x=2))
    select = 'device.attributes["d.x"].x == 1'
    once, tests = demands(want("r", select=select), published=published)
    twice, again = demands(want("r", select=select), want("s", count=2, select=select), published=published)
    assert tests == again > 0
    assert [demand.failures for demand in twice] == [once[0].failures] * 2
    assert [(demand.request, demand.count, demand.candidates) for demand in twice] == [("r", 1, (0,)), ("s", 2, (0,))]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"select": "true"}, id="selectors"),
        pytest.param({"cls": "k"}, id="class"),
        pytest.param({"capacity": {"m": "1"}}, id="capacity"),
        pytest.param({"tolerations": (tolerate(),)}, id="tolerations"),
    ],
)
def test_requests_that_differ_are_judged_apart(other):
    published = pool(device("a", capacity={"m": "2"}, taints=(taint(),)))
    apart = [demands(want("r", **fields), published=published)[0][0] for fields in ({"select": "false"}, other)]
    together, _ = demands(want("r", select="false"), want("s", **other), published=published)
    assert [demand.failures for demand in together] == [demand.failures for demand in apart]
    assert apart[0].failures != apart[1].failures


def test_errors_of_capacities_name_their_own_request():
    """CAP-4: of requests that are alike too."""
    ranged = device("a", capacity={"m": shared("10", min="0", step="1")}, multi=True)
    asked = [want(name, count=count, capacity={"m": "10E"}) for name, count in (("r", 1), ("s", 1), ("t", 2))]
    found, _ = demands(*asked, published=pool(ranged))
    errors = ["".join(map(str, demand.failures[0][-1].error)) for demand in found]
    assert [f"request {name}:" in error for name, error in zip("rst", errors, strict=True)] == [True] * 3


def test_devices_that_offer_the_same_are_drawn_from_once(monkeypatch):
    drawn, asked = filters.draw_or_error, []
    monkeypatch.setattr(
        filters_module, "draw_or_error", lambda profile, *rest: asked.append(profile) or drawn(profile, *rest)
    )
    published = pool(*(device(f"d{size}{x}", x=x, capacity={"m": str(size)}) for size in (1, 2) for x in range(3)))
    (found,), _ = demands(want(capacity={"m": "2"}), published=published)
    assert (found.candidates, len(asked)) == ((3, 4, 5), 2)
    assert {failed[0].detail for failed in found.failures[:3]} == {"m 1 is less than 2"}


def test_shapes_share_what_is_known_of_their_profiles():
    """Also where the devices stand in another order."""
    select = 'device.attributes["d.x"].x == 1'
    first = pool(device("a", x=1), device("b", x=2), name="p")
    second = pool(device("c", x=2), device("d", x=1), name="q", node_name="n2")
    expressions, gates = CountingExpressions(), FeatureGates.all_on()
    cluster = Cluster.of([first, second, device_class(), node("n1"), node("n2")])
    compiler, views = Compiler(cluster.classes, gates, expressions, "strict"), NodeViews(cluster.pools(gates), gates)
    question = compiler.question([claim(want(select=select))])
    found = []
    for name in ("n1", "n2"):
        shape = views.of(cluster.node(name), question.visible).shape
        found.append((compiler.problem(question, shape).demands[0].candidates, expressions.tests))
    assert found == [((0,), 2), ((1,), 2)]
