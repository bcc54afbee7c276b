"""Random small topologies, and what is true of sets of their devices: by networkx, or by walking over all cells."""

from itertools import combinations, permutations, product

import networkx
from support.objects import device, pool
from support.topology import topology

LATTICES = {
    "Ring": [((size,), (True,)) for size in (2, 3, 5, 6, 7)],
    "Line": [((size,), (False,)) for size in (3, 5, 7)],
    "Grid": [((2, 3), (False, False)), ((3, 3), (True, False)), ((2, 4), (False, True))],
    "Torus": [((3, 3), (True, True)), ((2, 4), (True, True)), ((2, 2, 2), (True, True, True))],
}


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
            sorted(self.span(corner, edges)) == cells
            for edges in turned
            for corner in product(*map(range, self.sizes))
            if all(edge <= size for edge, size in zip(edges, self.sizes, strict=True))
        )

    def span(self, corner, edges):
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
