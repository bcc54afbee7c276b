"""The public function ``validate``, its result and its document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..models.formats.errors import InputProblem, has_errors
from ..models.kubernetes.gates import FeatureGates
from ..models.manifests.sources import InputSource
from ..models.results.common import IgnoredKind, ValidationDocument, ValidationProblem
from . import Result

if TYPE_CHECKING:
    import pandas


class ValidationResult(Result[ValidationDocument]):
    """The answer of ``validate``."""

    def __init__(self, document: ValidationDocument, problems: Sequence[InputProblem] = ()) -> None:
        super().__init__(document)
        self.problems = tuple(problems)

    def count(self, severity: str) -> int:
        """How many problems are ``error`` or ``warning``."""
        return sum(problem.severity == severity for problem in self.problems)

    @property
    def valid(self) -> bool:
        """Whether nothing would be refused; warnings do not count."""
        return self.document.valid

    def summary(self) -> str:
        """Whether the input is valid, and how many problems it has."""
        return f"valid={self.valid}, {len(self.document.problems)} problems"

    def to_frame(self) -> pandas.DataFrame:
        """One row a problem."""
        fields = ("severity", "source", "kind", "name", "field", "message")
        rows = [[getattr(problem, field) for field in fields] for problem in self.document.problems]
        return self._frame(rows, fields)


def validate(
    *sources: InputSource,
    recursive: bool = False,
    skip_validation: bool = False,
    strict: bool = False,
    max_input_size: int | str | None = None,
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
) -> ValidationResult:
    """Say what the API server, or drasat, would refuse or warn about; nothing in the input raises.

    Parameters
    ----------
    sources
        As for ``load``.
    recursive
        Read folders and the folders below them.
    skip_validation
        Leave out what ``load(skip_validation=True)`` accepts.
    strict, max_input_size
        As for ``load``; without ``strict`` unknown fields and misspelt kinds are warnings.
    feature_gates
        Switches by upstream name; fields of a feature that is off are warned about.

    Raises
    ------
    ValueError
        For an unknown gate, or a ``max_input_size`` that is none.

    """
    from ..solver.allocate.validate import validate as check

    gates = (
        feature_gates if isinstance(feature_gates, FeatureGates) else FeatureGates.all_on().with_(feature_gates or {})
    )
    problems, ignored = check(
        sources,
        gates,
        recursive=recursive,
        skip_validation=skip_validation,
        strict=strict,
        max_input_size=max_input_size,
    )
    return ValidationResult(_validation_document(problems, ignored), problems)


def _validation_document(problems: Sequence[InputProblem], ignored: Sequence[IgnoredKind]) -> ValidationDocument:
    """The document of a ``validate``."""
    return ValidationDocument(
        valid=not has_errors(problems),
        problems=tuple(
            ValidationProblem(
                severity=problem.severity,
                source=str(problem.source),
                kind=problem.kind,
                name=problem.name,
                field=problem.field,
                message=problem.message,
            )
            for problem in problems
        ),
        ignored=tuple(ignored),
    )
