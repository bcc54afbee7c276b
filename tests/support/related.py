"""Random claims with relations, and what is possible while only some reasons hold, by trying everything.

Nothing here is shared with the engines: shapes are judged by ``topology_settings``, expressions by Python.
"""

from itertools import chain, combinations

from support.objects import after, claim, device, either, option, pool, taint, want
from support.semantics import holds
from support.soft import wishing
from support.topology import shape, together
from support.topology_settings import Setting

from drasat.solver.explain.conflict import obstacle_of
from drasat.solver.explain.wording import claims_of_entry, entry_of_reason

KIND = "device.attributes['d.x'].kind == '{}'"
_A = "devices.filter(d, d.attributes['d.x'].kind == 'a').size()"
_N = "devices.map(d, d.attributes['d.x'].n)"


def _kinds(members, kind):
    return sum(one["kind"] == kind for one in members)


def _numbers(members):
    return [one["n"] for one in members]


# Expressions with what they say of the attributes of devices in result order; an error counts as no (CELC-4).
EXPRESSIONS = [
    ("devices.exists(d, d.attributes['d.x'].kind == 'a')", lambda own: _kinds(own, "a") > 0),
    ("devices.exists_one(d, d.attributes['d.x'].kind == 'a')", lambda own: _kinds(own, "a") == 1),
    (f"{_A} * 2 == devices.size()", lambda own: 2 * _kinds(own, "a") == len(own)),
    ("devices.size() == 3", lambda own: len(own) == 3),
    ("devices.size() > 2", lambda own: len(own) > 2),
    (f"{_N}.sum() >= 5", lambda own: sum(_numbers(own)) >= 5),
    (
        f"{_N}.max() - {_N}.min() == devices.size() - 1",
        lambda own: max(_numbers(own)) - min(_numbers(own)) == len(own) - 1,
    ),
    (f"{_N}.distinct().size() == 2", lambda own: len(set(_numbers(own))) == 2),
    ("devices[0].attributes['d.x'].kind == 'b'", lambda own: own[0]["kind"] == "b"),
    (f"{_N}.isSorted()", lambda own: _numbers(own) == sorted(_numbers(own))),
    ("devices.all(d, d.attributes['d.x'].rare < 2)", lambda own: all(one.get("rare", 9) < 2 for one in own)),
]
SEMANTICS = ("EmptyIntersection", "EmptyIntersection", "NonEmptyIntersection", "PairwiseDisjoint")
_SPELLING = {"NonEmptyIntersection": "match"}


class Related:
    """Few devices in a topology, and one or two claims of a pod whose entries are judged on complete sets mostly."""

    def __init__(self, rng, most=6):
        self.rng = rng
        self.setting = Setting(rng)
        while len(self.setting.names) > most:
            self.setting = Setting(rng)
        self.names = self.setting.names
        self.more = {name: self._attributes() for name in self.names}
        self.tainted = {name for name in self.names if rng.random() < rng.choice((0, 0.3))}
        self.claims = [self._claim() for _ in range(rng.choice((1, 1, 1, 2)))]
        if len(self.claims) > 1 and rng.random() < 0.5:
            self.claims[1] = self.claims[0]

    def _attributes(self):
        rng = self.rng
        found = {
            "kind": rng.choice("ab"),
            "n": rng.randint(0, 4),
            "s": tuple(rng.sample(range(1, 5), rng.randint(1, 2))),
        }
        return found if rng.random() < 0.15 else {**found, "rare": rng.randint(0, 2)}

    def _claim(self):
        rng = self.rng
        requests = [[(rng.randint(1, 3), rng.choice((None, None, "a", "b")))] for _ in range(rng.choice((1, 2)))]
        if rng.random() < 0.2:
            requests[0] = [(rng.randint(2, 4), None), (rng.randint(1, 2), rng.choice("ab"))]
        return requests, [self._entry(len(requests)) for _ in range(rng.choice((1, 1, 2)))]

    def _entry(self, requests):
        """The entry as written, what it covers, and a judge of the names of the devices that are covered."""
        rng = self.rng
        covered = [f"r{number}" for number in range(requests) if rng.random() < 0.7]
        kind = rng.choice(("cel", "cel", "topology", "topology", "semantics"))
        if kind == "cel":
            text, judge = rng.choice(EXPRESSIONS)
            return {"cel": {"expression": text}}, covered, lambda names: judge([self.more[name] for name in names])
        if kind == "topology":
            asked, fields = self.setting.ask()
            return shape(asked, **fields), covered, lambda names: self.setting.holds(asked, fields, set(names))
        mode = rng.choice(SEMANTICS)
        word = _SPELLING.get(mode, "distinct")
        entry = {f"{word}Attribute": "d.x/s", f"{word}Semantics": {"mode": mode}}
        return entry, covered, lambda names: holds(mode, [("int", self.more[name]["s"]) for name in names])

    def objects(self):
        """The cluster, the claims and their pod."""
        members = [
            device(
                name,
                multi=name in self.setting.shared or None,
                taints=(taint(),) if name in self.tainted else None,
                **self.setting.attributes[name],
                **self.more[name],
            )
            for name in self.names
        ]
        claims = [self._object(f"c{number}", *one) for number, one in enumerate(self.claims)]
        objects = [self.setting.topology, pool(*members), *claims, together(*claims)]
        if self.setting.used:
            held = pool(*(device(name) for name in self.setting.used))
            objects += after(held, claim(want(count=len(self.setting.used)), name="holder"))
        return objects

    def _object(self, name, requests, entries):
        asked = [_asking(f"r{number}", options) for number, options in enumerate(requests)]
        written = [{**entry, **({"requests": covered} if covered else {})} for entry, covered, _ in entries]
        return wishing(claim(*asked, name=name), *written)

    def possible(self, case, reasons):
        """Tell whether these reasons can hold together: a request that is not among them takes what it likes."""
        kept = _Kept(case, reasons)
        places = [
            (number, place, options)
            for number, (requests, _) in enumerate(self.claims)
            for place, options in enumerate(requests)
        ]
        return self._rest(places, kept, {})

    def _rest(self, left, kept, chosen):
        if not left:
            return all(self._judged(number, kept, chosen) for number in range(len(self.claims)))
        number, place, _ = left[0]
        taken = set(chain.from_iterable(chosen.values())) - self.setting.shared
        return any(
            self._rest(left[1:], kept, {**chosen, (number, place): names})
            for names in self._ways(*left[0], kept)
            if taken.isdisjoint(names)
        )

    def _ways(self, number, place, options, kept):
        served = (number, f"r{place}") in kept.served
        if not served:
            yield ()
        for rank, (count, kind) in enumerate(options):
            label = f"r{place}" if len(options) == 1 else f"r{place}/o{rank}"
            able = [name for name in self.names if not self._barred(number, label, kind, name, kept)]
            whole = served or len(options) > 1
            for size in [count] if whole else range(1, len(able) + 1):
                yield from combinations(able, size)

    def _barred(self, number, label, kind, name, kept):
        own = {id_ for id_, which in kept.barring if which in (None, (number, label))}
        return (
            ("requestSelector" in own and kind not in (None, self.more[name]["kind"]))
            or ("taint" in own and name in self.tainted)
            or ("inUse" in own and name in self.setting.used)
        )

    def _judged(self, number, kept, chosen):
        requests, entries = self.claims[number]
        for position, (_, covered, judge) in enumerate(entries):
            names = [
                name
                for place in range(len(requests))
                if not covered or f"r{place}" in covered
                for name in chosen[number, place]
            ]
            if (number, position) in kept.entries and names and not judge(names):
                return False
        return True


def _asking(name, options):
    (count, kind), *others = options
    if not others:
        return want(name, count, _selector(kind))
    return either(name, *(option(f"o{rank}", *one[:1], _selector(one[1])) for rank, one in enumerate(options)))


def _selector(kind):
    return KIND.format(kind) if kind else ()


class _Kept:
    """What reasons are about, in words of the claims."""

    def __init__(self, case, reasons):
        merged = case.model.merged
        demands = case.problem.demands
        self.served, self.entries, self.barring = set(), set(), set()
        for reason in reasons:
            found = obstacle_of(reason)
            if reason.id in ("exactCount", "firstAvailable", "all"):
                own = [merged.alternatives[number] for number in merged.requests[reason.subject].alternatives]
                self.served |= {
                    (demands[one].claim, demands[one].request) for alternative in own for one in alternative.demands
                }
            elif found is not None:
                alternatives = [one for one in merged.alternatives if found[0] in (None, one.index)]
                own = {
                    (demands[one].claim, demands[one].label)
                    for alternative in alternatives
                    for one in alternative.demands
                }
                self.barring |= {(reason.id, one) for one in (own if found[0] is not None else {None})}
            elif reason.id != "resultLimit":
                entry = entry_of_reason(case, reason)
                self.entries |= {(number, entry.position) for number in claims_of_entry(case, entry)}
