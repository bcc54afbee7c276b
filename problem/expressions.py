"""Expressions over devices, each run once for what it can see of a device (CEL-4 to CEL-9)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from ..cel.devices import DeviceShapes, PreparedDevice
from ..cel.devices_projection import Path, projection
from ..cel.errors import CelCompileError, CelDeadlineError, CelError, CelRuntimeError
from ..cel.program import Program
from ..cel.selector import Selector
from ..cel.types import DEVICE
from ..models.slices import DeviceAttribute
from .derived import check_type, to_attribute
from .outcomes import DeadlineExceededError
from .profiles import Profile
from .selectors import ExpressionError

if TYPE_CHECKING:
    from ..cel.device_sets import DeviceSetExpression


class CelExpressions:
    """Compiles each text once and remembers results and errors alike.

    ``deadline`` is a reading of ``time.monotonic`` or None; passing it raises ``DeadlineExceededError`` (CEL-11).
    """

    def __init__(self) -> None:
        self.evaluations = 0
        self.deadline: float | None = None
        self._shapes = DeviceShapes()
        self._prepared: dict[int, PreparedDevice] = {}
        self._selectors: dict[str, Selector | ExpressionError] = {}
        self._derivations: dict[str, Program | ExpressionError] = {}
        self._derived: dict[tuple[str, int], DeviceAttribute | ExpressionError] = {}
        self._device_sets: dict[str, DeviceSetExpression | ExpressionError] = {}
        self._judged: dict[tuple[str, tuple[int, ...]], bool | ExpressionError] = {}

    def test(self, expression: str, profile: Profile) -> bool | ExpressionError:
        """Evaluate a selector on devices of this profile."""
        return self.test_all(expression, (profile,))[0]

    def test_all(self, expression: str, profiles: Sequence[Profile]) -> Sequence[bool | ExpressionError]:
        """Evaluate a selector on devices of each of these profiles."""
        selector = _remembered(self._selectors, expression, self._selector)
        if isinstance(selector, ExpressionError):
            return [selector] * len(profiles)
        try:
            results = selector.matches_all(map(self.prepared, profiles), deadline=self.deadline)
        except CelDeadlineError as error:
            raise DeadlineExceededError(f"filter operation aborted: {error}") from error
        return [ExpressionError(str(one), False) if isinstance(one, CelError) else one for one in results]

    def derive(self, expression: str, profile: Profile) -> DeviceAttribute | ExpressionError:
        """Compute a derived attribute of devices of this profile (CON-12)."""
        program = _remembered(self._derivations, expression, _derivation)
        if isinstance(program, ExpressionError):
            return program
        key = expression, profile.index
        if key not in self._derived:
            self._derived[key] = self._derive(program, profile)
        return self._derived[key]

    def reads(self, expression: str) -> frozenset[Path]:
        """Tell which parts of a device a selector can depend on: of one that does not compile, none."""
        selector = _remembered(self._selectors, expression, self._selector)
        return frozenset() if isinstance(selector, ExpressionError) else selector.projection

    def derivation_reads(self, expression: str) -> frozenset[Path]:
        """Tell the same of the expression of a derived attribute."""
        program = _remembered(self._derivations, expression, _derivation)
        return frozenset() if isinstance(program, ExpressionError) else projection(program.checked.tree)

    def _selector(self, expression: str) -> Selector:
        return _CountedSelector(expression, self)

    def _derive(self, program: Program, profile: Profile) -> DeviceAttribute | ExpressionError:
        self.evaluations += 1
        try:
            value = program.evaluate({"device": self.prepared(profile).cel_value}, deadline=self.deadline)
            return to_attribute(value)
        except CelDeadlineError as error:
            raise DeadlineExceededError(f"filter operation aborted: {error}") from error
        except CelRuntimeError as error:
            return ExpressionError(str(error), False)

    def device_set(self, text: str) -> DeviceSetExpression | ExpressionError:
        """Compile an expression over ``devices`` (CELC-1)."""
        # Few claims have any.
        from ..cel.device_sets import DeviceSetExpression

        found: DeviceSetExpression | ExpressionError = _remembered(self._device_sets, text, DeviceSetExpression)
        return found

    def sight(self, expression: DeviceSetExpression, profile: Profile) -> Hashable:
        """Return the values that the expression reads of a device, with all names that tell devices apart."""
        device = self.prepared(profile)
        positions = {position for path in expression.reads for position in device.shape.positions(path)}
        return device.shape, device.error, tuple(device.values[position] for position in sorted(positions))

    def judge(
        self, expression: DeviceSetExpression, profiles: Sequence[Profile], *, ordered: bool
    ) -> bool | ExpressionError:
        """Evaluate an expression on devices of these profiles, once for each set of them if order does not matter."""
        numbers = [profile.index for profile in profiles]
        key = expression.text, tuple(numbers if ordered else sorted(numbers))
        if key not in self._judged:
            self.evaluations += 1
            try:
                result = expression.result([self.prepared(one) for one in profiles], deadline=self.deadline)
            except CelDeadlineError as error:
                raise DeadlineExceededError(f"filter operation aborted: {error}") from error
            self._judged[key] = ExpressionError(str(result), False) if isinstance(result, CelError) else result
        return self._judged[key]

    def prepared(self, profile: Profile) -> PreparedDevice:
        """Return a device of this profile as expressions see it."""
        prepared = self._prepared.get(profile.index)
        if prepared is None:
            prepared = self._prepared[profile.index] = self._shapes.prepare(profile.device, profile.driver)
        return prepared


class _CountedSelector(Selector):
    """Counts how often it really runs."""

    def __init__(self, text: str, owner: CelExpressions) -> None:
        super().__init__(text)
        self._owner = owner

    def evaluate(self, device: PreparedDevice, *, deadline: float | None = None) -> bool | CelError:
        """Evaluate on a device, remembering nothing."""
        self._owner.evaluations += 1
        return super().evaluate(device, deadline=deadline)


def _remembered(known: dict[str, Any], expression: str, compile_: Callable[[str], Any]) -> Any:
    """Compile a text the first time; its error is remembered too."""
    if expression not in known:
        try:
            known[expression] = compile_(expression)
        except CelCompileError as error:
            known[expression] = ExpressionError(str(error), True)
    return known[expression]


def _derivation(expression: str) -> Program:
    try:
        program = Program(expression, {"device": DEVICE})
    except CelCompileError as error:
        # As for selectors, upstream tells what does not parse or type-check from what is too long.
        raise CelCompileError(f"compilation failed: {error}") if error.issues else error from None
    check_type(program.type)
    return program
