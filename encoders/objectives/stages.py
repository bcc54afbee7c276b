"""The stages of an objective by name, and those that need few rows.

``fewest-devices-opened``: as little as possible is taken into use that nobody used before. The value counts what the
answer opens: each dedicated device, each shareable device without shares, and in place of devices that draw counters
each counter set, that is each physical card, of which nothing was drawn yet.

``preference``: better alternatives for earlier list requests, as the scheduler likes them (SRCH-4). The rank of a list
request is the number of alternatives before the one that serves it. Ranks are minimised request by request in search
order; the value is their sum.

``soft``: the sum of the weights of soft entries that are violated (SOFT-1). An entry with ``per: Pair`` costs its
weight for each pair of devices that violates it (SOFT-2).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ...problem.conditions import has_no_penalty
from ...problem.constraints import draws_counters
from ...problem.problem import BoundedValue, Problem
from ..symmetry import MergedRequest
from .stage import AllocationStage, Card, ChosenDevices, cards_of_device, held_terms

if TYPE_CHECKING:
    from ..model import AllocationModel
    from ..rows import Term
    from ..symmetry import MergedRelation


from .compact import COMPACT
from .consumption import LEAST_CONSUMPTION
from .fragmentation import FRAGMENTATION


def _opened_parts(model: AllocationModel) -> list[list[Term]]:
    problem, in_use = model.merged.problem, model.merged.in_use
    counters, totals = problem.counters, problem.node_context.totals
    drawn = zip(counters.pool_of_row, counters.names, totals, in_use.available, strict=True)
    touched = {(pool, name) for pool, (name, _), total, left in drawn if total != left}
    terms: list[Term] = []
    opening: dict[Card, list[Term]] = defaultdict(list)
    for class_ in model.reduced.classes:
        parts = cards_of_device(problem, class_.representative)
        if parts:
            if draws_counters(problem, in_use, class_.representative):
                for card in parts - touched:
                    opening[card] += held_terms(model, class_)
        elif class_.representative not in problem.shared:
            terms += held_terms(model, class_)
        elif not in_use.shares.get(class_.representative):
            terms.append((model.any_positive(held_terms(model, class_)), 1))
    return [[*terms, *((model.any_positive(opening[card]), 1) for card in sorted(opening))]]


OPENED = AllocationStage("fewest-devices-opened", "fewest devices and cards that nobody used before", _opened_parts)


def _list_requests(model: AllocationModel) -> Iterator[MergedRequest]:
    return (request for request in model.merged.requests if request.listed)


def _rank_parts(model: AllocationModel, request: MergedRequest) -> Iterator[list[Term]]:
    """Rank a single list; of several equal ones as few as possible without the first alternative, then the second."""
    choices = [choice for number in request.alternatives if (choice := model.choices[number]) is not None]
    if _request_copies(model, request) == 1:
        yield [(choice, rank) for rank, choice in enumerate(choices) if rank]
        return
    for best in range(len(choices) - 1):
        yield [(choice, 1) for choice in choices[best + 1 :]]


def _request_copies(model: AllocationModel, request: MergedRequest) -> int:
    return model.merged.alternatives[request.alternatives[0]].copies


def _ranks_by_request(model: AllocationModel, parts: Sequence[BoundedValue]) -> list[BoundedValue]:
    """List the rank of each request: how requests were merged differs from node to node."""
    ranks: list[BoundedValue] = []
    left = iter(parts)
    for request in _list_requests(model):
        copies = _request_copies(model, request)
        if copies == 1:
            ranks.append(next(left))
            continue
        worse = [next(left) for _ in request.alternatives[1:]]
        proven = all(part.proven for part in worse)
        # The first copies get the first alternative, so that the last ones are in every count of those left over.
        own = [sum(part.value > copies - 1 - copy for part in worse) for copy in range(copies)]
        ranks += [BoundedValue(rank, rank if proven else 0) for rank in own]
    return ranks


def _uses_first_alternatives(problem: Problem, picked: ChosenDevices) -> bool:
    """Tell whether every list request is served by its first alternative."""
    listed = (request for claim in problem.claims for request in claim.requests if request.listed)
    later = {demand for request in listed for demand in request.demands[1:]}
    return all(demand not in later for demand, _ in picked)


PREFERENCE = AllocationStage(
    "preference",
    "better alternatives for earlier list requests (SRCH-4): sum of the ranks",
    lambda model: [part for request in _list_requests(model) for part in _rank_parts(model, request)],
    is_free=_uses_first_alternatives,
    comparable=_ranks_by_request,
)


def _soft_parts(model: AllocationModel) -> list[list[Term]]:
    soft = (relation for relation in model.merged.relations if not relation.record.hard)
    return [[term for relation in soft for term in _soft_cost_terms(model, relation)]]


def _soft_cost_terms(model: AllocationModel, relation: MergedRelation) -> Iterator[Term]:
    weight = relation.record.weight or 0
    if relation.record.per_pair:
        # Loaded with a model only: it brings the solver's library.
        from ..constraints.attributes import pair_costs

        yield from ((variable, weight * pairs) for variable, pairs in pair_costs(model, relation))
        return
    violated = model.rows.boolean()
    model.rows.clause([model.soft_literal(relation), violated])
    yield violated, weight


SOFT = AllocationStage(
    "soft", "sum of the weights of violated soft entries (SOFT-1)", _soft_parts, is_free=has_no_penalty
)

STAGES: dict[str, AllocationStage] = {
    stage.id: stage for stage in (PREFERENCE, SOFT, FRAGMENTATION, COMPACT, OPENED, LEAST_CONSUMPTION)
}


def default_stages(problem: Problem) -> tuple[AllocationStage, ...]:
    """List the stages without an objective: the scheduler's preference, then the cost of soft entries (SOFT-1)."""
    return (PREFERENCE, SOFT) if problem.soft_relations else (PREFERENCE,)


def stages_named(names: str | Iterable[str]) -> tuple[AllocationStage, ...]:
    """Find stages by name; a string holds several, separated by commas. Raises ``ValueError``, one line."""
    parts = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    for number, name in enumerate(parts):
        if name not in STAGES:
            raise ValueError(f"unknown stage {name!r} of an objective, known are: {', '.join(STAGES)}")
        if name in parts[:number]:
            raise ValueError(f"stage {name!r} comes twice in the objective")
    return tuple(STAGES[name] for name in parts)
