"""Whatever the bytes are: manifests or problems, never an exception, never a hang."""

import gzip
import json
import tracemalloc

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.data import cases

from drasat.models.formats.errors import InputProblem
from drasat.models.kubernetes.published_fields import MOST_UNKNOWN
from drasat.models.manifests.reader import Manifest, read_manifests

VALID = cases("models/bad-input", "valid")
TEXTS = [
    *(json.dumps(document).encode() for document in VALID),
    json.dumps(VALID[3], indent=4).encode(),
    yaml.safe_dump_all(VALID).encode(),
    b"\n".join(json.dumps(document).encode() for document in VALID),
]
NASTY = [
    *(b"{", b"}", b"[", b"]", b'"', b"'", b":", b",", b"-", b"\n", b"\t", b" ", b"&a ", b"*a", b"<<: ", b"? ", b"!x "),
    *(b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\\ud800", b"\\u0000", b"NaN", b".nan", b"null", b"---\n"),
    *(
        b"1e999",
        b"9" * 400,
        b"true",
        b"%YAML",
        b"|\n",
        b"#",
        b"\x1f\x8b",
        b"\xc2\x85",
        b"{" * 300,
        b"- " * 300,
        b"[" * 2000,
    ),
]
SUFFIXES = [".json", ".yaml", "", ".json.gz"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bad")


def check(folder, data: bytes, suffix: str) -> tuple[list[Manifest], list[InputProblem]]:
    """Read bytes as a file: every document is a manifest or has a problem that prints on one line."""
    path = folder / f"f{suffix}"
    path.write_bytes(data)
    manifests, problems, _ = read_manifests([path])
    assert manifests or problems or data
    for problem in problems:
        assert isinstance(problem, InputProblem)
        assert str(problem).startswith(str(path))
        assert str(problem).isprintable()
        assert problem.message
    assert all(isinstance(manifest, Manifest) for manifest in manifests)
    return manifests, problems


FUZZ = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FUZZ
@given(data=st.binary(max_size=200), suffix=st.sampled_from(SUFFIXES))
def test_random_bytes(folder, data, suffix):
    check(folder, data, suffix)


@FUZZ
@given(
    parts=st.lists(st.sampled_from(NASTY) | st.text(max_size=4).map(str.encode), max_size=25),
    suffix=st.sampled_from(SUFFIXES),
)
def test_random_syntax(folder, parts, suffix):
    check(folder, b"".join(parts), suffix)


MUTATIONS = st.lists(
    st.tuples(st.integers(0, 10**6), st.integers(0, 6), st.sampled_from(NASTY)), min_size=1, max_size=4
)


@FUZZ
@given(text=st.sampled_from(TEXTS), mutations=MUTATIONS, suffix=st.sampled_from(SUFFIXES), packed=st.booleans())
def test_mutated_manifests(folder, text, mutations, suffix, packed):
    data = gzip.compress(text) if packed else text
    for place, dropped, inserted in mutations:
        at = place % (len(data) + 1)
        data = data[:at] + inserted + data[at + dropped :]
    check(folder, data, suffix)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**64), 2**65) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def replaced(value, path: list[int], junk):
    """Put junk at a place of a nested value; each number of the path chooses a child."""
    if not path or not isinstance(value, (dict, list)) or not value:
        return junk
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[path[0] % len(keys)]
    copied = value.copy()
    copied[key] = replaced(value[key], path[1:], junk)
    return copied


@FUZZ
@given(document=st.sampled_from(VALID), path=st.lists(st.integers(0, 50), min_size=1, max_size=7), junk=JUNK)
def test_junk_inside_valid_objects(folder, document, path, junk):
    """The three roads agree: an object in memory, JSON and YAML are all read, or all refused."""
    given_object = replaced(document, path, junk)
    manifests, problems, _ = read_manifests([given_object])
    assert all(str(problem).isprintable() for problem in problems)
    try:
        text = json.dumps(given_object, allow_nan=False).encode()
    except ValueError:
        assert problems
        return
    for suffix in (".json", ".yaml"):
        found, _ = check(folder, text, suffix)
        if not problems:
            assert [manifest.object for manifest in found] == [manifest.object for manifest in manifests]


def nested(opening: bytes, closing: bytes, depth: int = 50_000) -> bytes:
    return opening * depth + closing * depth


def alias_bomb() -> bytes:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40)]
    return "\n".join(lines).encode()


POD = b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},%s}'
BAD = [
    pytest.param(".yaml", alias_bomb(), "aliases repeat too much", id="alias-bomb"),
    pytest.param(".yaml", b"a: &a [*a]", "holds itself", id="cyclic-alias"),
    pytest.param(".json", nested(b"[", b"]"), "nested deeper", id="deep-json-lists"),
    pytest.param(".json", nested(b'{"a":', b"}"), "nested deeper", id="deep-json-objects"),
    pytest.param(".yaml", nested(b"[", b"]"), "nested deeper", id="deep-flow"),
    pytest.param(".yaml", b"- " * 50_000, "nested deeper", id="deep-block"),
    pytest.param(".json", POD % b'"spec":{"tolerations":{}}', "must be a list, not an object", id="wrong-type"),
    pytest.param(
        ".yaml", b"apiVersion: v1\nkind: Pod\nspec: [1]", "must be an object, not a list", id="wrong-type-yaml"
    ),
    pytest.param(".json", POD % b'"x":NaN', "invalid JSON", id="nan-json"),
    pytest.param(".yaml", b"apiVersion: v1\nkind: Pod\nx: .nan", "not a finite number", id="nan-yaml"),
    pytest.param(".json", POD % b'"kind":"Pod"', 'duplicate key "kind"', id="duplicate-json"),
    pytest.param(".yaml", b"kind: Pod\nkind: Pod", 'duplicate key "kind"', id="duplicate-yaml"),
    pytest.param(".json", POD % b'"x":"\xff"', "not valid UTF-8", id="utf-8-json"),
    pytest.param(".yaml", b"kind: \xff", "not valid UTF-8", id="utf-8-yaml"),
    pytest.param(".json", POD % b'"x":"\\ud800"', "surrogate", id="surrogate-json"),
    pytest.param(".yaml", b'kind: "\\ud800"', "invalid Unicode character", id="surrogate-yaml"),
    pytest.param(".json", POD % b'"x":"\xed\xa0\x80"', "not valid UTF-8", id="encoded-surrogate"),
    pytest.param(".json", POD % (b'"x":' + b"7" * 400), "number too large", id="400-digits-json"),
    pytest.param(".yaml", b"kind: " + b"7" * 400, "number too large", id="400-digits-yaml"),
    pytest.param(".yaml", b"kind: " + b"7" * 200_000, "number too large", id="200000-digits"),
    pytest.param(".json", POD % b'"x":1e400', "number too large", id="exponent"),
    pytest.param(".yaml", b"kind: !!python/object/apply:os.system [x]", "unknown tag", id="python-tag"),
    pytest.param(".json", b"", "is empty", id="empty"),
    pytest.param(".json", b"kind: Pod", "invalid JSON", id="yaml-in-json-file"),
    pytest.param(".yaml.gz", gzip.compress(b"kind: Pod")[:-4], "damaged gzip", id="truncated-gzip"),
    pytest.param(".json", b"\x00" * 10_000, "invalid JSON", id="nul-bytes-json"),
    pytest.param(".yaml", b"\x00" * 10_000, "control characters", id="nul-bytes-yaml"),
    pytest.param("", b"\x7fELF\x02\x01\x01\x00", "invalid YAML", id="binary"),
]


@pytest.mark.parametrize(("suffix", "data", "told"), BAD)
def test_named_bad_input_gets_one_clear_line(folder, suffix, data, told):
    manifests, problems = check(folder, data, suffix)
    assert manifests == []
    assert told in str(problems[0])
    assert len(str(problems[0])) < 400


def test_large_files_of_small_things_are_read(folder):
    """Neither quadratic nor recursive in the number of items, documents or keys."""
    many = 30_000
    small = b'{"apiVersion":"v1","kind":"Foo"}'
    for suffix, data in [
        (".json", small * many),
        (".json", b'{"apiVersion":"v1","kind":"List","items":[' + b",".join([small] * many) + b"]}"),
        (".yaml", b"---\n".join([b"apiVersion: v1\nkind: Foo\n"] * (many // 3))),
    ]:
        manifests, problems = check(folder, data, suffix)
        assert problems == []
        assert len(manifests) in (many, many // 3)


def test_very_many_unknown_fields_are_not_all_looked_for():
    """To find what each one means takes time, which a file must not decide about."""
    fields = {f"countx{number}": 1 for number in range(MOST_UNKNOWN)}
    claims = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": f"c{number}"},
            "spec": fields,
        }
        for number in range(200)
    ]
    _, problems, _ = read_manifests([claims])
    assert len(problems) == 10_001
    assert problems[-1].message == "unknown fields are not looked for after 10000 of them"


def test_items_of_a_json_list_never_exist_all_at_once(folder):
    """Parsed as a whole this text would take four times its size: each zero and comma becomes a pointer."""
    item = b'{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","x":[' + b"0," * 20_000 + b"0]}"
    data = b'{"apiVersion":"v1","kind":"List","items":[' + b",".join([item] * 400) + b"]}"
    tracemalloc.start()
    try:
        manifests, problems = check(folder, data, ".json")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert {problem.message for problem in problems} == {'unknown field "x"'}
    assert len(manifests) == 400
    assert peak < 2 * len(data)
