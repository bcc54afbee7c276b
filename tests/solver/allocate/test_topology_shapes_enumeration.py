"""Shapes in random small topologies: every engine, and every judge alone, against trying all sets of devices."""

from dataclasses import dataclass
from itertools import combinations, product
from random import Random

import msgspec
import pytest
from support.objects import DRIVER, after, claim, device, either, option, pool, want
from support.soft import wishing
from support.topology import answered, shape, together
from support.topology_settings import Setting

from drasat.encoders.constraints import topology
from drasat.models.kubernetes.extensions import TopologyRequest
from drasat.models.kubernetes.slices import Device
from drasat.models.results.common import Status
from drasat.models.topology.places import Places, place_devices
from drasat.problem.topology import TopologyCondition

ENGINES = ("backtracking", "cp-sat", "auto")


@dataclass
class Numbered:
    """A device known by its number, as in a Problem."""

    id: int
    device: Device
    driver: str = DRIVER


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

    def objects(self, weight=None):
        claims = [self._object(f"c{number}", *one, weight) for number, one in enumerate(self.claims)]
        objects = [self.setting.topology, self.setting.supply(), *claims, together(*claims)]
        if self.setting.used:
            held = pool(*(device(name) for name in self.setting.used))
            objects += after(held, claim(want(count=len(self.setting.used)), name="holder"))
        return objects

    def _object(self, name, kind, fields, requests, covered, weight):
        asked = [
            want(f"r{number}", counts[0])
            if len(counts) == 1
            else either(f"r{number}", option("first", counts[0]), option("second", counts[1]))
            for number, counts in enumerate(requests)
        ]
        return wishing(claim(*asked, name=name), shape(kind, *covered, weight=weight, **fields))

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
        expected = Status.ALLOCATED if instance.fits() else Status.UNALLOCATABLE
        for engine in ENGINES:
            assert answered(*instance.objects(), engine=engine).outcome == expected, (seed, engine)


@pytest.mark.parametrize("start", range(0, 80, 20))
def test_a_soft_shape_is_kept_where_a_hard_one_would_fit(start):
    for seed in range(start, start + 20):
        instance = Instance(seed)
        instance.claims = [
            (kind, fields, [counts[-1:] for counts in asked], covered)
            for kind, fields, asked, covered in instance.claims[:1]
        ]
        answer = answered(*instance.objects(weight=7), engine="cp-sat")
        if answer.outcome == Status.ALLOCATED:
            assert [entry.kept for entry in answer.units[0].soft_entries] == [instance.fits()], seed
        else:
            assert not instance.fits()


def test_connected_sets_that_are_too_many_to_list(monkeypatch):
    monkeypatch.setattr(topology, "MOST_ENUMERATED_SETS", 0)
    instances = (Instance(seed) for seed in range(400))
    asking = [one for one in instances if any(kind == "Connected" for kind, *_ in one.claims)]
    assert {one.fits() for one in asking} == {True, False}
    for instance in asking:
        expected = Status.ALLOCATED if instance.fits() else Status.UNALLOCATABLE
        assert answered(*instance.objects(), engine="cp-sat").outcome == expected


@pytest.mark.parametrize("seed", range(60))
def test_a_judge_says_of_every_set_what_the_definition_says(seed):
    setting = Setting(Random(seed))
    slice_ = setting.supply()
    members = [Numbered(index, one) for index, one in enumerate(slice_.spec.devices)]
    places: Places[int] = place_devices(setting.topology, members)
    for _ in range(5):
        kind, fields = setting.ask()
        condition = TopologyCondition(
            msgspec.convert({"name": "t", "shape": kind, **fields}, TopologyRequest), (places,)
        )
        for size in range(1, 5):
            for chosen in combinations(range(len(members)), size):
                names = {members[index].device.name for index in chosen}
                expected = setting.holds(kind, fields, names)
                assert condition.evaluate([(0, index) for index in chosen]) == expected, (kind, fields, names)
