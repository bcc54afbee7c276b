"""The real allocator against backtracking: ``peers.py [NAME ...]`` prints a table for docs/background/benchmarks.md.

Times are of the search alone: no start-up, no reading, no JSON, no verifier. Each is the median of a few runs.
"""

import os
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from drasat.peers.clients import peer_statuses
from drasat.peers.programs import KUBE_SCHEDULER
from drasat.reports.comparison import display_duration
from drasat.scenarios import one_node
from drasat.scenarios.objects import Mapped
from drasat.solver.allocate.load import load
from drasat.verbs.compare import ComparisonResult, compare

ENGINES = ("backtracking", "kube-scheduler")
LIMIT = 900.0


@dataclass(frozen=True)
class Case:
    """A named question; the longer it takes the less often it is asked."""

    name: str
    objects: Callable[[], list[Mapped]]
    repeat: int = 5


def cases() -> Iterator[Case]:
    """List the questions, the quick ones first."""
    yield Case("1 of 8 devices", lambda: one_node.easy(8), 25)
    for size in (12, 16, 20):
        yield Case(f"{size + 1} of {size} devices", lambda size=size: one_node.too_many(size), 5 if size < 20 else 1)
    for size in (16, 32):
        name = f"8 of {size}, then an impossible one"
        yield Case(name, lambda size=size: one_node.hopeless(size), 5 if size < 32 else 1)
    pods = "5000 pods on 500 nodes"
    yield Case(f"{pods}, no selector", lambda: one_node.pods(5000), 1)
    yield Case(f"{pods}, a selector", lambda: one_node.selecting_pods(5000), 1)
    yield Case("2500 pods on 500 nodes, 2 requests, matchAttribute", lambda: one_node.matching_pods(5000), 1)


def main(wanted: list[str]) -> int:
    """Measure the cases whose names contain one of the words, all without any."""
    chosen = [case for case in cases() if not wanted or any(word in case.name for word in wanted)]
    print(_machine())
    print("\n| question | outcome | steps | backtracking | kube-scheduler | kube-scheduler : backtracking |")
    print("|---|---|---:|---:|---:|---:|")
    for case in chosen:
        result = compare(load(case.objects()), ENGINES, time_limit=LIMIT, repeat=case.repeat)
        print(_row(case, result), flush=True)
    return 0


def _machine() -> str:
    (peer,) = peer_statuses([KUBE_SCHEDULER])
    if peer.handshake is None:
        sys.exit(peer.problem)
    told = peer.handshake
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{platform.machine()}, {os.cpu_count()} cores; {python}; {told.module} {told.version}, {told.go}"


def _row(case: Case, result: ComparisonResult) -> str:
    outcomes = dict.fromkeys(f"{one.outcome}, {one.admitted} admitted" for one in result.document.engines)
    steps = dict.fromkeys(f"{one.steps:,}" for one in result.document.engines)
    ours, theirs = (result.seconds[engine] for engine in ENGINES)
    times = [display_duration(ours), display_duration(theirs), f"{theirs / ours:.2g}"]
    cells = [case.name, " / ".join(outcomes), " / ".join(steps), *times]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
