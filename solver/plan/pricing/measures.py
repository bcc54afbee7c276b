"""Measures that are sums over copies: ranks of alternatives, soft entries, and how close together devices are.

Each copy costs what the stage of ``allocate`` with the same name gives for it alone, as one sum. Of ``compact`` that is
the first part, places and distances: what the largest free segments and boxes of topologies lose is no sum over copies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from ....encoders.constraints.topology import distance_terms
from ....encoders.objectives.compact import COMPACT as COMPACT_STAGE
from ....encoders.objectives.stages import SOFT as SOFT_STAGE
from ....encoders.rows import Term
from ....encoders.symmetry import MergedProblem, Signature, no_signature
from ....problem.conditions import penalty
from ....problem.problem import InUse, Problem, Relation
from ....problem.topology import TopologyCondition
from .bundle import Bundle, BundleUnit, MeasureContext, Picks


def _never(_about: object) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class CopyMeasure:
    """A sum over copies: ``cost`` is that of one, which depends on nothing but what it takes itself.

    ``rest`` makes the terms for units without configurations, ``reads_relation`` says whether a relation counts that
    need not hold, ``needs_separate_copies`` whether the copies of a Problem must be told apart,
    ``is_free`` whether no copy of a Problem costs anything.
    """

    id: str
    cost: Callable[[Problem, Picks], int]
    rest: Callable[[MeasureContext], list[Term]]
    sign: Callable[[MergedProblem], Signature | None] = no_signature
    reads_relation: Callable[[Relation], bool] = _never
    needs_separate_copies: Callable[[Problem], bool] = _never
    is_free: Callable[[Problem], bool] = _never

    def terms(self, measured: MeasureContext) -> list[Term]:
        """Count each configuration at its cost, and the rest as it can be said."""
        found = [
            (variable, self.cost(measured.units[number].problem, picks))
            for number, choices in measured.listed.items()
            if measured.units[number].measured
            for variable, picks in choices
        ]
        return [*found, *self.rest(measured)]

    def value(self, units: Sequence[BundleUnit], bundle: Bundle) -> int:
        """Add up the copies."""
        pairs = zip(units, bundle.copies, strict=True)
        return sum(self.cost(unit.problem, picks) for unit, copies in pairs if unit.measured for picks in copies)

    def uniform_cost(self, unit: BundleUnit, _in_use: InUse) -> int | None:
        """Nothing, where that is known beforehand."""
        return None if unit.measured and unit.problem.demands and not self.is_free(unit.problem) else 0


def _rank_cost(problem: Problem, picks: Picks) -> int:
    """How many alternatives come before those that serve (SRCH-4)."""
    serving = {pick.demand for pick in picks}
    lists = [request.demands for claim in problem.claims for request in claim.requests if request.listed]
    return sum(rank for demands in lists for rank, demand in enumerate(demands) if demand in serving)


def _rank_terms(measured: MeasureContext) -> list[Term]:
    model, claims = measured.model, measured.unlisted()
    return [
        (choice, rank)
        for request in model.merged.requests
        if request.listed and request.claims[0] in claims
        for rank, number in enumerate(request.alternatives)
        if rank and (choice := model.choices[number]) is not None
    ]


def _soft_cost(problem: Problem, picks: Picks) -> int:
    members = [(pick.demand, pick.device) for pick in picks]
    return sum(penalty(relation, members) for relation in problem.soft_relations)


def _soft_terms(measured: MeasureContext) -> list[Term]:
    """Only relations of units without configurations are in the model; claims that have some are never merged."""
    (terms,) = SOFT_STAGE.parts(measured.model)
    return list(terms)


def _is_soft(relation: Relation) -> bool:
    return not relation.hard


def _counts_distances(relation: Relation) -> bool:
    return isinstance(relation.condition, TopologyCondition) and relation.condition.minimizes_distance


def _device_places(problem: Problem, device: int) -> Iterator[Hashable]:
    yield "pool", problem.node_context.pools[device]
    for number, grouping in enumerate(problem.node_context.groupings):
        yield number, grouping[device]


def _compact_cost(problem: Problem, picks: Picks) -> int:
    """Places of the copy, and the distances of all pairs where an entry asks for ``Compact`` without one (TOPO-2)."""
    places = {place for pick in picks for place in _device_places(problem, pick.device)}
    relations = filter(_counts_distances, problem.relations)
    return len(places) + sum(_distances(relation, picks) for relation in relations)


def _distances(relation: Relation, picks: Picks) -> int:
    condition = relation.condition
    if not isinstance(condition, TopologyCondition):
        return 0
    homes = condition.instance_of
    devices = sorted({one.device for one in picks if one.demand in relation.demands and one.device in homes})
    return sum(condition.distances(one).get(other, 0) for one, other in combinations(devices, 2))


def _has_several_devices(problem: Problem) -> bool:
    """Whether a copy may have more than one device: else all copies are equally close together."""
    requests = (request for claim in problem.claims for request in claim.requests)
    return sum(max((problem.demands[number].count for number in one.demands), default=0) for one in requests) > 1


def _compact_terms(measured: MeasureContext) -> list[Term]:
    """Count the places of each copy; if it has one device only, that is by what is taken, and copies may be one."""
    model, copies = measured.model, measured.unlisted()
    terms: list[Term] = []
    takers: dict[Hashable, list[Term]] = defaultdict(list)
    for copy, taken, device in _copy_takes(measured):
        problem = measured.units[copy[0]].problem
        places = list(_device_places(problem, device))
        if _has_several_devices(problem):
            for place in places:
                takers[copy, place].append((taken, 1))
        else:
            terms.append((taken, len(places)))
    for own in takers.values():
        literal = model.rows.boolean()
        model.post_implied(own, literal)
        terms.append((literal, 1))
    relations = [relation for relation in model.merged.relations if relation.claims[0] in copies]
    return [*terms, *distance_terms(model, relations)]


def _copy_takes(measured: MeasureContext) -> Iterator[tuple[tuple[int, int], int, int]]:
    """Yield for units without configurations the copy, the variable and the device that each alternative could take."""
    model, copies = measured.model, measured.unlisted()
    for alternative in model.merged.alternatives:
        copy = copies.get(model.merged.claim_of(alternative))
        if copy is not None:
            for class_ in model.reduced.classes_of[alternative.index]:
                yield copy, model.takes[alternative.index, class_], model.reduced.classes[class_].representative


def _has_no_lists(problem: Problem) -> bool:
    return not problem.has_lists


def _has_no_soft_relations(problem: Problem) -> bool:
    return not problem.soft_relations


PREFERENCE = CopyMeasure("preference", _rank_cost, _rank_terms, is_free=_has_no_lists)
"""Sum of the ranks of alternatives."""
SOFT = CopyMeasure("soft", _soft_cost, _soft_terms, reads_relation=_is_soft, is_free=_has_no_soft_relations)
"""Sum of the weights of violated soft entries (SOFT-1, SOFT-2)."""
COMPACT = CopyMeasure(
    "compact",
    _compact_cost,
    _compact_terms,
    COMPACT_STAGE.sign,
    reads_relation=_counts_distances,
    needs_separate_copies=_has_several_devices,
)
"""Places that the devices of each copy are spread over, and distances. Problems need their node context."""
COPY_MEASURES: Mapping[str, CopyMeasure] = {measure.id: measure for measure in (PREFERENCE, SOFT, COMPACT)}
"""The measures by the names of their stages."""
