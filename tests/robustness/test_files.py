"""Files that are not what they should be: the exit code, one line a problem, and nothing on stdout with code 2."""

import gzip
import json

import pytest

CLAIM = (
    "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\n"
    "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: g}}]}}\n"
)
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
PACKED = gzip.compress(CLAIM.encode())


def listed(items: str) -> str:
    return f"apiVersion: v1\nkind: List\nitems: {items}\n"


def slice_with(spec: str) -> str:
    return f"apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {{name: s}}\nspec: {spec}\n"


REFUSED = [
    ("empty.yaml", "", "is empty"),
    ("blank.yaml", " \n\n", "is empty"),
    ("binary.yaml", bytes(range(128, 256)) * 9, "not valid UTF-8"),
    ("zeros.json", b"\0" * 99, "invalid JSON"),
    ("utf-32.yaml", CLAIM.encode("utf-32"), "control characters"),
    ("cut.yaml.gz", PACKED[:-9], "damaged gzip"),
    ("twice.yaml.gz", gzip.compress(PACKED), "not valid UTF-8"),
    ("longer.yaml.gz", PACKED + b"xyz", "damaged gzip"),
    ("tab.yaml", CLAIM.replace("metadata", "\tmetadata"), "found a tab character"),
    ("text.yaml", "hello", "must be an object, not a string"),
    ("number.json", "3", "must be an object, not a single value"),
    ("array.json", json.dumps([NODE]), "must be an object, not a list"),
    ("deep.yaml", "a: " + "[" * 100_000, "nested deeper"),
    ("deep.json", '{"a":' * 100_000, "nested deeper"),
    ("no-kind.yaml", "apiVersion: v1\nmetadata: {name: x}\n", "kind: Required value"),
    ("no-version.yaml", "kind: Pod\nmetadata: {name: x}\n", "apiVersion: Required value"),
    ("version.yaml", CLAIM.replace("/v1", "/v9"), 'apiVersion: Unsupported value: "resource.k8s.io/v9"'),
    ("old.yaml", CLAIM.replace("/v1", "/v1alpha2"), "Unsupported value"),
    ("items.yaml", listed("{a: b}"), "items: Invalid value: must be a list"),
    ("item.yaml", listed("[null]"), "must be an object, not null"),
    ("lists.yaml", listed("[{apiVersion: v1, kind: List, items: [5]}]"), "item 1 item 1: must be an object"),
    ("nan.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nx: .nan\n", "not a finite number"),
    ("spec.yaml", slice_with("null"), "spec.driver: Required value"),
    ("device.yaml", slice_with("{driver: d, nodeName: x, pool: {name: p, resourceSliceCount: 1}, devices: [null]}"),
     "spec.devices[0].name: Required value"),
    ("boolean.yaml", slice_with("{driver: d, nodeName: n, pool: {name: p, resourceSliceCount: 1}}"),
     "spec.nodeName: Invalid value: false: must be a string, not a boolean"),
    ("twice.yaml", f"{CLAIM}---\n{CLAIM.replace('name: r', 'name: s')}", 'Duplicate value: "c": the same object is in'),
    ("request.yaml", CLAIM.replace("name: r", "name: R"), "a lowercase RFC 1123 label must consist of"),
]  # fmt: skip


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("verb", ["allocate", "validate"])
@pytest.mark.parametrize(("name", "content", "message"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_cannot_be_used_is_said_in_lines_with_code_2(drasat, tmp_path, verb, name, content, message):
    done = drasat(verb, "-f", write(tmp_path, name, content))
    said = done.err if verb == "allocate" else done.out
    assert done.code == 2
    assert message in said
    assert "Traceback" not in done.err
    assert all(line.isprintable() and len(line) < 900 for line in said.splitlines())
    if verb == "allocate":
        assert done.out == ""
        assert all(line.startswith("drasat: ") for line in done.err.splitlines())


READ = [
    ("bom.yaml", b"\xef\xbb\xbf" + CLAIM.encode()),
    ("utf-16.yaml", CLAIM.encode("utf-16")),
    ("crlf.yaml", CLAIM.replace("\n", "\r\n")),
    ("cr.yaml", CLAIM.replace("\n", "\r")),
    ("claim.yaml.gz", PACKED),
    ("no-extension", CLAIM),
    ("list.yaml", listed("[{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: c}}]")),
    ("typed.json", json.dumps({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimList",
                               "items": [{"metadata": {"name": "c"}, "spec": None, "status": None}]})),
    ("kubectl.json", json.dumps({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": [
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "spec": {},
         "metadata": {"name": "c", "namespace": "default", "managedFields": [{"fieldsV1": {"f:spec": {".": {}}}}]}}]})),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content"), READ, ids=[row[0] for row in READ])
def test_what_only_looks_strange_is_read(drasat, tmp_path, name, content):
    done = drasat("allocate", "-f", write(tmp_path, name, content), "-o", "json")
    assert [one["name"] for unit in json.loads(done.out)["units"] for one in unit["claims"]] == ["c"]


@pytest.mark.parametrize(
    "content", ["# only\n# comments\n", "---\n---\n", "null", listed("null"), listed("[]")], ids=range(5)
)
def test_files_without_objects_are_a_warning(drasat, tmp_path, content):
    done = drasat("allocate", "-f", write(tmp_path, "f.yaml", content))
    assert done.code == 0
    assert "warning: holds no objects" in done.err
    assert "warning: nothing to allocate" in done.err


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing.yaml", "No such file or directory"),
        ("folder", "holds no .yaml, .yml, .json files"),
        ("nul\0.yaml", "embedded null"),
        ("x" * 300, "File name too long"),
        ("file.yaml/below", "Not a directory"),
    ],
    ids=["missing", "folder", "nul", "long", "below"],
)
def test_paths_that_lead_nowhere_are_said(drasat, tmp_path, path, message):
    (tmp_path / "folder").mkdir()
    write(tmp_path, "file.yaml", CLAIM)
    done = drasat("allocate", "-f", f"{tmp_path}/{path}")
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.splitlines()) == 1


def test_an_empty_path_is_not_the_current_folder(drasat, tmp_path, monkeypatch):
    """As from a variable of the shell that is not set."""
    write(tmp_path, "file.yaml", CLAIM)
    monkeypatch.chdir(tmp_path)
    assert drasat("allocate", "-f", "")[:] == (2, "", "drasat: '': a path is empty\n")
    assert drasat("allocate", "-f", ".").code == 1


def test_all_problems_of_all_files_come_in_one_run(drasat, tmp_path):
    paths = [write(tmp_path, name, content) for name, content, _ in REFUSED]
    done = drasat("allocate", *(word for path in paths for word in ("-f", path)))
    assert done.code == 2
    assert all(str(path) in done.err for path in paths)


def test_a_loop_of_links_is_walked_once(drasat, tmp_path):
    (tmp_path / "self").symlink_to(tmp_path)
    write(tmp_path, "c.yaml", CLAIM)
    done = drasat("allocate", "-f", tmp_path, "-R")
    assert done.code == 1
    assert "Duplicate" not in done.err


def test_a_kind_of_ours_in_another_api_is_ignored_with_that_api(drasat, tmp_path):
    other = "apiVersion: example.com/v1\nkind: {}\nmetadata: {{name: z}}\nspec: text\n"
    kinds = ["ResourceClaim", "DeviceClass", "ResourceClaimTemplate", "Node"]
    done = drasat("allocate", "-f", write(tmp_path, "o.yaml", "---\n".join(map(other.format, kinds))))
    assert done.code == 0
    assert done.err.startswith("drasat: ignored 4 objects of other kinds: 1 DeviceClass of example.com/v1, ")


@pytest.mark.parametrize("verb", ["allocate", "capacity", "compare", "explain", "plan", "show", "topology", "validate"])
def test_a_bomb_of_gzip_is_refused_before_it_is_unpacked(drasat, tmp_path, verb):
    bomb = write(tmp_path, "b.yaml", gzip.compress(b" " * (65 * 2**20)))
    done = drasat(verb, "-f", bomb)
    reason = f"{bomb}: unpacks to more than 64 MiB; --max-input-size raises the limit\n"
    assert done.code == 2
    assert reason in done.err + done.out
    assert "1 MiB" in drasat("validate", "-f", bomb, "--max-input-size", "1Mi").out
    assert drasat("validate", "-f", bomb, "--max-input-size", "0").err.startswith("drasat: --max-input-size: '0'")


def test_names_of_great_length_are_cut(drasat, tmp_path):
    done = drasat("allocate", "-f", write(tmp_path, "n.yaml", json.dumps({**NODE, "metadata": {"name": "x" * 10**6}})))
    assert done.code == 2
    assert "must be no more than 253 characters" in done.err
    assert len(done.err) < 3000


WRITING = [
    (("allocate", "-f", "whole-gpus", "--report"), ".html"),
    (("topology", "-f", "torus-topology", "--plot"), ".svg"),
    (("study", "-f", "study", "--study", "study/studies/budget.yaml", "-o"), ".csv"),
    (("snapshot", "-f", "whole-gpus", "-o"), ".json"),
]


@pytest.mark.parametrize(("words", "suffix"), WRITING, ids=[words[0] for words, _ in WRITING])
def test_a_file_that_cannot_be_written_is_said_before_anything_is_computed(
    drasat, examples, tmp_path, monkeypatch, words, suffix
):
    monkeypatch.chdir(examples)
    (tmp_path / f"folder{suffix}").mkdir()
    for name, reason in (("none/out", "there is no folder"), ("folder", "it is a folder")):
        done = drasat(*words, tmp_path / f"{name}{suffix}")
        assert (done.code, done.out) == (2, "")
        assert f"{name}{suffix}' cannot be written: {reason}" in done.err
        assert len(done.err.splitlines()) == 1
    assert [one.name for one in tmp_path.iterdir()] == [f"folder{suffix}"]
