"""The glossary is sorted by subject, says each word once, and names rules that exist."""

import re

import pytest
from support.rules import ROOT, RULES

TEXT = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
ENTRIES = [line for line in TEXT.splitlines() if line.startswith("- ")]


def words(entry):
    return re.findall(r"\*\*(.+?)\*\*", entry.partition(":")[0])


def test_every_entry_is_one_line_and_defines_a_word():
    assert len(ENTRIES) > 60
    assert [entry for entry in ENTRIES if not words(entry) or len(entry) > 200] == []
    prose = [line for line in TEXT.splitlines() if line.startswith("  ")]
    assert prose == []


def test_no_word_is_defined_twice():
    defined = [word.lower() for entry in ENTRIES for word in words(entry)]
    assert sorted(defined) == sorted(set(defined))


def test_rules_and_pages_named_exist():
    numbers = re.findall(r"\b[A-Z]+-\d+\b", TEXT)
    assert numbers
    assert set(numbers) <= set(RULES)
    pages = re.findall(r"\]\((\S+?)\)", TEXT)
    assert [page for page in pages if not (ROOT / "docs" / "reference" / page).is_file()] == []


@pytest.mark.parametrize(
    ("place", "words_"),
    [
        ("models/results/common.py", ["Allocated", "Unallocatable", "Error", "Unknown"]),
        ("solver/plan/outcome.py", ["Optimal", "Feasible", "Infeasible", "Unknown"]),
        ("problem/messages.py", ["kube", "strict", "skip"]),
        ("problem/filters.py", ["classSelector", "taint"]),
        ("solver/engines/registry.py", ["backtracking", "auto", "cp-sat"]),
        ("solver/engines/kube_scheduler.py", ["kube-scheduler"]),
        ("models/kubernetes/gates.py", ["stable", "incubating", "experimental"]),
        ("models/cluster/pools.py", ["complete", "incomplete", "invalid"]),
    ],
)
def test_words_of_the_code_are_explained(place, words_):
    """A word renamed in the code is to be renamed here."""
    source = (ROOT / place).read_text(encoding="utf-8")
    assert [word for word in words_ if f'"{word}"' not in source or word.lower() not in TEXT.lower()] == []
