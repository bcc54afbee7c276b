"""The verifier is a second reading: it shares the models and the evaluator of expressions with the search, no more."""

import ast
from pathlib import Path

import pytest

import drasat.solver.verification

PACKAGE = Path(drasat.solver.verification.__file__).parent
MODULES = sorted(path.name for path in PACKAGE.glob("*.py"))
# What knows the rules of pools, usage and reachability already is not asked either. What is asked for, and what runs,
# are readings of the input.
MODELS = ("kubernetes.", "workload.", "formats.decode")
MODELS += ("cluster.cluster", "cluster.node_fit")
# Documents that are checked are read as they are written.
MODELS += ("results.", "formats.errors")
# It is about the process, and reads nothing.
MODELS += ("formats.runtime",)


def imported(name):
    """Relative imports of a module, as level and dotted name; a module that is imported itself is named whole."""
    tree = ast.parse((PACKAGE / name).read_text())
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
    return {(node.level, _module(node, alias.name)) for node in found for alias in node.names}


def _module(node, name):
    folder = PACKAGE.joinpath(*[".."] * (node.level - 1), *(node.module or "").split("."))
    return ".".join(filter(None, (node.module, name))) if (folder / f"{name}.py").exists() else node.module or ""


@pytest.mark.parametrize("name", MODULES)
def test_nothing_of_the_search_is_imported(name):
    outside = {module for level, module in imported(name) if level > 1}
    allowed = ("cel.", *(f"models.{part}" for part in MODELS))
    assert {module for module in outside if not module.startswith(allowed)} == set()


def test_only_one_module_evaluates_expressions():
    assert [name for name in MODULES if any(part.startswith("cel") for _, part in imported(name))] == ["state.py"]
