"""Random claims with match and distinct entries in every mode, and what the formulas of SEM-3 to SEM-6 say of them.

Nothing here is shared with the engines or with the verifier: values are Python's own, lists are tuples.
"""

from itertools import chain, combinations, product

from msgspec.structs import replace
from support.objects import DRIVER, claim, device, distinct, either, match, option, pool, want

from drasat.models.kubernetes.claims import ConstraintSemantics, SemanticsOptions, SemanticsOptionsByMode
from drasat.models.kubernetes.slices import DeviceAttribute

NAME = f"{DRIVER}/x"
MODES = {
    "Identical": (match, "match_semantics", "identical"),
    "NonEmptyIntersection": (match, "match_semantics", "non_empty_intersection"),
    "AllDistinct": (distinct, "distinct_semantics", "all_distinct"),
    "EmptyIntersection": (distinct, "distinct_semantics", "empty_intersection"),
    "PairwiseDisjoint": (distinct, "distinct_semantics", "pairwise_disjoint"),
}
COMPARING = ("Identical", "AllDistinct")
TYPES = {"int": ("int_value", "ints"), "string": ("string", "strings"), "version": ("version", "versions")}


def attribute(value):
    """An attribute of a type and a value, which is a list if it is a tuple."""
    kind, content = value
    scalar, many = TYPES[kind]
    written = tuple(map(_written(kind), content)) if isinstance(content, tuple) else _written(kind)(content)
    return DeviceAttribute(**{many if isinstance(content, tuple) else scalar: written})


def _written(kind):
    return {"int": int, "string": str, "version": "{}.0.0".format}[kind]


def entry(mode, requests=(), *, unified=False, **options):
    """An entry with semantics; ``options`` are those of its mode. ``match`` and ``distinct`` have none."""
    if mode in ("match", "distinct"):
        return {"match": match, "distinct": distinct}[mode](NAME, *requests)
    build, spelling, place = MODES[mode]
    given = SemanticsOptionsByMode(**{place: SemanticsOptions(**options)}) if options else None
    semantics = ConstraintSemantics(mode=mode, options=given)
    return replace(build(NAME, *requests), **{"semantics" if unified else spelling: semantics})


def holds(mode, values, coerce_scalar_to_list=False, list_mode="List", min_size=1):
    """Judge the values of all devices that an entry covers; None: a device without the attribute (SEM-0, CON-3)."""
    if mode in ("match", "distinct"):
        # CON-7 in the words of the semantics that equal it.
        mode, coerce_scalar_to_list = {"match": "NonEmptyIntersection", "distinct": "PairwiseDisjoint"}[mode], True
    if not values:
        return True
    if None in values:
        return False
    if coerce_scalar_to_list:
        values = [(kind, content if isinstance(content, tuple) else (content,)) for kind, content in values]
    if mode in COMPARING:
        return _compares(mode, [_normal(value, list_mode) for value in values])
    if not all(isinstance(content, tuple) for _, content in values):
        return False
    sets = [{(kind, member) for member in content} for kind, content in values]
    return {
        "NonEmptyIntersection": lambda: len(set.intersection(*sets)) >= min_size,
        "EmptyIntersection": lambda: not set.intersection(*sets),
        "PairwiseDisjoint": lambda: all(one.isdisjoint(other) for one, other in combinations(sets, 2)),
    }[mode]()


def _normal(value, list_mode):
    kind, content = value
    return kind, frozenset(content) if isinstance(content, tuple) and list_mode == "Set" else content


def _compares(mode, values):
    equal = [one == other for one, other in combinations(values, 2)]
    return all(equal) if mode == "Identical" else not any(equal)


class Case:
    """Devices, and claims as lists of requests (lists of alternatives: name and count) and of entries."""

    def __init__(self, rng):
        self.values = [_value(rng) for _ in range(rng.randint(1, 6))]
        self.shared = [rng.random() < 0.1 for _ in self.values]
        first = _claim(rng)
        self.claims = [first, *([first if rng.random() < 0.5 else _claim(rng)] if rng.random() < 0.25 else [])]

    def objects(self):
        """The slice and the claims."""
        members = (
            device(
                f"d{number}", multi=self.shared[number] or None, attributes={"x": attribute(value)} if value else None
            )
            for number, value in enumerate(self.values)
        )
        claims = (
            claim(*map(_request, requests), name=f"c{number}", constraints=[entry(*one, **more) for *one, more in own])
            for number, (requests, own) in enumerate(self.claims)
        )
        return [pool(*members), *claims]

    def possible(self):
        """Tell by trying everything whether the claims can be served together."""
        return any(self._fits(ways) for ways in product(*map(self._ways, self.claims)))

    def _ways(self, own):
        """What a claim can take, as tuples of a name and devices for each request, wherever its entries hold."""
        requests, entries = own
        for chosen in product(*requests):
            for taken in product(*(combinations(range(len(self.values)), count) for _, count in chosen)):
                names = [name for name, _ in chosen]
                if self._free(taken) and all(self._holds(one, names, taken) for one in entries):
                    yield taken

    def _fits(self, ways):
        return self._free([devices for taken in ways for devices in taken])

    def _free(self, taken):
        dedicated = [number for number in chain(*taken) if not self.shared[number]]
        return len(set(dedicated)) == len(dedicated)

    def _holds(self, one, names, taken):
        mode, requests, options = one
        covered = [
            self.values[number]
            for name, devices in zip(names, taken, strict=True)
            if not requests or name in requests or name.partition("/")[0] in requests
            for number in devices
        ]
        return holds(mode, covered, **{key: value for key, value in options.items() if key != "unified"})


def _value(rng):
    """Mostly one type, lists and scalars; now and then no value."""
    if rng.random() < 0.08:
        return None
    kind = rng.choice(("int", "int", "int", "int", "string", "version"))
    if rng.random() < 0.3:
        return kind, rng.randint(1, 3)
    return kind, tuple(rng.choices(range(1, 5), k=rng.choice((1, 2, 2, 2, 3, 3))))


def _claim(rng):
    requests = [_alternatives(rng, f"r{number}") for number in range(rng.choice((1, 1, 2)))]
    names = [name for own in requests for name, _ in own] + [f"r{number}" for number in range(len(requests))]
    return requests, [_entry(rng, names) for _ in range(rng.choice((1, 1, 1, 2)))]


def _alternatives(rng, name):
    if rng.random() < 0.25:
        return [(f"{name}/{sub}", rng.choice((1, 2, 3))) for sub in ("a", "b")]
    return [(name, rng.choice((1, 2, 2, 3, 3)))]


def _entry(rng, names):
    mode = rng.choice((*MODES, "EmptyIntersection", "NonEmptyIntersection", "match", "distinct"))
    requests = tuple(dict.fromkeys(rng.choices(names, k=rng.choice((0, 0, 1, 2)))))
    options = {}
    if mode in MODES:
        options = {"unified": rng.random() < 0.2}
        if rng.random() < 0.5:
            options["coerce_scalar_to_list"] = rng.random() < 0.7
        if mode in COMPARING and rng.random() < 0.6:
            options["list_mode"] = rng.choice(("List", "Set"))
        if mode == "NonEmptyIntersection" and rng.random() < 0.7:
            options["min_size"] = rng.choice((1, 2, 2, 3))
    return mode, requests, options


def _request(own):
    if len(own) == 1:
        return want(*own[0])
    return either(own[0][0].partition("/")[0], *(option(name.partition("/")[2], count) for name, count in own))
