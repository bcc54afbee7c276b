"""Linear sums over counts of devices, each term counted only while a formula, its *gate*, holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

Handle: TypeAlias = int
"""A formula by number; ``~handle`` is its negation."""

TRUE: Handle = 0
FALSE: Handle = ~TRUE

ONE = -1
"""Stands for an item of which always one is there: a term of it is worth its coefficient while the gate holds."""

Number: TypeAlias = int | Fraction
SumTerm: TypeAlias = tuple[int, Handle, Number]
"""Item (or ``ONE``), gate and coefficient."""


@dataclass(frozen=True, slots=True)
class Sum:
    """``constant`` and, for every term whose gate holds, the coefficient times the count of its item.

    Sums made by the functions here are normal: terms sorted, no two alike, no zeros, gates not negated, whole numbers
    as int. Adding many sums one by one is quadratic: ``Sum.total`` adds them at once.
    """

    constant: Number = 0
    terms: tuple[SumTerm, ...] = ()

    @staticmethod
    def of_number(value: Number) -> Sum:
        """Return the sum that always has this value."""
        return Sum(plain(value))

    @staticmethod
    def of_count(item: int, coefficient: Number = 1) -> Sum:
        """Return how many devices of the item are chosen, times the coefficient."""
        return Sum.of_terms(0, [(item, TRUE, coefficient)])

    @staticmethod
    def of_literal(handle: Handle, coefficient: Number = 1) -> Sum:
        """Return the coefficient while the formula holds, else 0."""
        return Sum.of_terms(0, [(ONE, handle, coefficient)])

    @staticmethod
    def of_terms(constant: Number, terms: Iterable[SumTerm]) -> Sum:
        """Return the normal form of a sum: what a negated gate counts is all but what the gate counts."""
        merged: dict[tuple[int, Handle], Number] = {}
        for item, gate, coefficient in terms:
            if gate < 0:
                merged[item, TRUE] = merged.get((item, TRUE), 0) + coefficient
                gate, coefficient = ~gate, -coefficient
            merged[item, gate] = merged.get((item, gate), 0) + coefficient
        constant += merged.pop((ONE, TRUE), 0)
        kept = sorted((*key, plain(coefficient)) for key, coefficient in merged.items() if coefficient)
        return Sum(plain(constant), tuple(kept))

    @staticmethod
    def total(sums: Iterable[Sum]) -> Sum:
        """Return the sum of many."""
        every = list(sums)
        return Sum.of_terms(sum(one.constant for one in every), (term for one in every for term in one.terms))

    def scaled(self, factor: Number) -> Sum:
        """Return the sum times a number."""
        return Sum.of_terms(
            self.constant * factor, ((item, gate, coefficient * factor) for item, gate, coefficient in self.terms)
        )

    def __add__(self, other: Sum) -> Sum:
        return Sum.total((self, other))

    def __sub__(self, other: Sum) -> Sum:
        return Sum.total((self, -other))

    def __neg__(self) -> Sum:
        return self.scaled(-1)


def plain(value: Number) -> Number:
    """Return a whole number as int."""
    return value.numerator if value.denominator == 1 else value
