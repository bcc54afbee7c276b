"""Copies of claims whose entries are judged on complete sets: how many fit, proven, against trying everything."""

from itertools import chain, combinations
from random import Random

import pytest
from msgspec.structs import replace
from support.capacity import ask, exactly
from support.objects import attribute, claim, device, device_class, draws, match, node, partitions, pool, want
from support.related import Related
from support.soft import cel, near, wishing
from support.topology import asking, line_of, shape, topology

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import ResourceClaimTemplate, ResourceClaimTemplateSpec
from drasat.models.kubernetes.core import LabelSelector, Pod, PodResourceClaim, PodSpec
from drasat.models.kubernetes.extensions import (
    ConstraintGroup,
    ConstraintGroupSpec,
    Entry,
    GroupClaim,
    GroupPod,
    Predicate,
    PredicateError,
    annotated_entries,
    with_entries,
)
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.solver.allocate.allocate import allocate
from drasat.solver.capacity.node import CopyEngine
from drasat.solver.capacity.records import find_copy_source
from drasat.solver.engines.engine import Session


class Copied(Related):
    """A single claim, one of whose requests may have admin access."""

    def __init__(self, rng):
        super().__init__(rng)
        requests, entries = self.claims[0]
        self.claims = [(requests[:2], entries)]
        self.admin = {place for place, own in enumerate(requests) if len(own) == 1 and rng.random() < 0.1}

    def objects(self):
        """The cluster and the claim, without a pod; soft entries are among its own."""
        found = [one for one in super().objects() if type(one).__name__ != "Pod"]
        return [self._completed(one) if self.is_open(one) else one for one in found]

    @staticmethod
    def is_open(one):
        return type(one).__name__ == "ResourceClaim" and one.status is None

    def _completed(self, asked):
        requests = tuple(
            replace(one, exactly=replace(one.exactly, admin_access=True)) if place in self.admin else one
            for place, one in enumerate(asked.spec.devices.requests)
        )
        wish = annotated_entries(wishing(asked, near(attribute="d.x/kind", weight=3)).metadata)
        metadata = with_entries(asked.metadata, [*annotated_entries(asked.metadata), *wish])
        spec = replace(asked.spec, devices=replace(asked.spec.devices, requests=requests))
        return replace(asked, spec=spec, metadata=metadata)

    def most(self):
        """The largest number of copies that stand side by side; None: any number."""
        held = {frozenset(one) for one in self._copies()}
        return None if frozenset() in held else self._packed(list(held), frozenset())

    def _packed(self, held, taken):
        fitting = [one for one in held if taken.isdisjoint(one)]
        return max((1 + self._packed(fitting[place:], taken | one) for place, one in enumerate(fitting)), default=0)

    def _copies(self):
        """Yield for each way to serve a copy the devices that nobody else can have then."""
        for chosen in self._served(0, {}):
            if self._judged(0, _EVERYTHING, chosen):
                ordinary = (names for (_, place), names in chosen.items() if place not in self.admin)
                yield set(chain.from_iterable(ordinary)) - self.setting.shared

    def _served(self, place, chosen):
        requests, _ = self.claims[0]
        if place == len(requests):
            yield chosen
            return
        taken = set(chain.from_iterable(chosen.values())) - self.setting.shared
        for count, kind in requests[place]:
            able = [name for name in self.names if self._is_able(place, kind, name) and name not in taken]
            for names in combinations(able, count):
                yield from self._served(place + 1, {**chosen, (0, place): names})

    def _is_able(self, place, kind, name):
        used = name in self.setting.used and place not in self.admin
        return not used and name not in self.tainted and kind in (None, self.more[name]["kind"])


class _Everything:
    """All entries hold."""

    def __contains__(self, _entry):
        return True


class _Kept:
    entries = _Everything()


_EVERYTHING = _Kept()


def in_turn(objects, most):
    """How many copies the scheduler's search places, one after the other."""
    asked = next(one for one in objects if Copied.is_open(one))
    others = [one for one in objects if one is not asked]
    copies = [replace(asked, metadata=replace(asked.metadata, name=f"x{number:02}")) for number in range(most + 1)]
    answers = allocate(Cluster.of([*others, *copies]), engine="backtracking").units
    return next(number for number, one in enumerate(answers) if one.outcome != "Allocated")


@pytest.mark.parametrize("start", range(0, 120, 30))
def test_as_many_fit_as_trying_everything_finds(start):
    for seed in range(start, start + 30):
        copied = Copied(Random(seed))
        found, most = ask(*copied.objects()).total, copied.most()
        if most is None or found.unbounded:
            assert found.unbounded == (most is None), seed
        elif copied.admin:
            assert found.fits <= most <= found.bound, seed
        else:
            assert (found.fits, found.bound) == (most, most), seed
            assert found.first_fit == in_turn([*copied.objects(), device_class(), node()], most), seed


def test_what_stops_the_next_is_told():
    found = ask(topology("Line", "at"), line_of(5), asking(2, shape("Segment")))
    assert found.total == exactly(2)
    assert found.nodes[0].reasons


def test_first_fit_does_not_mind_the_order_that_an_expression_needs():
    # In the order of the scheduler the two of kind b go to the first copy.
    there = pool(*(device(f"d{number}", kind=kind) for number, kind in enumerate("bbaaaa")))
    some = cel("devices.exists(d, d.attributes['d.x'].kind == 'b')", weight=None)
    assert ask(there, wishing(claim(want(count=2)), some)).total == exactly(2, first_fit=1)


def test_parts_and_relations():
    sets = {f"s{number}": {"m": 2} for number in range(4)}
    members = [device(f"d{n}{m}", draws(f"s{n}", m=1), at=2 * n + m) for n in range(4) for m in range(2)]
    slices = partitions(*members, sets=sets)
    tied = match("d.x/half")
    halves = [
        replace(one, attributes={**one.attributes, "half": attribute(number // 4)})
        for number, one in enumerate(members)
    ]
    asked = asking(2, shape("Segment"))
    assert ask(topology("Line", "at"), *slices, asked).total == exactly(4)
    asked = replace(asked, spec=replace(asked.spec, devices=replace(asked.spec.devices, constraints=(tied,))))
    assert ask(topology("Line", "at"), *partitions(*halves, sets=sets), asked).total == exactly(4)


def test_soft_entries_do_not_matter():
    there = pool(*(device(f"d{number}", kind=kind) for number, kind in enumerate("abab")))
    plain = claim(want(count=2))
    asked = wishing(plain, near(attribute="d.x/kind", weight=9), cel("false", weight=1))
    assert ask(there, asked).total == ask(there, plain).total == exactly(2)


def asked_as_one(*objects):
    """Whether nodes with devices of their own are asked as one that sees all devices."""
    there = Cluster.of([*objects, node("n1"), node("n2"), device_class()])
    engine = CopyEngine(Session(there, FeatureGates.all_on(), "strict", 0), find_copy_source(there))
    return engine.merged_query([engine.query(one, None) for one in there.nodes.values()]) is not None


@pytest.mark.parametrize(
    ("rings", "known"),
    [(topology("Ring", "at"), False), (topology("Ring", "at", size=(6,)), True), (topology("Line", "at"), True)],
)
def test_where_a_ring_is_larger_with_more_devices_nodes_are_not_asked_as_one(rings, known):
    # On n1 the ring has three places, so that d2 and d0 are next to each other.
    slices = [
        pool(*(device(f"d{place}", at=place) for place in places), name=name, node_name=name, slice_name=name)
        for name, places in (("n1", (0, 1, 2)), ("n2", (3, 4, 5)))
    ]
    assert asked_as_one(rings, *slices, asking(2, shape("Segment"))) == known


def test_what_admin_access_leaves_of_the_entries_bounds_copies():
    asked = wishing(claim(want("r", 2), want("s", admin=True)), shape("Segment", "r"))
    assert ask(topology("Line", "at"), line_of(6, 1, 3), asked).total == exactly(1)
    asked = wishing(claim(want("r", 2), want("s", admin=True)), shape("Segment"))
    assert ask(topology("Line", "at"), line_of(3), asked).total == exactly(1)


@pytest.mark.parametrize(
    ("expression", "known"), [("devices[0].driver == 'd.x'", False), ("devices.size() == 2", True)]
)
def test_where_the_order_decides_nodes_are_not_asked_as_one(expression, known):
    slices = [pool(device(name), name=name, node_name=name, slice_name=name) for name in ("n1", "n2")]
    assert asked_as_one(*slices, wishing(claim(want(count=2)), cel(expression, weight=None))) == known


def group(**fields):
    spec = ConstraintGroupSpec(constraints=(Entry(match_attribute="d.x/kind"),), **fields)
    return ConstraintGroup(metadata=ObjectMeta(name="g", namespace="ns"), spec=spec)


LEFT_ASIDE = ("what ConstraintGroups ask of several claims is left aside: ns/g",)


@pytest.mark.parametrize(
    ("fields", "notices"),
    [
        ({"claims": (GroupClaim(name="c"), GroupClaim(name="other"))}, LEFT_ASIDE),
        ({"claims": (GroupClaim(name="other"),)}, ()),
        ({"claim_selector": LabelSelector(match_labels={"job": "a"})}, LEFT_ASIDE),
        ({"claim_selector": LabelSelector(match_labels={"job": "b"})}, ()),
    ],
)
def test_groups_are_left_aside_aloud(fields, notices):
    there = pool(device("a", kind="x"), device("b", kind="y"))
    asked = claim(want())
    asked = replace(asked, metadata=replace(asked.metadata, labels={"job": "a"}))
    found = ask(there, asked, claim(want(), name="other"), group(**fields), claim="ns/c")
    assert found.notices == notices
    assert found.total == exactly(2)


def test_a_group_of_the_pod_that_is_copied_is_left_aside_aloud():
    asked = claim(want(count=1))
    template = ResourceClaimTemplate(
        metadata=ObjectMeta(name="t", namespace="ns"), spec=ResourceClaimTemplateSpec(spec=asked.spec)
    )
    entries = (PodResourceClaim(name="gpu", resource_claim_template_name="t"),)
    pod = Pod(metadata=ObjectMeta(name="p", namespace="ns"), spec=PodSpec(resource_claims=entries))
    there = pool(device("a", kind="x"), device("b", kind="y"))
    found = ask(there, template, pod, group(pods=(GroupPod(name="p"),)), pod="ns/p")
    unknown = "1 node has neither status.allocatable nor status.capacity, such as n1"
    assert found.notices == (*LEFT_ASIDE, f"{unknown}: they are taken to have room for any pods")
    assert found.total == exactly(2)


@pytest.mark.parametrize(
    ("entry", "fits"),
    [
        ({"matchAttribute": "d.x/kind"}, 2),
        ({"cel": {"expression": "devices.exists(d, d.attributes['d.x'].kind == 0)"}}, 2),
        (Predicate(lambda devices: len({one.attributes["d.x/kind"] for one in devices}) == 1, name="alike"), 2),
        (Predicate(lambda devices: any(one.attributes["d.x/kind"] == 1 for one in devices)), 1),
    ],
    ids=["matchAttribute", "cel", "predicate", "rare"],
)
def test_constraints_of_the_caller_hold_for_every_copy(entry, fits):
    """CELC-1: beside the entries of the claim; four devices are of one kind and one of another."""
    kinds = pool(*(device(f"d{number}", kind=number // 4) for number in range(5)))
    found = ask(kinds, claim(want(count=2)), constraints=[entry])
    assert (found.total.fits, found.total.proven) == (fits, True)


def test_an_exception_of_a_predicate_names_the_predicate():
    def spread(_devices):
        raise KeyError("d.x/rail")

    with pytest.raises(PredicateError, match=r"^the predicate spread raised KeyError: 'd\.x/rail'$"):
        ask(pool(device("a"), device("b")), claim(want(count=2)), constraints=[Predicate(spread)])
