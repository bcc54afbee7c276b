"""What the schemas of Kueue's kinds and of ProvisioningRequest demand, in the words of the API server.

The schemas are in ``models/kubernetes/schemas``. Their CEL rules are few, so each is a predicate here. Rules over
``oldSelf`` need the object before a change, and hold for one that is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from ..kubernetes.meta import byte_length
from ..kubernetes.schemas import FieldSchema, kueue_schemas
from .findings import FieldProblem, Findings, Path, compact_json, quote, render_path

# Longer texts than any limit are not matched with a pattern.
_LONGEST_MATCHED = 1024
_MOST_PROBLEMS = 100


def schema_problems(kind: str, api_version: str, mapping: Mapping[str, Any]) -> list[FieldProblem]:
    """What is wrong with an object by the schema of its version, at most 100 problems; none for other kinds.

    Values of a wrong type are not looked at: reading names them.
    """
    schema = kueue_schemas().get(f"{api_version}/{kind}")
    if schema is None:
        return []
    found = Findings()
    for _ in _check(found, (), schema, mapping):
        if len(found.problems) >= _MOST_PROBLEMS:
            break
    return found.problems


def _check(found: Findings, path: Path, schema: FieldSchema, value: Any) -> Iterator[None]:
    """Report what is wrong with a value; yields after each field so that the caller can stop."""
    if isinstance(value, Mapping) and schema.type in ("object", "map"):
        _check_count(found, path, schema, value, "properties")
        if schema.type == "map" and schema.items is not None:
            for key, inner in value.items():
                yield from _check(found, (*path, key), schema.items, inner)
        for name, field in schema.fields.items():
            inner = value.get(name)
            if inner is not None:
                yield from _check(found, (*path, name), field, inner)
            elif field.required and "default" not in field.limits:
                found.required((*path, name))
    elif isinstance(value, list) and schema.type == "array":
        _check_count(found, path, schema, value, "items")
        _check_unique(found, path, schema, value)
        for index, inner in enumerate(value):
            if schema.items is not None and inner is not None:
                yield from _check(found, (*path, index), schema.items, inner)
    elif isinstance(value, str) and schema.type in ("string", "int-or-string"):
        _check_text(found, path, schema.limits, value)
    elif isinstance(value, int) and schema.type == "integer" and not isinstance(value, bool):
        _check_number(found, path, schema.limits, value)
    for rule in schema.rules:
        if rule in _RULES and isinstance(value, Mapping | list):
            holds, message = _RULES[rule]
            if not _evaluates_to_true(holds, value):
                shown = '"object"' if isinstance(value, Mapping) else '"array"'
                found.error(path, f"Invalid value: {shown}: {message}")
    yield


def _check_count(found: Findings, path: Path, schema: FieldSchema, value: Any, unit: str) -> None:
    most, least = schema.limits.get(f"max{unit.capitalize()}"), schema.limits.get(f"min{unit.capitalize()}")
    if most is not None and len(value) > most:
        found.too_many(path, len(value), most)
    if least is not None and len(value) < least:
        found.invalid(path, len(value), f"{render_path(path)} in body should have at least {least} {unit}")


def _check_unique(found: Findings, path: Path, schema: FieldSchema, value: list[Any]) -> None:
    keys = schema.limits.get("keys")
    if not keys and not schema.unique:
        return
    names = keys.split(",") if keys else []
    seen: set[str] = set()
    for index, item in enumerate(value):
        if names and not isinstance(item, Mapping):
            continue
        # An entry without its key has the default one.
        own = {name: item.get(name, _default_of(schema, name)) for name in names} if names else item
        text = compact_json(own)
        if text in seen:
            found.duplicate((*path, index), own)
        seen.add(text)


def _default_of(schema: FieldSchema, name: str) -> Any:
    field = schema.items.fields.get(name) if schema.items is not None else None
    return field.limits.get("default") if field is not None else None


def _check_text(found: Findings, path: Path, limits: Mapping[str, Any], text: str) -> None:
    most, least, pattern = limits.get("maxLength"), limits.get("minLength"), limits.get("pattern")
    choices = limits.get("enum")
    if most is not None and byte_length(text) > most:
        found.too_long(path, most)
    elif least is not None and len(text) < least:
        found.invalid(path, text, f"{render_path(path)} in body should be at least {least} chars long")
    elif pattern is not None and not (len(text) <= _LONGEST_MATCHED and _pattern(pattern).fullmatch(text)):
        found.invalid(path, text, f"{render_path(path)} in body should match '{pattern}'")
    if choices is not None and text not in choices:
        listed = ", ".join(map(quote, choices))
        found.error(path, f"Unsupported value: {quote(text)}: supported values: {listed}")


@lru_cache(64)
def _pattern(text: str) -> re.Pattern[str]:
    """A pattern of Go's, of the whole text: its flags stand anywhere."""
    flags = re.IGNORECASE if "(?i)" in text else re.NOFLAG
    return re.compile(text.replace("(?i)", "").removeprefix("^").removesuffix("$"), flags | re.ASCII)


def _check_number(found: Findings, path: Path, limits: Mapping[str, Any], number: int) -> None:
    least = limits.get("minimum")
    if least is not None and number < least:
        found.invalid(path, number, f"{render_path(path)} in body should be greater than or equal to {least}")
    if limits.get("format") == "int32" and not -(2**31) <= number < 2**31:
        found.invalid(path, number, f"{render_path(path)} in body should be of type int32")


def _evaluates_to_true(holds: Callable[[Any], bool], value: Any) -> bool:
    """Where parts have a wrong type a rule says nothing: reading has named them."""
    try:
        return holds(value)
    except (AttributeError, TypeError, KeyError, IndexError):
        return True


def _items(value: Any, name: str) -> list[Any]:
    return value.get(name) or []


def _borrows_without_parent(spec: Any, parent: str) -> bool:
    return parent not in spec and any(
        "borrowingLimit" in resource
        for group in _items(spec, "resourceGroups")
        for flavor in _items(group, "flavors")
        for resource in _items(flavor, "resources")
    )


def _preference_fits(value: Any) -> bool:
    can = value.get("whenCanBorrow", "MayStopSearch"), value.get("whenCanPreempt", "TryNextFlavor")
    return "preference" not in value or can == ("TryNextFlavor", "TryNextFlavor")


def _preemption_fits(value: Any) -> bool:
    policy: str = value.get("borrowWithinCohort", {}).get("policy", "Never")
    reclaim: str = value.get("reclaimWithinCohort", "Never")
    return reclaim != "Never" or policy == "Never"


def _labels(levels: Any) -> list[str]:
    return [level["nodeLabel"] for level in levels]


_HOST_NAME = "kubernetes.io/hostname"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_EFFECT_TEXT = "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"
_LIMIT_TEXT = "borrowingLimit must be nil when cohort is empty"
_Rule = tuple[Callable[[Any], bool], str]
_RULES: dict[str, _Rule] = {
    "!has(self.cohort) && has(self.resourceGroups) ? self.resourceGroups.all(rg, rg.flavors.all(f, "
    "f.resources.all(r, !has(r.borrowingLimit)))) : true": (
        lambda spec: not _borrows_without_parent(spec, "cohort"),
        _LIMIT_TEXT,
    ),
    "!has(self.cohortName) && has(self.resourceGroups) ? self.resourceGroups.all(rg, rg.flavors.all(f, "
    "f.resources.all(r, !has(r.borrowingLimit)))) : true": (
        lambda spec: not _borrows_without_parent(spec, "cohortName"),
        _LIMIT_TEXT,
    ),
    "!has(self.preference) || (self.whenCanBorrow == 'TryNextFlavor' && self.whenCanPreempt == 'TryNextFlavor')": (
        _preference_fits,
        "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor",
    ),
    "!(self.reclaimWithinCohort == 'Never' && has(self.borrowWithinCohort) &&  "
    "self.borrowWithinCohort.policy != 'Never')": (
        _preemption_fits,
        "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
    ),
    "self.flavors.all(x, size(x.resources) == size(self.coveredResources))": (
        lambda group: all(len(one["resources"]) == len(group["coveredResources"]) for one in group["flavors"]),
        "flavors must have the same number of resources as the coveredResources",
    ),
    "!has(self.topologyName) || self.nodeLabels.size() >= 1": (
        lambda spec: "topologyName" not in spec or len(spec.get("nodeLabels") or {}) >= 1,
        "at least one nodeLabel is required when topology is set",
    ),
    "self.all(x, x.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])": (
        lambda taints: all(one["effect"] in _EFFECTS for one in taints),
        _EFFECT_TEXT,
    ),
    "self.all(x, !has(x.key) ? x.operator == 'Exists' : true)": (
        lambda tolerations: all("key" in one or one.get("operator") == "Exists" for one in tolerations),
        "operator must be Exists when 'key' is empty, which means 'match all values and all keys'",
    ),
    "self.all(x, has(x.tolerationSeconds) ? x.effect == 'NoExecute' : true)": (
        lambda tolerations: all(
            "tolerationSeconds" not in one or one.get("effect") == "NoExecute" for one in tolerations
        ),
        "effect must be 'NoExecute' when 'tolerationSeconds' is set",
    ),
    "self.all(x, !has(x.operator) || x.operator in ['Equal', 'Exists'])": (
        lambda tolerations: all(one.get("operator", "Equal") in ("Equal", "Exists") for one in tolerations),
        "supported toleration values: 'Equal'(default), 'Exists'",
    ),
    "self.all(x, has(x.operator) && x.operator == 'Exists' ? !has(x.value) : true)": (
        lambda tolerations: all(one.get("operator") != "Exists" or "value" not in one for one in tolerations),
        "a value must be empty when 'operator' is 'Exists'",
    ),
    "self.all(x, !has(x.effect) || x.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])": (
        lambda tolerations: all("effect" not in one or one["effect"] in _EFFECTS for one in tolerations),
        _EFFECT_TEXT,
    ),
    "size(self.filter(i, size(self.filter(j, j == i)) > 1)) == 0": (
        lambda levels: len(set(_labels(levels))) == len(levels),
        "must be unique",
    ),
    "size(self.filter(i, i.nodeLabel == 'kubernetes.io/hostname')) == 0 || "
    "self[size(self) - 1].nodeLabel == 'kubernetes.io/hostname'": (
        lambda levels: _HOST_NAME not in _labels(levels) or _labels(levels)[-1] == _HOST_NAME,
        "the kubernetes.io/hostname label can only be used at the lowest level of topology",
    ),
    "has(self.priorityClassName) ? has(self.priority) : true": (
        lambda spec: "priorityClassName" not in spec or "priority" in spec,
        "priority should not be nil when priorityClassName is set",
    ),
    "!has(self.priorityClassRef) || has(self.priority)": (
        lambda spec: "priorityClassRef" not in spec or "priority" in spec,
        "priority should not be nil when priorityClassRef is set",
    ),
    "has(self.minCount) ? self.minCount <= self.count : true": (
        lambda one: "minCount" not in one or one["minCount"] <= one.get("count", 1),
        "minCount should be positive and less or equal to count",
    ),
    "(self.group == 'scheduling.k8s.io') ? self.kind == 'PriorityClass' : true": (
        lambda one: one["group"] != "scheduling.k8s.io" or one["kind"] == "PriorityClass",
        "only PriorityClass is allowed for the scheduling.k8s.io group",
    ),
    "(self.group == 'kueue.x-k8s.io') ? self.kind == 'WorkloadPriorityClass' : true": (
        lambda one: one["group"] != "kueue.x-k8s.io" or one["kind"] == "WorkloadPriorityClass",
        "only WorkloadPriorityClass is allowed for the kueue.x-k8s.io group",
    ),
    "!has(self.clusterName) || (!has(self.nominatedClusterNames) || (has(self.nominatedClusterNames) && "
    "size(self.nominatedClusterNames) == 0))": (
        lambda status: "clusterName" not in status or not status.get("nominatedClusterNames"),
        "clusterName and nominatedClusterNames are mutually exclusive",
    ),
    "self.slices.all(x, size(x.valuesPerLevel) == size(self.levels))": (
        lambda one: all(len(part["valuesPerLevel"]) == len(one["levels"]) for part in one["slices"]),
        "valuesPerLevel must have the same number of elements as levels",
    ),
    "!has(self.podCounts.individual) || size(self.podCounts.individual) == self.domainCount": (
        lambda one: len(one["podCounts"].get("individual") or range(one["domainCount"])) == one["domainCount"],
        "podCounts.individual must have domainCount elements",
    ),
    "self.valuesPerLevel.all(x, !has(x.individual) || size(x.individual.roots) == self.domainCount)": (
        lambda one: all(
            "individual" not in part or len(part["individual"]["roots"]) == one["domainCount"]
            for part in one["valuesPerLevel"]
        ),
        "individual.roots must have domainCount elements",
    ),
    "[has(self.universal),has(self.individual)].filter(x,x==true).size() == 1": (
        lambda one: ("universal" in one) != ("individual" in one),
        "exactly one of universal and individual must be set",
    ),
    "has(self.universal) != has(self.individual)": (
        lambda one: ("universal" in one) != ("individual" in one),
        "exactly one of universal and individual must be set",
    ),
}
