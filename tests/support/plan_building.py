"""Clusters with a queue, what they become as a question of planning, and the plans of them."""

from fractions import Fraction

from support.gates import ALL
from support.manifests import allocated, claim, cluster, container, entry, maker, obj, pod, template
from support.plan_scene import DRIVER, node

from drasat.models.workload.expansion import expand_units
from drasat.models.workload.queue import read_queue
from drasat.solver.engines.engine import Session
from drasat.solver.plan.build import PlanRequest, build_plan_instance, no_earlier_placements
from drasat.solver.plan.build.nodes import build_node_catalogue
from drasat.solver.plan.build.objectives import parse_objective
from drasat.solver.plan.plan import plan

__all__ = ["ALL", "DRIVER", "allocated", "claim", "cluster", "container", "entry", "maker", "node", "obj", "pod"]
__all__ += ["template"]
FABRIC = "fabric.example.com"
HOST = "kubernetes.io/hostname"


def classes():
    """Classes and templates: gpu and t for one device of a node, fab and f for one of the fabric."""
    chosen = {"gpu": DRIVER, "fab": FABRIC}
    made = [obj("DeviceClass", name, {"selectors": [cel(f'device.driver == "{own}"')]}) for name, own in chosen.items()]
    return [*made, template(), template("f", of(1, "fab")), template("t2", of(2))]


def cel(text):
    return {"cel": {"expression": text}}


def of(count, cls="gpu", *expressions, **fields):
    """A claim's spec with one request for so many devices."""
    exactly = {"deviceClassName": cls, "count": count, "selectors": [cel(text) for text in expressions], **fields}
    return {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}


def device(name, **fields):
    """A device; fields in lower case that are texts or numbers are attributes."""
    kinds = {str: "string", int: "int"}
    plain = {key: {kinds[type(value)]: value} for key, value in fields.items() if type(value) in kinds}
    return {"name": name, "attributes": plain, **{key: fields[key] for key in fields.keys() - plain.keys()}}


def published(name, *devices, driver=DRIVER, pool=None, count=1, slice_name=None, **where):
    """A slice of a node, or for others where it says so; devices may be names."""
    listed = [device(one) if isinstance(one, str) else one for one in devices]
    spec = {
        "driver": driver,
        "pool": {"name": pool or name, "generation": 1, "resourceSliceCount": count},
        **({"devices": listed} if listed else {}),
        **(where if {"allNodes", "nodeSelector"} & where.keys() else {**where, "nodeName": name}),
    }
    return obj("ResourceSlice", slice_name or f"slice-{pool or name}", spec)


def gpus(name, count=4, **attributes):
    return published(name, *(device(f"gpu-{number}", **attributes) for number in range(count)))


def fabric(count=1, **fields):
    """A pool that all nodes reach."""
    devices = [device(f"f{number}", **fields) for number in range(count)]
    return published("fabric", *devices, driver=FABRIC, allNodes=True)


def nodes(*names, devices=4, cpu="4", **fields):
    return [one for name in names for one in (node(name, cpu=cpu, **fields), gpus(name, devices))]


def user(name, *more, cpu="1", spec="t", **options):
    """A pod with a claim of a template, and maybe more of them."""
    return pod(name, entry("g", template=spec), *more, cpu=cpu, **options)


def sharing(name, *claims, **options):
    """A pod with claims by name."""
    return pod(name, *(entry(one, claim=one) for one in claims), **options)


def to_buy(name, devices=4, price="1", limit=None, **fields):
    """A NodeTemplate with so many devices."""
    listed = [{"driver": DRIVER, "devices": [{"name": f"gpu-{number}"} for number in range(devices)]}]
    spec = {"price": price, **({"slices": listed} if devices else {}), **fields}
    return obj("NodeTemplate", name, spec | ({} if limit is None else {"limit": limit}))


def holding(name, where, *devices, driver=DRIVER, **status):
    """A claim that has these devices."""
    results = [{"request": "r", "driver": driver, "pool": where, "device": one} for one in devices]
    return claim(name, of(len(devices)), status={"allocation": {"devices": {"results": results}, **status}})


def running(name, where, **options):
    """A pod that is on a node."""
    return pod(name, spec={"nodeName": where}, **options)


def asking(*given, objective="admitted", buy=False, only_new=False, budget=None, apart=0):
    """What is asked of a plan, with nothing placed before."""
    made = cluster(*classes(), *given)
    session = Session(made, ALL, "strict", 0)
    queue = list(expand_units(made, read_queue(made, gates=ALL), ALL))
    stages = parse_objective(objective, buy)
    shop = build_node_catalogue(made, apart) if buy else None
    limit = None if budget is None else Fraction(budget)
    return PlanRequest(session, queue, range(len(queue)), stages, no_earlier_placements(session), shop, only_new, limit)


def posed(*given, **options):
    return build_plan_instance(asking(*given, **options))


def planning(*given, **options):
    """The plan of these objects, which is verified; exact unless said otherwise."""
    return plan(cluster(*classes(), *given), **{"gap": 0.0, "time_limit": None, **options})


def where(outcome):
    """The node of each unit by name."""
    return {one.unit.name: one.node for one in outcome.units}


def placed(outcome):
    """Names of the units that have a node."""
    return sorted(name for name, node in where(outcome).items() if node)


def values(outcome):
    return {stage.stage: stage.value for stage in outcome.objective}


def reasons(outcome, name):
    return [reason.id for one in outcome.units if one.unit.name == name for reason in one.reasons]


def devices(outcome):
    """The devices of each unit by name: pool and device."""
    return {
        one.unit.name: [(r.pool, r.device) for _, made in one.allocations for r in made.devices.results]
        for one in outcome.units
    }
