"""Names of attributes and capacities that claims ask for, and that no device of their class publishes.

Capacities are looked up as they are spelled (CAP-1), attributes by their full name (CON-2), so that a wrong domain is
enough for a request that nothing can satisfy.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from time import monotonic
from typing import NamedTuple

from ...cel.devices import ATTRIBUTES, CAPACITY, prepare_device
from ...cel.errors import CelCompileError, CelError
from ...cel.selector import compile_selector
from ...models.formats.errors import InputProblem
from ...models.kubernetes.claims import (
    DeviceClaim,
    DeviceClass,
    DeviceSelector,
    RequestSpec,
    ResourceClaim,
    ResourceClaimTemplate,
)
from ...models.kubernetes.published_fields import nearest
from ...models.kubernetes.slices import Device, ResourceSlice
from ...models.manifests.reader import Manifest
from ...models.validation.expressions import located_entries
from ...models.validation.findings import MapKey, Path, render_path
from ...models.validation.references import input_problem
from ...problem.constraints import entry_applies

# Seconds for the selectors of classes, and devices of equal names that are tried: a warning is worth no more.
_SELECTOR_SECONDS = 0.5
_TRIED = 64
# No more warnings, combinations of names and names for comparison: clusters have fewer.
_WARNINGS, _GROUPS, _COMPARED = 1_000, 1_000, 1_000
_SINGULAR = {ATTRIBUTES: "attribute", CAPACITY: "capacity"}
# An expression with one of these may never read what it names.
_GUARDS = re.compile(r"\bhas\s*\(|\|\||\?|\bin\b|\bincludes\b")


class _Asked(NamedTuple):
    """A name that devices of a class should publish, and where it stands; capacities of requests as spelled."""

    path: Path
    class_name: str
    section: str
    name: str
    verbatim: bool = False


def newest_published_devices(slices: Sequence[ResourceSlice]) -> Iterator[tuple[ResourceSlice, Device]]:
    """Devices of the newest generation of each pool (POOL-3)."""
    newest: dict[tuple[str, str], int] = {}
    for slice_ in slices:
        pool = slice_.spec.driver, slice_.spec.pool.name
        newest[pool] = max(newest.get(pool, 0), slice_.spec.pool.generation)
    for slice_ in slices:
        if slice_.spec.pool.generation == newest[slice_.spec.driver, slice_.spec.pool.name]:
            yield from ((slice_, device) for device in slice_.spec.devices or ())


def unpublished_names(manifests: Sequence[Manifest]) -> Iterator[InputProblem]:
    """Warn of each name that is asked for and that no device of the class publishes; a class may have no devices."""
    return islice(_unpublished_names(manifests), _WARNINGS)


def _unpublished_names(manifests: Sequence[Manifest]) -> Iterator[InputProblem]:
    classes = {one.object.metadata.name: one.object for one in manifests if isinstance(one.object, DeviceClass)}
    published: _PublishedNames | None = None
    for manifest in manifests:
        for asked in _asked_names(manifest):
            if asked.class_name not in classes:
                continue
            published = published or _PublishedNames(
                one.object for one in manifests if isinstance(one.object, ResourceSlice)
            )
            names = published.of_class(classes[asked.class_name])
            if not names.empty and not names.has(asked):
                name = f"{_SINGULAR[asked.section]} {asked.name}"
                message = f"no device of class {asked.class_name} publishes {name}{names.hint(asked)}"
                yield input_problem(manifest, render_path(asked.path), message, "warning")


def _asked_names(manifest: Manifest) -> Iterator[_Asked]:
    one = manifest.object
    path: Path = ("spec", "devices")
    if isinstance(one, ResourceClaim):
        claim = one.spec.devices
    elif isinstance(one, ResourceClaimTemplate):
        claim, path = one.spec.spec.devices, ("spec", *path)
    else:
        return
    for where, _, _, spec in _request_specs(path, claim):
        for name in spec.capacity.requests or () if spec.capacity else ():
            place = (*where, "capacity", "requests", MapKey(name))
            yield _Asked(place, spec.device_class_name, CAPACITY, name, verbatim=True)
        for index, selector in enumerate(spec.selectors or ()):
            place = (*where, "selectors", index, "cel", "expression")
            for section, name in _names_read(selector):
                yield _Asked(place, spec.device_class_name, section, name)
    for placed in located_entries(one):
        for attribute in ("match_attribute", "distinct_attribute"):
            if name := getattr(placed.entry, attribute):
                place = (*placed.path, attribute.replace("_a", "A"))
                for _, request, alternative, spec in _request_specs(path, claim):
                    derived = {made.name for made in spec.derived_attributes or ()}
                    if entry_applies(placed.entry, request, alternative) and name not in derived:
                        yield _Asked(place, spec.device_class_name, ATTRIBUTES, name)


def _request_specs(path: Path, claim: DeviceClaim) -> Iterator[tuple[Path, str, str, RequestSpec]]:
    """The path, the request, the alternative (or nothing) and the text of all that is asked for."""
    for index, request in enumerate(claim.requests or ()):
        where = (*path, "requests", index)
        if request.exactly is not None:
            yield (*where, "exactly"), request.name, "", request.exactly
        for position, one in enumerate(request.first_available or ()):
            yield (*where, "firstAvailable", position), request.name, one.name, one


def _names_read(selector: DeviceSelector) -> Iterator[tuple[str, str]]:
    """The sections and names that an expression reads of every device."""
    text = selector.cel.expression if selector.cel else ""
    if not text or _GUARDS.search(text):
        return
    try:
        paths = compile_selector(text).projection
    except CelCompileError:
        return
    for section, domain, identifier in sorted(path for path in paths if len(path) == 3):
        if section in _SINGULAR:
            yield section, f"{domain}/{identifier}"


class _SimilarDevices(NamedTuple):
    """Devices of a driver that publish the same names: some of them, one more than are tried if there are more."""

    driver: str
    names: dict[str, tuple[str, ...]]
    some: list[Device]


class _ClassNames:
    """The names that devices of a class publish, by section: as they are spelled, and in full."""

    def __init__(self, groups: list[_SimilarDevices]) -> None:
        self.empty = not groups
        self._by_identifier: dict[tuple[str, bool], dict[str, str]] = {}
        self.spelled: dict[str, set[str]] = {section: set() for section in _SINGULAR}
        self.full: dict[str, set[str]] = {section: set() for section in _SINGULAR}
        for group in groups:
            for section, names in group.names.items():
                self.spelled[section].update(names)
                self.full[section].update(one if "/" in one else f"{group.driver}/{one}" for one in names)

    def has(self, asked: _Asked) -> bool:
        """Whether some device has the name, as it is looked up."""
        spelled = asked.name in self.spelled[asked.section]
        return spelled or (not asked.verbatim and asked.name in self.full[asked.section])

    def hint(self, asked: _Asked) -> str:
        """The question whether another name is meant; empty if none has this identifier or a similar one."""
        known = self._by_identifier.get((asked.section, asked.verbatim))
        if known is None:
            known = self._by_identifier[asked.section, asked.verbatim] = self._identifiers(asked)
        identifier = asked.name.rpartition("/")[2]
        meant = known.get(identifier) or known.get(nearest(identifier, known) if len(known) <= _COMPARED else "")
        return f": did you mean {meant}?" if meant else ""

    def _identifiers(self, asked: _Asked) -> dict[str, str]:
        """What to ask for, by identifiers; names of the other section come after those of this one."""
        known: dict[str, str] = {}
        for section in sorted(_SINGULAR, key=lambda one: one != asked.section):
            prefix = "" if section == asked.section else f"{_SINGULAR[section]} "
            for name in sorted((self.spelled if asked.verbatim else self.full)[section]):
                known.setdefault(name.rpartition("/")[2], f"{prefix}{name}")
        return known


class _PublishedNames:
    """What devices publish, by class."""

    def __init__(self, slices: Iterable[ResourceSlice]) -> None:
        some: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[Device]] = defaultdict(list)
        for slice_, device in newest_published_devices(list(slices)):
            key = slice_.spec.driver, (*(device.attributes or ()),), (*(device.capacity or ()),)
            if len(alike := some[key]) <= _TRIED:
                alike.append(device)
        groups = [
            _SimilarDevices(driver, {ATTRIBUTES: attributes, CAPACITY: capacity}, alike)
            for (driver, attributes, capacity), alike in some.items()
        ]
        self._groups = groups if len(groups) <= _GROUPS else []
        self._of_class: dict[str, _ClassNames] = {}
        self._deadline = monotonic() + _SELECTOR_SECONDS

    def of_class(self, device_class: DeviceClass) -> _ClassNames:
        """What devices of the class publish."""
        name = device_class.metadata.name
        if name not in self._of_class:
            self._of_class[name] = _ClassNames([one for one in self._groups if self._may_have(device_class, one)])
        return self._of_class[name]

    def _may_have(self, device_class: DeviceClass, group: _SimilarDevices) -> bool:
        """Whether the class may have some of these devices; in doubt it may."""
        texts = [selector.cel.expression for selector in device_class.spec.selectors or () if selector.cel]
        for device in group.some[:_TRIED]:
            try:
                prepared = prepare_device(device, group.driver)
                if all(compile_selector(text).matches(prepared, deadline=self._deadline) for text in texts):
                    return True
            except CelError:
                return True
        return len(group.some) > _TRIED
