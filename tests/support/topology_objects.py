"""Topologies and devices with coordinates, in short, for tests."""

from drasat.models.cluster.pools import PoolDevice
from drasat.models.kubernetes.extensions import DeviceTopology, DeviceTopologySpec, TopologyLinks
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.kubernetes.slices import Device, DeviceAttribute, ResourceSlice, Scalar

DRIVER = "chip.example.com"
AXES = ("x", "y", "z")
LINKS = TopologyLinks(id=f"{DRIVER}/id", peers=f"{DRIVER}/peers")


def attribute(value):
    """An attribute by the type of a Python value."""
    if isinstance(value, list):
        return DeviceAttribute(**{"ints" if isinstance(value[0], int) else "strings": tuple(value)})
    field = {bool: "bool_value", int: "int_value", str: "string"}[type(value)]
    return DeviceAttribute(**{field: value})


def chip(name, driver=DRIVER, pool="p", **values):
    """A device of a pool with these attributes, by bare names."""
    attributes = {key: attribute(value) for key, value in values.items()}
    return PoolDevice(Device(name=name, attributes=attributes), ResourceSlice(), (driver, pool, name))


def chips(*cells):
    """A device for each cell, named after it."""
    return [chip(named(cell), **dict(zip(AXES, cell, strict=False))) for cell in cells]


def named(cell):
    return "-".join(map(str, cell))


def key(cell):
    """The id of the device of a cell."""
    return DRIVER, "p", named(cell)


def topology(shape, axes=None, **fields):
    """A topology of the driver; ``axes`` is how many coordinates it has."""
    if axes is not None:
        fields["coordinates"] = tuple(f"{DRIVER}/{axis}" for axis in AXES[:axes])
    if shape == "Links":
        fields["links"] = LINKS
    return DeviceTopology(metadata=ObjectMeta(name="t"), spec=DeviceTopologySpec(driver=DRIVER, shape=shape, **fields))


def names(devices):
    """Their bare names, in order."""
    return [device[-1] for device in devices]


def scalars(*values):
    return tuple(Scalar({int: "int", str: "string", bool: "bool"}[type(value)], value) for value in values)
