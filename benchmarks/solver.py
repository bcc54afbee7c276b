"""The engines side by side on easy, hard and random questions: ``solver.py [NAME ...]`` prints tables for the docs.

Names are those of SECTIONS, or parts of the names of hard questions; without any, everything is measured. Times are
CPU times, each the median of a few, in this process but for ``command``; limits are by the clock.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from full_nodes import full_node
from measuring import LIMIT, Measured, measure, measure_peer, peer_is_built, share
from tables import machine

from drasat.models.cluster.cluster import Cluster
from drasat.models.results.common import Status
from drasat.reports.comparison import display_duration
from drasat.scenarios import one_node
from drasat.scenarios.one_node import QUESTIONS
from drasat.solver.allocate.load import load

ENGINES = ("auto", "cp-sat", "backtracking")
EXAMPLE = Path(__file__).parents[1] / "examples" / "whole-gpus"
# What ``auto`` may take on a random small cluster, as a multiple of backtracking and beside it.
FACTOR, ALLOWANCE = 3.0, 0.005


@dataclass(frozen=True)
class Options:
    """What to measure: names, seconds for each answer, members of each family, and full nodes."""

    names: Sequence[str]
    limit: float
    members: int
    nodes: int

    def all_of(self, section: str) -> bool:
        """Whether the whole section is asked for."""
        return not self.names or section in self.names

    def words(self) -> list[str]:
        """The names that are none of sections: parts of hard questions' names."""
        return [name for name in self.names if name not in SECTIONS]


def easy(_: Options) -> Iterator[str]:
    """One of eight devices: the search, and all of the call."""
    yield from _head("question", *(f"{engine}{what}" for engine in ENGINES for what in ("", ", verified")))
    for nodes in (1, 500):
        cluster = load(one_node.easy(8, nodes))
        found = [measure(cluster, engine, repeats=100) for engine in ENGINES]
        times = [display_duration(seconds) for one in found for seconds in (one.search, one.whole)]
        yield _row(f"1 of 8 devices, {nodes} node{'s' * (nodes > 1)}", *times)


def command(_: Options) -> Iterator[str]:
    """``drasat allocate`` of a small example, start of Python and end included, as it is from the second time on."""
    yield from _head("command", "time")
    with TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for engine in ("auto", "cp-sat"):
            line = ["drasat", "allocate", "-f", f"examples/{EXAMPLE.name}", "--engine", engine]
            _run(engine, environment)
            times = [_run(engine, environment) for _ in range(9)]
            yield _row(f"`{' '.join(line)}`", display_duration(median(times)))


def _run(engine: str, environment: Mapping[str, str]) -> float:
    program = Path(sysconfig.get_path("scripts")) / "drasat"
    started = perf_counter()
    line = [program, "allocate", "-f", EXAMPLE, "--engine", engine]
    subprocess.run(line, check=True, capture_output=True, env=environment)
    return perf_counter() - started


def hard(options: Options) -> Iterator[str]:
    """The hard questions, through all engines and, where it is built, the real allocator."""
    yield from _head(
        "question", "outcome", "auto", "auto, verified", "cp-sat", "backtracking", "kube-scheduler", "proof", "literals"
    )
    for name, question in QUESTIONS.items():
        if options.all_of("hard") or any(word in name for word in options.words()):
            yield _hard_row(name, load(question.objects()), question.fits, options.limit)


def _hard_row(name: str, cluster: Cluster, fits: bool, limit: float) -> str:
    found = {engine: measure(cluster, engine, limit) for engine in ENGINES}
    auto, solver = found["auto"], found["cp-sat"]
    peer = measure_peer(cluster, limit).told if peer_is_built() else "not built"
    wrong = [engine for engine, one in found.items() if one.outcome not in (_outcome(fits), Status.UNKNOWN)]
    outcome = auto.outcome + (f", WRONG: {', '.join(wrong)}" if wrong else "")
    times = [auto.told, display_duration(auto.whole), solver.told, found["backtracking"].told, peer]
    return _row(name, outcome, *times, auto.proof, f"{solver.statistics.literals:,}")


def _outcome(fits: bool) -> str:
    return Status.ALLOCATED if fits else Status.UNALLOCATABLE


def full(options: Options) -> Iterator[str]:
    """The random full nodes: how many are decided, and how soon."""
    clusters = [load(full_node(seed).objects) for seed in range(options.nodes)]
    yield from _head("engine", "outcome", "number", "within 100 ms", "within 2 s", "median", "95 %", "most")
    for engine in ENGINES:
        # A search by trial decides few of them, however long it is given.
        limit = 1.0 if engine == "backtracking" else options.limit
        found = [measure(cluster, engine, limit, repeats=2) for cluster in clusters]
        for outcome in dict.fromkeys(sorted(one.outcome for one in found)):
            yield _full_row(engine, outcome, [one for one in found if one.outcome == outcome])
        yield _full_row(engine, "all", found)


def _full_row(engine: str, outcome: str, found: Sequence[Measured]) -> str:
    seconds = [one.search for one in found]
    decided = [one.search for one in found if one.outcome != Status.UNKNOWN]
    soon = [f"{sum(time <= limit for time in decided) / len(found):.0%}" for limit in (0.1, 2.0)]
    times = [median(seconds), share(seconds, 0.95), max(seconds)]
    return _row(engine, outcome, str(len(found)), *soon, *map(display_duration, times))


def families(options: Options) -> Iterator[str]:
    """The random small clusters on which ``auto`` is slow beside backtracking, or says something else."""
    yield from _head("family", "members", "slower", "auto", "backtracking", "the worst")
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from support.families import FAMILIES, member

    for family in FAMILIES:
        pairs = {seed: _pair(load(member(family, seed))) for seed in range(options.members)}
        slow = {seed: pair for seed, pair in pairs.items() if _is_slow(pair)}
        times = [display_duration(median(pair[engine].search for pair in pairs.values())) for engine in range(2)]
        worst = max(pairs, key=lambda seed: pairs[seed][0].search / pairs[seed][1].search)
        told = f"member {worst}: {display_duration(pairs[worst][0].search)}, {display_duration(pairs[worst][1].search)}"
        yield _row(family, str(len(pairs)), ", ".join(map(str, slow)) or "none", *times, told)


def _pair(cluster: Cluster) -> tuple[Measured, Measured]:
    """Both engines; what looks slow is measured again, for something else may have been running."""
    first = measure(cluster, "auto", repeats=3), measure(cluster, "backtracking", repeats=3)
    return (measure(cluster, "auto"), measure(cluster, "backtracking")) if _is_slow(first) else first


def _is_slow(pair: tuple[Measured, Measured]) -> bool:
    return pair[0].search > FACTOR * pair[1].search + ALLOWANCE


Section = Callable[[Options], Iterator[str]]
SECTIONS: dict[str, Section] = {"easy": easy, "command": command, "hard": hard, "full": full, "families": families}


def _head(*names: str) -> Iterator[str]:
    yield _row(*names)
    yield "|---" * len(names) + "|"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str], sections: Mapping[str, Section] = SECTIONS) -> None:
    """Print a table for each section that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for each answer")
    parser.add_argument("--members", type=int, default=40, help="of each family")
    parser.add_argument("--nodes", type=int, default=120, help="random full nodes")
    options = Options(**vars(parser.parse_args(arguments)))
    print(machine())
    for name, section in sections.items():
        if options.all_of(name) or (name == "hard" and options.words()):
            print(f"\n## {name}\n")
            for line in section(options):
                print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
