"""Where an expression is compiled: what it may refer to, how large that may be, what it must give (cel.md 1.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from . import types
from .checker import Checked, check
from .cost import estimate
from .declarations import OBJECTS, Declarations, Function, Range, by_name, declared_types
from .errors import CelCompileError
from .libraries import LazyFunctions, all_functions
from .operators import OPERATORS
from .parser import parse
from .sizes import Path, SizeOf, device_set_sizes, device_sizes
from .types import ANY, BOOL, DEVICE, DYN, Type, full_name
from .validators import validate

# In the order of cel-go: where the type of an operand is still open, the first overload that fits decides it.
_OPERATORS = [Function(one.name, tuple(sorted(one.overloads, key=lambda overload: overload.id))) for one in OPERATORS]
_INCLUDES = frozenset({"include", "includes"})
MOST_DEVICES = 32
"""How many devices estimates take ``devices`` to hold (CELC-6): an allocation has no more results."""
TOO_COSTLY = "too complex, exceeds cost limit"
"""What the API server says of new expressions that may cost more than ``COST_LIMIT`` (CLM-6)."""


def no_sizes(path: Path) -> Range | None:
    """For variables of which nothing is known."""
    return None


@dataclass(frozen=True, slots=True)
class Environment:
    """Declarations, declared sizes, and the types an expression may result in (None: any).

    ``mixed_literals``: lists and maps may be written with values of several types, which Kubernetes forbids.
    """

    declarations: Declarations
    sizes: SizeOf = no_sizes
    results: frozenset[Type] | None = None
    mixed_literals: bool = False

    def compile(self, text: str) -> Checked:
        """Parse, check and validate an expression.

        Raises CelCompileError with all complaints, cel-go's texts (cel.md 1.3). What it may cost is not looked at:
        the scheduler itself refuses only what exceeds the limit as it runs; see ``estimate``.
        """
        declared = self.declarations
        tree = parse(text, declared.dotted_functions, declared.dotted_names)
        checked = check(text, tree, declared)
        issues = validate(checked, mixed_literals=self.mixed_literals)
        if issues:
            raise CelCompileError.at(text, issues)
        self._require_result(checked)
        return checked

    def estimate(self, checked: Checked) -> Range:
        """The least and the most that evaluating may cost; ``UNBOUNDED`` where a size is not limited."""
        return estimate(checked, self.sizes)

    def _require_result(self, checked: Checked) -> None:
        if self.results is not None and checked.type not in self.results:
            raise CelCompileError(f"must evaluate to bool or the unknown type, not {full_name(checked.type)}")


@lru_cache
def dra_environment(
    *, includes: bool = True, list_attributes: bool = True, allow_multiple_allocations: bool = True
) -> Environment:
    """The environment of device selectors (CEL-1).

    With everything on it is that of stored expressions, which the scheduler uses whatever the feature gates say; what
    is off is refused in new expressions (CEL-4). Without ``list_attributes``, attributes cannot be looped over.
    """
    value = DYN if list_attributes else ANY
    fields = dict(OBJECTS[DEVICE] or {})
    fields["attributes"] = types.map_of(types.STRING, types.map_of(types.STRING, value))
    if not allow_multiple_allocations:
        del fields["allowMultipleAllocations"]
    functions = LazyFunctions(by_name(_OPERATORS), without=frozenset() if includes else _INCLUDES)
    declarations = Declarations.build(functions, {"device": DEVICE}, {**OBJECTS, DEVICE: fields})
    return Environment(declarations, device_sizes, frozenset({BOOL, value}))


@lru_cache
def device_set_environment() -> Environment:
    """The environment of constraints over ``devices``, each of them a ``device`` of selectors (CELC-1, CELC-2)."""
    one = dra_environment()
    declared = one.declarations
    declarations = Declarations.build(declared.functions, {"devices": types.list_of(DEVICE)}, declared.fields)
    return Environment(declarations, device_set_sizes(MOST_DEVICES), one.results)


def generic_environment(
    variables: Mapping[str, Type | str] | None = None,
    *,
    functions: Iterable[Function] = (),
    sizes: SizeOf = no_sizes,
    mixed_literals: bool = False,
) -> Environment:
    """Standard CEL with all libraries of Kubernetes, for expressions over ``variables`` of any result.

    A type is a ``Type`` or the text of one, e.g. ``map(string, list(int))``, ``dyn``, ``kubernetes.Quantity``;
    CelCompileError for a text that is none. ``functions`` come on top of those of the libraries.
    """
    declarations = Declarations.build(by_name([*_OPERATORS, *all_functions(), *functions]), declared_types(variables))
    return Environment(declarations, sizes, mixed_literals=mixed_literals)
