"""Orders with which kube-scheduler's first fit loses least against the optimum.

Orders (``orders``) are tried by simulating first fit with the scheduler's own search. There are few enough to try them
all, or local search looks for better ones. Both sides are verified at the end, and the real allocator may confirm them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from random import Random
from time import monotonic

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.gates import FeatureGates, gates_of
from ...models.workload.expansion import QueuedUnit
from ...problem.messages import KUBE, SKIP, check_policy
from ..allocate.unsupported import check_engine_support, check_planner_support
from ..engines.kube_scheduler import NAME as KUBE_SCHEDULER
from ..plan.first_fit import SequentialScheduler
from ..plan.node_choice import FirstFitPolicy
from ..plan.node_states import TimeOverError
from .figures import SchedulingContext, SchedulingInput, scheduling_input
from .orders import ORDER_KINDS, Order, OrderedItems, all_orders, orders_of, with_orders
from .schedulers import FIRST_FIT, schedule_units

TIME_LIMIT, TRIALS, ARRIVALS = 60.0, 300, 3
# The bound may take this part of the time that is left once first fit is known.
_BOUND_SHARE = 0.4
# The search leaves so many times what first fit and its verification took, for the best orders are verified, too.
_CHECKING_TIMES = 2.0
# After so many trials without a better order the search begins anew at the best one, changed in a few places.
_PATIENCE, _KICKS = 40, 3


@dataclass(frozen=True, slots=True)
class ConfirmedOrders:
    """How many units the real allocator places before and after, for each arrival."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    version: str


@dataclass(frozen=True, slots=True)
class TunedOrders:
    """The best orders found: for each arrival the units placed before and after, of ``asked``.

    No order places more than ``bound``; None: none is known. ``changes`` are the items whose order is another one.
    ``exhausted``: all orders were tried. ``cluster`` is the one with these orders.
    """

    asked: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    bound: int | None
    choices: int
    changes: tuple[tuple[OrderedItems, Order], ...]
    trials: int
    exhausted: bool
    in_time: bool
    cluster: Cluster
    gates: FeatureGates
    cel_errors: str
    confirmed: ConfirmedOrders | None = None
    notices: tuple[str, ...] = ()

    @property
    def is_optimal(self) -> bool:
        """Whether no order places more."""
        reached = self.bound is not None and sum(self.after) == self.bound * len(self.after)
        return bool(self.after) and (self.exhausted or reached)


def tune(
    cluster: Cluster,
    *,
    kinds: Sequence[str] = ORDER_KINDS,
    arrivals: int = ARRIVALS,
    trials: int = TRIALS,
    namespace: str | None = None,
    selector: str = "",
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    cel_errors: str = KUBE,
    time_limit: float | None = TIME_LIMIT,
    seed: int = 0,
    confirm: bool = False,
) -> TunedOrders:
    """Answer ``drasat.tune``, which describes the arguments.

    Raises ``ValueError``, one line, ``PeerError`` if the real allocator is to confirm and cannot, and
    ``VerificationError`` if what first fit places is wrong.
    """
    check_policy(cel_errors)
    for name in kinds:
        if name not in ORDER_KINDS:
            raise ValueError(f"unknown order {name!r}, known are: {', '.join(ORDER_KINDS)}")
    if arrivals < 1 or trials < 1:
        raise ValueError("at least one arrival and one trial are needed")
    began, gates = monotonic(), gates_of(feature_gates)
    deadline = None if time_limit is None else began + time_limit
    ask = partial(scheduling_input, cluster, gates=gates, cel_errors=cel_errors, seed=seed)
    inputs = ask(namespace=namespace, selector=selector)
    units = [one.unit for one in inputs.units]
    check_planner_support(FIRST_FIT, cluster, units)
    if confirm:
        check_engine_support(KUBE_SCHEDULER, cluster, units)
    choices = list(orders_of(cluster, inputs.gates, [one for one in ORDER_KINDS if one in kinds]))
    as_listed = tuple(choice.as_listed for choice in choices)
    found = TunedOrders(len(units), (), (), None, len(choices), (), 0, False, False, cluster, inputs.gates, cel_errors)
    started = monotonic()
    before, _ = _verified(inputs, FIRST_FIT, arrivals, deadline)
    if before is None:
        return found
    confirmed = _verified(inputs, KUBE_SCHEDULER, arrivals, deadline) if confirm else (None, "")
    checking = monotonic() - started
    bound, notices = _bound(inputs, deadline)
    ends = None if deadline is None else deadline - _CHECKING_TIMES * checking
    search = _OrderSearch(inputs, choices, arrivals, trials, bound, ends, sum(before))
    search.run()
    chosen, best = search.best, search.inputs_with(search.best)
    after = before if chosen == as_listed else _verified(best, FIRST_FIT, arrivals, deadline)[0]
    late = after is None
    if after is None:
        # What is not verified is not told.
        chosen, best, after = as_listed, inputs, before
    changes = tuple((choice, order) for choice, order in zip(choices, chosen, strict=True) if order != choice.as_listed)
    found = replace(
        found, before=before, after=after, bound=bound, changes=changes, trials=search.tried,
        exhausted=search.exhausted and not late, in_time=search.in_time and not late,
        cluster=with_orders(cluster, choices, chosen), notices=notices,
    )  # fmt: skip
    own_before, version = confirmed
    own_after = None if own_before is None else _verified(best, KUBE_SCHEDULER, arrivals, deadline)[0]
    if own_before is None or own_after is None:
        return found
    return replace(found, confirmed=ConfirmedOrders(own_before, own_after, version))


def _bound(inputs: SchedulingInput, deadline: float | None) -> tuple[int | None, tuple[str, ...]]:
    """How many units any placement has at most.

    Where errors end a search (CEL-6), first fit may come to what it places before it meets one, and the plan would
    not. So that nobody places more, the plan passes over devices with errors.
    """
    # Loads the solver's library.
    from ..plan.plan import plan

    found = plan(
        inputs.cluster,
        objective="admitted",
        gap=0.0,
        namespace=inputs.namespace,
        selector=inputs.selector,
        feature_gates=inputs.gates,
        cel_errors=SKIP if inputs.cel_errors == KUBE else inputs.cel_errors,
        time_limit=None if deadline is None else max(0.0, deadline - monotonic()) * _BOUND_SHARE,
        seed=inputs.seed,
    )
    bound = found.objective[0].bound if found.objective else None
    return (None if bound is None else int(bound)), found.notices


def arriving_units(inputs: SchedulingInput, number: int) -> list[QueuedUnit]:
    """The queue as it arrives: by priority, and of equal ones as read, or in a random order for other numbers."""
    units = list(inputs.units)
    if number:
        Random(f"{inputs.seed}/{number}").shuffle(units)
    return sorted(units, key=lambda unit: -unit.unit_set.shape.priority)


def _verified(
    inputs: SchedulingInput, planner: str, arrivals: int, deadline: float | None
) -> tuple[tuple[int, ...] | None, str]:
    """The units that a planner places, for each arrival, with its version; None if there was no time."""
    placed, version = [], ""
    for number in range(arrivals):
        found = schedule_units(inputs, planner, arriving_units(inputs, number), deadline, deadline)
        if not found.in_time:
            return None, version
        placed.append(sum(one.node is not None for one in found.units))
        version = found.version
    return tuple(placed), version


class _OrderSearch:
    """Looks for the orders with which first fit places most; at first those as listed, with which it places ``value``.

    ``value`` is that of the ``best`` orders then.
    """

    def __init__(
        self,
        inputs: SchedulingInput,
        choices: Sequence[OrderedItems],
        arrivals: int,
        trials: int,
        bound: int | None,
        deadline: float | None,
        value: int,
    ) -> None:
        self._inputs = inputs
        self._choices = choices
        self._arrivals = arrivals
        self._trials = trials
        self._most = None if bound is None else bound * arrivals
        self._deadline = deadline
        self.best = tuple(choice.as_listed for choice in choices)
        self.value = value
        self._known = {self.best: value}
        self.exhausted = False
        self.in_time = True

    @property
    def tried(self) -> int:
        """How many orders were simulated."""
        return len(self._known)

    def run(self) -> None:
        """Try all orders if they are few, and else those that local search comes to."""
        try:
            if prod(choice.orders for choice in self._choices) <= self._trials:
                for orders in all_orders(self._choices):
                    if self._is_done():
                        return
                    self._try(orders)
                self.exhausted = True
            elif self._choices:
                self._climb()
        except TimeOverError:
            self.in_time = False

    def inputs_with(self, orders: Sequence[Order]) -> SchedulingInput:
        """The question with these orders."""
        changed = with_orders(self._inputs.cluster, self._choices, orders)
        pairs = zip(self._choices, orders, strict=True)
        if any(choice.kind == "alternatives" and order != choice.as_listed for choice, order in pairs):
            return self._inputs.on(changed)
        return replace(self._inputs, cluster=changed)

    def _is_done(self) -> bool:
        return self._most is not None and self.value >= self._most

    def _try(self, orders: tuple[Order, ...]) -> int:
        """Simulate first fit; keep what is better. Raises ``TimeOverError``."""
        if orders not in self._known:
            inputs, placed = self.inputs_with(orders), 0
            for number in range(self._arrivals):
                context = SchedulingContext(inputs, self._deadline)
                scheduler = SequentialScheduler(context, FirstFitPolicy())
                units = arriving_units(inputs, number)
                scheduler.run(units)
                if not scheduler.in_time:
                    raise TimeOverError
                placed += sum(map(scheduler.is_placed, units))
            self._known[orders] = placed
            if placed > self.value:
                self.best, self.value = orders, placed
        return self._known[orders]

    def _climb(self) -> None:
        """Local search: orders by class at first, then neighbours of what is at least as good. Raises as ``_try``."""
        rng = Random(f"{self._inputs.seed}/orders")
        for place, choice in enumerate(self._choices):
            kinds = sorted(set(choice.alike))
            for order in (choice.by_class(kinds), choice.by_class(kinds[::-1]), choice.in_turns()):
                if self._may_go_on():
                    self._try(_with(self.best, place, order))
        now, idle = self.best, 0
        # Orders that are known already cost nothing, but must come to an end, too.
        for _ in range(50 * self._trials):
            if not self._may_go_on():
                return
            if idle >= _PATIENCE:
                now, idle = self.best, 0
                for _ in range(_KICKS):
                    now = self._neighbour(now, rng)
            next_one, before = self._neighbour(now, rng), self.value
            if self._try(next_one) >= self._try(now):
                now = next_one
            idle = 0 if self.value != before else idle + 1

    def _may_go_on(self) -> bool:
        return not self._is_done() and self.tried < self._trials

    def _neighbour(self, orders: tuple[Order, ...], rng: Random) -> tuple[Order, ...]:
        place = rng.randrange(len(self._choices))
        return _with(orders, place, self._choices[place].changed(orders[place], rng))


def _with(orders: tuple[Order, ...], place: int, order: Order) -> tuple[Order, ...]:
    return (*orders[:place], order, *orders[place + 1 :])
