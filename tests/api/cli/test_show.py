"""``drasat show``: tables, the tree, documents, selections, exit codes."""

import json
import os
import re
import subprocess
import sys

import jsonschema
import pytest
import yaml
from support.gpu_nodes import devices, made
from support.manifests import node
from support.rules import ROOT

from drasat.models.results.schema import results_schema


@pytest.fixture
def path(examples):
    return examples / "inventory"


@pytest.fixture
def manifests(tmp_path):
    """A file of these objects."""

    def write(*objects):
        file = tmp_path / "cluster.yaml"
        file.write_text(yaml.safe_dump_all(objects))
        return file

    return write


def cells(line, columns):
    ends = [*columns[1:], None]
    return [line[start:end].strip() for start, end in zip(columns, ends, strict=True)]


def tables(text):
    """The summary, and each table by its first header: the headers and the rows."""
    summary, *parts = text.split("\n\n")
    found = {}
    for part in parts:
        head, *rows = part.splitlines()
        columns = [one.start() for one in re.finditer(r"(?<![^ ])(?<!\w )\S", head)]
        headers = cells(head, columns)
        found[headers[0]] = (headers, [cells(row, columns) for row in rows])
    return summary, found


def test_the_tables_are_classes_nodes_broken_pools_and_claims(drasat, path):
    done = drasat("show", "-f", path)
    summary, found = tables(done.out)
    assert done.code == 0
    assert summary.startswith("23 devices: 14 free (1 of them shared), 5 in use, 1 tainted, 1 blocked, 2 unavailable;")
    assert list(found) == ["CLASS", "NODE", "DRIVER", "NAMESPACE"]
    headers, rows = found["CLASS"]
    assert headers == ["CLASS", "OF", "FREE", "SHARED", "IN USE", "TAINTED", "BLOCKED", "UNAVAILABLE", "TOTAL", "USE"]
    assert rows[0] == ["gpu.example.com", "devices", "7", "0", "4", "1", "1", "0", "13", "31%"]
    assert [row[:3] for row in found["DRIVER"][1]] == [["fpga.example.com", "gpu-3", "incomplete"]]
    assert [row[2] for row in found["NAMESPACE"][1]] == ["orphaned", "pending", *["allocated"] * 4]


def test_wide_ends_with_a_tree_of_nodes_pools_devices_claims_and_pods(drasat, path):
    done = drasat("show", "-f", path, "-o", "wide")
    tree = [line.strip("│├└─ \xa0") for line in done.out.partition("\ncluster\n")[2].splitlines()]
    at = tree.index("gpu-1")
    assert tree[at : at + 5] == [
        *("gpu-1", "gpu.example.com/gpu-1", "gpu-0: in use, memory 80Gi"),
        *("claim research/train", "pod train-0"),
    ]
    assert "nic-0: free, shared, bandwidth 30G/100G" in tree


def test_equal_nodes_are_one_row_and_wide_lists_each(drasat, manifests):
    names = [f"gpu-{number:02}" for number in range(12)]
    path = manifests(*(devices(name, 2) for name in names), devices("other", 3), *map(node, [*names, "other"]))
    rows = tables(drasat("show", "-f", path).out)[1]["NODE"][1]
    assert [row[:2] for row in rows] == [["12 nodes like gpu-00", "2"], ["other", "3"]]
    wide = tables(drasat("show", "-f", path, "-o", "wide").out)[1]["NODE"][1]
    assert [row[0] for row in wide] == [*names, "other"]


def test_many_claims_are_counted_by_namespace(drasat, manifests):
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
    claims = [made("ResourceClaim", f"c{number}", spec, f"team-{number % 2}") for number in range(50)]
    path = manifests(made("DeviceClass", "gpu", {}), devices("n1", 2), *claims)
    headers, rows = tables(drasat("show", "-f", path).out)[1]["NAMESPACE"]
    assert headers[:4] == ["NAMESPACE", "CLAIMS", "ALLOCATED", "PENDING"]
    assert [row[:4] for row in rows] == [["team-0", "25", "0", "25"], ["team-1", "25", "0", "25"]]
    assert len(tables(drasat("show", "-f", path, "-o", "wide").out)[1]["NAMESPACE"][1]) == 50


def test_documents_keep_to_the_schema(drasat, path):
    document = json.loads(drasat("show", "-f", path, "-o", "json").out)
    jsonschema.validate(document, results_schema())
    assert document["kind"] == "InventoryResult"
    assert yaml.safe_load(drasat("show", "-f", path, "-o", "yaml").out) == document


@pytest.mark.parametrize(
    ("options", "devices", "claims"),
    [
        (["--node", "mig-1"], 9, {"notebook", "uplink"}),
        (["--class", "mig.example.com"], 6, {"notebook"}),
        (["--class", "gpu.example.com", "--node", "gpu-1"], 4, {"train", "sweep"}),
        (["--driver", "nic.example.com"], 2, {"uplink"}),
        (["-n", "serving"], 23, {"chat", "replaced-card", "uplink"}),
    ],
)
def test_selections(drasat, path, options, devices, claims):
    document = json.loads(drasat("show", "-f", path, "-o", "json", *options).out)
    assert len(document["devices"]) == devices
    assert {one["name"] for one in document["claims"]} == claims


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--class", "none"], "DeviceClass none not found"),
        (["--feature-gates", "Nope=true"], "Nope"),
        (["--time-limit", "soon"], "--time-limit"),
        (["-o", "name"], "name"),
    ],
)
def test_bad_usage(drasat, path, options, reason):
    done = drasat("show", "-f", path, *options)
    assert (done.code, done.out) == (2, "")
    assert reason in done.err


def test_what_was_not_decided_in_time_is_exit_code_3(drasat, path):
    done = drasat("show", "-f", path, "--time-limit", "0.000001")
    assert done.code == 3
    assert "warning: the time limit passed" in done.err
    assert tables(done.out)[0].startswith("23 devices: 0 free")


def test_selectors_that_fail_are_warnings(drasat, manifests):
    broken = made("DeviceClass", "broken", {"selectors": [{"cel": {"expression": "device.attributes['x'].y == 1"}}]})
    done = drasat("show", "-f", manifests(broken, devices("n1", 2)))
    assert done.code == 0
    assert "warning: class broken: 2 devices could not be decided" in done.err


def test_names_cannot_reach_the_terminal(drasat, manifests):
    done = drasat("show", "-f", manifests(devices("n1", 1), node("\x1b[31mred")), "--skip-validation", "-o", "wide")
    assert "\x1b" not in done.out + done.err


def test_use_is_a_bar_on_a_terminal(drasat, path, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("TERM", "dumb")
    assert "███░░░░░░░ 31%" in drasat("show", "-f", path).out


PROGRAM = """
import sys
from drasat.__main__ import main
sys.argv = ["drasat", "show", "-f", "examples/inventory"]
try:
    main()
except SystemExit as end:
    assert end.code == 0
print(sorted({"ortools", "numpy", "pandas"}.intersection(sys.modules)), file=sys.stderr)
"""


def test_the_solver_is_not_loaded():
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


def test_resources_of_which_a_node_has_none_are_left_out(drasat, tmp_path):
    given = tmp_path / "nodes.json"
    allocatable = {"cpu": "8", "hugepages-2Mi": "0", "example.com/fpga": "2"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": allocatable}}
    given.write_text(json.dumps(node))
    told = drasat("show", "-f", str(given)).out
    assert "example.com/fpga 0/2" in told
    assert "hugepages" not in told
    listed = json.loads(drasat("show", "-f", str(given), "-o", "json").out)["nodes"][0]["resources"]
    assert "hugepages-2Mi" in {one["name"] for one in listed}
