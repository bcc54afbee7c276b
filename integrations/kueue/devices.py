"""Devices as Kueue's counting sees them, and which of them selectors match (kueue-dra 3.5, 5.2).

It looks at what slices publish in the whole cluster: nodes, taints and allocations do not matter. Without sources even
obsolete and incomplete pools count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ...cel.devices import DeviceShapes, PreparedDevice
from ...cel.errors import CelCompileError, CelDeadlineError, CelError
from ...cel.meter import metered_work
from ...cel.program import HINT
from ...cel.selector import Selector, compile_selector
from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import DeviceClass
from ...models.kubernetes.meta import PoolId
from ...models.kubernetes.slices import Device, ResourceSlice
from ...models.validation.findings import Path, quote_whole, render_path
from ...problem.messages import DeadlineExceededError, check_deadline

INVALID, NOT_FOUND, INTERNAL = "Invalid value", "Not found", "Internal error"


@dataclass(frozen=True, slots=True)
class CountingProblem:
    """An error of a field as Kueue words it; ``path`` may be relative to the claim or pod that is counted.

    The detail ``of_template`` begins with the name of the claim template, once that is known.
    """

    path: Path
    kind: str
    detail: str = ""
    value: Any = None
    of_template: bool = False

    def at(self, path: Path, template: str) -> CountingProblem:
        """The problem with a path before its own, in the claim template of this name."""
        named = self.of_template and template
        detail = f"ResourceClaimTemplate {template}: {self.detail}" if named else self.detail
        return CountingProblem((*path, *self.path), self.kind, detail, self.value)

    def __str__(self) -> str:
        value = "" if self.kind == INTERNAL else quote_whole(self.value)
        return ": ".join(filter(None, (render_path(self.path), self.kind, value, self.detail)))


def joined(problems: Iterable[CountingProblem]) -> str:
    """All texts in one, as Kueue joins them."""
    texts = list(dict.fromkeys(map(str, problems)))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


class CountingError(Exception):
    """Why a workload cannot be counted (kueue-dra 3.7); the text is what Kueue says of all the problems."""

    def __init__(self, *problems: CountingProblem) -> None:
        self.problems = problems
        super().__init__(joined(problems))

    @property
    def retried(self) -> bool:
        """Whether Kueue tries again with back-off: otherwise it waits for an event."""
        return any(one.kind == INTERNAL for one in self.problems)

    def at(self, path: Path, template: str = "") -> CountingError:
        """The error with a path before those of its problems, in the claim template of this name."""
        return CountingError(*(one.at(path, template) for one in self.problems))


def invalid(path: Path, detail: str, value: Any = None, *, of_template: bool = False) -> CountingError:
    """A value that Kueue refuses; nothing but a change of it helps."""
    return CountingError(CountingProblem(path, INVALID, detail, value, of_template))


def internal(path: Path, detail: str, *, of_template: bool = False) -> CountingError:
    """What Kueue tries again, for something may appear that is missing."""
    return CountingError(CountingProblem(path, INTERNAL, detail, of_template=of_template))


@dataclass(frozen=True, slots=True, eq=False)
class SeenDevice:
    """A device that a slice publishes, ready for expressions."""

    device: Device
    prepared: PreparedDevice


class SeenDevices:
    """All devices that the slices of a cluster publish, in the order of the slices' names; prepared when first read."""

    def __init__(self, slices: Sequence[ResourceSlice]) -> None:
        self._slices = slices
        self._shapes = DeviceShapes()
        self._prepared: dict[int, tuple[SeenDevice, ...]] = {}
        self._positions: dict[str, list[int]] = defaultdict(list)
        for position, slice_ in enumerate(slices):
            self._positions[slice_.spec.driver].append(position)
        self._every: dict[frozenset[str] | None, tuple[SeenDevice, ...]] = {}
        self._current: dict[str, tuple[SeenDevice, ...]] = {}

    @classmethod
    def of(cls, cluster: Cluster) -> SeenDevices:
        """Those of a cluster, shared by all clusters with the same slices."""
        return cluster.slice_memo("devices seen by Kueue", lambda: cls(cluster.slices))

    def every(self, drivers: frozenset[str] | None = None) -> tuple[SeenDevice, ...]:
        """Devices of all slices, or of the slices of these drivers, obsolete ones included."""
        if drivers not in self._every:
            chosen = (
                position
                for position, slice_ in enumerate(self._slices)
                if drivers is None or slice_.spec.driver in drivers
            )
            self._every[drivers] = self._of_slices(chosen)
        return self._every[drivers]

    def current(self, driver: str) -> tuple[SeenDevice, ...]:
        """Devices of the newest generation of each complete pool of a driver."""
        if driver not in self._current:
            self._current[driver] = self._of_slices(chain.from_iterable(self._current_positions(driver)))
        return self._current[driver]

    def _current_positions(self, driver: str) -> list[list[int]]:
        pools: dict[PoolId, list[int]] = {}
        for position in self._positions.get(driver, ()):
            pool = self._slices[position].spec.pool
            known = pools.setdefault((driver, pool.name), [])
            newest = self._slices[known[0]].spec.pool.generation if known else pool.generation
            if pool.generation > newest:
                known.clear()
            if pool.generation >= newest:
                known.append(position)
        return [known for known in pools.values() if self._is_complete(known)]

    def _is_complete(self, positions: Sequence[int]) -> bool:
        return all(self._slices[position].spec.pool.resource_slice_count == len(positions) for position in positions)

    def _of_slices(self, positions: Iterable[int]) -> tuple[SeenDevice, ...]:
        return tuple(chain.from_iterable(map(self._of_slice, positions)))

    def _of_slice(self, position: int) -> tuple[SeenDevice, ...]:
        found = self._prepared.get(position)
        if found is None:
            driver = self._slices[position].spec.driver
            devices = self._slices[position].spec.devices or ()
            prepared = (SeenDevice(one, self._shapes.prepare(one, driver)) for one in devices)
            found = self._prepared[position] = tuple(prepared)
        return found


class SelectorEvaluator:
    """Compiles selectors and evaluates them on devices, until a deadline: a reading of ``time.monotonic`` or None."""

    def __init__(self, classes: Mapping[str, DeviceClass]) -> None:
        self._classes = classes
        self.deadline: float | None = None

    def compile(self, expression: str) -> Selector:
        """The selector of a text. Raises ``CelCompileError``, and ``DeadlineExceededError``."""
        try:
            with metered_work(self.deadline):
                return compile_selector(expression)
        except CelDeadlineError as error:
            raise DeadlineExceededError(str(error)) from error

    def of_class(self, name: str, path: Path) -> list[Selector]:
        """The selectors of a device class. Raises ``CountingError`` if there is no such class, or one is broken."""
        found = self._classes.get(name)
        if found is None:
            missing = f"failed to get DeviceClass {name}: deviceclasses.resource.k8s.io {quote_whole(name)} not found"
            raise internal(path, missing, of_template=True)
        compiled = []
        for index, selector in enumerate(found.spec.selectors or ()):
            text = selector.cel.expression if selector.cel else ""
            try:
                compiled.append(self.compile(text))
            except CelCompileError as error:
                detail = f"DeviceClass {name} has invalid CEL selector: {error}"
                where = (*path, index, "cel", "expression")
                raise invalid(where, detail, text, of_template=True) from None
        return compiled

    def matches(self, selectors: Iterable[Selector], seen: SeenDevice) -> bool:
        """Whether all selectors are true on a device. Raises ``CelError`` without advice, ``DeadlineExceededError``."""
        for selector in selectors:
            try:
                result = selector.result(seen.prepared, deadline=self.deadline)
            except CelDeadlineError as error:
                raise DeadlineExceededError(str(error)) from error
            if isinstance(result, CelError):
                raise type(result)(str(result).removesuffix(f". {HINT}"))
            if not result:
                return False
        return True

    def check_deadline(self) -> None:
        """Raise ``DeadlineExceededError`` once the deadline has passed."""
        check_deadline(self.deadline)


class MatchingDevices:
    """Devices that selectors match, found as far as somebody asks, and remembered."""

    def __init__(
        self, devices: Sequence[SeenDevice], selectors: Sequence[Selector], evaluator: SelectorEvaluator
    ) -> None:
        self._devices = devices
        self._selectors = selectors
        self._evaluator = evaluator
        self._found: list[int] = []
        self._errors: dict[int, CelError] = {}
        self._asked = 0

    def __iter__(self) -> Iterator[tuple[int, CelError | None]]:
        """Positions of devices that match, or where a selector fails with this error, in their order.

        Raises ``DeadlineExceededError``.
        """
        number = 0
        while number < len(self._found) or self._search():
            position = self._found[number]
            yield position, self._errors.get(position)
            number += 1

    def _search(self) -> bool:
        """Ask devices until one matches or fails; whether there is one."""
        for position in range(self._asked, len(self._devices)):
            self._evaluator.check_deadline()
            try:
                chosen = self._evaluator.matches(self._selectors, self._devices[position])
            except CelError as error:
                chosen, self._errors[position] = True, error
            self._asked = position + 1
            if chosen:
                self._found.append(position)
                return True
        return False
