"""Reasons in words: the sentence of each justification, with the devices and amounts that it is about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import cast

from ...encoders.collapsed import Branch
from ...problem.justification import Justification
from ...problem.messages import claim_text
from ...problem.obstacles import Obstacle
from ..outcome import Reason
from ..proofs.wording import amount, plural
from ..tables import SELECTING
from .case import Case
from .entries import about_entry, covered

# More devices than these are only counted.
_MOST_NAMES = 4
# Longer expressions are cut.
_MOST_LETTERS = 100


def obstacle_of(reason: Justification) -> tuple[int | None, Obstacle] | None:
    """Return the obstacle that a reason is about, with the branch if it belongs to one; None: it is about no such."""
    if isinstance(reason.subject, Obstacle):
        return None, reason.subject
    if isinstance(reason.subject, tuple):
        return reason.subject
    return None


class Sentences:
    """Words for the reasons of one conflict."""

    def __init__(self, case: Case, reasons: Sequence[Justification]) -> None:
        self.case = case
        self._names = case.names
        self.reasons = tuple(reasons)

    def all(self) -> tuple[Reason, ...]:
        """Write every reason."""
        return tuple(map(self.of, self.reasons))

    def of(self, reason: Justification) -> Reason:
        """Write a reason."""
        head = self._names.fill(reason.message, claim=reason.claim, pool=reason.pool)
        claim = "" if reason.claim is None else claim_text(self._names.claims[reason.claim])
        return Reason(reason.id, claim, head + self._more(reason))

    def _more(self, reason: Justification) -> str:
        found = obstacle_of(reason)
        if found is not None:
            return _STOPPING.get(reason.id, _named)(self, *found)
        return _JOINT[reason.id](self, reason) if reason.id in _JOINT else ""

    @cached_property
    def requested(self) -> tuple[Branch, ...]:
        """The ways to serve the requests that are among the reasons."""
        merged = self.case.model.merged
        asked = {reason.subject for reason in self.reasons if reason.id in REQUESTS}
        return tuple(branch for branch in merged.branches if branch.request in asked)

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        """The ways to serve those requests, and those whose devices an entry among the reasons needs, however many."""
        merged = self.case.model.merged
        wanted = {branch.index for branch in self.requested}
        wanted.update(number for reason in self.reasons for number in covered(self.case, reason))
        return tuple(branch for branch in merged.branches if branch.index in wanted)

    def stopped(self, branch: int | None, obstacle: Obstacle) -> list[int]:
        """List the devices that the obstacle stops, less those that are not meant: other selectors rule them out."""
        others = SELECTING if obstacle.filter not in SELECTING else frozenset()
        named = {found[1] for reason in self.reasons if (found := obstacle_of(reason)) and reason.id in SELECTING}
        every: set[int] = set()
        meant: set[int] = set()
        for one in self.branches:
            if branch is None or branch == one.index:
                of_device = self.case.obstacles.of[one.demands[0]]
                stopped = [device for device in one.candidates if obstacle in of_device[device]]
                every.update(stopped)
                meant.update(
                    device
                    for device in stopped
                    if not any(
                        found != obstacle and (found.filter in others or found in named) for found in of_device[device]
                    )
                )
        return sorted(meant or every)

    def detail(self, branch: int | None, obstacle: Obstacle) -> str:
        """Say more about the first device that the obstacle stops, e.g. how an expression fails."""
        details = self.case.obstacles.details
        firsts = (one.demands[0] for one in self.branches if branch is None or branch == one.index)
        return next((details[demand, obstacle] for demand in firsts if (demand, obstacle) in details), "")

    def meant(self, branch: Branch) -> list[int]:
        """List the devices that pass all selectors."""
        of_device = self.case.obstacles.of[branch.demands[0]]
        return [device for device in branch.candidates if not any(one.filter in SELECTING for one in of_device[device])]

    def devices(self, numbers: Sequence[int]) -> str:
        """Name devices, or the first few of many."""
        names = [self._names.devices[number][2] for number in numbers]
        if len(names) <= _MOST_NAMES:
            return ", ".join(names)
        return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} more"


def _named(words: Sentences, branch: int | None, obstacle: Obstacle) -> str:
    return f": {words.devices(words.stopped(branch, obstacle))}"


def _selector(words: Sentences, branch: int | None, obstacle: Obstacle) -> str:
    count, error = plural(len(words.stopped(branch, obstacle)), "device"), words.detail(branch, obstacle)
    expression = " ".join(obstacle.expression.split())
    if len(expression) > _MOST_LETTERS:
        expression = expression[: _MOST_LETTERS - 3] + "..."
    return f" rules out {count}: {expression}" + (f" ({error})" if error else "")


def _detailed(words: Sentences, branch: int | None, obstacle: Obstacle) -> str:
    return f" ({words.detail(branch, obstacle)}): {words.devices(words.stopped(branch, obstacle))}"


def _counter(words: Sentences, reason: Justification) -> str:
    counters, row = words.case.problem.counters, cast("int", reason.subject)
    set_name, counter = counters.names[row]
    sets = {one.name: one.counters or {} for one in words.case.view.pools[counters.pool_of_row[row]].counter_sets}
    return f": {amount(words.case.in_use.available[row])} of {sets[set_name][counter].value} left"


def _capacity(words: Sentences, reason: Justification) -> str:
    capacities, consumed = words.case.problem.capacities, words.case.in_use.consumed
    left = {
        device: f"{amount(capacities.totals[row] - consumed.get(row, 0))} of {amount(capacities.totals[row])}"
        for device in sorted({device for branch in words.branches for device in words.meant(branch)})
        for row in capacities.rows.get(device, ())
        if capacities.names[row] == reason.subject
    }
    first = next(iter(left), None)
    return "" if first is None else f": {left[first]} left of device {words.devices([*left])}"


REQUESTS = frozenset({"exactCount", "all", "firstAvailable"})

_STOPPING: dict[str, Callable[[Sentences, int | None, Obstacle], str]] = {
    "classSelector": _selector,
    "requestSelector": _selector,
    "capacity": _detailed,
    "bindingConditions": _detailed,
}
_JOINT: dict[str, Callable[[Sentences, Justification], str]] = {
    "matchAttribute": about_entry,
    "distinctAttribute": about_entry,
    "cel": about_entry,
    "topology": about_entry,
    "counters": _counter,
    "capacity": _capacity,
}
