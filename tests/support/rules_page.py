"""The page of all rules: what each says, the modules that implement it, and the tests that name it."""

import tomllib
from collections.abc import Iterable, Iterator

from support.rule_search import FAMILIES, ROOT, RULES, modules, numbers, proofs

PAGE = ROOT / "docs" / "rules.md"
TEXTS = tomllib.loads((ROOT / "docs" / "rules.toml").read_text(encoding="utf-8"))
INTRODUCTION = """# Rules

What kube-scheduler's allocator does, rule by rule, as drasat's engine `backtracking` and its verifier follow it. Each
rule has a number that modules and tests name: this page says where. The scheduler's own allocator, version v0.37.2 of
`k8s.io/dynamic-resource-allocation`, decides in case of doubt; `drasat compare` runs it beside drasat's. What the API
server refuses is on the page of [validation](validation.md). Comments in the sources speak of sections by the numbers
in the headings; words are explained in the [glossary](glossary.md). The last four families are drasat's own, beyond any
released scheduler: they are about [expressions over devices](cel-constraints.md), [lists](list-semantics.md),
[topologies](topology.md) and [soft entries](soft-constraints.md).

This page is written by `UPDATE_DOCS=1 pytest tests/docs`; the texts are in [rules.toml](rules.toml).
"""
DIFFERENCES = """## Where this differs from what one might read

Found with the allocator itself; drasat does the same.
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
