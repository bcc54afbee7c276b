"""The site has every page in its navigation and needs no network; the picture of the architecture is current."""

import importlib.util
import os
import re
from collections import Counter
from xml.etree import ElementTree as ET

import execution
import pytest
from support import import_graph
from support.pages import DOCS
from support.rules import ROOT

import drasat


@pytest.fixture(scope="module")
def site():
    spec = importlib.util.spec_from_file_location("site_of_docs", DOCS / "conf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text_on_site(site, name):
    """The page as Sphinx reads it."""
    source = [(ROOT / f"{name}.md").read_text(encoding="utf-8")]
    site.add_to_page(None, name, source)
    return source[0]


def test_every_page_is_in_the_navigation_once(site):
    listed = [page for pages in site.sections().values() for page in pages]
    there = {path.relative_to(ROOT).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    there |= {path.relative_to(ROOT).with_suffix("").as_posix() for path in execution.notebooks()}
    assert sorted(listed) == sorted(there - {site.INDEX} | {"README", "examples/README"})


def test_a_page_is_below_the_heading_of_its_folder(site):
    folders = {
        heading: {page.split("/")[1] for page in pages if page.startswith("docs/")}
        for heading, pages in site.sections().items()
    }
    assert folders == {
        "drasat": set(),
        "Tutorials": {"tutorial"},
        "Notebooks": set(),
        "Guides": {"guides"},
        "Reference": {"reference"},
        "Background": {"background"},
        "Developers": {"developers"},
    }


def test_every_example_has_a_page_with_its_manifests(site):
    examples = ROOT / "examples"
    listed = re.findall(r"^/examples/([\w/-]+)/README$", text_on_site(site, "examples/README"), re.MULTILINE)
    folders = {path.parent.relative_to(examples).as_posix() for path in examples.rglob("*/README.md")}
    assert sorted(listed) == sorted(folders)
    shown = set()
    for name in listed:
        page = text_on_site(site, f"examples/{name}/README")
        shown |= {path for path in (examples / name).rglob("*.yaml") if path.read_text() in page}
    assert shown == set(examples.rglob("*.yaml"))


def test_every_example_has_its_output_and_a_picture(site):
    page = text_on_site(site, "examples/ring-topology/README")
    assert "$ drasat allocate -f examples/ring-topology\n" in page
    assert "rings      <none>  four-in-a-row  ring-node  mla      mla-0, mla-1, mla-2, mla-7\n" in page
    (picture,) = re.findall(r"!\[.*\]\((.*)\)", page)
    drawn = ET.parse(ROOT / "examples/ring-topology" / picture).getroot()
    assert {"mla-0", "mla-7"} <= {text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")}


@pytest.mark.parametrize(
    ("example", "commands"),
    [
        ("rails", ["allocate -f examples/rails", "allocate -f examples/rails --node rail-1"]),
        ("whole-gpus", ["allocate -f examples/whole-gpus"]),
        ("kueue/c-borrowing", ["quota -f examples/kueue/c-borrowing"]),
        ("kueue", []),
        ("overlays", []),
    ],
    ids=["its own", "the usual one", "that of its group", "no files", "shown on the page"],
)
def test_commands_of_examples_are_run(site, example, commands):
    assert site.rendering.commands(ROOT / "examples" / example) == commands


def test_a_link_to_a_folder_leads_to_its_page(site):
    assert "](../../examples/rails/README.md)" in text_on_site(site, "docs/guides/constraint-groups")


def test_every_public_name_is_in_the_reference(site):
    page = text_on_site(site, "docs/reference/python-api")
    listed = re.findall(r"^\.\. auto\w+:: drasat\.(\w+)$", page, re.MULTILINE)
    assert sorted(listed) == sorted(drasat.__all__)


@pytest.mark.parametrize(
    ("html", "loads"),
    [
        ('<script src="https://cdn.example.com/a.js"></script>', True),
        ('<link rel="stylesheet" href="//fonts.example.com/a.css">', True),
        ('<script src="../_static/a.js"></script><img src="a.svg">', False),
        ('<a href="https://example.com">a link</a>', False),
    ],
)
def test_what_a_page_loads_from_the_network_is_found(site, html, loads):
    assert bool(site.loaded_from_elsewhere(html)) is loads


def test_picture_of_the_index_is_current(tmp_path):
    """Words and colours are compared: widths of words depend on the fonts of a machine."""
    shown, drawn = DOCS / "images" / "first-fit-and-plan.svg", tmp_path / "drawn.svg"
    cluster = drasat.load(ROOT / "examples" / "plan-queue")
    drasat.compare_plans(cluster, ["first-fit", "plan"], orders=["random"]).plot.mosaic(drawn)
    if os.environ.get("UPDATE_DOCS") and content(shown) != content(drawn):
        shown.write_bytes(drawn.read_bytes())
    assert content(shown) == content(drawn)


def content(path):
    """How often a picture has each word and each colour."""
    found = ET.parse(path).getroot().iter() if path.exists() else ()
    return Counter(value for one in found for value in (one.text, one.get("fill")) if value)


@pytest.fixture(scope="module")
def imports():
    return import_graph.imports()


class TestPicture:
    def test_it_is_current(self, imports):
        """An import more or less calls for no other picture: see ``is_current``."""
        shown = import_graph.drawn(import_graph.PICTURE.read_text(encoding="utf-8"))
        if os.environ.get("UPDATE_DOCS") and not import_graph.is_current(shown, imports):
            import_graph.PICTURE.write_text(import_graph.picture(imports), encoding="utf-8")
            shown = import_graph.drawn(import_graph.PICTURE.read_text(encoding="utf-8"))
        assert import_graph.is_current(shown, imports)

    def test_it_has_a_box_for_every_package(self, imports):
        boxes = [name for row in import_graph.ROWS for name in row]
        assert sorted(boxes) == sorted({name for pair in imports for name in pair})

    def test_no_arrow_leads_upwards(self, imports):
        assert import_graph.rows_are_right(imports)

    def test_a_drawn_picture_is_read_back(self, imports):
        picture = import_graph.picture(imports)
        assert ET.fromstring(picture).tag.endswith("svg")
        assert import_graph.drawn(picture) == import_graph.arrows(imports)

    @pytest.mark.parametrize(
        ("shown", "there", "current"),
        [
            ({("cli", "verbs"): 12}, {("cli", "verbs"): 14}, True),
            ({("cli", "verbs"): 12}, {("cli", "verbs"): 24}, False),
            ({("cli", "verbs"): 2}, {}, False),
            ({}, {("cli", "verbs"): 12}, True),
            ({}, {("cli", "verbs"): 13}, False),
            ({}, {("cli", "models.formats"): 99}, True),
        ],
        ids=["near", "doubled", "gone", "hardly enough for an arrow", "an arrow is missing", "the last row has none"],
    )
    def test_it_is_redrawn_when_it_shows_something_else(self, shown, there, current):
        assert import_graph.is_current(Counter(shown), Counter(there)) is current
