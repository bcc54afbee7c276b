"""Layered mappings against plain dictionaries."""

import random

import pytest

from drasat.models.layered import Layered


def test_updates_leave_the_original_alone():
    base = Layered({"a": (1,)})
    changed = base.updated({"a": (), "b": (2, 3)})
    assert (base.get("a"), base.get("b")) == ((1,), ())
    assert (changed.get("a"), changed.get("b")) == ((), (2, 3))


def test_items_leave_out_what_is_empty():
    changed = Layered({"a": (1,), "b": (2,)}).updated({"a": (), "c": (3,)})
    assert sorted(changed.items()) == [("b", (2,)), ("c", (3,))]


def test_a_removed_key_can_come_back():
    assert Layered({"a": (1,)}).updated({"a": ()}).updated({"a": (2,)}).get("a") == (2,)


@pytest.mark.parametrize("size", [0, 10, 5000])
def test_small_updates_share_the_base(size):
    base = Layered({number: (number,) for number in range(size)})
    assert base.updated({0: (1,)})._base is base._base


def test_many_updates_are_merged():
    mapping = Layered({})
    for number in range(1000):
        mapping = mapping.updated({number: (number,)})
    assert len(mapping._recent) <= 64
    assert dict(mapping.items()) == {number: (number,) for number in range(1000)}


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_a_dictionary(seed):
    rng = random.Random(seed)
    plain = {number: (number,) for number in range(rng.choice([0, 300]))}
    mapping = Layered(dict(plain))
    for _ in range(400):
        key, values = rng.randrange(400), tuple(range(rng.randrange(3)))
        mapping, plain = mapping.updated({key: values}), {**plain, key: values}
    assert all(mapping.get(key) == plain.get(key, ()) for key in range(400))
    assert dict(mapping.items()) == {key: values for key, values in plain.items() if values}
