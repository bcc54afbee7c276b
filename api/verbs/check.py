"""The public function ``check``, its result, and the reading of result documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from ..models.cluster.cluster import Cluster
from ..models.formats.errors import InputError, InputProblem, Source, Unreadable, plural
from ..models.formats.json import read_documents
from ..models.formats.runtime import gc_young_only
from ..models.kubernetes.gates import FeatureGates, gates_of
from ..models.manifests.sources import open_sources
from ..models.results.capacity import CapacityDocument, QueueCapacityDocument
from ..models.results.common import AllocationDocument, CheckDocument, CheckedLine, ValidationDocument
from ..models.results.comparison import (
    ComparisonDocument,
    PlanComparisonDocument,
    PurchaseComparisonDocument,
    SweepDocument,
    TuneDocument,
)
from ..models.results.explanation import ExplanationDocument
from ..models.results.inventory import InventoryDocument, TopologyDocument
from ..models.results.overlay import OverlayDocument
from ..models.results.plan import PlanDocument
from ..models.results.provision import ProvisionDocument
from ..models.results.quota import QuotaDocument
from ..models.results.snapshot import SnapshotDocument
from ..models.results.study import StudyDocument
from ..solver.verification.capacity_documents import capacity_lines
from ..solver.verification.comparison_documents import (
    comparison_lines,
    plan_comparison_lines,
    purchase_lines,
    tune_lines,
)
from ..solver.verification.documents import CheckQuestion, Lines, allocation_lines
from ..solver.verification.explanation_documents import explanation_lines
from ..solver.verification.overlay_documents import overlay_lines
from ..solver.verification.plan_documents import plan_lines
from ..solver.verification.provision_documents import provision_lines
from ..solver.verification.quota_documents import quota_lines
from ..solver.verification.survey_documents import (
    check_lines,
    inventory_lines,
    queue_capacity_lines,
    snapshot_lines,
    study_lines,
    sweep_lines,
    topology_lines,
    validation_lines,
)
from ..solver.verification.unread_fields import unread_fields
from . import Result

if TYPE_CHECKING:
    import pandas

    from ..models.kubernetes.extensions import Predicate

DocumentSource: TypeAlias = "str | PathLike[str] | Mapping[str, Any] | Result[Any] | msgspec.Struct"


@dataclass(frozen=True, slots=True)
class _CheckedKind:
    """A kind of document: its record, and what checks it."""

    model: type[Any]
    lines: Callable[[Any, FeatureGates, CheckQuestion], Lines]


_KINDS = {
    "AllocationResult": _CheckedKind(AllocationDocument, allocation_lines),
    "PlanResult": _CheckedKind(PlanDocument, plan_lines),
    "PurchaseComparison": _CheckedKind(PurchaseComparisonDocument, purchase_lines),
    "CapacityResult": _CheckedKind(CapacityDocument, capacity_lines),
    "ComparisonResult": _CheckedKind(ComparisonDocument, comparison_lines),
    "PlanComparison": _CheckedKind(PlanComparisonDocument, plan_comparison_lines),
    "TuneResult": _CheckedKind(TuneDocument, tune_lines),
    "ProvisionResult": _CheckedKind(ProvisionDocument, provision_lines),
    "OverlayResult": _CheckedKind(OverlayDocument, overlay_lines),
    "QuotaResult": _CheckedKind(QuotaDocument, quota_lines),
    "ExplanationResult": _CheckedKind(ExplanationDocument, explanation_lines),
    "InventoryResult": _CheckedKind(InventoryDocument, inventory_lines),
    "TopologyResult": _CheckedKind(TopologyDocument, topology_lines),
    "QueueCapacityResult": _CheckedKind(QueueCapacityDocument, queue_capacity_lines),
    "SweepResult": _CheckedKind(SweepDocument, sweep_lines),
    "StudyResult": _CheckedKind(StudyDocument, study_lines),
    "ValidationResult": _CheckedKind(ValidationDocument, validation_lines),
    "SnapshotResult": _CheckedKind(SnapshotDocument, snapshot_lines),
    "CheckResult": _CheckedKind(CheckDocument, check_lines),
}


class CheckResult(Result[CheckDocument]):
    """The answer of ``check``."""

    @property
    def holds(self) -> bool:
        """Whether nothing that the document says fails."""
        return self.document.holds

    @property
    def lines(self) -> tuple[CheckedLine, ...]:
        """What the document says, line by line, and whether it holds."""
        return self.document.lines

    def to_frame(self) -> pandas.DataFrame:
        """One row a line."""
        rows = ((one.about, one.said, one.verdict, one.reason) for one in self.lines)
        return self._frame(rows, ("about", "said", "verdict", "reason"))

    def summary(self) -> str:
        """One line: how much holds, does not, and cannot be checked."""
        found = self.document
        numbers = f"{found.holding} hold, {found.failing} fail, {found.unchecked} cannot be checked"
        return f"{found.checked}: {plural(len(found.lines), 'line')}: {numbers}"


def check(
    document: DocumentSource,
    cluster: Cluster,
    *,
    node: str | None = None,
    namespace: str | None = None,
    selector: str = "",
    natural_gangs: bool = False,
    constraints: Sequence[Mapping[str, Any] | Predicate] = (),
    audit: bool = False,
    time_limit: float | None = 300.0,
    max_input_size: int | str | None = None,
) -> CheckResult:
    """Check a result document against the manifests, line by line, without the code that made it.

    Placements are replayed by the rules of the verifier, witnesses are derived again, and sums are added up. Of the
    compiler of problems, the encoders, the engines and the proofs nothing is used.

    Parameters
    ----------
    document
        The path of a JSON or YAML file (``-``: stdin), a mapping, a result of another verb, or its document.
    cluster
        What the document was made of; see ``load``.
    node, namespace, selector, natural_gangs, constraints
        As they were for the verb, where they were: the document does not say them.
    audit
        Decide every no that has no witness anew, by a formulation of the verifier's own.
    time_limit
        Seconds for everything; None for no limit. What is not checked by then is ``unchecked``.
    max_input_size
        As for ``load``, of the file.

    Raises
    ------
    InputError
        If the document cannot be read, or is none that can be checked.
    ValueError
        One line, for a node that the cluster does not have, a bad selector, or an unknown feature gate.

    """
    from ..models.validation.entries import read_caller_constraints

    began = monotonic()
    read = read_document(document, max_input_size)
    kind = _KINDS[read.kind]
    # Documents about quota have no gates: all features count in them.
    gates = gates_of(getattr(read, "feature_gates", None))
    if node is not None and node not in cluster.nodes:
        raise ValueError(f'node "{node}" is not in the input')
    question = CheckQuestion(
        cluster,
        node,
        namespace,
        selector,
        natural_gangs,
        read_caller_constraints(constraints),
        None if time_limit is None else began + time_limit,
        audit,
    )
    with gc_young_only():
        lines = tuple(kind.lines(read, gates, question))
    verdicts = [one.verdict for one in lines]
    failing = verdicts.count("fails")
    document_ = CheckDocument(
        checked=read.kind,
        holds=not failing,
        holding=verdicts.count("holds"),
        failing=failing,
        unchecked=verdicts.count("unchecked"),
        lines=lines,
        not_checked=tuple(dict.fromkeys(one.reason for one in lines if one.verdict == "unchecked")),
        not_read=unread_fields(read.kind, read),
    )
    return CheckResult(document_, cluster)


def read_document(source: DocumentSource, max_input_size: int | str | None = None) -> Any:
    """Read a result document. Raises ``InputError``, and ``ValueError`` for a ``max_input_size`` that is none."""
    if isinstance(source, Result):
        source = source.document
    if isinstance(source, msgspec.Struct):
        source = msgspec.to_builtins(source)
    if isinstance(source, Mapping):
        return _typed(source, Source("<document>", 0))
    if isinstance(source, msgspec.Struct | Result):
        raise TypeError(f"{type(source).__name__} is no result document")
    one, *others = open_sources(source, max_input_size=max_input_size)
    if others or one.failure:
        raise InputError([InputProblem(Source(one.name, 0), "", one.failure or "is a folder, not one document")])
    documents = [found for found in read_documents(one.data, one.name) if found is not None]
    if len(documents) != 1:
        problem = f"has {len(documents)} documents, expected one result document"
        raise InputError([InputProblem(Source(one.name, 0), "", problem)])
    return _typed(documents[0], Source(one.name, 1))


# No document has more of anything; sums of larger ones, and of what is no number, could not be told.
_LARGEST_NUMBER = 1e100


def _beyond_numbers(found: Any) -> str:
    """The field of a number that is too large or none, such as NaN; empty where there is no such number."""
    if isinstance(found, int | float):
        return "" if abs(found) <= _LARGEST_NUMBER else "."
    pairs: Iterable[tuple[str, Any]] = ()
    if isinstance(found, Mapping):
        pairs = ((f".{key}", one) for key, one in found.items())
    elif isinstance(found, list | tuple):
        pairs = ((f"[{place}]", one) for place, one in enumerate(found))
    return next((f"{name}{rest}" for name, one in pairs if (rest := _beyond_numbers(one))), "")


# What a document says wrong may be long.
_LONGEST_MESSAGE = 200


def _typed(found: Any, source: Source) -> Any:
    """Give the record of a plain document. Raises ``InputError`` with one problem."""
    if isinstance(found, Unreadable):
        raise InputError([InputProblem(source, *found.reasons[0])])
    if not isinstance(found, Mapping):
        raise InputError([InputProblem(source, "", "is no mapping, expected a result document")])
    name = found.get("kind")
    if name is None:
        raise InputError([InputProblem(source, "kind", "Required value")])
    if not isinstance(name, str) or name not in _KINDS:
        known = ", ".join(_KINDS)
        raise InputError([InputProblem(source, "kind", f"{name!r:.60} is no document that can be checked: {known}")])
    kind = _KINDS[name]
    try:
        if field := _beyond_numbers(found).strip("."):
            raise InputError([InputProblem(source, field, f"must be a number up to {_LARGEST_NUMBER:g}", kind=name)])
        return msgspec.convert(found, kind.model)
    except msgspec.ValidationError as error:
        message, _, path = str(error).rpartition(" - at `$")
        field = path.removesuffix("`").removeprefix(".")
        text = f"{message or error}"[:_LONGEST_MESSAGE]
        raise InputError([InputProblem(source, field, text, kind=name)]) from None
    except RecursionError:
        raise InputError([InputProblem(source, "", "nested too deeply", kind=name)]) from None
