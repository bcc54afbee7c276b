"""YAML documents: structure, duplicate keys, aliases, merges and places of errors."""

import pytest

from drasat.models.formats.errors import MAX_DEPTH, TOO_DEEP, Unreadable
from drasat.models.formats.yaml import MAX_ALIASED, MAX_YAML_BYTES, yaml_documents


def read(text: str):
    return list(yaml_documents(text.encode()))


def one(text: str):
    (value,) = read(text)
    return value


def reason(text: str) -> str:
    bad = [value for value in read(text) if isinstance(value, Unreadable)]
    ((_, told),) = bad[0].reasons
    return told


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param("a: 1", [{"a": 1}], id="one"),
        pytest.param("a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}], id="two"),
        pytest.param("---\na: 1\n...\n---\nb: 2\n...\n", [{"a": 1}, {"b": 2}], id="explicit-ends"),
        pytest.param("---\n---\na: 1", [None, {"a": 1}], id="empty-document"),
        pytest.param("# only a comment\n", [], id="comment"),
        pytest.param("", [], id="nothing"),
        pytest.param("%YAML 1.1\n---\na: yes", [{"a": True}], id="directive"),
        pytest.param("a: {b: [1, x, {c: ~}]}", [{"a": {"b": [1, "x", {"c": None}]}}], id="flow"),
        pytest.param("{a, b}", [{"a": None, "b": None}], id="flow-keys-alone"),
        pytest.param("? a\n: b", [{"a": "b"}], id="explicit-key"),
        pytest.param("- 1\n- ", [[1, None]], id="sequence"),
        pytest.param(
            "a: 'yes'\nb: \"1\"\nc: |\n  1\nd: >-\n  ~", [{"a": "yes", "b": "1", "c": "1\n", "d": "~"}], id="quoted"
        ),
        pytest.param("a: ''", [{"a": ""}], id="empty-string"),
        pytest.param("a: !!map {b: 1}\nc: !!seq [1]", [{"a": {"b": 1}, "c": [1]}], id="collection-tags"),
        pytest.param("1: a\nyes: b\n1.5: c", [{"1": "a", "true": "b", "1.5": "c"}], id="keys-that-are-no-strings"),
        pytest.param(
            "'1': a\n!!str 2: b\n!!binary aGk=: c", [{"1": "a", "2": "b", "hi": "c"}], id="quoted-and-tagged-keys"
        ),
    ],
)
def test_documents(text, values):
    assert read(text) == values


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("a: 1\nb: [1", "flow sequence of line 2", id="unclosed"),
        pytest.param("a: b: c", "line 1 column 5", id="second-colon"),
        pytest.param("a: 1\n\tb: 2", "line 2 column 1", id="tab"),
        pytest.param("a: @x", "cannot start any token", id="reserved-character"),
        pytest.param("a: 1\nb: \x07", "control characters are not allowed at line 2", id="control-character"),
        pytest.param('a: "\\ud800"', "invalid Unicode character escape", id="surrogate"),
        pytest.param("a: 1\n\nb: .nan", ".nan is not a finite number at line 3 column 4", id="nan"),
        pytest.param("a: " + "1" * 400, "number too large", id="400-digits"),
        pytest.param("a: !foo x", "unknown tag !foo at line 1 column 4", id="unknown-scalar-tag"),
        pytest.param("a: !foo {}", "unknown tag !foo", id="unknown-mapping-tag"),
        pytest.param("a: !!set {x}", "unknown tag !!set", id="set"),
        pytest.param("a: !!python/object/apply:os.system [ls]", "unknown tag !!python", id="python-object"),
        pytest.param("[a]: 1", "a key must be", id="list-as-key"),
        pytest.param("{a: 1}: 1", "a key must be", id="mapping-as-key"),
        pytest.param("~: 1", "a key must be", id="null-key"),
        pytest.param("a: *x", "anchor x is not defined at line 1 column 4", id="unknown-alias"),
        pytest.param("a: &x [*x]", "anchor x holds itself at line 1 column 8", id="cycle-in-list"),
        pytest.param("a: &x {b: {c: *x}}", "anchor x holds itself", id="cycle-in-mapping"),
        pytest.param("a: &x 1\n---\nb: *x", "anchor x is not defined", id="alias-into-another-document"),
        pytest.param("b: {<<: 3}", "<< needs a mapping", id="merge-of-a-number"),
        pytest.param("b: {<<: [~]}", "<< needs a mapping", id="merge-of-null"),
    ],
)
def test_bad_document_is_refused_with_its_place(text, told):
    assert told in reason(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("- " * (MAX_DEPTH + 1), id="block-lists"),
        pytest.param("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), id="flow-lists"),
        pytest.param("{a: " * (MAX_DEPTH + 1), id="flow-mappings"),
        pytest.param("[" * 100_000, id="very-deep"),
        pytest.param("\n".join(" " * level + "a:" for level in range(MAX_DEPTH + 2)), id="block-mappings"),
        pytest.param("? " * 100_000, id="keys-of-keys"),
    ],
)
def test_deep_nesting_is_refused(text):
    assert TOO_DEEP in reason(text)


def test_nesting_at_the_bound_is_read():
    assert isinstance(one("[" * MAX_DEPTH + "]" * MAX_DEPTH), list)


def test_depth_does_not_add_up_over_siblings():
    assert one("\n".join("- [[]]" for _ in range(MAX_DEPTH))) == [[[]]] * MAX_DEPTH


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: 1\na: 2", ['duplicate key "a" at line 2'], id="top"),
        pytest.param("a: {b: 1, b: 1}", ['duplicate key "b" at line 1'], id="flow"),
        pytest.param("1: a\n'1': b", ['duplicate key "1" at line 2'], id="number-and-string"),
        pytest.param("yes: a\n'true': b", ['duplicate key "true" at line 2'], id="boolean-and-string"),
        pytest.param(
            "a:\n  b: 1\n  b: 2\nc: 1\nc: 2", ['duplicate key "b" at line 3', 'duplicate key "c" at line 5'], id="two"
        ),
    ],
)
def test_duplicate_keys_are_all_told(text, expected):
    assert [told for _, told in one(text).reasons] == expected


def test_reading_goes_on_after_duplicates_and_after_errors():
    values = read("a: 1\n---\nb: 1\nb: 2\n---\nc: [\n---\n# ä\nd: *x\n---\ne: 5\n")
    assert [value if isinstance(value, dict) else value.reasons[0][1].partition(" at ")[2] for value in values] == [
        {"a": 1},
        "line 4",
        "line 7 column 1",
        "line 9 column 4",
        {"e": 5},
    ]


def test_many_bad_documents_end_the_reading():
    values = read("---\na: [\n" * 1000)
    assert len(values) < 50
    assert "not read further" in values[-1].reasons[0][1]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("a: &x 1\nb: *x", {"a": 1, "b": 1}, id="scalar"),
        pytest.param("a: &x {b: [1]}\nc: *x", {"a": {"b": [1]}, "c": {"b": [1]}}, id="mapping"),
        pytest.param("a: &x 1\nb: &x 2\nc: *x", {"a": 1, "b": 2, "c": 2}, id="defined-again"),
        pytest.param("&x a: 1\nb: *x", {"a": 1, "b": "a"}, id="anchored-key"),
        pytest.param("a: &x b\n*x : 1", {"a": "b", "b": 1}, id="alias-as-key"),
        pytest.param("a: &x\nb: *x", {"a": None, "b": None}, id="empty"),
    ],
)
def test_aliases(text, value):
    assert one(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("{<<: {x: 3}, x: 4}", {"x": 4}, id="own-key-after"),
        pytest.param("{x: 4, <<: {x: 3}}", {"x": 3}, id="own-key-before"),
        pytest.param("{<<: [{x: 1}, {x: 2, z: 3}]}", {"x": 1, "z": 3}, id="first-of-a-list-wins"),
        pytest.param("<<: {a: 1}\n<<: {b: 2}", {"a": 1, "b": 2}, id="two-merges"),
        pytest.param("{'<<': {x: 1}}", {"<<": {"x": 1}}, id="quoted-is-a-plain-key"),
        pytest.param("a: &a {b: 1}\nc: {<<: *a, d: 2}", {"a": {"b": 1}, "c": {"b": 1, "d": 2}}, id="alias"),
        pytest.param("a: <<", {"a": "<<"}, id="as-value"),
    ],
)
def test_merges_are_as_for_kubectl(text, value):
    """What stands later wins; of a list the first (recorded from sigs.k8s.io/yaml v1.6.0)."""
    assert one(text) == value


def test_own_key_twice_after_a_merge_is_a_duplicate():
    assert one("{<<: {x: 3}, x: 4, x: 5}").reasons == (("", 'duplicate key "x" at line 1'),)


def test_merge_leaves_the_merged_mapping_alone():
    assert one("a: &a {x: 1}\nb: {<<: *a, x: 2}")["a"] == {"x": 1}


def bomb(levels: int, width: int = 9) -> str:
    lines = [f"a0: &a0 [{', '.join(['x'] * width)}]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(lines)


def merge_bomb(levels: int) -> str:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}], k{n}: 1}}" for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(bomb(30), id="laughs"),
        pytest.param(merge_bomb(200), id="merges"),
        pytest.param(f"a: &a {'x' * (MAX_ALIASED // 50)}\nb: [" + "*a, " * 60 + "]", id="long-text"),
    ],
)
def test_alias_bombs_are_refused(text):
    assert "aliases repeat too much" in reason(text)


def test_many_small_aliases_are_fine():
    value = one("a: &a {type: {string: gpu}}\nb:\n" + "- *a\n" * 20_000)
    assert value["b"] == [{"type": {"string": "gpu"}}] * 20_000


def test_the_alias_budget_starts_anew_in_each_document():
    text = f"a: &a {'x' * (MAX_ALIASED // 3)}\nb: [*a, *a]"
    values = read(f"{text}\n---\n{text}")
    assert [len(value["b"]) for value in values] == [2, 2]


def test_files_beyond_the_bound_are_refused_at_once():
    (value,) = yaml_documents(b" " * (MAX_YAML_BYTES + 1))
    assert "write it as JSON" in value.reasons[0][1]


def test_equal_scalars_share_one_object():
    value = one("- {model: Ampere-A100-40GB}\n- {model: Ampere-A100-40GB}")
    assert value[0]["model"] is value[1]["model"]
