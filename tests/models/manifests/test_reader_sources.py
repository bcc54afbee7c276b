"""Where input comes from: files, folders, standard input, packed files, mappings."""

import gzip
import io
import os
from pathlib import Path

import pytest

from drasat.models.manifests.reader import read_manifests
from drasat.models.manifests.sources import open_sources

NODE = b"apiVersion: v1\nkind: Node\nmetadata: {name: %s}\n"


def node(name: str) -> bytes:
    return NODE % name.encode()


def write(folder: Path, **files: bytes) -> None:
    for name, data in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def names(given, recursive: bool = False) -> list[str]:
    manifests, problems, _ = read_manifests(given, recursive)
    assert problems == []
    return [manifest.object.metadata.name for manifest in manifests]


def problem(*given, recursive: bool = False) -> str:
    manifests, problems, _ = read_manifests(given, recursive)
    assert manifests == []
    (only,) = problems
    return str(only)


@pytest.mark.parametrize("as_given", [str, Path], ids=["text", "path"])
def test_a_file(tmp_path, as_given):
    write(tmp_path, a_yaml=node("a"))
    assert names([as_given(tmp_path / "a.yaml")]) == ["a"]


def test_one_source_need_not_stand_in_a_list(tmp_path):
    write(tmp_path, a_yaml=node("a"))
    assert names(str(tmp_path / "a.yaml")) == ["a"]
    assert names({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "b"}}) == ["b"]


def test_a_folder_is_read_by_name_and_only_its_manifests(tmp_path):
    write(
        tmp_path, c_yml=node("c"), a_yaml=node("a"), b_json=b'{"apiVersion":"v1","kind":"Node","metadata":{"name":"b"}}'
    )
    write(
        tmp_path, d_yaml_gz=gzip.compress(node("d")), notes_txt=b"no manifest", E_YAML=node("e"), sub__f_yaml=node("f")
    )
    assert names([tmp_path]) == ["e", "a", "b", "c", "d"]
    assert names([tmp_path], recursive=True) == ["e", "a", "b", "c", "d", "f"]


def test_folders_named_like_manifests_are_not_opened(tmp_path):
    write(tmp_path, x_yaml__a_yaml=node("a"), b_yaml=node("b"))
    assert names([tmp_path]) == ["b"]


def test_sources_are_read_in_the_order_given(tmp_path):
    write(tmp_path, a_yaml=node("a"), b_yaml=node("b"))
    assert names([tmp_path / "b.yaml", tmp_path / "a.yaml"]) == ["b", "a"]


def test_a_file_that_is_named_twice_is_read_once(tmp_path):
    """Also under another name, and with pods that get their names as they are read."""
    write(tmp_path, a_yaml=b"apiVersion: v1\nkind: Pod\nmetadata: {generateName: p-}\n")
    (tmp_path / "link.yaml").symlink_to(tmp_path / "a.yaml")
    assert names([tmp_path / "a.yaml", tmp_path, f"{tmp_path}/../{tmp_path.name}/a.yaml"]) == ["p-00001"]


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(node("a"))))
    (manifest,), problems, _ = read_manifests(["-"])
    assert not problems
    assert str(manifest.source) == "<stdin> document 1"


def test_packed_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(node("a")))))
    assert names(["-"]) == ["a"]


@pytest.mark.parametrize("name", ["a.yaml.gz", "a.yaml", "a"])
def test_packed_files_are_known_by_their_content(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(node("a")) + gzip.compress(b"---\n" + node("b")))
    assert names([tmp_path / name]) == ["a", "b"]


def test_mappings_and_iterables_of_them():
    objects = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}} for name in "abc"]
    assert names([objects[0], objects[1:], (item for item in objects)]) == ["a", "b", "c"]


def test_missing_file(tmp_path):
    assert problem(tmp_path / "x.yaml") == f"{tmp_path}/x.yaml: No such file or directory"


def test_name_that_cannot_be_one():
    assert "null byte" in problem("a\0b.yaml")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path):
    write(tmp_path, a_yaml=node("a"))
    (tmp_path / "a.yaml").chmod(0)
    assert "Permission denied" in problem(tmp_path / "a.yaml")


def test_error_while_opening_is_told(tmp_path, monkeypatch):
    write(tmp_path, a_yaml=node("a"))

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert problem(tmp_path / "a.yaml") == f"{tmp_path}/a.yaml: Permission denied"


@pytest.mark.parametrize("data", [b"", b" \n\t\n"], ids=["nothing", "white-space"])
@pytest.mark.parametrize("name", ["a.yaml", "a.json"])
def test_empty_file(tmp_path, data, name):
    (tmp_path / name).write_bytes(data)
    assert problem(tmp_path / name) == f"{tmp_path / name}: is empty"


@pytest.mark.parametrize(
    "data", [b"# nothing yet\n", b"---\n", b"---\n---\n"], ids=["comment", "document", "documents"]
)
def test_file_without_objects_is_a_warning(tmp_path, data):
    write(tmp_path, a_yaml=data)
    assert problem(tmp_path / "a.yaml") == f"{tmp_path}/a.yaml: warning: holds no objects"


def test_folder_without_manifests(tmp_path):
    write(tmp_path, sub__a_txt=b"x")
    assert problem(tmp_path).startswith(f"{tmp_path}: holds no .yaml, .yml, .json files; subfolders are read with -R")
    assert problem(tmp_path, recursive=True).endswith("files")


def test_links_in_a_circle(tmp_path):
    write(tmp_path, sub__a_yaml=node("a"))
    (tmp_path / "sub" / "again").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    assert names([tmp_path], recursive=True) == ["a"]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(gzip.compress(node("a") * 100)[:-9], id="truncated"),
        pytest.param(gzip.compress(node("a"))[:-6] + b"123456", id="wrong-checksum"),
        pytest.param(b"\x1f\x8b", id="header-only"),
        pytest.param(b"\x1f\x8b" + b"\x00" * 50, id="no-method"),
        pytest.param(gzip.compress(node("a")) + b"rest", id="garbage-after"),
        pytest.param(gzip.compress(b"x" * 100)[:12] + b"\xff" * 30, id="bad-stream"),
    ],
)
def test_damaged_gzip(tmp_path, data):
    (tmp_path / "a.yaml.gz").write_bytes(data)
    assert "damaged gzip" in problem(tmp_path / "a.yaml.gz")


def limited(path: Path, size: int | str | None) -> list[str]:
    return [str(one) for one in read_manifests([path], max_input_size=size)[1]]


def test_too_large_files_are_refused(tmp_path):
    write(tmp_path, plain_json=b" " * (2**20 + 1), packed_json=gzip.compress(b" " * 2**24))
    write(tmp_path, members_json=gzip.compress(b" " * 2**19) * 3)
    for name, size in (("plain", 2**20), ("packed", "1Mi"), ("members", "1024Ki")):
        path = tmp_path / f"{name}.json"
        assert limited(path, size) == [f"{path}: holds more than 1 MiB; --max-input-size raises the limit"]
        assert limited(path, "16Mi") == [f"{path}: is empty"]


def test_the_limit_counts_all_files_together(tmp_path):
    write(tmp_path, a_yaml=node("a") + b" " * 600, b_yaml=gzip.compress(node("b") + b" " * 600), c_yaml=node("c"))
    reason = "all input up to here holds more than 1000 bytes; --max-input-size raises the limit"
    assert limited(tmp_path, 1000) == [f"{tmp_path}/b.yaml: {reason}"]


def test_a_packed_file_may_hold_64_mib_or_200_times_its_size(tmp_path):
    reason = "unpacks to more than 64 MiB; --max-input-size raises the limit"
    write(tmp_path, bomb_json=gzip.compress(b" " * (64 * 2**20 + 1)), most_json=gzip.compress(b" " * 64 * 2**20))
    assert limited(tmp_path / "bomb.json", None) == [f"{tmp_path}/bomb.json: {reason}"]
    assert limited(tmp_path / "most.json", None) == [f"{tmp_path}/most.json: is empty"]
    write(tmp_path, large_json=gzip.compress(os.urandom(2**19) + b" " * (66 * 2**20)))
    assert "unpacks" not in limited(tmp_path / "large.json", None)[0]


@pytest.mark.parametrize("size", ["much", "0", -1, "1e99"])
def test_what_is_no_limit_is_refused(size):
    if size == "1e99":
        assert limited(Path("missing"), size) == ["missing: No such file or directory"]
    else:
        with pytest.raises(ValueError, match=r"quantities|zero"):
            limited(Path("missing"), size)


def test_a_bomb_is_not_unpacked_beyond_the_bound(tmp_path, monkeypatch):
    unpacked = []
    inflate = gzip.GzipFile.read

    def read(self, size=-1):
        data = inflate(self, size)
        unpacked.append(len(data))
        return data

    monkeypatch.setattr(gzip.GzipFile, "read", read)
    write(tmp_path, bomb_json=gzip.compress(b" " * 10**6))
    assert "holds more than" in limited(tmp_path / "bomb.json", 1000)[0]
    assert sum(unpacked) <= 1001


def test_files_are_read_one_at_a_time(tmp_path):
    """A later file may be missing when the first is read: nothing is opened ahead."""
    write(tmp_path, a_yaml=node("a"), b_yaml=node("b"))
    inputs = open_sources([tmp_path])
    first = next(inputs)
    (tmp_path / "b.yaml").unlink()
    assert first.data == node("a")
    assert next(inputs).failure == "No such file or directory"
