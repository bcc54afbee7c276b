"""The entries of docs/background/upstream-differences.md: manifests by name, their gates and their outcome."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from support.gates import ALL, STABLE

from drasat.models.kubernetes.gates import FeatureGates
from drasat.scenarios.objects import Mapped

PAGE = Path(__file__).parents[3] / "docs" / "background" / "upstream-differences.md"

_SECTION = re.compile(r"^### (?P<name>\S+)\n(?P<text>.*?)```yaml\n(?P<manifests>.*?)```", re.DOTALL | re.MULTILINE)
_OUTCOME = re.compile(r"Outcome:\s+(\w+)")


@dataclass(frozen=True)
class Listed:
    """An entry of the page; ``outcome`` is that of the claim ``asked`` for both, empty where they differ."""

    name: str
    objects: list[Mapped]
    gates: FeatureGates
    outcome: str


def listed(heading: str, page: str | None = None) -> list[Listed]:
    """The entries under a heading of the second level."""
    text = PAGE.read_text() if page is None else page
    return list(_entries(text.split(f"\n## {heading}\n")[1].split("\n## ")[0]))


def _entries(text: str) -> Iterator[Listed]:
    for section in _SECTION.finditer(text):
        told = section["text"]
        gates = STABLE if "*stable*" in told else ALL
        outcome = _OUTCOME.search(told)
        objects = yaml.safe_load(section["manifests"])
        yield Listed(section["name"], objects, gates, outcome[1] if outcome else "")
