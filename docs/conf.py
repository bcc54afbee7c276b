"""How Sphinx makes the site of these pages: ``make docs`` writes it to ``build/site``.

The pages are plain Markdown, as one reads them beside the source. What only the site has is added while a page is
read: the navigation, the manifests and the output of examples, what notebooks print and draw, and the reference of the
Python API from the docstrings. The site loads nothing from the network, and its search works from files.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from shutil import copyfile
from typing import Any

import drasat
from drasat import cel, scenarios
from drasat.reports import plots

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "notebooks"), str(ROOT / "docs")]
import execution  # noqa: E402 - a module of the folder of notebooks
import rendering  # noqa: E402 - a module of this folder

INDEX = "docs/index"
API = "docs/reference/python-api"
REPORTS = "reports"

project = "drasat"
project_copyright = "the authors of drasat, Apache-2.0"
version = release = ""
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = INDEX
include_patterns = ["README.md", "docs/**.md", "examples/**README.md", "notebooks/*.ipynb"]
exclude_patterns = [".*", "build", "dist", "tests", "benchmarks"]

# Notebooks are run once, by ``execution``, and not while Sphinx reads them.
nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["html_image"]
myst_heading_anchors = 6
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "drasat"
html_show_search_summary = False
html_show_sphinx = False
html_copy_source = False
html_use_index = False
# Pictures are drawn for white, so that they stay readable on a dark page.
html_static_path = ["pictures.css"]
html_css_files = ["pictures.css"]
html_domain_indices = False


def sections() -> dict[str, list[str]]:
    """The navigation: for each heading of the index the pages linked below it; first its own, that no other has."""
    index = (ROOT / f"{INDEX}.md").read_text(encoding="utf-8")
    top, *parts = re.split(r"^##? ", index, flags=re.MULTILINE)[1:]
    found: dict[str, list[str]] = {top.partition("\n")[0]: []}
    seen = {INDEX}
    for part in (*parts, top):
        heading, _, text = part.partition("\n")
        pages = [_page(target) for target in re.findall(r"\]\(([^()\s#]+\.(?:md|ipynb))", text)]
        found[heading] = [page for page in dict.fromkeys(pages) if page not in seen]
        seen.update(pages)
    return found


def _page(target: str) -> str:
    return (ROOT / "docs" / target).resolve().relative_to(ROOT).with_suffix("").as_posix()


def _contents(caption: str, pages: list[str]) -> str:
    entries = "\n".join({"README": "Overview </README>"}.get(page, f"/{page}") for page in pages)
    return f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{entries}\n```\n"


def _lead_to_page(folder: Path, link: re.Match[str]) -> str:
    """A link to a folder leads to its page, or to that of the folder above."""
    if not (folder / link[1]).is_dir():
        return link[0]
    above = next((up for up in ("", "/..") if (folder / f"{link[1]}{up}" / "README.md").is_file()), None)
    return link[0] if above is None else f"]({link[1]}{above}/README.md)"


def _outputs(folder: Path) -> str:
    """What an example prints, its picture, and a link to its report."""
    made = rendering.rendered(folder)
    up = "/".join([".."] * len(folder.relative_to(ROOT).parts))
    parts = [made.text] if made.text else []
    if made.picture:
        parts.append(f"![The devices of {folder.name}]({up}/{made.picture.relative_to(ROOT).as_posix()})\n")
    if made.report:
        parts.append(f'<a href="{up}/{REPORTS}/{folder.name}.html">The report of {folder.name}</a>, one HTML file\n')
    return "\n".join(["\n## Output\n", *parts]) if parts else ""


def example_manifests(folder: Path) -> list[Path]:
    """The manifests of an example, but not those of examples below it."""
    files = sorted(folder.rglob("*.yaml"))
    return [path for path in files if next(one for one in path.parents if (one / "README.md").is_file()) == folder]


def _manifests(folder: Path) -> str:
    files = example_manifests(folder)
    return "".join(
        f"\n## {path.relative_to(folder)}\n\n```yaml\n{path.read_text(encoding='utf-8')}```\n" for path in files
    )


def _docstrings() -> str:
    """The directives for all public names, by module: functions, then results and other classes."""
    parts = [
        "\n## Docstrings\n",
        *_module_docstrings("drasat", drasat, drasat.__all__),
        "\n### Pictures of a result\n",
        *_module_docstrings("drasat.reports.plots", plots, ["Plots"]),
        "\n### Expressions\n",
        *_module_docstrings("drasat.cel", cel, cel.__all__),
        "\n### Clusters that are made up\n",
        *_module_docstrings("drasat.scenarios", scenarios, scenarios.__all__),
    ]
    return "\n".join(parts)


def _module_docstrings(name: str, module: Any, names: Sequence[str]) -> list[str]:
    lines = ["```{eval-rst}"]
    for one in sorted(names, key=lambda one: (isinstance(getattr(module, one), type), one)):
        found = getattr(module, one)
        if isinstance(found, type):
            lines += [f".. autoclass:: {name}.{one}", "   :members:", "   :inherited-members: BaseException, int", ""]
        else:
            lines += [f".. {'autofunction' if callable(found) else 'autodata'}:: {name}.{one}", ""]
    return [*lines, "```\n"]


def add_to_page(app: Any, docname: str, source: list[str]) -> None:
    """Add what only the site has, and let links to folders of examples lead to their pages."""
    folder = (ROOT / docname).parent
    if folder == execution.FOLDER:
        source[0] = execution.executed(ROOT / f"{docname}.ipynb").read_text(encoding="utf-8")
        return
    text = re.sub(r"\]\(([\w./-]+)\)", partial(_lead_to_page, folder), source[0])
    if docname == INDEX:
        text += "".join(_contents(caption, pages) for caption, pages in sections().items())
    elif docname == "examples/README":
        pages = sorted((ROOT / "examples").glob("*/**/README.md"))
        text += _contents("Examples", [path.relative_to(ROOT).with_suffix("").as_posix() for path in pages])
    elif docname.startswith("examples/"):
        text += _outputs(folder) + _manifests(folder)
    elif docname == API:
        text += _docstrings()
    source[0] = text


def made_from_elsewhere(app: Any, env: Any, *_: Any) -> list[str]:
    """Pages that change without a change of their file: with the source, or with another file."""
    return [name for name in env.found_docs if name.startswith(("notebooks/", "examples/")) or name in (INDEX, API)]


def without_fields(app: Any, what: str, name: str, *_: Any) -> tuple[str, None] | None:
    """A cluster is made by ``load``: its signature, a page of kinds, would say nothing to a reader."""
    return ("", None) if name == "drasat.Cluster" else None


def loaded_from_elsewhere(html: str) -> list[str]:
    """What a page would load from the network; links that a reader may follow are not among it."""
    tags = re.findall(r"<(?:script|img|iframe|source|link|object|embed)\b[^>]*>", html)
    return [tag for tag in tags if re.search(r"\b(?:src|href|data)=[\"']?(?:https?:)?//", tag)]


def finish(app: Any, error: Exception | None) -> None:
    """Add reports, see that no page needs the network, and make the top of the site lead to the index."""
    if error is not None:
        return
    site = Path(app.outdir)
    for folder in sorted(path.parent for path in (ROOT / "examples").glob("*/README.md")):
        if report := rendering.rendered(folder).report:
            (site / REPORTS).mkdir(exist_ok=True)
            copyfile(report, site / REPORTS / f"{folder.name}.html")
    for path in sorted(site.rglob("*.html")):
        if found := loaded_from_elsewhere(path.read_text(encoding="utf-8")):
            raise ValueError(f"{path} needs the network: {found[0]}")
    page = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={INDEX}.html">'
    (site / "index.html").write_text(f"{page}\n<title>drasat</title>\n", encoding="utf-8")


def setup(app: Any) -> None:
    """Connect the functions above (Sphinx calls this)."""
    app.connect("env-get-outdated", made_from_elsewhere)
    app.connect("source-read", add_to_page)
    app.connect("autodoc-process-signature", without_fields)
    app.connect("build-finished", finish)
