"""No text, number or emptiness in any field makes validation fail."""

from collections.abc import Iterator

import pytest
from support.validation import ALLOCATED, BASES, COUNTERS, DROP, EXACTLY, SLICE, edited, typed

from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.validation.expressions import expressions
from drasat.models.validation.validate import validate_object

TEXTS = ["", " ", "\x00", "a\nb", "\ud800", "\u212a", "/", "//", "x" * 100_000, "9" * 5000, "-", "1e999999999"]
NUMBERS = [0, -1, 2**63 - 1, -(2**63)]
RICH_SLICE = edited(
    SLICE,
    {
        "spec devices 0": {
            "name": "gpu-0",
            "allowMultipleAllocations": True,
            "attributes": {"v": {"version": "1.0.0"}, "l": {"strings": ["a"]}},
            "capacity": {
                "m": {
                    "value": "8",
                    "requestPolicy": {"default": "1", "validRange": {"min": "1", "max": "8", "step": "1"}},
                },
                "n": {"value": "8", "requestPolicy": {"default": "1", "validValues": ["1", "2"]}},
            },
            "consumesCounters": [{"counterSet": "s", "counters": {"c": {"value": "1"}}}],
            "taints": [{"key": "a", "value": "b", "effect": "None", "timeAdded": "2026-01-31T09:00:00Z"}],
            "bindingConditions": ["a"],
            "bindingFailureConditions": ["b"],
        },
        "spec skipNodeOperations": ["*"],
    },
)
OBJECTS = [*BASES.items(), ("ResourceSlice", RICH_SLICE), ("ResourceSlice", COUNTERS), ("ResourceClaim", ALLOCATED)]


def leaves(value, path="") -> Iterator[tuple[str, object]]:
    """Every path of an object, with what is there."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        where = f"{path} {key}".strip()
        yield where, inner
        yield from leaves(inner, where)


def places(kind) -> list[tuple[dict, str, object]]:
    return [(base, path, inner) for name, base in OBJECTS if name == kind for path, inner in leaves(base)]


def check(kind, base, path, value) -> None:
    made = typed(kind, edited(base, {path: value}))
    for gates in (None, FeatureGates(frozenset())):
        for problem in validate_object(made, gates):
            assert str(problem).isprintable()
            assert len(str(problem)) < 2000
    assert all(path.isprintable() for path, _, _ in expressions(made))


@pytest.mark.parametrize("kind", BASES)
def test_any_text_is_endured(kind):
    for base, path, inner in places(kind):
        for text in TEXTS if isinstance(inner, str) else ():
            check(kind, base, path, text)


@pytest.mark.parametrize("kind", BASES)
def test_any_number_is_endured(kind):
    for base, path, inner in places(kind):
        for number in NUMBERS if type(inner) is int else ():
            check(kind, base, path, number)


@pytest.mark.parametrize("kind", BASES)
def test_any_missing_part_is_endured(kind):
    for base, path, inner in places(kind):
        parent = path.rpartition(" ")[2]
        if not parent.isdigit():
            check(kind, base, path, DROP)
        if isinstance(inner, dict | list):
            check(kind, base, path, type(inner)())


@pytest.mark.parametrize("text", TEXTS[:-1], ids=range(len(TEXTS) - 1))
def test_any_key_is_endured(text):
    for part, value in (("attributes", {"int": 1}), ("capacity", {"value": "1"})):
        made = edited(SLICE, {})
        made["spec"]["devices"][0][part] = {text: value}
        problems = validate_object(typed("ResourceSlice", made))
        assert problems
        assert all(str(problem).isprintable() for problem in problems)


def test_empty_object_of_every_kind_is_endured():
    # A Configuration is a file, which has no name.
    for kind in BASES.keys() - {"Configuration"}:
        assert any(problem.path == "metadata.name" for problem in validate_object(typed(kind, {})))


def test_huge_lists_take_linear_time():
    """A slice of thousands of names, references or conditions must not be compared pair by pair."""
    names = [f"n{number}" for number in range(20_000)]
    exactly = {**EXACTLY, "derivedAttributes": [{"name": "a/b", "expression": "1"}]}
    requests = [{"name": name, "exactly": exactly} for name in names]
    constraints = [{"matchAttribute": "x/y", "requests": [name]} for name in names]
    claim = edited(BASES["ResourceClaim"], {"spec devices": {"requests": requests, "constraints": constraints}})
    assert len(validate_object(typed("ResourceClaim", claim))) == len(names) + 2
    device = {"name": "d", "attributes": {name: {"int": 1} for name in names}, "bindingConditions": names}
    made = edited(SLICE, {"spec devices": [device | {"bindingFailureConditions": names}]})
    assert len(validate_object(typed("ResourceSlice", made))) == len(names) + 4
