"""Limits of the front: length, nesting, depth, size of types; and that nothing recurses or takes long."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from drasat.cel.environment import dra_environment, generic_environment
from drasat.cel.errors import CelCompileError
from drasat.cel.parser import MAX_BYTES, MAX_NESTING, parse
from drasat.cel.precedence import MAX_DEPTH

ENVIRONMENT = generic_environment({"x": "dyn"})
DEVICE = dra_environment()
NESTING = f"ERROR: <input>:-1:0: expression recursion limit exceeded: {MAX_NESTING}"
DEPTH = "ERROR: <input>:-1:0: max recursion depth exceeded"

# How to put an expression n levels into something that counts as nesting.
NESTED: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: "(" * n + "1" + ")" * n,
    "lists": lambda n: "[" * n + "1" + "]" * n,
    "maps": lambda n: "{1:" * n + "1" + "}" * n,
    "calls": lambda n: "dyn(" * n + "1" + ")" * n,
    "methods": lambda n: "x.includes(" * n + "1" + ")" * n,
    "indexes": lambda n: "x[" * n + "1" + "]" * n,
    "macros": lambda n: "[1].all(y, " * n + "true" + ")" * n,
    "binds": lambda n: "cel.bind(y, 1, " * n + "y" + ")" * n,
    "negations": lambda n: "!(" * n + "true" + ")" * n,
}

# Operations in a row, or one in another: n of them.
DEEP: dict[str, Callable[[int], str]] = {
    "sums": lambda n: "1" + "+1" * n,
    "products": lambda n: "1" + "*1" * n,
    "sums-of-products": lambda n: "1" + "+1" * (n - 1) + "+1*1" if n > 1 else "1+1",
    "comparisons": lambda n: "x" + "==x" * n,
    "selections": lambda n: "x" + ".a" * n,
    "optional-selections": lambda n: "x" + ".?a" * n,
    "indexes": lambda n: "x" + "[0]" * n,
    "methods": lambda n: "'a'" + ".trim()" * n,
    "macros": lambda n: "[1]" + ".map(y, y)" * n,
    "selections-then-sums": lambda n: "x" + ".a" * (n // 2) + "+x" * (n - n // 2),
    "conditionals-then-sums": lambda n: "(true?" * (n // 2) + "1" + ":2)" * (n // 2) + "+1" * (n - n // 2),
}

# Things in a row that count as nothing.
FLAT: dict[str, str] = {
    "conjunctions": "true" + " && true" * 1000,
    "disjunctions": "true" + "||true" * 1500,
    "elements": "[" + "1," * 5000 + "] == []",
    "empty-lists": "[" + "[]," * 3000 + "] == []",
    "entries": "{" + ",".join(f"{number}:1" for number in range(1000)) + "} == {}",
    "negations": "!" * 10_000 + "true",
    "signs": "-" * 10_000 + "1 == 1",
    "clauses": " || ".join(["x.a == 'b' && x.c != 'd'"] * 300),
}


def outcome(text: str) -> str:
    """The first line of what is said of an expression, nothing if it compiles."""
    try:
        ENVIRONMENT.estimate(ENVIRONMENT.compile(text))
    except CelCompileError as error:
        return str(error).splitlines()[0]
    return ""


def below(frames: int, text: str) -> str:
    """``outcome`` as seen by a caller that is already deep in calls."""
    return below(frames - 1, text) if frames else outcome(text)


@pytest.mark.parametrize("name", NESTED)
def test_brackets_nest_as_deep_as_in_cel_go(name: str) -> None:
    """cel.md 1.3: 250 expressions may stand inside one another, the outermost counted."""
    assert outcome(NESTED[name](MAX_NESTING - 1)) == ""
    assert outcome(NESTED[name](MAX_NESTING)) == NESTING


def test_conditionals_in_the_last_branch_are_operations_in_one_another() -> None:
    assert outcome("true?1:" * (MAX_NESTING - 1) + "1") == ""
    assert outcome("true?1:" * (MAX_DEPTH + 1) + "1") == DEPTH


@pytest.mark.parametrize("name", DEEP)
def test_operations_stand_in_one_another_as_deep_as_in_cel_go(name: str) -> None:
    parse(DEEP[name](MAX_DEPTH))
    assert outcome(DEEP[name](MAX_DEPTH + 1)) == DEPTH


@pytest.mark.parametrize("name", FLAT)
def test_length_of_rows_is_bounded_by_the_text_alone(name: str) -> None:
    assert len(FLAT[name]) <= MAX_BYTES
    assert outcome(FLAT[name]) == ""


@pytest.mark.parametrize("name", NESTED)
def test_nesting_needs_no_stack(name: str) -> None:
    assert below(400, NESTED[name](MAX_NESTING - 1)) == ""


@pytest.mark.parametrize("name", DEEP)
def test_depth_needs_no_stack(name: str) -> None:
    assert below(400, DEEP[name](MAX_DEPTH - 1)) == ""


def test_all_precedences_in_one_another_need_no_stack() -> None:
    level = "x ? x : x || x && x == x + x * -x["
    depth = 38
    assert below(400, level * depth + "x" + "]" * depth) == ""


@pytest.mark.parametrize("character", ["a", "é", "😀"])
def test_length_is_counted_in_bytes(character: str) -> None:
    """CLM-6: 10,240 bytes of UTF-8."""
    fitting = "'" + character * ((MAX_BYTES - 2) // len(character.encode())) + "'"
    assert outcome(fitting) == ""
    with pytest.raises(CelCompileError, match="Too long: may not be more than 10240 bytes"):
        parse(fitting + " " * 6)


@pytest.mark.parametrize(
    "text",
    [
        *(mark * MAX_BYTES for mark in '([{"\\`.!-+?:,&|=@a\n\x00'),
        "'" * 3001,
        "1" * MAX_BYTES,
        "'" + r"\n" * 5000,
        "'" + r"\x4" * 3000,
        '"""' + '"' * 5000,
        "r'''" + "'" * 5000,
        "'''" + r"\'" * 5000,
        "0x" + "f" * 10_000,
        "1e" + "9" * 10_000,
        "`" + "a" * 10_000,
        "//" + "a" * 10_000,
        "a." * 5000,
        "[1].map(x," * 1000,
        "{1:" * 3000,
        "true ? " * 1400,
        "has(" * 2000,
        "cel.bind(" * 1000,
        " || ".join(["undeclared"] * 700),
        "+".join(["(1+'a')"] * 240),
        "\ud800",
        "'\udfff'",
    ],
    ids=lambda text: ascii(text[:6]),
)
def test_hostile_text_is_refused_cleanly(text: str) -> None:
    assert below(300, text[:MAX_BYTES]).startswith("ERROR: <input>:")


def test_types_that_double_at_every_level_are_refused() -> None:
    bindings = "".join(f"cel.bind(a{n}, {{a{n - 1}: a{n - 1}}}, " for n in range(1, 100))
    text = "cel.bind(a0, {1: 1}, " + bindings + "true" + ")" * 100
    assert outcome(text) == "ERROR: <input>:-1:0: type of expression too large"


def test_complaints_that_double_at_every_level_stay_few() -> None:
    with pytest.raises(CelCompileError) as caught:
        ENVIRONMENT.compile("1" + ".optMap(y, y)" * 60)
    assert str(caught.value).count("ERROR:") == 100


MARKS = "( ) [ ] { } , : ? . + - * ! && || == <".split(" ")  # noqa: SIM905
WORDS = "in 1 1u 2.5 'a' b'a' x device all map size has true null cel.bind optional.of sets.contains".split(" ")  # noqa: SIM905
FRAGMENTS = ["x.all(y,", '"', "'", "`", "\n", "//", "0x", "\\", "é"]


def refused_or_compiled(text: str) -> bool:
    """Whether a selector compiles, or is refused with a text."""
    try:
        DEVICE.estimate(DEVICE.compile(text))
    except CelCompileError as error:
        return bool(str(error))
    return True


@pytest.mark.parametrize("seed", range(20))
def test_any_sequence_of_tokens_compiles_or_is_refused(seed: int) -> None:
    source = random.Random(seed)
    for length in (3, 6, 12, 50, 400, 2000):
        tokens = (source.choice(MARKS + WORDS + FRAGMENTS) for _ in range(length))
        assert refused_or_compiled(source.choice(["", " "]).join(tokens)[:5000])


@pytest.mark.parametrize("seed", range(20))
def test_damaged_expressions_compile_or_are_refused(seed: int) -> None:
    source = random.Random(seed)
    whole = (
        "cel.bind(d, device.attributes['a'], d.?x.orValue([1, 2]).map(i, i > 0 ? {'k': -i} : {}).size() in [0x1F, 2])"
    )
    for _ in range(50):
        place = source.randrange(len(whole))
        assert refused_or_compiled(
            whole[:place] + source.choice(["", "(", ")", "'", ".", ",", " x "]) + whole[place + 1 :]
        )
