"""Which nodes a selector means, whether a pod fits a node (NODE-2), and which nodes slices are for (NODE-1, POOL-1).

Slices are found without asking every one of them (IN-6). Taints of devices, the rules that add them and the tolerations
of requests stand here as well (dra-semantics section 9).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

import msgspec

from ..kubernetes.claims import DeviceTaint, DeviceTaintRule, DeviceToleration
from ..kubernetes.core import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodSpec, Taint, Toleration
from ..kubernetes.gates import FeatureGates
from ..kubernetes.meta import LabelError, Requirement
from ..kubernetes.slices import Device, ResourceSlice, ResourceSliceSpec

NAME_FIELD = "metadata.name"
_NO_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
_UNSCHEDULABLE_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class SelectorError(ValueError):
    """A node selector that cannot be parsed; fatal for the allocation (NODE-2)."""


class Misfit(NamedTuple):
    """Why a pod does not fit a node: a filter's stable id, and the details in kube-scheduler's words.

    ``kind`` tells misfits of one filter apart that are counted apart: the resources of which there is too little.
    """

    id: str
    message: str
    kind: str = ""


NodeTest = Callable[[Node], bool]


def term_matches(term: NodeSelectorTerm, node: Node) -> bool:
    """All requirements of the term hold; an empty term matches nothing. Raises ``SelectorError``."""
    return _term_test(term)(node)


def node_matches(selector: NodeSelector | None, node: Node) -> bool:
    """One of the selector's terms holds (NODE-2); no selector at all restricts nothing.

    Raises ``SelectorError`` if any term cannot be parsed, whether or not another one holds.
    """
    return selector is None or selector_test(selector)(node)


@lru_cache(maxsize=4096)
def selector_test(selector: NodeSelector) -> NodeTest:
    """Compile the selector, for many nodes. Raises ``SelectorError`` if any term cannot be parsed."""
    tests = [_term_test(term) for term in selector.node_selector_terms or ()]
    return lambda node: any(test(node) for test in tests)


@lru_cache(maxsize=4096)
def _term_test(term: NodeSelectorTerm) -> NodeTest:
    labels = [_label_requirement(requirement) for requirement in term.match_expressions or ()]
    fields = [_field_test(requirement) for requirement in term.match_fields or ()]

    def test(node: Node) -> bool:
        values = node.metadata.labels or {}
        return all(item.matches(values) for item in labels) and all(holds(node) for holds in fields)

    return test if labels or fields else lambda _: False


def _label_requirement(written: NodeSelectorRequirement) -> Requirement:
    requirement = Requirement(written.key, written.operator, written.values or ())
    try:
        requirement.check()
    except LabelError as error:
        raise SelectorError(f"node selector: {error}") from None
    return requirement


def _field_test(written: NodeSelectorRequirement) -> NodeTest:
    """Compile a requirement on a field; a node's only field is its name, every other one is empty."""
    if written.operator not in ("In", "NotIn") or len(written.values or ()) != 1:
        raise SelectorError(f"node selector: field {written.key} needs In or NotIn with exactly one value")
    (value,) = written.values or ()
    equal = written.operator == "In"

    def test(node: Node) -> bool:
        found = node.metadata.name if written.key == NAME_FIELD else ""
        return (found == value) is equal

    return test


def pod_fits(spec: PodSpec, node: Node) -> list[Misfit]:
    """Every reason why the pod cannot be on the node; none: it fits. All NODE_FILTERS are applied, in order."""
    return [Misfit(id_, message) for id_, test in NODE_FILTERS if (message := test(spec, node)) is not None]


def _other_node_named(spec: PodSpec, node: Node) -> str | None:
    if spec.node_name and spec.node_name != node.metadata.name:
        return f"node(s) didn't match the requested node name {spec.node_name}"
    return None


def _selector_label_missing(spec: PodSpec, node: Node) -> str | None:
    if not spec.node_selector:
        return None
    labels = node.metadata.labels or {}
    missing = [f"{key}={value}" for key, value in spec.node_selector.items() if labels.get(key) != value]
    return f"{_NO_AFFINITY}: no label {', '.join(missing)}" if missing else None


def _affinity_mismatch(spec: PodSpec, node: Node) -> str | None:
    affinity = spec.affinity.node_affinity if spec.affinity else None
    if affinity is None or affinity.required is None:
        return None
    for term in affinity.required.node_selector_terms or ():
        # As in the scheduler, a term of a pod that cannot be parsed just does not hold.
        with suppress(SelectorError):
            if term_matches(term, node):
                return None
    return f"{_NO_AFFINITY}: required node affinity"


def _node_unschedulable(spec: PodSpec, node: Node) -> str | None:
    if not node.spec or not node.spec.unschedulable or spec.node_name:
        return None
    return None if _tolerated(_UNSCHEDULABLE_TAINT, spec.tolerations or ()) else "node(s) were unschedulable"


def _untolerated_taint(spec: PodSpec, node: Node) -> str | None:
    if not node.spec or not node.spec.taints:
        return None
    # NoSchedule, like an unschedulable node, stops the scheduler; it does not drive away a pod that is there.
    effects = ("NoExecute",) if spec.node_name else ("NoSchedule", "NoExecute")
    taints = (taint for taint in node.spec.taints if taint.effect in effects)
    kept = [taint for taint in taints if not _tolerated(taint, spec.tolerations or ())]
    texts = [f"{{{taint.key}: {taint.value}}}" for taint in kept]
    return f"node(s) had untolerated taint {', '.join(texts)}" if kept else None


def _tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(tolerates(toleration, taint) for toleration in tolerations)


def tolerates(toleration: Toleration | DeviceToleration, taint: Taint | DeviceTaint) -> bool:
    """Whether the toleration is for the taint (TNT-2); an empty key with ``Equal`` matches any key with that value."""
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    same_value = toleration.operator in ("", "Equal") and toleration.value == taint.value
    return same_value or toleration.operator == "Exists"


NODE_UNSCHEDULABLE = "nodeUnschedulable"
# Stable ids, in the order of their reasons.
NODE_FILTERS: tuple[tuple[str, Callable[[PodSpec, Node], str | None]], ...] = (
    ("nodeName", _other_node_named),
    ("nodeSelector", _selector_label_missing),
    ("nodeAffinity", _affinity_mismatch),
    (NODE_UNSCHEDULABLE, _node_unschedulable),
    ("nodeTaint", _untolerated_taint),
)


# The fields of NODE-1 stand on slices and on devices alike.
Located = ResourceSliceSpec | Device
# A node property and the value a selector asks of it. None as the key means the node's name.
_Anchor = tuple[str | None, str]


def reaches(located: Located, node: Node) -> bool:
    """NODE-1; raises ``SelectorError`` for a selector that cannot be parsed."""
    if located.node_name:
        return located.node_name == node.metadata.name
    if located.all_nodes:
        return True
    return located.node_selector is not None and selector_test(located.node_selector)(node)


def per_device(slice_: ResourceSlice) -> bool:
    """Whether the slice leaves the choice of nodes to its devices (DEV-4)."""
    spec = slice_.spec
    decided = spec.node_name or spec.all_nodes or spec.node_selector is not None
    return bool(spec.per_device_node_selection) and not decided


def located_parts(slice_: ResourceSlice) -> Sequence[Located]:
    """What says where the slice is: the slice, or its devices."""
    return slice_.spec.devices or () if per_device(slice_) else (slice_.spec,)


def reachable_devices(slice_: ResourceSlice, node: Node) -> tuple[bool, ...]:
    """Whether the node may use each device of a slice that leaves this to its devices (DEV-4)."""
    return tuple(reaches(device, node) for device in slice_.spec.devices or ())


class ReachIndex:
    """Positions of slices by the nodes they are for.

    A selector is looked up by a label value (or node name) that one of its ``In`` requirements asks
    for, so a node is tested against few of many selectors, and once against equal ones.
    """

    def __init__(self, slices: Sequence[ResourceSlice]) -> None:
        self._by_name: dict[str, list[int]] = defaultdict(list)
        self._everywhere: list[int] = []
        self._by_selector: dict[NodeSelector, list[int]] = defaultdict(list)
        for position, slice_ in enumerate(slices):
            for part in located_parts(slice_):
                if part.node_name:
                    self._append(self._by_name[part.node_name], position)
                elif part.all_nodes:
                    self._append(self._everywhere, position)
                elif part.node_selector is not None:
                    self._append(self._by_selector[part.node_selector], position)
        self._by_anchor: dict[_Anchor, list[NodeSelector]] = defaultdict(list)
        self._unanchored: list[NodeSelector] = []
        self._error: SelectorError | None = None
        for selector in self._by_selector:
            self._anchor(selector)
        self._anchor_keys = {key for key, _ in self._by_anchor}

    @staticmethod
    def _append(positions: list[int], position: int) -> None:
        if not positions or positions[-1] != position:
            positions.append(position)

    def _anchor(self, selector: NodeSelector) -> None:
        try:
            selector_test(selector)
        except SelectorError as error:
            self._error = self._error or error
            return
        anchors = [_term_anchors(term) for term in selector.node_selector_terms or ()]
        if not all(anchors):
            self._unanchored.append(selector)
            return
        for anchor in {anchor for term in anchors for anchor in term}:
            self._by_anchor[anchor].append(selector)

    @property
    def node_names(self) -> Iterable[str]:
        """All names of nodes that slices or devices give."""
        return self._by_name.keys()

    def positions(self, node: Node) -> list[int]:
        """The slices that are relevant for the node (POOL-1), ascending.

        Raises ``SelectorError`` if any selector of the cluster cannot be parsed, whether or not it is this node's.
        """
        if self._error:
            raise self._error
        found = {*self._by_name.get(node.metadata.name, ()), *self._everywhere}
        for selector in self._candidates(node):
            if selector_test(selector)(node):
                found.update(self._by_selector[selector])
        return sorted(found)

    def _candidates(self, node: Node) -> Iterator[NodeSelector]:
        yield from self._unanchored
        labels = node.metadata.labels or {}
        for key in self._anchor_keys:
            value = node.metadata.name if key is None else labels.get(key)
            if value is not None:
                yield from self._by_anchor.get((key, value), ())


def _term_anchors(term: NodeSelectorTerm) -> list[_Anchor]:
    """The values one ``In`` requirement of the term allows; none without such a requirement."""
    for one in term.match_fields or ():
        if one.key == NAME_FIELD and one.operator == "In":
            return [(None, value) for value in one.values or ()]
    for label in term.match_expressions or ():
        if label.operator == "In":
            return [(label.key, value) for value in label.values or ()]
    return []


# TNT-7: where allocation is concerned, NoExecute is NoSchedule.
_BLOCKING_EFFECTS = ("NoSchedule", "NoExecute")


def untolerated_device_taints(
    taints: Iterable[DeviceTaint] | None, tolerations: Iterable[DeviceToleration] | None
) -> tuple[DeviceTaint, ...]:
    """The taints that keep a request away (TNT-1): effect NoSchedule or NoExecute, and no toleration.

    Does not ask whether the DeviceTaints gate is on (TNT-4).
    """
    if not taints:
        return ()
    accepted = tuple(tolerations or ())
    blocking = (taint for taint in taints if taint.effect in _BLOCKING_EFFECTS)
    return tuple(taint for taint in blocking if not any(tolerates(toleration, taint) for toleration in accepted))


class _TaintRule(NamedTuple):
    position: int
    device: str | None
    taint: DeviceTaint


class TaintRules:
    """DeviceTaintRules by what they select, to be applied to one slice at a time."""

    def __init__(self, rules: Iterable[DeviceTaintRule], gates: FeatureGates) -> None:
        # By driver and pool; None stands for all.
        self._rules: dict[tuple[str | None, str | None], list[_TaintRule]] = defaultdict(list)
        for position, rule in enumerate(rules if gates.device_taint_rules else ()):
            selector = rule.spec.device_selector
            # An empty selector selects everything, none selects nothing (TNT-6).
            if selector is not None:
                self._rules[selector.driver, selector.pool].append(
                    _TaintRule(position, selector.device, rule.spec.taint)
                )

    def apply(self, slice_: ResourceSlice) -> ResourceSlice:
        """Append the taints of the rules that select devices of the slice (TNT-5); without any, the same object."""
        matching = self._matching(slice_) if self._rules else ()
        if not matching or not slice_.spec.devices:
            return slice_
        devices = tuple(_add_taints(device, matching) for device in slice_.spec.devices)
        if all(new is old for new, old in zip(devices, slice_.spec.devices, strict=True)):
            return slice_
        return msgspec.structs.replace(slice_, spec=msgspec.structs.replace(slice_.spec, devices=devices))

    def _matching(self, slice_: ResourceSlice) -> list[_TaintRule]:
        """The rules that match driver and pool, in the rules' order."""
        driver, pool = slice_.spec.driver, slice_.spec.pool.name
        keys = ((driver, pool), (driver, None), (None, pool), (None, None))
        return sorted(rule for key in keys for rule in self._rules.get(key, ()))


def _add_taints(device: Device, rules: Iterable[_TaintRule]) -> Device:
    added = tuple(rule.taint for rule in rules if rule.device in (None, device.name))
    return msgspec.structs.replace(device, taints=(device.taints or ()) + added) if added else device


def apply_taint_rules(
    slices: Iterable[ResourceSlice], rules: Iterable[DeviceTaintRule], gates: FeatureGates
) -> tuple[ResourceSlice, ...]:
    """Append each rule's taint to the devices it selects (TNT-5, TNT-6); untouched slices are the same objects.

    Does nothing while the gates leave rules off.
    """
    known = TaintRules(rules, gates)
    return tuple(known.apply(slice_) for slice_ in slices)
