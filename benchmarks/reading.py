"""CPU microseconds a device for reading slices with 8 attributes a device: ``python benchmarks/reading.py``.

``python benchmarks/reading.py --folders`` reads and validates folders of eight files by one process and by several.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from time import perf_counter, process_time
from typing import Any
from unittest.mock import patch

import yaml

from drasat import scenarios
from drasat.models.manifests.reader import read_manifests
from drasat.scenarios.objects import Mapped
from drasat.scenarios.queues import fleet
from drasat.solver.allocate.load import load_all

DEVICES = 12
REPEATS = 5


def _json(slices: list[Mapped]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": slices})


def _yaml(slices: list[Mapped]) -> str:
    return yaml.dump_all(slices, Dumper=yaml.CSafeDumper, sort_keys=False)


# A way to write, and for how many nodes.
FORMATS: dict[str, tuple[Callable[[list[Mapped]], str], int]] = {"json": (_json, 2_000), "yaml": (_yaml, 400)}


def measure(suffix: str, nodes: int) -> float:
    """CPU microseconds a device, the least of some runs."""
    write, _ = FORMATS[suffix]
    slices = [item for item in scenarios.gpu_nodes(nodes, DEVICES, seed=1) if item["kind"] == "ResourceSlice"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"slices.{suffix}"
        path.write_text(write(slices))
        return min(_seconds(path) for _ in range(REPEATS)) / (nodes * DEVICES) * 1e6


def _seconds(path: Path) -> float:
    started = process_time()
    _, problems, _ = read_manifests([str(path)])
    seconds = process_time() - started
    assert not problems, problems[0]
    return seconds


FILES = 8
# Nodes of a fleet with its queue, by format.
FOLDERS = {"json": 5_000, "yaml": 1_000}


def _folder(suffix: str, folder: Path) -> None:
    items = fleet(FOLDERS[suffix])
    for number in range(FILES):
        (folder / f"part-{number}.{suffix}").write_text(FORMATS[suffix][0](items[number::FILES]))


def _load(folder: Path, alone: bool) -> tuple[float, float, float]:
    """Seconds by the clock, of CPU of the first process, and of CPU of those that read beside it."""
    with patch("drasat.models.manifests.sources.is_safe_to_fork", lambda: not alone):
        started, before = perf_counter(), os.times()
        load_all([folder])
        clock, after = perf_counter() - started, os.times()
    own, others = (sum(after[at : at + 2]) - sum(before[at : at + 2]) for at in (0, 2))
    return clock, own, others


def _elsewhere(made: Callable[..., Any], *arguments: object) -> Any:
    """Call in a process of its own."""
    with ProcessPoolExecutor(1) as pool:
        return pool.submit(made, *arguments).result()


def folders() -> Iterator[str]:
    """Rows of a table: by one process and by several, in alternation, of each the run that took least by the clock."""
    yield "| folder | one process | several | ratio | CPU of one | CPU of several |\n|---|---:|---:|---:|---:|---:|"
    for suffix in FOLDERS:
        with tempfile.TemporaryDirectory() as folder:
            _elsewhere(_folder, suffix, Path(folder))
            size = sum(file.stat().st_size for file in Path(folder).iterdir()) / 1e6
            runs = [[_elsewhere(_load, Path(folder), alone) for alone in (True, False)] for _ in range(REPEATS)]
        (clock, cpu, _), (clocks, own, others) = map(min, zip(*runs, strict=True))
        name = f"{FILES} files of {suffix.upper()}, {size:.0f} MB"
        times = f"{clock:.2f} s | {clocks:.2f} s | {clocks / clock:.2f} | {cpu:.2f} s | {own:.2f} + {others:.2f} s"
        yield f"| {name} | {times} |"


def main() -> None:
    """Print a row a format."""
    if "--folders" in sys.argv:
        for row in folders():
            print(row, flush=True)
        return
    print("| format | devices | us a device |\n|---|---:|---:|")
    for suffix, (_, nodes) in FORMATS.items():
        print(f"| {suffix.upper()} | {nodes * DEVICES:,} | {measure(suffix, nodes):.1f} |", flush=True)


if __name__ == "__main__":
    main()
