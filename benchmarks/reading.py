"""CPU microseconds a device for reading slices with 8 attributes a device: ``python benchmarks/reading.py``."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

import yaml

from drasat import scenarios
from drasat.models.manifests.reader import read_manifests
from drasat.scenarios.objects import Mapped

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


def main() -> None:
    """Print a row a format."""
    print("| format | devices | us a device |\n|---|---:|---:|")
    for suffix, (_, nodes) in FORMATS.items():
        print(f"| {suffix.upper()} | {nodes * DEVICES:,} | {measure(suffix, nodes):.1f} |", flush=True)


if __name__ == "__main__":
    main()
