"""Clusters with topologies, in short, for tests of what is said and drawn about them."""

from itertools import product

DRIVER = "chip.example.com"
NAMES = ("u", "v", "w")


def topology(shape="Grid", axes=2, name="t", **spec):
    """A DeviceTopology; ``axes`` coordinates."""
    if shape == "Links":
        spec["links"] = {"id": f"{DRIVER}/id", "peers": f"{DRIVER}/peers"}
    else:
        spec["coordinates"] = [f"{DRIVER}/{axis}" for axis in NAMES[:axes]]
    if "deviceClassName" not in spec:
        spec["driver"] = DRIVER
    head = {"apiVersion": "drasat.dev/v1alpha1", "kind": "DeviceTopology", "metadata": {"name": name}}
    return {**head, "spec": {"shape": shape, **spec}}


def attribute(value):
    kinds = {bool: "bool", int: "int", str: "string", list: "ints"}
    return {kinds[type(value)]: value}


def device(name, **values):
    return {"name": name, "attributes": {key: attribute(value) for key, value in values.items()}}


def published(*devices, node="n1", pool=None, **where):
    """A ResourceSlice with these devices, of a node unless told otherwise."""
    pool = pool or node
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": pool},
        "spec": {
            "driver": DRIVER,
            "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1},
            **(where or {"nodeName": node}),
            "devices": list(devices),
        },
    }


def lattice(*sizes, **where):
    """A device for each cell, named ``d`` and its numbers, in hexadecimal digits."""
    cells = product(*map(range, sizes))
    return published(*(device(named(cell), **dict(zip(NAMES, cell, strict=False))) for cell in cells), **where)


def named(cell):
    return "d" + "".join(f"{place:x}" for place in cell)


def device_class(name="chip"):
    expression = f"device.driver == '{DRIVER}'"
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def claim(name, *held, pool="n1", count=1, admin=False):
    """A claim, allocated if it holds devices."""
    request = {"name": "r", "exactly": {"deviceClassName": "chip", "count": count}}
    made = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [request]}},
    }
    if held:
        access = {"adminAccess": True} if admin else {}
        results = [{"request": "r", "driver": DRIVER, "pool": pool, "device": one, **access} for one in held]
        made["status"] = {"allocation": {"devices": {"results": results}}}
    return made
