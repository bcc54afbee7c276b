"""Shapes as rows of an audit: what the rows allow is what the definitions of shapes do, and no more."""

from collections import Counter
from itertools import combinations, product
from random import Random

import pytest
from support.objects import after, claim, device, device_class, either, node, option, pool, want
from support.soft import wishing
from support.topology import asking, grid_of, line_of, shape, topology
from support.topology_settings import Setting

from drasat import load
from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.gates import FeatureGates
from drasat.scenarios.lattices import SHAPE_QUESTIONS, segment, wired_node
from drasat.solver.verification.audit import Refusal, audit
from drasat.solver.verification.existence import Audit, NodeAudit

GATES = FeatureGates.all_on()


@pytest.fixture(name="cuts", autouse=True)
def _cuts(monkeypatch):
    """How often a choice that the rows allow was refused by the rules of finished allocations."""
    judged = NodeAudit.refused
    cuts = []

    def refused(self, rows, taken):
        found = judged(self, rows, taken)
        cuts.extend([] if found is None else [found])
        return found

    monkeypatch.setattr(NodeAudit, "refused", refused)
    return cuts


def verdict(cluster, claims, where="n1"):
    (found,) = audit(cluster, [Refusal((cluster.node(where),), tuple(claims))], GATES)[0].nodes
    return found


def of_objects(*objects, waiting):
    return verdict(Cluster.of([device_class(), node("n1"), *objects]), waiting)


def ways(free, counts):
    """Yield all ways to give each request so many devices, each device once."""
    if not counts:
        yield ()
    for names in combinations(free, counts[0]) if counts else ():
        for rest in ways([name for name in free if name not in names], counts[1:]):
            yield (set(names), *rest)


class Question:
    """One or two claims that ask for shapes, and whether there is room by trying all ways."""

    def __init__(self, rng):
        self.setting = Setting(rng)
        while self.setting.shared or len(self.setting.names) > 7:
            self.setting = Setting(rng)
        self.free = [name for name in self.setting.names if name not in self.setting.used]
        self.counts = [[rng.randint(1, 3) for _ in range(rng.choice((1, 1, 2)))] for _ in range(rng.choice((1, 2)))]
        self.asks = [self.setting.ask() for _ in self.counts]
        # Of some claims only the first request is in the shape.
        self.whole = [rng.random() < 0.7 for _ in self.counts]

    def claims(self):
        for number, (counts, (kind, fields), whole) in enumerate(zip(self.counts, self.asks, self.whole, strict=True)):
            requests = [want(f"r{place}", count) for place, count in enumerate(counts)]
            covered = () if whole else ("r0",)
            yield wishing(claim(*requests, name=f"c{number}"), shape(kind, *covered, **fields))

    def objects(self):
        found = [self.setting.topology, self.setting.supply()]
        if self.setting.used:
            held = pool(*(device(name) for name in self.setting.used))
            found += after(held, claim(want(count=len(self.setting.used)), name="holder"))
        return found

    def fits(self):
        counts = [count for own in self.counts for count in own]
        return sum(counts) <= len(self.free) and any(map(self._holds, ways(self.free, counts)))

    def _holds(self, way):
        place = 0
        for counts, (kind, fields), whole in zip(self.counts, self.asks, self.whole, strict=True):
            own = way[place : place + len(counts)]
            place += len(counts)
            if not self.setting.holds(kind, fields, set().union(*own) if whole else own[0]):
                return False
        return True


def test_rows_allow_what_the_definitions_do(cuts):
    seen = Counter()
    for seed in range(400):
        asked = Question(Random(f"rows/{seed}"))
        found = of_objects(*asked.objects(), waiting=asked.claims())
        expected = asked.fits()
        assert found is (Audit.POSSIBLE if expected else Audit.IMPOSSIBLE), seed
        assert not cuts, seed
        seen.update((kind, expected) for kind, _ in asked.asks)
    kinds = ("Segment", "Box", "Connected", "Compact", "Subtree")
    assert all(seen[kind, fits] >= 8 for kind, fits in product(kinds, (True, False))), seen


def test_rows_of_devices_that_several_requests_share():
    for seed in range(150):
        rng = Random(f"shared/{seed}")
        setting = Setting(rng)
        kind, fields = setting.ask()
        counts = [rng.randint(1, 2) for _ in range(2)]
        entries = shape(kind, **fields)
        asked = wishing(claim(*(want(f"r{n}", count) for n, count in enumerate(counts)), name="c"), entries)
        free = setting.names
        pairs = product(*(combinations(free, count) for count in counts))
        fits = any(
            set(one) & set(other) <= setting.shared and setting.holds(kind, fields, {*one, *other})
            for one, other in pairs
        )
        found = of_objects(setting.topology, setting.supply(), waiting=[asked])
        assert found is (Audit.POSSIBLE if fits else Audit.IMPOSSIBLE), seed


@pytest.mark.parametrize("name", [name for name in SHAPE_QUESTIONS if not name.startswith("24 of")])
def test_large_shapes_are_decided_by_rows_alone(name, cuts):
    cluster = load(SHAPE_QUESTIONS[name].objects())
    claims = [one for one in cluster.claims.values() if not one.status]
    found = verdict(cluster, claims, next(iter(cluster.nodes)))
    assert found is (Audit.POSSIBLE if SHAPE_QUESTIONS[name].fits else Audit.IMPOSSIBLE)
    assert not cuts


@pytest.mark.parametrize(
    ("asks", "fits"),
    [
        ([(32, segment())] * 6, True),
        ([(32, segment())] * 7 + [(31, segment()), (2, segment())], False),
        ([(32, {"shape": "Connected"})] * 4, True),
    ],
)
def test_a_ring_of_256_is_shared_out(asks, fits, cuts):
    cluster = load(wired_node("Ring", (256,), asks))
    claims = [one for one in cluster.claims.values() if not one.status]
    assert verdict(cluster, claims, next(iter(cluster.nodes))) is (Audit.POSSIBLE if fits else Audit.IMPOSSIBLE)
    assert not cuts


def test_connected_sets_of_several_claims_on_a_grid(cuts):
    connected = {"shape": "Connected"}
    found = {}
    for claims in (2, 3):
        cluster = load(wired_node("Grid", (8, 8), [(12, connected)] * claims, used=0.45, seed=6))
        waiting = [one for one in cluster.claims.values() if not one.status]
        found[claims] = verdict(cluster, waiting, next(iter(cluster.nodes)))
    assert not cuts
    assert Audit.UNDECIDED not in found.values()


def test_boxes_keep_off_each_other(cuts):
    """Of a grid of 4x4 without two cells, three boxes of 2x2 fit, and no four."""
    grid = topology("Grid", "row", "column", size=(4, 4))
    claims = [asking(4, shape("Box", size=[2, 2]), name=f"c{number}") for number in range(4)]
    assert of_objects(grid, grid_of(4, 4, "d11"), waiting=claims[:3]) is Audit.POSSIBLE
    assert of_objects(grid, grid_of(4, 4, "d11"), waiting=claims) is Audit.IMPOSSIBLE
    assert of_objects(grid, grid_of(4, 4), waiting=claims) is Audit.POSSIBLE
    assert not cuts


@pytest.mark.parametrize("kind", ["Connected", "Compact"])
def test_a_set_is_in_one_pool(kind, cuts):
    """Coordinates are those of a pool: two devices of one and one of another are no set of three."""
    pools = [
        pool(device("a0", at=0), device("a1", at=1), name="a"),
        pool(device("b0", at=2), device("b1", at=3), name="b"),
    ]
    line = topology("Line", "at", scope="Pool")
    fields = {"maxDistance": 9} if kind == "Compact" else {}
    assert of_objects(line, *pools, waiting=[asking(2, shape(kind, **fields))]) is Audit.POSSIBLE
    assert of_objects(line, *pools, waiting=[asking(3, shape(kind, **fields))]) is Audit.IMPOSSIBLE
    assert not cuts


def test_a_topology_that_is_not_there_refuses_all(cuts):
    assert of_objects(line_of(4), waiting=[asking(2, shape("Segment", name="moon"))]) is Audit.IMPOSSIBLE
    assert not cuts


def test_of_alternatives_only_the_covered_one_is_in_the_shape():
    """TOPO-1, CON-1: a set that nothing is in holds."""
    supply = pool(*(device(f"d{place}", at=2 * place) for place in range(4)))
    asked = wishing(claim(either("r", option("two", 2), option("one", 1)), name="c"), shape("Connected", "r/two"))
    of_two = wishing(claim(either("r", option("two", 2), option("more", 3)), name="c"), shape("Connected", "r"))
    line = topology("Line", "at")
    assert of_objects(line, supply, waiting=[asked]) is Audit.POSSIBLE
    assert of_objects(line, supply, waiting=[of_two]) is Audit.IMPOSSIBLE
