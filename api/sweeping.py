"""Comparisons on made-up clusters of growing size: how each engine's time grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .comparing import compare
from .comparison_documents import SweepDocument, SweepEngine, SweepPoint
from .results import Result

if TYPE_CHECKING:
    import pandas

    from .comparing import ComparisonResult


class SweepResult(Result):
    """The answer of ``sweep``."""

    document: SweepDocument

    def __init__(self, document: SweepDocument) -> None:
        self.document = document

    @property
    def same_verdict(self) -> bool:
        """At every size, the engines that were done in time agree."""
        return self.document.same_verdict

    @property
    def decided(self) -> bool:
        """No engine ran out of time."""
        return self.document.decided

    def to_frame(self) -> pandas.DataFrame:
        """One row a size and engine."""
        import pandas

        rows = [
            (point.size, one.engine, one.outcome, one.admitted, one.steps, one.seconds)
            for point in self.document.points
            for one in point.engines
        ]
        return pandas.DataFrame(rows, columns=["size", "engine", "outcome", "admitted", "steps", "seconds"])


def parse_sweep(text: str) -> tuple[str, tuple[int, ...]]:
    """Read ``NAME`` or ``NAME=8,16,32``. Raises ``ValueError``, one line."""
    from .scenarios.sweeps import SIZES

    name, equals, listed = text.partition("=")
    if name not in SIZES:
        raise ValueError(f"unknown sweep {name!r}, known are: {', '.join(SIZES)}")
    if not equals:
        return name, SIZES[name]
    sizes = [size.strip() for size in listed.split(",")]
    if not all(size.isdecimal() and int(size) > 0 for size in sizes):
        raise ValueError(f"sizes of a sweep must be numbers above zero, not {listed!r}")
    return name, tuple(map(int, sizes))


def sweep(name: str, sizes: Sequence[int], engines: Sequence[str], **options: Any) -> SweepResult:
    """Compare the engines at each size; ``options`` are those of ``compare``.

    An engine that runs out of time is not asked about larger sizes. Raises ``ValueError`` and ``PeerError``.
    """
    from .scenarios.sweeps import SWEEPS
    from .solver.load import load

    points, found, running = [], [], list(engines)
    for size in sizes:
        result = compare(load(SWEEPS[name](size)), running, **options)
        found.append(result)
        points.append(_point(size, result))
        slow = {one.engine for one in result.document.engines if one.outcome == "Unknown"}
        running = [engine for engine in running if engine not in slow]
        if len(running) < 2:
            break
    same, decided = all(one.same_verdict for one in found), all(one.document.decided for one in found)
    return SweepResult(SweepDocument(sweep=name, same_verdict=same, decided=decided, points=tuple(points)))


def _point(size: int, result: ComparisonResult) -> SweepPoint:
    engines = tuple(
        SweepEngine(
            engine=one.engine,
            outcome=one.outcome,
            admitted=one.admitted,
            steps=one.steps,
            seconds=result.seconds[one.engine],
        )
        for one in result.document.engines
    )
    return SweepPoint(size=size, asked=result.document.asked, engines=engines)
