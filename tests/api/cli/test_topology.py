"""``drasat topology``: options, outputs, exit codes, and bad input."""

import json

import jsonschema
import pytest
import yaml
from support.engines import failing
from support.topology_mappings import DRIVER, claim, device, device_class, lattice, published, topology

import drasat as package


@pytest.fixture
def run(drasat, tmp_path):
    """``drasat topology`` on these objects, with options."""

    def asked(*objects, options=(), verb="topology"):
        path = tmp_path / "input.yaml"
        path.write_text(yaml.safe_dump_all(objects))
        return drasat(verb, "-f", path, *options)

    return asked


GRID = [topology(), lattice(3, 4), device_class(), claim("running", "d00", "d01")]
OPEN = [topology("Ring", 1), lattice(4), device_class(), claim("new", count=3)]


def cells(line):
    return [cell for cell in line.split("  ") if cell.strip()]


def test_a_table_has_a_row_for_each_instance(run):
    """TOPO-6."""
    done = run(*GRID, lattice(2, 2, node="n2"))
    head, *rows = (cells(line) for line in done.out.splitlines())
    assert (done.code, done.err) == (0, "")
    assert [cell.strip() for cell in head] == [
        "TOPOLOGY",
        "SHAPE",
        "WHERE",
        "SIZE",
        "DEVICES",
        "USED",
        "FREE",
        "LARGEST FREE",
    ]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["t", "Grid", "node n1", "3x4", "12", "2", "10", "2x4 (8)"],
        ["t", "Grid", "node n2", "2x2", "4", "0", "4", "2x2 (4)"],
    ]


def test_axes_that_wrap_are_marked(run):
    done = run(topology(periodic=[False, True]), lattice(2, 3))
    assert " 2x3~ " in done.out


def test_wide_lists_the_devices_and_those_without_coordinates(run):
    """TOPO-3."""
    done = run(topology("Line", 1), published(device("a", u=4), device("b")), options=["-o", "wide"])
    rows = [line.split() for line in done.out.splitlines()]
    assert ["t", "node", "n1", f"{DRIVER}/n1/a", "4", "free"] in rows
    assert ["t", "node", "n1", f"{DRIVER}/n1/b", "none"] in rows
    assert done.err == "DeviceTopology t: node n1: 1 device has no coordinates\n"


def test_json_and_yaml_are_the_document(run, examples):
    as_json = run(*GRID, options=["-o", "json"])
    document = json.loads(as_json.out)
    jsonschema.validate(document, json.loads((examples.parent / "docs/reference/results.schema.json").read_text()))
    assert document == yaml.safe_load(run(*GRID, options=["-o", "yaml"]).out)
    assert document == package.topology(package.load(GRID)).to_dict()


def test_open_claims_can_be_allocated_first(run):
    """TOPO-6: the largest free segment before and after."""
    done = run(*OPEN, options=["--allocate"])
    head, row = done.out.splitlines()
    assert done.code == 0
    assert head.split() == [
        "TOPOLOGY",
        "SHAPE",
        "WHERE",
        "SIZE",
        "DEVICES",
        "USED",
        "CHOSEN",
        "FREE",
        "LARGEST",
        "FREE",
        "AFTER",
    ]
    assert row.split() == ["t", "Ring", "node", "n1", "4~", "4", "0", "3", "1", "4", "1"]


def test_an_objective_keeps_the_largest_free_shape(run):
    """TOPO-6: the pair between the two that are in use, and not the first two by name."""
    objects = [topology("Ring", 1), lattice(8), device_class(), claim("old", "d2", "d5"), claim("new", count=2)]
    objects[-1]["metadata"]["annotations"] = {
        "drasat.dev/constraints": json.dumps([{"topology": {"name": "t", "shape": "Segment"}}])
    }
    first, best = (run(*objects, options=["--allocate", *more]).out for more in ([], ["--objective", "compact"]))
    assert (first.split()[-2:], best.split()[-2:]) == (["4", "2"], ["4", "4"])
    assert run(*objects, options=["--objective", "compact"]).code == 2
    assert run(*objects, options=["--allocate", "--objective", "best"]).code == 2


def test_claims_that_get_nothing_are_a_no_and_still_listed(run):
    done = run(*OPEN[:3], claim("new", count=5), options=["--allocate"])
    assert done.code == 1
    assert done.out.splitlines()[1].split()[:2] == ["t", "Ring"]


def test_ctrl_c_lists_what_was_got_by_then(run, register):
    register("auto", failing(KeyboardInterrupt, at=2))
    done = run(*OPEN, claim("other"), options=["--allocate"])
    assert done.code == 130
    assert done.out.splitlines()[1].split()[-5:] == ["0", "3", "1", "4", "1"]


def test_names_and_a_node_narrow_the_list(run):
    objects = [topology("Ring", 1, "a"), topology("Line", 1, "b"), lattice(2), lattice(2, node="n2")]
    done = run(*objects, options=["--name", "b", "--node", "n2", "-o", "json"])
    (one,) = json.loads(done.out)["topologies"]
    assert (one["name"], [instance["name"] for instance in one["instances"]]) == ("b", ["n2"])
    assert run(*objects, options=["--name", "c"]) == (2, "", "drasat: DeviceTopology c not found\n")


def test_nothing_to_list_is_said(run):
    assert run(lattice(2)).err == "the input has no such DeviceTopology\n"
    assert run(topology()).err == "DeviceTopology t: no devices\n"
    assert run(topology()).code == 0


@pytest.mark.parametrize("verb", ["topology", "validate", "allocate"])
def test_two_devices_on_one_coordinate_are_bad_input(run, verb):
    """TOPO-3: every verb names file, document, field and both devices."""
    done = run(topology("Line", 1), published(device("a", u=4), device("b", u=4)), verb=verb)
    told = f"spec.coordinates: node n1: devices {DRIVER}/n1/a and {DRIVER}/n1/b both have {DRIVER}/u 4"
    assert done.code == 2
    assert f"input.yaml document 1: DeviceTopology t: {told}" in done.out + done.err


def test_no_names_are_checked_but_places_are_with_skip_validation(run):
    """TOPO-3."""
    twice = published(device("a", u=4), device("b", u=4))
    done = run(topology("Line", 1), twice, options=["--skip-validation"])
    assert done.code == 2
    links = published(device("a", id=1), device("b", id=1))
    assert f"spec.links.id: node n1: devices {DRIVER}/n1/a and" in run(topology("Links"), links).err


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"shape": "Mesh"}, "spec.shape: Unsupported value"),
        ({"size": [4]}, "spec.size: Invalid value: 1: must have one item for each of the 2 coordinates"),
        ({"size": [3, 3]}, f"device {DRIVER}/n1/d03 has {DRIVER}/v 3, beyond 0 to 2"),
        ({"perodic": [True, True]}, "spec.perodic"),
    ],
)
def test_bad_topologies_are_bad_input(run, spec, told):
    done = run(topology(**spec), lattice(3, 4))
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_dot_draws_states_and_links(run):
    done = run(topology("Ring", 1), lattice(3), device_class(), claim("a", "d1"), options=["-o", "dot"])
    lines = [line.strip() for line in done.out.splitlines()]
    assert lines[0] == 'graph "t node n1" {'
    assert lines[-1] == "}"
    assert {"0 -- 1;", "0 -- 2;", "1 -- 2;"} <= set(lines)
    (used,) = (line for line in lines if 'class="used"' in line)
    assert used.startswith('1 [label="d1\\n1"')


def test_dot_of_a_tree_has_its_tree_nodes(run):
    devices = [device(name, u=x, v="s") for name, x in (("a", 0), ("b", 0), ("c", 1))]
    out = run(topology("Tree"), published(*devices), options=["-o", "dot"]).out
    assert out.count('label="s"') == 2
    assert out.count(" -- ") == 2 + 2 + 3


def test_dot_escapes_what_devices_publish(run):
    odd = device("a", u='"]; }\n\\')
    out = run(topology("Tree", 1), published(odd), options=["-o", "dot"]).out
    assert '\\"]; }\\n\\\\' in out
    assert out.count("\n") == len(out.splitlines()) == 8


@pytest.mark.parametrize(
    "options", [["--node", "a\nb"], ["--time-limit", "x"], ["-o", "png"], ["--feature-gates", "A"]]
)
def test_bad_usage_is_code_2(run, options):
    done = run(*GRID, options=options)
    assert (done.code, done.out) == (2, "")
