"""Problems in which every request has only the devices that it is given: the engine says whether it may have them."""

from msgspec.structs import replace

from drasat.models.claims import CELDeviceSelector, DeviceSelector
from drasat.models.slices import DeviceAttribute

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
