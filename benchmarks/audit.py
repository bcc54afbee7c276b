"""Audits of every example: ``audit.py [EXAMPLE ...]`` prints what each verb's answer rests on, and what that takes.

The CPU seconds are those of the audit alone: of a run with it, less those of a run without. A verb is left out where
the example asks it nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

from tables import machine, show

import drasat
from drasat.models.cluster.cluster import Cluster
from drasat.models.formats.errors import InputError
from drasat.models.workload.requested import requested_units

EXAMPLES = Path(__file__).parents[1] / "examples"
COLUMNS = ("example", "verb", "certified", "rests on", "CPU of the audit", "not audited")
SECONDS = 2.0
Ask = Callable[..., Any]


def questions(cluster: Cluster) -> Iterator[tuple[str, Ask]]:
    """What an example asks, by verb."""
    units = requested_units(cluster)
    if not units:
        return
    yield "allocate", partial(drasat.allocate, cluster)
    yield "explain", partial(drasat.explain, cluster)
    yield "plan", partial(drasat.plan, cluster, buy=bool(cluster.node_templates))
    named = next(("/".join(one.key) for one in units[0].claims if not one.generated), "")
    copied = {"claim": named} if named else {"pod": f"{units[0].namespace}/{units[0].name}"}
    yield "capacity", partial(drasat.capacity, cluster, **copied)


def proofs(document: Any) -> Iterator[tuple[str, str]]:
    """What an answer says no to, or bounds, and what that rests on."""
    for stage in getattr(document, "objective", ()):
        yield f"stage {stage.stage}", str(stage.proof or "none")
    if document.kind == "CapacityResult":
        yield from ((f"node {one.nodes[0]}", str(one.proof_kind)) for one in document.nodes)
        return
    for unit in getattr(document, "units", ()):
        name = unit.name if document.kind == "PlanResult" else unit.pod or unit.claims[0]
        label = getattr(name, "name", name)
        for one in getattr(unit, "failures", ()):
            yield f"{label} on {one.names[0]}", str(getattr(one, "proof_kind", None) or one.proof)


def row(name: str, verb: str, ask: Ask) -> tuple[str, ...] | None:
    """A row of the table; None where the verb is asked nothing."""
    try:
        # What is loaded and read once is no part of it.
        ask()
        began = process_time()
        ask()
        plain = process_time() - began
        found = ask(audit=SECONDS).document
    except ValueError:
        return None
    taken = process_time() - began - 2 * plain
    kinds = dict(proofs(found))
    left = [what for what, kind in kinds.items() if kind not in ("audited", "witness")]
    certified = not left
    whole = getattr(found, "proof", None)
    rests = ", ".join(sorted(set(kinds.values()))) or str(whole or "nothing is refused")
    more = f" and {len(left) - 2} more" if len(left) > 2 else ""
    return name, verb, "yes" if certified else "no", rests, f"{max(0.0, taken):.2f} s", ", ".join(left[:2]) + more


def rows(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The rows of examples, all of them where none is named."""
    yield COLUMNS
    for folder in sorted({one.parent for one in EXAMPLES.rglob("*.yaml")}):
        name = str(folder.relative_to(EXAMPLES))
        if names and name not in names:
            continue
        try:
            cluster = drasat.load(folder)
        except InputError:
            continue
        for verb, ask in questions(cluster):
            found = row(name, verb, ask)
            if found is not None:
                yield found


def main() -> None:
    """Print the table."""
    print(machine())
    show(rows(sys.argv[1:]))


if __name__ == "__main__":
    main()
