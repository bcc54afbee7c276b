"""The example tables of KEP-5491's alternatives (SEM-7), and what they leave open, in every engine.

Where a table and the formulas differ the formulas win: by its first row "a" and "b" are not distinct in any mode, by
the formulas, and with coercion where a mode needs lists, they are in all three.
"""

from time import monotonic

import pytest
from msgspec.structs import replace
from support.gates import ALL
from support.objects import NODE, claim, device, device_class, fails, fatal, names, node, pool, want
from support.semantics import entry

from drasat.models.cluster.cluster import Cluster
from drasat.models.results.common import Status
from drasat.problem.node_state import AllocatedState
from drasat.solver.allocate.allocate import allocate
from drasat.solver.engines.engine import Session
from drasat.solver.engines.registry import auto_engine, backtracking_engine, cp_sat_engine
from drasat.solver.verification.verify import Placement, verify

COERCED = {"coerce_scalar_to_list": True}
LIST, SET = {"list_mode": "List"}, {"list_mode": "Set"}
AB, BA, AC, AD, BC, CD, CA, EF = (tuple(text) for text in ("ab", "ba", "ac", "ad", "bc", "cd", "ca", "ef"))

MATCHING = [
    (("a", "b"), False, False, False),
    ((AB, BA), False, True, True),
    ((AB, AC), False, False, True),
    ((AB, CD), False, False, False),
]
DISTINCT = [
    # The table says false three times.
    (("a", "b"), True, True, True, True),
    ((AB, BA), True, False, False, False),
    ((AB, AC, AD), True, True, False, False),
    ((AB, BC, CA), True, True, False, True),
    ((AB, CD, EF), True, True, True, True),
]


def holds(mode, *values, **options):
    """Whether devices with these values are allowed together, by every engine; what is allowed is verified."""
    supply = pool(*(device(f"d{number}", x=value) for number, value in enumerate(values)))
    asked = claim(want(count=len(values)), constraints=[entry(mode, **options)])
    cluster = Cluster.of([node(), device_class(), supply, asked])
    endings = set()
    for engine in (backtracking_engine, cp_sat_engine, auto_engine):
        allocated_state = AllocatedState(cluster.usage(ALL))
        made = engine(Session(cluster, ALL, "strict", 0)).allocate_on(
            cluster.node(NODE), [asked], allocated_state, monotonic() + 30
        )
        endings.add(made.status)
        if made.status is Status.ALLOCATED:
            placed = Placement(cluster.node(NODE), ((asked, made.allocations[0]),))
            assert verify(cluster, [placed], ALL, cel_errors="strict") == []
    (ending,) = endings
    assert ending in (Status.ALLOCATED, Status.UNALLOCATABLE)
    return ending is Status.ALLOCATED


@pytest.mark.parametrize(("values", "as_lists", "as_sets", "intersecting"), MATCHING, ids=str)
def test_table_of_match_semantics(values, as_lists, as_sets, intersecting):
    """SEM-7: Identical with listMode List and Set, NonEmptyIntersection."""
    assert holds("Identical", *values, **LIST) is holds("Identical", *values) is as_lists
    assert holds("Identical", *values, **SET) is as_sets
    assert holds("NonEmptyIntersection", *values, **COERCED) is intersecting


@pytest.mark.parametrize(("values", "as_lists", "as_sets", "disjoint", "empty"), DISTINCT, ids=str)
def test_table_of_distinct_semantics(values, as_lists, as_sets, disjoint, empty):
    """SEM-7: AllDistinct with listMode List and Set, PairwiseDisjoint, EmptyIntersection."""
    assert holds("AllDistinct", *values, **LIST) is holds("AllDistinct", *values) is as_lists
    assert holds("AllDistinct", *values, **SET) is as_sets
    assert holds("PairwiseDisjoint", *values, **COERCED) is disjoint
    assert holds("EmptyIntersection", *values, **COERCED) is empty


@pytest.mark.parametrize("mode", ["NonEmptyIntersection", "PairwiseDisjoint"])
def test_a_scalar_is_no_set_unless_it_is_made_one(mode):
    """SEM-2: the device is of no use to the entry, alone too."""
    assert not holds(mode, "a")
    assert holds(mode, "a", **COERCED)
    assert holds(mode, ("a",))


@pytest.mark.parametrize("list_mode", [LIST, SET])
def test_a_scalar_equals_a_list_only_if_it_is_made_one(list_mode):
    """SEM-2: equality needs no sets, so that scalars are compared as they are."""
    assert not holds("Identical", "a", ("a",), **list_mode)
    assert holds("Identical", "a", ("a",), **list_mode, **COERCED)
    assert holds("Identical", "a", "a", **list_mode)
    assert holds("AllDistinct", "a", ("a",), **list_mode)
    assert not holds("AllDistinct", "a", ("a",), **list_mode, **COERCED)


def test_duplicates_count_in_lists_only():
    """SEM-3."""
    assert not holds("Identical", ("a", "a"), ("a",))
    assert holds("Identical", ("a", "a"), ("a",), **SET)


def test_values_of_two_types_are_never_equal():
    """SEM-3."""
    assert not holds("Identical", (1,), ("1",))
    assert not holds("NonEmptyIntersection", (1,), ("1",))
    assert holds("AllDistinct", 1, "1")
    assert holds("PairwiseDisjoint", (1,), ("1",))


def test_so_many_values_must_be_in_common():
    """SEM-4: of all devices, also of a single one."""
    values = ("a", "b", "c"), ("b", "c", "d"), ("c", "b")
    assert holds("NonEmptyIntersection", *values, min_size=2)
    assert not holds("NonEmptyIntersection", *values, min_size=3)
    assert not holds("NonEmptyIntersection", ("a",), min_size=2)


def test_a_single_device_always_has_its_values_in_common():
    """SEM-6."""
    assert not holds("EmptyIntersection", AB)


def test_a_set_may_be_allowed_though_its_parts_are_not():
    """SEM-6: not monotonic, so that no pair may be given up before the third comes."""
    assert not holds("EmptyIntersection", AB, BC)
    assert holds("EmptyIntersection", AB, BC, CA)
    assert holds("EmptyIntersection", AB, AC, AD, CD)


@pytest.mark.parametrize(
    ("mode", "options", "detail"),
    [
        ("Identical", {}, "d.x/x missing"),
        ("PairwiseDisjoint", {}, "d.x/x is no list"),
        ("NonEmptyIntersection", {"min_size": 3}, "fewer than 3 values of d.x/x"),
    ],
)
def test_devices_without_a_value_are_said_to_lack_it(mode, options, detail):
    """CON-3, SEM-2, SEM-4."""
    value = {} if mode == "Identical" else {"x": "a"}
    asked = claim(want(), constraints=[entry(mode, **options)])
    cluster = Cluster.of([node(), device_class(), pool(device("d", **value)), asked])
    engine = backtracking_engine(Session(cluster, ALL, "strict", 0))
    made = engine.allocate_on(cluster.node(NODE), [asked], AllocatedState(cluster.usage(ALL)), None)
    assert made.status is Status.UNALLOCATABLE
    assert detail in repr(made.rejections)


def test_semantics_without_their_feature_are_refused():
    """SEM-1: nobody but the feature knows what they mean."""
    supply = pool(device("d", x="a"))
    refused = fatal(supply, claim(want(), constraints=[entry("Identical")]), gates={"DRAListTypeAttributes": False})
    assert refused.endswith("constraint #0: cannot handle entry with semantics, the feature is disabled")


def test_a_mode_of_the_other_attribute_is_refused():
    """SEM-1: for entries that no manifest could have."""
    misfit = replace(entry("Identical"), match_semantics=entry("AllDistinct").distinct_semantics)
    refused = fatal(pool(device("d", x="a")), claim(want(), constraints=[entry("Identical", unified=True), misfit]))
    assert refused.endswith("constraint #1: unknown mode 'AllDistinct' of semantics")


def test_derived_attributes_are_compared_like_published_ones():
    """CON-12: an empty list is no value."""
    supply = pool(device("d0", n=1), device("d1", n=2), device("d2", n=3))
    lists = {1: '["a", "b"]', 2: '["b", "c"]', 3: '["c", "a"]'}
    text = " : ".join(f'device.attributes["d.x"].n == {n} ? {value}' for n, value in lists.items()) + ' : [""]'
    entries = [entry("EmptyIntersection")]
    assert fails(supply, claim(want(count=2, derived={"d.x/x": text}), constraints=entries))
    assert names(supply, claim(want(count=3, derived={"d.x/x": text}), constraints=entries)) == ["d0", "d1", "d2"]
    assert fails(supply, claim(want(derived={"d.x/x": "[]"}), constraints=[entry("Identical")]))


@pytest.mark.parametrize("engine", ["auto", "backtracking", "cp-sat"])
@pytest.mark.parametrize("mode", ["NonEmptyIntersection", "EmptyIntersection"])
def test_a_derived_attribute_that_fails_is_told_if_it_alone_is_in_the_way(mode, engine):
    """CON-12, CELC-4: with policy strict, whether the entry is judged at once or in the end."""
    supply = pool(device("d0", n=("a", "b", "c")), device("d1", m=1))
    derived = {"d.x/x": 'device.attributes["d.x"].n'}
    wanted = claim(want(count=2, derived=derived), constraints=[entry(mode)])
    made = allocate(Cluster.of([node(), device_class(), supply, wanted]), engine=engine)
    assert [unit.outcome for unit in made.units] == ["Error"]
    assert "no such key: n" in made.units[0].reasons[0].message
