"""DeviceTopologies: what each shape needs, and what it may not have.

A topology that breaks a rule of its shape has no meaning: that is never lifted. Names of attributes are a limit.
"""

from collections.abc import Callable
from math import prod

from ..topologies import LATTICES, SCOPES, SHAPES, STRAIGHT, DeviceTopology, DeviceTopologySpec
from ..topology_graphs import MOST_CELLS
from .checked_names import check_driver, check_fully_qualified, check_subdomain
from .findings import STRUCTURE, Findings, Path
from .metadata import check_metadata

AXES_MAX = 6

_SPEC: Path = ("spec",)
_COORDINATES: Path = (*_SPEC, "coordinates")
_SIZE: Path = (*_SPEC, "size")
_PERIODIC: Path = (*_SPEC, "periodic")
_LINKS: Path = (*_SPEC, "links")


def check_topology(found: Findings, topology: DeviceTopology) -> None:
    """Check a DeviceTopology (TOPO-1 to TOPO-3)."""
    check_metadata(found, topology.metadata, namespaced=False)
    spec = topology.spec
    _check_subject(found, spec)
    if spec.scope not in SCOPES:
        found.unsupported((*_SPEC, "scope"), spec.scope, SCOPES, STRUCTURE)
    if not spec.shape:
        found.required((*_SPEC, "shape"), category=STRUCTURE)
    elif spec.shape not in SHAPES:
        found.unsupported((*_SPEC, "shape"), spec.shape, SHAPES, STRUCTURE)
    else:
        _check_shape(found, spec)


def _check_subject(found: Findings, spec: DeviceTopologySpec) -> None:
    """Check that it is a driver's or a class's devices that it places."""
    if (spec.driver is None) == (spec.device_class_name is None):
        given = "" if spec.driver is None else spec.driver
        found.invalid(_SPEC, given, "must specify exactly one of: `driver`, `deviceClassName`", STRUCTURE)
    if spec.driver is not None:
        check_driver(found, (*_SPEC, "driver"), spec.driver)
    if spec.device_class_name is not None:
        check_subdomain(found, (*_SPEC, "deviceClassName"), spec.device_class_name)


def _check_shape(found: Findings, spec: DeviceTopologySpec) -> None:
    if spec.shape == "Links":
        _forbid(found, spec, ("coordinates", "size", "periodic"))
        _check_links(found, spec)
        return
    others = ("links",) if spec.shape == "Grid" else ("links", "periodic")
    _forbid(found, spec, others if spec.shape in LATTICES else (*others, "size"))
    _check_coordinates(found, spec)
    if spec.size is not None and spec.shape in LATTICES:
        _check_size(found, spec.size, spec)
    if spec.periodic is not None and spec.shape == "Grid":
        _check_number(found, _PERIODIC, len(spec.periodic), spec)


_WHY_NOT = {
    "coordinates": "is not for shape `Links`",
    "size": "is for shapes `Ring`, `Line`, `Grid` and `Torus` only",
    "periodic": "is for shape `Grid` only",
    "links": "is for shape `Links` only",
}
_FIELDS: dict[str, Callable[[DeviceTopologySpec], object]] = {
    "coordinates": lambda spec: spec.coordinates,
    "size": lambda spec: spec.size,
    "periodic": lambda spec: spec.periodic,
    "links": lambda spec: spec.links,
}


def _forbid(found: Findings, spec: DeviceTopologySpec, fields: tuple[str, ...]) -> None:
    for field in fields:
        if _FIELDS[field](spec) is not None:
            found.forbidden((*_SPEC, field), _WHY_NOT[field], STRUCTURE)


def _check_coordinates(found: Findings, spec: DeviceTopologySpec) -> None:
    names = spec.coordinates or ()
    if not names:
        found.required(_COORDINATES, category=STRUCTURE)
    elif spec.shape in STRAIGHT and len(names) != 1:
        found.invalid(_COORDINATES, names, f"shape `{spec.shape}` has exactly one", STRUCTURE)
    elif len(names) > AXES_MAX:
        found.error(_COORDINATES, f"Too many: {len(names)}: must have at most {AXES_MAX} items", STRUCTURE)
    for index, name in enumerate(names):
        _check_attribute(found, (*_COORDINATES, index), name)
    found.unique(_COORDINATES, names, category=STRUCTURE)


def _check_attribute(found: Findings, path: Path, name: str) -> None:
    if name:
        check_fully_qualified(found, path, name)
    else:
        found.required(path, category=STRUCTURE)


def _check_number(found: Findings, path: Path, number: int, spec: DeviceTopologySpec) -> None:
    axes = len(spec.coordinates or ())
    if number != axes:
        found.invalid(path, number, f"must have one item for each of the {axes} coordinates", STRUCTURE)


def _check_size(found: Findings, size: tuple[int, ...], spec: DeviceTopologySpec) -> None:
    _check_number(found, _SIZE, len(size), spec)
    for index, places in enumerate(size):
        if places < 1:
            found.invalid((*_SIZE, index), places, "must be greater than zero", STRUCTURE)
    if min(size, default=1) > 0 and prod(size) > MOST_CELLS:
        found.invalid(_SIZE, size, f"must not make more than {MOST_CELLS} cells", STRUCTURE)


def _check_links(found: Findings, spec: DeviceTopologySpec) -> None:
    if spec.links is None:
        found.required(_LINKS, category=STRUCTURE)
        return
    _check_attribute(found, (*_LINKS, "id"), spec.links.id)
    _check_attribute(found, (*_LINKS, "peers"), spec.links.peers)
