"""Kueue's kinds and its configuration from v1beta1 to the shape of v1beta2, and the configuration inside a ConfigMap.

Fields were renamed or moved. What v1beta2 has no more, such as the delay between retries of an AdmissionCheck, is not
read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..formats.errors import Unreadable
from ..formats.json import read_documents
from ..kubernetes.kinds import group_of
from ..kubernetes.kueue import KUEUE_GROUP
from ..kubernetes.kueue_configuration import CONFIGURATION_GROUP, CONFIGURATION_KEY, FINAL_SHARE, INITIAL_SHARE
from .conversion import Change, JsonObject, change_at, compose


def to_v1beta2(kind: str, version: str, mapping: JsonObject) -> JsonObject:
    """Give the mapping of one of Kueue's kinds in v1beta2 shape."""
    convert = _CONVERSIONS.get(kind) if version == "v1beta1" else None
    converted: JsonObject = convert(mapping) if convert else mapping
    return converted


def configuration_in(config_map: JsonObject) -> JsonObject | Unreadable | None:
    """The configuration that a ConfigMap holds, in v1beta2 shape; None if it holds another program's, or none."""
    data = config_map.get("data")
    text = data.get(CONFIGURATION_KEY) if isinstance(data, dict) else None
    if not isinstance(text, str) or CONFIGURATION_GROUP not in text:
        return None
    for document in read_documents(text.encode(), CONFIGURATION_KEY):
        if isinstance(document, Unreadable):
            place = f"data[{CONFIGURATION_KEY}]"
            return Unreadable(tuple((place, f"{field}: {why}" if field else why) for field, why in document.reasons))
        api_version = document.get("apiVersion") if isinstance(document, dict) else None
        if isinstance(api_version, str) and group_of(api_version) == CONFIGURATION_GROUP:
            return to_v1beta2("Configuration", api_version.rpartition("/")[2], document)
    return None


def _renamed(old: str, new: str) -> Change:
    """A field that has another name; nothing if it is not there."""

    def changed(value: Any) -> Any:
        if not isinstance(value, dict) or old not in value:
            return value
        return {**{name: inner for name, inner in value.items() if name != old}, new: value[old]}

    return changed


def _checks_as_strategy(spec: Any) -> Any:
    """Names of checks are rules without flavors, after those of the strategy."""
    names = spec.get("admissionChecks") if isinstance(spec, dict) else None
    if not isinstance(names, list) or not names:
        return spec
    strategy = spec.get("admissionChecksStrategy")
    strategy = strategy if isinstance(strategy, dict) else {}
    rules = [*(strategy.get("admissionChecks") or ()), *({"name": name} for name in names)]
    kept = {name: value for name, value in spec.items() if name != "admissionChecks"}
    return {**kept, "admissionChecksStrategy": {**strategy, "admissionChecks": rules}}


def _stops_search(value: Any) -> Any:
    """The old names of the values say what was tried before the search stops."""
    return "MayStopSearch" if value in ("Borrow", "Preempt") else value


_CLASS_KINDS = {
    "kueue.x-k8s.io/workloadpriorityclass": (KUEUE_GROUP, "WorkloadPriorityClass"),
    "scheduling.k8s.io/priorityclass": ("scheduling.k8s.io", "PriorityClass"),
}


def _class_as_reference(spec: Any) -> Any:
    """A class has its name and source in two fields; without a source it is no reference."""
    if not isinstance(spec, dict) or not spec.get("priorityClassName"):
        return spec
    source = spec.get("priorityClassSource")
    if not isinstance(source, str) or source not in _CLASS_KINDS:
        return spec
    group, kind = _CLASS_KINDS[source]
    reference = {"group": group, "kind": kind, "name": spec["priorityClassName"]}
    kept = {name: value for name, value in spec.items() if name not in ("priorityClassName", "priorityClassSource")}
    return {**kept, "priorityClassRef": reference}


def _without_disabled(field: str, filled: Mapping[str, Any]) -> Change:
    """A part of the configuration that counts only with ``enable``; then these lists are filled if they are empty."""

    def changed(value: Any) -> Any:
        part = value.get(field) if isinstance(value, dict) else None
        if not isinstance(part, dict):
            return value
        if part.get("enable") is not True:
            return {name: inner for name, inner in value.items() if name != field}
        return {**value, field: {**part, **{name: default for name, default in filled.items() if not part.get(name)}}}

    return changed


_CONVERSIONS: dict[str, Change] = {
    "ClusterQueue": change_at(
        "spec",
        compose(
            compose(_renamed("cohort", "cohortName"), _checks_as_strategy),
            compose(
                change_at("flavorFungibility.whenCanBorrow", _stops_search),
                change_at("flavorFungibility.whenCanPreempt", _stops_search),
            ),
        ),
    ),
    "Workload": compose(
        change_at("spec", _class_as_reference),
        change_at("status", _renamed("accumulatedPastExexcutionTimeSeconds", "accumulatedPastExecutionTimeSeconds")),
    ),
    "Configuration": compose(
        _without_disabled("fairSharing", {"preemptionStrategies": [FINAL_SHARE, INITIAL_SHARE]}),
        _without_disabled("waitForPodsReady", {}),
    ),
}
