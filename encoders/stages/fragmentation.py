"""``fragmentation``: what the choice leaves useless.

The value is the sum, over all that the node offers before and no longer offers after (``options``), of the square of
its size. A free device is lost if it is taken, of a shareable one if a share is taken, or if the counters that it would
draw no longer suffice; a group of matching devices if one of its members is lost. So the smallest device that fits is
taken, partitions lie where they block the fewest and smallest others, and broken groups are broken further.

This is the measure of Fragmentation Gradient Descent (Weng et al., USENIX ATC'23) with the node's own offers as the
target workload: the gradient is what the tasks that could have come can no longer get. Squares keep room for the
large: one device of twice the size is worth four small ones.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable
from typing import TYPE_CHECKING

from ...problem.order import draws_anew
from ...problem.records import Amounts
from ..collapsed import Lot, Merged
from ..encoder import Signature
from .holding import held, post_implied
from .options import Options, options, worth
from .shortages import Shortages
from .stage import Stage

if TYPE_CHECKING:
    from ..model import AllocationModel
    from ..rows import Term


def _sign(merged: Merged) -> Signature:
    offered = options(merged)
    return lambda device: _sight(offered, device)


def _sight(offered: Options, device: int) -> Hashable:
    return offered.sizes.get(device), offered.groups_of.get(device, ())


def _parts(model: AllocationModel) -> list[list[Term]]:
    return [_Losses(model).terms()]


class _Losses:
    """Terms for what is lost, option by option."""

    def __init__(self, model: AllocationModel) -> None:
        self._model = model
        self._options = options(model.merged)
        self._shortages = Shortages(model)
        self._total: Counter[int] = Counter()
        self._of_group: dict[int, list[Term]] = defaultdict(list)

    def terms(self) -> list[Term]:
        """List them, with what each loss costs."""
        in_lots = {device for lot in self._model.collapsed.lots for device in lot.devices}
        for lot in self._model.collapsed.lots:
            if lot.first in self._options.sizes:
                self._lose(lot.first, self._loss(lot))
        others: dict[Hashable, list[int]] = defaultdict(list)
        for device in self._options.sizes:
            if device not in in_lots and (amounts := self._draws(device)):
                others[amounts, _sight(self._options, device)].append(device)
        for devices in others.values():
            blocked = self._shortages.blocked(self._draws(devices[0]))
            if blocked is not None:
                self._lose(devices[0], [(blocked, len(devices))])
        self._break_groups()
        return [(variable, cost) for variable, cost in self._total.items() if cost]

    def _draws(self, device: int) -> Amounts:
        problem = self._model.merged.problem
        anew = draws_anew(problem, self._model.merged.in_use, device)
        return problem.counters.consumption.get(device, ()) if anew else ()

    def _loss(self, lot: Lot) -> list[Term]:
        """Count what is lost of a lot: all of it if the counters no longer suffice, else what is taken."""
        rows = self._model.rows
        taken = held(self._model, lot)
        if lot.first in self._model.merged.problem.shared:
            literal = rows.boolean()
            post_implied(self._model, taken, literal)
            taken = [(literal, 1)]
        amounts = self._draws(lot.first)
        blocked = self._shortages.blocked(amounts)
        if blocked is None:
            return taken
        if self._shortages.blocks_itself(amounts):
            return [(blocked, lot.size)]
        lost = rows.integer(0, lot.size)
        rows.at_most([*taken, (lost, -1)], 0)
        rows.at_most([(blocked, lot.size), (lost, -1)], 0)
        return [(lost, 1)]

    def _lose(self, device: int, loss: list[Term]) -> None:
        for variable, count in loss:
            self._total[variable] += count * worth(self._options.sizes[device])
        for group in self._options.groups_of.get(device, ()):
            self._of_group[group] += loss

    def _break_groups(self) -> None:
        for group, loss in self._of_group.items():
            broken = self._model.rows.boolean()
            post_implied(self._model, loss, broken)
            self._total[broken] += worth(self._options.groups[group].size)


FRAGMENTATION = Stage("fragmentation", "least and smallest of what can no longer be asked for", _parts, _sign)
