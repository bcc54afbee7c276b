"""Environments: device selectors and their gates, results, limits of cost, expressions over any variables."""

from __future__ import annotations

import pickle

import pytest

from drasat import cel
from drasat.cel.declarations import UNBOUNDED, Function, Overload, Range, parse_type
from drasat.cel.environment import Environment, dra_environment, generic_environment
from drasat.cel.errors import CelCompileError
from drasat.cel.meter import COST_LIMIT
from drasat.cel.types import BOOL, DYN, INT, QUANTITY, STRING, Type, full_name, list_of, map_of, optional_of, type_of

DEVICE = dra_environment()
LONG = "'" + "c" * 1000 + "'"

# selector => type and greatest cost; %C is a string of 1000 characters
SELECTORS = r"""
device.driver == %C => bool 9
device.attributes['a'].b == %C => bool 11
device.attributes['a']['b'] == %C => bool 11
device.attributes.a.b == %C => bool 104
device.attributes.a['b'] == %C => bool 104
device.attributes.all(k, k == %C) => bool 355
device.attributes.all(k, v, v.x == %C) => bool 387
device.attributes.all(k, v, v['x'] == %C) => bool 387
device.attributes.all(k, device.attributes[k].all(l, l == %C)) => bool 8451
device.attributes.all(k, device.attributes[k].all(l, device.attributes[k][l] == %C)) => bool 16643
device.attributes.all(k, v, v.all(k2, v2, v2 == %C)) => bool 11427
device.attributes.all(k, v, v.all(k2, v2, k2 == %C)) => bool 11427
device.attributes == device.attributes => bool 8
device.attributes['a'] == device.attributes['b'] => bool 10
device.attributes.a == device.attributes.b => bool 1844674407370955270
device.attributes['a'].all(k, k == %C) => bool 260
device.attributes['a'].all(k, v, v == %C) => bool 356
device.attributes.a.all(k, k == %C) => bool unlimited
device.attributes.a.all(k, v, v == %C) => bool unlimited
device.attributes['a'].b.all(y, y == %C) => bool 6661
device.attributes['a']['b'].all(y, y == %C) => bool 6661
device.attributes.a.b.all(y, y == %C) => bool unlimited
device.attributes['a'].b[0] == %C => bool 105
device.attributes['a'].b.c == %C => bool 104
device.attributes['a'].b.c.d == %C => bool 104
device.attributes['a'].b['c'] == %C => bool 105
device.attributes['a'].b.all(y, y.z == %C) => bool 6661
device.attributes['a'].b.exists(x, x == 'a') => bool 389
device.attributes['a'].b.exists_one(x, x == 'a') => bool 262
device.attributes['a'].b.includes('a') => bool 68
device.attributes['a']['b'].includes('a') => bool 68
device.attributes.a.b.includes('a') => bool unlimited
'a' in device.attributes['a'].b => bool 68
'a' in device.attributes.a.b => bool unlimited
'a' in device.attributes => bool 3
'a' in device.attributes['a'] => bool 4
device.attributes.exists_one(x, x == 'a') => bool 132
device.attributes['a'].exists_one(x, x == 'a') => bool 133
device.attributes['a'].b.split('x').size() > 1 => bool 19
device.attributes['a'].b.matches('abc') => bool 11
device.attributes['a'].b.startsWith('abc') => bool 5
device.attributes['a'].b.lowerAscii().matches('^.*a100.*$') => bool 32
device.attributes['a'].b.size() > 1 => bool 6
device.capacity['a'].b == quantity('1') => bool 6
device.capacity['a'].b.compareTo(quantity('1')) >= 0 => bool 7
device.capacity.a.b.isGreaterThan(quantity('1')) => bool 6
device.capacity.all(k, k == %C) => bool 355
device.capacity.all(k, v, v.all(k2, v2, k2 == %C)) => bool 4259
device.capacity['a'].all(k, k == %C) => bool 260
device.allowMultipleAllocations == true => bool 3
device.allowMultipleAllocations => bool 2
device == device => bool 2
cel.bind(d, device.attributes['a'], d.b == 'c') => bool 16
cel.bind(d, device.attributes['a'], d.b == 'c' && d.c == %C) => bool 25
cel.bind(d, device.attributes, d['a'].c == %C) => bool 22
cel.bind(d, device, d.attributes['a'].c == %C) => bool 22
device.attributes['a'].?b.orValue('x') == 'x' => bool 6
device.attributes['a'].?b.orValue('x') == %C => bool 105
device.attributes.?a.?b.orValue('x') == %C => bool 105
device.attributes[?'a'][?'b'].orValue('x') == %C => bool 105
has(device.attributes['a'].b) => bool 3
has(device.attributes['a'].b) && device.attributes['a'].b == 'x' => bool 8
device.attributes['a'].b > 3 => bool 5
device.attributes['a'].b > 'abc' => bool 5
device.attributes['a'].b + 'a' == %C => bool 18
device.attributes['a'].b.isGreaterThan(semver('1.0.0')) => bool 6
device.attributes['a'].b in ['a', 'b'] => bool 16
device.attributes['a'].b == device.attributes['a'].c => bool 15
[device.attributes['a'].b, device.attributes['a'].c].all(y, y == %C) => bool 41
[device.attributes['a'].b].exists(y, y.exists(z, z == %C)) => bool 6741
device.attributes['a'].b.map(y, y).size() > 1 => bool 849
device.attributes['a'].b.filter(y, y == 'a') == [] => bool 985
device.attributes.a.b => dyn 4
lists.range(2000000).size() > 1 => bool 2000013
dyn(true) => dyn 1
dyn(1) => dyn 1
device.attributes['a'].all(k, v, k == %C) => bool 356
device.attributes['a'].b.all(k, v, k == %C) => bool 6661
device.attributes.all(k, v, v.all(k2, k2 == %C)) => bool 8355
device.capacity['a'].all(k, v, k == %C) => bool 132
device.capacity.all(k, v, k == %C) => bool 355
device.attributes.exists(k, v, v.exists(k2, v2, v2 == 'a')) => bool 6339
cel.bind(d, device.attributes['a'], d.all(k, v, k == %C)) => bool 367
device.attributes['a'].b => dyn 4
device.attributes['a'].b in ['a'] => bool 15
"""

# selector => what the API server says
REFUSED = r"""
1 => must evaluate to bool or the unknown type, not int
'a' => must evaluate to bool or the unknown type, not string
device.driver => must evaluate to bool or the unknown type, not string
device.attributes => must evaluate to bool or the unknown type, not map(string, map(string, dyn))
quantity('1') => must evaluate to bool or the unknown type, not kubernetes.Quantity
duration('1h') => must evaluate to bool or the unknown type, not google.protobuf.Duration
timestamp('2020-01-01T00:00:00Z') => must evaluate to bool or the unknown type, not google.protobuf.Timestamp
null => must evaluate to bool or the unknown type, not null_type
[1] => must evaluate to bool or the unknown type, not list(int)
type(1) => must evaluate to bool or the unknown type, not type(int)
int => must evaluate to bool or the unknown type, not type(int)
device.foo == 1 => 1:7: undefined field 'foo'
1 + 'a' => 1:3: found no matching overload for '_+_' applied to '(int, string)'
optional.of(true) => must evaluate to bool or the unknown type, not optional_type(bool)
[[1,'a']].size() == 1 => 1:5: expected type 'int' but found 'string'
duration('x') == duration('1h') => 1:10: invalid duration argument
"""

# The same where attributes have no lists: types and costs, or complaints.
WITHOUT_LISTS = r"""
device.attributes['a'].b.includes('a') => 1:34: undeclared reference to 'includes' (in container '')
device.attributes['a'].b == %C => bool 11
device.attributes['a'].b[0] == %C => bool 105
device.attributes['a'].b.c == %C => bool 104
device.attributes['a'].b => google.protobuf.Any 4
device.attributes['a'].b in ['a'] => bool 15
device.attributes['a'].b + 1 => must evaluate to bool or the unknown type, not int
device.attributes['a'].b == device.attributes['a'].c => bool 15
"""


def rows(table: str) -> list[tuple[str, str]]:
    """Selectors and what is expected of them."""
    return [tuple(line.rsplit(" => ", 1)) for line in table.strip().splitlines()]  # type: ignore[misc]


def outcome(environment: Environment, expression: str) -> str:
    """Type and greatest cost of an expression, or what is said of it."""
    try:
        checked = environment.compile(expression.replace("%C", LONG))
    except CelCompileError as error:
        lines = [line.removeprefix("ERROR: <input>:") for line in str(error).splitlines()]
        return " ; ".join(line for line in lines if not line.startswith(" | "))
    most = environment.estimate(checked).max
    return f"{full_name(checked.type)} {'unlimited' if most == UNBOUNDED else most}"


def short(value: str) -> str:
    """A test's id: the start of the selector."""
    return value[:50]


@pytest.mark.parametrize(("expression", "expected"), rows(SELECTORS), ids=short)
def test_selector_has_type_and_greatest_cost(expression: str, expected: str) -> None:
    """CEL-1, CLM-6: what a device may hold bounds what a selector may cost."""
    assert outcome(DEVICE, expression) == expected


@pytest.mark.parametrize(("expression", "expected"), rows(REFUSED), ids=short)
def test_selector_is_refused(expression: str, expected: str) -> None:
    """CEL-5: a selector must give a bool, or something not known before it runs."""
    assert outcome(DEVICE, expression) == expected.removeprefix("compilation failed: ")


@pytest.mark.parametrize(("expression", "expected"), rows(WITHOUT_LISTS), ids=short)
def test_selector_without_the_feature_of_lists(expression: str, expected: str) -> None:
    """CEL-4: new expressions see no lists and no ``includes`` where the feature is off."""
    environment = dra_environment(includes=False, list_attributes=False)
    assert outcome(environment, expression) == expected.removeprefix("compilation failed: ")


def test_field_of_consumable_capacity_can_be_switched_off() -> None:
    expression = "device.allowMultipleAllocations"
    assert outcome(DEVICE, expression) == "bool 2"
    gated = dra_environment(allow_multiple_allocations=False)
    assert outcome(gated, expression) == "1:7: undefined field 'allowMultipleAllocations'"


def test_includes_can_be_switched_off_alone() -> None:
    gated = dra_environment(includes=False)
    assert "undeclared reference to 'includes'" in outcome(gated, "device.attributes['a'].b.includes('c')")
    assert outcome(gated, "device.attributes['a'].b.exists(x, x == 'c')").startswith("bool")


def test_environments_of_one_set_of_gates_are_one() -> None:
    assert dra_environment() is dra_environment()
    assert dra_environment(includes=False) is dra_environment(includes=False)
    assert dra_environment() is not dra_environment(includes=False)


@pytest.mark.parametrize("name", ["name", "pool", "node", "attribute"])
def test_device_has_no_other_fields(name: str) -> None:
    """CEL-1: name and pool are not available."""
    assert outcome(DEVICE, f"device.{name} == 'a'") == f"1:7: undefined field '{name}'"


COSTLY = "device.attributes['a'].b.all(v, device.attributes['a'].b.all(w, device.attributes['a'].b.all(x, x == w)))"


def test_costly_expression_compiles_but_exceeds_the_limit() -> None:
    """CLM-6: the limit is for the API server; the scheduler compiles all the same."""
    checked = DEVICE.compile(COSTLY)
    assert DEVICE.estimate(checked).max > COST_LIMIT


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("int", INT),
        ("string", STRING),
        ("bool", BOOL),
        ("dyn", DYN),
        ("null", Type("null")),
        ("null_type", Type("null")),
        ("timestamp", Type("timestamp")),
        ("google.protobuf.Duration", Type("duration")),
        ("kubernetes.Quantity", QUANTITY),
        ("net.IP", Type("net.IP")),
        ("list", list_of(DYN)),
        ("map", map_of(DYN, DYN)),
        ("list(int)", list_of(INT)),
        (" map( string ,list( dyn ) ) ", map_of(STRING, list_of(DYN))),
        ("map(string, map(string, int))", map_of(STRING, map_of(STRING, INT))),
        ("optional(int)", optional_of(INT)),
        ("optional_type(list(int))", optional_of(list_of(INT))),
        ("type(int)", type_of(INT)),
    ],
)
def test_text_of_a_type(text: str, type_: Type) -> None:
    assert parse_type(text) is type_


@pytest.mark.parametrize(
    "text",
    [
        *("", "foo", "list(", "list()", "list(int", "list(int))", "map(int)", "map(int, int, int)", "int(int)"),
        *("list int", "list(int)int", "a b", "1", "list[int]", "list(" * 30 + "int" + ")" * 30, "("),
    ],
)
def test_text_of_no_type(text: str) -> None:
    with pytest.raises(CelCompileError, match="not a type: "):
        parse_type(text)


def test_variables_may_be_given_by_type_or_by_text() -> None:
    environment = generic_environment({"a": "map(string, int)", "b": list_of(STRING)})
    assert environment.compile("a['x'] + b.size()").type is INT
    with pytest.raises(CelCompileError, match="undeclared reference to 'c'"):
        environment.compile("c")


def test_any_result_is_taken_over_any_variables() -> None:
    assert generic_environment().compile("[1, 2]").type is list_of(INT)


def test_variables_may_have_qualified_names() -> None:
    environment = generic_environment({"a.b": "int", "a.b.c": "string"})
    assert environment.compile("a.b + 1").type is INT
    assert environment.compile("a.b.c.size()").type is INT
    with pytest.raises(CelCompileError, match="undeclared reference to 'a'"):
        environment.compile("a.x")


def test_functions_may_be_added() -> None:
    overload = Overload("twice_int", (INT,), INT, lambda value: 2 * value)
    environment = generic_environment(functions=[Function("my.twice", (overload,))])
    checked = environment.compile("my.twice(4) + my.twice(5)")
    assert checked.overloads[8] == checked.overloads[22] == (overload,)
    assert [plus.id for plus in checked.overloads[12]] == ["add_int64"]


def test_sizes_bound_the_estimate() -> None:
    limits = {("a",): 10, ("a", "@items"): 20}
    sized = generic_environment({"a": "list(string)"}, sizes=lambda path: Range(0, limits[path]))
    unsized = generic_environment({"a": "list(string)"})
    expression = "a.all(x, x == 'abc')"
    assert sized.estimate(sized.compile(expression)) == Range(2, 52)
    assert unsized.estimate(unsized.compile(expression)).max == UNBOUNDED


def test_types_survive_pickling_as_the_same_objects() -> None:
    type_ = map_of(STRING, list_of(QUANTITY))
    assert pickle.loads(pickle.dumps(type_)) is type_


def test_checked_expression_knows_types_and_overloads_by_place() -> None:
    checked = DEVICE.compile("device.driver == 'a' && device.attributes['a'].b > 1")
    assert {pos: str(type_) for pos, type_ in checked.types.items()} == {
        0: "kubernetes.DRADevice",
        6: "string",
        14: "bool",
        17: "string",
        21: "bool",
        24: "kubernetes.DRADevice",
        30: "map(string, map(string, dyn))",
        41: "map(string, dyn)",
        42: "string",
        46: "dyn",
        49: "bool",
        51: "int",
    }
    assert [overload.id for overload in checked.overloads[14]] == ["equals"]
    assert [overload.id for overload in checked.overloads[41]] == ["index_map"]
    assert {overload.args[1] for overload in checked.overloads[49]} == {INT}
    assert checked.type is checked.type_of(checked.tree) is BOOL


@pytest.mark.parametrize("text", ["[1, 'a']", "{1: 2, 'b': 3}"])
def test_mixed_literals_are_for_programs_of_ones_own_only(text):
    assert cel.compile(text).evaluate() is not None
    with pytest.raises(CelCompileError, match="expected type 'int' but found 'string'"):
        cel.compile_selector(f"size({text}) == 2")
