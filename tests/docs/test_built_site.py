"""The site that ``make docs`` built: its search works from files, and it has what it is made of. CI builds it first."""

import os
import re
import subprocess
from shutil import which

import execution
import pytest
from support.rules import ROOT

SITE = ROOT / "build" / "site"
# A site that was built earlier may be older than the pages.
pytestmark = pytest.mark.skipif(
    not os.environ.get("DRASAT_REQUIRE_SITE"), reason="after make docs: DRASAT_REQUIRE_SITE=1 pytest tests/docs"
)


def opened(page):
    """The page as a browser without a network shows it, with what its scripts have written."""
    browser = which("chromium") or which("chromium-browser") or which("google-chrome")
    assert browser, "the search needs a browser: apt-get install chromium"
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000"]
    offline = "--host-resolver-rules=MAP * ~NOTFOUND"
    command = [browser, *options, offline, "--dump-dom", f"{SITE.as_uri()}/{page}"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("gang", "docs/guides/plan.html"),
        ("torus", "notebooks/03-devices-together.html"),
        ("natural_gangs", "docs/reference/python-api.html"),
    ],
)
def test_search_finds_pages_without_a_network(words, page):
    found = re.findall(r'<li[^>]*><a href="([^"#?]+)', opened(f"search.html?q={words}"))
    assert page in [os.path.normpath(link) for link in found]


def test_notebooks_are_shown_with_their_pictures():
    for path in execution.notebooks():
        page = (SITE / "notebooks" / f"{path.stem}.html").read_text(encoding="utf-8")
        pictures = re.findall(r'<img [^>]*src="(\.\./_images/[\w.-]+)"', page)
        assert len(pictures) >= 2
        assert all((SITE / "notebooks" / picture).exists() for picture in pictures)


@pytest.mark.parametrize("name", ["inventory", "mig-partitions", "plan-buy", "plan-queue", "torus-topology"])
def test_examples_lead_to_their_reports(name):
    page = (SITE / "examples" / name / "README.html").read_text(encoding="utf-8")
    (report,) = re.findall(r'<a href="(../../reports/[\w-]+\.html)"', page)
    assert "<html" in (SITE / "examples" / name / report).resolve().read_text(encoding="utf-8")


def test_the_first_page_leads_to_the_index():
    assert "url=docs/index.html" in (SITE / "index.html").read_text(encoding="utf-8")
