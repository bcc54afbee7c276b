"""Devices in expressions, and selectors over them (CEL-1 to CEL-9)."""

from __future__ import annotations

import gc
import json
import pickle
from pathlib import Path

import pytest
from support.data import cases

from drasat import cel
from drasat.cel.devices import DeviceShapes, prepare_device, read_paths
from drasat.cel.errors import CelCompileError, CelCostError, CelDeadlineError, CelRuntimeError
from drasat.cel.program import Program
from drasat.cel.selector import Selector
from drasat.models.kubernetes.slices import Device, DeviceAttribute, DeviceCapacity

CORPUS = json.loads((Path(__file__).parents[1] / "data" / "cel-corpus.json").read_text())
FIELDS = {"int": "int_value", "bool": "bool_value"}
HINT = (
    "consider using CEL optional chaining (.? followed by orValue()) "
    "or guarding the check with has() for optional fields"
)
DRIVER = "gpu.example.com"
OWN = f'device.attributes["{DRIVER}"]'


def attribute(**fields):
    values = {FIELDS.get(name, name): value for name, value in fields.items()}
    return DeviceAttribute(
        **{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    )


def device_of(attributes=None, capacity=None, shared=None):
    return Device(
        name="gpu-0",
        attributes={name: attribute(**fields) for name, fields in (attributes or {}).items()},
        capacity={name: DeviceCapacity(value=value) for name, value in (capacity or {}).items()},
        allow_multiple_allocations=shared,
    )


def prepared(attributes=None, capacity=None, shared=None, driver=DRIVER):
    return prepare_device(device_of(attributes, capacity, shared), driver)


def from_corpus(data):
    capacity = {name: amount["value"] for name, amount in data["capacity"].items()}
    return prepared(data["attributes"], capacity, data.get("allowMultipleAllocations"), data["driver"])


GPU = prepared(
    {
        "model": {"string": "a100"},
        "index": {"int": 1},
        "healthy": {"bool": True},
        "driverVersion": {"version": "550.90.7"},
        "tags": {"strings": ["a", "b"]},
        "numa": {"ints": [0, 1]},
        "firmware": {"versions": ["1.0.0", "2.0.0"]},
        "links": {"bools": [True, False]},
        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:00"},
    },
    {"memory": "40Gi", "other.example.com/cores": "108"},
)


@pytest.mark.parametrize("case", CORPUS, ids=[f"{n}-{case['seenIn'].split()[0]}" for n, case in enumerate(CORPUS, 1)])
def test_expressions_in_use_give_the_recorded_result(case):
    """CEL-1: every expression of the corpus."""
    try:
        if "devices" in case:
            program = cel.compile(case["expression"], {"devices": "list(kubernetes.DRADevice)"})
            result = program.evaluate({"devices": [from_corpus(data) for data in case["devices"]]})
        else:
            result = Selector(case["expression"]).matches(from_corpus(case["device"]))
    except CelCompileError:
        result = "compile error"
    except CelRuntimeError:
        result = "runtime error"
    assert str(result).lower() == case["expect"]


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(f'device.driver == "{DRIVER}"', id="CEL-1-driver"),
        pytest.param(f'{OWN}.model == "a100" && {OWN}.index == 1 && {OWN}.healthy', id="CEL-3-scalars"),
        pytest.param(f'{OWN}.driverVersion.compareTo(semver("550.90.6")) > 0', id="CEL-3-version"),
        pytest.param(f'"b" in {OWN}.tags && {OWN}.numa == [0, 1] && {OWN}.links[0]', id="CEL-3-lists"),
        pytest.param(f"{OWN}.firmware.exists(v, v.major() == 2)", id="CEL-3-versions"),
        pytest.param(f'device.capacity["{DRIVER}"].memory == quantity("40960Mi")', id="CEL-2-capacity"),
        pytest.param('device.capacity["other.example.com"].cores == quantity("108")', id="CEL-2-other-domain"),
        pytest.param('device.attributes["resource.kubernetes.io"].pcieRoot == "pci0000:00"', id="CEL-2-qualified"),
        pytest.param('device.attributes["nowhere"] == {} && !("nowhere" in device.attributes)', id="CEL-2-domain"),
        pytest.param('!has(device.attributes["nowhere"].x)', id="CEL-2-has"),
        pytest.param("has(device.attributes.nowhere)", id="CEL-2-has-domain"),
        pytest.param('device.attributes.?nowhere.x.orValue("-") == "-"', id="CEL-2-optional"),
        pytest.param('device.attributes[?"nowhere"].hasValue()', id="CEL-2-present"),
        pytest.param("size(device.attributes) == 2", id="CEL-2-size"),
        pytest.param(f'device.attributes.exists(d, d == "{DRIVER}")', id="CEL-2-domains"),
        pytest.param("!device.allowMultipleAllocations", id="CEL-1-shared-when-unset"),
        pytest.param(f'{OWN}.tags.includes("a") && {OWN}.model.includes("a100")', id="CEL-4-includes"),
        pytest.param(f"!{OWN}.tags.includes(1) && !{OWN}.model.includes(1)", id="CEL-4-mismatch"),
        pytest.param('cel.bind(d, device, d.driver != "x")', id="CEL-1-bind"),
        pytest.param("dyn(device).size() == 4", id="CEL-1-a-map"),
    ],
)
def test_what_a_device_shows(expression):
    assert Selector(expression).matches(GPU) is True


def test_shared_devices_say_so():
    assert Selector("device.allowMultipleAllocations").matches(prepared(shared=True)) is True


@pytest.mark.parametrize("field", ["name", "pool", "node"])
def test_name_and_pool_are_not_available(field):
    """CEL-1"""
    with pytest.raises(CelCompileError, match=f"^compilation failed: ERROR: .*undefined field '{field}'"):
        Selector(f'device.{field} == "x"')


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        pytest.param({"x": {}}, "attribute x: unsupported attribute value", id="CEL-3-none"),
        pytest.param({"v": {"version": "nope"}}, "attribute v: parse semantic version: ", id="CEL-3-version"),
        pytest.param({"v": {"versions": ["1.0.0", "1"]}}, "attribute v: parse semantic version: ", id="CEL-3-versions"),
        pytest.param({"a": {"int": 1}, "d.io/v": {"version": "1"}}, "attribute d.io/v: ", id="CEL-3-qualified"),
    ],
)
def test_a_bad_attribute_fails_every_evaluation(attributes, text):
    broken = prepared(attributes)
    for expression in ("true", f"{OWN}.other == 1"):
        with pytest.raises(CelRuntimeError) as raised:
            Selector(expression).matches(broken)
        assert str(raised.value).startswith(text)
    assert [type(result) for result in Selector("true").matches_all([broken, GPU])] == [CelRuntimeError, bool]


def test_first_field_set_counts():
    assert Selector(f"{OWN}.x == 1").matches(prepared({"x": {"int": 1, "string": "a"}})) is True
    assert Selector(f'{OWN}.x == "a"').matches(prepared({"x": {"string": "a", "version": "1.0.0"}})) is True


def test_qualified_attribute_hides_the_bare_one():
    """CEL-10: upstream leaves open which is seen; ours is the one that constraints prefer."""
    twice = prepared({f"{DRIVER}/x": {"int": 2}, "x": {"int": 1}})
    assert Selector(f"{OWN}.x == 2").matches(twice) is True
    assert Selector(f"{OWN}.size() == 1").matches(twice) is True


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        pytest.param(f"{OWN}.nope == 1", f"no such key: nope. {HINT}", id="CEL-6-attribute"),
        pytest.param('device.attributes["nowhere"].x == 1', f"no such key: x. {HINT}", id="CEL-2-domain"),
        pytest.param(f'device.capacity["{DRIVER}"].x == quantity("1")', f"no such key: x. {HINT}", id="CEL-6-capacity"),
        pytest.param(f'{OWN}.index > "a"', "no such overload", id="CEL-6-type"),
        pytest.param(f"{OWN}.numa[7] == 1", "index out of bounds: 7", id="CEL-6-index"),
    ],
)
def test_runtime_errors(expression, text):
    with pytest.raises(CelRuntimeError) as raised:
        Selector(expression).matches(GPU)
    assert str(raised.value) == text


@pytest.mark.parametrize(("value", "kind", "reason"), cases("cel/devices", "result_that_is_no_bool_is_an_error"))
def test_result_that_is_no_bool_is_an_error(value, kind, reason):
    """CEL-5, CEL-6"""
    with pytest.raises(CelRuntimeError) as raised:
        Selector(f"dyn({value})").matches(GPU)
    assert str(raised.value) == f"CEL result of type {kind} could not be converted to bool: {reason}"


@pytest.mark.parametrize(
    ("expression", "type_"),
    [
        ("1", "int"),
        ("device", "kubernetes.DRADevice"),
        (OWN, "map(string, dyn)"),
        (f"{OWN}.?model", "optional_type(dyn)"),
    ],
)
def test_result_type_must_be_bool_or_unknown(expression, type_):
    """CEL-5"""
    with pytest.raises(CelCompileError) as raised:
        Selector(expression)
    assert str(raised.value) == f"must evaluate to bool or the unknown type, not {type_}"


def test_unchecked_type_may_turn_out_bool():
    """CEL-5"""
    assert Selector(f"{OWN}.healthy").matches(GPU) is True


class TestProjection:
    @pytest.mark.parametrize(
        ("expression", "paths"),
        [
            ('device.driver == "x"', {("driver",)}),
            ('device.attributes["d"].x == 1', {("attributes", "d", "x")}),
            ('device.attributes.d["x"] == 1', {("attributes", "d", "x")}),
            ('has(device.attributes["d"].x) && device.attributes["d"].x', {("attributes", "d", "x")}),
            ('has(device.attributes["d"].x) && device.attributes["d"].size() > 1', {("attributes", "d")}),
            ('device.attributes["d"].?x.orValue(1) == 1', {("attributes", "d", "x")}),
            ('"x" in device.attributes["d"]', {("attributes", "d")}),
            ('"d" in device.attributes', {("attributes",)}),
            ('cel.bind(a, device.attributes["d"], a.x && a.y)', {("attributes", "d")}),
            ("device.attributes[device.driver].x", {("attributes",), ("driver",)}),
            ("(device.attributes[device.driver]).x", {("attributes",), ("driver",)}),
            ('device.attributes["d"].l.exists(e, e == device.driver)', {("attributes", "d", "l"), ("driver",)}),
            ('device.capacity["d"].m.isGreaterThan(quantity("1"))', {("capacity", "d", "m")}),
            ('[device].exists(d, d.driver == "x")', {()}),
            ("dyn(device).driver == device.driver", {()}),
            ('device.attributes["d"][device.attributes["d"].x]', {("attributes", "d")}),
            ("true", set()),
        ],
    )
    def test_paths(self, expression, paths):
        assert read_paths(Program(expression).checked.tree) == paths

    def test_devices_that_agree_in_it_are_evaluated_once(self, monkeypatch):
        selector, seen = Selector(f'{OWN}.model == "a100"'), []
        evaluate = Selector.evaluate
        monkeypatch.setattr(
            Selector, "evaluate", lambda self, device, **more: seen.append(device) or evaluate(self, device, **more)
        )
        shapes = DeviceShapes()
        devices = [
            shapes.prepare(device_of({"model": {"string": model}, "uuid": {"string": str(n)}}), DRIVER)
            for n, model in enumerate(["a100", "h100"] * 20)
        ]
        assert selector.matches_all(devices) == [True, False] * 20
        assert [selector.matches(device) for device in devices] == [True, False] * 20
        assert len(seen) == 2

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ({"int": 1}, {"bool": True}),
            ({"string": "1.0.0"}, {"version": "1.0.0"}),
            ({"version": "1.0.0+a"}, {"version": "1.0.0"}),
            ({"ints": [1]}, {"bools": [True]}),
            ({"ints": [1]}, {"int": 1}),
            ({"int": 0}, {"bool": False}),
        ],
        ids=["int-bool", "string-version", "build", "lists", "list-scalar", "zero"],
    )
    def test_values_of_different_types_are_not_taken_for_each_other(self, one, other):
        shapes, selector = DeviceShapes(), Selector(f"{OWN}.x == 1 || {OWN}.x == [1] || type({OWN}.x) == string")
        devices = [shapes.prepare(device_of({"x": fields}), DRIVER) for fields in (one, other, one)]
        assert list(map(str, selector.matches_all(devices))) == [str(selector.evaluate(device)) for device in devices]

    @pytest.mark.parametrize("amounts", [("1", "1.0"), ("1.5", 1.5), (2, 2.0), ("1Ki", "1024")])
    def test_amounts_written_differently_are_told_apart(self, amounts):
        shapes, selector = DeviceShapes(), Selector(f'device.capacity["{DRIVER}"].m.isInteger()')
        devices = [shapes.prepare(device_of(capacity={"m": amount}), DRIVER) for amount in amounts]
        assert list(map(str, selector.matches_all(devices))) == [str(selector.evaluate(device)) for device in devices]

    def test_errors_are_remembered_as_results(self):
        selector = Selector(f"{OWN}.nope == 1")
        first, second = selector.matches_all([GPU, GPU])
        assert first is second
        for _ in range(3):
            with pytest.raises(CelRuntimeError, match="nope") as raised:
                selector.matches(GPU)
            assert raised.value is first

    def test_what_is_remembered_goes_with_the_devices(self):
        selector = Selector(f'{OWN}.x == "1"')
        selector.matches(prepared({"x": {"string": "1"}}))
        gc.collect()
        assert len(selector._memos) == 0


class TestShapes:
    def test_devices_of_a_kind_share_their_shape(self):
        shapes = DeviceShapes()
        first, second, third = (
            shapes.prepare(device_of({"uuid": {"string": uuid}, "x": {"int": 1}}), driver)
            for uuid, driver in (("1", "a"), ("2", "a"), ("1", "b"))
        )
        assert first.shape is second.shape is not third.shape
        assert first.values == ("1", 1)

    def test_the_value_is_kept_once_it_is_made(self):
        device = prepared({"x": {"int": 1}})
        assert device.cel_value is device.cel_value
        assert device.fresh_value() == device.cel_value
        assert device.fresh_value() is not device.cel_value

    @pytest.mark.parametrize(
        "device",
        [
            prepared({"x": {"string": "a" * 65}}),
            prepared({"x": {"ints": [0] * 49}}),
            prepared({"x": {"strings": ["a", "b" * 65]}}),
            prepared({"a" * 33: {"int": 1}}),
            prepared({f"{'d' * 64}/x": {"int": 1}}),
            prepared({f"a{n}": {"int": 1} for n in range(33)}),
            prepared(driver="d" * 64),
        ],
        ids=["text", "list", "text-in-list", "id", "domain", "fields", "driver"],
    )
    def test_devices_beyond_the_limits_of_the_api_are_known(self, device):
        assert device.oversized
        assert not GPU.oversized


class TestSelector:
    def test_cost_limit_holds_for_devices_that_estimates_do_not_cover(self):
        """CEL-9: counted wherever the estimate cannot vouch for the result."""
        quick = Selector(f"{OWN}.x.all(e, {OWN}.x.all(f, e == f || true))")
        assert quick.matches(prepared({"x": {"ints": [1, 2]}})) is True
        with pytest.raises(CelCostError, match="actual cost limit exceeded"):
            quick.matches(prepared({"x": {"ints": list(range(1000))}}))

    def test_estimate_beyond_the_limit_does_not_hinder_cheap_evaluations(self):
        costly = Selector(f"{OWN}.x.all(a, {OWN}.x.all(b, {OWN}.x.all(c, {OWN}.x.all(d, a == d))))")
        assert costly.program.estimate.max > 1_000_000
        assert costly.matches(prepared({"x": {"ints": [1]}})) is True

    def test_deadline_is_no_result(self):
        """CEL-11"""
        costly = Selector(f"lists.range(999).all(a, lists.range(999).all(b, a + b >= 0)) || {OWN}.index == 1")
        with pytest.raises(CelDeadlineError, match="operation interrupted"):
            costly.matches(GPU, deadline=0.0)
        assert costly._memos[GPU.shape][1] == {}
        with pytest.raises(CelDeadlineError):
            costly.matches_all([GPU], deadline=0.0)

    def test_it_pickles_as_its_text(self):
        selector = Selector(f"{OWN}.index == 1")
        selector.matches(GPU)
        data = pickle.dumps(selector)
        assert len(data) < 200
        copy = pickle.loads(data)
        assert (copy.text, copy.matches(GPU)) == (selector.text, True)

    def test_compiled_selectors_are_remembered(self):
        assert cel.compile_selector("device.driver == 'x'") is cel.compile_selector("device.driver == 'x'")
        for _ in range(2):
            with pytest.raises(CelCompileError, match="compilation failed") as raised:
                cel.compile_selector("device.driver ==")
            assert raised.value.issues

    def test_it_is_shown(self):
        assert repr(Selector.compile("true")) == "Selector('true')"


def test_an_unreadable_version_is_no_matter_of_other_devices_of_the_kind():
    """CEL-3: devices of one shape are read one by one."""
    shapes = DeviceShapes()
    texts = ["1.0.0", "one", "2.0.0"]
    devices = [shapes.prepare(device_of({"v": {"version": text}}, {"memory": "1Gi"}), DRIVER) for text in texts]
    assert len({device.shape for device in devices}) == 1
    assert [device.error is None for device in devices] == [True, False, True]
    assert devices[1].error.startswith("attribute v: parse semantic version: ")
    assert Selector(f"{OWN}.v.major() == 2").matches_all(devices)[::2] == [False, True]
    with pytest.raises(CelRuntimeError, match="attribute v: parse semantic version"):
        Selector("true").matches(devices[1])


def test_the_first_field_that_cannot_be_read_is_told():
    """CEL-3: in the order published, attributes before capacities."""
    attributes = {"a": {"string": "x"}, "b": {}, "c": {"version": "one"}}
    assert prepared(attributes, {"m": "lots"}).error == "attribute b: unsupported attribute value"
    assert prepared({"c": {"versions": ["1.0.0", "one"]}}, {"m": "lots"}).error.startswith("attribute c: parse")
    assert prepared({"a": {"string": "x"}}, {"m": "lots"}).error.startswith("capacity m: ")


def test_an_attribute_that_is_hidden_must_be_readable_nevertheless():
    """CEL-10: of two spellings the qualified one is seen; both are read."""
    both = {"v": {"version": "one"}, f"{DRIVER}/v": {"version": "1.0.0"}}
    assert prepared(both).error.startswith("attribute v: parse semantic version")
    seen = prepared({**both, "v": {"version": "2.0.0"}})
    assert Selector(f"{OWN}.v.major() == 1 && size({OWN}) == 1").matches(seen)


@pytest.mark.parametrize(
    ("attributes", "capacity", "oversized"),
    [
        pytest.param({"a": {"string": "x" * 64}}, {}, False, id="text"),
        pytest.param({"a": {"string": "x" * 65}}, {}, True, id="long text"),
        pytest.param({"a": {"version": "1.0.0-" + "x" * 64}}, {}, True, id="long version"),
        pytest.param({}, {"m": "0" * 64 + "1"}, True, id="long amount"),
        pytest.param({}, {"m": 10**70}, False, id="number"),
        pytest.param({"a": {"ints": [1] * 48}}, {}, False, id="list"),
        pytest.param({"a": {"ints": [1] * 49}}, {}, True, id="long list"),
        pytest.param({"a": {"strings": ["x", "x" * 65]}}, {}, True, id="long text in a list"),
        pytest.param({"a": {"int": 1}, "b": {"bool": True}}, {}, False, id="no texts"),
    ],
)
def test_devices_beyond_the_limits_of_the_api_are_told(attributes, capacity, oversized):
    """ATTR-3: short ones of the same kind do not make others short."""
    shapes = DeviceShapes()
    short = {name: {kind: "1.0.0" if kind == "version" else value for kind, value in fields.items()}
             for name, fields in attributes.items()}  # fmt: skip
    shapes.prepare(device_of(short, capacity), DRIVER)
    assert shapes.prepare(device_of(attributes, capacity), DRIVER).oversized is oversized
