"""Devices that a request sees as equal are judged once: never where one of them could be judged otherwise."""

from itertools import product

import pytest
from support.objects import attribute, device

from drasat.cel.devices import prepare_device
from drasat.cel.selector import Selector
from drasat.models.formats.decode import Model
from drasat.models.kubernetes.slices import DeviceAttribute, ResourceSlice
from drasat.solver.verification.equal_devices import EqualDevices, attributes_read
from drasat.solver.verification.published import PublishedDevice

MODEL = 'device.attributes["d.x"].model'


@pytest.mark.parametrize(
    ("expression", "read"),
    [
        (f'{MODEL} == "a"', {("d.x", "model")}),
        ("device.attributes['d.x'].model in ['a']", {("d.x", "model")}),
        (f'{MODEL}.startsWith("a") && device.driver == "d.x"', {("d.x", "model")}),
        ('device.capacity["d.x"].memory.compareTo(quantity("1Gi")) > 0', set()),
        ("device.allowMultipleAllocations", set()),
        (f"has({MODEL})", {("d.x", "model")}),
        # Everything else may read more.
        ("device.attributes['d.x'].exists(k, k == 'model')", None),
        ("device.attributes['d.x'].exists (k, k == 'model')", None),
        ("device.attributes['d.x']['model'] == 'a'", None),
        ("device.attributes[device.driver].model == 'a'", None),
        ("'model' in device.attributes['d.x']", None),
        ("size(device.attributes) == 1", None),
        ("device == device", None),
        ("device.attributes['d.x'].?model.orValue('a') == 'a'", None),
        ("device.attributes['d\\u002ex'].model == 'a'", None),
        ("[device].exists(d, d.attributes['d.x'].model == 'a')", None),
        ("'device.attributes[\"' + device.driver + '\"].id' == 'a'", None),
        ("device.attributes['d.x'].`a-b` == 'a'", None),
    ],
)
def test_what_a_selector_reads_is_known_only_where_its_text_leaves_no_doubt(expression, read):
    assert attributes_read(expression) == (None if read is None else frozenset(read))


VALUES = [None, "a", "b", 1, True]
HIDDEN = [None, "x", 7, DeviceAttribute(version="1.2.3"), DeviceAttribute(version="not one"), DeviceAttribute()]
SELECTORS = [
    f'{MODEL} == "a"',
    f"has({MODEL})",
    f'{MODEL} == 1 || device.attributes["other"].model == "a"',
    'device.capacity["d.x"].memory.compareTo(quantity("1Gi")) > 0',
    "size(device.attributes['d.x']) > 1",
    "device.attributes['d.x'].exists(k, k == 'hidden')",
    "true",
]


def published(**given):
    return PublishedDevice(device("g", **given), ResourceSlice(), ("d.x", "p", "g"))


def variants():
    for plain, full, hidden, memory in product(VALUES, [None, "a"], HIDDEN, [None, "1Gi", "2Gi", 2.5]):
        given = {"model": plain, "d.x/model": full, "hidden": hidden}
        attributes = {
            name: value if isinstance(value, Model) else attribute(value)
            for name, value in given.items()
            if value is not None
        }
        yield published(attributes=attributes, capacity={"memory": memory} if memory else None)


@pytest.mark.parametrize("expression", SELECTORS)
def test_equal_devices_get_one_answer(expression):
    """CEL-2, CEL-3, CEL-10, CON-2: attributes under both spellings, values that cannot be read, amounts."""
    equal, selector = EqualDevices([expression]), Selector.compile(expression)
    answers: dict = {}
    for entry in variants():
        key = equal.key(entry)
        told = selector.evaluate(prepare_device(entry.device, "d.x"))
        if key is not None:
            assert str(answers.setdefault(key, told)) == str(told)
    assert answers or attributes_read(expression) is None


def test_serial_numbers_do_not_count():
    equal = EqualDevices([f'{MODEL} == "a"'])
    one, other, third = (published(model=model, uuid=uuid) for model, uuid in [("a", "1"), ("a", "2"), ("b", "1")])
    assert equal.key(one) == equal.key(other) != equal.key(third)
