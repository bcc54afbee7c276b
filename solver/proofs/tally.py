"""What proofs count: the requests to be served, and the devices that each of them may take, as bit sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any, TypeVar

from ...problem.records import Demand, InUse, Problem

_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Need:
    """A request, and those of its demands that may serve it: several only if it is a list."""

    claim: int
    request: str
    options: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """A question, or one case of it. What is proven impossible here is impossible however the options are chosen.

    Everything in it is a relaxation: a device may be listed that cannot be taken, never the other way round.
    """

    problem: Problem
    in_use: InUse
    masks: tuple[int, ...]
    """Devices that each demand of the problem may take."""
    shared: int
    """Multi-allocatable devices: a request takes one once, others may take it as well."""
    needs: tuple[Need, ...]
    known: dict[str, Any] = field(default_factory=dict)
    """What was made of the problem and what is in use alone: all cases of a question have it in common."""

    @classmethod
    def of(cls, problem: Problem, in_use: InUse, candidates: tuple[tuple[int, ...], ...]) -> Tally:
        """Begin with the devices that each demand could take alone."""
        known: dict[tuple[int, ...], int] = {}
        masks = tuple([known.get(devices) or known.setdefault(devices, mask_of(devices)) for devices in candidates])
        needs = tuple(
            [
                Need(number, request.name, _open_options(problem, masks, request.demands))
                for number, claim in enumerate(problem.claims)
                for request in claim.requests
            ]
        )
        return cls(problem, in_use, masks, mask_of(problem.shared), needs)

    def once(self, name: str, make: Callable[[Tally], _Made]) -> _Made:
        """Return what is made for the question by this name; cases do not make it again."""
        if name not in self.known:
            self.known[name] = make(self)
        made: _Made = self.known[name]
        return made

    def demand(self, option: int) -> Demand:
        """Return the demand of this number."""
        return self.problem.demands[option]

    def least(self, need: Need) -> int:
        """Return how many devices the request takes at least."""
        demands, options = self.problem.demands, need.options
        return demands[options[0]].count if len(options) == 1 else min([demands[option].count for option in options])

    def is_short(self, option: int) -> bool:
        """Tell whether a demand lacks devices even if nobody else takes any."""
        return _is_short(self.problem, self.masks, option)

    def devices(self, need: Need) -> int:
        """Return all devices that some option may take."""
        return reduce(or_, [self.masks[option] for option in need.options])

    def competing(self) -> tuple[Need, ...]:
        """Return the requests that never take the same dedicated device.

        Admin access minds only what its own claim picked, so it is left out where there are several claims (DEV-1).
        """
        if self.one_claim(self.needs) is not None:
            return self.needs
        demands = self.problem.demands
        return tuple(need for need in self.needs if not demands[need.options[0]].admin)

    def one_claim(self, needs: Sequence[Need]) -> int | None:
        """Return the claim whose requests these are, None if there are several claims."""
        claims = {need.claim for need in needs}
        return claims.pop() if len(claims) == 1 else None

    def with_masks(self, masks: dict[int, int]) -> Tally:
        """Return the case in which these demands may take fewer devices."""
        changed = tuple([masks.get(option, mask) for option, mask in enumerate(self.masks)])
        return Tally(self.problem, self.in_use, changed, self.shared, self.needs, self.known)

    def with_option(self, position: int, option: int) -> Tally:
        """Return the case in which the request at this position is served by this option."""
        need = self.needs[position]
        chosen = Need(need.claim, need.request, (option,))
        return self.with_needs((*self.needs[:position], chosen, *self.needs[position + 1 :]))

    def with_needs(self, needs: tuple[Need, ...]) -> Tally:
        """Return the question about these requests alone."""
        return Tally(self.problem, self.in_use, self.masks, self.shared, needs, self.known)


def _is_short(problem: Problem, masks: Sequence[int], option: int) -> bool:
    demand = problem.demands[option]
    # All of nothing is no device too few, but fails as well (SRCH-6).
    return demand.count > masks[option].bit_count() or (demand.all_devices and not demand.count)


def _open_options(problem: Problem, masks: Sequence[int], options: tuple[int, ...]) -> tuple[int, ...]:
    """Leave out alternatives without enough devices, unless there are no others."""
    if len(options) == 1:
        return options
    return tuple([option for option in options if not _is_short(problem, masks, option)]) or options


def mask_of(devices: Sequence[int] | frozenset[int]) -> int:
    """Write devices as a bit set."""
    return reduce(or_, map((1).__lshift__, devices), 0)


def members(mask: int) -> Iterator[int]:
    """Yield the devices of a bit set in order."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
