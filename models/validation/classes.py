"""DeviceClasses (dra-semantics 2.2)."""

from ..claims import DeviceClass
from . import names
from .configs import check_configs
from .findings import Findings, Path
from .metadata import check_metadata
from .selectors import check_selectors


def check_class(found: Findings, device_class: DeviceClass) -> None:
    """Check a DeviceClass; without selectors it admits every device."""
    check_metadata(found, device_class.metadata, namespaced=False)
    path: Path = ("spec",)
    spec = device_class.spec
    check_selectors(found, (*path, "selectors"), spec.selectors)
    check_configs(found, (*path, "config"), spec.config)
    if (resource := spec.extended_resource_name) is not None:
        found.each_invalid((*path, "extendedResourceName"), resource, names.extended_resource(resource))
