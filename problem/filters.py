"""Unary tests of a candidate, in the order upstream makes them (section 7). Reads like a table of contents.

A candidate keeps every filter it fails: what the search does follows from the first one, explanations need them all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..models.device_taints import untolerated
from ..models.gates import FeatureGates
from ..models.taints import DeviceTaint
from .asks import Ask
from .capacity import CapacityError, Draw, draw
from .messages import Blank
from .profiles import Profile
from .records import Failure
from .selectors import MATCH, Expressions, Verdict, judge


@dataclass(frozen=True, slots=True)
class Context:
    """What filters know beside the candidate."""

    gates: FeatureGates
    expressions: Expressions
    # Only the experimental variant knows what it means to skip node operations.
    knows_node_operations: bool


@dataclass(slots=True)
class Candidate:
    """A device that may be asked for, without its name; ``reachable`` and ``node_skips`` are about the node.

    ``drawn`` is what the ask takes of its capacities, None if that is not asked (CAP-1).
    """

    profile: Profile
    reachable: bool
    node_skips: bool
    ask: Ask
    context: Context
    drawn: Draw | CapacityError | None


Test = Callable[[Candidate], str | Verdict | None]


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

    def __call__(self, candidate: Candidate) -> Failure | None:
        """Return the failure, if the candidate fails."""
        result = self.test(candidate)
        if result is None or result is MATCH:
            return None
        verdict = Verdict(result) if isinstance(result, str) else result
        return Failure(self.id, verdict.detail, verdict.error)


def _binding_conditions(candidate: Candidate) -> str | None:
    conditions = candidate.profile.device.binding_conditions
    return ", ".join(conditions) if conditions and not candidate.context.gates.binding_conditions else None


def _class_selectors(candidate: Candidate) -> Verdict:
    device_class = candidate.ask.device_class
    subject = (f"class {device_class.metadata.name}",)
    return judge(device_class.spec.selectors or (), subject, candidate.profile, candidate.context.expressions)


def _request_selectors(candidate: Candidate) -> Verdict:
    subject = ("claim ", Blank.CLAIM)
    return judge(candidate.ask.spec.selectors or (), subject, candidate.profile, candidate.context.expressions)


def _device_node(candidate: Candidate) -> str | None:
    return None if candidate.reachable else "for other nodes"


def drawn(profile: Profile, ask: Ask, gates: FeatureGates) -> Draw | CapacityError | None:
    """Compute what the ask takes of the device's capacities, errors as values."""
    if not gates.consumable_capacity:
        return None
    try:
        return draw(profile.device, ask.capacity, gates.fractional_capacity_range)
    except CapacityError as error:
        return error


def _capacity(candidate: Candidate) -> str | Verdict | None:
    result, ask = candidate.drawn, candidate.ask
    if not isinstance(result, CapacityError):
        return (result.mismatch or None) if result else None
    # Upstream names the device shortly while it lists all devices.
    device = Blank.DEVICE_NAME if ask.all_devices else Blank.DEVICE
    place = ("claim ", Blank.CLAIM, f", request {ask.own_name}: checking capacity for device ", device)
    return Verdict(str(result), (*place, f": {result}"))


def _counters_feature(candidate: Candidate) -> str | None:
    consumes = candidate.profile.device.consumes_counters
    off = not candidate.context.gates.partitionable_devices
    return "needs DRAPartitionableDevices" if consumes and off else None


def _groups_feature(candidate: Candidate) -> str | None:
    if candidate.context.gates.compatibility_groups:
        return None
    consumed = candidate.profile.device.consumes_counters or ()
    groups = any(consumption.compatibility_groups for consumption in consumed)
    return "needs DRADeviceCompatibilityGroups" if groups else None


def _node_operations(candidate: Candidate) -> str | None:
    known = candidate.context.knows_node_operations
    if not candidate.profile.skips_node_operations or candidate.node_skips or not known:
        return None
    return "needs DRAOptionalNodeOperations, declared by the node"


def _taints(candidate: Candidate) -> str | None:
    if not candidate.context.gates.device_taints:
        return None
    taints = untolerated(candidate.profile.device.taints, candidate.ask.spec.tolerations)
    return ", ".join(map(taint_text, taints)) or None


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
