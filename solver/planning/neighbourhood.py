"""Improve a plan a few nodes at a time: empty them, price for what they may take, and choose again by CP-SAT."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from ..cp_sat_run import Limits
from .duals import Pricing, duals_of
from .generation import Budget, Generator
from .instance import Column, Stage
from .integer_master import Choice, choose
from .master import Relaxation
from .plan import Plan, covered

# Nodes that are emptied at once: those that lose most against the relaxation, and others at random.
_WORST = 5
_OTHERS = 7
# Columns that are chosen from, and what that may cost, in deterministic units of work.
_COLUMNS = 240
_WORK = 0.5
# Rounds in vain after which it is over.
_PATIENCE = 12


@dataclass(frozen=True, slots=True)
class Emptied:
    """What remains of a plan, how many nodes of each class are free, and what may be placed there."""

    kept: Counter[Column]
    nodes: dict[int, int]
    left: list[int]


class Improvement:
    """Rounds of improvement. What is pseudo-random depends on nothing but the round."""

    def __init__(self, generator: Generator, stage: Stage, relaxation: Relaxation, budget: Budget) -> None:
        self._generator = generator
        self._instance = generator.instance
        self._master = generator.master
        self._stage = stage
        self._budget = budget
        self._pricing = Pricing(self._instance, stage, self._master.rows, duals_of(relaxation))
        self._node_values = [worth * self._pricing.scale for worth in relaxation.nodes]

    def plans(self, plan: Plan) -> Iterator[Plan]:
        """Yield ever better plans, or others that are as good, until nothing more is found."""
        sign = 1 if self._stage.maximise else -1
        vain = number = 0
        while vain < _PATIENCE and not self._budget.is_over():
            number += 1
            better = self._round(plan, Random(number))
            gain = sign * (better.value(self._stage.terms) - plan.value(self._stage.terms)) if better else 0
            vain = 0 if gain > 0 else vain + 1
            if better and gain >= 0:
                plan = better
                yield plan

    def _round(self, plan: Plan, random: Random) -> Plan | None:
        emptied = self._empty(plan, random)
        index_of = {column: index for index, column in enumerate(self._master.columns)}
        for column, number in emptied.kept.items():
            self._master.restrict(index_of[column], number)
        classes = [node_class for node_class, number in emptied.nodes.items() if number]
        generated = self._generator.run(self._stage, self._budget, emptied.left, classes)
        self._master.release()
        if generated.relaxation is None:
            return None
        choices = self._choices(emptied, plan, generated.relaxation)
        limits = Limits(deadline=self._budget.deadline, work=_WORK)
        return choose(self._instance, self._master.rows, self._stage, choices, plan, limits).plan

    def _empty(self, plan: Plan, random: Random) -> Emptied:
        """Choose nodes to empty."""
        nodes = [(self._loss(column), column) for column, number in plan.columns for _ in range(number)]
        order = sorted(range(len(nodes)), key=lambda place: (-nodes[place][0], place))
        chosen = order[:_WORST]
        chosen += random.sample(order[_WORST:], min(_OTHERS, len(order[_WORST:])))
        kept = Counter(dict(plan.columns))
        free = {node.index: node.count for node in self._instance.nodes}
        for place in chosen:
            kept[nodes[place][1]] -= 1
        kept = +kept
        for column, number in kept.items():
            free[column.node_class] -= number
        room = covered(self._instance, list(kept.items()))
        left = [max(0, asked - there) for asked, there in zip(self._instance.most(), room, strict=True)]
        return Emptied(kept, free, left)

    def _loss(self, column: Column) -> float:
        """What a node with this column is worth less than one could be, at the relaxation's prices."""
        worth = self._pricing.prices.value(column) + self._pricing.constant(column.node_class)
        return self._node_values[column.node_class] - worth

    def _choices(self, emptied: Emptied, plan: Plan, relaxation: Relaxation) -> list[Choice]:
        """Columns that stay where they are, and the most promising ones for the free nodes."""
        pricing = Pricing(self._instance, self._stage, self._master.rows, duals_of(relaxation))
        taken = dict(plan.columns)
        ranked: list[tuple[bool, float, int]] = []
        for index, column in enumerate(self._master.columns):
            if emptied.nodes[column.node_class] and self._is_useful(column, emptied.left):
                worth = pricing.prices.value(column) + pricing.constant(column.node_class)
                loss = relaxation.nodes[column.node_class] * pricing.scale - worth
                ranked.append((column not in taken, loss, index))
        open_columns = {self._master.columns[index] for _, _, index in sorted(ranked)[:_COLUMNS]}
        choices = []
        for column in self._master.columns:
            kept = emptied.kept[column]
            most = kept + (emptied.nodes[column.node_class] if column in open_columns or column in taken else 0)
            if most:
                choices.append(Choice(column, kept, most))
        return choices

    def _is_useful(self, column: Column, left: Sequence[int]) -> bool:
        return all(amount <= left[unit] for unit, amount in column.counts)
