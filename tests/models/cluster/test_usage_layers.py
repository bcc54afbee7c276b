"""Layered mappings against plain dictionaries."""

import random

import pytest

from drasat.models.cluster.usage import PersistentMap


def test_updates_leave_the_original_alone():
    base = PersistentMap({"a": (1,)})
    changed = base.updated({"a": (), "b": (2, 3)})
    assert (base.get("a"), base.get("b")) == ((1,), ())
    assert (changed.get("a"), changed.get("b")) == ((), (2, 3))


def test_items_leave_out_what_is_empty():
    changed = PersistentMap({"a": (1,), "b": (2,)}).updated({"a": (), "c": (3,)})
    assert sorted(changed.items()) == [("b", (2,)), ("c", (3,))]


def test_a_removed_key_can_come_back():
    assert PersistentMap({"a": (1,)}).updated({"a": ()}).updated({"a": (2,)}).get("a") == (2,)


@pytest.mark.parametrize("size", [0, 10, 5000])
def test_small_updates_share_the_base(size):
    base = PersistentMap({number: (number,) for number in range(size)})
    assert base.updated({0: (1,)})._base is base._base


def test_many_updates_are_merged():
    mapping = PersistentMap({})
    for number in range(1000):
        mapping = mapping.updated({number: (number,)})
    assert len(mapping._recent) <= 64
    assert dict(mapping.items()) == {number: (number,) for number in range(1000)}


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_a_dictionary(seed):
    rng = random.Random(seed)
    plain = {number: (number,) for number in range(rng.choice([0, 300]))}
    mapping = PersistentMap(dict(plain))
    for _ in range(400):
        key, values = rng.randrange(400), tuple(range(rng.randrange(3)))
        mapping, plain = mapping.updated({key: values}), {**plain, key: values}
    assert all(mapping.get(key) == plain.get(key, ()) for key in range(400))
    assert dict(mapping.items()) == {key: values for key, values in plain.items() if values}


def test_a_thousand_changes_of_a_large_base_do_not_copy_it_often():
    mapping = PersistentMap({number: (number,) for number in range(30_000)})
    bases = set()
    for number in range(1000):
        mapping = mapping.updated({number: ()})
        bases.add(id(mapping._base))
        assert len(mapping._recent) <= 64
    assert len(bases) <= 2
    assert len(mapping._middle) <= 30_000 ** (2 / 3)
    assert sum(1 for _ in mapping.items()) == 29_000


def test_many_first_values_are_a_base_without_empty_ones():
    mapping = PersistentMap({}).updated({number: (number,) if number % 2 else () for number in range(200)})
    assert len(mapping._base) == 100
    assert (mapping.get(1), mapping.get(2)) == ((1,), ())
