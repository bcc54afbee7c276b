"""Every notebook runs, shows at least two pictures, and is in git without outputs."""

import re

import execution
import nbformat
import nbstripout
import pytest
from support.pages import TEXTS, anchors
from support.rules import ROOT

NOTEBOOKS = execution.notebooks()
PICTURES = ("image/svg+xml", "image/png")
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request):
    return request.param


def read(path):
    return nbformat.read(path, as_version=4)


def test_it_runs_and_has_pictures(path):
    """A cell that fails raises; a reader without a network sees every picture, since it stands in the output."""
    run = read(execution.executed(path))
    outputs = [output for cell in run.cells for output in cell.get("outputs", ())]
    pictures = [output for output in outputs if any(kind in output.get("data", ()) for kind in PICTURES)]
    assert len(pictures) >= 2
    assert [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"] == []
    assert not re.search(r"""src=\\?["'](?:https?:)?//""", nbformat.writes(run))


def test_it_is_stripped(path):
    """No outputs, no counts, and the metadata of every machine."""
    made = read(path)
    assert dict(made.metadata) == METADATA
    stripped = nbstripout.strip_output(made, keep_output=False, keep_count=False, keep_id=False)
    assert nbformat.writes(stripped) + "\n" == path.read_text(encoding="utf-8")


def test_it_has_a_cell_to_change(path):
    changeable = [cell.source for cell in read(path).cells if cell.source.startswith("# Change this cell")]
    assert changeable
    assert all(re.search(r"^[A-Z_, ]+ = ", cell, re.MULTILINE) for cell in changeable)


def test_it_begins_with_its_question(path):
    first = read(path).cells[0]
    assert (first.cell_type, first.source.splitlines()[0][:2]) == ("markdown", "# ")
    assert first.source.splitlines()[0].endswith("?")


def test_links_lead_somewhere(path):
    text = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    broken = []
    for target in re.findall(r"\]\(([^()\s]+)\)", text):
        name, _, anchor = target.partition("#")
        file = path.parent / name
        if not file.exists() or (anchor and anchor not in anchors(file.read_text(encoding="utf-8"))):
            broken.append(target)
    assert broken == []


def test_the_index_has_every_notebook():
    linked = re.findall(r"\]\(\.\./notebooks/([\w-]+\.ipynb)\)", TEXTS["docs/index.md"])
    assert linked == [path.name for path in NOTEBOOKS]


def test_what_was_run_is_kept_until_a_notebook_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(execution, "EXECUTED", tmp_path / "executed")
    path = tmp_path / "sum.ipynb"

    def save(code):
        cell = nbformat.v4.new_code_cell(code, id="0")
        nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata=METADATA), path)

    save("import time; time.time()")
    first = execution.executed(path)
    shown = first.read_bytes()
    assert execution.executed(path) == first
    assert first.read_bytes() == shown
    save("2 + 2")
    second = execution.executed(path)
    assert read(second).cells[0].outputs[0].data["text/plain"] == "4"
    assert [second] == list(second.parent.iterdir())
    assert ROOT not in second.parents
