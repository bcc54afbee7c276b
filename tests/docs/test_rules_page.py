"""The page of rules is true: it is what the sources say, and no rule is without a test."""

import os
import re
from functools import cache

import pytest
from support.rules import (
    FAMILIES,
    PAGE,
    ROOT,
    RULES,
    TEXTS,
    cited,
    modules,
    named,
    page,
    proofs,
    row,
    rows,
    rules_of_tests,
)


def test_page_of_rules_is_up_to_date():
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_rule_has_a_text_and_a_row():
    assert tuple(TEXTS["rules"]) == RULES
    assert tuple(TEXTS["headings"]) == tuple(TEXTS["sections"]) == tuple(FAMILIES)
    assert tuple(rows(PAGE.read_text(encoding="utf-8"))) == RULES


def test_every_rule_is_named_by_a_test_that_needs_no_other_program():
    beside = ("tests/peers/", "tests/differential/")
    found = {rule for rule, names in proofs().items() if not all(name.startswith(beside) for name in names)}
    assert [rule for rule in RULES if rule not in found] == []


def test_every_rule_has_a_module_or_says_why_not():
    found = modules()
    placed = {rule for rule in RULES if found.get(rule)} | TEXTS["modules"].keys() | TEXTS["unmodelled"].keys()
    assert [rule for rule in RULES if rule not in placed] == []


def test_what_the_texts_speak_of_exists():
    places = [place for names in TEXTS["modules"].values() for place in names]
    assert [place for place in places if not (ROOT / place).is_file()] == []
    told = [
        *TEXTS["modules"],
        *TEXTS["unmodelled"],
        *(rule for entry in TEXTS["differences"] for rule in entry["rules"]),
    ]
    assert [rule for rule in told if rule not in RULES] == []


def test_the_tests_on_the_page_exist():
    """Looked for by other means than those that wrote the page."""
    listed = {
        test for cells in rows(PAGE.read_text(encoding="utf-8")).values() for test in re.findall(r"`([^`]*)`", cells[2])
    }
    assert len(listed) > 300
    assert sorted(test for test in listed if not exists(*test.split("::"))) == []


@cache
def text_of(path):
    return (ROOT / path).read_text(encoding="utf-8")


def exists(path, *names):
    *classes, function = names
    marks = [f"\nclass {name}:" for name in classes] + [f"def {function}("]
    return (ROOT / path).is_file() and all(mark in text_of(path) for mark in marks)


def test_texts_are_short_and_fit_a_table():
    assert [rule for rule, text in TEXTS["rules"].items() if len(text.split()) > 18 or "|" in text] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("POOL-3: older ones (POOL-4)", {"POOL-3", "POOL-4"}),
        ("POOL-15, XPOOL-3, POOL-33", set()),
        ("POOL-3 to POOL-5", {"POOL-3", "POOL-5"}),
    ],
    ids=["listed", "unknown", "range"],
)
def test_a_test_names_a_rule_exactly(text, found):
    assert named(text) == found


def test_modules_may_cite_a_range():
    assert cited("(POOL-3 to POOL-6)") == {"POOL-3", "POOL-4", "POOL-5", "POOL-6"}
    assert cited("(POOL-3 to PRE-5)") == {"POOL-3", "PRE-5"}


MODULE = '''
"""POOL-1 of the module does not count."""
ROWS = [pytest.param(1, id="POOL-2 one")]
OTHER = {"POOL-3": ROWS}

def rows():
    return [pytest.param(2, id="POOL-4")]

def helper():
    """POOL-5."""

@pytest.mark.parametrize("value", [*ROWS, *rows()])
def test_table(value):
    assert "POOL-6"

@pytest.mark.parametrize("value", [1], ids=["POOL-7"])
def test_ids(value):
    """Also POOL-8."""

def test_nothing():
    assert OTHER

class TestTogether:
    @pytest.mark.parametrize("value", ROWS)
    def test_inside(self, value):
        """POOL-9."""
'''


def test_rules_are_found_in_docstrings_and_ids_of_tests():
    assert dict(rules_of_tests(MODULE)) == {
        "test_table": {"POOL-2", "POOL-4"},
        "test_ids": {"POOL-7", "POOL-8"},
        "test_nothing": set(),
        "TestTogether::test_inside": {"POOL-2", "POOL-9"},
    }


def test_a_row_names_what_was_found():
    line = row("POOL-3", {"POOL-3": ["models/cluster/pools.py"]}, {"POOL-3": ["tests/a.py::test_b"]})
    assert line.startswith("| POOL-3 | of the relevant slices")
    assert line.endswith("| `models/cluster/pools.py` | `tests/a.py::test_b` |")
    assert row("SCHED-9", {}, {}).endswith("without scores | - | - |")
