"""Mappings of older API versions to v1 shape (VER-1 to VER-5), at the edge and on mappings.

Only what differs is touched, and copied before it is. What has the wrong type is left where it
stands, so that ``structure`` names it.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from .claims import DeviceRequest, ExactDeviceRequest

Mapping = dict[str, Any]
_Change = Callable[[Any], Any]

_FLAT_FIELDS = tuple(field.encode_name for field in msgspec.structs.fields(ExactDeviceRequest))
_KEPT_FIELDS = tuple(
    field.encode_name for field in msgspec.structs.fields(DeviceRequest) if field.encode_name != "exactly"
)


class ConversionError(ValueError):
    """A field of an older version has no meaning in v1."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


def to_v1(kind: str, version: str, mapping: Mapping) -> Mapping:
    """Give the mapping in v1 shape. Raises ConversionError for what v1 cannot express."""
    convert = _CONVERSIONS.get((version, kind))
    converted: Mapping = convert(mapping) if convert else mapping
    return converted


def _at(path: str, change: _Change) -> _Change:
    """Make a change of the field at a path; ``[]`` after a name means each item of that list."""
    name, _, rest = path.partition(".")
    inner = _at(rest, change) if rest else change
    if name.endswith("[]"):
        name, inner = name[:-2], _each(inner)

    def changed(value: Any) -> Any:
        if not isinstance(value, dict) or value.get(name) is None:
            return value
        return {**value, name: inner(value[name])}

    return changed


def _each(change: _Change) -> _Change:
    return lambda value: [change(item) for item in value] if isinstance(value, list) else value


def _both(first: _Change, second: _Change) -> _Change:
    return lambda value: second(first(value))


def _without_empty_selection(spec: Any) -> Any:
    """VER-2: an empty node name and a false ``allNodes`` mean that the field is not set."""
    if not isinstance(spec, dict):
        return spec
    return {name: value for name, value in spec.items() if not _is_unset(name, value)}


def _is_unset(name: str, value: Any) -> bool:
    return (name == "nodeName" and value == "") or (name == "allNodes" and value is False)


def _unwrapped_device(device: Any) -> Any:
    """VER-2: what describes a device stands in ``basic``."""
    if not isinstance(device, dict):
        return device
    basic = device.get("basic")
    if not isinstance(basic, dict | None):
        return basic
    named = {"name": device["name"]} if "name" in device else {}
    return {**(basic or {}), **named}


def _wrapped_capacities(device: Any) -> Any:
    """VER-4: capacities are bare quantities."""

    def wrapped(capacities: Any) -> Any:
        if not isinstance(capacities, dict):
            return capacities
        return {name: {"value": value} for name, value in capacities.items()}

    return _at("capacity", wrapped)(device)


def _nested_request(request: Any) -> Any:
    """VER-3: any field of an exact request, standing in the request itself, makes it exact."""
    if not isinstance(request, dict):
        return request
    kept = {name: request[name] for name in _KEPT_FIELDS if name in request}
    flat = {name: request[name] for name in _FLAT_FIELDS if name in request}
    return {**kept, "exactly": flat} if any(map(_is_set, flat.values())) else kept


def _is_set(value: Any) -> bool:
    """Tell a field that was written from Go's zero values; a false pointer counts as written."""
    return value is not None and value != "" and (value != 0 or value is False)


def _checked_rule(rule: Any) -> Any:
    """DeviceTaintRule lost two fields in 1.35; without them a rule would taint more devices."""
    spec = rule.get("spec")
    selector = spec.get("deviceSelector") if isinstance(spec, dict) else None
    for name in ("deviceClassName", "selectors"):
        if isinstance(selector, dict) and selector.get(name):
            reason = "Forbidden: dropped in Kubernetes 1.35; without it the rule taints more devices"
            raise ConversionError(f"spec.deviceSelector.{name}", reason)
    return rule


_SLICE_SPEC = _at("spec", _without_empty_selection)
_DEVICES = "spec.devices[]"
_REQUESTS = "spec.devices.requests[]"
_CONVERSIONS: dict[tuple[str, str], _Change] = {
    ("v1beta1", "ResourceSlice"): _both(_SLICE_SPEC, _at(_DEVICES, _unwrapped_device)),
    ("v1alpha3", "ResourceSlice"): _both(_SLICE_SPEC, _at(_DEVICES, _both(_unwrapped_device, _wrapped_capacities))),
    ("v1alpha3", "DeviceTaintRule"): _checked_rule,
} | {
    (version, kind): _at(path, _nested_request)
    for version in ("v1beta1", "v1alpha3")
    for kind, path in (("ResourceClaim", _REQUESTS), ("ResourceClaimTemplate", f"spec.{_REQUESTS}"))
}
