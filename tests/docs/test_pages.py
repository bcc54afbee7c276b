"""Every page shows what really happens, and its links lead somewhere."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest
import yaml
from support.pages import DOCS, PAGES, TEXTS, Session, anchors, blocks, files, lay_out, links, same, sessions
from support.rules import ROOT

import drasat as package

SESSIONS = [session for page in TEXTS for session in sessions(page)]
PYTHON = [page for page, text in TEXTS.items() if blocks(text, "python")]


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.named)
def test_shown_output_is_real(session: Session, drasat, monkeypatch, tmp_path):
    lay_out(session.page, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert same(session.shown, run(session.command, drasat))


def run(command, drasat):
    """Run what stands behind the prompt: drasat in this process, with a pipe or a redirection by a shell."""
    if not re.search(r"[|>]", command):
        program, *argv = command.split()
        assert program == "drasat"
        done = drasat(*argv)
        return done.out + done.err
    for part in command.split("|")[1:]:
        if not which(part.split()[0]):
            pytest.skip(f"{part.split()[0]} is not installed")
    program = Path(sys.executable).with_name("drasat")
    command = re.sub(r"(^|\| )drasat ", rf"\1{program} ", command)
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False).stdout


def test_every_verb_is_shown():
    shown = {session.command.split()[1] for session in SESSIONS}
    assert shown >= {"show", "allocate", "plan", "compare", "explain", "capacity", "topology", "validate"}


@pytest.mark.parametrize("page", PYTHON)
def test_python_shown_runs(page, monkeypatch, tmp_path):
    """Blocks of a page follow each other; a literal in a comment behind an expression is its value."""
    lay_out(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    names = {"drasat": package}
    for block in blocks(TEXTS[page], "python"):
        for statement in ast.parse(block).body:
            text = ast.get_source_segment(block, statement)
            if isinstance(statement, ast.Expr) and (said := literal(block, statement)) is not None:
                assert eval(text, names) == said
            else:
                exec(text, names)


def literal(block, statement):
    """What the comment behind a statement says that it gives, None if it is prose."""
    _, _, comment = block.splitlines()[statement.end_lineno - 1].partition("  # ")
    try:
        return ast.literal_eval(comment.strip())
    except (SyntaxError, ValueError):
        return None


OBJECTS = [
    pytest.param(block, id=f"{page}-{number}")
    for page, text in TEXTS.items()
    if page != "docs/background/upstream-differences.md"
    for number, block in enumerate(blocks(text, "yaml"))
    if block.lstrip("# ").startswith("apiVersion") and "---" not in block
]


@pytest.mark.parametrize("block", OBJECTS)
def test_objects_shown_are_valid(block):
    found = package.validate(yaml.safe_load(block)).problems
    assert [problem for problem in found if problem.severity == "error"] == []


@pytest.mark.parametrize("page", list(TEXTS))
def test_links_lead_somewhere(page):
    broken = []
    for target in links(page):
        path, _, anchor = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text(encoding="utf-8"))):
            broken.append(target)
    assert broken == []


def test_every_page_is_linked_from_another():
    linked = {
        ((ROOT / page).parent / target.partition("#")[0]).resolve()
        for page in TEXTS
        for target in links(page)
        if not target.startswith("#")
    }
    assert [path for path in PAGES if path.resolve() not in linked and path.name != "README.md"] == []
    assert [path for path in DOCS.rglob("*.json") if path.resolve() not in linked] == []


@pytest.mark.parametrize("page", [page for page in TEXTS if not page.startswith("docs/reference/rules")])
def test_files_named_exist(page):
    named = re.findall(r"`((?:docs|examples|benchmarks|tests/docs|tests/data)/[\w./-]*)`", TEXTS[page])
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("name", ["objects", "results"])
def test_schemas_are_json(name):
    assert json.loads((DOCS / "reference" / f"{name}.schema.json").read_text(encoding="utf-8"))


def test_readme_is_short():
    assert len(TEXTS["README.md"].splitlines()) <= 120


@pytest.mark.parametrize(
    ("shown", "printed", "is_same"),
    [
        ("a  b", "a  b  \n", True),
        ("a  b", "a b\n", False),
        ("a\n...", "a\nb\n", True),
        ("x  3 ms", "x     41.5 ms\n", True),
        ("x  3 ms", "y     41.5 ms\n", False),
    ],
)
def test_what_is_shown_is_compared_by_line(shown, printed, is_same):
    assert same(shown, printed) is is_same


def test_anchors_are_those_of_github():
    assert anchors("# A b\n## `x`, and y!\n# A b\n") == {"a-b", "x-and-y", "a-b-1"}


def test_files_to_save_are_found():
    assert all(yaml.safe_load_all(text) for page in TEXTS for text in files(page).values())


MODULE = re.compile(r"`((?:api|cel|encoders|models|peers|problem|scenarios|solver|tests|benchmarks)/[\w/]+)(?:\.py)?`")


@pytest.mark.parametrize("page", [page for page in TEXTS if MODULE.search(TEXTS[page])])
def test_modules_named_exist(page):
    named = {match[1] for match in MODULE.finditer(TEXTS[page])}
    assert [name for name in named if not any((ROOT / (name + end)).exists() for end in ("", ".py"))] == []
