"""Where the checkout speaks of a numbered rule: in its modules, and in the names and docstrings of its tests."""

import ast
import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from support.data import read

ROOT = Path(__file__).parents[2]
FAMILIES = {
    "VER": 6,
    "SLC": 3,
    "ATTR": 3,
    "CNT": 1,
    "POL": 3,
    "CLM": 6,
    "IN": 6,
    "NODE": 2,
    "POOL": 14,
    "PRE": 13,
    "DEV": 16,
    "CEL": 11,
    "TNT": 7,
    "CAP": 11,
    "CTR": 6,
    "GRP": 6,
    "CON": 12,
    "SRCH": 12,
    "RES": 8,
    "FEAT": 3,
    "SCHED": 13,
    "BUG": 12,
    "CELC": 10,
    "SEM": 8,
    "TOPO": 6,
    "SOFT": 3,
    "WLG": 19,
    "PGC": 9,
    "NAR": 11,
}
# Families count from 1 but for these.
FIRST = {"SEM": 0}


def numbers(family: str) -> range:
    """The numbers of a family's rules."""
    return range(FIRST.get(family, 1), FAMILIES[family] + 1)


RULES = tuple(f"{family}-{number}" for family in FAMILIES for number in numbers(family))
PACKAGES = ("api", "solver", "peers", "encoders", "problem", "cel", "models")

_ID = re.compile(rf"\b(?:{'|'.join(FAMILIES)})-\d+\b")
_RANGE = re.compile(r"\b([A-Z]+)-(\d+) to \1-(\d+)\b")

# A table of cases in a file.
_TABLE = re.compile(r"(?:cases|rows)\('(.*?)', '(.*?)'\)")


def named(text: str) -> set[str]:
    """The ids that stand in the text as they are; no ranges."""
    return set(_ID.findall(text)) & set(RULES)


def cited(text: str) -> set[str]:
    """The ids of the text, those inside "POOL-3 to POOL-9" included."""
    between = {
        f"{family}-{number}"
        for family, first, last in _RANGE.findall(text)
        for number in range(int(first), int(last) + 1)
    }
    return named(text) | between & set(RULES)


@cache
def modules() -> dict[str, list[str]]:
    """The modules that cite each rule, as paths from the root of the checkout."""
    found = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for rule in cited(path.read_text(encoding="utf-8")):
                found[rule].append(path.relative_to(ROOT).as_posix())
    return found


@cache
def proofs() -> dict[str, list[str]]:
    """The tests that name each rule, as ``file::function``."""
    found = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        file = path.relative_to(ROOT).as_posix()
        for function, rules in rules_of_tests(path.read_text(encoding="utf-8")):
            for rule in rules:
                found[rule].append(f"{file}::{function}")
    return found


def rules_of_tests(source: str) -> Iterator[tuple[str, set[str]]]:
    """Each test function of a module with the rules that its docstring or the ids of its cases name."""
    module = ast.parse(source)
    tables = _tables(module)
    for name, function in _functions(module.body):
        said = [ast.get_docstring(function) or "", *_cases(function.decorator_list, tables, set())]
        yield name, set().union(*map(named, said))


def _functions(body: Iterable[ast.AST], prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    for item in body:
        if isinstance(item, ast.FunctionDef) and item.name.startswith("test_"):
            yield prefix + item.name, item
        elif isinstance(item, ast.ClassDef) and item.name.startswith("Test"):
            yield from _functions(item.body, f"{prefix}{item.name}::")


def _tables(module: ast.Module) -> dict[str, ast.AST]:
    """What module-level names stand for, so that tables of cases are found."""
    plain = {
        target.id: item.value
        for item in module.body
        if isinstance(item, ast.Assign)
        for target in item.targets
        if isinstance(target, ast.Name)
    }
    functions = {
        item.name: item
        for item in module.body
        if isinstance(item, ast.FunctionDef) and not item.name.startswith("test_")
    }
    return plain | functions


def _cases(nodes: Iterable[ast.AST], tables: dict[str, ast.AST], seen: set[str]) -> Iterator[str]:
    """The texts of the cases, in the decorators and in the tables they refer to."""
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and (table := _TABLE.fullmatch(ast.unparse(part))):
                yield json.dumps(read(table[1])[table[2]])
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value
            elif isinstance(part, ast.Name) and part.id in tables and part.id not in seen:
                seen.add(part.id)
                yield from _cases([tables[part.id]], tables, seen)


PAGE = ROOT / "docs" / "reference" / "rules.md"
TEXTS = tomllib.loads((ROOT / "docs" / "reference" / "rules.toml").read_text(encoding="utf-8"))
INTRODUCTION = """# Rules

This page lists what kube-scheduler's allocator does, rule by rule. drasat's engine `backtracking` and its verifier
follow these rules. Modules and tests cite each rule by its number, and the table gives their names. In case of doubt
the scheduler's own allocator decides: version v0.37.2 of `k8s.io/dynamic-resource-allocation`. `drasat compare` runs
both side by side. The page [validation](validation.md) lists what the API server refuses. Comments in the sources cite
sections by the numbers in the headings. The [glossary](glossary.md) explains the terms. The last four families are
extensions of drasat and are in no released scheduler. They cover
[expressions over devices](../guides/cel-constraints.md), [lists](../guides/list-semantics.md),
[topologies](../guides/topology.md) and [soft entries](../guides/soft-constraints.md).

`UPDATE_DOCS=1 pytest tests/docs` writes this page from the sources, the tests and the texts in
[rules.toml](rules.toml).
"""
DIFFERENCES = """## Where the allocator differs from its documentation

Each entry was observed on the allocator itself. drasat does the same.
"""
HEAD = ("| rule | what it says | modules | tests |", "|---|---|---|---|")


def section(family: str, sources: dict[str, list[str]], tests: dict[str, list[str]]) -> Iterator[str]:
    """The heading and table of a family."""
    heading = f"## {family}: {TEXTS['headings'][family]} (section {TEXTS['sections'][family]})"
    yield from ("", heading, "", *HEAD)
    for number in numbers(family):
        yield row(f"{family}-{number}", sources, tests)


def row(rule: str, sources: dict[str, list[str]], tests: dict[str, list[str]]) -> str:
    says = TEXTS["rules"][rule]
    if why := TEXTS["unmodelled"].get(rule):
        says += f". *Not modelled:* {why}"
    places = dict.fromkeys([*sources.get(rule, ()), *TEXTS["modules"].get(rule, ())])
    return f"| {rule} | {says} | {_cell(places)} | {_cell(tests.get(rule, ()))} |"


def _cell(names: Iterable[str]) -> str:
    return "<br>".join(f"`{name}`" for name in names) or "-"


def differences() -> Iterator[str]:
    yield from ("", DIFFERENCES)
    for entry in TEXTS["differences"]:
        yield f"- **{', '.join(entry['rules'])}**. {entry['text']}"


def page() -> str:
    sources, tests = modules(), proofs()
    lines = [line for family in FAMILIES for line in section(family, sources, tests)]
    return "\n".join([INTRODUCTION.rstrip("\n"), *differences(), *lines, ""])


def rows(text: str) -> dict[str, list[str]]:
    """The cells of each rule's row of a page."""
    cells = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:2] == "| ")
    return {row[0].strip(): row[1:] for row in cells if row[0].strip() in RULES}
