"""What every part of the type checker works with: complaints, known types, scopes, signatures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .declarations import Declarations
from .errors import MAX_REPORTED, Issue
from .library import Overload
from .types import BOOL, DYN, ERROR, Type, parameter
from .unify import Substitution

_A = parameter("A")
_CONDITIONAL = (BOOL, _A, _A), _A
Signature = tuple[tuple[Type, ...], Type]


class CheckerBase:
    """The state of checking one expression."""

    def __init__(self, declarations: Declarations) -> None:
        self.declarations = declarations
        self.issues: list[Issue] = []
        self.types: dict[int, Type] = {}
        self.overloads: dict[int, tuple[Overload, ...]] = {}
        self.known = Substitution()
        self.scopes: list[dict[str, Type]] = []

    def report(self, pos: int, message: str) -> Type:
        """A complaint; the type of what it is about is then unknown."""
        self.issues.append(Issue(pos, message))
        return ERROR

    def repeat(self, begun: int) -> None:
        """Complain again of all since a number of complaints: cel-go checks the target of some macros twice."""
        if len(self.issues) <= MAX_REPORTED:
            self.issues += self.issues[begun:]

    def keep(self, pos: int, type_: Type) -> Type:
        """Remember the type of an operation or leaf."""
        self.types[pos] = type_
        return type_

    def expect(self, pos: int, wanted: Type, found: Type) -> bool:
        """Whether a type fits the one that is needed; a complaint where it does not."""
        if self.known.assignable([wanted], [found]):
            return True
        wanted, found = self.known.resolve(wanted), self.known.resolve(found)
        self.report(pos, f"expected type '{wanted}' but found '{found}'")
        return False

    def apply(
        self, name: str, pos: int, args: Sequence[Type], signatures: Sequence[Signature], *,
        member: bool = False,
    ) -> tuple[Type, list[int]]:  # fmt: skip
        """The result of a function on arguments, and the numbers of the signatures that fit them."""
        result: Type | None = None
        fitting = []
        for number, (wanted, gives) in enumerate(signatures):
            if len(wanted) != len(args):
                continue
            names: dict[Type, Type] = {}
            if self.known.assignable([self.known.instance(one, names) for one in wanted], list(args)):
                fitting.append(number)
                given = self.known.resolve(self.known.instance(gives, names))
                result = given if result is None or result is given else DYN
        if result is None:
            self.report(pos, f"found no matching overload for '{name}' applied to '{self._applied(args, member)}'")
            return ERROR, fitting
        return result, fitting

    def function(self, name: str, pos: int, args: list[Type], *, member: bool = False) -> Type:
        """The result of a declared function; what is left of its overloads is remembered."""
        declared = self.declarations.functions.get(name.removeprefix("."))
        if declared is None:
            return self.keep(pos, self.report(pos, undeclared(name)))
        usable = [overload for overload in declared if overload.member == member]
        signatures = [(overload.args, overload.result) for overload in usable]
        result, fitting = self.apply(name, pos, args, signatures, member=member)
        self.overloads[pos] = tuple(usable[number] for number in fitting)
        return self.keep(pos, result)

    @contextmanager
    def scope(self, names: dict[str, Type]) -> Iterator[None]:
        """The names that a macro binds."""
        self.scopes.append(names)
        yield
        self.scopes.pop()

    def shown(self, type_: Type) -> Type:
        """A type as messages show it."""
        return self.known.resolve(type_, DYN)

    def _applied(self, args: Sequence[Type], member: bool) -> str:
        shown = [str(self.shown(arg)) for arg in args]
        receiver = f"{shown.pop(0)}." if member else ""
        return f"{receiver}({', '.join(shown)})"

    def choose(self, pos: int, condition: Type, value: Type, otherwise: Type) -> Type:
        """``condition ? value : otherwise``."""
        result, _ = self.apply("_?_:_", pos, [condition, value, otherwise], [_CONDITIONAL])
        return self.keep(pos, result)


def undeclared(name: str) -> str:
    """The complaint about a name that nothing declares."""
    return f"undeclared reference to '{name}' (in container '')"
