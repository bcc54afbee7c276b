"""What a question looks at decides which devices are one profile."""

import pickle

import pytest
from support.gates import ALL
from support.objects import (
    attempt,
    claim,
    device,
    device_class,
    distinct,
    either,
    match,
    names,
    option,
    pool,
    version,
    want,
)

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.slices import DeviceAttribute
from drasat.models.results.common import Status
from drasat.problem.compiler import Compiler
from drasat.problem.requests import ALL_VISIBLE, VisibleAttributes
from drasat.problem.selectors import ExpressionEvaluator
from drasat.problem.shapes import NodeViews


class Scene:
    """A cluster of nodes with one pool each, and questions about it in one session."""

    def __init__(self, *objects, gates=ALL):
        given = [*objects, device_class("any"), device_class("models", 'device.attributes["d.x"].model == "m"')]
        self.cluster = Cluster.of(given)
        self.views = NodeViews(self.cluster.pools(gates), gates)
        self.compiler = Compiler(self.cluster.classes, gates, ExpressionEvaluator(), "strict")

    def question(self, *claims):
        return self.compiler.question(claims)

    def profiles(self, *claims):
        """Indexes of the profiles of all devices, node by node, as seen by a question."""
        question = self.question(*claims)
        views = [self.views.of(node, question.visible) for node in self.cluster.nodes.values()]
        return [profile.index for view in views for profile in view.shape.profiles]

    def shapes(self, *claims):
        question = self.question(*claims)
        return {self.views.of(node, question.visible).shape.index for node in self.cluster.nodes.values()}

    def problem(self, *claims):
        question = self.question(*claims)
        (node,) = self.cluster.nodes.values()
        return self.compiler.problem(question, self.views.of(node, question.visible).shape)


def on(name, *members, **fields):
    return pool(*members, name=name, node_name=name, **fields)


def two(*, gates=ALL, **differing):
    """Two devices on a node that differ in these attributes only."""
    return Scene(
        pool(*(device(f"d{n}", model="m", **{key: pair[n] for key, pair in differing.items()}) for n in (0, 1))),
        gates=gates,
    )


def reading(path):
    return claim(want(select=f"{path} == {path}"))


UUID = 'device.attributes["d.x"].uuid'
HEX = 'device.attributes["d.x"].hex'


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(claim(want()), id="nothing"),
        pytest.param(claim(want(cls="models")), id="another-attribute-by-class"),
        pytest.param(reading('device.attributes["d.x"].model'), id="another-attribute"),
        pytest.param(reading('device.attributes["e.x"].uuid'), id="of-another-domain"),
        pytest.param(reading("device.driver"), id="driver"),
        pytest.param(claim(want(select='device.capacity["d.x"].uuid == quantity("1")')), id="capacity-of-that-name"),
        pytest.param(claim(want(), constraints=[match("d.x/model")]), id="another-attribute-by-constraint"),
        pytest.param(claim(want(select="device.nonsense")), id="expression-that-does-not-compile"),
    ],
)
def test_devices_that_differ_in_what_nobody_reads_are_one_profile(asked):
    first, second = two(uuid=("u0", "u1")).profiles(asked)
    assert first == second


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(reading(UUID), id="selector"),
        pytest.param(reading('device.attributes["d.x"]["uuid"]'), id="by-index"),
        pytest.param(claim(want(select='has(device.attributes["d.x"].uuid)')), id="presence"),
        pytest.param(claim(want(select=("true", f'{UUID}.startsWith("u")'))), id="second-selector"),
        pytest.param(claim(want(), want("q", select=f'{UUID} == "u"')), id="another-request"),
        pytest.param(claim(either("r", option("a"), option("b", select=f'{UUID} == "u"'))), id="alternative"),
        pytest.param(claim(want(select='device.attributes["d.x"].exists(k, k == "uuid")')), id="whole-domain"),
        pytest.param(claim(want(select='device.attributes[device.driver].model == "m"')), id="computed-domain"),
        pytest.param(claim(want(select='[device].exists(d, d.driver == "x")')), id="whole-device"),
        pytest.param(claim(want(), constraints=[match("d.x/uuid")]), id="CON-4"),
        pytest.param(claim(want(), constraints=[distinct("d.x/uuid")]), id="CON-5"),
        pytest.param(claim(want(derived={"d.x/z": UUID}), constraints=[match("d.x/z")]), id="CON-12"),
    ],
)
def test_what_is_read_keeps_devices_apart(asked):
    first, second = two(uuid=("u0", "u1")).profiles(asked)
    assert first != second


def test_an_attribute_read_by_a_class_keeps_devices_apart():
    scene = Scene(pool(device("a", model="m"), device("b", model="n")))
    first, second = scene.profiles(claim(want(cls="models")))
    assert first != second
    first, second = scene.profiles(claim(want()))
    assert first == second


@pytest.mark.parametrize("spelling", ["d.x/uuid", "uuid"])
def test_attributes_are_seen_by_short_and_full_names(spelling):
    """CEL-10, CON-2."""
    scene = Scene(pool(device("a", attributes={spelling: "1"}), device("b", attributes={spelling: "2"})))
    for asked in (reading(UUID), claim(want(), constraints=[match("d.x/uuid")])):
        first, second = scene.profiles(asked)
        assert first != second


def test_devices_with_other_attributes_are_never_one_profile():
    """Whether a domain is there at all can be asked without reading any value."""
    scene = Scene(pool(device("a", uuid="1"), device("b", hex="1"), device("c")))
    assert len(set(scene.profiles(claim(want())))) == 3


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(version("1.x"), id="version"),
        pytest.param(DeviceAttribute(versions=("1.0.0", "?")), id="versions"),
        pytest.param(DeviceAttribute(), id="no-value"),
    ],
)
def test_a_value_that_cannot_be_read_is_not_merged_away(bad):
    """CEL-3: it breaks every expression on its device, whatever that reads."""
    scene = two(firmware=(version("1.0.0"), bad))
    first, second = scene.profiles(reading('device.attributes["d.x"].model'))
    assert first != second
    model = 'device.attributes["d.x"].model == "m"'
    slices = pool(device("a", model="m", firmware=version("1.0.0")), device("b", model="m", firmware=bad))
    assert attempt(slices, claim(want(count=2, select=model))).status is Status.ERROR
    assert names(slices, claim(want(count=1, select=model))) == ["a"]


def test_different_values_that_cannot_be_read_have_different_messages():
    """CEL-3."""
    texts = {
        attempt(pool(device("a", v=version(text))), claim(want(select="true"))).message for text in ("one", "1.x.0")
    }
    assert len(texts) == 2
    scene = two(firmware=(version("one"), version("two")))
    first, second = scene.profiles(claim(want()))
    assert first != second


def test_readable_versions_are_hidden_like_everything_else():
    first, second = two(firmware=(version("1.0.0"), version("2.0.0"))).profiles(claim(want()))
    assert first == second


def test_nodes_with_unique_devices_have_one_shape_and_one_problem():
    nodes = [on(f"n{n}", *(device(f"d{k}", uuid=f"{n}-{k}", model="m") for k in range(4))) for n in range(5)]
    scene = Scene(*nodes)
    asked = claim(want(count=2, cls="models"))
    assert len(scene.shapes(asked)) == 1
    assert len(scene.shapes(reading(UUID))) == 5
    assert scene.views.classes == 20


def test_questions_of_one_session_each_see_what_they_read():
    scene = two(uuid=("u0", "u1"), hex=("h", "h"))
    for _ in range(2):
        assert len(set(scene.profiles(reading(UUID)))) == 2
        assert len(set(scene.profiles(reading(HEX)))) == 1
        assert len(set(scene.profiles(claim(want())))) == 1


def test_profiles_and_shapes_of_different_lenses_never_share_a_number():
    scene = two(uuid=("u0", "u1"), hex=("h", "i"))
    questions = [reading(UUID), reading(HEX), claim(want()), claim(want(cls="models"))]
    numbers = [number for asked in questions for number in set(scene.profiles(asked)) | scene.shapes(asked)]
    assert len(numbers) == len(set(numbers))


def test_the_right_device_is_found_after_a_question_that_saw_less():
    slices = pool(*(device(f"d{n}", uuid=f"u{n}") for n in range(4)))
    (one,) = names(slices, claim(want(), name="one"))
    found = names(slices, claim(want(), name="one"), claim(want(select=f'{UUID} == "u2"'), name="two"))
    assert (one, found) == ("d0", ["d0", "d2"])


def test_equal_readings_share_a_lens():
    scene = two(uuid=("u0", "u1"))
    one, two_ = scene.question(reading(UUID)), scene.question(claim(want(select=f'{UUID} == "u"')))
    assert one is not two_
    assert one.visible == two_.visible
    assert scene.question(
        claim(want(select=(UUID, 'device.attributes.exists(d, d == "x")')))
    ).visible == VisibleAttributes(frozenset({("attributes",)}))


def test_an_unknown_class_reads_nothing():
    """PRE-6."""
    assert two().question(claim(want(cls="none"))).visible == VisibleAttributes()


def test_sharing_and_capacity_are_always_seen():
    members = [device("a", capacity={"m": "1"}), device("b", capacity={"m": "2"}), device("c", multi=True)]
    assert len(set(Scene(pool(*members)).profiles(claim(want())))) == 3


def test_without_a_question_everything_is_seen():
    scene = two(uuid=("u0", "u1"))
    (node,) = scene.cluster.nodes.values()
    assert len(set(scene.views.of(node).shape.profiles)) == 2
    assert scene.views.of(node) is scene.views.of(node, ALL_VISIBLE)


def test_views_of_a_node_share_their_devices():
    scene = two(uuid=("u0", "u1"))
    (node,) = scene.cluster.nodes.values()
    one, other = scene.views.of(node), scene.views.of(node, VisibleAttributes())
    assert one is not other
    assert one.devices is other.devices


def test_what_is_seen_can_be_pickled_with_the_problem():
    scene = two(uuid=("u0", "u1"))
    question = scene.question(reading(UUID))
    assert pickle.loads(pickle.dumps(question.visible)) == question.visible
    problem = scene.problem(reading(UUID))
    assert pickle.loads(pickle.dumps(problem)) == problem


def test_problems_of_hidden_and_shown_devices_are_equal():
    """Nothing but the number of evaluations may tell that devices were put together."""
    asked = claim(want(count=2, select='device.attributes["d.x"].model == "m"'))
    apart = two(uuid=("u0", "u1"))
    (node,) = apart.cluster.nodes.values()
    question = apart.question(asked)
    whole = apart.compiler.problem(question, apart.views.of(node).shape)
    assert whole == apart.problem(asked)
