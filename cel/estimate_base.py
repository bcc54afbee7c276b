"""What every part of the static cost estimate works with: types, sizes, scopes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .checker import Checked
from .estimate_sizes import SizeOf, Subject, both, either, plus, size_at
from .library import UNBOUNDED, Range
from .types import Type


class EstimatorBase:
    """The state of estimating one expression; ``unknown`` is the size of what nothing else is known of."""

    def __init__(self, checked: Checked, sizes: SizeOf, unknown: Range) -> None:
        self.checked = checked
        self.sizes = sizes
        self._unknown = unknown
        self.scopes: list[dict[str, Subject]] = []

    def size(self, subject: Subject) -> Range:
        """How large a value may be."""
        return self.limited(
            subject.size if subject.size is not None else size_at(subject.path, subject.type, self.sizes)
        )

    def limited(self, size: Range) -> Range:
        """A size, or where it has no limit that of unknown values."""
        if size.max < UNBOUNDED or self._unknown.max == UNBOUNDED:
            return size
        return Range(min(size.min, self._unknown.max), self._unknown.max)

    def result_type(self, pos: int) -> Type:
        """The type of the operation at a place."""
        return self.checked.types[pos]

    @contextmanager
    def scope(self, names: dict[str, Subject]) -> Iterator[None]:
        """The names that a macro binds; reading them costs 1."""
        self.scopes.append(names)
        yield
        self.scopes.pop()

    def choose(self, pos: int, condition: Range, value: Subject, otherwise: Subject) -> Subject:
        """One of two values after a condition."""
        cost = plus(condition, either(value.cost, otherwise.cost))
        size = either(self.size(value), self.size(otherwise))
        key, item = both(value.key, otherwise.key), both(value.item, otherwise.item)
        return Subject(cost, self.result_type(pos), size, None, key, item)
