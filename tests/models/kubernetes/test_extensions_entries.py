"""Entries in annotations: read strictly, within bounds, once for each text."""

import json

import pytest
from support.model_objects import from_template, pod, template

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import CELDeviceConstraint, ResourceClaim
from drasat.models.kubernetes.extensions import (
    CONSTRAINTS_ANNOTATION,
    CONSTRAINTS_TEXT_MAX,
    Entry,
    EntryError,
    TopologyRequest,
    annotated_entries,
)
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.manifests.reader import read_manifests
from drasat.models.workload.requested import requested_units

AT = f"metadata.annotations[{CONSTRAINTS_ANNOTATION}]"
BOMB = "[&a [x, x, x, x, x, x, x, x, x, x]" + "".join(
    f", &{name} [{', '.join([f'*{last}'] * 10)}]" for last, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def entries(text):
    return annotated_entries(ObjectMeta(annotations={CONSTRAINTS_ANNOTATION: text}))


def claim(text, kind="ResourceClaim", **spec):
    metadata = {"name": "c", "annotations": {CONSTRAINTS_ANNOTATION: text}}
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def refusals(*mappings):
    manifests, problems, _ = read_manifests(mappings)
    assert len(manifests) + len({str(problem.source) for problem in problems}) == len(mappings)
    return [f"{problem.field}: {problem.message}" for problem in problems]


def test_yaml_and_json_are_the_same():
    """SOFT-1."""
    expected = (
        Entry(name="near", requests=("gpu", "nic"), weight=10, match_attribute="a.b/root", per="Pair"),
        Entry(cel=CELDeviceConstraint(expression="size(devices) == 2")),
        Entry(topology=TopologyRequest(name="grid", shape="Box", size=(2, 2), orientation="Fixed")),
    )
    text = """
    - {name: near, requests: [gpu, nic], weight: 10, matchAttribute: a.b/root, per: Pair}
    - cel: {expression: "size(devices) == 2"}
    - topology:
        name: grid
        shape: Box
        size: [2, 2]
        orientation: Fixed
    """
    assert entries(text) == expected
    plain = [
        {"name": "near", "requests": ["gpu", "nic"], "weight": 10, "matchAttribute": "a.b/root", "per": "Pair"},
        {"cel": {"expression": "size(devices) == 2"}},
        {"topology": {"name": "grid", "shape": "Box", "size": [2, 2], "orientation": "Fixed"}},
    ]
    assert entries(json.dumps(plain)) == entries(json.dumps(plain, indent=1)) == expected


@pytest.mark.parametrize("text", ["", "\n", "# nothing", "[]", "null", "---\n[]"])
def test_nothing_is_no_entries(text):
    assert entries(text) == ()


def test_without_the_annotation_there_are_none():
    assert annotated_entries(ObjectMeta()) == annotated_entries(ObjectMeta(annotations={"a": "["})) == ()


def test_equal_texts_are_read_once():
    text = "- {matchAttribute: a.b/c, weight: 3}"
    assert entries(text) is entries(text)


def test_json_escapes_and_flow_style():
    assert entries(r'[{"name": "\ud83d\ude00\/"}]') == (Entry(name="\N{GRINNING FACE}/"),)
    assert entries("[{name: a, requests: [b]}]") == (Entry(name="a", requests=("b",)),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("- {weight: heavy}", "[0].weight: Invalid value: ...must be an integer, not a string", id="type"),
        pytest.param("- {weight: 1.5}", "[0].weight: Invalid value: 1.5: must be an integer", id="fraction"),
        pytest.param("- {weight: true}", "[0].weight: Invalid value: true: must be an integer", id="boolean"),
        pytest.param("- {}\n- {requests: gpu}", "[1].requests: Invalid value: ...must be a list", id="second"),
        pytest.param("- {wieght: 3}", "[0].wieght: Forbidden: unknown field, known are: ...weight", id="misspelt"),
        pytest.param("- {cel: {expresion: x}}", "[0].cel.expresion: Forbidden: unknown field", id="nested"),
        pytest.param(
            "- {matchSemantics: {mode: Identical, options: {identical: {mode: x}}}}",
            "[0].matchSemantics.options.identical.mode: Forbidden: unknown field",
            id="options",
        ),
        pytest.param("- near", '[0]: Invalid value: "near": must be an object', id="no-object"),
        pytest.param("- null", "[0]: Invalid value: null: must be an object", id="null"),
        pytest.param("{name: a}", ": Invalid value: must be a list of entries", id="no-list"),
        pytest.param("near", ": Invalid value: must be a list of entries", id="scalar"),
        pytest.param("[]\n---\n[]", ": Invalid value: must be one document", id="documents"),
        pytest.param("- {name: a, name: b}", ': duplicate key "name" at line 1', id="duplicate"),
        pytest.param('[{"name": "a", "name": "b"}]', ": duplicate key", id="json-duplicate"),
        pytest.param("- [", ": invalid YAML: ", id="syntax"),
        pytest.param("[" * 300 + "]" * 300, ": nested deeper than 250 levels", id="deep"),
        pytest.param(BOMB + "]", ": aliases repeat too much", id="aliases"),
        pytest.param("- &a [*a]", ": anchor a holds itself", id="loop"),
        pytest.param(
            f"- {{name: {'x' * CONSTRAINTS_TEXT_MAX}}}",
            f": Too long: may not be more than {CONSTRAINTS_TEXT_MAX} bytes",
            id="long",
        ),
        pytest.param("- {name: !!python/object:os.system x}", ": unknown tag", id="tag"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text, expected):
    field, *parts = expected.split("...")
    (told,) = refusals(claim(text))
    assert told.startswith(AT + field)
    assert all(part in told for part in parts)
    with pytest.raises(EntryError) as caught:
        entries(text)
    assert str(caught.value) == told


def test_everything_that_is_wrong_is_told():
    found = refusals(claim("- {weight: x, per: 1}\n- {who: 1, weight: []}"))
    assert [line.split(":")[0].removeprefix(AT) for line in found] == ["[0].weight", "[0].per", "[1].weight", "[1].who"]


def test_templates_are_read_in_both_places():
    inner = {"metadata": {"annotations": {CONSTRAINTS_ANNOTATION: "- x"}}}
    found = refusals(claim("- y", "ResourceClaimTemplate", **inner))
    assert [line.split(": ")[0] for line in found] == [f"{AT}[0]", f"spec.{AT}[0]"]


def test_other_kinds_and_annotations_are_left_alone():
    assert refusals(claim("- y", "Pod")) == []
    assert refusals({**claim("[]"), "metadata": {"name": "c", "annotations": {"other": "- y"}}}) == []


def generated(*objects):
    """The claims of pods."""
    found = requested_units(Cluster.of(objects))
    return [annotated_entries(ref.claim.metadata) for unit in found for ref in unit.claims]


def test_claims_made_from_a_template_have_its_entries():
    text = "- {weight: 1, matchAttribute: a.b/c}"
    copied = template(annotations={CONSTRAINTS_ANNOTATION: text})
    own = template("own")
    annotated = ObjectMeta(name="own", namespace="default", annotations={CONSTRAINTS_ANNOTATION: text, "other": "x"})
    own = type(own)(metadata=annotated, spec=own.spec)
    by_copy, by_own = generated(copied, own, pod("p", from_template("a"), from_template("b", "own")))
    assert by_copy == by_own == entries(text)


def test_only_our_annotation_of_the_template_itself_is_copied():
    own = ResourceClaim(metadata=ObjectMeta(annotations={CONSTRAINTS_ANNOTATION: "[]", "other": "x"}))
    made = template()
    made = type(made)(metadata=ObjectMeta(name="t", annotations=own.metadata.annotations), spec=made.spec)
    (unit,) = requested_units(Cluster.of([made, pod("p", from_template("a"))]))
    assert set(unit.claims[0].claim.metadata.annotations) == {
        CONSTRAINTS_ANNOTATION,
        "resource.kubernetes.io/pod-claim-name",
    }
