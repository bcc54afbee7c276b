"""What keeps devices away, taken apart: every selector, every taint, every holder."""

import pytest
from support.gates import ALL
from support.objects import claim, device, device_class, match, node, pool, taint, tolerate, want

from drasat.models.cluster.cluster import Cluster
from drasat.problem.compiler import Compiler
from drasat.problem.obstacles import Obstacle, find_obstacles, with_all_candidates
from drasat.problem.selectors import ExpressionEvaluator, FailedSelector, SelectorTable
from drasat.problem.shapes import NodeViews


class Asked:
    """A question about one node, compiled."""

    def __init__(self, *objects, holders=None):
        cluster = Cluster.of([node("n1"), *objects])
        expressions = ExpressionEvaluator()
        compiler = Compiler(cluster.classes, ALL, expressions, "strict")
        claims = list(cluster.claims.values())
        question = compiler.question(claims)
        self.shape = NodeViews(cluster.pools(ALL), ALL).of(cluster.node("n1"), question.visible).shape
        self.problem = compiler.problem(question, self.shape)
        self.asks = compiler.resolved_requests(question, self.shape)
        self.table = SelectorTable(expressions)
        self.expressions = expressions
        self.found = find_obstacles(self.problem, self.asks, self.shape, holders or {}, self.table, ALL)

    def names(self, device=0, demand=0):
        return [one.text for one in self.found.of[demand][device]]


def test_every_selector_is_asked_though_the_first_is_false():
    cls = device_class("gpu", "false", "true", 'device.driver == "e.x"')
    asked = Asked(cls, pool(device("a")), claim(want(cls="gpu", select=("true", 'device.attributes["d.x"].none == 1'))))
    failed = asked.table.failed(asked.asks[0], asked.shape.profiles[0])
    assert [(one.filter, one.index) for one in failed] == [
        ("classSelector", 0),
        ("classSelector", 2),
        ("requestSelector", 1),
    ]
    assert failed[0] == FailedSelector("classSelector", 0, "false")
    assert "no such key" in failed[2].error


def test_equal_devices_are_asked_once():
    asked = Asked(device_class("gpu", 'device.driver == "e.x"'), pool(*map(device, "abcdef")), claim(want(cls="gpu")))
    before = asked.expressions.evaluations
    for profile in asked.shape.profiles:
        asked.table.failed(asked.asks[0], profile)
    assert asked.expressions.evaluations == before


def test_each_taint_is_an_obstacle_of_its_own_unless_tolerated():
    tainted = device("a", taints=(taint("k", "v"), taint("l"), taint("m", effect="None"), taint("n")))
    asked = Asked(device_class(), pool(tainted), claim(want(tolerations=(tolerate("n"),))))
    assert asked.names() == ["taint k=v:NoSchedule", "taint l:NoSchedule"]


def test_each_holder_is_an_obstacle_but_not_for_admins():
    there = (device_class(), pool(device("a")), claim(want("r"), want("s", admin=True)))
    asked = Asked(*there, holders={0: ["ns/x", "ns/y"]})
    assert asked.names() == ["devices in use by claim ns/x", "devices in use by claim ns/y"]
    assert asked.names(demand=1) == []


@pytest.mark.parametrize(("own", "text"), [(True, "selector 2"), (False, "selector 2 of class gpu")])
def test_words(own, text):
    filter_ = "requestSelector" if own else "classSelector"
    assert Obstacle(filter_, "" if own else "gpu", 2, own=own).text == text


def test_what_a_constraint_says_of_a_device_is_left_to_the_constraint():
    asked = Asked(device_class(), pool(device("a")), claim(want(), constraints=[match("d.x/numa")]))
    assert asked.problem.demands[0].failures[0]
    assert asked.names() == []


def test_opened_every_device_is_a_candidate():
    there = pool(device("a"), device("b", taints=(taint(),)), device("c", kind=1))
    asked = Asked(device_class(), there, claim(want(select='!("kind" in device.attributes["d.x"])'), want("s", "All")))
    whole = with_all_candidates(asked.problem, asked.asks, asked.shape, ALL)
    assert [demand.candidates for demand in asked.problem.demands] == [(0,), (0, 1, 2)]
    assert [demand.candidates for demand in whole.demands] == [(0, 1, 2), (0, 1, 2)]
    assert not any(demand.untakeable or demand.error_devices for demand in whole.demands)


def test_opened_all_of_nothing_is_at_least_one():
    asked = Asked(device_class(), pool(device("a")), claim(want(count="All", select="false")))
    (demand,) = with_all_candidates(asked.problem, asked.asks, asked.shape, ALL).demands
    assert (demand.count, demand.all_devices, demand.candidates) == (1, False, (0,))


def test_opened_says_what_every_device_would_give():
    there = pool(
        device("a", capacity={"memory": "4"}, taints=(taint(),)), device("b", capacity={"memory": "2"}), device("c")
    )
    asked = Asked(device_class(), there, claim(want(capacity={"memory": "3"})))
    (demand,) = with_all_candidates(asked.problem, asked.asks, asked.shape, ALL).demands
    assert list(demand.amounts) == [0]
