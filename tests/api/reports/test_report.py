"""Reports as files: complete or absent, equal for equal results, with all the data of their result."""

import gzip
import importlib.util
import json
import re
from base64 import b64decode
from pathlib import Path

import pytest
from support.mappings import CLASS, node, pod, pool, template, wish

import drasat
from drasat.reports.report import render_report
from drasat.reports.views import VIEWS
from drasat.scenarios import queues

EXAMPLES = Path(__file__).parents[3] / "examples"


def loaded(example):
    return drasat.load(EXAMPLES / example)


def data_of(page, name):
    """The JSON that a page holds under this id, packed or not."""
    kind, text = re.search(rf'<script id="{name}" type="application/(\w+)">(.*?)</script>', page, re.DOTALL).groups()
    return json.loads(gzip.decompress(b64decode(text)) if kind == "gzip" else text)


COMMANDS = {
    "allocate": ["allocate", "-f", EXAMPLES / "whole-gpus"],
    "plan": ["plan", "-f", EXAMPLES / "plan-queue"],
    "compare": ["compare", "-f", EXAMPLES / "whole-gpus", "--engines", "backtracking,auto"],
    "compare --plan": ["compare", "--plan", "-f", EXAMPLES / "plan-queue", "--planners", "first-fit,plan"],
    "compare --sweep": ["compare", "--sweep", "easy=2", "--engines", "backtracking,auto"],
    "explain": ["explain", "-f", EXAMPLES / "plan-queue"],
    "capacity": ["capacity", "-f", EXAMPLES / "whole-gpus", "--pod", "ml/training"],
    "capacity of queues": ["capacity", "-f", EXAMPLES / "kueue" / "c-borrowing"],
    "show": ["show", "-f", EXAMPLES / "inventory"],
    "quota": ["quota", "-f", EXAMPLES / "kueue" / "a-lending"],
    "study": ["study", "-f", EXAMPLES / "study", "--study", EXAMPLES / "study" / "studies" / "schedulers.yaml"],
    "provision": ["provision", "-f", EXAMPLES / "provisioning"],
}


@pytest.mark.parametrize("verb", COMMANDS)
def test_each_command_writes_a_report_of_what_it_prints(drasat, tmp_path, verb):
    path = tmp_path / "out.html"
    done = drasat(*COMMANDS[verb], "-o", "json", "--report", path)
    assert done.err.endswith(f"report: {path}\n")
    assert data_of(path.read_text(), "document") == json.loads(done.out)
    assert [one.name for one in tmp_path.iterdir()] == ["out.html"]


def test_a_report_is_the_same_for_the_same_input(tmp_path):
    for name in ("one", "other"):
        drasat.allocate(loaded("mig-partitions")).report(tmp_path / f"{name}.html")
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "other.html").read_bytes()


def test_two_reports_of_a_plan_differ_in_nothing_but_times():
    """Only the record of value and bound has times; the page holds them in one column."""
    pages = [render_report(drasat.plan(loaded("plan-queue"))._plot_source()) for _ in range(2)]
    found = [data_of(page, "views") for page in pages]
    for one in found:
        del one["datasets"]["bound.progress"]
    assert found[0] == found[1]
    assert data_of(pages[0], "document") == data_of(pages[1], "document")


@pytest.mark.parametrize("name", ["x.pdf", "x", ".html", "none/x.html"])
def test_other_files_are_refused_before_anything_is_read(drasat, tmp_path, name):
    done = drasat("plan", "-f", tmp_path / "missing.yaml", "--report", tmp_path / name)
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert "--report: " in done.err


def test_without_the_extra_one_line_says_what_to_install(drasat, tmp_path, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr("drasat.reports.plots.find_spec", lambda name: None if name == "jinja2" else find(name))
    done = drasat("plan", "-f", tmp_path / "missing.yaml", "--report", tmp_path / "x.html")
    assert done.code == 2
    assert done.err == "drasat: --report: pictures and reports need jinja2: pip install 'drasat[report]'\n"


def test_a_failed_report_leaves_the_old_one_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "x.html"
    path.write_bytes(b"old")

    def fail(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("drasat.models.manifests.writer.os.replace", fail)
    with pytest.raises(OSError, match="No space left"):
        drasat.show(loaded("inventory")).report(path)
    assert [one.name for one in tmp_path.iterdir()] == ["x.html"]
    assert path.read_bytes() == b"old"


def test_the_verdict_says_what_came_out_and_of_what(tmp_path):
    cluster = loaded("plan-buy")
    result = drasat.plan(cluster, buy=True, only_new=True, feature_gates={"DRAAdminAccess": False})
    page = render_report(result._plot_source())
    cost = sum(one.cost for one in result.document.bought)
    facts = dict(re.findall(r"<dt>(.*?)</dt><dd[^>]*>(.*?)</dd>", page))
    assert facts["Placed"] == f"{result.placed} of {result.document.asked}"
    assert facts["Cost"].startswith(f"{cost:g} for ")
    assert facts["Verified"] == "yes"
    assert facts["Feature gates"] == "off: DRAAdminAccess"
    assert any(name.startswith("Stage ") and "proven" in fact for name, fact in facts.items())


def test_the_hash_is_that_of_the_objects_wherever_they_stand(tmp_path):
    whole = loaded("plan-queue")
    copied = tmp_path / "all.yaml"
    copied.write_text("---\n".join(one.read_text() for one in sorted((EXAMPLES / "plan-queue").glob("*.yaml"))))
    assert drasat.load(copied).input_hash() == whole.input_hash()
    copied.write_text(copied.read_text().replace("replicas: 2", "replicas: 3"))
    assert drasat.load(copied).input_hash() != whole.input_hash()


def test_claims_are_found_in_their_files():
    result = drasat.allocate(loaded("whole-gpus"))
    (table,) = [view.table for view in VIEWS["AllocationDocument"] if view.name == "sources"]
    rows = {(row[0], row[1]): row for row in table(result._plot_source()).rows}
    for unit in result.units:
        for claim in unit.claims:
            row = rows.get(("ResourceClaim", f"{claim.namespace}/{claim.name}"))
            if row is not None:
                assert Path(row[2]).is_file()
                assert f"name: {claim.name}" in Path(row[2]).read_text().split("---")[row[3] - 1 :][0]
                assert row[5].startswith(unit.outcome)
    assert any(kind == "ResourceClaim" for kind, _ in rows)


def rows_of(result, view):
    """The rows of a view of the result's report."""
    source = result._plot_source()
    (table,) = [one.table for one in VIEWS[type(result.document).__name__] if one.name == view]
    return [list(row) for row in table(source).rows]


def test_a_plan_says_how_many_more_units_fit_and_what_stops_the_next():
    nodes = [node("n1"), {**node("n2"), "status": {"allocatable": {"cpu": "2", "pods": "110"}}}]
    waiting = pod("p", "@t", containers=[{"name": "a", "resources": {"requests": {"cpu": "1"}}}])
    pools = [pool(4), {**pool(4, "n2", "s2")}]
    cluster = drasat.load([*nodes, *pools, CLASS, template(), waiting])
    result = drasat.plan(cluster)
    (placed,) = [unit.node for unit in result.units]
    more = {row[2]: (row[3], row[4]) for row in rows_of(result, "room")}
    assert more["n1"] == (4 - (placed == "n1"), "its claims cannot be allocated: 0 devices are free")
    assert more["n2"] == (2 - (placed == "n2"), "1 of cpu missing")


def test_an_allocation_says_why_a_unit_got_nothing_and_what_would_help():
    """The same as ``explain``."""
    cluster = loaded("mig-partitions")
    source = drasat.allocate(cluster)._plot_source()
    assert source.explanation().units == drasat.explain(cluster).units
    assert rows_of(drasat.allocate(cluster), "changes")
    assert drasat.allocate(loaded("ring-topology"))._plot_source().explanation() is None


def test_a_plan_says_why_units_are_not_placed_and_what_would_help():
    """The unit that is left out is explained beside the plan: all devices of its node are held by what was placed."""
    result = drasat.plan(loaded("plan-queue"))
    missing = [f"{unit.namespace}/{unit.unit}" for unit in result.units if unit.node is None]
    (explained,) = result._plot_source().explanation().units
    assert explained.pod in missing
    assert explained.outcome == "Unallocatable"
    assert all(kind.minimal for kind in explained.failures)
    assert rows_of(result, "reasons")
    assert any("free" in row[2] for row in rows_of(result, "changes"))
    assert drasat.plan(loaded("plan-buy"), buy=True)._plot_source().explanation() is None


def test_the_most_frequent_sorts_of_units_that_are_not_placed_come_first():
    """One unit of each sort; what a sort would take is free for the next one."""
    asked = [pod(f"big{number}", "@nine") for number in range(2)] + [pod("huge", "@ten")]
    cluster = drasat.load(
        [node("n1"), pool(4), CLASS, template("nine", wish(count=9)), template("ten", wish(count=10)), *asked]
    )
    found = drasat.plan(cluster)._plot_source().explanation().units
    assert [one.pod.rpartition("/")[2] for one in found] == ["big0", "huge"]
    assert all(one.failures and one.complete for one in found)


def test_what_is_bought_has_prices():
    result = drasat.plan(loaded("plan-buy"), buy=True, only_new=True, budget=17)
    found = {row[0]: row[1] for row in rows_of(result, "prices")}
    assert found["unit of budget"].endswith(" more units of priority 0 placed")
    assert found["unit like those of Job lab/simulate"] == "costs 1.375 more"


def test_one_of_something_is_told_in_the_singular():
    page = render_report(drasat.show(drasat.load([node("n1"), pool(4), CLASS]))._plot_source())
    facts = dict(re.findall(r"<dt>(.*?)</dt><dd[^>]*>(.*?)</dd>", page))
    assert facts["Input"] == "1 node, 1 slice, 4 devices, 1 device class"


def test_a_thousand_nodes_of_twelve_devices_are_at_most_three_megabytes():
    page = render_report(drasat.plan(drasat.load(queues.fleet(1000)), time_limit=20)._plot_source())
    assert len(page.encode()) <= 3_000_000
    assert len(data_of(page, "views")["datasets"]["mosaic.nodes"]["columns"]["node"]["all"]) == 1000


def test_every_view_of_every_document_has_a_name_of_its_own():
    for views in VIEWS.values():
        names = [view.name for view in views]
        assert len(set(names)) == len(names)
