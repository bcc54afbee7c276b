"""Bounds on one request or one claim alone: too few devices that could be used, or more than a claim may get."""

from __future__ import annotations

from ...problem.justification import Justification
from ...problem.records import RESULT_LIMIT
from .tally import Need, Tally
from .wording import justified, plural, who


def shortage(tally: Tally) -> Justification | None:
    """Every alternative of a request needs more devices than could be used."""
    for need in tally.needs:
        if all(tally.is_short(option) for option in need.options):
            text = "; ".join(_shortfall(tally, option) for option in need.options)
            return justified("devices", text, tally, (need,))
    return None


def result_limit(tally: Tally) -> Justification | None:
    """The requests of a claim take more devices than one result may have (SRCH-8)."""
    wanted: dict[int, int] = {}
    for need in tally.needs:
        wanted[need.claim] = wanted.get(need.claim, 0) + tally.least(need)
    for claim, count in wanted.items():
        if count > RESULT_LIMIT:
            return _over_limit(tally, [need for need in tally.needs if need.claim == claim], count)
    return None


def _over_limit(tally: Tally, needs: list[Need], count: int) -> Justification:
    text = f"{who(tally, needs)}: {plural(count, 'device')} at least, one claim may get {RESULT_LIMIT}"
    return justified("resultLimit", text, tally, needs)


def _shortfall(tally: Tally, option: int) -> str:
    demand = tally.demand(option)
    name = f"request {demand.label}"
    if not demand.all_devices:
        return f"{name} needs {plural(demand.count, 'device')}, {tally.masks[option].bit_count()} can be used"
    if not demand.count:
        return f"{name} takes all devices that it selects, and there are none"
    return f"{name} takes all of the {plural(demand.count, 'device')} that it selects, not all of them can be used"
