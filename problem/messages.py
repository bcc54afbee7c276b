"""What is said of a Problem: messages with blanks, reasons, fatal errors, and the policies for errors of expressions.

A Problem is shared by equal nodes and claims, so that names are filled into texts last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from time import monotonic
from typing import TypeAlias, TypeVar

from ..models.kubernetes.meta import DeviceId, ObjectKey, PoolId
from ..models.results.common import DEVICES_NAMED, CountedWitness, WitnessKind, WitnessRequest

T = TypeVar("T")
_ITEMS_BETWEEN_LOOKS = 64


class Placeholder(Enum):
    """What is filled in."""

    CLAIM = "namespace and name of the claim"
    CLAIM_NAME = "name of the claim"
    DEVICE = "driver, pool and name of the device"
    DEVICE_NAME = "name of the device"
    POOL = "driver and name of the pool"


Message: TypeAlias = tuple[str | Placeholder, ...]


def claim_text(claim: ObjectKey) -> str:
    """Namespace and name as in messages: without a namespace the name alone."""
    return "/".join(part for part in claim if part)


@dataclass(frozen=True, slots=True)
class ProblemNames:
    """Names of the things a Problem numbers."""

    claims: tuple[ObjectKey, ...]
    devices: tuple[DeviceId, ...]
    pools: tuple[PoolId, ...]

    def fill(
        self, message: Message, *, claim: int | None = None, device: int | None = None, pool: int | None = None
    ) -> str:
        """Text of the message about the claim, device and pool of these numbers."""
        values: dict[Placeholder, str] = {}
        if claim is not None:
            values[Placeholder.CLAIM] = claim_text(self.claims[claim])
            values[Placeholder.CLAIM_NAME] = self.claims[claim][1]
        if device is not None:
            values[Placeholder.DEVICE] = "/".join(self.devices[device])
            values[Placeholder.DEVICE_NAME] = self.devices[device][2]
        if pool is not None:
            values[Placeholder.POOL] = "/".join(self.pools[pool])
        return "".join(part if isinstance(part, str) else values[part] for part in message)

    def name_devices(self, counted: CountedSum) -> CountedSum:
        """Put the names of devices, as driver/pool/device, in the place of their numbers; only so many are named."""
        return replace(
            counted,
            devices=tuple(["/".join(self.devices[int(one)]) for one in counted.devices[:DEVICES_NAMED]]),
            cases=tuple(map(self.name_devices, counted.cases)),
        )


@dataclass(frozen=True, slots=True)
class CountedSum:
    """Requests, as pairs of a claim's number and a name, need more of something than there is (``CountedWitness``).

    ``devices`` are the numbers or names of those that were counted. ``cases`` are the sums of all ways to choose.
    """

    kind: WitnessKind
    requests: tuple[tuple[int, str], ...]
    needed: int
    available: int
    subject: str = ""
    devices: tuple[int | str, ...] = ()
    cases: tuple[CountedSum, ...] = ()

    def of_copies(self, claims: int) -> CountedSum:
        """The sum about copies of so many claims side by side, in which each copy has the claims of the first."""
        requests = tuple((claim % claims, request) for claim, request in self.requests)
        return replace(self, requests=requests, cases=tuple(one.of_copies(claims) for one in self.cases))


def witness_of(counted: CountedSum, claims: Sequence[str]) -> CountedWitness:
    """Write a sum with the names of claims by number; claims of one name are so many equal ones."""
    many = Counter((claims[claim], request) for claim, request in counted.requests)
    return CountedWitness(
        kind=counted.kind,
        subject=counted.subject,
        requests=tuple([WitnessRequest(claim, request, count) for (claim, request), count in many.items()]),
        needed=counted.needed,
        available=counted.available,
        devices=tuple(map(str, counted.devices)),
        cases=tuple([witness_of(one, claims) for one in counted.cases]),
    )


@dataclass(frozen=True, slots=True)
class Justification:
    """A reason by the id of the filter or encoder behind it (``matchAttribute``, ``counters``, ...).

    ``claim`` is the number of the claim it is about, None if it is about several, ``device`` and ``pool`` likewise;
    ``message`` may have blanks for them, and is a sentence that anyone can check against the manifests. ``subject`` is
    what would have to change, as far as the id does not tell: a branch of a model, an entry, a row, ... ``counted`` is
    the sum that the sentence is about, where counting is all there is to it.
    """

    id: str
    message: Message
    claim: int | None = None
    device: int | None = None
    pool: int | None = None
    subject: Hashable = None
    # Equal sentences are one reason, whichever devices they count.
    counted: CountedSum | None = field(default=None, compare=False)


class FatalError(Exception):
    """Everything about the attempt is given up; no other node is tried (SCHED-6).

    ``rule`` is the stable id of what went wrong; the numbers fill the blanks of the message.
    """

    def __init__(
        self,
        rule: str,
        message: Message,
        *,
        claim: int | None = None,
        device: int | None = None,
        pool: int | None = None,
    ) -> None:
        super().__init__("".join(part if isinstance(part, str) else part.name for part in message))
        self.rule = rule
        self.message = message
        self.claim = claim
        self.device = device
        self.pool = pool


class DeadlineExceededError(Exception):
    """The time limit passed before the question was decided (SRCH-10)."""


def check_deadline(deadline: float | None) -> None:
    """Raise ``DeadlineExceededError`` if it has passed; a reading of ``time.monotonic``, None: no limit (SRCH-10)."""
    if deadline is not None and monotonic() >= deadline:
        raise DeadlineExceededError("filter operation aborted: the time limit passed")


def until(items: Iterable[T], deadline: float | None, every: int = _ITEMS_BETWEEN_LOOKS) -> Iterator[T]:
    """Yield the items; look at the deadline before ``every`` so many of them. Raises ``DeadlineExceededError``."""
    for number, one in enumerate(items):
        if number % every == 0:
            check_deadline(deadline)
        yield one


KUBE = "kube"
"""It is fatal when the search comes to the device, as in the scheduler."""
STRICT = "strict"
"""The device is never used, and if nothing fits without it, that is an error."""
SKIP = "skip"
"""The device is never used."""
POLICIES = (KUBE, STRICT, SKIP)


def check_policy(name: str) -> None:
    """Raise ``ValueError``, one line, unless there is such a policy."""
    if name not in POLICIES:
        raise ValueError(f"unknown policy {name!r} for CEL errors, known are: {', '.join(POLICIES)}")
