"""Amounts that devices draw: shared counters, consumable capacity, and the compatibility groups of counter sets.

Counters: what devices draw of a pool's counters is there (CTR-2, CTR-3); in pools where a device gives counters back,
that is asked device by device, in order. Capacity: what requests take of each shareable device is there (CAP-6 to
CAP-8). Groups: devices that draw from one counter set have a group in common, or none has any (section 12).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import gcd

from ...problem.constraints import draws_counters, pools_with_negative_draws
from ...problem.problem import Amounts
from ..model import (
    AllocationModel,
    Encoder,
    TakeKey,
    justify_capacity,
    justify_counter,
    justify_groups,
    justify_node_resource,
)
from ..rows import Term
from ..symmetry import MergedProblem, Signature, SymmetryClass
from .common_value import post_common_value


def _sign_counters(merged: MergedProblem) -> Signature | None:
    problem = merged.problem
    if not problem.counters.consumption:
        return None
    giving, pools = pools_with_negative_draws(problem), problem.counters.pool_of_row

    def sign(device: int) -> object:
        amounts = problem.counters.consumption.get(device, ())
        if not amounts or not draws_counters(problem, merged.in_use, device):
            return None
        return device if pools[amounts[0][0]] in giving else amounts

    return sign


def _post_counter_rows(model: AllocationModel) -> None:
    counters, in_use = model.merged.problem.counters, model.merged.in_use
    giving = pools_with_negative_draws(model.merged.problem)
    blocked = counters.overdrawn_pools(in_use.available)
    rows: dict[int, list[Term]] = defaultdict(list)
    ordered: list[SymmetryClass] = []
    for class_ in model.reduced.classes:
        amounts = counters.consumption.get(class_.representative, ())
        if not amounts or not draws_counters(model.merged.problem, in_use, class_.representative):
            continue
        pool = counters.pool_of_row[amounts[0][0]]
        if pool in giving:
            ordered.append(class_)
        elif pool in blocked:
            # A counter that is overdrawn already blocks all devices of its pool that draw any (CTR-2).
            takes = [(model.takes[alternative, class_.index], 1) for alternative in class_.alternatives]
            model.rows.at_most(takes, 0, model.guard(justify_counter(model.merged.problem, blocked[pool])))
        else:
            for row, amount in amounts:
                rows[row] += _counter_draw_terms(model, class_, amount)
    model.rows.has_packing_rows = model.rows.has_packing_rows or bool(rows)
    for row, terms in rows.items():
        model.rows.at_most(terms, in_use.available[row], model.guard(justify_counter(model.merged.problem, row)))
    post_ordered_counters(model, ordered)


def _counter_draw_terms(model: AllocationModel, class_: SymmetryClass, amount: int) -> list[Term]:
    """Terms of what a symmetry class draws: each time for a dedicated device, once for a shareable one."""
    takes = [(model.takes[alternative, class_.index], amount) for alternative in class_.alternatives]
    if class_.representative not in model.merged.problem.shared:
        return takes
    return [(model.used(class_), amount)]


CounterDraw = tuple[int, int, int]
"""Branch, symmetry class (of one device each), and the literal that says that this very pick draws the counters."""


def post_ordered_counters(model: AllocationModel, classes: Iterable[SymmetryClass]) -> None:
    """Post for each device of these pools that, when it is taken, every counter of its pool is not overdrawn."""
    problem = model.merged.problem
    by_pool: dict[int, list[SymmetryClass]] = defaultdict(list)
    for class_ in classes:
        by_pool[problem.counters.pool_of_row[problem.counters.consumption[class_.representative][0][0]]].append(class_)
    for pool, members in by_pool.items():
        draws = sorted(draw for class_ in members for draw in _first_share_draws(model, class_))
        for row, owner in enumerate(problem.counters.pool_of_row):
            if owner == pool:
                _post_ordered_counter_row(model, row, draws)


def _first_share_draws(model: AllocationModel, class_: SymmetryClass) -> Iterator[CounterDraw]:
    """Only the first share of a device draws (CTR-3)."""
    rows, shared = model.rows, class_.representative in model.merged.problem.shared
    before: list[Term] = []
    for alternative in class_.alternatives:
        taken = model.takes[alternative, class_.index]
        drawing = taken
        if shared and before:
            drawing = rows.boolean()
            # Drawing if it is taken and nobody took it before.
            rows.at_most([(drawing, 1), (taken, -1)], 0)
            rows.at_most([(drawing, len(before)), *before], len(before))
            rows.at_most([(taken, 1), (drawing, -1), *((one, -1) for one, _ in before)], 0)
        before.append((taken, 1))
        yield alternative, class_.index, drawing


def _post_ordered_counter_row(model: AllocationModel, row: int, draws: Sequence[CounterDraw]) -> None:
    problem, available = model.merged.problem, model.merged.in_use.available[row]
    guard = model.guard(justify_counter(problem, row))
    terms: list[Term] = []
    for _, class_, literal in draws:
        device = model.reduced.classes[class_].representative
        amount = dict(problem.counters.consumption[device]).get(row, 0)
        most = sum(max(coefficient, 0) for _, coefficient in [*terms, (literal, amount)])
        slack = max(0, most - available)
        # With the literal the row holds, without it there is room for whatever comes before.
        model.rows.at_most([*terms, (literal, amount + slack)], available + slack, guard)
        terms.append((literal, amount))


COUNTERS = Encoder(
    "counters",
    "counters of a pool suffice for what draws from them (CTR-2)",
    _post_counter_rows,
    _sign_counters,
    sees="what is drawn of each counter, nothing of a shareable device in use (CTR-3); the device itself where one of "
    "the pool gives counters back",
)


def _sign_capacity(merged: MergedProblem) -> Signature | None:
    """Sign a dedicated device with the alternatives that it could never serve: nothing else is seen of it."""
    problem = merged.problem
    if not problem.capacities.rows:
        return None
    unable = _too_small_by_demand(merged, merged.problem.capacities.remaining(merged.in_use.consumed))
    return lambda device: tuple([demand for demand, devices in unable if device in devices])


def _too_small_by_demand(merged: MergedProblem, left: Sequence[int]) -> list[tuple[int, frozenset[int]]]:
    """List the demands that some devices are too small for, with these devices."""
    demands = [merged.problem.demands[alternative.demands[0]] for alternative in merged.alternatives]
    # Demands that are alike share one map of amounts.
    maps = {id(demand.amounts): demand.amounts for demand in demands}
    small = {key: _too_small(amounts, left) for key, amounts in maps.items()}
    return [(demand.index, devices) for demand in demands if (devices := small[id(demand.amounts)])]


def _too_small(amounts: Mapping[int, Amounts], left: Sequence[int]) -> frozenset[int]:
    return frozenset(device for device, drawn in amounts.items() if any(amount > left[row] for row, amount in drawn))


def _post_capacity_rows(model: AllocationModel) -> None:
    problem, left = model.merged.problem, model.merged.problem.capacities.remaining(model.merged.in_use.consumed)
    # Of dedicated devices only those need a row that are too small for somebody.
    binding = problem.shared.union(*(devices for _, devices in _too_small_by_demand(model.merged, left)))
    for class_ in model.reduced.classes:
        if class_.representative in problem.capacities.rows and class_.representative in binding:
            _post_capacity_of_class(model, class_, left)


def _post_capacity_of_class(model: AllocationModel, class_: SymmetryClass, left: Sequence[int]) -> None:
    """The amount that a request takes is fixed by the device, so that every row is linear (CAP-3)."""
    problem = model.merged.problem
    rows: dict[int, list[Term]] = defaultdict(list)
    for alternative in class_.alternatives:
        demand = problem.demands[model.merged.alternatives[alternative].demands[0]]
        for row, amount in demand.amounts.get(class_.representative, ()):
            rows[row].append((model.takes[alternative, class_.index], amount))
    for row, terms in rows.items():
        guard = model.guard(justify_capacity(problem, row))
        if class_.representative in problem.shared and left[row] >= 0:
            model.rows.at_most(terms, left[row], guard)
        else:
            # Nothing accumulates on a dedicated device (CAP-7), and nothing fits one that is overfull.
            model.rows.at_most([(variable, 1) for variable, amount in terms if amount > left[row]], 0, guard)


CAPACITY = Encoder(
    "capacity",
    "shared devices have the capacity that requests take (CAP-6)",
    _post_capacity_rows,
    _sign_capacity,
    sees="of a dedicated device the requests that it is too small for",
)


def _sign_node_resources(merged: MergedProblem) -> Signature | None:
    draws = [merged.problem.demands[alternative.demands[0]].node_draws for alternative in merged.alternatives]
    if not any(draws):
        return None
    return lambda device: tuple(own.get(device) for own in draws)


def _post_node_resources(model: AllocationModel) -> None:
    """What a device takes of the node is fixed for each request, so that every row is linear (NAR-2, NAR-3)."""
    problem = model.merged.problem
    terms: dict[int, list[Term]] = defaultdict(list)
    for class_ in model.reduced.classes if problem.node_limits else ():
        for alternative in class_.alternatives:
            demand = problem.demands[model.merged.alternatives[alternative].demands[0]]
            for row, amount in demand.node_draws.get(class_.representative, ()):
                terms[row].append((model.takes[alternative, class_.index], amount))
    for row, own in terms.items():
        resource, limit = problem.node_limits[row]
        step = gcd(*(amount for _, amount in own)) or 1
        divided = [(variable, amount // step) for variable, amount in own]
        model.rows.at_most(divided, limit // step, model.guard(justify_node_resource(resource)))


NODE_RESOURCES = Encoder(
    "nodeResources",
    "the node has what the devices take of it (NAR-7)",
    _post_node_resources,
    _sign_node_resources,
    sees="what it takes of each resource of the node, for each request",
)
# Bit 0 says "grouped" in the Problem; as a value in common it must not count, and "no groups" is one.
_NO_GROUPS_BIT = 1


def _sign_compatibility_groups(merged: MergedProblem) -> Signature | None:
    membership = merged.problem.groups.membership
    if not membership:
        return None
    return lambda device: membership.get(device) if draws_counters(merged.problem, merged.in_use, device) else None


def _post_compatibility_groups(model: AllocationModel) -> None:
    problem, in_use = model.merged.problem, model.merged.in_use
    values: dict[int, dict[TakeKey, int]] = defaultdict(dict)
    for class_ in model.reduced.classes:
        if draws_counters(problem, in_use, class_.representative):
            for place, groups in problem.groups.membership.get(class_.representative, ()):
                for alternative in class_.alternatives:
                    values[place][alternative, class_.index] = _common_group_bits(groups, in_use.groups[place])
    for place, found in values.items():
        post_common_value(model, found, model.guard(justify_groups(problem, place)))


def _common_group_bits(groups: int, state: int | None) -> int:
    """Write the groups as values in common, as far as devices in use leave them (GRP-3)."""
    own = groups & ~1 or _NO_GROUPS_BIT
    if state is None:
        return own
    return own & (state & ~1 if state else _NO_GROUPS_BIT)


COMPATIBILITY_GROUPS = Encoder(
    "compatibilityGroups",
    "devices of a counter set have a group in common (GRP-3)",
    _post_compatibility_groups,
    _sign_compatibility_groups,
    sees="the groups on each counter set, nothing of a shareable device in use (GRP-4)",
)
