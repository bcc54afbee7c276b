"""Random clusters, the factor and offset of a run, and members of families with pinned devices."""

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.families import FAMILIES, member

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import CELDeviceSelector, DeviceSelector
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.slices import DeviceAttribute
from drasat.models.manifests.reader import read_manifests

FACTOR = int(os.environ.get("DRASAT_PROPERTY_FACTOR", "1"))
OFFSET = int(os.environ.get("DRASAT_PROPERTY_OFFSET", "0"))

# The gates that change what the allocator does.
SWITCHES = (
    "DRAAdminAccess",
    "DRAConsumableCapacity",
    "DRADerivedAttributes",
    "DRADeviceBindingConditions",
    "DRADeviceCompatibilityGroups",
    "DRADeviceTaintRules",
    "DRADeviceTaints",
    "DRAFractionalCapacityRange",
    "DRAListTypeAttributes",
    "DRAOptionalNodeOperations",
    "DRAPartitionableDevices",
    "DRAPrioritizedList",
)


def examples(count):
    """Settings for so many examples, the same in every run."""
    return settings(
        max_examples=count * FACTOR,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def load(family, seed):
    """The cluster of a member of a family."""
    return Cluster.build(read_manifests([member(family, seed)])[0])


def clusters(*families):
    """Members of these families, by default of all; the name of a member makes it again."""
    names = st.sampled_from(families or tuple(FAMILIES))
    return st.tuples(names, st.integers(0, 9999).map(lambda seed: seed + OFFSET))


def gates():
    """All features; those of a release; all but a few; any."""
    everything = FeatureGates.all_on()
    off = st.sets(st.sampled_from(SWITCHES), min_size=1, max_size=2)
    any_ = st.sets(st.sampled_from(SWITCHES))
    return st.one_of(
        st.just(everything),
        st.sampled_from(["1.36", "1.37"]).map(FeatureGates.for_version),
        off.map(lambda names: everything.with_(dict.fromkeys(names, False))),
        any_.map(lambda names: everything.with_(dict.fromkeys(names, False))),
    )


_ATTRIBUTE, _DOMAIN = "pin", "pin.example.com"


def _numbered(cluster):
    """A short text for every device, for attribute values hold 64 bytes."""
    names = sorted(
        (slice_.spec.driver, slice_.spec.pool.name, device.name)
        for slice_ in cluster.slices
        for device in slice_.spec.devices or ()
    )
    return {name: str(number) for number, name in enumerate(dict.fromkeys(names))}


def with_pins(cluster):
    """The cluster with an attribute that tells every device apart."""
    numbers = _numbered(cluster)
    slices = []
    for slice_ in cluster.slices:
        pool = slice_.spec.driver, slice_.spec.pool.name
        devices = tuple(
            replace(
                device,
                attributes={
                    **(device.attributes or {}),
                    f"{_DOMAIN}/{_ATTRIBUTE}": DeviceAttribute(string=numbers[*pool, device.name]),
                },
            )
            for device in slice_.spec.devices or ()
        )
        slices.append(replace(slice_, spec=replace(slice_.spec, devices=devices or None)))
    return cluster.with_nodes((), slices)


def pinned(claim, devices_of, cluster):
    """The claim, asking for just these devices; ``devices_of`` maps the names in results to device ids."""
    numbers = _numbered(cluster)
    requests = []
    for request in claim.spec.devices.requests or ():
        if request.exactly is not None:
            asked = _only(request.exactly, devices_of.get(request.name, ()), numbers)
            requests.append(replace(request, exactly=asked))
            continue
        chosen = tuple(
            _only(one, devices_of[f"{request.name}/{one.name}"], numbers)
            for one in request.first_available or ()
            if f"{request.name}/{one.name}" in devices_of
        )
        requests.append(replace(request, first_available=chosen))
    spec = replace(claim.spec, devices=replace(claim.spec.devices, requests=tuple(requests)))
    return replace(claim, spec=spec)


def _only(asked, devices, numbers):
    allowed = ", ".join(f'"{numbers[device]}"' for device in devices)
    expression = f'device.attributes["{_DOMAIN}"].{_ATTRIBUTE} in [{allowed}]'
    selector = DeviceSelector(cel=CELDeviceSelector(expression=expression))
    return replace(asked, selectors=(*(asked.selectors or ()), selector))
