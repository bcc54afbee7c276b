"""Expressions over devices, each run once for what it can see of a device, with errors as values (CEL-4 to CEL-9).

An error is remembered like a result; what it does is the caller's policy. Derived attributes: what an expression may
return, and the attribute that it makes (CON-12). ``SelectorTable`` finds every selector of a request that a device
fails, not only the first: explanations weigh each of them alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec import structs

from ..cel.devices import DeviceShapes, Path, PreparedDevice, read_paths
from ..cel.environment import derived_attribute_environment
from ..cel.errors import CelCompileError, CelDeadlineError, CelError, CelRuntimeError
from ..cel.meter import metered_work
from ..cel.program import Program, with_compilation_prefix
from ..cel.selector import Selector, compile_selector
from ..cel.values import Optional, TypeValue, Value, type_name
from ..models.cluster.cluster import Cluster
from ..models.kubernetes.claims import DeviceSelector, ResourceClaim
from ..models.kubernetes.gates import FeatureGates
from ..models.kubernetes.semver import Version
from ..models.kubernetes.slices import Device, DeviceAttribute
from ..models.workload.expansion import QueuedUnit
from ..models.workload.node_resources import NodeResourcesOfDevices
from ..models.workload.units import ClaimRef, Unit, allocation_of, is_reserved_for_others
from .messages import DeadlineExceededError, Message, Placeholder
from .requests import ResolvedRequest
from .shapes import Profile

if TYPE_CHECKING:
    from ..cel.selector import DeviceSetExpression


@dataclass(frozen=True, slots=True)
class ExpressionError:
    """Text of an error, of compiling an expression or of running it on a device."""

    text: str
    compiling: bool


@dataclass(frozen=True, slots=True)
class SelectorVerdict:
    """What a list of selectors says: nothing (it matches), which one is false, or the error of one."""

    detail: str = ""
    error: Message = ()


def evaluate_selectors(
    selectors: Sequence[DeviceSelector], subject: Message, profiles: Sequence[Profile], expressions: ExpressionEvaluator
) -> dict[int, SelectorVerdict]:
    """Ask the same about several devices: verdicts of those that do not match, by their places."""
    found: dict[int, SelectorVerdict] = {}
    left: Sequence[int] = range(len(profiles))
    for index, selector in enumerate(selectors):
        text = selector.cel.expression if selector.cel else ""
        results = expressions.test_all(text, [profiles[place] for place in left])
        no, passing = SelectorVerdict(text), []
        for place, result in zip(left, results, strict=True):
            if result is True:
                passing.append(place)
            elif isinstance(result, ExpressionError):
                found[place] = SelectorVerdict(result.text, _selector_error_message(subject, index, result))
            else:
                found[place] = no
        left = passing
    return found


def _selector_error_message(subject: Message, index: int, error: ExpressionError) -> Message:
    if error.compiling:
        return (*subject, f": selector #{index}: CEL compile error: {error.text}")
    return (*subject, f": selector #{index} on device ", Placeholder.DEVICE, f": CEL runtime error: {error.text}")


class ExpressionEvaluator:
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
        selector = self._compiled(self._selectors, expression, self._selector)
        if isinstance(selector, ExpressionError):
            return [selector] * len(profiles)
        try:
            results = selector.matches_all(map(self.prepared, profiles), deadline=self.deadline)
        except CelDeadlineError as error:
            raise DeadlineExceededError(f"filter operation aborted: {error}") from error
        return [ExpressionError(str(one), False) if isinstance(one, CelError) else one for one in results]

    def derive(self, expression: str, profile: Profile) -> DeviceAttribute | ExpressionError:
        """Compute a derived attribute of devices of this profile (CON-12)."""
        program = self._compiled(self._derivations, expression, compile_derivation)
        if isinstance(program, ExpressionError):
            return program
        key = expression, profile.index
        if key not in self._derived:
            self.evaluations += 1
            try:
                value = program.evaluate({"device": self.prepared(profile).cel_value}, deadline=self.deadline)
                self._derived[key] = to_attribute(value)
            except CelDeadlineError as error:
                raise DeadlineExceededError(f"filter operation aborted: {error}") from error
            except CelRuntimeError as error:
                self._derived[key] = ExpressionError(str(error), False)
        return self._derived[key]

    def reads(self, expression: str) -> frozenset[Path]:
        """Tell which parts of a device a selector can depend on: of one that does not compile, none."""
        selector = self._compiled(self._selectors, expression, self._selector)
        return frozenset() if isinstance(selector, ExpressionError) else selector.projection

    def derivation_reads(self, expression: str) -> frozenset[Path]:
        """Tell the same of the expression of a derived attribute."""
        program = self._compiled(self._derivations, expression, compile_derivation)
        return frozenset() if isinstance(program, ExpressionError) else read_paths(program.checked.tree)

    def _selector(self, expression: str) -> Selector:
        return _CountedSelector(expression, self)

    def device_set(self, text: str) -> DeviceSetExpression | ExpressionError:
        """Compile an expression over ``devices`` (CELC-1)."""
        # Few claims have any.
        from ..cel.selector import DeviceSetExpression

        found: DeviceSetExpression | ExpressionError = self._compiled(self._device_sets, text, DeviceSetExpression)
        return found

    def device_set_key(self, expression: DeviceSetExpression, profile: Profile) -> Hashable:
        """Return the values that the expression reads of a device, with all names that tell devices apart."""
        device = self.prepared(profile)
        positions = {position for path in expression.reads for position in device.shape.positions(path)}
        return device.shape, device.error, tuple(device.values[position] for position in sorted(positions))

    def evaluate_device_set(
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

    def _compiled(self, known: dict[str, Any], expression: str, compile_: Callable[[str], Any]) -> Any:
        """Compile a text the first time; its error is remembered too, but not that the deadline has passed."""
        if expression not in known:
            try:
                with metered_work(self.deadline):
                    known[expression] = compile_(expression)
            except CelDeadlineError as error:
                raise DeadlineExceededError(f"filter operation aborted: {error}") from error
            except CelCompileError as error:
                known[expression] = ExpressionError(str(error), True)
        return known[expression]

    def prepared(self, profile: Profile) -> PreparedDevice:
        """Return a device of this profile as expressions see it."""
        prepared = self._prepared.get(profile.index)
        if prepared is None:
            prepared = self._prepared[profile.index] = self._shapes.prepare(profile.device, profile.driver)
        return prepared


class _CountedSelector(Selector):
    """Counts how often it really runs."""

    def __init__(self, text: str, owner: ExpressionEvaluator) -> None:
        super().__init__(text)
        self._owner = owner

    def evaluate(self, device: PreparedDevice, *, deadline: float | None = None) -> bool | CelError:
        """Evaluate on a device, remembering nothing."""
        self._owner.evaluations += 1
        return super().evaluate(device, deadline=deadline)


def compile_derivation(expression: str) -> Program:
    """Compile the expression of a derived attribute (CON-12); ``CelCompileError``."""
    try:
        return Program(expression, scope=derived_attribute_environment)
    except CelCompileError as error:
        raise with_compilation_prefix(error) from None


# For a value of this type: the fields of an attribute, alone and in a list, and what upstream calls the elements.
_FIELDS: dict[type, tuple[str, str, str]] = {
    bool: ("bool_value", "bools", "bool"),
    int: ("int_value", "ints", "int"),
    str: ("string", "strings", "string"),
    Version: ("version", "versions", "semver"),
}
# The Go types of values, which upstream's texts show.
_GO_TYPES = {
    "int": "int64",
    "double": "float64",
    "uint": "uint64",
    "null_type": "structpb.NullValue",
    "map": "map[ref.Val]ref.Val",
    "list": "[]ref.Val",
    "bytes": "[]uint8",
    "google.protobuf.Timestamp": "time.Time",
    "google.protobuf.Duration": "time.Duration",
    "optional_type": "<nil>",
    "kubernetes.Quantity": "*resource.Quantity",
    "kubernetes.Semver": "semver.Version",
    "kubernetes.URL": "*url.URL",
    "kubernetes.NamedFormat": "cel.Format",
    "net.IP": "netip.Addr",
    "net.CIDR": "netip.Prefix",
}


def to_attribute(value: Value) -> DeviceAttribute:
    """Turn a result into an attribute, an empty list into one without value; ``CelRuntimeError`` for other types.

    As upstream, it takes an optional for its value and a type for its name, but no optional for a list.
    """
    if isinstance(value, (list, tuple)):
        return _list_attribute([_plain(one) for one in value])
    value = _plain(value)
    fields = _FIELDS.get(type(value))
    if fields is None:
        raise CelRuntimeError(f"unsupported CEL return type: {_go_type(value)}")
    return _attribute(fields[0], _attribute_value(value))


def _list_attribute(values: Sequence[Value]) -> DeviceAttribute:
    if not values:
        return DeviceAttribute()
    first = type(values[0])
    if first not in _FIELDS:
        raise CelRuntimeError(f"unsupported list element type: {_go_type(values[0])}")
    _, field, expected = _FIELDS[first]
    for index, value in enumerate(values):
        if type(value) is not first:
            raise CelRuntimeError(f"expected list element at index {index} to be {expected}, got {_go_type(value)}")
    return _attribute(field, tuple(map(_attribute_value, values)))


def _attribute(field: str, value: Any) -> DeviceAttribute:
    return DeviceAttribute(**{field: value})


def _attribute_value(value: Value) -> Any:
    return value.text if type(value) is Version else value


def _plain(value: Value) -> Value:
    while type(value) is Optional and value.present:
        value = value.value
    return value.name if type(value) is TypeValue else value


def _go_type(value: Value) -> str:
    name = type_name(value)
    return _GO_TYPES.get(name, name)


@dataclass(frozen=True, slots=True)
class FailedSelector:
    """A selector that is false, or fails with an error, by its number among those of its class or request."""

    filter: str
    index: int
    expression: str
    error: str = ""


class SelectorTable:
    """Asks all selectors of classes and requests, each once for a profile."""

    def __init__(self, expressions: ExpressionEvaluator) -> None:
        self._expressions = expressions
        self._known: dict[tuple[ResolvedRequest, int], tuple[FailedSelector, ...]] = {}

    def failed(self, ask: ResolvedRequest, profile: Profile) -> tuple[FailedSelector, ...]:
        """List what devices of this profile fail, the class's selectors first. Raises ``DeadlineExceededError``."""
        key = ask, profile.index
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = tuple(self._ask_all(ask, profile))
        return found

    def _ask_all(self, ask: ResolvedRequest, profile: Profile) -> Iterator[FailedSelector]:
        sources = (("classSelector", ask.device_class.spec.selectors), ("requestSelector", ask.spec.selectors))
        for filter_, selectors in sources:
            for index, selector in enumerate(selectors or ()):
                text = selector.cel.expression if selector.cel else ""
                result = self._expressions.test(text, profile)
                if isinstance(result, ExpressionError):
                    yield FailedSelector(filter_, index, text, result.text)
                elif not result:
                    yield FailedSelector(filter_, index, text)


LIFTED_PODS = "running pods that may move or lose their places"
KUEUE_QUOTA = "quota of Kueue"


class NodeResourceClaims:
    """Refuses claims of pods for devices that take cpu, memory and so on of their node, where that is not counted.

    Which devices a claim gets decides how much they take (NAR-2, NAR-9). ``devices`` are those that take anything. With
    ``beside``, such as ``KUEUE_QUOTA``, no claim is counted. ``is_incomplete``: some claim was refused that
    could be had, so that nothing is proven of its pod.
    """

    def __init__(self, cluster: Cluster, gates: FeatureGates, beside: str = "") -> None:
        self._cluster = cluster
        self._beside = beside or ("ConstraintGroups" if cluster.constraint_groups else "")
        self._resources = NodeResourcesOfDevices(cluster, gates)
        self.is_incomplete = False
        taking = self._resources.devices
        self.devices = [
            (id_, device)
            for slice_ in (cluster.slices if taking else ())
            for device in slice_.spec.devices or ()
            if (id_ := (slice_.spec.driver, slice_.spec.pool.name, device.name)) in taking
        ]
        if gates.node_allocatable_resources:
            self.devices += [
                ((part.driver, name, device.name), device)
                for name, template in cluster.node_templates.items()
                for part in template.spec.slices or ()
                for device in part.devices or ()
                if device.node_resources
            ]
        self._shapes = DeviceShapes()
        self._mapped = [
            (id_, device)
            for id_, device in self.devices
            if any(terms.mapping is not None for terms in device.node_resources.values())
        ]
        self._known: dict[tuple[bool, *tuple[str, ...]], str] = {}

    def refused(self, ref: ClaimRef, unit: Unit, users: int = 1, beside: str = "") -> ClaimRef:
        """The claim, with a problem if it holds, or may get, such a device and cannot be counted.

        So many ``users`` name it: a device with a mapping is for one pod (NAR-8), which is not chosen among several. Of
        one with an overhead alone each pod pays in full.
        """
        beside = beside or self._beside
        name = "" if ref.problem or ref.claim is None else self._device_for(ref.claim, mapped=not beside)
        made = allocation_of(ref) if name else None
        if made is not None and self._resources.is_mapped(made) and is_reserved_for_others(ref, unit):
            text = f"node allocatable resource claim {ref.name} has a mapped device and cannot be shared across pods"
            return structs.replace(ref, problem=text)
        if not name or (users == 1 and not beside):
            return ref
        self.is_incomplete = True
        text = f"ResourceClaim {ref.namespace}/{ref.name} may get device {name}, which takes resources of its node"
        why = f"beside {beside}" if beside else "where pods share a claim"
        text = f"{text} (feature gate DRANodeAllocatableResources): that is not counted {why}"
        return structs.replace(ref, problem=text)

    def _device_for(self, claim: ResourceClaim, *, mapped: bool) -> str:
        """Such a device that the claim holds or selects, if asked one with a mapping; nothing if there is none."""
        devices = self._mapped if mapped else self.devices
        made = claim.status.allocation if claim.status else None
        if made is not None:
            held = {(one.driver, one.pool, one.device) for one in made.devices.results or ()}
            return next(("/".join(id_) for id_, _ in devices if id_ in held), "")
        for request in claim.spec.devices.requests or ():
            for asked in (*([request.exactly] if request.exactly else ()), *(request.first_available or ())):
                one = self._cluster.classes.get(asked.device_class_name)
                selectors = (*((one.spec.selectors if one else None) or ()), *(asked.selectors or ()))
                texts = tuple(selector.cel.expression for selector in selectors if selector.cel)
                if (mapped, *texts) not in self._known:
                    found = ("/".join(id_) for id_, device in devices if self._selected(texts, id_[0], device))
                    self._known[mapped, *texts] = next(found, "")
                if self._known[mapped, *texts]:
                    return self._known[mapped, *texts]
        return ""

    def _selected(self, texts: Iterable[str], driver: str, device: Device) -> bool:
        """An expression that fails decides nothing here."""
        try:
            return all(compile_selector(text).matches(self._shapes.prepare(device, driver)) for text in texts)
        except CelError:
            return True

    def planned(self, queue: Sequence[QueuedUnit]) -> Sequence[QueuedUnit]:
        """The units of a queue, with such problems of the claims of pods."""
        # Where nothing is looked at, nothing has to be made.
        return list(self._planned(list(queue))) if self.devices else queue

    def _planned(self, listed: Sequence[QueuedUnit]) -> Iterator[QueuedUnit]:
        users = Counter(ref.key for one in listed for ref in one.unit.claims)
        for one in listed:
            if one.unit.pod is None:
                yield one
            else:
                beside = "pods of DaemonSets" if one.unit_set.node else ""
                refs = one.unit.claims
                claims = tuple(self.refused(ref, one.unit, users[ref.key], beside) for ref in refs)
                yield QueuedUnit(one.unit_set, one.number, structs.replace(one.unit, claims=claims))
