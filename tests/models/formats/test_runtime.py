"""The garbage collector is spared, and left as it was."""

import gc
import threading

import pytest

from drasat.models.formats.runtime import gc_paused, gc_young_only


@pytest.fixture(autouse=True)
def collector():
    threshold, enabled = gc.get_threshold(), gc.isenabled()
    gc.enable()
    yield
    gc.set_threshold(*threshold)
    (gc.enable if enabled else gc.disable)()


def test_paused_and_back():
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_who_had_it_off_keeps_it_off():
    gc.disable()
    with gc_paused():
        pass
    assert not gc.isenabled()


def test_what_was_made_while_paused_is_old():
    with gc_paused():
        made = [[number] for number in range(100)]
    assert any(item is made for item in gc.get_objects(generation=2))


def test_what_others_froze_stays_frozen():
    gc.freeze()
    try:
        count = gc.get_freeze_count()
        with gc_paused():
            made = [[number] for number in range(100)]
        assert gc.get_freeze_count() == pytest.approx(count, rel=0.05)
        assert not any(item is made for item in gc.get_objects(generation=2))
    finally:
        gc.unfreeze()


def test_only_full_collections_stop():
    gc.set_threshold(700, 10, 10)
    with gc_young_only():
        young, middle, full = gc.get_threshold()
    assert (young, middle) == (700, 10)
    assert full > 10**9
    assert gc.get_threshold() == (700, 10, 10)


def test_an_exception_leaves_it_as_it_was():
    before = gc.get_threshold()
    with pytest.raises(KeyError), gc_young_only():
        raise KeyError
    assert gc.get_threshold() == before


def test_nested_and_by_several_threads():
    """Whoever leaves last switches full collections on again, not who came first."""
    before = gc.get_threshold()
    inside, leave = threading.Event(), threading.Event()

    def other():
        with gc_young_only():
            inside.set()
            leave.wait(10)

    with gc_young_only(), gc_young_only():
        thread = threading.Thread(target=other)
        thread.start()
        assert inside.wait(10)
    assert gc.get_threshold() != before
    leave.set()
    thread.join(10)
    assert gc.get_threshold() == before


def test_as_a_decorator():
    seen = []

    @gc_young_only()
    def work():
        seen.append(gc.get_threshold()[2])

    before = gc.get_threshold()
    work()
    assert seen[0] > 10**9
    assert gc.get_threshold() == before
