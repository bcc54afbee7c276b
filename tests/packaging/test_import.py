"""What the installed package looks like from outside the checkout."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("ortools", "pandas", "networkx", "numpy", "rich")


def run(code, tmp_path, *argv):
    return subprocess.run(
        [sys.executable, *argv, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )


def loaded_by(code, tmp_path):
    done = run(f"{code}\nimport sys; print(*sorted(sys.modules))", tmp_path)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_no_folder_is_importable_by_a_generic_name(tmp_path):
    script = (ROOT / "tests/packaging/generic_names.py").read_text()
    done = run(script, tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, "importable by a generic name: none"), done.stderr


def test_importing_the_package_loads_no_part_of_it(tmp_path):
    loaded = loaded_by("import drasat", tmp_path)
    assert {name for name in loaded if name.startswith("drasat.")} == set()


@pytest.mark.parametrize("name", ["load", "allocate", "validate", "InputError"])
def test_public_names_resolve_lazily(name, tmp_path):
    loaded = loaded_by(f"import drasat; assert drasat.{name}; assert '{name}' in dir(drasat)", tmp_path)
    assert "drasat.models" in loaded


def test_unknown_name_is_an_attribute_error(tmp_path):
    done = run("import drasat; drasat.nonsense", tmp_path)
    assert "AttributeError: module 'drasat' has no attribute 'nonsense'" in done.stderr


@pytest.mark.parametrize(
    "module", ["drasat.cli.main", "drasat.models.manifests.reader", "drasat.cel", "drasat.solver.allocate.allocate"]
)
def test_no_heavy_library_is_loaded_before_it_is_needed(module, tmp_path):
    assert not loaded_by(f"import {module}", tmp_path).intersection(HEAVY)


def test_an_easy_claim_is_allocated_without_the_solver(tmp_path):
    code = f"import drasat; assert drasat.allocate(drasat.load({str(ROOT / 'examples/whole-gpus')!r})).units"
    assert not loaded_by(code, tmp_path).intersection(HEAVY)


def test_the_command_line_allocates_an_easy_claim_without_the_solver(tmp_path):
    words = ["drasat", "allocate", "-o", "name", "-f", str(ROOT / "examples/whole-gpus")]
    code = f"import sys; from drasat.__main__ import main; sys.argv = {words}\n"
    code += "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 0"
    loaded = loaded_by(code, tmp_path)
    assert "resourceclaim.resource.k8s.io/notebook" in loaded
    assert not loaded.intersection(HEAVY)


def test_the_library_allocates_without_the_command_line(tmp_path):
    code = f"import drasat; assert drasat.allocate(drasat.load({str(ROOT / 'examples/whole-gpus')!r})).units"
    assert not loaded_by(code, tmp_path).intersection({"typer", "click", "pydantic", "drasat.cli"})


def test_selectors_load_the_function_libraries_that_they_call(tmp_path):
    code = "from drasat.cel.selector import compile_selector\n"
    code += "assert compile_selector('device.driver.startsWith(\"gpu\")')"
    loaded = loaded_by(code, tmp_path)
    assert "drasat.cel.libraries.strings" in loaded
    assert not loaded.intersection({"drasat.cel.libraries.networks", "zoneinfo", "re2"})


@pytest.mark.parametrize("module", ["drasat.verbs.allocate", "drasat.solver.allocate.allocate"])
def test_answers_are_read_without_the_encoders(module, tmp_path):
    loaded = loaded_by(f"import {module}", tmp_path)
    assert not {name for name in loaded if name.startswith("drasat.encoders")}


def test_a_shortage_is_proven_without_the_solver(tmp_path):
    code = "import drasat\nfrom drasat.scenarios import one_node\n"
    code += "r = drasat.allocate(drasat.load(one_node.too_many(20)))\n"
    code += "assert r.outcome == 'Unallocatable' and r.document.certified"
    assert not loaded_by(code, tmp_path).intersection(HEAVY)


def test_every_folder_with_modules_is_a_package():
    tops = ("api", "cel", "encoders", "integrations", "models", "peers", "problem", "scenarios", "solver")
    modules = [path for top in tops for path in (ROOT / top).rglob("*.py")]
    packages = {path.parent for path in modules if path.name == "__init__.py"}
    assert {path.parent for path in modules} == packages
    done = run(
        "import setuptools; setuptools.setup = lambda **given: print(*given['packages'])\n"
        f"exec(open({str(ROOT / 'setup.py')!r}).read())",
        ROOT,
    )
    # Folders of Go programs are packages of data: setuptools warns of any that is not named.
    packages |= {path.parent for path in (ROOT / "peers").rglob("go.mod")}
    names = {".".join(("drasat", *path.relative_to(ROOT).parts)).replace("drasat.api", "drasat") for path in packages}
    assert set(done.stdout.split()) == names


def test_ortools_is_bounded_on_both_sides_and_the_rest_below_only():
    requirements = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    bounds = {re.match(r"[\w.-]+", line).group().lower(): line for line in requirements}
    assert "<" in bounds.pop("ortools")
    assert all(">=" in line and "<" not in line for line in bounds.values())
