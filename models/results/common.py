"""Records that several result documents share, and the documents of ``allocate`` and ``validate``.

Field names are those of the documents. Documents only grow within ``v1alpha1``. ``schema`` makes their JSON Schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final, Literal

import msgspec

from ..formats.decode import Model
from ..kubernetes.claims import AllocationResult as ClaimAllocation

API_VERSION: Final = "drasat.dev/v1alpha1"
# A cluster has too many nodes to name them all for every unit.
NODES_NAMED = 5
# A witness counts at most as many devices as requests ask for; more than these are not named.
DEVICES_NAMED = 100
Outcome = Literal["Allocated", "Unallocatable", "Error", "Unknown"]


class Status(StrEnum):
    """The status of an answer: about a unit, about its claims on one node, or about all units.

    The gravest comes first: a single one of them decides about the whole.
    """

    ERROR = "Error"
    UNALLOCATABLE = "Unallocatable"
    UNKNOWN = "Unknown"
    ALLOCATED = "Allocated"


def outcome_of(status: Status) -> Outcome:
    """The status as the documents' type."""
    outcome: Outcome = msgspec.convert(status.value, Outcome)
    return outcome


class Reason(Model, kw_only=False, omit_defaults=False):
    """Why something could not be allocated: a stable id, the claim (``namespace/name``; empty: all) and a sentence."""

    id: str
    claim: str
    message: str


class ClaimAnswer(Model, omit_defaults=False):
    """A claim with its allocation, null where the unit is not allocated."""

    namespace: str
    name: str
    allocation: ClaimAllocation | None


class RejectedDevices(Model, kw_only=False, omit_defaults=False):
    """The number of devices that fail this filter first; ``detail`` names e.g. the taint."""

    filter: str
    detail: str
    devices: int

    def __str__(self) -> str:
        """Words for people, as in "4 taint dedicated=ml:NoSchedule"."""
        return " ".join(filter(None, (str(self.devices), filter_words(self.filter), self.detail)))


def filter_words(filter_id: str) -> str:
    """Write a filter's id as words: ``classSelector`` is "class selector"."""
    return re.sub("[A-Z]", lambda letter: " " + letter[0].lower(), filter_id)


class ProofKind(StrEnum):
    """What a no rests on.

    ``WITNESS``: a sum that anyone can check; ``EXHAUSTED``: all ways were tried; ``SOLVER``: two runs of the solver on
    the planner's model; ``AUDITED``: a formulation of the verifier's own, solved in another way, comes to the same.
    """

    WITNESS = "witness"
    EXHAUSTED = "exhausted"
    SOLVER = "solver"
    AUDITED = "audited"

    @property
    def is_checked(self) -> bool:
        """Whether something else than what found the no has checked it, or anyone can: the no is certified."""
        return self in (ProofKind.WITNESS, ProofKind.AUDITED)

    @staticmethod
    def weakest(kinds: Iterable[ProofKind]) -> ProofKind | None:
        """Return what rests on all of these; None for none."""
        return min(kinds, key=_STRENGTHS.index, default=None)


_STRENGTHS = (ProofKind.SOLVER, ProofKind.EXHAUSTED, ProofKind.WITNESS, ProofKind.AUDITED)


WitnessKind = Literal[
    "devices",
    "allDevices",
    "resultLimit",
    "values",
    "lists",
    "claims",
    "counters",
    "counterRoom",
    "capacity",
    "capacityRoom",
    "groups",
    "matchAttribute",
    "firstAvailable",
]


class WitnessRequest(Model, kw_only=False, omit_defaults=False):
    """A request of a claim (``namespace/name``), whichever of its alternatives serves it; so ``many`` are equal."""

    claim: str
    request: str
    many: int = 1


class CountedWitness(Model, kw_only=True, omit_defaults=False):
    """A sum that proves a no: the requests need ``needed`` at least, and there are no more than ``available``.

    What is counted goes by ``kind``:

    - ``devices``: devices that the requests may use; of several requests those that nobody may share.
    - ``allDevices``: devices that a request for all of them selects, and those of them that it can get.
    - ``resultLimit``: devices of a claim, and what a claim may get (SRCH-8).
    - ``values``, ``lists``: different values, or lists without a common value, of the distinct attribute ``subject``.
    - ``claims``: claims of one value of the attribute ``subject`` each, and those that its values have room for.
    - ``counters``, ``capacity``: the amount of ``subject``, in billionths, and what is left of it.
    - ``counterRoom``, ``capacityRoom``: devices, and those for which counters or capacities have room.
    - ``groups``: devices, and those that are compatible on the counter sets ``subject`` (GRP-3).
    - ``matchAttribute``, ``firstAvailable``: of the values of the attribute ``subject``, or of the alternatives of the
      request, ``available`` are left, for each is refuted by one of the ``cases``, and one is needed.

    ``devices`` are those counted in ``available``, as driver/pool/device, at most a hundred.
    """

    kind: WitnessKind
    subject: str
    requests: tuple[WitnessRequest, ...]
    needed: int
    available: int
    devices: tuple[str, ...] = ()
    cases: tuple[CountedWitness, ...] = ()


class RequestTable(Model, omit_defaults=False):
    """How many devices of a node fit one request (``name`` or ``name/alternative``) alone, and which filters fail."""

    claim: str
    request: str
    needed: int
    devices: int
    fitting: int
    fallen: tuple[RejectedDevices, ...]


class RejectedNodes(Model, omit_defaults=False):
    """Nodes on which a unit fails in the same way: how many, the first few by name, and the request tables.

    ``proof`` is a bound that anyone can check, where one is enough, and ``witness`` the same as data, about the first
    node; ``proofKind`` is what the no rests on, and ``certified``: it is a witness, or audited.
    """

    nodes: int
    names: tuple[str, ...]
    message: str
    proof: str
    proof_kind: ProofKind
    certified: bool
    requests: tuple[RequestTable, ...]
    witness: CountedWitness | None = None


class StageAnswer(Model, omit_defaults=False):
    """What a stage of the objective came to; no answer that is as good in the stages before is below the bound.

    ``proven``: nothing is better, on any node.
    """

    stage: str
    value: int
    bound: int
    proven: bool


class SoftEntry(Model, kw_only=False, omit_defaults=False):
    """A soft entry, judged by the chosen devices; ``claim`` is empty for one of a ConstraintGroup.

    ``id`` says what kind of entry it is. ``cost`` is 0 if it is kept; else its weight, or with ``per: Pair`` its
    weight for each pair of devices that fails it.
    """

    claim: str
    name: str
    id: str
    weight: int
    kept: bool
    cost: int


class UnitAnswer(Model, omit_defaults=False):
    """A pod, or a loose claim (``pod`` is null), with its node and its claims; ``failures`` go by kind of node.

    ``objective`` has the stages that were asked for, in order; ``softEntries`` are those of an allocated unit.
    """

    pod: str | None
    node: str | None
    outcome: Outcome
    reasons: tuple[Reason, ...]
    claims: tuple[ClaimAnswer, ...]
    failures: tuple[RejectedNodes, ...] = ()
    objective: tuple[StageAnswer, ...] = ()
    soft_entries: tuple[SoftEntry, ...] = ()


class AllocationDocument(Model, kw_only=True, omit_defaults=False):
    """What ``allocate -o json`` prints. ``notices`` say what of the question was left aside.

    ``proof`` is what every no rests on at least, null where nothing is refused; ``certified``: each is a witness or
    audited.
    """

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["AllocationResult"] = "AllocationResult"
    outcome: Outcome
    engine: str
    units: tuple[UnitAnswer, ...]
    feature_gates: dict[str, bool]
    verified: bool
    certified: bool
    proof: ProofKind | None
    statistics: dict[str, int]
    notices: tuple[str, ...] = ()
    cel_errors: str = "strict"
    timings: dict[str, float] | msgspec.UnsetType = msgspec.UNSET


class ValidationProblem(Model, omit_defaults=False):
    """One thing the API server, or drasat, would refuse or warn about."""

    severity: Literal["error", "warning"]
    source: str
    kind: str
    name: str
    field: str
    message: str


class IgnoredKind(Model, omit_defaults=False):
    """Objects of a kind that drasat does not read."""

    kind: str
    api_version: str
    count: int


class ValidationDocument(Model, kw_only=True, omit_defaults=False):
    """What ``validate -o json`` prints."""

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["ValidationResult"] = "ValidationResult"
    valid: bool
    problems: tuple[ValidationProblem, ...]
    # By kind and version.
    ignored: tuple[IgnoredKind, ...] = ()


Verdict = Literal["holds", "fails", "unchecked"]


class CheckedLine(Model, kw_only=False, omit_defaults=False):
    """A thing that a document says, and whether it holds; ``reason`` says why it does not, or cannot be checked."""

    about: str
    said: str
    verdict: Verdict
    reason: str = ""


class CheckDocument(Model, kw_only=True, omit_defaults=False):
    """What ``check -o json`` prints; ``checked`` is the kind of the document that was read.

    ``holds``: nothing that it says fails. What cannot be checked from the document, which is counted, may still be
    wrong. ``notChecked`` says what that is, each reason once. ``notRead`` are the fields of the document that no line
    is about: how the answer was found, words, and figures that are not counted again.
    """

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["CheckResult"] = "CheckResult"
    checked: str
    holds: bool
    holding: int
    failing: int
    unchecked: int
    lines: tuple[CheckedLine, ...]
    not_checked: tuple[str, ...] = ()
    not_read: tuple[str, ...] = ()
