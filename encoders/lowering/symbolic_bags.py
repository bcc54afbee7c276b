"""Lists whose length depends on the counts: what is in them, and lists made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ...cel.values import NONE, Optional, UInt, Value
from .sums import FALSE, ONE, TRUE, Handle, Sum
from .symbolic_cases import Cases
from .symbolic_keys import identity
from .symbolic_numbers import expanded
from .symbolic_values import FAILED, Bag, Cell, Known, Leaf, NotLoweredError, Number, Symbol, known, one

_LISTS = frozenset({list, tuple})
_MOST_COPIES = 64


@dataclass(frozen=True, slots=True)
class Entry:
    """One case of an element: as many copies as there are devices of ``item``, while ``gate`` holds."""

    leaf: Leaf
    item: int
    gate: Handle


def as_bag(leaf: Leaf) -> Bag | None:
    """A leaf as a list; None where it is of another type."""
    if type(leaf) is Bag:
        return leaf
    if type(leaf) is Known and type(leaf.value) in _LISTS:
        return Bag([Cell(known(value)) for value in leaf.value])
    return None


def presence(cases: Cases, item: int, gate: Handle) -> Handle:
    """The formula that any copy of an element is there."""
    return gate if item == ONE else cases.formulas.conj((cases.formulas.present(item), gate))


def entries(cases: Cases, bag: Bag) -> list[Entry]:
    """The elements, each case of their values by itself."""
    found: list[Entry] | None = bag.remembered.get("entries")
    if found is None:
        conj = cases.formulas.conj
        cases.budget.spend(len(bag.cells))
        found = [
            Entry(leaf, cell.item, cell.gate if guard == TRUE else conj((cell.gate, guard)))
            for cell in bag.cells
            for guard, leaf in cell.value.cases
        ]
        bag.remembered["entries"] = found
    return found


def values(cases: Cases, bag: Bag) -> list[tuple[Leaf, Handle]]:
    """The different leaves in a list, each with the condition that it is there; those told apart by no one are one."""
    found: list[tuple[Leaf, Handle]] | None = bag.remembered.get("values")
    if found is None:
        merged: dict[object, tuple[Leaf, list[Handle]]] = {}
        for entry in entries(cases, bag):
            key = identity(entry.leaf.value) if type(entry.leaf) is Known else None
            handle = presence(cases, entry.item, entry.gate)
            merged.setdefault(id(entry) if key is None else key, (entry.leaf, []))[1].append(handle)
        found = [(leaf, cases.formulas.disj(handles)) for leaf, handles in merged.values()]
        bag.remembered["values"] = found
    return found


def known_values(cases: Cases, bag: Bag) -> list[tuple[Value, Handle]]:
    """As ``values``, numbers by their cases; ``NotLoweredError`` where elements are lists of unknown length."""
    found: list[tuple[Value, Handle]] = []
    for leaf, handle in values(cases, bag):
        if type(leaf) is Known:
            found.append((leaf.value, handle))
        elif type(leaf) is Number:
            more = [(cases.formulas.conj((guard, handle)), case) for guard, case in expanded(cases, leaf)]
            found.extend((case.value, guard) for guard, case in more if type(case) is Known)
        else:
            raise NotLoweredError("lists in a list")
    return found


def copies(cases: Cases, item: int, gate: Handle) -> list[Handle]:
    """The conditions of a first, a second, ... copy of an element."""
    if item == ONE:
        return [gate]
    count = Sum.of_count(item)
    most = int(cases.formulas.range_of(count)[1])
    if most > _MOST_COPIES:
        raise NotLoweredError("a product of counts")
    cases.budget.spend(most)
    return [cases.formulas.conj((gate, cases.formulas.between(count, number, None))) for number in range(1, most + 1)]


def size(cases: Cases, bag: Bag) -> Symbol:
    """The number of elements."""
    return one(Number(int, Sum.of_terms(0, [(cell.item, cell.gate, 1) for cell in bag.cells])))


def empty(cases: Cases, bag: Bag) -> Handle:
    """The formula that there is no element."""
    return ~cases.formulas.disj([presence(cases, cell.item, cell.gate) for cell in bag.cells])


def join(_cases: Cases, a: Bag, b: Bag) -> Symbol:
    """Two lists, one after the other."""
    return one(Bag((*a.cells, *b.cells), ordered=a.ordered and b.ordered))


def reverse(_cases: Cases, bag: Bag) -> Symbol:
    """The elements from the last to the first."""
    return one(Bag(bag.cells[::-1], ordered=bag.ordered))


def flatten(cases: Cases, bag: Bag, depth: int = 1) -> Symbol:
    """The elements, and in place of lists theirs, ``depth`` times."""
    if depth < 0:
        return FAILED
    while depth > 0 and any(as_bag(entry.leaf) for entry in entries(cases, bag)):
        bag, depth = _flat_once(cases, bag), depth - 1
    return one(bag)


def _flat_once(cases: Cases, bag: Bag) -> Bag:
    cells: list[Cell] = []
    ordered = bag.ordered
    for entry in entries(cases, bag):
        inner = as_bag(entry.leaf)
        if inner is None:
            cells.append(Cell(one(entry.leaf), entry.item, entry.gate))
            continue
        # Copies of a list follow each other whole.
        ordered = ordered and inner.ordered and (entry.item == ONE or len(inner.cells) < 2)
        cells.extend(_times(cases, entry, inner))
        cases.budget.spend(len(inner.cells))
    return Bag(cells, ordered=ordered)


def _times(cases: Cases, entry: Entry, inner: Bag) -> Iterable[Cell]:
    conj = cases.formulas.conj
    for cell in inner.cells:
        if cell.item == ONE:
            yield Cell(cell.value, entry.item, conj((entry.gate, cell.gate)))
        else:
            for gate in copies(cases, entry.item, entry.gate):
                yield Cell(cell.value, cell.item, conj((gate, cell.gate)))


# --- single elements


def _in_order(cases: Cases, bag: Bag) -> None:
    if not bag.ordered:
        raise NotLoweredError("the order of a list that has none")
    if not bag.is_literal:
        cases.budget.ordered = True


def _first_of(cases: Cases, cells: Iterable[Cell], missing: Symbol, make: Callable[[Symbol], Symbol]) -> Symbol:
    branches: list[tuple[Handle, Symbol]] = []
    before: Handle = FALSE
    for cell in cells:
        so_far = cases.formulas.disj((before, presence(cases, cell.item, cell.gate)))
        branches.append((cases.formulas.conj((so_far, ~before)), make(cell.value)))
        before = so_far
    return cases.gather([*branches, (~before, missing)])


def first(cases: Cases, bag: Bag) -> Symbol:
    """The optional first element."""
    _in_order(cases, bag)
    return _first_of(cases, bag.cells, known(NONE), lambda value: wrapped(cases, value))


def last(cases: Cases, bag: Bag) -> Symbol:
    """The optional last element."""
    _in_order(cases, bag)
    return _first_of(cases, bag.cells[::-1], known(NONE), lambda value: wrapped(cases, value))


def element(cases: Cases, bag: Bag, key: Value, *, optional: bool) -> Symbol:
    """``list[key]``, an error beyond the ends, or ``list[?key]``."""
    position = _position(key)
    if position is None:
        return FAILED
    _in_order(cases, bag)
    missing = known(NONE) if optional else FAILED

    def make(value: Symbol) -> Symbol:
        return wrapped(cases, value) if optional else value

    if position == 0:
        return _first_of(cases, bag.cells, missing, make)
    if position < 0:
        return missing
    return _at(cases, bag, position, missing, make)


def _position(key: Value) -> int | None:
    if type(key) is float and key.is_integer() and abs(key) < 2.0**63:
        return int(key)
    return int(key) if type(key) in (int, UInt) else None


def _at(cases: Cases, bag: Bag, position: int, missing: Symbol, make: Callable[[Symbol], Symbol]) -> Symbol:
    """By how many elements are before each."""
    branches: list[tuple[Handle, Symbol]] = []
    passed: Handle = FALSE
    terms: list[tuple[int, Handle, int]] = []
    for cell in bag.cells:
        terms.append((cell.item, cell.gate, 1))
        cases.budget.spend(len(terms))
        here = cases.formulas.between(Sum.of_terms(0, terms), position + 1, None)
        branches.append((cases.formulas.conj((here, ~passed)), make(cell.value)))
        passed = here
    return cases.gather([*branches, (~passed, missing)])


def wrapped(cases: Cases, symbol: Symbol) -> Symbol:
    """``optional.of``: an optional of each case."""
    return cases.combine((symbol,), lambda leaves: _wrapped(cases, leaves[0]))


def _wrapped(cases: Cases, leaf: Leaf) -> Symbol:
    if type(leaf) is Known:
        return known(Optional(leaf.value))
    if type(leaf) is Number:
        return cases.gather((guard, _wrapped(cases, case)) for guard, case in expanded(cases, leaf))
    raise NotLoweredError("an optional list whose length depends on the counts")
