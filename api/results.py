"""What the public functions return: documents with the views people want of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from .models.formats.errors import InputProblem
from .models.results.common import AllocationDocument, UnitAnswer, ValidationDocument
from .reports import allocation as report

if TYPE_CHECKING:
    import pandas


class Result:
    """A document, as a dict, as JSON, as YAML, and as a table."""

    document: msgspec.Struct

    def to_dict(self) -> dict[str, Any]:
        """The result document; see ``docs/reference/results.schema.json``."""
        document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self.document))
        return document

    def to_json(self) -> str:
        """The document as indented JSON, equal byte for byte for equal input and seed."""
        return msgspec.json.format(msgspec.json.encode(self.document), indent=2).decode() + "\n"

    def to_yaml(self) -> str:
        """The document as YAML."""
        from .models.manifests.writer import to_yaml

        return to_yaml([self.to_dict()])

    def to_frame(self) -> pandas.DataFrame:
        """The main table of the result."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(index=False))


ResultT = TypeVar("ResultT", bound=Result)


class Interrupted(KeyboardInterrupt, Generic[ResultT]):
    """Ctrl-C during a verb; ``result`` is the best there was by then, and is verified."""

    def __init__(self, result: ResultT) -> None:
        super().__init__()
        self.result = result


class AllocationResult(Result):
    """The answer of ``allocate``."""

    document: AllocationDocument

    def __init__(self, document: AllocationDocument, manifests: Sequence[dict[str, Any]] = ()) -> None:
        self.document = document
        self._manifests = tuple(manifests)

    @property
    def outcome(self) -> str:
        """``Allocated``, ``Unallocatable``, ``Error`` or ``Unknown``: the gravest of the units'."""
        return self.document.outcome

    @property
    def units(self) -> tuple[UnitAnswer, ...]:
        """Pods and loose claims in the order read, each with its node, claims and reasons."""
        return self.document.units

    @property
    def statistics(self) -> dict[str, int]:
        """Steps, CEL evaluations and the like."""
        return self.document.statistics

    def manifests(self) -> list[dict[str, Any]]:
        """The allocated claims as manifests, as they were read plus ``status.allocation``."""
        return list(self._manifests)

    def to_frame(self) -> pandas.DataFrame:
        """One row a device."""
        import pandas

        return pandas.DataFrame(report.wide_rows(self.document), columns=list(report.WIDE_HEADERS))

    def __repr__(self) -> str:
        done = sum(unit.outcome == "Allocated" for unit in self.units)
        return f"AllocationResult({self.outcome}, {done} of {len(self.units)} units allocated)"


class AllocationInterrupted(Interrupted[AllocationResult]):
    """Ctrl-C during ``allocate``; ``result`` holds what was decided by then, the other units are ``Unknown``."""


class ValidationResult(Result):
    """The answer of ``validate``."""

    document: ValidationDocument

    def __init__(self, document: ValidationDocument, problems: Sequence[InputProblem] = ()) -> None:
        self.document = document
        self.problems = tuple(problems)

    def count(self, severity: str) -> int:
        """How many problems are ``error`` or ``warning``."""
        return sum(problem.severity == severity for problem in self.problems)

    @property
    def valid(self) -> bool:
        """Whether nothing would be refused; warnings do not count."""
        return self.document.valid

    def __repr__(self) -> str:
        return f"ValidationResult(valid={self.valid}, {len(self.document.problems)} problems)"

    def to_frame(self) -> pandas.DataFrame:
        """One row a problem."""
        import pandas

        fields = ("severity", "source", "kind", "name", "field", "message")
        rows = [[getattr(problem, field) for field in fields] for problem in self.document.problems]
        return pandas.DataFrame(rows, columns=list(fields))
