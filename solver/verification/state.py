"""What is in use before a unit and within it (sections 4 and 10), and the values of attributes and expressions.

Expressions are evaluated on published devices (section 8, CON-12, read anew). No other module of the verifier knows
CEL.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

import msgspec

from ...cel.devices import DeviceShapes, PreparedDevice
from ...cel.environment import derived_attribute_environment
from ...cel.errors import CelCompileError, CelDeadlineError, CelError
from ...cel.meter import metered_work
from ...cel.program import Program
from ...cel.selector import Selector
from ...cel.values import Optional, TypeValue, Value
from ...models.kubernetes.claims import AllocationResult, DeviceRequestAllocationResult
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import DeviceId, PoolId
from ...models.kubernetes.semver import Version
from ...models.kubernetes.slices import DeviceAttribute, UnknownValue
from .published import Finding, PublishedDevice, nano


def device_id(result: DeviceRequestAllocationResult) -> DeviceId:
    """Return the triple that names the device of a result."""
    return result.driver, result.pool, result.device


class HeldDevices:
    """The devices held by claims outside the unit that is verified (IN-2, IN-3).

    It may go on where another one, ``before``, ends; that one must not change any more.
    """

    def __init__(self, gates: FeatureGates, before: HeldDevices | None = None) -> None:
        self._gates = gates
        self._before = before if before is not None and before.has_any else None
        self._dedicated: set[DeviceId] = set()
        self._shared: set[DeviceId] = set()
        self._share_ids: set[str] = set()
        self._consumed: dict[DeviceId, Tally[str]] = {}
        # Devices of each pool in the order in which they came into use.
        self._held: dict[PoolId, list[DeviceId]] = defaultdict(list)

    def enter(self, allocation: AllocationResult) -> None:
        """Count an allocation as held; admin access does not hold (IN-3)."""
        for result in allocation.devices.results or ():
            if result.admin_access:
                continue
            held = device_id(result)
            if not self.holds(held):
                self._held[held[:2]].append(held)
            if result.share_id is None or not self._gates.consumable_capacity:
                self._dedicated.add(held)
                continue
            self._shared.add(held)
            self._share_ids.add(result.share_id)
            used = self._consumed.setdefault(held, Tally())
            for name, amount in (result.consumed_capacity or {}).items():
                used[name] += nano(amount)

    @property
    def has_any(self) -> bool:
        """Whether some device is held."""
        return bool(self._held) or (self._before is not None and self._before.has_any)

    def holds(self, device: DeviceId) -> bool:
        """IN-4: whether the device counts as allocated."""
        if device in self._dedicated or device in self._shared:
            return True
        return self._before is not None and self._before.holds(device)

    def dedicates(self, device: DeviceId) -> bool:
        """Whether somebody has the device alone."""
        return device in self._dedicated or (self._before is not None and self._before.dedicates(device))

    def shares(self, device: DeviceId) -> bool:
        """Whether a share of the device is in use."""
        return device in self._shared or (self._before is not None and self._before.shares(device))

    def knows_share(self, share_id: str) -> bool:
        """Whether a share has this id."""
        return share_id in self._share_ids or (self._before is not None and self._before.knows_share(share_id))

    def consumed(self, device: DeviceId, capacity: str) -> int:
        """Add up what shares consume of a capacity, in billionths."""
        used = self._consumed.get(device)
        before = self._before.consumed(device, capacity) if self._before is not None else 0
        return before + (used[capacity] if used else 0)

    def held_since(self, pool: PoolId, known: int) -> list[DeviceId]:
        """List the pool's devices in the order in which they came into use, but for the first ``known``."""
        own = self._held.get(pool, [])
        if self._before is None:
            return own[known:]
        earlier = self._before.held_number(pool)
        before = self._before.held_since(pool, known) if known < earlier else []
        return before + own[max(0, known - earlier) :]

    def held_number(self, pool: PoolId) -> int:
        """Count the pool's devices in use."""
        before = self._before.held_number(pool) if self._before is not None else 0
        return before + len(self._held.get(pool, ()))


class UnitUsage:
    """The devices that one unit has taken so far, result by result."""

    def __init__(self, before: HeldDevices) -> None:
        self.before = before
        # Numbers of the claims that hold a dedicated device.
        self.picked: dict[DeviceId, set[int]] = defaultdict(set)
        self.shared: set[DeviceId] = set()
        self.consumed: dict[DeviceId, Tally[str]] = defaultdict(Tally)
        # Devices that took from the counters of each pool.
        self.drawing: dict[PoolId, list[PublishedDevice]] = defaultdict(list)

    def shared_already(self, device: DeviceId) -> bool:
        """CTR-3: whether a share of the device is in use, so that another one costs no counters."""
        return device in self.shared or self.before.shares(device)

    def take(self, entry: PublishedDevice, claim: int, shared: bool) -> None:
        """Mark the device as taken: for this claim, or as one more share (DEV-12)."""
        if entry.device.consumes_counters and not (shared and self.shared_already(entry.id)):
            self.drawing[entry.pool_id].append(entry)
        if shared:
            self.shared.add(entry.id)
        else:
            self.picked[entry.id].add(claim)

    def used(self, device: DeviceId, capacity: str) -> int:
        """Add up what others and this unit consume of a capacity, in billionths."""
        return self.before.consumed(device, capacity) + self.consumed[device][capacity]


Scalar: TypeAlias = bool | int | str
TypedValue: TypeAlias = tuple[str, tuple[Scalar, ...], bool]
"""An attribute's base type (empty: it has no value), its elements, and whether it is a list."""
_Compiled = TypeVar("_Compiled")
# Devices are asked about claim by claim, so those from before are hardly asked for again; they are large.
_MAX_PREPARED_DEVICES = 32
_SCALAR_FIELDS = {"int_value": "int", "bool_value": "bool", "string": "string", "version": "version"}
_LIST_FIELDS = {"ints": "int", "bools": "bool", "strings": "string", "versions": "version"}
_KIND_OF_TYPE = {int: "int", bool: "bool", str: "string", Version: "version"}


UNKNOWN_KIND = "unknown"
"""The type of values of devices that are not there yet: equal to themselves, and to nothing else."""


def typed_value(attribute: DeviceAttribute) -> TypedValue:
    """Read the value of a published attribute; of one that nobody knows yet, what it is called (R10)."""
    if isinstance(attribute, UnknownValue):
        return UNKNOWN_KIND, (attribute.token,), False
    for field, kind in _SCALAR_FIELDS.items():
        value = getattr(attribute, field)
        if value is not None:
            return kind, (value,), False
    for field, kind in _LIST_FIELDS.items():
        values = getattr(attribute, field)
        if values is not None:
            return kind, tuple(values), True
    return "", (), False


def published_value(entry: PublishedDevice, name: str) -> TypedValue | None:
    """Read a published attribute by its full name, else by its identifier if the domain is the driver's (CON-2)."""
    attributes = entry.device.attributes or {}
    domain, _, identifier = name.partition("/")
    spellings = (name, identifier) if domain == entry.driver else (name,)
    return next((typed_value(attributes[spelling]) for spelling in spellings if spelling in attributes), None)


ExpressionTimeoutError = CelDeadlineError
"""The deadline passed while an expression was compiled or evaluated."""


class VerifierExpressions:
    """Compiles every text once, and evaluates it once on every device it is asked about.

    Passing ``deadline``, a reading of ``time.monotonic``, raises ``CelDeadlineError`` (CEL-11).
    """

    def __init__(self, gates: FeatureGates, deadline: float | None = None) -> None:
        self.deadline = deadline
        # The stable variant has never heard of devices that can be shared (FEAT-3).
        self._hides_sharing = gates.variant == "stable"
        self._shapes = DeviceShapes()
        self._devices: dict[int, PreparedDevice] = {}
        self._selectors: dict[str, Selector | CelError] = {}
        self._derivations: dict[str, Program | CelError] = {}
        self._answers: dict[tuple[str, int], Finding | None] = {}

    def refuses(self, expression: str, entry: PublishedDevice) -> Finding | None:
        """Why a selector refuses the device, if it does: it is false (DEV-3) or an error (CEL-6)."""
        key = expression, id(entry.device)
        if key not in self._answers:
            selector = self._compile_once(self._selectors, expression, Selector.compile)
            result = (
                selector
                if isinstance(selector, CelError)
                else selector.evaluate(self._device(entry), deadline=self.deadline)
            )
            if isinstance(result, CelError):
                self._answers[key] = Finding("CEL-6", f"{expression}: {result}", fatal=True)
            else:
                self._answers[key] = None if result else Finding("DEV-3", f"{expression} is false")
        return self._answers[key]

    def refuses_together(self, expression: str, entries: Sequence[PublishedDevice]) -> Finding | None:
        """Why an expression over ``devices`` refuses these, in result order, if it does (CELC-2 to CELC-4)."""
        # Few claims have any.
        from ...cel.selector import DeviceSetExpression

        try:
            with metered_work(self.deadline):
                compiled = DeviceSetExpression(expression)
            result = compiled.result([self._device(entry) for entry in entries], deadline=self.deadline)
        except CelCompileError as error:
            return Finding("CELC-1", f"{expression}: {error}")
        if isinstance(result, CelError):
            return Finding("CELC-4", f"{expression}: {result}")
        return None if result else Finding("CELC-2", f"{expression} is false")

    def derived(self, expression: str, entry: PublishedDevice) -> TypedValue | Finding:
        """Compute the value that an expression gives an attribute of the device, or the error (CON-12)."""
        program = self._compile_once(self._derivations, expression, _derivation)
        try:
            if isinstance(program, CelError):
                raise program
            seen = self._device(entry).cel_value
            return _typed_cel_value(program.evaluate({"device": seen}, deadline=self.deadline))
        except CelDeadlineError:
            raise
        except CelError as error:
            return Finding("CON-12", f"{expression}: {error}")

    def _device(self, entry: PublishedDevice) -> PreparedDevice:
        key = id(entry.device)
        if key not in self._devices:
            if len(self._devices) >= _MAX_PREPARED_DEVICES:
                self._devices.clear()
            device = entry.device
            if self._hides_sharing:
                device = msgspec.structs.replace(device, allow_multiple_allocations=None)
            self._devices[key] = self._shapes.prepare(device, entry.driver)
        return self._devices[key]

    def _compile_once(
        self, known: dict[str, _Compiled | CelError], text: str, compile_: Callable[[str], _Compiled]
    ) -> _Compiled | CelError:
        if text not in known:
            try:
                with metered_work(self.deadline):
                    known[text] = compile_(text)
            except CelCompileError as error:
                known[text] = error
        return known[text]


def _derivation(text: str) -> Program:
    return Program(text, scope=derived_attribute_environment)


def _typed_cel_value(value: Value) -> TypedValue | Finding:
    is_list = isinstance(value, (list, tuple))
    elements = list(map(_plain_value, value if is_list else [value]))
    kinds = {_KIND_OF_TYPE.get(type(element), "") for element in elements}
    if "" in kinds or len(kinds) > 1:
        return Finding("CON-12", "the value is neither a scalar nor a list of scalars of one type")
    scalars = tuple(element.text if isinstance(element, Version) else element for element in elements)
    return next(iter(kinds), ""), scalars, is_list


def _plain_value(value: Value) -> Value:
    """What upstream takes an element for: an optional for its value, a type for its name."""
    while isinstance(value, Optional) and value.present:
        value = value.value
    return value.name if isinstance(value, TypeValue) else value
