"""NodePools, NodeOverlays, NodeClaims and InstanceTypes: the rules of Karpenter's schemas in their words.

They are those of karpenter-dra 1.1; rules of InstanceTypes are drasat's own. What has no meaning, such as a price that
is no number, is never lifted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..formats.decode import QuantityText
from ..kubernetes import karpenter
from ..kubernetes.core import NodeSelectorRequirement
from ..kubernetes.extensions import is_decimal
from ..kubernetes.gates import FeatureGates
from ..kubernetes.meta import label_key_complaints, parse_int64
from ..kubernetes.slices import ResourceSliceSpec
from .findings import STRUCTURE, Findings, Path
from .nodes import check_amounts, check_node_taints
from .slices import check_published

_REQUIREMENTS_MAX = 100
_MIN_VALUES_MAX, _POOL_WEIGHT_MAX, _OVERLAY_WEIGHT_MAX = 50, 100, 10_000
_BOUNDS = ("Gt", "Lt", "Gte", "Lte")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", *_BOUNDS)
_HOSTNAME = "kubernetes.io/hostname"
_OWN_DOMAIN = "karpenter.sh"
_OWN_LABELS = (karpenter.CAPACITY_TYPE_LABEL, karpenter.NODE_POOL_LABEL)
_PRICE = re.compile(r"\d+(\.\d+)?", re.ASCII)
_ADJUSTMENT = re.compile(r"[+-](\d*\.?\d+)|\+\d*\.?\d+%|-\d{1,2}(\.\d+)?%|-100%", re.ASCII)
# Karpenter has no such limit. It is that of other prices.
_WHOLE_DIGITS_MAX = 12
_SPEC: Path = ("spec",)


def check_node_pool(findings: Findings, pool: karpenter.NodePool) -> None:
    """Check a NodePool."""
    findings.check_metadata(pool.metadata, namespaced=False)
    spec, template = pool.spec, pool.spec.template
    path: Path = (*_SPEC, "template")
    _check_weight(findings, (*_SPEC, "weight"), spec.weight, _POOL_WEIGHT_MAX)
    if spec.replicas is not None:
        _check_static(findings, spec)
    check_amounts(findings, (*_SPEC, "limits"), spec.limits)
    for label in template.metadata.labels or ():
        _check_label(findings, (*path, "metadata", "labels"), label, own_pool=False)
    findings.check_labels((*path, "metadata"), template.metadata)
    _check_requirements(findings, (*path, "spec", "requirements"), template.spec.requirements or (), own_pool=False)
    check_node_taints(findings, (*path, "spec", "taints"), template.spec.taints)
    check_node_taints(findings, (*path, "spec", "startupTaints"), template.spec.startup_taints)
    for index, budget in enumerate(spec.disruption.budgets or () if spec.disruption else ()):
        if (budget.schedule is None) != (budget.duration is None):
            place: Path = (*_SPEC, "disruption", "budgets", index)
            findings.invalid(place, budget.schedule or "", "'schedule' must be set with 'duration'")


def _check_static(findings: Findings, spec: karpenter.NodePoolSpec) -> None:
    if spec.replicas is not None and spec.replicas < 0:
        findings.invalid((*_SPEC, "replicas"), spec.replicas, "should be greater than or equal to 0")
    if spec.limits and set(spec.limits) != {"nodes"}:
        findings.invalid(
            (*_SPEC, "limits"), sorted(spec.limits), "only 'limits.nodes' is supported on static NodePools"
        )
    if spec.weight is not None:
        findings.invalid((*_SPEC, "weight"), spec.weight, "'weight' is not supported on static NodePools")


def check_node_claim(findings: Findings, claim: karpenter.NodeClaim) -> None:
    """Check a NodeClaim."""
    findings.check_metadata(claim.metadata, namespaced=False)
    _check_requirements(findings, (*_SPEC, "requirements"), claim.spec.requirements or ())
    check_node_taints(findings, (*_SPEC, "taints"), claim.spec.taints)
    check_node_taints(findings, (*_SPEC, "startupTaints"), claim.spec.startup_taints)


def check_node_overlay(findings: Findings, overlay: karpenter.NodeOverlay, gates: FeatureGates) -> None:
    """Check a NodeOverlay (karpenter-dra 1.1 and 2.1)."""
    findings.check_metadata(overlay.metadata, namespaced=False)
    spec = overlay.spec
    if spec.requirements is None:
        findings.required((*_SPEC, "requirements"))
    _check_requirements(findings, (*_SPEC, "requirements"), spec.requirements or ())
    if spec.price is not None and spec.price_adjustment is not None:
        findings.invalid(_SPEC, spec.price, "cannot set both 'price' and 'priceAdjustment'", STRUCTURE)
    for field, text, pattern in (
        ("price", spec.price, _PRICE),
        ("priceAdjustment", spec.price_adjustment, _ADJUSTMENT),
    ):
        if text is not None and not pattern.fullmatch(text):
            findings.invalid((*_SPEC, field), text, f"should match '{pattern.pattern}'", STRUCTURE)
        elif text is not None and len(text.lstrip("+-0").partition(".")[0].rstrip("%")) > _WHOLE_DIGITS_MAX:
            detail = f"must have at most {_WHOLE_DIGITS_MAX} digits before the point"
            findings.invalid((*_SPEC, field), text, detail, STRUCTURE)
    _check_weight(findings, (*_SPEC, "weight"), spec.weight, _OVERLAY_WEIGHT_MAX)
    check_amounts(findings, (*_SPEC, "capacity"), spec.capacity)
    for name in sorted(set(spec.capacity or ()) & set(karpenter.RESTRICTED_RESOURCES)):
        findings.invalid((*_SPEC, "capacity"), name, "invalid resource restricted")
    if spec.dynamic_resources is not None:
        path: Path = (*_SPEC, "dynamicResources")
        given = spec.dynamic_resources
        _check_slices(findings, (*path, "resourceSliceTemplates"), given.resource_slice_templates or (), gates)
        _check_bindings(findings, (*path, "attributeBindings"), given.attribute_bindings or ())


def check_instance_type(findings: Findings, kind: karpenter.InstanceType, gates: FeatureGates) -> None:
    """Check an InstanceType."""
    findings.check_metadata(kind.metadata, namespaced=False)
    spec = kind.spec
    _check_requirements(findings, (*_SPEC, "requirements"), spec.requirements or ())
    _check_machine(findings, _SPEC, spec.capacity, spec.overhead)
    if not spec.offerings:
        findings.required((*_SPEC, "offerings"), category=STRUCTURE)
    for index, offering in enumerate(spec.offerings or ()):
        path: Path = (*_SPEC, "offerings", index)
        _check_requirements(findings, (*path, "requirements"), offering.requirements or ())
        if offering.price is None:
            findings.required((*path, "price"), category=STRUCTURE)
        elif not _is_price(offering.price):
            detail = "must be a decimal number, at least 0, of at most 12 digits before the point"
            findings.invalid((*path, "price"), offering.price, detail, STRUCTURE)
        if offering.reservation_capacity is not None and offering.reservation_capacity < 0:
            detail = "must be greater than or equal to 0"
            findings.invalid((*path, "reservationCapacity"), offering.reservation_capacity, detail, STRUCTURE)
        _check_machine(findings, path, offering.capacity, offering.overhead)
    _check_slices(findings, (*_SPEC, "slices"), spec.slices or (), gates)
    _check_bindings(findings, (*_SPEC, "attributeBindings"), spec.attribute_bindings or ())


def check_dra_config(findings: Findings, config: karpenter.DRAConfig, gates: FeatureGates) -> None:
    """Check a DRAConfig."""
    findings.check_metadata(config.metadata, namespaced=False)
    findings.check_driver((*_SPEC, "driver"), config.spec.driver)
    for index, pool in enumerate(config.spec.pools or ()):
        path: Path = (*_SPEC, "pools", index)
        for number, term in enumerate(pool.node_selector_terms or ()):
            place: Path = (*path, "nodeSelectorTerms", number, "matchExpressions")
            _check_requirements(findings, place, term.match_expressions or ())
        for number, one in enumerate(pool.resource_slices or ()):
            published = ResourceSliceSpec(driver=config.spec.driver, devices=one.devices)
            check_published(findings, (*path, "resourceSlices", number), published, gates)


def _check_machine(
    findings: Findings, path: Path, capacity: Mapping[str, QuantityText] | None, overhead: karpenter.Overhead | None
) -> None:
    check_amounts(findings, (*path, "capacity"), dict(capacity or {}))
    if overhead is not None:
        for field, amounts in (
            ("kubeReserved", overhead.kube_reserved),
            ("systemReserved", overhead.system_reserved),
            ("evictionThreshold", overhead.eviction_threshold),
        ):
            check_amounts(findings, (*path, "overhead", field), amounts)


def _is_price(price: QuantityText) -> bool:
    """Prices of the test provider have more digits behind the point than those of NodeTemplates."""
    whole, _, rest = str(price).partition(".")
    return is_decimal(whole) and (not rest or rest.isdecimal())


def _check_weight(findings: Findings, path: Path, weight: int | None, most: int) -> None:
    if weight is not None and not 1 <= weight <= most:
        bound = "greater than or equal to 1" if weight < 1 else f"less than or equal to {most}"
        findings.invalid(path, weight, f"should be {bound}")


def _check_label(findings: Findings, path: Path, label: str, own_pool: bool) -> None:
    """Labels that Karpenter keeps for itself. ``own_pool``: the label of the pool may be named."""
    domain = label.partition("/")[0]
    if label not in _OWN_LABELS and domain.endswith(_OWN_DOMAIN):
        findings.invalid(path, label, f'label domain "{_OWN_DOMAIN}" is restricted')
    for name in (_HOSTNAME, *(() if own_pool else (karpenter.NODE_POOL_LABEL,))):
        if label == name:
            findings.invalid(path, label, f'label "{name}" is restricted')


def _check_requirements(
    findings: Findings, path: Path, requirements: Iterable[NodeSelectorRequirement], own_pool: bool = True
) -> None:
    listed = tuple(requirements)
    findings.at_most(path, listed, _REQUIREMENTS_MAX)
    for index, one in enumerate(listed):
        place: Path = (*path, index)
        for complaint in label_key_complaints(one.key):
            findings.invalid((*place, "key"), one.key, complaint)
        _check_label(findings, (*place, "key"), one.key, own_pool)
        if findings.check_choice((*place, "operator"), one.operator, _OPERATORS, STRUCTURE):
            _check_values(findings, place, one)


def _check_values(findings: Findings, place: Path, one: NodeSelectorRequirement) -> None:
    values, path = one.values or (), (*place, "values")
    if one.operator in ("In", "NotIn") and not values:
        findings.invalid(path, [], f"requirements with operator '{one.operator}' must have a value defined", STRUCTURE)
    if one.operator in _BOUNDS:
        number = parse_int64(values[0]) if len(values) == 1 else None
        if number is None or number < 0:
            detail = "requirements operator 'Gt', 'Lt', 'Gte', or 'Lte' must have a single positive integer value"
            findings.invalid(path, list(values), detail, STRUCTURE)
    for index, value in enumerate(values):
        findings.check_label_value((*path, index), value)
    least = one.min_values if isinstance(one, karpenter.FlexibleRequirement) else None
    if least is not None and not 1 <= least <= _MIN_VALUES_MAX:
        findings.invalid((*place, "minValues"), least, f"should be from 1 to {_MIN_VALUES_MAX}")
    elif least is not None and one.operator == "In" and len(values) < least:
        detail = "requirements with 'minValues' must have at least that many values specified in the 'values' field"
        findings.invalid((*place, "minValues"), least, detail)


def _check_slices(
    findings: Findings, path: Path, slices: Iterable[karpenter.ResourceSliceTemplate], gates: FeatureGates
) -> None:
    for index, one in enumerate(slices):
        place: Path = (*path, index)
        published = ResourceSliceSpec(
            driver=one.driver,
            devices=one.devices,
            shared_counters=one.shared_counters,
            partition_type_attribute=one.partition_type_attribute,
            skip_node_operations=one.skip_node_operations,
        )
        check_published(findings, place, published, gates)
        if one.node_selector is not None:
            _check_reach(findings, (*place, "nodeSelector"), one.node_selector)
            if one.all_nodes:
                findings.invalid((*place, "allNodes"), True, "may not be set beside nodeSelector", STRUCTURE)


def _check_reach(findings: Findings, path: Path, selector: karpenter.TemplateNodeSelector) -> None:
    terms = selector.node_selector_terms or ()
    if len(terms) != 1:
        findings.invalid((*path, "nodeSelectorTerms"), len(terms), "must have exactly one term", STRUCTURE)
    for index, term in enumerate(terms):
        place: Path = (*path, "nodeSelectorTerms", index)
        _check_requirements(findings, (*place, "matchExpressions"), term.match_expressions or ())
        for number, key in enumerate(term.match_label_keys or ()):
            for complaint in label_key_complaints(key):
                findings.invalid((*place, "matchLabelKeys", number), key, complaint)


def _check_bindings(findings: Findings, path: Path, bindings: Iterable[karpenter.AttributeBinding]) -> None:
    for index, one in enumerate(bindings):
        place: Path = (*path, index)
        for field, devices in (("deviceSelectors", one.device_selectors), ("devices", one.devices)):
            for number, bound in enumerate(devices or ()):
                if not bound.device:
                    findings.required((*place, field, number, "device"), category=STRUCTURE)
        names = [("attribute", one.attribute)] if one.attribute else []
        names += [("attributes", name) for name in one.attributes or ()]
        if not names:
            findings.required((*place, "attributes"), category=STRUCTURE)
        for field, name in names:
            findings.check_qualified((*place, field), name)
