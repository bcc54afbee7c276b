"""JSON Schemas of custom resources, from their fields as text: ``models/kubernetes/kueue_api.txt``."""

import re
from functools import cache
from pathlib import Path

TEXT = Path(__file__).resolve().parents[2] / "models" / "kubernetes" / "kueue_api.txt"
_LIMITS = {"minItems": int, "maxItems": int, "minLength": int, "maxLength": int, "minimum": int, "maxProperties": int}
_TYPES = {"integer": "integer", "string": "string", "object": "object", "array": "array", "map": "object"}
# Kinds of Kubernetes' own, which other tests check.
_OPEN = {"list of Condition": {"type": "array"}, "LabelSelector": {}, "int-or-string": {"type": ["integer", "string"]}}


@cache
def schema_of(api_version, kind):
    """The schema of a kind, without metadata; fields that it does not have are refused."""
    text = TEXT.read_text()
    head = re.escape(f"== {api_version} {kind} (")
    lines = re.search(rf"^{head}.*\n((?:(?!== ).+\n)*)", text, re.MULTILINE)[1].splitlines()
    whole = {"type": "object", "properties": {}, "additionalProperties": False}
    for name in ("apiVersion", "kind"):
        whole["properties"][name] = {"type": "string"}
    whole["properties"]["metadata"] = {"type": "object"}
    for line in lines:
        path, described = line.split(": ", 1)
        _insert(whole, path.split("."), described)
    return whole


def _insert(whole, path, described):
    place = whole
    for name in path[:-1]:
        place = place["properties"][re.sub(r"[\[{].*", "", name)]
        place = place.get("items", place)
    name, listed = re.match(r"(\w+)(\[\]|\{\})?$", path[-1]).groups()
    own, _, inner = described.partition("; ")
    made = _described(own)
    if listed == "[]":
        made["items"] = _described(inner.removeprefix("items ")) if inner else {}
    elif listed:
        values = _described(inner.removeprefix("values "))
        made |= {name: values.pop(name) for name in ("maxProperties",) if name in values}
        made["additionalProperties"] = values
    place.setdefault("properties", {})[name] = made
    if " required" in f" {own}":
        place.setdefault("required", []).append(name)


def _described(text):
    for name, made in _OPEN.items():
        if text.startswith(name):
            return dict(made)
    made = {"type": _TYPES[re.match(r"\w+", text)[0]]}
    if made["type"] == "object" and not text.startswith("map"):
        made["additionalProperties"] = False
    for name, read in _LIMITS.items():
        if found := re.search(rf"{name}=(\d+)", text):
            made[name] = read(found[1])
    if found := re.search(r'pattern="((?:[^"\\]|\\.)*)"', text):
        pattern = found[1].replace("\\\\", "\\")
        made["pattern"] = f"(?i){pattern.replace('(?i)', '')}" if "(?i)" in pattern else pattern
    if found := re.search(r"enum=(\[[^\]]*\])", text):
        made["enum"] = eval(found[1])
    return made
