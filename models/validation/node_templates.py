"""NodeTemplates: what a node would cost and hold.

A price that is no number, and places that a bought node cannot have, have no meaning: that is never lifted.
"""

from ..gates import FeatureGates
from ..node_templates import NodeTemplate, TemplateSlice
from ..plan_annotations import is_decimal
from ..slices import ResourceSliceSpec
from .core import check_node_taints
from .findings import STRUCTURE, Findings, Path
from .metadata import check_label_map, check_metadata
from .pod_specs import check_amounts
from .slices import check_published

_SPEC: Path = ("spec",)


def check_node_template(found: Findings, template: NodeTemplate, gates: FeatureGates) -> None:
    """Check a NodeTemplate."""
    check_metadata(found, template.metadata, namespaced=False)
    spec = template.spec
    _check_price(found, spec.price)
    if spec.limit is not None and spec.limit < 0:
        found.invalid((*_SPEC, "limit"), spec.limit, "must be greater than or equal to 0", STRUCTURE)
    if spec.labels:
        check_label_map(found, (*_SPEC, "labels"), spec.labels)
    check_node_taints(found, (*_SPEC, "taints"), spec.taints)
    check_amounts(found, (*_SPEC, "allocatable"), spec.allocatable)
    for index, one in enumerate(spec.slices or ()):
        _check_slice(found, (*_SPEC, "slices", index), one, gates)


def _check_price(found: Findings, price: str | float | None) -> None:
    if price is None:
        found.required((*_SPEC, "price"), category=STRUCTURE)
    elif not is_decimal(str(price)):
        detail = "must be a decimal number, at least 0, of at most 12 digits before the point and 6 behind it"
        found.invalid((*_SPEC, "price"), price, detail, STRUCTURE)


def _check_slice(found: Findings, path: Path, one: TemplateSlice, gates: FeatureGates) -> None:
    published = ResourceSliceSpec(
        driver=one.driver,
        devices=one.devices,
        shared_counters=one.shared_counters,
        partition_type_attribute=one.partition_type_attribute,
        skip_node_operations=one.skip_node_operations,
    )
    check_published(found, path, published, gates)
