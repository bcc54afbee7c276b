"""Builders of devices and of expressions over them, and the comparison of formulas with evaluations."""

import re
from itertools import product

from drasat.cel.environment import device_set_environment
from drasat.cel.program import Program
from drasat.cel.values import CelMap
from drasat.encoders.expressions.formulas import FormulaEvaluator, Formulas
from drasat.encoders.expressions.lowering import MOST_LOWERING_STEPS, lower_expression
from drasat.models.kubernetes.quantity import Quantity
from drasat.models.kubernetes.semver import Version

DOMAIN = "x"


def device(*, memory=None, **attributes):
    """A device as expressions see it; ``d.attributes['x'].NAME`` and ``d.capacity['x'].memory``."""
    capacity = {} if memory is None else {"memory": Quantity.parse(memory)}
    sections = {"attributes": attributes, "capacity": capacity}
    maps = {name: CelMap([(DOMAIN, CelMap(fields.items()))]) for name, fields in sections.items()}
    return CelMap({"driver": "x.example.com", "allowMultipleAllocations": False, **maps}.items())


def program(text):
    """An expression over ``devices``; ``d.@name`` is short for an attribute, ``d.#name`` for a capacity."""
    written = text.replace(".@", f".attributes['{DOMAIN}'].").replace(".#", f".capacity['{DOMAIN}'].")
    return Program(written, scope=device_set_environment)


def evaluated(expression, items, counts):
    """Whether evaluation gives true, and whether it gives an error or another type."""
    chosen = [item for item, count in zip(items, counts, strict=True) for _ in range(count)]
    outcome = expression.measure({"devices": chosen})
    if outcome.error is not None or type(outcome.value) is not bool:
        return False, True
    return outcome.value, False


def vectors(most, least_total=0, most_total=None):
    """All counts within bounds."""
    highest = sum(most) if most_total is None else most_total
    every = product(*(range(one + 1) for one in most))
    return [counts for counts in every if least_total <= sum(counts) <= highest]


def lowered(text, items, most=None, *, least_total=0, most_total=None, budget=MOST_LOWERING_STEPS):
    """Formulas and what an expression is over them."""
    most = [1] * len(items) if most is None else most
    formulas = Formulas(most, least_total, sum(most) if most_total is None else most_total)
    return formulas, lower_expression(program(text), items, formulas, budget=budget)


def verdicts(text, items, most=None, *, least_total=0, most_total=None):
    """What evaluation says for all counts, which the formulas must say too; as a set."""
    most = [1] * len(items) if most is None else most
    formulas, found = lowered(text, items, most, least_total=least_total, most_total=most_total)
    true, error = (FormulaEvaluator(formulas.nodes, handle) for handle in (found.true, found.error))
    expression, seen = program(text), set()
    for counts in vectors(most, least_total, most_total):
        expected = evaluated(expression, items, counts)
        assert (true.holds(counts), error.holds(counts)) == expected, (text, counts)
        seen.add(expected)
    return seen


TRUE, FALSE, ERROR = (True, False), (False, False), (False, True)
EITHER = {TRUE, FALSE}


_COMPARED = ("==", "!=", "<", "<=", ">", ">=")
_QUANTIFIED = ("all", "exists", "exists_one")
_COUNTED = ("== 1", ">= 2", "< 1")
_SETS = ("contains", "intersects", "equivalent")

LEAVES = {
    "bool": [
        "%b", "%b", "%d.@b", "%d.@b", "has(%d.@i)", "has(%d.@v)", "has(%d.@l)", "%d == %d", "%d != %d",
        "%d.@s == %d.@s", "%d.@i == %d.@j", "%d.@i == %d.@i + 1", "%d.@l.includes(%i)", "%i in %d.@l",
        "%d.@s.includes('a')", "%d.@v == %d.@v", "<version>.isGreaterThan(<version>)",
        *(f"<int> {sign} <int>" for sign in _COMPARED), *(f"<string> {sign} <string>" for sign in _COMPARED[:4]),
    ],
    "int": ["0", "1", "2", "-1", "%i", "%i", "%d.@i", "%d.@i", "%d.@j", "%d.@?i.orValue(1)", "%d.@?j.orValue(0)"],
    "string": ["'a'", "'b'", "%s", "%d.@s", "%d.@s", "%d.@t", "%d.@?s.orValue('a')"],
    "version": ["semver('1.2.0')", "%d.@v", "%d.@v"],
    "quantity": ["quantity('2Gi')", "quantity('3')", "%d.#memory", "%d.#memory"],
    "double": ["1.5", "0.0", "-0.5", "double(<int>)", "<quantity>.asApproximateFloat()"],
    "devices": ["devices"],
    "ints": ["[<int>, <int>]", "devices.map($d, <int>)", "devices.map($d, <bool>, <int>)"],
    "strings": ["['a', 'b']", "devices.map($d, <string>)"],
    "lists": ["devices.map($d, %d.@l)", "devices.map($d, [<int>, <int>])"],
}  # fmt: skip

DEEPER = {
    "bool": [
        "(<bool> && <bool>)", "(<bool> || <bool>)", "(<bool> && <bool> && <bool>)", "!(<bool>)",
        "(<bool> ? <bool> : <bool>)", "cel.bind($i, <int>, <bool>)", "cel.bind($b, <bool>, <bool>)",
        *(f"<int> {sign} <int>" for sign in _COMPARED * 2), *(f"<string> {sign} <string>" for sign in _COMPARED),
        *(f"<double> {sign} <double>" for sign in _COMPARED[:3]),
        *(f"<devices>.{name}($d, <bool>)" for name in _QUANTIFIED * 4),
        *(f"<ints>.{name}($i, <bool>)" for name in _QUANTIFIED),
        *(f"<strings>.{name}($s, <bool>)" for name in _QUANTIFIED),
        *(f"devices.{name}($d, devices.{other}($d, <bool>))" for name in _QUANTIFIED for other in _QUANTIFIED),
        *(f"devices.{name}($d, devices.filter($d, <bool>).size() {sign})" for name in _QUANTIFIED for sign in _COUNTED),
        "<int> in <ints>", "<int> in [1, 2]", "<string> in <strings>", "<ints>.includes(<int>)", "<ints> == []",
        *(f"sets.{name}(<ints>, <ints>)" for name in _SETS), *(f"sets.{name}(<strings>, <strings>)" for name in _SETS),
        "<quantity>.isGreaterThan(<quantity>)", "<quantity>.isLessThan(<quantity>)", "<quantity> == <quantity>",
        "<lists>.exists(l, l.size() > 1)", "<lists>.all(l, l.includes(2))", "<lists>.all(l, l.sum() > 2)",
    ],
    "int": [
        "<devices>.size()", "<devices>.size()", "size(<ints>)", "<ints>.sum()", "<ints>.sum()", "<ints>.min()",
        "<ints>.max()", "<ints>.max()", "(<int> + <int>)", "(<int> - <int>)", "(<int> * <int>)", "(<int> / <int>)",
        "(<int> % <int>)", "-(<int>)", "(<bool> ? <int> : <int>)", "cel.bind($i, <int>, <int>)",
        "<ints>.distinct().size()", "<quantity>.compareTo(<quantity>)", "<version>.major()", "<lists>.flatten().sum()",
        "<lists>.flatten().max()", "int(uint(<int>))", "<ints>.map($i, <int>).sum()", "<ints>[0]",
        "<ints>.first().orValue(7)", "<ints>.last().value()", "[<int>, <int>].max()",
    ],
    "string": ["<strings>.min()", "<strings>.max()", "(<bool> ? <string> : <string>)", "(<string> + 'c')"],
    "quantity": ["<quantity>.add(<quantity>)", "<quantity>.sub(<quantity>)", "<quantity>.add(<int>)"],
    "double": ["devices.map($d, double(<int>)).sum()", "(double(<int>) / 2.0)", "(double(<int>) * -1.0)"],
    "devices": ["<devices>.filter($d, <bool>)", "devices.distinct()", "(devices + devices)"],
    "ints": [
        "<devices>.map($d, <int>)", "<devices>.map($d, <int>)", "<ints>.filter($i, <bool>)", "<ints>.distinct()",
        "(<ints> + <ints>)", "<lists>.flatten()", "[1, 2, 3].filter($i, <bool>)", "lists.range(devices.size())",
    ],
    "strings": ["<devices>.map($d, <string>)", "<strings>.distinct()"],
    "lists": ["devices.map($d, <ints>)"],
}  # fmt: skip

_PART = re.compile(r"<(\w+)>|\$(\w)|%(\w)")
# What is read where no variable is in scope.
_INSTEAD = {"d": "devices[0]", "i": "1", "s": "'a'", "b": "true"}


class Expressions:
    """Makes expressions with a source of random numbers: of a grammar, those over ``devices`` without any."""

    def __init__(self, rng, leaves=LEAVES, deeper=DEEPER, instead=_INSTEAD):
        self._rng = rng
        self._made = 0
        self._leaves, self._deeper, self._instead = leaves, deeper, instead

    def any(self, depth, kind="bool", scope=()):
        """One expression."""
        deeper = self._deeper.get(kind, []) if depth > 0 else []
        return self.from_template(
            self._rng.choice(deeper if deeper and self._rng.random() < 0.75 else self._leaves[kind]), depth, scope
        )

    def from_template(self, template, depth, scope=()):
        """An expression of this form."""
        bound = list(scope)

        def fill(match):
            part, binding, reading = match.groups()
            if part:
                return self.any(depth - 1, part, tuple(bound))
            if binding:
                self._made += 1
                bound.append((binding, f"{binding}{self._made}"))
                return bound[-1][1]
            names = [name for sort, name in bound if sort == reading]
            return self._rng.choice(names) if names else self._instead[reading]

        return _PART.sub(fill, template)


def _attributes(rng):
    yield 0.85, "i", rng.randint(0, 3)
    yield 0.05, "i", "a"
    yield 0.9, "j", rng.randint(0, 2) if rng.random() < 0.9 else 2**62
    yield 0.85, "s", rng.choice("ab")
    yield 0.9, "t", rng.choice("abc")
    yield 0.8, "b", rng.random() < 0.5
    yield 0.85, "v", Version.parse(rng.choice(["1.2.0", "1.10.0", "2.0.0-rc1"]))
    yield 0.9, "l", [rng.randint(0, 3) for _ in range(rng.randint(1, 2))]
    yield 0.9, "memory", rng.choice(["1Gi", "2Gi", "1", "3"])


def fields_at_random(rng):
    """Attributes of a device by name, with its capacity ``memory``; any may be missing."""
    return {name: value for chance, name, value in _attributes(rng) if rng.random() < chance}


def devices(rng):
    """Two to four devices that differ."""
    found = {}
    wanted = rng.randint(2, 4)
    while len(found) < wanted:
        fields = fields_at_random(rng)
        found[repr(sorted(fields.items()))] = device(**fields)
    return list(found.values())
