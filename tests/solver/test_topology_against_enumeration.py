"""Shapes in random small topologies: every engine, and every judge alone, against trying all sets of devices."""

from dataclasses import dataclass
from itertools import combinations, permutations, product
from random import Random

import networkx
import pytest
from dra_build import DRIVER, after, claim, device, either, option, pool, want
from soft_build import wishing
from topology_build import answered, shape, together, topology

from drasat.models.entries import TopologyAsk
from drasat.models.placed_devices import Places
from drasat.models.slices import Device
from drasat.models.topology_graphs import placed
from drasat.problem.topology import TopologyCondition
from drasat.solver.outcome import ALLOCATED, UNALLOCATABLE

ENGINES = ("backtracking", "cp-sat", "auto")
LATTICES = {
    "Ring": [((size,), (True,)) for size in (2, 3, 5, 6, 7)],
    "Line": [((size,), (False,)) for size in (3, 5, 7)],
    "Grid": [((2, 3), (False, False)), ((3, 3), (True, False)), ((2, 4), (False, True))],
    "Torus": [((3, 3), (True, True)), ((2, 4), (True, True)), ((2, 2, 2), (True, True, True))],
}


@dataclass
class Numbered:
    """A device known by its number, as in a Problem."""

    id: int
    device: Device
    driver: str = DRIVER


class Setting:
    """A topology with holes; what is true of sets of its devices is said by networkx, or by walking over all cells."""

    def __init__(self, rng):
        self.rng = rng
        self.shape = rng.choice(("Ring", "Line", "Grid", "Torus", "Tree", "Links"))
        self.attributes = {}
        self.sizes = self.periodic = ()
        {"Tree": self._tree, "Links": self._links}.get(self.shape, self._lattice)()
        self.names = sorted(self.attributes)
        self.placed = [name for name in self.names if "lost" not in self.attributes[name]]
        self.used = [name for name in self.placed if rng.random() < rng.choice((0, 0.2, 0.4))]
        self.shared = frozenset(name for name in self.names if rng.random() < rng.choice((0, 0, 0, 0.3)))
        self.used = [name for name in self.used if name not in self.shared]

    def _lattice(self):
        rng = self.rng
        self.sizes, self.periodic = rng.choice(LATTICES[self.shape])
        self.coordinates = "xyz"[: len(self.sizes)]
        cells = list(product(*map(range, self.sizes)))
        kept = [cell for cell in cells if rng.random() < rng.choice((1, 0.8))] or cells[:1]
        names = rng.sample([f"d{number}" for number in range(len(cells))], len(kept))
        self.cells = dict(zip(names, kept, strict=True))
        for name, cell in self.cells.items():
            self.attributes[name] = dict(zip(self.coordinates, cell, strict=True))
        self._lose()
        self.graph = networkx.Graph()
        self.graph.add_nodes_from(self.cells)
        for one, other in combinations(self.cells, 2):
            if sum(self._steps(one, other)) == 1:
                self.graph.add_edge(one, other)
        given = {"size": self.sizes}
        self.topology = topology(self.shape, *self.coordinates, **given, **self._wrapping())

    def _wrapping(self):
        return {"periodic": self.periodic} if self.shape == "Grid" and any(self.periodic) else {}

    def _steps(self, one, other):
        for a, b, size, wraps in zip(self.cells[one], self.cells[other], self.sizes, self.periodic, strict=True):
            yield min(abs(a - b), size - abs(a - b)) if wraps else abs(a - b)

    def _lose(self):
        if self.rng.random() < 0.3:
            self.attributes["lost"] = {"lost": True}

    def _tree(self):
        rng = self.rng
        for number in range(rng.randint(3, 7)):
            self.attributes[f"d{number}"] = {"rack": rng.choice("ab"), "board": rng.randint(0, 2)}
        self._lose()
        self.topology = topology("Tree", "rack", "board")

    def _links(self):
        rng, count = self.rng, self.rng.randint(3, 7)
        self.graph = networkx.gnp_random_graph(count, rng.choice((0.3, 0.5)), seed=rng.randrange(1000))
        self.graph = networkx.relabel_nodes(self.graph, {number: f"d{number}" for number in range(count)})
        for name in self.graph:
            # Each link is named by one of its ends at least.
            peers = [other for other in self.graph[name] if other > name or rng.random() < 0.5]
            self.attributes[name] = {"id": name, "peers": (*peers, "nobody")}
        self._lose()
        self.topology = topology("Links", "id", "peers")

    def ask(self):
        """Fields of an entry about this topology."""
        kinds = ["Connected", "Compact"]
        kinds += ["Segment", "Segment"] if self.shape in ("Ring", "Line") else []
        kinds += ["Box", "Box"] if self.sizes else []
        kinds += ["Subtree", "Subtree"] if self.shape == "Tree" else []
        kind = self.rng.choice(kinds)
        if kind == "Box":
            size = [self.rng.randint(1, 2) for _ in self.sizes]
            return kind, {"size": size, **({"orientation": "Fixed"} if self.rng.random() < 0.3 else {})}
        if kind == "Compact":
            return kind, {"maxDistance": self.rng.randint(0, 3)} if self.rng.random() < 0.9 else {}
        return kind, {"level": self.rng.choice(("d.x/rack", "board"))} if kind == "Subtree" else {}

    def holds(self, kind, fields, devices):
        """Whether a set of devices makes a shape; no devices make any."""
        if not devices:
            return True
        if not set(devices) <= set(self.placed):
            return False
        return getattr(self, f"_{kind.lower()}")(sorted(devices), **fields)

    def _segment(self, devices):
        return self._covers(devices, [(len(devices),)])

    def _box(self, devices, size, orientation="Any"):
        return self._covers(devices, [size] if orientation == "Fixed" else permutations(size))

    def _covers(self, devices, turned):
        cells = sorted(self.cells[name] for name in devices)
        return any(
            sorted(self._span(corner, edges)) == cells
            for edges in turned
            for corner in product(*map(range, self.sizes))
            if all(edge <= size for edge, size in zip(edges, self.sizes, strict=True))
        )

    def _span(self, corner, edges):
        for steps in product(*map(range, edges)):
            ends = [place + step for place, step in zip(corner, steps, strict=True)]
            yield tuple(
                end % size if wraps else end for end, size, wraps in zip(ends, self.sizes, self.periodic, strict=True)
            )

    def _connected(self, devices):
        if self.shape == "Tree":
            return len({tuple(self.attributes[name].values()) for name in devices}) == 1
        return networkx.is_connected(self.graph.subgraph(devices))

    def _compact(self, devices, maxDistance=99):
        return all(self._distance(one, other) <= maxDistance for one, other in combinations(devices, 2))

    def _distance(self, one, other):
        if self.shape == "Tree":
            a, b = self.attributes[one], self.attributes[other]
            return 1 if a == b else 2 if a["rack"] == b["rack"] else 3
        reached = networkx.single_source_shortest_path_length(self.graph, one)
        return reached.get(other, 99)

    def _subtree(self, devices, level):
        names = ("rack",) if level.endswith("rack") else ("rack", "board")
        return len({tuple(self.attributes[one][name] for name in names) for one in devices}) == 1

    def supply(self):
        members = (device(name, multi=name in self.shared or None, **self.attributes[name]) for name in self.names)
        return pool(*members)


class Instance:
    """A setting, and one or two claims with one or two requests that ask for shapes in it."""

    def __init__(self, seed):
        rng = Random(seed)
        self.setting = Setting(rng)
        self.claims = [self._claim(rng) for _ in range(rng.choice((1, 1, 2)))]
        if len(self.claims) > 1 and rng.random() < 0.5:
            self.claims[1] = self.claims[0]

    def _claim(self, rng):
        kind, fields = self.setting.ask()
        requests = [[rng.randint(1, 3)] for _ in range(rng.choice((1, 1, 2)))]
        if rng.random() < 0.25:
            requests[0] = [rng.randint(2, 4), rng.randint(1, 2)]
        covered = tuple(f"r{number}" for number in range(len(requests)) if rng.random() < 0.8)
        return kind, fields, requests, covered

    def objects(self):
        claims = [self._object(f"c{number}", *one) for number, one in enumerate(self.claims)]
        objects = [self.setting.topology, self.setting.supply(), *claims, together(*claims)]
        if self.setting.used:
            held = pool(*(device(name) for name in self.setting.used))
            objects += after(held, claim(want(count=len(self.setting.used)), name="holder"))
        return objects

    def _object(self, name, kind, fields, requests, covered):
        asked = [
            want(f"r{number}", counts[0])
            if len(counts) == 1
            else either(f"r{number}", option("first", counts[0]), option("second", counts[1]))
            for number, counts in enumerate(requests)
        ]
        return wishing(claim(*asked, name=name), shape(kind, *covered, **fields))

    def fits(self):
        free = [name for name in self.setting.names if name not in self.setting.used]
        return any(self._deal(needed, free) for needed in product(*map(self._needs, self.claims)))

    def _needs(self, one):
        return product(*one[2])

    def _deal(self, needed, free):
        """Deal devices to all claims; ``needed`` are the numbers of each of their requests."""
        left = [(claim_, number, count) for claim_, own in enumerate(needed) for number, count in enumerate(own)]
        return self._rest(left, free, {})

    def _rest(self, left, free, chosen):
        if not left:
            return all(self._shaped(number, chosen) for number in range(len(self.claims)))
        claim_, number, count = left[0]
        return any(
            self._rest(
                left[1:],
                [name for name in free if name not in devices or name in self.setting.shared],
                {**chosen, (claim_, number): devices},
            )
            for devices in combinations(free, count)
        )

    def _shaped(self, number, chosen):
        kind, fields, requests, covered = self.claims[number]
        names = [index for index in range(len(requests)) if not covered or f"r{index}" in covered]
        return self.setting.holds(kind, fields, {one for index in names for one in chosen[number, index]})


@pytest.mark.parametrize("start", range(0, 160, 20))
def test_every_engine_finds_a_shape_where_there_is_one(start):
    for seed in range(start, start + 20):
        instance = Instance(seed)
        expected = ALLOCATED if instance.fits() else UNALLOCATABLE
        for engine in ENGINES:
            assert answered(*instance.objects(), engine=engine).outcome == expected, (seed, engine)


@pytest.mark.parametrize("seed", range(60))
def test_a_judge_says_of_every_set_what_the_definition_says(seed):
    setting = Setting(Random(seed))
    slice_ = setting.supply()
    members = [Numbered(index, one) for index, one in enumerate(slice_.spec.devices)]
    places: Places[int] = placed(setting.topology, members)
    for _ in range(5):
        kind, fields = setting.ask()
        renamed = {"max_distance" if name == "maxDistance" else name: value for name, value in fields.items()}
        sized = {name: tuple(value) if isinstance(value, list) else value for name, value in renamed.items()}
        condition = TopologyCondition(TopologyAsk(name="t", shape=kind, **sized), (places,))
        for size in range(1, 5):
            for chosen in combinations(range(len(members)), size):
                names = {members[index].device.name for index in chosen}
                expected = setting.holds(kind, fields, names)
                assert condition.judge([(0, index) for index in chosen]) == expected, (kind, fields, names)
