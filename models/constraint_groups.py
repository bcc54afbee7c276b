"""ConstraintGroup: constraints on the devices of several claims together.

A kind of our own, ``drasat.dev/v1alpha1``.
"""

from .base import Model
from .entries import Entry
from .labels import Requirement
from .meta import ObjectMeta


class LabelSelectorRequirement(Model):
    """A test of one label: In, NotIn, Exists or DoesNotExist."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class LabelSelector(Model):
    """Labels that must be there, and tests of labels; an empty selector selects everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[LabelSelectorRequirement, ...] | None = None

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """All tests; they may be used only if they pass ``check``."""
        labels = tuple(Requirement(key, "In", (value,)) for key, value in (self.match_labels or {}).items())
        return labels + tuple(
            Requirement(one.key, one.operator, one.values or ()) for one in self.match_expressions or ()
        )


class GroupClaim(Model):
    """A claim of the group's namespace; one that is made for a pod from a template may be named too."""

    name: str = ""


class GroupPod(Model):
    """Which claims of a pod belong to the group: those of the named entries of its ``spec.resourceClaims``.

    Without ``claims`` all of them. Without a ``name`` it speaks of the pods that ``podSelector`` selects.
    """

    name: str = ""
    claims: tuple[str, ...] | None = None


class ConstraintGroupSpec(Model):
    """``spec`` of a ConstraintGroup.

    Its claims are those that are named or selected in any of the four ways. ``same_node_label``: their nodes have
    one value of this label. ``constraints``: entries whose ``requests`` are ``REQUEST`` for all claims, or
    ``CLAIM/REQUEST``, or ``CLAIM/REQUEST/SUBREQUEST``; without any, all requests of all claims.
    """

    claims: tuple[GroupClaim, ...] | None = None
    claim_selector: LabelSelector | None = None
    pods: tuple[GroupPod, ...] | None = None
    pod_selector: LabelSelector | None = None
    same_node_label: str = ""
    constraints: tuple[Entry, ...] | None = None


class ConstraintGroup(Model):
    """What must hold, or had better hold, of the devices of several claims of one namespace."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ConstraintGroupSpec = ConstraintGroupSpec()


def requests_in(entry: Entry, claim: str) -> tuple[str, ...] | None:
    """Return the requests of a claim that a group's entry applies to, as a claim's own entry would name them.

    Empty: all of them. None: the entry does not apply to this claim.
    """
    if not entry.requests:
        return ()
    found = tuple(name for text in entry.requests if (name := _request_in(text, claim)))
    return found or None


def _request_in(text: str, claim: str) -> str:
    head, slash, tail = text.partition("/")
    if not slash:
        return text
    return tail if head == claim else ""
