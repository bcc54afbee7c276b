"""``drasat.check`` sees every field of a document: changed, a line does not hold any more, or ``notRead`` names it."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
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
    "cycles that evict": ("kueue/g-reclaim", "quota", {}),
    "cycles": ("kueue/d-flavors", "quota", {}),
    "capacity": ("whole-gpus", "capacity", {"pod": "ml/training"}),
    "engines": ("whole-gpus", "compare", {"engines": ["backtracking", "auto"]}),
    "planners": ("plan-queue", "compare_plans", {"planners": ["first-fit", "plan"], "orders": ["given"]}),
    "orders": ("tune", "tune", {}),
    "provisioning": ("provisioning", "provision", {"answers": True}),
    "overlays": ("overlays", "overlay", {}),
}
# A document may say less than it could: a stage, a kind of node, or a solution less; what is certified need not be, and
# claims without devices are told for nothing. More of anything is seen. What stands there twice (+), or instead of
# another value (=), is as true there.
LESS = {
    "answers[].conditions+",
    "answers[].conditions=",
    "answers[].conditions[]=",
    "certified",
    "claims#",
    "classes#",
    "coverage+",
    "cycles#",
    "devices[].claims+",
    "engines+",
    "nodes#",
    "nodes[].certified",
    "nodes[].example#",
    "nodes[].witness.available",
    "objective#",
    "objective[].proof=",
    "orders#",
    "orders+",
    "orders[].order=",
    "orders[]=",
    "placement.units#",
    "placement.units[].claims#",
    "placement.workloads#",
    "planners#",
    "planners+",
    "planners[].objective#",
    "planners[].objective+",
    "planners[].objective[].proof=",
    "planners[].objective[]=",
    "planners[].order=",
    "planners[].outcome=",
    "planners[]=",
    "pools#",
    "queues+",
    "quota+",
    "quota[]=",
    "schedulerWould#",
    "schedulerWould[].action=",
    "steps[].overlap",
    "topologies#",
    "topologies+",
    "topologies[].instances#",
    "topologies[].instances+",
    "types[].drivers+",
    "units[].claims#",
    "units[].claims[].allocation.devices.results[].device=",
    "units[].failures#",
    "units[].failures[].witness=",
    "units[].relaxations#",
    "units[].relaxations=",
    "units[].softEntries#",
    "workloads[].charge#",
    "workloads[].charge=",
}
# Of many equal fields so many are changed.
MOST = 2


def places(found: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The paths of all values within a document."""
    pairs = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    for key, value in pairs:
        yield (*path, key), value
        yield from places(value, (*path, key))


def changes(value: Any, others: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Other values, and what the field is called then: with the last member gone or twice, or of another place."""
    if isinstance(value, list) and value:
        yield from (("#", value[:-1]), ("+", [*value, value[-1]]))
    elif isinstance(value, bool):
        yield "", not value
    elif isinstance(value, str):
        yield "", f"{int(value) + 1}" if value.isdecimal() else f"{value}x"
    elif isinstance(value, (int, float)):
        yield "", value + 1
    yield from (("=", one) for one in [one for one in others if one != value][:1])


def changed(text: str, path: tuple[Any, ...], value: Any) -> Any:
    """The document with another value."""
    document = json.loads(text)
    at = document
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return document


def name_of(path: tuple[Any, ...]) -> str:
    return "".join("[]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


@pytest.mark.parametrize("name", ASKED)
def test_no_field_changes_unseen(name):
    example, verb, options = ASKED[name]
    cluster = drasat.load(f"examples/{example}")
    text = getattr(drasat, verb)(cluster, **options).to_json()
    told = drasat.check(json.loads(text), cluster)
    assert told.holds
    unread = (*told.document.not_read, *UNREAD_FIELDS.get(told.document.checked, ()))
    values: dict[str, list[Any]] = {}
    for path, value in places(json.loads(text)):
        values.setdefault(name_of(path), []).append(value)
    seen, unseen = Counter[tuple[str, bool]](), set()
    for path, value in places(json.loads(text)):
        field = name_of(path)
        skipped = any(re.match(rf"{re.escape(one)}($|[.\[])", field) for one in unread)
        for sign, other in () if skipped else changes(value, values[field]):
            key = f"{field}{sign}"
            if key in LESS or key.endswith(".matchFields[].values+") or seen[key, bool(value)] == MOST:
                continue
            seen[key, bool(value)] += 1
            try:
                found = drasat.check(changed(text, path, other), cluster)
            except InputError:
                continue
            if all(one.verdict == "holds" or one in told.lines for one in found.lines):
                unseen.add(key)
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
