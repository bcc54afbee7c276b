"""Topologies, devices in their places, claims that ask for shapes; driver ``d.x``."""

from support.objects import DRIVER, claim, device, device_class, node, pool, want
from support.soft import wishing

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.core import Pod, PodResourceClaim, PodSpec
from drasat.models.kubernetes.extensions import DeviceTopology, DeviceTopologySpec, TopologyLinks
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.solver.allocate.allocate import allocate

TOPOLOGY = "t"


def topology(shape, *names, name=TOPOLOGY, driver=DRIVER, **fields):
    """A topology whose coordinates have these names; the two of ``Links`` are the id and the peers."""
    full = tuple(f"{DRIVER}/{one}" for one in names)
    where = {"links": TopologyLinks(id=full[0], peers=full[1])} if shape == "Links" else {"coordinates": full}
    spec = DeviceTopologySpec(driver=driver, shape=shape, **where, **fields)
    return DeviceTopology(metadata=ObjectMeta(name=name), spec=spec)


def line_of(count, *missing, **fields):
    """A pool of devices ``d0``, ``d1`` ... at the places of their numbers."""
    return pool(*(device(f"d{place}", at=place) for place in range(count) if place not in missing), **fields)


def grid_of(rows, columns, *missing, **fields):
    """A pool of devices ``d00``, ``d01`` ... named by row and column."""
    cells = [(row, column) for row in range(rows) for column in range(columns)]
    members = [device(f"d{row}{column}", row=row, column=column) for row, column in cells]
    return pool(*(member for member in members if member.name not in missing), **fields)


def shape(kind, *requests, weight=None, name=TOPOLOGY, **fields):
    """An entry; without a weight it must hold."""
    chosen = {"requests": list(requests)} if requests else {}
    return {"topology": {"name": name, "shape": kind, **fields}, **chosen, **({"weight": weight} if weight else {})}


def asking(count, *entries, name="c"):
    """A claim for so many devices with these entries."""
    return wishing(claim(want(count=count), name=name), *entries)


def together(*claims):
    """A pod of these claims: all or none of them are allocated."""
    names = [one.metadata.name for one in claims]
    entries = tuple(PodResourceClaim(name=name, resource_claim_name=name) for name in names)
    return Pod(metadata=ObjectMeta(name="p", namespace="ns"), spec=PodSpec(resource_claims=entries))


def answered(*objects, nodes=("n1",), **options):
    """The answer about a cluster of these objects."""
    return allocate(Cluster.of([device_class(), *map(node, nodes), *objects]), **options)


def taken(answer):
    """Names of the devices of each claim that is allocated."""
    made = [allocation for unit in answer.units for _, allocation in unit.allocations]
    return [sorted(result.device for result in one.devices.results) for one in made]
