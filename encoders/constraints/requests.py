"""Requests: how many devices each gets, which alternative serves it, and which devices it may share with others.

A request for all devices gets every one of the list or none (SRCH-6); a copy of a list request is served by one of its
alternatives (SRCH-4). A dedicated device serves one request, a shareable one each request once (DEV-1, DEV-13). Admin
access minds only what its own claim picked, but is in the way of every normal request after it (DEV-1). A claim gets at
most 32 devices (SRCH-8). What keeps a device from a request is a row only in explanations (``eligibility_encoder``);
elsewhere such a device is no candidate in the first place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations
from math import inf

from ...problem.messages import Justification
from ...problem.obstacles import Obstacles
from ...problem.problem import RESULT_LIMIT
from ..model import AllocationModel, Encoder, justify_limit, justify_obstacle, justify_request
from ..rows import Term
from ..symmetry import MergedAlternative, MergedProblem, Signature, SymmetryClass


def _post_exact_count(model: AllocationModel) -> None:
    for alternative in model.merged.alternatives:
        if not alternative.all_devices:
            guard = model.guard(justify_request(model.merged, alternative))
            model.post_served_multiple(alternative, model.taken(alternative.index), alternative.count, guard)


EXACT_COUNT = Encoder("exactCount", "a request gets as many devices as it counts", _post_exact_count)


def _post_all_devices(model: AllocationModel) -> None:
    for alternative in model.merged.alternatives:
        if alternative.all_devices:
            _post_take_all(model, alternative)


def _post_take_all(model: AllocationModel, alternative: MergedAlternative) -> None:
    guard = model.guard(justify_request(model.merged, alternative))
    if not alternative.count or len(alternative.candidates) < alternative.count:
        # Nothing to take, or not everything can be taken.
        model.post_served_multiple(alternative, [], 1, guard)
        return
    for class_ in model.reduced.classes_of[alternative.index]:
        model.post_served_multiple(
            alternative, [(model.takes[alternative.index, class_], 1)], model.reduced.classes[class_].size, guard
        )


ALL_DEVICES = Encoder("all", "a request for all devices gets every one that matches", _post_all_devices)


def _post_first_available(model: AllocationModel) -> None:
    for request in model.merged.requests:
        if request.listed:
            first = model.merged.alternatives[request.alternatives[0]]
            guard = model.guard(justify_request(model.merged, first))
            choices = [(choice, 1) for one in request.alternatives if (choice := model.choices[one]) is not None]
            due = model.served_request_copies(first)
            model.rows.equal([*choices, *due.times(-1)], due.constant, guard)
            if guard is not None:
                # A request that is let go is still served in one way at most.
                model.rows.at_most(choices, first.copies)


FIRST_AVAILABLE = Encoder("firstAvailable", "one alternative of a list is chosen", _post_first_available)


def _sign_sharing(merged: MergedProblem) -> Signature | None:
    shared = merged.problem.shared
    return (lambda device: device if device in shared else None) if shared else None


def _post_sharing(model: AllocationModel) -> None:
    for class_ in model.reduced.classes:
        if class_.representative in model.merged.problem.shared:
            _post_shareable(model, class_)
        else:
            takers = [index for index in class_.alternatives if not model.merged.alternatives[index].admin]
            if takers:
                model.rows.at_most([(model.takes[index, class_.index], 1) for index in takers], class_.size)


def _post_shareable(model: AllocationModel, class_: SymmetryClass) -> None:
    """A request takes a device once, so that only copies that are served, and by this alternative, take it (DEV-13)."""
    for index in class_.alternatives:
        alternative = model.merged.alternatives[index]
        served = model.served_copies(alternative)
        if served.terms and alternative.copies > 1:
            model.rows.at_most([(model.takes[index, class_.index], 1), *served.times(-1)], served.constant)


SHARING = Encoder(
    "sharing",
    "a dedicated device serves one request, a shareable one each request once (DEV-1, DEV-13)",
    _post_sharing,
    _sign_sharing,
    sees="the device itself, if it is shareable",
)


def _sign_admin_access(merged: MergedProblem) -> Signature | None:
    observed = {device for alternative in merged.alternatives if alternative.admin for device in alternative.candidates}
    return (lambda device: device if device in observed else None) if observed else None


def _post_admin_access(model: AllocationModel) -> None:
    alternatives, shared = model.merged.alternatives, model.merged.problem.shared
    for class_ in model.reduced.classes:
        if class_.representative not in shared and any(alternatives[index].admin for index in class_.alternatives):
            _post_admin_exclusion(model, class_)


def _post_admin_exclusion(model: AllocationModel, class_: SymmetryClass) -> None:
    """Keep apart what the search would: alternatives are in the order in which it reaches them.

    What has admin access is in nobody's way once it is allocated (IN-3), so not in that of other units.
    """
    alternatives = model.merged.alternatives
    together = model.units.same_unit
    for earlier, later in combinations((alternatives[index] for index in class_.alternatives), 2):
        claims = model.merged.claim_of(earlier), model.merged.claim_of(later)
        if claims[0] == claims[1] or (earlier.admin and not later.admin and together(*claims)):
            model.rows.at_most([(model.takes[one.index, class_.index], 1) for one in (earlier, later)], 1)


ADMIN_ACCESS = Encoder(
    "adminAccess",
    "admin access is asymmetric (DEV-1, DEV-15)",
    _post_admin_access,
    _sign_admin_access,
    sees="the device itself, if an admin request could take it",
)


def _post_result_limit(model: AllocationModel) -> None:
    by_claim: dict[int, list[int]] = defaultdict(list)
    for alternative in model.merged.alternatives:
        if alternative.claims == 1:
            by_claim[model.merged.claim_of(alternative)].append(alternative.index)
    for claim, alternatives in by_claim.items():
        if _most_devices(model, alternatives) <= RESULT_LIMIT:
            continue
        terms = [term for alternative in alternatives for term in model.taken(alternative)]
        model.rows.at_most(terms, RESULT_LIMIT, model.guard(justify_limit(claim, RESULT_LIMIT)))


def _most_devices(model: AllocationModel, alternatives: Iterable[int]) -> float:
    """Return how many devices these alternatives of one claim take at most, by what they ask for alone."""
    found: dict[int, int] = defaultdict(int)
    for alternative in map(model.merged.alternatives.__getitem__, alternatives):
        if alternative.all_devices or model.guarded:
            return inf
        found[alternative.request] = max(found[alternative.request], alternative.copies * alternative.count)
    return sum(found.values())


RESULT_LIMIT_ENCODER = Encoder("resultLimit", "a claim gets at most 32 devices (SRCH-8)", _post_result_limit)


def eligibility_encoder(obstacles: Obstacles) -> Encoder:
    """Make the encoder of these obstacles; devices stay together that have the same ones for every alternative."""

    def sign(merged: MergedProblem) -> Signature:
        firsts = [obstacles.of[alternative.demands[0]] for alternative in merged.alternatives]
        return lambda device: tuple(of_demand[device] for of_demand in firsts)

    def post(model: AllocationModel) -> None:
        rows: dict[Justification, list[Term]] = defaultdict(list)
        for (index, class_), variable in model.takes.items():
            alternative = model.merged.alternatives[index]
            for obstacle in obstacles.of[alternative.demands[0]][model.reduced.classes[class_].representative]:
                rows[justify_obstacle(model.merged, alternative, obstacle)].append((variable, 1))
        for justification, terms in rows.items():
            model.rows.at_most(terms, 0, model.guard(justification))

    return Encoder(
        "eligibility",
        "a request takes devices that pass its filters and are free",
        post,
        sign,
        sees="what keeps it away from each request",
    )
