"""Objects of v1 written as older clusters served them, by the field tables of those versions."""

import copy

# Which versions served a kind, beside v1.
OLDER = {
    "ResourceSlice": ("v1beta2", "v1beta1", "v1alpha3"),
    "ResourceClaim": ("v1beta2", "v1beta1", "v1alpha3"),
    "ResourceClaimTemplate": ("v1beta2", "v1beta1", "v1alpha3"),
    "DeviceClass": ("v1beta2", "v1beta1", "v1alpha3"),
    "DeviceTaintRule": ("v1beta2", "v1alpha3"),
}


def written(item, version):
    """The object in that version; in v1 if the version had no such kind. Raises ``ValueError`` if it cannot say it."""
    kind = item["kind"]
    if version not in OLDER.get(kind, ()):
        return item
    older = {**copy.deepcopy(item), "apiVersion": f"resource.k8s.io/{version}"}
    if version != "v1beta2":
        _WRITERS.get(kind, _alike)(older, version)
    return older


def can_say(item, version):
    try:
        written(item, version)
    except ValueError:
        return False
    return True


def _alike(item, version):
    pass


def _slice(item, version):
    spec = item["spec"]
    for device in spec.get("devices") or ():
        basic = {key: device.pop(key) for key in list(device) if key != "name"}
        if version == "v1alpha3" and basic.get("capacity"):
            basic["capacity"] = {name: _bare(capacity) for name, capacity in basic["capacity"].items()}
        device["basic"] = basic
    # Plain values, not pointers: a writer of those days shows them unset.
    spec.setdefault("nodeName", "")
    spec.setdefault("allNodes", False)


def _bare(capacity):
    if capacity.keys() != {"value"}:
        raise ValueError("a capacity was a quantity and nothing else")
    return capacity["value"]


def _claim(item, version):
    _flatten(item["spec"])


def _template(item, version):
    _flatten(item["spec"]["spec"])


def _flatten(spec):
    for request in spec["devices"].get("requests") or ():
        request.update(request.pop("exactly", {}))


_WRITERS = {"ResourceSlice": _slice, "ResourceClaim": _claim, "ResourceClaimTemplate": _template}
