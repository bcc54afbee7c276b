"""Problems by hand, and what the proofs and the search say about them."""

from dataclasses import dataclass

from drasat.problem.filters import usable_devices
from drasat.problem.messages import Justification
from drasat.problem.problem import (
    Capacities,
    Claim,
    CompatibilityGroups,
    Constraint,
    Counters,
    Demand,
    FilterFailure,
    InUse,
    Problem,
    Request,
)
from drasat.solver.engines.search import Search
from drasat.solver.proofs import find_witness

UNIT = 10**9
NOTHING = InUse()
MATCH, DISTINCT = "matchAttribute", "distinctAttribute"


@dataclass(frozen=True)
class Ask:
    """A request, or an alternative of one; ``amounts`` of capacity by device."""

    name: str
    count: int
    devices: tuple
    everything: bool = False
    admin: bool = False
    amounts: dict | None = None
    traps: tuple = ()


@dataclass(frozen=True)
class Either:
    name: str
    options: tuple


@dataclass(frozen=True)
class Tie:
    """A constraint: the device's tokens, the requests it covers (all by default), the claim it belongs to."""

    kind: str
    tokens: dict
    covers: tuple = ()
    claim: int = 0
    sets: bool = False


def ask(name, count, devices, **fields):
    """Devices are numbers, or so many from 0 on."""
    return Ask(name, count, tuple(range(devices) if isinstance(devices, int) else devices), **fields)


def every(name, devices, **fields):
    listed = tuple(range(devices) if isinstance(devices, int) else devices)
    return Ask(name, len(listed), listed, everything=True, **fields)


def either(name, *options):
    return Either(name, options)


def tie(kind, values, *covers, claim=0, sets=False):
    """Values by device, in order; in set mode each is a collection of small numbers."""
    tokens = {
        device: sum(1 << member for member in value) if sets else value
        for device, value in enumerate(values)
        if value is not None
    }
    return Tie(kind, tokens, covers, claim, sets)


def sharing(*capacities):
    """One capacity a device, in whole units, all of them shared."""
    return {
        "shared": frozenset(range(len(capacities))),
        "capacities": Capacities(
            ("memory",) * len(capacities),
            tuple(total * UNIT for total in capacities),
            {device: (device,) for device in range(len(capacities))},
        ),
    }


def drawing(amount, devices, rows=None):
    """Amounts of an ask that takes this much of each device's row."""
    return {device: (((rows or {}).get(device, device), amount * UNIT),) for device in range(devices)}


def partitions(*devices, counters=("memory",)):
    """What each device draws, as pairs of a counter set's number and amounts in the order of the counters."""
    sets = 1 + max(number for number, _ in devices)
    names = tuple((f"gpu-{number}", counter) for number in range(sets) for counter in counters)
    drawn = {
        device: tuple((number * len(counters) + place, amount * UNIT) for place, amount in enumerate(amounts))
        for device, (number, amounts) in enumerate(devices)
    }
    return Counters(names, (0,) * len(names), drawn)


def left(*amounts, **fields):
    """What is left of the counters, in whole units."""
    return InUse(available=tuple(amount * UNIT for amount in amounts), **fields)


def problem(size, *claims, ties=(), **fields):
    """A problem of claims, each a list of asks."""
    demands, made = [], []
    for number, entries in enumerate(claims):
        requests = []
        for entry in entries:
            options = entry.options if isinstance(entry, Either) else (entry,)
            own = range(len(demands), len(demands) + len(options))
            listed = isinstance(entry, Either)
            demands += [
                _demand(index, number, entry.name, option, listed, ties)
                for index, option in zip(own, options, strict=True)
            ]
            requests.append(Request(entry.name, listed, tuple(own)))
        made.append(Claim(tuple(requests)))
    constraints = tuple(_constraint(one, demands) for one in ties)
    return Problem(size, tuple(made), tuple(demands), constraints, **fields)


def _covers(one, claim, request, subrequest):
    names = {request, f"{request}/{subrequest}"}
    return one.claim == claim and (not one.covers or not names.isdisjoint(one.covers))


def _demand(index, claim, request, option, listed, ties):
    sub = option.name if listed else ""
    return Demand(
        index,
        claim,
        request,
        sub,
        "class",
        option.count,
        option.everything,
        option.admin,
        option.devices,
        {device: FilterFailure("requestSelector", error=("no",)) for device in option.traps},
        amounts=option.amounts or {},
        constraints=tuple(number for number, one in enumerate(ties) if _covers(one, claim, request, sub)),
    )


def _constraint(one, demands):
    covered = [demand.index for demand in demands if _covers(one, demand.claim, demand.request, demand.subrequest)]
    return Constraint(one.claim, one.kind, "d/a", one.sets, dict.fromkeys(covered, one.tokens))


def grouped(*groups):
    """Compatibility groups of devices on one counter set: bit sets, bit 0 for any."""
    return CompatibilityGroups(((0, "gpu-0"),), {device: ((0, own),) for device, own in enumerate(groups)})


def proven(asked, in_use=NOTHING) -> Justification | None:
    return find_witness(asked, in_use, usable_devices(asked, in_use))


def impossible(asked, in_use=NOTHING):
    """The id and the text of the proof; the search confirms it."""
    assert Search(asked, in_use).run() is None
    return unsearchable(asked, in_use)


def unsearchable(asked, in_use=NOTHING):
    """The id and the text of the proof, where a search would not end."""
    found = proven(asked, in_use)
    assert found is not None
    return found.id, "".join(found.message)


def possible(asked, in_use=NOTHING):
    """Whether something is found, and no proof speaks against it."""
    assert proven(asked, in_use) is None
    return Search(asked, in_use).run() is not None
