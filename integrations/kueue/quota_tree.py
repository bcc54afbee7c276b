"""The tree of queues and cohorts: quota, usage, what is available, and shares (kueue-dra 4.2 and 4.8).

Amounts are integers: cpu in thousandths, everything else in whole units. Kueue holds them as int64 and saturates; so do
the sums of quota here. Usage is kept up to date at each node, so that a change costs the depth of the tree and is
undone by its opposite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
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


class PairQuota:
    """Quota and usage of one pair at one node: S, L and U of kueue-dra 4.2; ``parent`` is the same a level above."""

    __slots__ = (
        "borrowed_above",
        "borrowing",
        "kept",
        "listed",
        "node",
        "nominal",
        "pair",
        "parent",
        "potential",
        "subtree",
        "usage",
    )

    def __init__(self, node: QuotaNode, pair: FlavorResource, parent: PairQuota | None) -> None:
        limits = node.limits.get(pair)
        self.node = node
        self.pair = pair
        self.parent = parent
        self.nominal = limits.nominal if limits is not None else 0
        self.borrowing = limits.borrowing if limits is not None and parent is not None else None
        self.subtree = self.kept = self.usage = 0
        # Usage above this counts for the share: the quota of the subtree; nothing where the pair has no quota at all.
        self.borrowed_above = inf
        # Whether there is quota in the subtree, or was usage.
        self.listed = False
        # What could be used if nobody used anything; None as long as nobody asked.
        self.potential: int | None = None

    @property
    def unused(self) -> int:
        """What is unused of the part that nobody else may borrow."""
        return max(0, self.kept - self.usage)

    def change(self, amount: int) -> None:
        """Use more, or less; the share of the node follows."""
        before = self.usage
        after = self.usage = before + amount
        self.listed = True
        quota = self.borrowed_above
        if after > quota or before > quota:
            self.node.borrow(self.pair[1], int(max(after, quota) - max(before, quota)))

    def available(self, given_back: int = 0, given_back_above: int = 0) -> int:
        """See ``QuotaNode.available``."""
        # On the way up: what there is is ``own`` and the less of ``most`` and what there is above.
        own, most = 0, inf
        one, used = self, -given_back
        while (parent := one.parent) is not None:
            used += one.usage
            kept = one.kept
            if kept > used:
                own += kept - used
                most -= kept - used
            if one.borrowing is not None:
                most = min(most, one.subtree - max(kept, used) + one.borrowing)
            one, used = parent, -given_back_above
        left = one.subtree - one.usage - used
        return own + (left if left <= most else int(most))

    def height_that_holds(self, amount: int) -> tuple[int, bool]:
        """See ``QuotaNode.height_that_holds``."""
        one, parent = self, self.parent
        if parent is None or self.usage + amount <= (self.nominal if self.node.is_queue else self.subtree):
            return 0, parent is not None
        left = amount
        while parent is not None:
            if one.kept > one.usage:
                left -= one.kept - one.usage
            one, parent = parent, parent.parent
            if one.usage + left <= one.subtree:
                return one.node.height, parent is not None
        return one.node.height, False


class _PairQuotas(dict[FlavorResource, PairQuota]):
    """Quota and usage of a node by pair, there once they are asked for."""

    def __init__(self, node: QuotaNode) -> None:
        super().__init__()
        self._node = node

    def __missing__(self, pair: FlavorResource) -> PairQuota:
        missing = [self._node]
        while (parent := missing[-1].parent) is not None and pair not in parent.by_pair:
            missing.append(parent)
        above = parent.by_pair[pair] if parent is not None else None
        for node in reversed(missing):
            above = node.by_pair[pair] = PairQuota(node, pair, above)
        return self[pair]


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
        self.height = 0
        self.by_pair = _PairQuotas(self)
        # What is used beyond the quota of the subtree, by resource.
        self._borrowed: Counter[str] = Counter()
        self._lendable: dict[str, int] | None = None
        # The share as usage is now; None after what is borrowed changed.
        self._share: Share | None = NO_SHARE

    def __repr__(self) -> str:
        return f"QuotaNode({self.name!r})"

    @property
    def ancestors(self) -> Iterator[QuotaNode]:
        """The cohorts above, from the parent to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    @cached_property
    def root(self) -> QuotaNode:
        """The top of the tree, which is the node itself without a parent; the tree does not change once it is built."""
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    @property
    def from_root(self) -> tuple[QuotaNode, ...]:
        """The nodes from the root down to this one."""
        return tuple(reversed([self, *self.ancestors]))

    @property
    def path(self) -> str:
        """Names from the root down, as Kueue writes them in messages."""
        return "/" + "/".join(node.name for node in self.from_root)

    @property
    def quotas(self) -> Iterator[PairQuota]:
        """The pairs that there is quota of in the subtree, or that were used; in no order."""
        return (one for one in self.by_pair.values() if one.listed)

    @property
    def pairs(self) -> list[FlavorResource]:
        """What there is quota or usage of, by flavor and resource."""
        return sorted(one.pair for one in self.quotas)

    def all_queues(self) -> Iterator[QuotaNode]:
        """Every queue of the subtree; the node itself if it is one."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            if node.is_queue:
                yield node
            yield from node.queues
            waiting.extend(node.cohorts)

    def at(self, pair: FlavorResource) -> PairQuota:
        """Quota and usage of a pair."""
        return self.by_pair[pair]

    def nominal(self, pair: FlavorResource) -> int:
        """The quota of the node itself."""
        limits = self.limits.get(pair)
        return limits.nominal if limits else 0

    def available(self, pair: FlavorResource, given_back: int = 0, given_back_above: int = 0) -> int:
        """What can be used at this node now; it may be negative after quota was taken away.

        With amounts: what it would be with so much less usage at this node, and at each one above.
        """
        return self.by_pair[pair].available(given_back, given_back_above)

    def potential(self, pair: FlavorResource) -> int:
        """What could be used at this node if nobody used anything."""
        unknown = [self.by_pair[pair]]
        if unknown[0].potential is not None:
            return unknown[0].potential
        while unknown[-1].potential is None and (parent := unknown[-1].parent) is not None:
            unknown.append(parent)
        found = unknown[-1].potential
        for one in reversed(unknown):
            if found is None:
                found = one.subtree
            elif one.potential is None:
                found = _saturated(one.kept + found)
                if one.borrowing is not None:
                    found = min(found, one.subtree + one.borrowing)
            one.potential = found
        assert found is not None
        return found

    def local_available(self, pair: FlavorResource) -> int:
        """What is unused of the part that nobody else may borrow."""
        return self.at(pair).unused

    def borrows(self, pair: FlavorResource, more: int = 0) -> bool:
        """Whether usage with ``more`` is above the quota: of the queue alone, or of the cohort's subtree."""
        one = self.by_pair[pair]
        return one.usage + more > (one.nominal if self.is_queue else one.subtree)

    def within_quota(self, pairs: Iterable[FlavorResource]) -> bool:
        """Whether usage is within the quota of the subtree for each of the pairs."""
        for pair in pairs:
            one = self.by_pair[pair]
            if one.usage > one.subtree:
                return False
        return True

    def fits(self, usage: Usage) -> bool:
        """Whether each amount is available."""
        return all(amount <= max(0, self.by_pair[pair].available()) for pair, amount in usage.items())

    def height_that_holds(self, pair: FlavorResource, amount: int) -> tuple[int, bool]:
        """The height of the lowest subtree whose quota holds the amount, and whether it is less than the whole tree.

        Where none holds it the height is that of the root. A queue within its quota has height 0 (kueue-dra 4.3).
        """
        return self.by_pair[pair].height_that_holds(amount)

    def add(self, usage: Usage) -> None:
        """Use more; what is not kept for the node is used at its parent as well."""
        for pair, amount in usage.items():
            one: PairQuota | None = self.by_pair[pair]
            while one is not None:
                kept = one.kept - one.usage
                one.change(amount)
                if kept > 0:
                    amount -= kept
                    if amount <= 0:
                        break
                one = one.parent

    def remove(self, usage: Usage) -> None:
        """Use less: the opposite of ``add``."""
        for pair, amount in usage.items():
            one: PairQuota | None = self.by_pair[pair]
            while one is not None:
                shared = one.usage - one.kept
                one.change(-amount)
                if shared < amount:
                    amount = shared
                    if amount <= 0:
                        break
                one = one.parent

    @contextmanager
    def with_added(self, usage: Usage) -> Iterator[None]:
        """Use more for a while."""
        self.add(usage)
        try:
            yield
        finally:
            self.remove(usage)

    def borrow(self, resource: str, amount: int) -> None:
        """Use so much more of a resource, over all flavors, beyond the quota of the subtree."""
        self._borrowed[resource] += amount
        self._share = None

    def share(self) -> Share:
        """The dominant share of the node in what its parent can lend (kueue-dra 4.8)."""
        if self._share is None:
            self._share = self._share_of(self._borrowed)
        return self._share

    def share_after(self, changes: Mapping[FlavorResource, int]) -> Share:
        """The share if the usage at this node changed by so much."""
        borrowed = self._borrowed.copy()
        for pair, amount in changes.items():
            one = self.at(pair)
            quota = one.borrowed_above
            if one.usage > quota or one.usage + amount > quota:
                borrowed[pair[1]] += int(max(one.usage + amount, quota) - max(one.usage, quota))
        return self._share_of(borrowed)

    def arriving(self, queue: QuotaNode, usage: Usage, *, removed: bool = False) -> dict[FlavorResource, int]:
        """How the usage at this node changes once a queue of its subtree uses so much more, or less."""
        found: dict[FlavorResource, int] = {}
        for pair, amount in usage.items():
            one, left = queue.at(pair), amount
            while one.node is not self and one.parent is not None:
                if removed:
                    left = min(left, one.usage - one.kept)
                elif one.kept > one.usage:
                    left -= one.kept - one.usage
                if left <= 0 < amount:
                    break
                one = one.parent
            else:
                found[pair] = -left if removed else left
        return found

    def _share_of(self, borrowed: Mapping[str, int]) -> Share:
        if self.parent is None or not any(borrowed.values()):
            return NO_SHARE
        lendable = self.parent.lendable()
        ratios = [amount * 1000.0 / lendable[name] for name, amount in borrowed.items() if lendable.get(name)]
        ratio = max(ratios, default=0.0)
        return (False, ratio / self._divisor) if self._divisor else (True, ratio)

    def lendable(self) -> Mapping[str, int]:
        """For each resource, the potential of the node over all flavors of the tree."""
        if self._lendable is None:
            self._lendable = {}
            for pair in self.root.declared:
                self._lendable[pair[1]] = _saturated(self._lendable.get(pair[1], 0) + self.potential(pair))
        return self._lendable

    @property
    def declared(self) -> Iterator[FlavorResource]:
        """The pairs that there is quota of in the subtree."""
        return (pair for pair, one in self.by_pair.items() if one.borrowed_above < inf)

    def fill(self) -> None:
        """Sum up the quota of the children, S, and what the node does not lend of it, L."""
        subtree = {pair: limits.nominal for pair, limits in self.limits.items()}
        for child in (*self.queues, *self.cohorts):
            self.height = max(self.height, child.height + 1)
            for pair in child.declared:
                one = child.at(pair)
                subtree[pair] = _saturated(subtree.get(pair, 0) + one.subtree - one.kept)
        for pair, amount in subtree.items():
            one, limits = self.at(pair), self.limits.get(pair)
            one.subtree = one.borrowed_above = amount
            one.listed = True
            if limits is not None and limits.lending is not None:
                one.kept = max(0, amount - limits.lending)


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
        node.fill()


def _saturated(amount: int) -> int:
    return min(amount, INT64_MAX)
