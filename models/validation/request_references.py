"""How entries name requests of their claim: ``REQUEST``, or ``REQUEST/SUBREQUEST`` (CON-1)."""

from collections.abc import Collection, Iterable, Iterator

from ..claims import DeviceRequest
from .findings import Findings, Path

REFERENCES_MAX = 32


def reference_names(requests: Iterable[DeviceRequest]) -> Iterator[str]:
    """Yield all names by which entries may refer to these requests."""
    for request in requests:
        yield request.name
        yield from (f"{request.name}/{alternative.name}" for alternative in request.first_available or ())


def check_references(found: Findings, path: Path, listed: tuple[str, ...] | None, names: Collection[str]) -> None:
    """Check the ``requests`` of an entry; none at all are fine."""
    if not listed:
        return
    found.at_most(path, listed, REFERENCES_MAX)
    found.unique(path, listed)
    detail = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
    for index, name in enumerate(listed):
        if name not in names:
            found.invalid((*path, index), name, detail)
