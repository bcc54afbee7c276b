"""The tree of queues and cohorts: quota, usage, what is available, and shares (kueue-dra 4.2 and 4.8).

Amounts are integers: cpu in thousandths, everything else in whole units. Kueue holds them as int64 and saturates; so do
the sums of quota here. Usage is kept up to date at each node, so that a change costs the depth of the tree and is
undone by its opposite.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from ...models.kubernetes.quantity import INT64_MAX

# Flavor and resource.
FlavorResource: TypeAlias = tuple[str, str]
Usage: TypeAlias = Mapping[FlavorResource, int]
# Whether the share is infinite (a weight of zero), and its value: thousandths of what the cohort can lend, by weight.
# Kueue computes with floats; so its ties, and what it takes for none, are those of these floats.
Share: TypeAlias = tuple[bool, float]
NO_SHARE: Share = (False, 0.0)


@dataclass(frozen=True, slots=True)
class QuotaLimits:
    """The quota of a pair at one node, what it may borrow beyond it, and what of it others may borrow."""

    nominal: int
    borrowing: int | None = None
    lending: int | None = None


@dataclass(frozen=True, slots=True)
class NodeQuota:
    """A queue or cohort as its object describes it."""

    name: str
    parent: str = ""
    limits: Mapping[FlavorResource, QuotaLimits] | None = None
    weight: Fraction = Fraction(1)


class QuotaNode:
    """A queue or cohort in the tree, with the usage at it."""

    def __init__(self, described: NodeQuota, *, is_queue: bool) -> None:
        self.name = described.name
        self.is_queue = is_queue
        self.limits: Mapping[FlavorResource, QuotaLimits] = described.limits or {}
        self.weight = described.weight
        self._divisor = float(described.weight)
        self.parent: QuotaNode | None = None
        self.cohorts: list[QuotaNode] = []
        self.queues: list[QuotaNode] = []
        # S, L and U of kueue-dra 4.2.
        self.subtree: dict[FlavorResource, int] = {}
        self.kept: dict[FlavorResource, int] = {}
        self.usage: dict[FlavorResource, int] = {}
        self.height = 0
        self.known_potential: dict[FlavorResource, int] = {}
        self._lendable: dict[str, int] | None = None
        # The share as usage is now; None after usage changed.
        self.known_share: Share | None = None

    def __repr__(self) -> str:
        return f"QuotaNode({self.name!r})"

    @property
    def ancestors(self) -> Iterator[QuotaNode]:
        """The cohorts above, from the parent to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    @property
    def root(self) -> QuotaNode:
        """The top of the tree, which is the node itself without a parent."""
        return self.from_root[0]

    @cached_property
    def from_root(self) -> tuple[QuotaNode, ...]:
        """The nodes from the root down to this one; the tree does not change once it is built."""
        return tuple(reversed([self, *self.ancestors]))

    @property
    def path(self) -> str:
        """Names from the root down, as Kueue writes them in messages."""
        return "/" + "/".join(reversed([self.name, *(cohort.name for cohort in self.ancestors)]))

    @property
    def pairs(self) -> list[FlavorResource]:
        """What there is quota or usage of, by flavor and resource."""
        return sorted({*self.subtree, *self.usage})

    def all_queues(self) -> Iterator[QuotaNode]:
        """Every queue of the subtree."""
        waiting = [self]
        while waiting:
            cohort = waiting.pop()
            yield from cohort.queues
            waiting.extend(cohort.cohorts)

    def nominal(self, pair: FlavorResource) -> int:
        """The quota of the node itself."""
        limits = self.limits.get(pair)
        return limits.nominal if limits else 0

    def available(self, pair: FlavorResource, given_back: int = 0, given_back_above: int = 0) -> int:
        """What can be used at this node now; it may be negative after quota was taken away.

        With amounts: what it would be with so much less usage at this node, and at each one above.
        """
        found: int | None = None
        for node in self.from_root:
            quota, used = node.subtree.get(pair, 0), node.usage.get(pair, 0)
            used -= given_back if node is self else given_back_above
            if found is None:
                found = quota - used
                continue
            kept, limits = node.kept.get(pair, 0), node.limits.get(pair)
            if limits is not None and limits.borrowing is not None:
                found = min(found, quota - kept - max(0, used - kept) + limits.borrowing)
            if kept > used:
                found += kept - used
        return found or 0

    def potential(self, pair: FlavorResource) -> int:
        """What could be used at this node if nobody used anything."""
        if pair not in self.known_potential:
            found: int | None = None
            for node in self.from_root:
                quota, limits = node.subtree.get(pair, 0), node.limits.get(pair)
                found = quota if found is None else _saturated(node.kept.get(pair, 0) + found)
                if node.parent is not None and limits is not None and limits.borrowing is not None:
                    found = min(found, quota + limits.borrowing)
                node.known_potential[pair] = found
        return self.known_potential[pair]

    def local_available(self, pair: FlavorResource) -> int:
        """What is unused of the part that nobody else may borrow."""
        return max(0, self.kept.get(pair, 0) - self.usage.get(pair, 0))

    def borrows(self, pair: FlavorResource, more: int = 0) -> bool:
        """Whether usage with ``more`` is above the quota: of the queue alone, or of the cohort's subtree."""
        quota = self.nominal(pair) if self.is_queue else self.subtree.get(pair, 0)
        return self.usage.get(pair, 0) + more > quota

    def within_quota(self, pairs: Iterable[FlavorResource]) -> bool:
        """Whether usage is within the quota of the subtree for each of the pairs."""
        return all(self.usage.get(pair, 0) <= self.subtree.get(pair, 0) for pair in pairs)

    def fits(self, usage: Usage) -> bool:
        """Whether each amount is available."""
        return all(amount <= max(0, self.available(pair)) for pair, amount in usage.items())

    def height_that_holds(self, pair: FlavorResource, amount: int) -> tuple[int, bool]:
        """The height of the lowest subtree whose quota holds the amount, and whether it is less than the whole tree.

        Where none holds it the height is that of the root. A queue within its quota has height 0 (kueue-dra 4.3).
        """
        if self.parent is None or not self.borrows(pair, amount):
            return 0, self.parent is not None
        left = amount - self.local_available(pair)
        for cohort in self.ancestors:
            if not cohort.borrows(pair, left):
                return cohort.height, cohort.parent is not None
            left -= cohort.local_available(pair)
        return self.root.height, False

    def add(self, usage: Usage) -> None:
        """Use more; what is not kept for the node is used at its parent as well."""
        for pair, amount in usage.items():
            node: QuotaNode | None = self
            while node is not None:
                before = node.usage.get(pair, 0)
                node.usage[pair] = before + amount
                node.known_share = None
                kept = node.kept.get(pair, 0)
                if kept > before:
                    amount -= kept - before
                    if amount <= 0:
                        break
                node = node.parent

    def remove(self, usage: Usage) -> None:
        """Use less: the opposite of ``add``."""
        for pair, amount in usage.items():
            node: QuotaNode | None = self
            while node is not None:
                before = node.usage.get(pair, 0)
                node.usage[pair] = before - amount
                node.known_share = None
                shared = before - node.kept.get(pair, 0)
                if shared < amount:
                    amount = shared
                    if amount <= 0:
                        break
                node = node.parent

    @contextmanager
    def with_added(self, usage: Usage) -> Iterator[None]:
        """Use more for a while."""
        self.add(usage)
        try:
            yield
        finally:
            self.remove(usage)

    @contextmanager
    def with_removed(self, usage: Usage) -> Iterator[None]:
        """Use less for a while."""
        self.remove(usage)
        try:
            yield
        finally:
            self.add(usage)

    def share(self) -> Share:
        """The dominant share of the node in what its parent can lend (kueue-dra 4.8)."""
        if self.known_share is None:
            self.known_share = self._share_now()
        return self.known_share

    def _share_now(self) -> Share:
        if self.parent is None:
            return NO_SHARE
        borrowed: dict[str, int] = {}
        usage = self.usage
        for pair, quota in self.subtree.items():
            above = usage.get(pair, 0) - quota
            if above > 0:
                borrowed[pair[1]] = borrowed.get(pair[1], 0) + above
        if not borrowed:
            return NO_SHARE
        lendable = self.parent.lendable()
        ratios = [amount * 1000.0 / lendable[name] for name, amount in borrowed.items() if lendable.get(name)]
        ratio = max(ratios, default=0.0)
        return (False, ratio / self._divisor) if self._divisor else (True, ratio)

    def lendable(self) -> Mapping[str, int]:
        """For each resource, the potential of the node over all flavors of the tree."""
        if self._lendable is None:
            self._lendable = {}
            for pair in self.root.subtree:
                self._lendable[pair[1]] = _saturated(self._lendable.get(pair[1], 0) + self.potential(pair))
        return self._lendable


class QuotaTree:
    """All queues and cohorts. Cohorts that are only named have no quota of their own."""

    def __init__(self, queues: Iterable[NodeQuota], cohorts: Iterable[NodeQuota]) -> None:
        self.queues: dict[str, QuotaNode] = {}
        parents: dict[tuple[bool, str], str] = {}
        for described in queues:
            self.queues[described.name] = QuotaNode(described, is_queue=True)
            parents[True, described.name] = described.parent
        self.cohorts: dict[str, QuotaNode] = {}
        for described in cohorts:
            self.cohorts[described.name] = QuotaNode(described, is_queue=False)
            parents[False, described.name] = described.parent
        for name in [name for name in parents.values() if name]:
            if name not in self.cohorts:
                self.cohorts[name] = QuotaNode(NodeQuota(name), is_queue=False)
        # Cohorts on a cycle, or below one, stand alone: their members are out of use (kueue-dra 4.1).
        self.cyclic = _below_cycle({name: parents.get((False, name), "") for name in self.cohorts})
        for (is_queue, name), parent in parents.items():
            node = self.queues[name] if is_queue else self.cohorts[name]
            if parent and parent not in self.cyclic and (is_queue or name not in self.cyclic):
                node.parent = self.cohorts[parent]
                (node.parent.queues if is_queue else node.parent.cohorts).append(node)
        for node in [*self.queues.values(), *self.cohorts.values()]:
            if node.parent is None:
                _fill_quota(node)

    def nodes(self) -> Iterator[QuotaNode]:
        """Every queue, then every cohort."""
        yield from self.queues.values()
        yield from self.cohorts.values()


def _below_cycle(parents: Mapping[str, str]) -> set[str]:
    """Cohorts from which the way up does not end."""
    ends: dict[str, bool] = {"": True}
    for name in parents:
        way: dict[str, None] = {}
        at = name
        while at not in ends and at not in way:
            way[at] = None
            at = parents.get(at, "")
        ends.update(dict.fromkeys(way, ends.get(at, False)))
    return {name for name, end in ends.items() if not end}


def _fill_quota(root: QuotaNode) -> None:
    """Sum up the quota of each subtree, S, and the part of it that a node does not lend, L."""
    nodes = [root]
    for node in nodes:
        nodes.extend([*node.queues, *node.cohorts])
    for node in reversed(nodes):
        subtree = {pair: limits.nominal for pair, limits in node.limits.items()}
        for child in [*node.queues, *node.cohorts]:
            node.height = max(node.height, child.height + 1)
            for pair, quota in child.subtree.items():
                subtree[pair] = _saturated(subtree.get(pair, 0) + quota - child.kept.get(pair, 0))
        node.subtree = subtree
        for pair, limits in node.limits.items():
            if limits.lending is not None:
                node.kept[pair] = max(0, subtree[pair] - limits.lending)


def _saturated(amount: int) -> int:
    return min(amount, INT64_MAX)
