"""Clusters as mappings: nodes ``n0``, ``n1`` ... with devices of class ``gpu``, and claims of namespace ``team``."""

from support.manifests import obj

import drasat


def made(kind, name, spec, namespace="team", **labels):
    return obj(kind, name, spec, namespace=namespace, labels=labels or None)


def devices(node, count, **fields):
    """A slice of the node with so many devices."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    members = [{"name": f"gpu-{number}", **fields} for number in range(count)]
    spec = {"driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": members}
    return made("ResourceSlice", node, spec)


def asking(count=1, **fields):
    return {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": count, **fields}}]}}


def claim(name="c", count=1, namespace="team", labels=None, **fields):
    return made("ResourceClaim", name, asking(count, **fields), namespace, **(labels or {}))


def cluster(*objects, nodes=(2,), **fields):
    """The cluster; ``nodes`` are numbers of devices."""
    supply = [devices(f"n{number}", count, **fields) for number, count in enumerate(nodes)]
    return drasat.load([made("DeviceClass", "gpu", {}), *supply, *objects])
