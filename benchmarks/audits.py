"""Answers with their audits: ``audits.py [examples] [full] [hard] [plans] [check]``, all of them without any.

``examples``: what each verb's answer about each example rests on, and what a run with an audit takes more than one
without; ``full``: the random full nodes; ``hard``: questions about one node; ``plans``: openb and a fleet with audits;
``check``: the document of a large fleet. Times are CPU seconds of this process; only limits are by the clock.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from full_nodes import full_node
from measuring import GATES, share
from tables import machine, show

import drasat
from drasat.models.cluster.cluster import Cluster
from drasat.models.formats.errors import InputError
from drasat.models.results.common import Status
from drasat.models.workload.requested import requested_units
from drasat.reports.comparison import display_duration
from drasat.scenarios.lattices import SHAPE_QUESTIONS
from drasat.scenarios.objects import Mapped
from drasat.scenarios.one_node import QUESTIONS
from drasat.scenarios.openb import manifests, openb
from drasat.scenarios.queues import fleet
from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.load import load
from drasat.solver.plan.plan import plan

EXAMPLES = Path(__file__).parents[1] / "examples"
FULL_NODES = 120
FLEET_NODES = 1_000
CHECKED_NODES = 10_000
OPENB_OBJECTIVES = ("admitted=capacity:share",)
OPENB_GAP = 0.002
# What is aimed at, in seconds.
MOST_OF_ANSWER = 5.0
MOST_OF_EXAMPLE = 2.0
MOST_OF_PLAN = 600.0
MOST_OF_CHECK = 60.0
EXAMPLE_COLUMNS = ("example", "verb", "certified", "rests on", "CPU of the audit", "not audited")
QUESTION_COLUMNS = ("questions", "number", "refused", "audited", f"in {MOST_OF_ANSWER:g} s", "median", "95 %", "most")
PLAN_COLUMNS = ("plan", "stage", "value", "bound", "proof", "CPU", "at most")
CHECK_COLUMNS = ("document", "nodes", "units", "lines", "hold", "fail", "unchecked", "plan", "check", "at most")


def question_row(name: str, clusters: Iterable[Cluster], limit: float) -> tuple[str, ...]:
    """Answer questions with an audit of each no, so long at most: how many are audited, and how many soon."""
    seconds: list[float] = []
    refused = audited = soon = 0
    for cluster in clusters:
        started = process_time()
        answer = allocate(cluster, feature_gates=GATES, audit=limit, time_limit=None)
        seconds.append(process_time() - started)
        nos = [one for one in answer.units if one.outcome is not Status.ALLOCATED]
        certain = all(one.audited for one in nos)
        refused += bool(nos)
        audited += bool(nos) and certain
        soon += certain and seconds[-1] <= MOST_OF_ANSWER
    times = (median(seconds), share(seconds, 0.95), max(seconds))
    counts = (len(seconds), refused, audited)
    return name, *map(str, counts), f"{soon / len(seconds):.0%}", *map(display_duration, times)


def example_questions(cluster: Cluster) -> Iterator[tuple[str, Callable[..., Any]]]:
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


def example_row(name: str, verb: str, ask: Callable[..., Any]) -> tuple[str, ...] | None:
    """A row of the table; None where the verb is asked nothing."""
    try:
        # What is loaded and read once is no part of it.
        ask()
        began = process_time()
        ask()
        plain = process_time() - began
        found = ask(audit=MOST_OF_EXAMPLE).document
    except ValueError:
        return None
    taken = process_time() - began - 2 * plain
    kinds = dict(proofs(found))
    left = [what for what, kind in kinds.items() if kind not in ("audited", "witness")]
    whole = getattr(found, "proof", None)
    left += [] if left or whole in (None, "audited", "witness") else ["the answer"]
    rests = ", ".join(sorted(set(kinds.values()))) or str(whole or "nothing is refused")
    more = f" and {len(left) - 2} more" if len(left) > 2 else ""
    return name, verb, "no" if left else "yes", rests, f"{max(0.0, taken):.2f} s", ", ".join(left[:2]) + more


def example_rows(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The rows of examples, all of them where none is named."""
    yield EXAMPLE_COLUMNS
    for folder in sorted({one.parent for one in EXAMPLES.rglob("*.yaml")}):
        name = str(folder.relative_to(EXAMPLES))
        if names and name not in names:
            continue
        try:
            cluster = drasat.load(folder)
        except InputError:
            continue
        for verb, ask in example_questions(cluster):
            found = example_row(name, verb, ask)
            if found is not None:
                yield found


def plan_rows(name: str, objects: Sequence[Mapped], limit: float, **options: Any) -> Iterator[tuple[str, ...]]:
    """Plan with an audit, and say what each stage rests on."""
    cluster = load(objects)
    started = process_time()
    found = plan(cluster, audit=limit, time_limit=None, **options)
    used = process_time() - started
    for number, stage in enumerate(found.objective):
        bound = "none" if stage.bound is None else f"{stage.bound:,}"
        times = ("", "") if number else (display_duration(used), display_duration(MOST_OF_PLAN))
        yield name, stage.stage, f"{stage.value:,}", bound, str(stage.proof or "none"), *times


def check_row(nodes: int) -> tuple[str, ...]:
    """Check the document of a plan with its duals."""
    cluster = load(fleet(nodes))
    started = process_time()
    found = drasat.plan(cluster, duals=True)
    planned = process_time()
    answer = drasat.check(found, cluster, time_limit=None)
    used = process_time() - planned
    verdicts = Counter(one.verdict for one in answer.lines)
    counts = (len(answer.lines), *(verdicts[name] for name in ("holds", "fails", "unchecked")))
    times = (planned - started, used, MOST_OF_CHECK)
    return "plan", f"{nodes:,}", f"{len(found.units):,}", *(f"{one:,}" for one in counts), *map(display_duration, times)


def examples(_: float) -> Iterator[tuple[str, ...]]:
    """All examples."""
    return example_rows(())


def full(limit: float) -> Iterator[tuple[str, ...]]:
    """The random full nodes."""
    yield QUESTION_COLUMNS
    yield question_row("full nodes", (load(full_node(seed).objects) for seed in range(FULL_NODES)), limit)


def hard(limit: float) -> Iterator[tuple[str, ...]]:
    """The hard questions about one node, and those about shapes."""
    yield QUESTION_COLUMNS
    yield question_row("hard questions", (load(one.objects()) for one in QUESTIONS.values()), limit)
    yield question_row("shapes", (load(one.objects()) for one in SHAPE_QUESTIONS.values()), limit)


def plans(limit: float) -> Iterator[tuple[str, ...]]:
    """Plans of openb and of a fleet."""
    yield PLAN_COLUMNS
    yield from plan_rows(
        "openb, 110 %", manifests(openb("plain", 1.1)), limit, objective=OPENB_OBJECTIVES, gap=OPENB_GAP
    )
    yield from plan_rows(f"fleet of {FLEET_NODES:,} nodes", fleet(FLEET_NODES), limit)


def checks(_: float) -> Iterator[tuple[str, ...]]:
    """The document of a large fleet."""
    yield CHECK_COLUMNS
    yield check_row(CHECKED_NODES)


SECTIONS: Mapping[str, Callable[[float], Iterator[tuple[str, ...]]]] = {
    "examples": examples,
    "full": full,
    "hard": hard,
    "plans": plans,
    "check": checks,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--limit", type=float, default=MOST_OF_PLAN, help="seconds for each audit")
    options = parser.parse_args(arguments)
    print(machine())
    for name, section in SECTIONS.items():
        if name in (options.sections or SECTIONS):
            show(section(options.limit))


if __name__ == "__main__":
    main()
