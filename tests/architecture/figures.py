"""Figures about the structure of the source, with their limits; run as a program, it prints them."""

import ast
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("api", "cel", "encoders", "integrations", "models", "peers", "problem", "scenarios", "solver")

LIMITS = {
    # 300 and 60,000 for what there was when the source was reorganised; the rest is for integrations, reports,
    # audits, moves, groups of pods and what pods ask of one another.
    "modules": 512,
    "lines": 132_600,
    "import lines in percent": 6.5,
    "lines of the largest module": 500,
    "modules entered by allocate": 165,
    "modules entered by plan": 262,
}
# The public result of a verb has the name of the Kubernetes type that it contains.
SHARED_CLASS_NAMES = {"AllocationResult"}

_ENTERED = """
import json, sys
from drasat.__main__ import main
sys.argv = ["drasat", *json.loads(sys.argv[1])]
try:
    main()
except SystemExit as end:
    assert end.code in (0, 1), end.code
print(sum(name.startswith("drasat.") for name in sys.modules), file=sys.stderr)
"""


def sources() -> dict[str, str]:
    """The text of every module, by its path below the root."""
    paths = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in paths}


def import_lines(text: str) -> int:
    statements = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom))
    return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in statements)


def repeated_class_names(texts: dict[str, str]) -> set[str]:
    nodes = (node for text in texts.values() for node in ast.walk(ast.parse(text)))
    counts = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    return {name for name, number in counts.items() if number > 1}


def modules_entered(*words: str) -> int:
    """How many modules of the project a command loads."""
    command = [sys.executable, "-c", _ENTERED, json.dumps(words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    return int(done.stderr.splitlines()[-1])


def figures() -> dict[str, float]:
    """All figures that have a limit, by the names in ``LIMITS``."""
    texts = sources()
    lengths = [len(text.splitlines()) for text in texts.values()]
    return {
        "modules": len(texts),
        "lines": sum(lengths),
        "import lines in percent": round(100 * sum(map(import_lines, texts.values())) / sum(lengths), 2),
        "lines of the largest module": max(lengths),
        "modules entered by allocate": modules_entered("allocate", "-f", "examples/whole-gpus"),
        "modules entered by plan": modules_entered("plan", "-f", "examples/plan-queue"),
    }


if __name__ == "__main__":
    for name, figure in figures().items():
        print(f"{name:30} {figure:>10,} of {LIMITS[name]:,}")
    print(f"{'class names used twice':30} {', '.join(sorted(repeated_class_names(sources()))) or 'none'}")
