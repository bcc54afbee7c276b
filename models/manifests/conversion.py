"""Mappings of older API versions to v1 (VER-1 to VER-5), Kueue's to v1beta2, and what the API server fills in (CLM-1).

A conversion copies and changes only what differs. A value of the wrong type stays where it is, so that ``decode`` names
it. List attributes as KEP-5491 first spelled them, ``list: {string: [...]}``, become ``strings: [...]`` (SEM-8).
Objects with nothing but a ``generateName``, such as pods of a Job, get a name. What v1beta2 of Kueue has no more, such
as the delay between retries of an AdmissionCheck, is not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from ..formats.errors import Unreadable
from ..formats.json import read_documents
from ..kubernetes.claims import (
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
)
from ..kubernetes.kinds import ApiObject, group_of, kind_of
from ..kubernetes.kueue import KUEUE_GROUP
from ..kubernetes.kueue_configuration import CONFIGURATION_GROUP, CONFIGURATION_KEY, FINAL_SHARE, INITIAL_SHARE
from ..kubernetes.meta import DEFAULT_NAMESPACE
from ..kubernetes.slices import DeviceAttribute

JsonObject = dict[str, Any]
Change = Callable[[Any], Any]
_FLAT_FIELDS = tuple(field.encode_name for field in msgspec.structs.fields(ExactDeviceRequest))
_REQUEST_FIELDS = tuple(
    field.encode_name for field in msgspec.structs.fields(DeviceRequest) if field.encode_name != "exactly"
)


class ConversionError(ValueError):
    """A field of an older version has no meaning in v1."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


def to_v1(kind: str, version: str, mapping: JsonObject) -> JsonObject:
    """Give the mapping in v1 shape. Raises ConversionError for what v1 cannot express."""
    convert = _CONVERSIONS.get((version, kind))
    converted: JsonObject = convert(mapping) if convert else mapping
    return converted


def change_at(path: str, change: Change) -> Change:
    """Make a change of the field at a path; ``[]`` after a name means each item of that list."""
    name, _, rest = path.partition(".")
    inner = change_at(rest, change) if rest else change
    if name.endswith("[]"):
        name, inner = name[:-2], _change_each(inner)

    def changed(value: Any) -> Any:
        if not isinstance(value, dict) or value.get(name) is None:
            return value
        return {**value, name: inner(value[name])}

    return changed


def _change_each(change: Change) -> Change:
    return lambda value: [change(item) for item in value] if isinstance(value, list) else value


def compose(first: Change, second: Change) -> Change:
    """One change after the other."""
    return lambda value: second(first(value))


def _without_empty_selection(spec: Any) -> Any:
    """VER-2: an empty node name and a false ``allNodes`` mean that the field is not set."""
    if not isinstance(spec, dict):
        return spec
    return {
        name: value
        for name, value in spec.items()
        if not (name == "nodeName" and value == "") and not (name == "allNodes" and value is False)
    }


def _unwrap_device(device: Any) -> Any:
    """VER-2: what describes a device stands in ``basic``."""
    if not isinstance(device, dict):
        return device
    basic = device.get("basic")
    if not isinstance(basic, dict | None):
        return basic
    named = {"name": device["name"]} if "name" in device else {}
    return {**(basic or {}), **named}


def _wrap_capacities(device: Any) -> Any:
    """VER-4: capacities are bare quantities."""

    def wrapped(capacities: Any) -> Any:
        if not isinstance(capacities, dict):
            return capacities
        return {name: {"value": value} for name, value in capacities.items()}

    return change_at("capacity", wrapped)(device)


def _nest_request(request: Any) -> Any:
    """VER-3: any field of an exact request, standing in the request itself, makes it exact."""
    if not isinstance(request, dict):
        return request
    kept = {name: request[name] for name in _REQUEST_FIELDS if name in request}
    flat = {name: request[name] for name in _FLAT_FIELDS if name in request}
    return {**kept, "exactly": flat} if any(map(_is_set, flat.values())) else kept


def _is_set(value: Any) -> bool:
    """Tell a field that was written from Go's zero values; a false pointer counts as written."""
    return value is not None and value != "" and (value != 0 or value is False)


def _check_taint_rule(rule: Any) -> Any:
    """DeviceTaintRule lost two fields in 1.35; without them a rule would taint more devices."""
    spec = rule.get("spec")
    selector = spec.get("deviceSelector") if isinstance(spec, dict) else None
    for name in ("deviceClassName", "selectors"):
        if isinstance(selector, dict) and selector.get(name):
            reason = "Forbidden: dropped in Kubernetes 1.35; without it the rule taints more devices"
            raise ConversionError(f"spec.deviceSelector.{name}", reason)
    return rule


_SLICE_SPEC = change_at("spec", _without_empty_selection)
_DEVICES = "spec.devices[]"
_REQUESTS = "spec.devices.requests[]"
_CONVERSIONS: dict[tuple[str, str], Change] = {
    ("v1beta1", "ResourceSlice"): compose(_SLICE_SPEC, change_at(_DEVICES, _unwrap_device)),
    ("v1alpha3", "ResourceSlice"): compose(_SLICE_SPEC, change_at(_DEVICES, compose(_unwrap_device, _wrap_capacities))),
    ("v1alpha3", "DeviceTaintRule"): _check_taint_rule,
} | {
    (version, kind): change_at(path, _nest_request)
    for version in ("v1beta1", "v1alpha3")
    for kind, path in (("ResourceClaim", _REQUESTS), ("ResourceClaimTemplate", f"spec.{_REQUESTS}"))
}
T = TypeVar("T")
Exact = TypeVar("Exact", ExactDeviceRequest, DeviceSubRequest)
_FLAT_VERSIONS = frozenset({"v1beta1", "v1alpha3"})


def with_defaults(read: ApiObject, version: str = "v1") -> ApiObject:
    """Give the object as the API server would store it; ``version`` is the one it was written in (VER-3).

    Filled in are the namespace ``default``, and in claims and templates allocation mode, count and
    the operator of tolerations. The time of a taint is not: it would be the time of reading.
    """
    if not read.metadata.namespace and kind_of(type(read)).namespaced:
        read = replace(read, metadata=replace(read.metadata, namespace=DEFAULT_NAMESPACE))
    if isinstance(read, ResourceClaim):
        status = read.status
        if status is not None and status.allocation is not None:
            devices = status.allocation.devices
            devices = replace(devices, results=_fill_each(devices.results, _default_result))
            status = replace(status, allocation=replace(status.allocation, devices=devices))
        return replace(read, spec=spec_with_defaults(read.spec, version in _FLAT_VERSIONS), status=status)
    if isinstance(read, ResourceClaimTemplate):
        spec = replace(read.spec, spec=spec_with_defaults(read.spec.spec, version in _FLAT_VERSIONS))
        return replace(read, spec=spec)
    return read


def spec_with_defaults(spec: ResourceClaimSpec, flat: bool = False) -> ResourceClaimSpec:
    """Fill in a claim's spec; ``flat`` says that its requests were written in the form of VER-3."""
    requests = _fill_each(spec.devices.requests, lambda request: _default_request(request, flat))
    return replace(spec, devices=replace(spec.devices, requests=requests))


def _default_request(request: DeviceRequest, flat: bool) -> DeviceRequest:
    exactly = request.exactly
    # A flat request without a class may be a list of alternatives, so nothing is filled in (VER-3).
    if exactly is not None and (exactly.device_class_name or not flat):
        exactly = _default_count(exactly)
    return replace(request, exactly=exactly, first_available=_fill_each(request.first_available, _default_count))


def _default_count(request: Exact) -> Exact:
    """Fill in a request or alternative; a count of 0 counts as absent, as it does in Go."""
    mode = request.allocation_mode or "ExactCount"
    count = (request.count or 1) if mode == "ExactCount" else request.count
    return replace(
        request, allocation_mode=mode, count=count, tolerations=_fill_each(request.tolerations, _default_toleration)
    )


def _default_toleration(toleration: DeviceToleration) -> DeviceToleration:
    return toleration if toleration.operator else replace(toleration, operator="Equal")


def _default_result(result: DeviceRequestAllocationResult) -> DeviceRequestAllocationResult:
    tolerations = _fill_each(result.tolerations, _default_toleration)
    return replace(result, tolerations=tolerations) if tolerations else result


def _fill_each(items: tuple[T, ...] | None, change: Callable[[T], T]) -> tuple[T, ...] | None:
    return None if items is None else tuple(map(change, items))


_VALUE_KINDS = ("int", "bool", "string", "version")
_ATTRIBUTE_FIELDS = tuple(field.encode_name for field in msgspec.structs.fields(DeviceAttribute))
VALUELESS = DeviceAttribute()
"""What becomes of such an attribute, as of any without a value, when a slice is read as it stands."""


def with_flat_lists(mapping: dict[str, Any]) -> dict[str, Any]:
    """The mapping of a slice with the lists where v1 has them; itself where it has none of this spelling.

    A value in a field of v1 counts before them. Raises ConversionError for a ``list`` that is no object; what else has
    the wrong type ``structure`` names.
    """
    spec = mapping.get("spec")
    devices = spec.get("devices") if isinstance(spec, dict) else None
    if not isinstance(devices, list) or not any(map(_has_nested, devices)):
        return mapping
    flat = [_flat_device(device, f"spec.devices[{index}]") for index, device in enumerate(devices)]
    return {**mapping, "spec": {**(spec or {}), "devices": flat}}


def _device_attributes(device: Any) -> dict[str, Any]:
    attributes = device.get("attributes") if isinstance(device, dict) else None
    return attributes if isinstance(attributes, dict) else {}


def _has_nested(device: Any) -> bool:
    return any(isinstance(attribute, dict) and "list" in attribute for attribute in _device_attributes(device).values())


def _flat_device(device: Any, path: str) -> Any:
    if not _has_nested(device):
        return device
    found = _device_attributes(device)
    return {
        **device,
        "attributes": {name: _flat_attribute(found[name], f"{path}.attributes[{name}]") for name in found},
    }


def _flat_attribute(attribute: Any, path: str) -> Any:
    nested = attribute.get("list") if isinstance(attribute, dict) else None
    if nested is None or any(attribute.get(field) is not None for field in _ATTRIBUTE_FIELDS):
        return attribute
    if not isinstance(nested, dict):
        raise ConversionError(f"{path}.list", f"Invalid value: must be an object with one of {', '.join(_VALUE_KINDS)}")
    return {f"{kind}s": nested[kind] for kind in _VALUE_KINDS if nested.get(kind) is not None}


# The API server cuts what a name begins with here, to have room for five random characters.
_BEGINNING_MAX = 58


class GeneratedNames:
    """Makes the names, counted in the order read and so the same in every run.

    A number of five digits is no name of the API server's: it uses neither 0 nor 1 nor 3.
    """

    def __init__(self) -> None:
        self.made: Counter[tuple[str, str, str]] = Counter()

    def named(self, kind: str, mapping: dict[str, Any]) -> dict[str, Any]:
        """Give the object with its name; as it is if it has one, or nothing to make it of."""
        metadata = mapping.get("metadata")
        if not isinstance(metadata, dict) or metadata.get("name") not in (None, ""):
            return mapping
        beginning = metadata.get("generateName")
        if not isinstance(beginning, str) or not beginning:
            return mapping
        beginning = beginning[:_BEGINNING_MAX]
        key = kind, str(metadata.get("namespace") or ""), beginning
        self.made[key] += 1
        return {**mapping, "metadata": {**metadata, "name": f"{beginning}{self.made[key]:05}"}}


def to_v1beta2(kind: str, version: str, mapping: JsonObject) -> JsonObject:
    """Give the mapping of one of Kueue's kinds in v1beta2 shape."""
    convert = _KUEUE_CONVERSIONS.get(kind) if version == "v1beta1" else None
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


_KUEUE_CONVERSIONS: dict[str, Change] = {
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
