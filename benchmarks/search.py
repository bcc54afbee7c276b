"""Steps a second of one search: ``python benchmarks/search.py [DEVICES]``. No start-up, reading or verifying counts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import process_time

from drasat.scenarios import one_node
from drasat.scenarios.objects import Mapped
from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.load import load


def measure(objects: list[Mapped]) -> tuple[int, float]:
    """Steps, and CPU seconds of the search."""
    cluster = load(objects)
    marks = [process_time()]
    found = allocate(
        cluster, engine="backtracking", time_limit=None, progress=lambda _done, _all: marks.append(process_time())
    )
    return found.statistics.steps, marks[-1] - marks[0]


def cases(devices: int) -> dict[str, Callable[[], list[Mapped]]]:
    """Searches that look at very many combinations before they say no."""
    return {
        "21 of 20 devices": lambda: one_node.too_many(20),
        f"{devices // 4} of {devices}, then an impossible one": lambda: one_node.hopeless(devices),
    }


def main(devices: int) -> None:
    """Print a row a case."""
    print("| question | steps | CPU seconds | steps a second |\n|---|---:|---:|---:|")
    for name, objects in cases(devices).items():
        steps, seconds = measure(objects())
        print(f"| {name} | {steps:,} | {seconds:.2f} | {steps / seconds:,.0f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 32)
