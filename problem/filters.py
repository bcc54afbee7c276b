"""Unary tests of a candidate, in the order upstream makes them (section 7). Reads like a table of contents.

A candidate keeps every filter it fails: what the search does follows from the first one, explanations need them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..models.claims import DeviceSelector
from ..models.device_taints import untolerated
from ..models.gates import FeatureGates
from ..models.taints import DeviceTaint
from .asks import Ask
from .capacity import CapacityError, Draw, draw
from .messages import Blank, Message
from .profiles import Profile
from .records import Failure
from .selectors import Expressions, Verdict, judge_all


@dataclass(frozen=True, slots=True)
class Context:
    """What filters know beside the candidate."""

    gates: FeatureGates
    expressions: Expressions
    # Only the experimental variant knows what it means to skip node operations.
    knows_node_operations: bool


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A device that may be asked for, without its name; ``reachable`` and ``node_skips`` are about the node.

    Equal ones are one object.
    """

    profile: Profile
    reachable: bool
    node_skips: bool


@dataclass(frozen=True, slots=True)
class Inquiry:
    """An ask and the candidates that a filter is to judge for it, all at once.

    ``drawn`` says what the ask takes of a device's capacities, None if that is not asked (CAP-1).
    """

    ask: Ask
    context: Context
    candidates: Sequence[Candidate]
    drawn: Callable[[Profile], Draw | CapacityError | None]

    def each(self, test: Callable[[Candidate], str | Verdict | None]) -> Failing:
        """Ask a test about each candidate alone."""
        return {number: found for number, one in enumerate(self.candidates) if (found := test(one))}

    def selected(self, selectors: Sequence[DeviceSelector] | None, subject: Message) -> Failing:
        """Ask selectors about all candidates."""
        profiles = [candidate.profile for candidate in self.candidates]
        return judge_all(selectors or (), subject, profiles, self.context.expressions)


Failing = Mapping[int, str | Verdict]
"""Why candidates fail, by their places in the inquiry."""

Test = Callable[[Inquiry], Failing]


def _nothing(_ask: Ask) -> None:
    """Read for a test that is about the device and the node only."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A test with its stable id; ``listed`` says that All does not even list a device that fails it (PRE-8, PRE-9).

    ``reads`` is what it looks at of an ask, beside names in the texts of errors: asks that agree in it get the same.
    """

    id: str
    description: str
    listed: bool
    test: Test
    reads: Callable[[Ask], object] = _nothing

    def __call__(self, inquiry: Inquiry) -> dict[int, Failure]:
        """Return the failures of candidates that fail; equal ones are mostly one object."""
        made: dict[str, Failure] = {}
        return {number: self._failure(result, made) for number, result in self.test(inquiry).items()}

    def _failure(self, result: str | Verdict, made: dict[str, Failure]) -> Failure:
        detail, error = (result, ()) if isinstance(result, str) else (result.detail, result.error)
        if error:
            return Failure(self.id, detail, error)
        return made.get(detail) or made.setdefault(detail, Failure(self.id, detail))


def _binding_conditions(inquiry: Inquiry) -> Failing:
    if inquiry.context.gates.binding_conditions:
        return {}
    return inquiry.each(lambda candidate: ", ".join(candidate.profile.device.binding_conditions or ()))


def _class_selectors(inquiry: Inquiry) -> Failing:
    device_class = inquiry.ask.device_class
    return inquiry.selected(device_class.spec.selectors, (f"class {device_class.metadata.name}",))


def _request_selectors(inquiry: Inquiry) -> Failing:
    return inquiry.selected(inquiry.ask.spec.selectors, ("claim ", Blank.CLAIM))


def _device_node(inquiry: Inquiry) -> Failing:
    return inquiry.each(lambda candidate: None if candidate.reachable else "for other nodes")


def drawn(profile: Profile, ask: Ask, gates: FeatureGates) -> Draw | CapacityError | None:
    """Compute what the ask takes of the device's capacities, errors as values."""
    if not gates.consumable_capacity:
        return None
    try:
        return draw(profile.device, ask.capacity, gates.fractional_capacity_range)
    except CapacityError as error:
        return error


def _capacity(inquiry: Inquiry) -> Failing:
    ask = inquiry.ask
    # Upstream names the device shortly while it lists all devices.
    device = Blank.DEVICE_NAME if ask.all_devices else Blank.DEVICE
    place = ("claim ", Blank.CLAIM, f", request {ask.own_name}: checking capacity for device ", device)

    def test(candidate: Candidate) -> str | Verdict | None:
        result = inquiry.drawn(candidate.profile)
        if isinstance(result, CapacityError):
            return Verdict(str(result), (*place, f": {result}"))
        return result.mismatch if result else None

    return inquiry.each(test)


def _counters_feature(inquiry: Inquiry) -> Failing:
    if inquiry.context.gates.partitionable_devices:
        return {}
    text = "needs DRAPartitionableDevices"
    return inquiry.each(lambda candidate: text if candidate.profile.device.consumes_counters else None)


def _groups_feature(inquiry: Inquiry) -> Failing:
    if inquiry.context.gates.compatibility_groups:
        return {}

    def test(candidate: Candidate) -> str | None:
        consumed = candidate.profile.device.consumes_counters or ()
        groups = any(consumption.compatibility_groups for consumption in consumed)
        return "needs DRADeviceCompatibilityGroups" if groups else None

    return inquiry.each(test)


def _node_operations(inquiry: Inquiry) -> Failing:
    if not inquiry.context.knows_node_operations:
        return {}
    text = "needs DRAOptionalNodeOperations, declared by the node"
    return inquiry.each(lambda one: text if one.profile.skips_node_operations and not one.node_skips else None)


def _taints(inquiry: Inquiry) -> Failing:
    if not inquiry.context.gates.device_taints:
        return {}
    tolerations = inquiry.ask.spec.tolerations
    return inquiry.each(
        lambda candidate: ", ".join(map(taint_text, untolerated(candidate.profile.device.taints, tolerations)))
    )


def taint_text(taint: DeviceTaint) -> str:
    """Write a taint as kubectl does: ``key=value:effect``."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _class(ask: Ask) -> object:
    return ask.device_class.metadata.name


def _selectors(ask: Ask) -> object:
    return ask.spec.selectors


def capacity_of(ask: Ask) -> object:
    """Read what an ask takes of capacities, and how an error in that is told."""
    return ask.spec.capacity, ask.all_devices


def _tolerations(ask: Ask) -> object:
    return ask.spec.tolerations


FILTERS: tuple[Filter, ...] = (
    Filter("bindingConditions", "binding conditions need their feature (DEV-2)", True, _binding_conditions),
    Filter("classSelector", "all selectors of the class are true (DEV-3)", True, _class_selectors, _class),
    Filter("requestSelector", "all selectors of the request are true (DEV-3)", True, _request_selectors, _selectors),
    Filter("deviceNode", "the device is for this node (DEV-4)", True, _device_node),
    Filter("capacity", "capacities suffice when nothing is consumed (DEV-6)", True, _capacity, capacity_of),
    Filter("countersFeature", "counters need their feature (DEV-7)", False, _counters_feature),
    Filter("groupsFeature", "compatibility groups need their feature (GRP-5)", False, _groups_feature),
    Filter("nodeOperations", "the node may skip the operations that the device skips (DEV-9)", False, _node_operations),
    Filter("taint", "all taints are tolerated (DEV-10)", False, _taints, _tolerations),
)

# Asked last, by the constraints themselves.
CONSTRAINT_ATTRIBUTE = "constraintAttribute"

# Filters whose errors are about expressions, so that the policy for them applies.
EXPRESSION_FILTERS = frozenset({"classSelector", "requestSelector", "derivedAttribute"})

UNLISTED = frozenset(filter_.id for filter_ in FILTERS if filter_.listed)
