"""Claims with entries in their annotation, and what becomes of them."""

import json

from msgspec.structs import replace
from support.objects import DRIVER, device_class, node

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.extensions import CONSTRAINTS_ANNOTATION
from drasat.models.results.common import Status
from drasat.solver.allocate.allocate import allocate

ROOT = f"{DRIVER}/root"


def wishing(claim, *entries):
    """The claim with these entries in its annotation."""
    return replace(claim, metadata=replace(claim.metadata, annotations={CONSTRAINTS_ANNOTATION: json.dumps(entries)}))


def near(*requests, weight=1, attribute=ROOT, **fields):
    """A match; without a weight it must hold."""
    return _entry({"matchAttribute": attribute, **fields}, requests, weight)


def apart(*requests, weight=1, attribute=ROOT, **fields):
    return _entry({"distinctAttribute": attribute, **fields}, requests, weight)


def cel(expression, *requests, weight=1, **fields):
    return _entry({"cel": {"expression": expression}, **fields}, requests, weight)


def _entry(fields, requests, weight):
    chosen = {"requests": list(requests)} if requests else {}
    return {**fields, **chosen, **({} if weight is None else {"weight": weight})}


def ask(*objects, nodes=("n1",), **options):
    return allocate(Cluster.of([device_class(), *map(node, nodes), *objects]), **options)


def only(*objects, **options):
    """The only unit, which must be allocated."""
    (unit,) = ask(*objects, **options).units
    assert unit.outcome == Status.ALLOCATED, unit.reasons
    return unit


def devices_of(unit):
    return [result.device for _, made in unit.allocations for result in made.devices.results or ()]


def told(unit):
    """Each soft entry as name, kept or not, and cost."""
    return [(entry.name, entry.kept, entry.cost) for entry in unit.soft_entries]
