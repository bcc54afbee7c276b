"""The page of all rules: what each says, the modules that implement it, and the tests that name it."""

import tomllib
from collections.abc import Iterable, Iterator

from .rule_search import FAMILIES, ROOT, RULES, modules, numbers, proofs

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
