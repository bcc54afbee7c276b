"""Claims with random expressions over devices, on few devices of which several are equal; and what must come of them.

What is expected is found by evaluating the expressions on every complete choice of devices, in the order of the search
(SRCH-1, SRCH-2, SRCH-4), with nothing of the engine but the evaluation of CEL.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from msgspec.structs import astuple, replace
from support.objects import DRIVER, NODE, claim, device, device_class, either, node, option, pool, version, want
from support.random_expressions import Expressions, fields_at_random

from drasat.cel.devices import DeviceShapes
from drasat.cel.environment import device_set_environment
from drasat.cel.errors import CelCompileError, CelRuntimeError
from drasat.cel.program import Program
from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import (
    AllocationResult,
    CELDeviceConstraint,
    DeviceAllocationResult,
    DeviceConstraint,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimStatus,
)
from drasat.models.kubernetes.semver import Version
from drasat.models.kubernetes.slices import Device, DeviceAttribute
from drasat.models.results.common import Status

ALL = "All"
SELECTORS = {"": None, "b": f"has(device.attributes['{DRIVER}'].b)", "s": f"has(device.attributes['{DRIVER}'].s)"}
# Forms that depend on the order of devices (CELC-7), and those of the stories of KEP-5254.
FORMS = (
    "devices[0].@i <= <int>",
    "devices.map($d, <int>) == [<int>, <int>]",
    "devices.map($d, %d.@j).isSorted()",
    "devices.map($d, <string>).indexOf('a') == 0",
    "devices.map($d, <string>).join('') != 'ab'",
    "devices.slice(0, 1).exists($d, <bool>)",
    "devices.map($d, <int>).reverse()[0] == <int>",
    "devices.all(k, $d, k == 0 || <bool>)",
    "devices.map($d, double(%d.@i) / 3.0).sum() <= double(<int>)",
    "devices.map($d, %d.@i).max() - devices.map($d, %d.@i).min() == devices.size() - 1",
    "devices.all($d, devices.filter($d, %d != %d && (%d.@i == %d.@i + 1 || %d.@j == %d.@j)).size() >= 1)",
)


@dataclass(frozen=True)
class Option:
    """An alternative of a request, or a request by itself: the name that entries use, how many, and a selector."""

    name: str
    count: int | str
    selector: str

    def choices(self, devices: Sequence[Device], takable: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """All ways to serve it with these of the devices, in order."""
        fits = [number for number, one in enumerate(devices) if not self.selector or self.selector in one.attributes]
        if self.count != ALL:
            yield from combinations([number for number in takable if number in fits], self.count)
        elif fits and set(fits) <= set(takable):
            yield tuple(fits)


@dataclass(frozen=True)
class Entry:
    """An expression, and the names that it says it is about; none: all."""

    text: str
    about: tuple[str, ...]

    def covers(self, name: str) -> bool:
        """CON-1."""
        return not self.about or name in self.about or name.partition("/")[0] in self.about


@dataclass(frozen=True)
class Case:
    """Devices, which of them are in use, requests as lists of alternatives, entries, and a policy for errors."""

    devices: tuple[Device, ...]
    in_use: frozenset[int]
    requests: tuple[tuple[Option, ...], ...]
    entries: tuple[Entry, ...]
    policy: str

    def __str__(self) -> str:
        """What matters, in few lines."""
        devices = [
            f"{one.name}{'*' * bool(one.allow_multiple_allocations)} "
            f"{ {name: _plain(value) for name, value in one.attributes.items()} } "
            f"{ {name: value.value for name, value in (one.capacity or {}).items()} }"
            for one in self.devices
        ]
        asked = [[(one.name, one.count, one.selector) for one in options] for options in self.requests]
        entries = [(entry.text, entry.about) for entry in self.entries]
        return "\n    ".join(map(str, [self.policy, sorted(self.in_use), asked, *entries, *devices]))

    def cluster(self) -> Cluster:
        """The objects."""
        constraints = [
            DeviceConstraint(cel=CELDeviceConstraint(expression=entry.text), requests=entry.about or None)
            for entry in self.entries
        ]
        asked = claim(*map(_request, self.requests), constraints=constraints)
        supply = pool(*self.devices)
        return Cluster.of([device_class(), node(NODE), supply, asked, *self._held()])

    def _held(self) -> Iterator[ResourceClaim]:
        if self.in_use:
            results = tuple(
                DeviceRequestAllocationResult(request="r", driver=DRIVER, pool="p", device=self.devices[number].name)
                for number in sorted(self.in_use)
            )
            held = claim(want(count=len(results)), name="held")
            made = AllocationResult(devices=DeviceAllocationResult(results=results))
            yield replace(held, status=ResourceClaimStatus(allocation=made))


def _plain(attribute: DeviceAttribute):
    return next(value for value in astuple(attribute) if value is not None)


def _request(options: Sequence[Option]):
    if len(options) == 1:
        (only,) = options
        return want(only.name, only.count, SELECTORS[only.selector] or ())
    made = [option(one.name.partition("/")[2], one.count, SELECTORS[one.selector] or ()) for one in options]
    return either(options[0].name.partition("/")[0], *made)


# --- making cases


def case(seed: int) -> Case:
    """A case that is always the same for the same seed."""
    rng = random.Random(seed)
    names = "qrs"[: rng.choice((1, 1, 1, 1, 2, 2, 2, 3))]
    devices = _devices(rng, rng.randint(3, 7 - len(names)))
    # Selectors fail on devices that cannot be read (CEL-3), and that is another story.
    selectors = ("",) if any(one.attributes.get("v") == version("1.x") for one in devices) else ("", "", "", "b", "s")
    requests = tuple(_options(rng, name, len(names), selectors) for name in names)
    whole = [one.partition("/")[0] for one in names]
    known = [*whole, *(one.name for options in requests if len(options) > 1 for one in options)]
    entries = tuple(
        Entry(_expression(rng), tuple(rng.sample(known, 1 if rng.random() < 0.7 else min(2, len(known)))))
        if rng.random() < 0.4
        else Entry(_expression(rng), ())
        for _ in range(rng.choice((1, 1, 1, 2)))
    )
    shared = {number for number, one in enumerate(devices) if one.allow_multiple_allocations}
    in_use = frozenset(number for number in range(len(devices)) if number not in shared and rng.random() < 0.12)
    return Case(devices, in_use, requests, entries, rng.choice(("strict", "strict", "skip", "kube")))


def _devices(rng: random.Random, number: int) -> tuple[Device, ...]:
    kinds = [_fields(rng) for _ in range(rng.randint(1, 4))]
    shared = [rng.random() < 0.1 for _ in kinds]
    chosen = [rng.randrange(len(kinds)) for _ in range(number)]
    for kind, is_shared in zip(kinds, shared, strict=True):
        if is_shared:
            # Whoever shares a device and names no capacity takes all of it (CAP-9).
            del kind["capacity"]
    return tuple(device(f"d{place}", multi=shared[kind] or None, **kinds[kind]) for place, kind in enumerate(chosen))


def _fields(rng: random.Random) -> dict:
    fields = fields_at_random(rng)
    memory = fields.pop("memory", None)
    written = {"k": 0} | {name: _attribute(value) for name, value in fields.items()}
    if rng.random() < 0.01:
        written["v"] = version("1.x")
    return {"attributes": written, "capacity": {"memory": memory} if memory else None}


def _attribute(value):
    if isinstance(value, Version):
        return version(str(value))
    return tuple(value) if isinstance(value, list) else value


def _options(rng: random.Random, name: str, requests: int, selectors: Sequence[str]) -> tuple[Option, ...]:
    names = [name] if rng.random() < 0.75 else [f"{name}/x", f"{name}/y"]
    most = (3, 2, 1)[requests - 1]
    return tuple(Option(one, _count(rng, most), rng.choice(selectors)) for one in names)


def _count(rng: random.Random, most: int) -> int | str:
    return ALL if rng.random() < 0.08 else rng.randint(1, most)


def _expression(rng: random.Random) -> str:
    while True:
        made = Expressions(rng)
        short = made.from_template(rng.choice(FORMS), 1) if rng.random() < 0.3 else made.any(rng.choice((1, 2, 2, 3)))
        text = short.replace(".@", f".attributes['{DRIVER}'].").replace(".#", f".capacity['{DRIVER}'].")
        try:
            Program(text, scope=device_set_environment)
        except CelCompileError:
            continue
        if len(text) < 700:
            return text


# --- what must come of them


class Judge:
    """Evaluates the entries of a case on sets of devices."""

    def __init__(self, asked: Case) -> None:
        shapes = DeviceShapes()
        self._devices = [shapes.prepare(one, DRIVER) for one in asked.devices]
        self._programs = [Program(entry.text, scope=device_set_environment) for entry in asked.entries]
        self._known: dict[tuple, bool | None] = {}

    def __call__(self, entry: int, members: tuple[int, ...]) -> bool | None:
        """Whether it holds; None for an error or another type (CELC-4)."""
        if (entry, members) not in self._known:
            self._known[entry, members] = self._evaluated(entry, members)
        return self._known[entry, members]

    def _evaluated(self, entry: int, members: tuple[int, ...]) -> bool | None:
        if not members:
            return True
        chosen = [self._devices[number] for number in members]
        if any(one.error for one in chosen):
            return None
        try:
            value = self._programs[entry].evaluate({"devices": [one.cel_value for one in chosen]})
        except CelRuntimeError:
            return None
        return value if type(value) is bool else None


Choice = tuple[tuple[str, tuple[int, ...]], ...]
"""For each request the name of what was chosen of it, and its devices."""


class Aborted(Exception):
    """The search met an error under the policy ``kube``."""


class Expected:
    """Tries everything."""

    def __init__(self, asked: Case) -> None:
        self._case = asked
        self._judge = Judge(asked)
        self._free = [number for number in range(len(asked.devices)) if number not in asked.in_use]

    def outcome(self) -> str:
        """What comes of the case where errors are met in no order."""
        verdicts = {self.verdict(choice) for choice in self._choices(())}
        if True in verdicts:
            return Status.ALLOCATED
        return Status.ERROR if None in verdicts and self._case.policy != "skip" else Status.UNALLOCATABLE

    def verdict(self, choice: Choice) -> bool | None:
        """Whether all entries hold of a complete choice; None: no entry is false, but one is an error."""
        found = {self._judge(number, self._members(number, choice)) for number in range(len(self._case.entries))}
        return False if False in found else None if None in found else True

    def outcome_in_order(self) -> str:
        """What comes of it in a search that ends with the first error that it meets (policy ``kube``)."""
        try:
            return Status.ALLOCATED if self._search(()) else Status.UNALLOCATABLE
        except Aborted:
            return Status.ERROR

    def _search(self, choice: Choice) -> bool:
        if not all(map(self._holds, *self._due(choice))):
            return False
        if len(choice) == len(self._case.requests):
            return True
        return any(self._search(more) for more in self._steps(choice))

    def _due(self, choice: Choice) -> tuple[list[int], list[Choice]]:
        """The entries whose last request was served just now."""
        last = len(choice) - 1
        due = [number for number, entry in enumerate(self._case.entries) if self._last(entry) == last]
        return due, [choice] * len(due)

    def _last(self, entry: Entry) -> int:
        covered = (any(entry.covers(one.name) for one in options) for options in self._case.requests)
        return max((number for number, covers in enumerate(covered) if covers), default=-2)

    def _holds(self, number: int, choice: Choice) -> bool:
        found = self._judge(number, self._members(number, choice))
        if found is None:
            raise Aborted
        return found

    def _members(self, number: int, choice: Choice) -> tuple[int, ...]:
        """CELC-2: in the order of requests, then of devices."""
        covers = self._case.entries[number].covers
        return tuple(one for name, devices in choice if covers(name) for one in devices)

    def _choices(self, choice: Choice) -> Iterator[Choice]:
        if len(choice) == len(self._case.requests):
            yield choice
            return
        for more in self._steps(choice):
            yield from self._choices(more)

    def _steps(self, choice: Choice) -> Iterator[Choice]:
        """Serve one request more; devices that may be shared may serve several."""
        devices = self._case.devices
        taken = {one for _, own in choice for one in own if not devices[one].allow_multiple_allocations}
        takable = [number for number in self._free if number not in taken]
        for one in self._case.requests[len(choice)]:
            for own in one.choices(devices, takable):
                yield (*choice, (one.name, own))

    def holds(self, answer) -> bool:
        """Whether what was allocated is a choice of which all entries hold."""
        numbers = {one.name: number for number, one in enumerate(self._case.devices)}
        ((_, made),) = (pair for unit in answer.units for pair in unit.allocations)
        taken = [(result.request, numbers[result.device]) for result in made.devices.results or ()]
        names = dict.fromkeys(name for name, _ in taken)
        choice = tuple((name, tuple(one for other, one in taken if other == name)) for name in names)
        return choice in set(self._choices(())) and self.verdict(choice) is True
