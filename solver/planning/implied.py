"""Stages that earlier ones add up to, such as all units after those of each priority: nothing is left to be found."""

from __future__ import annotations

from collections.abc import Sequence

from .instance import Stage


def implied_bound(stage: Stage, earlier: Sequence[tuple[Stage, int | None]]) -> int | None:
    """Bound a stage whose terms are those of earlier stages together; None where they are not.

    ``earlier`` are stages with their bounds. Each holds for what keeps the stages before it, so that the sum does.
    """
    left, total = _terms(stage), 0
    for other, bound in earlier:
        own = _terms(other)
        if own and bound is not None and other.maximise == stage.maximise and own.items() <= left.items():
            left = {term: value for term, value in left.items() if term not in own}
            total += bound
    return None if left else total


def _terms(stage: Stage) -> dict[tuple[int, int], int]:
    """Coefficients other than zero, by kind and index."""
    terms = stage.terms
    kinds = enumerate((terms.units, terms.gangs, terms.nodes, terms.usage))
    return {(kind, index): value for kind, own in kinds for index, value in own.items() if value}
