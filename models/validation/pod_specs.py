"""Pod specs, of pods and of pod templates: the nodes they may run on, what they take there, the claims they name."""

from collections.abc import Iterable

from ..base import QuantityText
from ..containers import Container, ResourceRequirements
from ..core import PodResourceClaim, PodSpec
from ..quantity import NANO
from . import names
from .amounts import check_quantity, nano
from .checked_names import check_label, check_subdomain
from .findings import STRUCTURE, Findings, Key, Path
from .metadata import check_label_map
from .node_selectors import check_node_selector

Amounts = dict[str, QuantityText]


def check_pod_spec(found: Findings, path: Path, spec: PodSpec) -> None:
    """Check a pod's spec, as far as it is read."""
    if spec.node_selector:
        check_label_map(found, (*path, "nodeSelector"), spec.node_selector)
    if spec.affinity and spec.affinity.node_affinity and (required := spec.affinity.node_affinity.required):
        where = (*path, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
        check_node_selector(found, where, required)
    claims = spec.resource_claims or ()
    # Generated claims are told apart by the entry's name.
    found.unique((*path, "resourceClaims"), (claim.name for claim in claims), ("name",), STRUCTURE)
    for index, claim in enumerate(claims):
        _check_pod_claim(found, (*path, "resourceClaims", index), claim)
    _check_containers(found, (*path, "containers"), spec.containers or ())
    _check_containers(found, (*path, "initContainers"), spec.init_containers or ())
    if spec.resources is not None:
        _check_resources(found, (*path, "resources"), spec.resources)
    check_amounts(found, (*path, "overhead"), spec.overhead)


def check_amounts(found: Findings, path: Path, amounts: Amounts | None) -> None:
    """Check amounts of resources: quantities that are not negative."""
    for name, text in (amounts or {}).items():
        amount = nano(text)
        if amount is None:
            check_quantity(found, (*path, Key(name)), text)
        elif amount < 0:
            found.invalid((*path, Key(name)), text, "must be greater than or equal to 0", STRUCTURE)


def _check_containers(found: Findings, path: Path, containers: Iterable[Container]) -> None:
    for index, container in enumerate(containers):
        if container.resources is not None:
            _check_resources(found, (*path, index, "resources"), container.resources)


def _check_resources(found: Findings, path: Path, resources: ResourceRequirements) -> None:
    for field, amounts in (("requests", resources.requests), ("limits", resources.limits)):
        check_amounts(found, (*path, field), amounts)
        for name, text in (amounts or {}).items():
            if not names.extended_resource(name) and (nano(text) or 0) % NANO:
                found.invalid((*path, field, Key(name)), text, "must be an integer")


def _check_pod_claim(found: Findings, path: Path, claim: PodResourceClaim) -> None:
    check_label(found, (*path, "name"), claim.name)
    ways = {
        "resourceClaimName": claim.resource_claim_name,
        "resourceClaimTemplateName": claim.resource_claim_template_name,
    }
    given = {field: name for field, name in ways.items() if name is not None}
    if len(given) != 1:
        detail = "must specify exactly one of: `resourceClaimName`, `resourceClaimTemplateName`"
        found.invalid(path, claim.name, detail, STRUCTURE)
    for field, name in given.items():
        check_subdomain(found, (*path, field), name)
