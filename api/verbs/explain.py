"""The public function ``explain`` and its result; the solver makes the document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from ..models.cluster.cluster import Cluster
from ..models.formats.errors import plural
from ..models.kubernetes.extensions import Predicate
from ..models.kubernetes.gates import FeatureGates
from ..models.results.explanation import ExplainedUnit, ExplanationDocument
from ..reports import explanation as report
from . import Interrupted, Result

if TYPE_CHECKING:
    import pandas


class ExplanationResult(Result[ExplanationDocument]):
    """The answer of ``explain``."""

    @property
    def outcome(self) -> str:
        """``Allocated``, ``Unallocatable``, ``Error`` or ``Unknown``: the gravest of the units', or of a group now."""
        return self.document.outcome

    @property
    def units(self) -> tuple[ExplainedUnit, ...]:
        """Pods and loose claims in the order read, each with its reasons and relaxations."""
        return self.document.units

    def to_frame(self) -> pandas.DataFrame:
        """One row a reason or relaxation."""
        return self._frame(report.rows(self.document), report.COLUMNS)

    def reasons(self) -> Iterable[str]:
        """Why units get nothing and what would help, as text."""
        return report.lines(self.document)

    def summary(self) -> str:
        """The outcome, and how much of what was asked has a place."""
        if self.document.group is not UNSET:
            return f"{self.outcome}, {self.document.group.kind} {self.document.group.name}"
        failed = sum(unit.outcome != "Allocated" for unit in self.units)
        return f"{self.outcome}, {failed} of {plural(len(self.units), 'unit')} not allocated"


class ExplanationInterrupted(Interrupted[ExplanationResult]):
    """Ctrl-C during ``explain``; ``result`` holds what was explained by then, the other units are ``Unknown``."""


def explain(
    cluster: Cluster,
    *,
    node: str | None = None,
    namespace: str | None = None,
    selector: str = "",
    claims: Sequence[str] | None = None,
    group: str = "",
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    cel_errors: str = "strict",
    time_limit: float | None = 60.0,
    seed: int = 0,
    natural_gangs: bool = False,
    timings: bool = False,
    constraints: Sequence[Mapping[str, Any] | Predicate] = (),
    audit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ExplanationResult:
    """Say why claims cannot be allocated, and which changes would help most cheaply.

    Units are allocated as by ``allocate``. For one that gets nothing there is, for each kind of node, a minimal set of
    reasons that are impossible together, and for the unit the smallest relaxations found; each of these was applied,
    allocated and verified. See ``docs/guides/explain.md``.

    Parameters
    ----------
    cluster
        What there is, and what is asked for; see ``load``.
    node, namespace, selector, claims, feature_gates, cel_errors, seed, constraints, progress
        As for ``allocate``.
    time_limit
        Seconds for everything; None for no limit. What is not done in time is marked as not ``complete``.
    group
        Ask about this group instead, as NAME, NAMESPACE/NAME or KIND/NAMESPACE/NAME: whether it can be scheduled on the
        empty cluster, on this one, and after which evictions or moves. ``document.group`` has the answers. Nothing else
        that waits counts, and ``node``, ``selector`` and ``claims`` make no sense with it.
    natural_gangs
        As for ``plan``: a notice names the gangs that lack members, and the members that stop them. A ``group`` may be
        such a gang in any case.
    timings
        Put wall times into the document.
    audit
        Seconds in which the verifier decides anew that refused units fit nowhere, and for each set of reasons that they
        are impossible together and each is needed; within ``time_limit``. None: no audit. What was audited is
        ``certified``. Of a group the verifier bounds how many members have a place on the empty cluster and on this
        one; a no about evictions or moves is audited where it follows from the first.

    Raises
    ------
    ValueError
        One line, for an unknown policy, gate, claim or group, or a bad selector.
    VerificationError
        If an audit finds an allocation, or a set of reasons to be wrong: a defect of drasat.
    ExplanationInterrupted
        For a KeyboardInterrupt; ``result`` holds what was explained by then.

    """
    from ..solver.engines.outcome import SearchInterrupted

    ask: Callable[..., ExplanationDocument]
    if group:
        from ..solver.plan.group_questions import explain_group

        if node is not None or selector or claims is not None:
            raise ValueError("a group makes no sense with a node, a selector or claims")
        ask = partial(explain_group, cluster, group, namespace=namespace, audit=audit)
    else:
        from ..solver.explain.explain import explain as solve

        ask = partial(solve, cluster, node=node, namespace=namespace, selector=selector, claims=claims)
        ask = partial(ask, audit=audit, progress=progress)
    ask = partial(ask, feature_gates=feature_gates, cel_errors=cel_errors, constraints=constraints, seed=seed)
    try:
        document = ask(natural_gangs=natural_gangs, time_limit=time_limit)
    except SearchInterrupted as interrupted:
        raise ExplanationInterrupted(_explanation_result(interrupted.answer, cluster, timings)) from None
    return _explanation_result(document, cluster, timings)


def _explanation_result(document: ExplanationDocument, cluster: Cluster, timings: bool) -> ExplanationResult:
    return ExplanationResult(document if timings else replace(document, timings=UNSET), cluster)
