"""Random formulas beside what they mean, and the vectors of counts that rows allow."""

from fractions import Fraction
from itertools import product

from drasat.encoders.expressions.formula_nodes import FALSE, ONE, TRUE, GatedSum
from drasat.encoders.rows import CpSatRows
from drasat.solver.engines.cp_sat import QUICK, Limits, SolverStatus, run_solver


def spaces(rng, items=3, size=2):
    """Random bounds: most of each item, least and most in all."""
    most = [rng.randint(1, size) for _ in range(rng.randint(1, items))]
    most_total = rng.randint(1, sum(most))
    return most, rng.randint(0, most_total), most_total


def vectors_by_hand(most, least_total, most_total):
    every = product(*(range(one + 1) for one in most))
    return [vector for vector in every if least_total <= sum(vector) <= most_total]


def interesting(rng, formulas, items):
    """A formula that is not decided by the bounds alone, if one is found soon, and a function of counts like it."""
    for _ in range(20):
        handle, meaning = formula(rng, formulas, items, 3)
        if handle not in (TRUE, FALSE):
            break
    return handle, meaning


def formula(rng, formulas, items, depth):
    """A random formula, and a function of counts that says the same."""
    if depth == 0:
        return _presence(rng, formulas, items, depth)
    kind = rng.choice([_presence, _between, _between, _negation, _conjunction, _disjunction, _choice, _implication])
    return kind(rng, formulas, items, depth - 1)


def _several(rng, formulas, items, depth, number):
    return [formula(rng, formulas, items, depth) for _ in range(number)]


def _presence(rng, formulas, items, _depth):
    item = rng.randrange(items)
    return formulas.present(item), lambda counts: counts[item] >= 1


def _between(rng, formulas, items, depth):
    terms = []
    for _ in range(rng.randint(0, 4)):
        plain = rng.random() < 0.5
        gate = (TRUE, lambda _counts: True) if plain else formula(rng, formulas, items, min(depth, 1))
        factor = rng.choice([1, 1, 1, 2, -1, -2, Fraction(1, 2), Fraction(-3, 4)])
        terms.append((rng.choice([ONE, *range(items)]), gate, factor))
    constant = rng.choice([0, 0, 1, Fraction(1, 3)])
    least = rng.choice([None, 0, 1, 2, Fraction(1, 2), -1])
    most = rng.choice([None, None, 1, 2, Fraction(5, 2)])

    def meaning(counts):
        values = (factor * (1 if item == ONE else counts[item]) for item, (_, holds), factor in terms if holds(counts))
        value = constant + sum(values)
        return (least is None or value >= least) and (most is None or value <= most)

    sums = [GatedSum.of_terms(0, [(item, handle, factor)]) for item, (handle, _), factor in terms]
    return formulas.between(GatedSum.total([GatedSum.of_number(constant), *sums]), least, most), meaning


def _negation(rng, formulas, items, depth):
    handle, holds = formula(rng, formulas, items, depth)
    return ~handle, lambda counts: not holds(counts)


def _conjunction(rng, formulas, items, depth):
    parts = _several(rng, formulas, items, depth, rng.randint(0, 3))
    return formulas.conj([handle for handle, _ in parts]), lambda counts: all(holds(counts) for _, holds in parts)


def _disjunction(rng, formulas, items, depth):
    parts = _several(rng, formulas, items, depth, rng.randint(0, 3))
    return formulas.disj([handle for handle, _ in parts]), lambda counts: any(holds(counts) for _, holds in parts)


def _choice(rng, formulas, items, depth):
    (if_, condition), (then, first), (else_, second) = _several(rng, formulas, items, depth, 3)
    return formulas.choose(if_, then, else_), lambda counts: first(counts) if condition(counts) else second(counts)


def _implication(rng, formulas, items, depth):
    (if_, condition), (then, holds) = _several(rng, formulas, items, depth, 2)
    return formulas.implies(if_, then), lambda counts: not condition(counts) or holds(counts)


class Counted:
    """A model with counts of items, each of one variable or of two."""

    def __init__(self, most, rng):
        self.rows = CpSatRows()
        halves = [[one] if rng.random() < 0.6 else [one // 2, one - one // 2] for one in most]
        self.variables = [[self.rows.integer(0, size) for size in sizes] for sizes in halves]
        self.counts = [[(variable, 1) for variable in one] for one in self.variables]

    def allows(self, vector, *fixed, configuration=QUICK):
        """Tell whether there is a solution with these counts, and these values of further variables."""
        for count, variables in zip(vector, self.variables, strict=True):
            for variable in variables:
                value = min(count, self.most_of(variable))
                self.rows.fix(variable, value)
                count -= value
        for variable, value in fixed:
            self.rows.fix(variable, value)
        return run_solver(self.rows, Limits(), configuration).status is SolverStatus.OPTIMAL

    def most_of(self, variable):
        return self.rows.range_of(variable)[1]

    def switch(self, literal):
        """A new variable that is as true as a literal."""
        variable = self.rows.boolean()
        negated = literal < 0
        self.rows.equal([(variable, 1), (~literal if negated else literal, 1 if negated else -1)], int(negated))
        return variable
