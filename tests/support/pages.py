"""What the pages of the documentation hold: sessions of a shell, Python, manifests, links and anchors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.rules import ROOT

DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *sorted(DOCS.rglob("*.md")), *sorted((ROOT / "examples").rglob("README.md")))
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PAGES}

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_TIME = re.compile(r"(?<![\w.])[\d.]+ (?:us|ms|s)\b")


@dataclass(frozen=True)
class Session:
    """A command of a ``console`` block, and what it prints below."""

    page: str
    command: str
    shown: str

    @property
    def named(self) -> str:
        return f"{self.page}: {self.command}"


def guide(name: str) -> str:
    """The text of a guide."""
    return TEXTS[f"docs/guides/{name}.md"]


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks in a language."""
    return [body for tag, body in _BLOCK.findall(text) if tag == language]


def sessions(page: str) -> Iterator[Session]:
    for block in blocks(TEXTS[page], "console"):
        assert block.startswith("$ "), f"{page}: a console block starts with a command"
        for command, shown in _COMMAND.findall(block):
            yield Session(page, command, shown.rstrip("\n"))


def files(page: str) -> dict[str, str]:
    """The files that a reader of the page saves: manifests whose first line is ``# NAME.yaml``."""
    named = (re.match(r"# (\S+\.yaml)\n", block) for block in blocks(TEXTS[page], "yaml"))
    return {found[1]: found.string for found in named if found}


def lay_out(page: str, folder: Path) -> None:
    """Make a folder look as the page expects it: the checkout's examples, and the files that it tells to save."""
    (folder / "examples").symlink_to(ROOT / "examples")
    for name, text in files(page).items():
        (folder / name).write_text(text, encoding="utf-8")


def same(shown: str, printed: str) -> bool:
    """Whether what is shown is what was printed.

    ``...`` in place of the last lines leaves them out. Where times are shown, they and the widths of columns may
    differ.
    """
    want, got = shown.splitlines(), [line.rstrip() for line in printed.splitlines()]
    if want and want[-1] == "...":
        want, got = want[:-1], got[: len(want) - 1]
    if _TIME.search(shown):
        want, got = [_without_times(line) for line in want], [_without_times(line) for line in got]
    return want == got


def _without_times(line: str) -> list[str]:
    return re.split(r"\s{2,}", _TIME.sub("TIME", line).strip())


def links(page: str) -> list[str]:
    """The targets of links, without those in code and without other sites."""
    prose = re.sub(r"`[^`\n]*`", "", _BLOCK.sub("", TEXTS[page]))
    return [target for target in _LINK.findall(prose) if "://" not in target]


def anchors(text: str) -> set[str]:
    """The anchors of headings, as GitHub makes them."""
    found: dict[str, int] = {}
    made = set()
    for heading in _HEADING.findall(_BLOCK.sub("", text)):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        number = found.get(slug, 0)
        found[slug] = number + 1
        made.add(f"{slug}-{number}" if number else slug)
    return made


def rows(text: str, head: str) -> list[list[str]]:
    """The cells of the table whose first column has this head, row by row."""
    table = text[text.index(f"| {head} |") :].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
