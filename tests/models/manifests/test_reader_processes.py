"""Several processes read large files: what is read, and what is wrong with it, is the same as in one process."""

import gzip
import json
import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from drasat.models.manifests import reader, sources
from drasat.models.manifests.reader import read_manifests
from drasat.models.validation.validate import object_checks, validate_manifests

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
CLASS = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}
LIMIT = 64 * 2**20


def node(name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, **fields}


def resource_slice(
    name: str, *devices: dict[str, Any], driver: str = "d.example.com", **metadata: Any
) -> dict[str, Any]:
    pool = {"name": name or "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": driver, "pool": pool, "nodeName": "node", "devices": devices}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {**({"name": name} if name else {}), **metadata},
        "spec": spec,
    }


def gpu(name: str, size: Any = "1Gi", **fields: Any) -> dict[str, Any]:
    attributes = {"model": {"string": "a"}, "uuid": {"string": name}}
    return {"name": name, "attributes": attributes, "capacity": {"memory": {"value": size}}, **fields}


def as_yaml(*objects: Any) -> bytes:
    return yaml.safe_dump_all(objects).encode()


def as_list(*objects: Any) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()


# In the order of reading; each has at least two files.
CASES: dict[str, dict[str, bytes]] = {
    "YAML and JSON": {
        "a.yaml": as_yaml(resource_slice("a", gpu("x"), gpu("w")), node("a")),
        "b.json": as_list(resource_slice("b", gpu("x"), gpu("z", capacity={})), node("b"), CLASS),
        "c.json.gz": gzip.compress(as_list(resource_slice("c", {"name": "x"}))),
        "d.yml": as_yaml({"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {"name": "c"}}]}),
    },
    "faults in several files": {
        "a.json": as_list(resource_slice("a", gpu("x"), gpu("x")), resource_slice("b", gpu("Y!"))),
        "b.yaml": as_yaml(node("a", spec=3), resource_slice("c", gpu("x", size="much"))),
        "c.json": as_list(resource_slice("d", gpu("x"), driver="No Driver")),
    },
    "unreadable files": {
        "a.yaml": b"a: [",
        "b.json": as_list(node("a")),
        "c.json.gz": b"\x1f\x8b no gzip",
        "d.json": b'{"a": 1, "a": 2}',
        "e.yaml": b"# nothing",
        "f.yaml": b"",
    },
    "equal objects": {
        "a.yaml": as_yaml(CLASS, resource_slice("a", gpu("x"))),
        "b.json": as_list(CLASS, resource_slice("a", gpu("x"))),
        "c.yaml": as_yaml(node("a"), CLASS),
    },
    "different objects of one name": {
        "a.yaml": as_yaml(resource_slice("a", gpu("x"))),
        "b.json": as_list(resource_slice("a", gpu("w")), resource_slice("a", gpu("x")), resource_slice("a", gpu("w"))),
    },
    "unknown fields and kinds": {
        "a.yaml": as_yaml(node("a", spec={"taint": []}), {**CLASS, "kind": "DeviceClas"}),
        "b.json": as_list(node("a", spec={"taint": []}), node("b", spec={"podCIDR": "10.0.0.0/24"})),
        "c.json": as_list(resource_slice("c", gpu("x", attribute={})), {"kind": "X", "apiVersion": "y/v1", "a": -0.0}),
        "d.yaml": as_yaml({"kind": "X", "apiVersion": "y/v1", "template": {"spec": {"containers": [{"name": "a"}]}}}),
    },
    "generated names": {
        "a.yaml": as_yaml(resource_slice("", gpu("x"), generateName="made-")),
        "b.json": as_list(resource_slice("", gpu("w"), generateName="made-"), node("a")),
    },
    "equal amounts that are written in different ways": {
        "a.yaml": as_yaml(resource_slice("a", gpu("x", size=1))),
        "b.json": as_list(resource_slice("b", gpu("x", size=1.0))),
        "c.yaml": as_yaml(resource_slice("c", gpu("x", size=1.0), gpu("w", size=1))),
    },
    "aliases that repeat much": {
        "a.yaml": b"apiVersion: y/v1\nkind: X\na: &a [" + b"long, " * 500 + b"]\nb: [" + b"*a, " * 500 + b"]\n",
        "b.json": as_list(node("a")),
    },
}


@pytest.fixture
def made(monkeypatch) -> list[str]:
    """Files that other processes have read, which read all that they can before the first one begins."""
    found: list[str] = []
    shared, read = sources._Files.shared, reader._Reader.read

    @contextmanager
    def after_processes(*args: Any) -> Iterator[None]:
        with shared(*args):
            processes = multiprocessing.active_children()
            assert processes
            for process in processes:
                process.join(60)
                assert process.exitcode is not None
            yield

    def kept(self: Any, given: sources.Input) -> None:
        found.extend([Path(given.name).name] if given.made else [])
        read(self, given)

    monkeypatch.setattr(sources._Files, "shared", after_processes)
    monkeypatch.setattr(reader._Reader, "read", kept)
    with_processes(monkeypatch)
    return found


def with_processes(monkeypatch) -> None:
    """Let two other processes read, however small the files are."""
    monkeypatch.setattr(sources, "_BYTES_A_PROCESS", 1)
    monkeypatch.setattr(sources, "is_safe_to_fork", lambda: True)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})


def everything(*given: Path, limit: int = LIMIT, strict: bool = False) -> list[str]:
    """All that is read and found, as text: equal values may be written in different ways."""
    checks = object_checks()
    manifests, problems, ignored = read_manifests(
        given, recursive=True, strict=strict, max_input_size=limit, checks=checks
    )
    found = validate_manifests(manifests, None, False, problems, checks.good)
    values: dict[int, int] = {}
    shared = [
        values.setdefault(id(value), len(values))
        for one in manifests
        if one.kind == "ResourceSlice" and one.object is not None
        for device in one.object.spec.devices or ()
        for value in (*(device.attributes or {}).values(), *(device.capacity or {}).values())
    ]
    return [*map(repr, manifests), *map(repr, problems), *map(repr, found), repr(ignored), repr(shared)]


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
@pytest.mark.parametrize("case", CASES)
def test_the_same_is_read_by_several_processes(case, strict, tmp_path, monkeypatch, request):
    folder = write(tmp_path, CASES[case])
    alone = everything(folder, strict=strict)
    request.getfixturevalue("made")
    assert everything(folder, strict=strict) == alone


def test_all_examples_are_the_same(monkeypatch, request):
    alone = everything(EXAMPLES)
    made = request.getfixturevalue("made")
    assert everything(EXAMPLES) == alone
    assert len(made) > 50


@pytest.mark.parametrize(
    ("case", "names"),
    [
        ("YAML and JSON", ["a.yaml", "b.json", "c.json.gz", "d.yml"]),
        ("faults in several files", ["a.json", "c.json"]),
        ("unreadable files", ["b.json"]),
        ("equal objects", ["a.yaml", "b.json", "c.yaml"]),
        ("unknown fields and kinds", ["a.yaml", "b.json", "d.yaml"]),
        ("generated names", []),
        ("aliases that repeat much", ["b.json"]),
    ],
)
def test_other_processes_read_files_without_errors(case, names, tmp_path, made):
    everything(write(tmp_path, CASES[case]))
    assert made == names


def test_what_has_been_checked_where_it_was_read_is_not_checked_again(tmp_path, monkeypatch, request):
    write(
        tmp_path,
        {"a.json": as_list(node("a"), resource_slice("b", gpu("Y!")), node("c")), "b.yaml": as_yaml(node("d"))},
    )

    def good() -> list[str]:
        checks = object_checks()
        manifests, _, _ = read_manifests([tmp_path], checks=checks)
        return [manifests[number].object.metadata.name for number in sorted(checks.good)]

    assert good() == []
    made = request.getfixturevalue("made")
    assert good() == ["a", "c", "d"]
    assert made == ["a.json", "b.yaml"]


@pytest.mark.parametrize("files", [1, 2, 3, 4])
def test_the_limit_counts_all_files_in_order(files, tmp_path, monkeypatch, request):
    folder = write(tmp_path, CASES["YAML and JSON"])
    sizes = [
        len(gzip.decompress(data) if name.endswith(".gz") else data) for name, data in CASES["YAML and JSON"].items()
    ]
    limit = sum(sizes[:files]) - 1
    alone = everything(folder, limit=limit)
    assert any("--max-input-size" in line for line in alone)
    request.getfixturevalue("made")
    assert everything(folder, limit=limit) == alone


def test_files_of_a_process_that_dies_are_read_here(tmp_path, monkeypatch):
    folder = write(tmp_path, CASES["YAML and JSON"])
    alone = everything(folder)
    with_processes(monkeypatch)
    first, packed = os.getpid(), reader._packed
    begun, told = os.pipe()
    waits, go_on = os.pipe()

    def make(checks: Any, read: sources.Input) -> bytes:
        if os.getpid() == first:
            return packed(checks, read)
        os.write(told, b"x")
        os.read(waits, 1)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    lock = sources.fcntl.lockf

    def lockf(descriptor: int, how: int, *where: int) -> None:
        if os.getpid() == first and how == sources.fcntl.LOCK_EX:
            # The first process is about to wait for a file that another one has.
            os.write(go_on, b"xx")
        lock(descriptor, how, *where)

    shared = sources._Files.shared

    @contextmanager
    def after_both_have_begun(*args: Any) -> Iterator[None]:
        with shared(*args):
            os.read(begun, 1)
            os.read(begun, 1)
            yield

    monkeypatch.setattr(reader, "_packed", make)
    monkeypatch.setattr(sources._Files, "shared", after_both_have_begun)
    monkeypatch.setattr(sources.fcntl, "lockf", lockf)
    assert everything(folder) == alone
    for descriptor in (begun, told, waits, go_on):
        os.close(descriptor)


def test_processes_are_gone_after_an_interrupt(tmp_path, monkeypatch):
    folder = write(tmp_path, CASES["YAML and JSON"])
    with_processes(monkeypatch)
    first = os.getpid()

    def make(checks: Any, read: sources.Input) -> bytes:
        assert os.getpid() != first
        signal.pause()
        return b""

    def interrupted(*_: Any) -> None:
        assert multiprocessing.active_children()
        raise KeyboardInterrupt

    monkeypatch.setattr(reader, "_packed", make)
    monkeypatch.setattr(sources._Files, "open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        read_manifests([folder])
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    ("name", "size", "expected"),
    [("a.json", 3 * 2**20, 0), ("a.json", 2**23, 1), ("a.yaml", 2**21, 1), ("a.json.gz", 2**19, 1)],
)
def test_only_large_files_have_processes(name, size, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "is_safe_to_fork", lambda: True)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    files = [str(tmp_path / name), str(tmp_path / f"b{name}")]
    for file in files:
        Path(file).touch()
        os.truncate(file, size)
    with sources._Files(2**40, False, lambda read: read.data).shared(files):
        assert len(multiprocessing.active_children()) == expected
    assert multiprocessing.active_children() == []
