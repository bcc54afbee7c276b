"""Pictures of topologies: where devices are drawn, and files that are whole or not there."""

import builtins
import importlib.util
from itertools import pairwise

import pytest
from support.topology_mappings import DRIVER, claim, device, device_class, lattice, published, topology

import drasat
from drasat.reports.topology_panels import MOST_PANELS, panels

from ..cli.test_topology import run  # noqa: F401 - a fixture

PNG = b"\x89PNG\r\n\x1a\n"


def drawn(*objects):
    """The panels of the only instance."""
    (one,) = drasat.topology(drasat.load(list(objects))).topologies
    return [panel for instance in one.instances for panel in panels(one, instance)]


def apart(one, other):
    return ((one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2) ** 0.5


def test_a_grid_is_drawn_in_place():
    """The last axis to the right, the first one downwards."""
    (panel,) = drawn(topology(), lattice(2, 3))
    assert panel.points == {0: (0, 0), 1: (1, 0), 2: (2, 0), 3: (0, -1), 4: (1, -1), 5: (2, -1)}
    assert (panel.title, panel.holes, panel.square) == ("t, node n1", [], True)


def test_cells_without_device_are_holes():
    (panel,) = drawn(topology(size=[2, 2], periodic=[False, True]), published(device("a", u=0, v=1)))
    assert panel.points == {0: (1, 0)}
    assert sorted(panel.holes) == [(0, -1), (0, 0), (1, -1)]
    assert "wraps along v" in panel.title


@pytest.mark.parametrize("size", [1, 2, 3, 8, 40])
def test_a_ring_is_a_circle_of_equal_steps(size):
    (panel,) = drawn(topology("Ring", 1), lattice(size))
    places = [panel.points[number] for number in range(size)]
    assert len({round(apart(place, (0, 0)), 6) for place in places}) == 1
    assert len({round(apart(one, other), 6) for one, other in pairwise([*places, places[0]])}) == 1
    assert len(panel.lines) == (size if size > 1 else 0)


def test_a_line_is_one_row():
    (panel,) = drawn(topology("Line", 1), lattice(3))
    assert panel.points == {0: (0, 0), 1: (1, 0), 2: (2, 0)}


def test_three_axes_are_drawn_as_layers():
    found = drawn(topology("Torus", 3), lattice(2, 2, 3))
    assert [len(panel.points) for panel in found] == [6, 6]
    assert [panel.title.splitlines()[1].split(",")[0] for panel in found] == ["u 0", "u 1"]
    assert sorted(number for panel in found for number in panel.points) == list(range(12))


def test_a_tree_hangs_below_its_root():
    devices = [device(name, u=x, v=y) for name, x, y in (("a", 0, 0), ("b", 1, 0), ("c", 0, 0))]
    (panel,) = drawn(topology("Tree"), published(*devices))
    assert {point[1] for point in panel.points.values()} == {-3}
    assert len({point[0] for point in panel.points.values()}) == 3
    assert sorted(panel.texts.values()) == ["0", "0", "0", "1"]
    assert len(panel.lines) == len(panel.texts) + len(panel.points)


def test_links_are_drawn_the_same_every_time():
    devices = [device(f"d{one}", id=one, peers=[(one + 1) % 6]) for one in range(6)]
    first, second = (drawn(topology("Links"), published(*devices))[0] for _ in range(2))
    assert first.points == second.points
    assert len({*first.points.values()}) == len(first.lines) == 6


def test_many_links_are_drawn_around_a_circle():
    devices = [device(f"d{one:x}", id=one, peers=[one + 1]) for one in range(400)]
    slices = []
    for number, start in enumerate(range(0, 400, 50)):
        one = published(*devices[start : start + 50], pool="p", nodeName="n1")
        one["metadata"]["name"] = f"s{number}"
        one["spec"]["pool"]["resourceSliceCount"] = 8
        slices.append(one)
    (panel,) = drawn(topology("Links"), *slices)
    assert (len(panel.points), len(panel.lines)) == (400, 399)


RING = [topology("Ring", 1), lattice(6), device_class(), claim("a", "d1"), claim("new", count=2)]
SHAPES = {
    "ring": RING,
    "torus": [topology("Torus", 3), lattice(2, 2, 2)],
    "tree": [topology("Tree"), lattice(2, 2)],
    "links": [topology("Links"), published(device("a", id=1, peers=[2]), device("b", id=2))],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_becomes_a_file(run, tmp_path, shape):  # noqa: F811
    done = run(*SHAPES[shape], options=["--plot", tmp_path / "x.svg"])
    text = (tmp_path / "x.svg").read_text()
    assert done.code == 0
    assert text.startswith("<svg")
    assert text.rstrip().endswith("</svg>")


def test_a_picture_has_used_free_and_chosen(run, tmp_path):  # noqa: F811
    """TOPO-6: what an allocation chose stands out."""
    done = run(*RING, options=["--allocate", "--plot", tmp_path / "x.svg"])
    text = (tmp_path / "x.svg").read_text()
    assert done.code == 0
    assert all(f">{state}</text>" in text for state in ("free", "used", "chosen"))
    plain = run(*RING, options=["--plot", tmp_path / "y.svg"])
    assert plain.code == 0
    assert ">chosen</text>" not in (tmp_path / "y.svg").read_text()


def test_the_largest_free_shape_is_marked():
    """TOPO-6."""
    chart = drasat.topology(drasat.load(RING)).plot().to_dict()
    rows = next(layer["data"]["values"] for layer in chart["layer"] if "device" in layer["data"]["values"][0])
    assert sum(bool(row["shape"]) for row in rows) == 5


def test_pictures_are_equal_for_equal_input(tmp_path):
    cluster = drasat.load(RING)
    for name in ("a.svg", "b.svg", "a.png", "b.png"):
        drasat.topology(cluster, chosen=drasat.allocate(cluster)).plot(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert (tmp_path / "a.png").read_bytes().startswith(PNG)


def test_without_a_path_a_chart_is_returned_that_notebooks_show():
    chart = drasat.topology(drasat.load(RING)).plot()
    bundle = chart._repr_mimebundle_()
    shown = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "vega" in "".join(map(str, (*shown, *shown.values())))


@pytest.mark.parametrize("name", ["x.pdf", "x", ".svg"])
def test_other_files_are_refused_before_anything_is_read(drasat, tmp_path, name):
    done = drasat("topology", "-f", tmp_path / "missing.yaml", "--plot", tmp_path / name)
    assert (done.code, done.out) == (2, "")
    assert "a picture is a .png or .svg file" in done.err


def test_without_the_extra_one_line_says_what_to_do(run, tmp_path, monkeypatch):  # noqa: F811
    find = importlib.util.find_spec
    monkeypatch.setattr("drasat.reports.plots.find_spec", lambda name: None if name == "altair" else find(name))
    done = run(*RING, options=["--plot", tmp_path / "x.svg"])
    assert (done.code, done.out) == (2, "")
    assert done.err == "drasat: pictures and reports need altair: pip install 'drasat[report]'\n"


def test_nothing_and_too_much_are_refused(tmp_path):
    nothing = drasat.topology(drasat.load([topology()]))
    with pytest.raises(ValueError, match="nothing to draw"):
        nothing.plot(tmp_path / "x.svg")
    nodes = [lattice(1, node=f"n{number}") for number in range(MOST_PANELS + 1)]
    many = drasat.topology(drasat.load([topology("Line", 1), *nodes]))
    with pytest.raises(ValueError, match=f"{MOST_PANELS + 1} or more pictures are too many"):
        many.plot(tmp_path / "x.svg")
    wide = drasat.topology(drasat.load([topology("Ring", 1, size=[900_000]), lattice(2)]))
    with pytest.raises(ValueError, match="900,000 places are too many"):
        wide.plot(tmp_path / "x.svg")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_picture_leaves_the_old_one_and_nothing_else(tmp_path, monkeypatch):
    result = drasat.topology(drasat.load(RING))
    path = tmp_path / "x.png"
    path.write_bytes(b"old")

    def fail(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("vl_convert.vegalite_to_png", fail)
    with pytest.raises(OSError, match="No space left"):
        result.plot(path)
    assert [one.name for one in tmp_path.iterdir()] == ["x.png"]
    assert path.read_bytes() == b"old"


def test_a_folder_that_is_not_there_is_one_line(run, tmp_path):  # noqa: F811
    done = run(*RING, options=["--plot", tmp_path / "none" / "x.svg"])
    assert done.code == 2
    assert done.out == ""
    assert len(done.err.splitlines()) == 1


def test_listing_loads_neither_altair_nor_networkx(run, monkeypatch):  # noqa: F811
    real = builtins.__import__

    def guarded(name, *rest, **options):
        assert name.partition(".")[0] not in {"altair", "networkx"}
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", guarded)
    assert run(*RING, options=["-o", "wide"]).code == 0
    assert run(*RING, options=["-o", "dot"]).out.count(DRIVER) == 6
