"""List attributes as KEP-5491 first spelled them: ``list: {string: [...]}`` for ``strings: [...]`` (SEM-8)."""

from typing import Any

import msgspec

from .conversion import ConversionError
from .slices import DeviceAttribute

_KINDS = ("int", "bool", "string", "version")
_FIELDS = tuple(field.encode_name for field in msgspec.structs.fields(DeviceAttribute))
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


def _attributes(device: Any) -> dict[str, Any]:
    attributes = device.get("attributes") if isinstance(device, dict) else None
    return attributes if isinstance(attributes, dict) else {}


def _has_nested(device: Any) -> bool:
    return any(isinstance(attribute, dict) and "list" in attribute for attribute in _attributes(device).values())


def _flat_device(device: Any, path: str) -> Any:
    if not _has_nested(device):
        return device
    found = _attributes(device)
    return {**device, "attributes": {name: _flat(found[name], f"{path}.attributes[{name}]") for name in found}}


def _flat(attribute: Any, path: str) -> Any:
    nested = attribute.get("list") if isinstance(attribute, dict) else None
    if nested is None or any(attribute.get(field) is not None for field in _FIELDS):
        return attribute
    if not isinstance(nested, dict):
        raise ConversionError(f"{path}.list", f"Invalid value: must be an object with one of {', '.join(_KINDS)}")
    return {f"{kind}s": nested[kind] for kind in _KINDS if nested.get(kind) is not None}
