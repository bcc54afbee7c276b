"""Everything that can be wrong with manifests: the API server's rules, references, and expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ..cel.cache import compile_selector
from ..cel.cost_meter import COST_LIMIT
from ..cel.environment import TOO_COSTLY
from ..cel.errors import CelCompileError
from ..cel.program import Program
from ..cel.types import DEVICE
from ..models.collector import young_only
from ..models.gates import FeatureGates
from ..models.manifests import InputSource, Manifest, read_manifests
from ..models.problems import InputProblem, has_errors
from ..models.validation import Purpose, expressions
from ..models.validation.findings import byte_length, quote
from ..models.validation.inputs import validate_manifests
from ..models.validation.references import input_problem
from ..models.validation.selectors import EXPRESSION_MAX
from ..problem.derived import check_type
from .lookalikes import alike
from .topology_problems import misplaced


def validate(
    sources: Sequence[InputSource],
    gates: FeatureGates,
    *,
    recursive: bool = False,
    skip_validation: bool = False,
) -> list[InputProblem]:
    """Read the sources and report every problem, in reading order; nothing in the input raises."""
    manifests, found, _ = read_manifests(sources, recursive)
    found += problems_of(manifests, gates, skip_validation=skip_validation)
    if not skip_validation and not has_errors(found):
        found.extend(alike(manifests))
    return found


@young_only()
def problems_of(
    manifests: Sequence[Manifest], gates: FeatureGates, *, skip_validation: bool = False
) -> list[InputProblem]:
    """Problems of what was read; ``skip_validation`` lifts names and limits, and leaves expressions to the search.

    There an expression that does not compile is fatal for who asks for it, and for nobody else (CEL-6).
    """
    found = validate_manifests(manifests, gates, skip_validation)
    if not skip_validation:
        found.extend(_expression_problems(manifests))
    if not has_errors(found):
        found.extend(misplaced(manifests, gates))
    return found


def _expression_problems(manifests: Iterable[Manifest]) -> Iterator[InputProblem]:
    """CLM-6, CEL-5: what admission says of expressions."""
    for manifest in manifests:
        for field, text, purpose in expressions(manifest.kind, manifest.object):
            # What is empty or too long has been refused for that.
            message = _refusal(text, purpose) if text.strip() and byte_length(text) <= EXPRESSION_MAX else None
            if message is not None:
                yield input_problem(manifest, field, message)


def _refusal(text: str, purpose: Purpose) -> str | None:
    try:
        program = _COMPILERS[purpose](text)
    except CelCompileError as error:
        told = " ".join(line for line in str(error).splitlines() if not line.startswith(" |"))
        return f"Invalid value: {quote(text)}: {told}"
    if program.estimate.max > COST_LIMIT:
        return f"Forbidden: {TOO_COSTLY}"
    return None


def _selector(text: str) -> Program:
    return compile_selector(text).program


def _derived_attribute(text: str) -> Program:
    program = Program(text, {"device": DEVICE})
    check_type(program.type)
    return program


def _constraint(text: str) -> Program:
    # Few claims have any.
    from ..cel.device_sets import DeviceSetExpression

    return DeviceSetExpression(text).program


_COMPILERS: dict[Purpose, Callable[[str], Program]] = {
    "selector": _selector,
    "derivedAttribute": _derived_attribute,
    "constraint": _constraint,
}
