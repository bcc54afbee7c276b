"""Evaluations a second of a selector with two clauses on prepared devices: ``python benchmarks/cel.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import process_time

from drasat import scenarios
from drasat.cel.devices import DeviceShapes, PreparedDevice
from drasat.cel.selector import Selector
from drasat.models.kubernetes.slices import ResourceSlice
from drasat.models.manifests.reader import read_manifests

DRIVER = "gpu.example.com"
SELECTOR = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].productName.startsWith("H100")'
REPEATS = 5


def prepared(nodes: int) -> list[PreparedDevice]:
    """Devices of so many nodes, each with values of its own beside common ones."""
    manifests, _, _ = read_manifests([scenarios.gpu_nodes(nodes, 12, seed=1)])
    slices = [manifest.object for manifest in manifests if isinstance(manifest.object, ResourceSlice)]
    shapes = DeviceShapes()
    found = [shapes.prepare(device, slice_.spec.driver) for slice_ in slices for device in slice_.spec.devices or ()]
    for device in found:
        assert device.cel_value is not None  # made here, not while the clock runs
    return found


def anew(selector: Selector, devices: Sequence[PreparedDevice]) -> None:
    """Evaluate on every device, as if none had been seen before."""
    for device in devices:
        selector.evaluate(device)


def remembered(selector: Selector, devices: Sequence[PreparedDevice]) -> None:
    """Ask about devices whose visible values were seen before."""
    selector.matches_all(devices)


def rate(ask: Callable[[Selector, Sequence[PreparedDevice]], None], devices: Sequence[PreparedDevice]) -> float:
    """Evaluations a CPU second, the most of some runs."""
    selector = Selector.compile(SELECTOR)
    ask(selector, devices)
    best = 0.0
    for _ in range(REPEATS):
        started = process_time()
        ask(selector, devices)
        best = max(best, len(devices) / (process_time() - started))
    return best


def main(nodes: int = 2_000) -> None:
    """Print a row a way to ask."""
    devices = prepared(nodes)
    print("| devices | evaluations a second |\n|---|---:|")
    for name, ask in {"evaluated anew": anew, "visible values seen before": remembered}.items():
        print(f"| {name} | {rate(ask, devices):,.0f} |")


if __name__ == "__main__":
    main()
