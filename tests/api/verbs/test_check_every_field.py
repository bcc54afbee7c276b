"""``drasat.check`` sees every field of a document: changed, it makes a line fail, or ``notRead`` names it."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import drasat
from drasat.models.formats.errors import InputError
from drasat.solver.verification.unread_fields import UNREAD_FIELDS

ASKED = {
    "a queue": ("plan-queue", "plan", {}),
    "controllers": ("plan-controllers", "plan", {}),
    "bought nodes": ("plan-buy", "plan", {"buy": True}),
    "nodes of pools": ("plan-pools", "plan", {"buy": True, "audit": 60}),
    "moves": ("consolidate", "plan", {"moves": "any"}),
    "preemption": ("preempt", "plan", {"preempt": True}),
    "preemption and rules": ("pod-rules", "plan", {"preempt": True}),
    "admissions": ("kueue/d-flavors", "plan", {}),
    "coverage": ("coverage", "plan", {"objective": "coverage,fewest-nodes"}),
    "preferences": ("preferences", "plan", {"objective": "admitted,preferences"}),
    "allocations": ("whole-gpus", "allocate", {}),
    "refusals": ("mig-partitions", "allocate", {}),
    "soft entries": ("soft-constraints", "allocate", {}),
    "explanations": ("tainted-devices", "explain", {}),
    "an inventory": ("inventory", "show", {}),
    "a torus": ("torus-topology", "topology", {}),
    "cycles": ("kueue/d-flavors", "quota", {}),
    "capacity": ("whole-gpus", "capacity", {"pod": "ml/training"}),
    "engines": ("whole-gpus", "compare", {"engines": ["backtracking", "auto"]}),
    "planners": ("plan-queue", "compare_plans", {"planners": ["first-fit", "plan"], "orders": ["given"]}),
    "orders": ("tune", "tune", {}),
    "provisioning": ("provisioning", "provision", {"answers": True}),
    "overlays": ("overlays", "overlay", {}),
}
# A document may say less than it could: a stage, a kind of node, or a solution less; what is certified need not be, and
# claims without devices are told for nothing. More of anything is seen.
LESS = {
    "certified",
    "classes#",
    "claims#",
    "nodes#",
    "nodes[].certified",
    "nodes[].example#",
    "nodes[].witness.available",
    "objective#",
    "orders#",
    "planners#",
    "planners[].objective#",
    "pools#",
    "placement.units#",
    "placement.workloads#",
    "steps[].overlap",
    "topologies#",
    "topologies[].instances#",
    "units[].claims#",
    "units[].failures#",
    "units[].relaxations#",
    "units[].softEntries#",
    "workloads[].charge#",
}
# Of many equal fields so many are changed.
MOST = 2


def leaves(found: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The paths of all values, and of all lists, which end in None."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield from leaves(value, (*path, key))
    elif isinstance(found, list):
        if found:
            yield (*path, None), found
        for number, value in enumerate(found):
            yield from leaves(value, (*path, number))
    else:
        yield path, found


def changed(text: str, path: tuple[Any, ...], value: Any) -> Any:
    """The document with another value, or with a list without its last member."""
    document = json.loads(text)
    at = document
    for step in path[:-1]:
        at = at[step]
    if path[-1] is None:
        at.pop()
    elif isinstance(value, bool):
        at[path[-1]] = not value
    elif isinstance(value, str):
        at[path[-1]] = f"{int(value) + 1}" if value.isdecimal() else f"{value}x"
    else:
        at[path[-1]] = value + 1
    return document


def name_of(path: tuple[Any, ...]) -> str:
    parts = ("#" if step is None else "[]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(parts).removeprefix(".")


@pytest.mark.parametrize("name", ASKED)
def test_no_field_changes_unseen(name):
    example, verb, options = ASKED[name]
    cluster = drasat.load(f"examples/{example}")
    text = getattr(drasat, verb)(cluster, **options).to_json()
    told = drasat.check(json.loads(text), cluster)
    assert told.holds
    unread = (*told.document.not_read, *UNREAD_FIELDS.get(told.document.checked, ()))
    seen, unseen = Counter[str](), set()
    for path, value in leaves(json.loads(text)):
        field = name_of(path)
        skipped = any(re.match(rf"{re.escape(one)}($|[.\[#])", field) for one in unread)
        if value is None or skipped or field in LESS or seen[field] == MOST:
            continue
        seen[field] += 1
        try:
            found = drasat.check(changed(text, path, value), cluster)
        except InputError:
            continue
        if found.lines == told.lines:
            unseen.add(field)
    assert unseen == set()


def test_the_fields_are_those_of_documents():
    """Every field of the table is in one of the documents of the examples, so that none is left over."""
    named: dict[str, set[str]] = {}
    for example, verb, options in ASKED.values():
        cluster = drasat.load(f"examples/{example}")
        found = drasat.check(getattr(drasat, verb)(cluster, **options), cluster).document
        named.setdefault(found.checked, set()).update(found.not_read)
    for kind, fields in UNREAD_FIELDS.items():
        assert set(fields) - named[kind] <= LATER, kind


# Documents that have these take other options, or engines that differ.
LATER = {
    "duals[].rows[].names",
    "engines[].version",
    "planners[].version",
    "units[].claim",
    "units[].request",
    "workloads[].message",
    "workloads[].reason",
}
