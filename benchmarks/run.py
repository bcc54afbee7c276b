"""Measure every phase on clusters of growing size; print a table, write JSON, and say how each phase grows.

Times are CPU time of one machine, the least of ``REPEATS`` runs: compare the columns of one table, not tables. The
growth exponent of a phase is the slope of its time between the two largest sizes on a log-log scale.
"""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SIZES = (100, 1_000, 10_000)
REPEATS = 3


def measured(nodes: int) -> dict[str, float]:
    """Least seconds by phase, and most memory in MiB, each run in a process of its own."""
    runs = [_run(nodes) for _ in range(REPEATS)]
    phases = runs[0]["seconds"]
    seconds = {phase: min(run["seconds"][phase] for run in runs) for phase in phases}
    return {**seconds, "peakMiB": max(run["peakMiB"] for run in runs)}


def _run(nodes: int) -> dict[str, dict[str, float]]:
    command = [sys.executable, str(HERE / "phases.py"), str(nodes)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    run: dict[str, dict[str, float]] = json.loads(done.stdout)
    return run


def growth(small: float, large: float) -> float:
    """The exponent between the two largest sizes: 1 is linear."""
    return math.log(large / small) / math.log(SIZES[-1] / SIZES[-2])


def table(results: dict[int, dict[str, float]]) -> list[str]:
    """A row a phase: milliseconds at each size, microseconds a device at the largest, growth exponent."""
    devices = SIZES[-1] * 12
    lines = [f"{'phase':10}" + "".join(f"{size:>9,} nodes" for size in SIZES) + "   us/device  growth"]
    for phase in results[SIZES[0]]:
        row = [results[size][phase] for size in SIZES]
        if phase == "peakMiB":
            lines.append(f"{phase:10}" + "".join(f"{value:11.0f} MiB" for value in row))
            continue
        cells = "".join(f"{value * 1000:12.1f} ms" for value in row)
        lines.append(f"{phase:10}{cells}{row[-1] / devices * 1e6:12.2f}{growth(row[-2], row[-1]):8.2f}")
    return lines


def main() -> None:
    """Run everything and write ``benchmarks/out/phases.json``."""
    results = {size: measured(size) for size in SIZES}
    python = f"{platform.python_implementation()} {platform.python_version()}"
    print(f"{platform.machine()}, {os.cpu_count()} cores, {python}")
    print("\n".join(table(results)))
    out = HERE / "out" / "phases.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps({"sizes": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
