"""What is to be placed together: pods with their claims, and loose claims (SCHED-1, SCHED-2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .claims import ResourceClaim
from .core import Pod
from .identity import ObjectKey

if TYPE_CHECKING:
    from .cluster import Cluster


@dataclass(frozen=True, slots=True, eq=False)
class ClaimRef:
    """A claim of a unit: one that exists, or one made from a template."""

    namespace: str
    name: str
    # None if it cannot be had; then ``problem`` says why (SCHED-1).
    claim: ResourceClaim | None
    # The entry of the pod's spec.resourceClaims; empty for a loose claim.
    entry: str = ""
    generated: bool = False
    # The mapping to print: the input's, or the generated one. None: made in Python, print the object itself.
    raw: dict[str, Any] | None = None
    problem: str = ""

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def allocated(self) -> bool:
        """The claim has an allocation already: it is not allocated again but restricts the nodes (SCHED-2)."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """Claims that go to one node together: those of a pod in its order, or one loose claim.

    ``claims`` holds the allocated ones too; ``asked`` those that still need devices. A claim may be in several
    units (pods that share it): the first one allocates it, the others must follow its node selector.
    """

    pod: Pod | None
    claims: tuple[ClaimRef, ...]
    namespace: str
    name: str

    @property
    def asked(self) -> tuple[ClaimRef, ...]:
        """The claims without an allocation."""
        raise NotImplementedError

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the unit cannot be placed anywhere: claims or templates that do not exist or are being deleted (SCHED-1)."""
        raise NotImplementedError


def units(
    cluster: "Cluster", *, namespace: str | None = None, selector: str = "", claims: Sequence[str] | None = None
) -> tuple[Unit, ...]:
    """What is asked, in the order read: pods some claim of which has no allocation, and loose claims without one.

    ``namespace`` and ``selector`` (kubectl's label syntax, on the pod, or on the loose claim) narrow it;
    ``claims`` (``name`` in the given or default namespace, or ``namespace/name``) keeps units that have one of them.
    Pods that have finished or are being deleted, and loose claims being deleted, are not asked.
    Raises ``ValueError``, one line, for a bad selector and for a claim that nothing asks for.
    """
    raise NotImplementedError


def joined(units: Sequence[Unit]) -> Unit:
    """One unit of all these units' claims, in order: with ``--node``, loose claims are one pod's."""
    raise NotImplementedError
