"""Requirements on labels and kubectl's selector syntax."""

import pytest
from support.data import cases

from drasat.models.kubernetes.meta import LabelError, Requirement, matches_labels, parse_int64, parse_label_selector

LABELS = {"app": "web", "tier": "front", "empty": "", "size": "12", "example.com/zone": "a"}


@pytest.mark.parametrize(("text", "expected"), cases("models/labels", "selector_on_labels"))
def test_selector_on_labels(text, expected):
    assert matches_labels(parse_label_selector(text), LABELS) is expected


@pytest.mark.parametrize(
    "text",
    [
        "a=b,",
        ",a=b",
        "a=b,,c=d",
        "a=b=c",
        "a in x,y",
        "a in (x",
        "a in x)",
        "a into (x)",
        "a b",
        "=b",
        "!",
        "!a=b",
        "a=b c",
        "-a=b",
        "a=-b",
        "a/b/c=d",
        "A.com/x=y",
        "a=" + "v" * 64,
        "a>b",
        "a>1.5",
        "a>",
        "a in (b c)",
        "é=b",
    ],
)
def test_what_kubectl_refuses(text):
    with pytest.raises(LabelError) as caught:
        parse_label_selector(text)
    assert "\n" not in str(caught.value)


def test_no_labels_at_all():
    assert matches_labels(parse_label_selector("!a"), None)
    assert not matches_labels(parse_label_selector("a"), None)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-3", -3),
        ("+5", 5),
        ("007", 7),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("", None),
        (" 1", None),
        ("1_000", None),
        ("1.0", None),
        ("0x1", None),
        ("٣", None),
        ("1" * 5000, None),
    ],
)
def test_integers_as_the_api_reads_them(text, number):
    assert parse_int64(text) == number


@pytest.mark.parametrize(
    ("operator", "values"),
    [
        ("In", ()),
        ("NotIn", ()),
        ("Exists", ("x",)),
        ("DoesNotExist", ("x",)),
        ("Gt", ()),
        ("Gt", ("1", "2")),
        ("Lt", ("many",)),
        ("In", ("not a value",)),
        ("Equals", ("x",)),
        ("in", ("x",)),
        ("", ("x",)),
    ],
)
def test_malformed_requirements(operator, values):
    with pytest.raises(LabelError):
        Requirement("key", operator, values).check()


@pytest.mark.parametrize("key", ["", "/x", "a/", "a b", "x" * 64, "example.com/", "Upper.com/x", "a/b/c"])
def test_malformed_keys(key):
    with pytest.raises(LabelError):
        Requirement(key, "Exists").check()


@pytest.mark.parametrize("key", ["a", "Upper_case.dotted-9", "x" * 63, "sub.example.com/name", "a/b"])
def test_well_formed_keys(key):
    Requirement(key, "Exists").check()
