"""Variables and linear rows of a CP-SAT model, by number: written into the proto directly, which halves the time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import gcd
from operator import mul
from typing import TypeAlias

from ..problem.messages import check_deadline
from .solver_library import cp_sat

Term: TypeAlias = tuple[int, int]
"""A variable's number and its coefficient."""
# Beyond this, sums of coefficients have made the solver drop rows (or-tools #5293).
COEFFICIENT_LIMIT = 1 << 31
# The solver adds up objectives in 64 bits.
_OBJECTIVE_LIMIT = 1 << 61
# So many terms are posted in about a hundredth of a second; then it is time to look at the clock.
_TERMS_BETWEEN_CHECKS = 20_000


class CoefficientError(Exception):
    """A row cannot be written with numbers that the solver is known to handle."""


class CpSatRows:
    """A model as it grows. ``has_packing_rows``: amounts of different sizes share a limit, as in a knapsack.

    While ``deadline`` is set, a reading of ``time.monotonic``, posting may end with ``DeadlineExceededError``.
    """

    def __init__(self) -> None:
        self.has_packing_rows = False
        self.deadline: float | None = None
        self._unchecked = 0
        self._proto = cp_sat.CpModelProto()
        self._least: list[int] = []
        self._most: list[int] = []

    @property
    def proto(self) -> cp_sat.CpModelProto:
        """The model as far as it has grown."""
        # Write those that are new, runs of equal ones at once: one by one takes seven times as long.
        written = self._proto.variables
        first = len(written)
        for bounds, run in groupby(zip(self._least[first:], self._most[first:], strict=True)):
            variable = written.add()
            variable.domain.extend(bounds)
            written.extend([variable for _ in run][1:])
        return self._proto

    @property
    def variables(self) -> int:
        """Number of variables so far."""
        return len(self._least)

    def range_of(self, variable: int) -> tuple[int, int]:
        """Return the least and the greatest value of a variable."""
        return self._least[variable], self._most[variable]

    def integer(self, least: int, most: int) -> int:
        """Add a variable with these bounds."""
        self._least.append(least)
        self._most.append(most)
        return len(self._least) - 1

    def boolean(self) -> int:
        """Add a variable that is 0 or 1."""
        return self.integer(0, 1)

    def fix(self, variable: int, value: int) -> None:
        """Let a variable have this value only, until it is fixed to another one; rows stay as they are."""
        self.restrict(variable, value, value)

    def restrict(self, variable: int, least: int, most: int) -> None:
        """Let a variable have these values only, inside its bounds, until other ones are given; rows stay."""
        domain = self.proto.variables[variable].domain
        domain.clear()
        domain.extend([least, most])

    def at_most(self, terms: Iterable[Term], most: int, guard: int | None = None) -> None:
        """Post ``sum(terms) <= most``; with a guard only if that literal is true."""
        self.between(terms, None, most, guard)

    def equal(self, terms: Iterable[Term], value: int, guard: int | None = None) -> None:
        """Post ``sum(terms) == value``."""
        self.between(terms, value, value, guard)

    def between(self, terms: Iterable[Term], least: int | None, most: int | None, guard: int | None = None) -> None:
        """Post ``least <= sum(terms) <= most``, divided by what all coefficients have in common; None: no bound.

        Raises ``CoefficientError`` if they are too large even so.
        """
        kept = [term for term in terms if term[1]]
        self.check_time(len(kept) + 1)
        variables, coefficients = zip(*kept, strict=True) if kept else ((), ())
        divisor = 1 if 1 in coefficients or -1 in coefficients else gcd(*set(coefficients)) or 1
        if divisor > 1:
            coefficients = tuple([coefficient // divisor for coefficient in coefficients])
        low, high = self._extent(variables, coefficients)
        lower = low if least is None else max(low, -(-least // divisor))
        upper = high if most is None else min(high, most // divisor)
        if lower > upper:
            # Out of reach, or no multiple of the divisor lies between; the solver knows no empty range.
            self._post([], [], 1, 1, guard=guard)
        elif max(-low, high) < COEFFICIENT_LIMIT:
            if (lower, upper) == (low, high):
                return
            if guard is None and upper == 1 and self._are_literals(variables, coefficients):
                # Post that one of the literals is true or none, at least so many: half as long, and solved sooner.
                constraint = self._proto.constraints.add()
                (constraint.exactly_one if lower else constraint.at_most_one).literals.extend(variables)
            else:
                self._post(variables, coefficients, lower, upper, guard=guard)
        else:
            if upper < high:
                self._at_most_in_digits(variables, coefficients, upper, guard)
            if lower > low:
                self._at_most_in_digits(variables, [-coefficient for coefficient in coefficients], -lower, guard)

    def check_time(self, terms: int = _TERMS_BETWEEN_CHECKS) -> None:
        """Look at the clock after so many terms, or work that takes as long. Raises ``DeadlineExceededError``."""
        self._unchecked += terms
        if self._unchecked >= _TERMS_BETWEEN_CHECKS:
            self._unchecked = 0
            check_deadline(self.deadline)

    def within(self, variable: int, ranges: Iterable[tuple[int, int]], guard: int | None = None) -> None:
        """Post that the value lies in one of the ranges, which are in order and do not touch."""
        self._post([variable], [1], *(bound for one in ranges for bound in one), guard=guard)

    def clause(self, literals: Iterable[int]) -> None:
        """Post that any of the literals is true; ``~variable`` is the negated one. None of them: never."""
        self._proto.constraints.add().bool_or.literals.extend(literals)

    def one_of(self, literals: Iterable[int]) -> None:
        """Post that exactly one of the literals is true; ``~variable`` is the negated one."""
        self._proto.constraints.add().exactly_one.literals.extend(literals)

    def table(self, variables: Iterable[int], lines: Iterable[Sequence[int]], guard: int | None = None) -> None:
        """Post that the values are one of the lines; with a guard only if that literal is true."""
        constraint = self._proto.constraints.add()
        if guard is not None:
            constraint.enforcement_literal.append(guard)
        for variable in variables:
            expression = constraint.table.exprs.add()
            expression.vars.append(variable)
            expression.coeffs.append(1)
        constraint.table.values.extend([value for line in lines for value in line])

    def extent(self, terms: Sequence[Term]) -> tuple[int, int]:
        """Return the least and the greatest sum that the bounds of the variables allow."""
        variables, coefficients = zip(*terms, strict=True) if terms else ((), ())
        return self._extent(variables, coefficients)

    def _post(self, variables: Sequence[int], coefficients: Sequence[int], *bounds: int, guard: int | None) -> None:
        constraint = self._proto.constraints.add()
        if guard is not None:
            constraint.enforcement_literal.append(guard)
        linear = constraint.linear
        linear.vars.extend(variables)
        linear.coeffs.extend(coefficients)
        linear.domain.extend(bounds)

    def _are_literals(self, variables: Sequence[int], coefficients: Sequence[int]) -> bool:
        """Tell whether a row adds up different variables that are 0 or 1."""
        if min(coefficients) != 1 or max(coefficients) != 1 or len(set(variables)) < len(variables):
            return False
        least, most = map(self._least.__getitem__, variables), map(self._most.__getitem__, variables)
        return min(least) == 0 and max(most) == 1

    def _at_most_in_digits(
        self, variables: Sequence[int], coefficients: Sequence[int], most: int, guard: int | None
    ) -> None:
        """Post a row whose coefficients are too large as a row of their low digits, with a carry to that of the high.

        Bytes of memory that have no large common divisor need this.
        """
        shift = COEFFICIENT_LIMIT.bit_length() - 2 - sum(map(self._width, variables)).bit_length()
        if shift < 1:
            raise CoefficientError(f"a row of {len(variables)} terms is too large for the solver")
        radix = 1 << shift
        low_digits = [coefficient % radix for coefficient in coefficients]
        least, most_carried = (bound // radix for bound in self._extent(variables, low_digits))
        carry, rest = self.integer(least, most_carried), self.integer(0, radix - 1)
        self.equal([*zip(variables, low_digits, strict=True), (carry, -radix), (rest, -1)], 0)
        level = self.boolean()
        high, digit = divmod(most, radix)
        # Below the limit in the high digits, or level with it and not above it in the low ones.
        high_digits = zip(variables, (coefficient // radix for coefficient in coefficients), strict=True)
        self.at_most([*high_digits, (carry, 1), (level, -1)], high - 1, guard)
        self.at_most([(rest, 1), (level, radix - 1 - digit)], radix - 1, guard)

    def _width(self, variable: int) -> int:
        return max(abs(self._least[variable]), abs(self._most[variable]))

    def _extent(self, variables: Sequence[int], coefficients: Sequence[int]) -> tuple[int, int]:
        """Least and greatest sum that the variables' bounds allow."""
        least = map(self._least.__getitem__, variables)
        most = map(self._most.__getitem__, variables)
        if min(coefficients, default=0) >= 0:
            return sum(map(mul, coefficients, least)), sum(map(mul, coefficients, most))
        low = high = 0
        for coefficient, lower, upper in zip(coefficients, least, most, strict=True):
            low += coefficient * (lower if coefficient > 0 else upper)
            high += coefficient * (upper if coefficient > 0 else lower)
        return low, high

    def minimize(self, terms: Sequence[Term]) -> None:
        """Replace the objective by ``sum(terms)``; nothing to minimise: any solution will do.

        Raises ``CoefficientError`` if the sum may be too large for the solver.
        """
        self._proto.clear_objective()
        if terms:
            if max(map(abs, self.extent(terms))) >= _OBJECTIVE_LIMIT:
                raise CoefficientError(f"an objective of {len(terms)} terms is too large for the solver")
            self._proto.objective.vars.extend([variable for variable, _ in terms])
            self._proto.objective.coeffs.extend([coefficient for _, coefficient in terms])

    def hint(self, values: Mapping[int, int]) -> None:
        """Suggest values for variables; a second hint would make the model invalid, so the first goes."""
        self._proto.clear_solution_hint()
        self._proto.solution_hint.vars.extend(list(values))
        self._proto.solution_hint.values.extend(list(values.values()))
