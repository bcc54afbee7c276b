"""Partitions asked for on one node of GPUs that are otherwise unused."""

from collections.abc import Callable, Mapping

from . import mig, objects
from .drafts import DraftClaim
from .gpus import DRIVER
from .objects import Mapped
from .shapes import combine
from .single import one_pod

_PROFILE = f'device.attributes["{DRIVER}"].profile'


def partitioned(wanted: Mapping[str, int], *, gpus: int = 8, form: str = "claims") -> list[Mapped]:
    """A node with A100 GPUs, and a pod that wants so many partitions of each profile (a key of ``mig.PROFILES``).

    ``form``: ``claims`` of one partition each, ``requests`` of one claim for one partition each, or ``counts``: one
    claim with a request for each profile.
    """
    return combine(mig.mig_nodes(1, gpus), one_pod(_FORMS[form](wanted)))


def partition_request(name: str, profile: str, count: int = 1) -> Mapped:
    """A request for partitions of a profile."""
    return objects.exactly(name, of_profile(profile, count))


def of_profile(profile: str, count: int = 1) -> Mapped:
    """What a request or an alternative for partitions of a profile asks for."""
    return objects.wanted("mig", f'{_PROFILE} == "{profile}"', count=count)


def _claims(wanted: Mapping[str, int]) -> list[DraftClaim]:
    return [DraftClaim(f"claim-{request['name'][1:]}", [request]) for request in _one_by_one(wanted)]


def _requests(wanted: Mapping[str, int]) -> list[DraftClaim]:
    return [DraftClaim("partitions", _one_by_one(wanted))]


def _counts(wanted: Mapping[str, int]) -> list[DraftClaim]:
    asked = enumerate(wanted.items())
    return [DraftClaim("partitions", [partition_request(f"r{number:02d}", *each) for number, each in asked])]


def _one_by_one(wanted: Mapping[str, int]) -> list[Mapped]:
    profiles = [profile for profile, count in wanted.items() for _ in range(count)]
    return [partition_request(f"r{number:02d}", profile) for number, profile in enumerate(profiles)]


_FORMS: dict[str, Callable[[Mapping[str, int]], list[DraftClaim]]] = {
    "claims": _claims,
    "requests": _requests,
    "counts": _counts,
}
