"""Whatever stands in pools, types and overlays: an answer within the limits, or lines that say what is wrong."""

from __future__ import annotations

import pytest
from support.pools import CLASSES, KIND, devices, machine, node_pool, offering, requirement, waiting

import drasat

TYPE, POOL = machine("m", offering("1")), node_pool()
DIGITS = "9" * 400


def overlay(**spec):
    return {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": spec.pop("name", "o")},
        "spec": {"requirements": [requirement(KIND, "on-demand")], **spec},
    }


def ring():
    """Three bindings that close a circle, and one of a device with itself."""
    listed = [
        {"attribute": "x/y", "devices": [{"driver": "gpu.example.com", "device": name} for name in pair]}
        for pair in ("ab", "bc", "ca", "aa")
    ]
    return machine("m", offering("1"), slices=[devices("a", "b", "c")], attributeBindings=listed)


def values_of(*values, operator="Gt"):
    return node_pool("general", {"key": "a", "operator": operator, "values": list(values)})


REFUSED = {
    **{f"price {price!r:.12}": [POOL, machine("m", offering(price))] for price in ("1e30", "NaN", "-1", DIGITS, 1e30)},
    **{f"other price {price!r:.12}": [POOL, machine("m", offering(price))] for price in (True, [1], {"a": 1}, None)},
    **{f"price of an overlay {price!r:.12}": [POOL, TYPE, overlay(price=price)] for price in ("1e30", "-1", DIGITS, 5)},
    **{f"adjustment {by!r:.12}": [POOL, TYPE, overlay(priceAdjustment=by)] for by in (f"+{DIGITS}%", "+.", "-101%")},
    **{f"weight {weight!r:.12}": [POOL, TYPE, overlay(weight=weight)] for weight in (10**30, -1, 2**63, "5", 1.5)},
    **{f"limit {limit:.12}": [node_pool(limits={"cpu": limit}), TYPE] for limit in ("-5", "abc")},
    **{f"operator {op!r}": [values_of("1", operator=op), TYPE] for op in ("Near", "in", "", None, 5)},
    **{f"number {value:.12}": [values_of(value), TYPE] for value in (DIGITS, "1e9", "-5", "a", str(2**63))},
    "no number": [values_of(), TYPE],
    "least values": [node_pool("general", requirement("a", operator="Exists") | {"minValues": 10**12}), TYPE],
    "many requirements": [node_pool("g", *(requirement(f"k{n}", operator="Exists") for n in range(101))), TYPE],
    "reservation": [POOL, machine("m", offering("1", kind="reserved", reservationCapacity=-1))],
    "capacity": [POOL, machine("m", offering("1"), cpu="-1")],
    "names that are there twice": [POOL, TYPE, machine("m", offering("2"))],
}
ANSWERED = {
    "dear": [POOL, machine("m", offering("999999999999"))],
    "dearer by an overlay": [POOL, TYPE, overlay(priceAdjustment="+999999999999%")],
    "a price with many digits": [POOL, machine("m", offering("0." + "9" * 300))],
    "cheaper than nothing": [POOL, TYPE, overlay(priceAdjustment="-999999999999")],
    "a large machine": [POOL, machine("m", offering("1"), cpu="99999999999E")],
    "a large limit": [node_pool(limits={"cpu": "1e30"}), TYPE],
    "a large overhead": [POOL, machine("m", offering("1"), overhead={"kubeReserved": {"cpu": "1e20"}})],
    "many overlays of one weight": [POOL, TYPE, *(overlay(name=f"o{n}", price=str(n), weight=5) for n in range(200))],
    "bindings in a ring": [POOL, ring()],
    "the largest number": [values_of(str(2**63 - 1)), TYPE],
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_lines_with_kind_and_field(case):
    with pytest.raises(drasat.InputError, match=r"spec|Duplicate") as refused:
        drasat.load([*CLASSES, *REFUSED[case], waiting("p")])
    assert all(len(line) < 600 for line in str(refused.value).splitlines())


@pytest.mark.parametrize("case", ANSWERED)
def test_answered(case):
    cluster = drasat.load([*CLASSES, *ANSWERED[case], waiting("p")], skip_validation=True)
    assert drasat.overlay(cluster).types
    found = drasat.compare_purchases(cluster, ["karpenter-like", "plan"])
    assert {one.placed + len(one.unplaced) for one in found.planners} == {1}
