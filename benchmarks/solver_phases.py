"""Where the time of a solver's answer goes: ``solver_phases.py [NAME ...]`` prints a table.

Each phase is called by itself on one Problem, so that they add up to what ``auto`` does when the search is not enough.
Times are CPU time, the least of a few runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import process_time
from typing import TypeVar

from drasat.encoders.constraints import ENCODERS
from drasat.encoders.model import build_model
from drasat.encoders.solution import decode_solution
from drasat.encoders.symmetry import build_symmetry_classes, merge_equal_requests
from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.workload.requested import requested_units
from drasat.problem.compiler import Compiler
from drasat.problem.filters import usable_devices
from drasat.problem.node_state import AllocatedState
from drasat.problem.selectors import ExpressionEvaluator
from drasat.problem.shapes import NodeViews
from drasat.reports.comparison import display_duration
from drasat.scenarios import one_node
from drasat.scenarios.one_node import QUESTIONS
from drasat.solver.allocate.load import load
from drasat.solver.engines.auto import SEARCH_VISITS
from drasat.solver.engines.cp_sat import Limits, run_by_configurations
from drasat.solver.engines.engine import Counts
from drasat.solver.engines.search import BudgetError, bounded_search
from drasat.solver.proofs import find_witness

GATES = FeatureGates.all_on()
REPEATS = 5
PHASES = ("compile", "candidates", "proofs", "search", "merge", "collapse", "encode", "solve", "expand")
# Equal devices of one node: what collapsing them is worth shows as they grow.
GROWING = (32, 64, 128)

_Made = TypeVar("_Made")


@dataclass
class Phases:
    """CPU seconds of each phase of one run, and how large the model is."""

    seconds: dict[str, float] = field(default_factory=dict)
    classes: int = 0
    variables: int = 0

    def take(self, phase: str, work: Callable[[], _Made]) -> _Made:
        """Measure a phase, and return what it made."""
        started = process_time()
        made = work()
        self.seconds[phase] = process_time() - started
        return made


def measure(cluster: Cluster) -> Phases:
    """Go through all phases for the cluster's first unit on its first node, whether or not an earlier one decides."""
    phases = Phases()
    (node, *_), (unit, *_) = cluster.nodes.values(), requested_units(cluster)
    claims = [ref.claim for ref in unit.requested_claims if ref.claim is not None]
    compiler = Compiler(cluster.classes, GATES, ExpressionEvaluator(), "strict")
    view = NodeViews(cluster.pools(GATES), GATES).of(node, compiler.question(claims).visible)
    in_use = AllocatedState(cluster.usage(GATES)).in_use(view)
    problem = phases.take(
        "compile", lambda: compiler.problem(compiler.question(claims), view.shape)
    ).order_independent()
    candidates = phases.take("candidates", lambda: usable_devices(problem, in_use))
    phases.take("proofs", lambda: find_witness(problem, in_use, candidates))
    phases.take("search", lambda: _search(lambda: bounded_search(problem, in_use, Counts(), None, SEARCH_VISITS)))
    merged = phases.take("merge", lambda: merge_equal_requests(problem, in_use, candidates))
    collapsed = phases.take("collapse", lambda: build_symmetry_classes(merged, ENCODERS))
    model = phases.take("encode", lambda: build_model(collapsed, ENCODERS))
    found = phases.take("solve", lambda: run_by_configurations(model.rows, Limits(work=10.0)))
    phases.take("expand", lambda: decode_solution(model, found.values) if found.values else ())
    phases.classes, phases.variables = len(collapsed.classes), model.rows.variables
    return phases


def _search(work: Callable[[], object]) -> None:
    try:
        work()
    except BudgetError:
        return


def rows(wanted: list[str], growing: Sequence[int]) -> Iterator[tuple[str, Cluster]]:
    """Name the questions: equal devices in growing number, and the hard ones."""
    for size in growing:
        yield f"{size - 1} of {size} equal devices, by ones", load(one_node.by_ones(size))
    for name, question in QUESTIONS.items():
        if any(word in name for word in wanted or ("claims of 4", "lists", "groups of 15", "on 8 GPUs, claims")):
            yield name, load(question.objects())


def main(wanted: list[str], growing: Sequence[int] = GROWING, repeats: int = REPEATS) -> int:
    """Print a row a question; ``growing`` are the numbers of equal devices."""
    print(f"| question | {' | '.join(PHASES)} | classes | variables |")
    print(f"|---|{'---:|' * (len(PHASES) + 2)}")
    for name, cluster in rows(wanted, growing):
        runs = [measure(cluster) for _ in range(repeats)]
        least = [display_duration(min(run.seconds[phase] for run in runs)) for phase in PHASES]
        print(f"| {name} | {' | '.join(least)} | {runs[0].classes} | {runs[0].variables} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
