"""Expressions over all devices of an entry: what they see, when they are asked, and what comes of errors."""

import pytest
from support.objects import DRIVER, claim, device, device_class, either, node, option, pool, shared, version, want

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import CELDeviceConstraint, DeviceConstraint
from drasat.models.results.common import Status
from drasat.scenarios.lattices import in_a_row, some_ways
from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.load import load

A = f"attributes['{DRIVER}']"
ENGINES = ("auto", "cp-sat", "backtracking")


def cel(text, *requests):
    """An entry; ``.@`` is short for the driver's attributes."""
    expression = text.replace(".@", f".{A}.")
    return DeviceConstraint(cel=CELDeviceConstraint(expression=expression), requests=requests or None)


def ask(*objects, **options):
    return allocate(Cluster.of([device_class(), node(), *objects]), **options)


def taken(answer):
    """The devices of the only claim, which must be allocated, in result order."""
    (unit,) = answer.units
    assert answer.outcome == Status.ALLOCATED, unit.failures
    return [result.device for _, made in unit.allocations for result in made.devices.results]


def said(answer):
    """The text of the only reason on the only node."""
    ((failure,),) = (unit.failures for unit in answer.units)
    return failure.message


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param


ROW = pool(*(device(f"d{number}", i=number) for number in (3, 0, 4, 1, 2)))


def test_an_expression_is_about_all_devices_of_its_requests(engine):
    """CELC-2: and about no others."""
    entry = cel("devices.all(d, d.@i > 2) && devices.size() == 2", "q")
    answer = ask(ROW, claim(want("q", 2), want("r", 2), constraints=[entry]), engine=engine)
    assert sorted(taken(answer)[:2]) == ["d3", "d4"]


def test_all_that_is_published_of_a_device_is_there(engine):
    """CELC-2."""
    supply = pool(
        device("plain", version=version("1.2.0"), capacity={"memory": "40Gi"}),
        device("small", version=version("1.2.0"), capacity={"memory": shared("8Gi", default="1Gi")}, multi=True),
    )
    entry = cel(
        f"devices.exists(d, d.driver == '{DRIVER}' && d.@version.isGreaterThan(semver('1.1.9')) "
        f"&& d.capacity['{DRIVER}'].memory.compareTo(quantity('9Gi')) < 0 && d.allowMultipleAllocations)"
    )
    assert taken(ask(supply, claim(want(), constraints=[entry]), engine=engine)) == ["small"]


def test_devices_stand_in_the_order_of_requests_then_of_the_search(engine):
    """CELC-2, CELC-7."""
    entry = cel("devices.map(d, d.@i) == [4, 3, 0]")
    assert taken(ask(ROW, claim(want("q"), want("r", 2), constraints=[entry]), engine=engine)) == ["d4", "d3", "d0"]


def test_no_part_of_a_set_is_judged(engine):
    """CELC-3: two of three fail, the three hold."""
    entry = cel("devices.map(d, d.@i).sum() == 3 && devices.exists(d, d.@i == 2)")
    assert sorted(taken(ask(ROW, claim(want(count=3), constraints=[entry]), engine=engine))) == ["d0", "d1", "d2"]


@pytest.mark.parametrize("entries", [("r",), ("r/many",)], ids=["request", "alternative"])
def test_the_chosen_alternative_alone_counts(engine, entries):
    """CELC-3, SEM-0: an entry about the other alternative holds."""
    few = option("few", 1)
    asked = claim(either("r", option("many", 3), few), constraints=[cel("devices.size() < 3", *entries)])
    assert len(taken(ask(ROW, asked, engine=engine))) == 1


def test_several_entries_must_hold_together(engine):
    """CELC-1: any number of each."""
    entries = [cel("devices.map(d, d.@i).sum() > 6"), cel("devices.all(d, d.@i != 4 || devices.size() == 1)")]
    answer = ask(ROW, claim(want(count=2), constraints=entries), engine=engine)
    assert answer.outcome == Status.UNALLOCATABLE


# ``bare`` has no i: every expression that reads it there fails.
BARE = pool(device("bare"), device("one", i=1), device("two", i=2))
SUM = cel("devices.map(d, d.@i).sum() == 3")
NEVER = cel("devices.map(d, d.@i).sum() == 9")


@pytest.mark.parametrize("policy", ["strict", "skip"])
def test_a_set_that_fails_for_an_error_is_not_used(engine, policy):
    """CELC-4."""
    answer = ask(BARE, claim(want(count=2), constraints=[SUM]), engine=engine, cel_errors=policy)
    assert taken(answer) == ["one", "two"]


def test_an_error_is_the_outcome_where_nothing_fits_without_it(engine):
    """CELC-4: ``strict``."""
    answer = ask(BARE, claim(want(count=2), constraints=[NEVER]), engine=engine)
    ((reason,),) = (unit.reasons for unit in answer.units)
    assert answer.outcome == Status.ERROR
    assert reason.message.startswith("node n1: claim ns/c, constraint #0: CEL runtime error: no such key: i")


def test_an_error_beside_a_false_entry_is_not_in_the_way(engine):
    """CELC-4: without it, nothing would fit either."""
    entries = [NEVER, cel("devices.size() > 2")]
    assert ask(BARE, claim(want(count=2), constraints=entries), engine=engine).outcome == Status.UNALLOCATABLE


def test_an_error_counts_as_false_where_it_is_skipped(engine):
    """CELC-4: ``skip``."""
    asked = claim(want(count=2), constraints=[NEVER])
    assert ask(BARE, asked, engine=engine, cel_errors="skip").outcome == Status.UNALLOCATABLE


def test_a_result_of_another_type_is_an_error(engine):
    """CELC-4."""
    answer = ask(BARE, claim(want(), constraints=[cel("dyn(devices.size())")]), engine=engine)
    assert answer.outcome == Status.ERROR


def test_a_search_ends_with_the_first_error_that_it_meets():
    """CELC-4: ``kube``; entries are judged in their order, and a false one ends it."""
    asked = claim(want(count=2), constraints=[SUM])
    assert ask(BARE, asked, engine="backtracking", cel_errors="kube").outcome == Status.ERROR
    guarded = claim(want(count=2), constraints=[cel("devices.all(d, has(d.@i))"), SUM])
    assert taken(ask(BARE, guarded, engine="backtracking", cel_errors="kube")) == ["one", "two"]


def test_entries_about_alternatives_are_judged_in_their_order_too():
    """CELC-4."""
    request = either("r", option("x", 2))
    entries = [SUM, cel("devices.size() > 2", "r/x")]
    answer = ask(BARE, claim(request, constraints=entries), engine="backtracking", cel_errors="kube")
    assert answer.outcome == Status.ERROR


def test_equal_devices_are_one_value(engine):
    """CELC-5: each sees no other one, and so nobody beside it."""
    twins = pool(device("a", i=1), device("b", i=1))
    beside = cel("devices.all(d, devices.exists(e, d != e))")
    assert ask(twins, claim(want(count=2), constraints=[beside]), engine=engine).outcome == Status.UNALLOCATABLE


def test_a_row_does_not_wrap_around(engine):
    """CELC-8: 4, 5 and 0, 1 are no neighbours of each other on a ring of six."""
    ring = pool(*(device(f"d{number}", x=number) for number in (0, 1, 4, 5)))
    expression = in_a_row(4).replace("chip.example.com", DRIVER)
    assert ask(ring, claim(want(count=4), constraints=[cel(expression)]), engine=engine).outcome == Status.UNALLOCATABLE


RICH = pool(
    *(
        device(
            f"d{number}",
            i=number,
            half=number // 2,
            tag="ab"[number % 2],
            tags=("a", "b") if number % 3 else ("c",),
            v=version(f"1.{number}.0"),
            capacity={"memory": f"{number + 1}Gi"},
            **({"odd": True} if number % 2 else {}),
        )
        for number in range(6)
    )
)
LOWERED = {
    "all pairs": "devices.all(d, devices.all(e, d == e || d.@half != e.@half))",
    "sum": "devices.map(d, d.@i).sum() == 9",
    "min and max": "devices.map(d, d.@i).max() - devices.map(d, d.@i).min() == 2",
    "size": "devices.filter(d, d.@tag == 'a').size() < devices.filter(d, d.@tag == 'b').size()",
    "exists_one": "devices.exists_one(d, d.@i > 3)",
    "exists": "devices.exists(d, d.@i == 5)",
    "all": "devices.all(d, d.@i >= 3)",
    "filter": "devices.filter(d, d.@i < 2).size() == 2",
    "distinct": "devices.map(d, d.@half).distinct().size() == 2",
    "in": "4 in devices.map(d, d.@i) && devices.all(d, d.@tag in ['a', 'c'])",
    "includes": "devices.filter(d, d.@tags.includes('c')).size() == 2",
    "sets": "sets.contains(devices.map(d, d.@i), [2, 5]) && devices.all(d, sets.intersects(d.@tags, ['a', 'c']))",
    "has": "devices.exists_one(d, has(d.@odd) && d.@odd)",
    "condition": "devices.all(d, d.@tag == 'a' ? d.@i > 3 : d.@i < 4)",
    "cel.bind": "cel.bind(n, devices.map(d, d.@i).sum(), n > 9 && n < 11)",
    "double": "devices.map(d, double(d.@i) / 2.0).sum() == 4.5",
    "uint": "devices.map(d, uint(d.@i)).sum() == 7u",
    "quantity": "devices.all(d, d.capacity['d.x'].memory.add(quantity('1Gi')).compareTo(quantity('5Gi')) >= 0)",
    "version": "devices.all(d, d.@v.isLessThan(semver('1.3.0')))",
}


@pytest.mark.parametrize("text", LOWERED.values(), ids=LOWERED)
def test_what_is_lowered_is_not_evaluated_while_searching(text):
    """CELC-9."""
    asked = claim(want(count=3), constraints=[cel(text)])
    answer = ask(RICH, asked, engine="cp-sat", cel_encoding="lower")
    assert len(taken(answer)) == 3
    assert (answer.statistics.cel_evaluations, answer.statistics.no_goods) == (0, 0)


SORTED = cel("devices.map(d, d.@i).isSorted() && devices.map(d, d.@i).sum() == 3")


def test_an_encoding_that_cannot_be_made_is_refused():
    """CELC-9: nothing is said about the devices."""
    answer = ask(ROW, claim(want(count=3), constraints=[SORTED]), engine="cp-sat", cel_encoding="lower")
    assert answer.outcome == Status.UNKNOWN
    assert said(answer).startswith("constraint #0 cannot be lowered: isSorted")
    many = pool(*(device(f"d{number}", i=number) for number in range(30)))
    answer = ask(many, claim(want(count=8), constraints=[SORTED]), engine="cp-sat", cel_encoding="table")
    assert answer.outcome == Status.UNKNOWN
    assert said(answer) == "constraint #0 cannot be tabulated: there are 5852925 combinations of devices"


def test_where_none_is_wished_for_another_encoding_is_found():
    """CELC-9."""
    for encoding in ("auto", "table", "lazy"):
        answer = ask(ROW, claim(want(count=3), constraints=[SORTED]), engine="cp-sat", cel_encoding=encoding)
        assert taken(answer) == ["d0", "d1", "d2"]
        assert answer.statistics.cel_evaluations > 0


def test_what_fails_for_fewer_devices_may_hold_for_more():
    """CELC-10: only the vector that failed is forbidden."""
    supply = pool(*(device(f"gpu{number}", kind="gpu") for number in range(4)), device("switch", kind="switch"))
    entry = cel("devices.exists(d, d.@kind == 'switch')", "r", "s")
    asked = claim(want("r", 1), either("s", option("two", 2), option("one", 1)), constraints=[entry])
    answer = ask(supply, asked, engine="cp-sat", cel_encoding="lazy")
    assert "switch" in taken(answer)


def test_no_more_rounds_than_there_are_vectors():
    """CELC-10: and one that nothing is left of is a certain no."""
    supply = pool(*(device(f"d{number}", kind=number % 2) for number in range(8)))
    entry = cel("devices.map(d, d.@kind).sum() > 4")
    answer = ask(supply, claim(want(count=4), constraints=[entry]), engine="cp-sat", cel_encoding="lazy")
    assert answer.outcome == Status.UNALLOCATABLE
    # Zero to four of one kind, asked about twice: the second run confirms the first.
    assert 5 <= answer.statistics.no_goods <= 10


def test_rounds_that_end_decide_nothing(monkeypatch):
    """CELC-10: unknown, never a no."""
    monkeypatch.setattr("drasat.solver.engines.cp_sat.MAX_ROUNDS", 3)
    answer = allocate(load(some_ways(8, 0.0)), engine="cp-sat")
    assert answer.outcome == Status.UNKNOWN


def test_few_rounds_find_what_is_not_rare():
    """CELC-10."""
    rounds = [allocate(load(some_ways(8, 0.1, seed=seed)), engine="cp-sat").statistics.no_goods for seed in range(5)]
    assert max(rounds) <= 40


def test_without_the_gate_an_expression_is_no_constraint():
    """CELC-1, PRE-12."""
    asked = claim(want(), constraints=[cel("true")])
    answer = ask(ROW, asked, feature_gates={"DRACELDeviceConstraint": False})
    assert answer.outcome == Status.ERROR
    assert "empty constraint" in answer.units[0].reasons[0].message


ENCODINGS = {"lower": "cel_lowered", "table": "cel_tabulated", "lazy": "cel_lazy"}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_statistics_tell_the_encoding(encoding):
    """CELC-9."""
    asked = claim(want(count=2), constraints=[cel("devices.map(d, d.@i).sum() == 5"), cel("size(devices) == 2")])
    statistics = ask(ROW, asked, engine="cp-sat", cel_encoding=encoding).statistics
    assert {one: getattr(statistics, name) for one, name in ENCODINGS.items()} == {
        **dict.fromkeys(ENCODINGS, 0),
        encoding: 2,
    }
