"""Which nodes suit which kinds of units, whatever devices they have: asked once for nodes that look alike to rules."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from ....models.core import Node, NodeSelector, PodSpec
from ....models.selection import pod_fits, selector_test
from ...suitable_nodes import place_key
from .unit_kinds import UnitKind


class NodeRules:
    """Tells the kinds that a node suits (NODE-2, SCHED-2).

    Raises ``SelectorError`` for a claim that is allocated with a node selector that cannot be parsed.
    """

    def __init__(self, kinds: Sequence[UnitKind]) -> None:
        self._rules = {key: _Rule(kind) for kind in kinds if (key := _rule_key(kind)) is not None}
        self._kinds = [(kind.index, _rule_key(kind)) for kind in kinds]
        selectors = [selector for rule in self._rules.values() for selector in rule.selectors]
        terms = [term for selector in selectors for term in selector.node_selector_terms or ()]
        written = [one for term in terms for one in term.match_expressions or ()]
        plain = [key for rule in self._rules.values() for spec in rule.specs for key in spec.node_selector or ()]
        self._labels = sorted({*plain, *(one.key for one in written)})
        pins = any(spec.node_name for rule in self._rules.values() for spec in rule.specs)
        self._names = pins or any(term.match_fields for term in terms)
        self._known: dict[Hashable, frozenset[int]] = {}

    def suited(self, node: Node) -> frozenset[int]:
        """Indices of the kinds that may go to the node."""
        face = self._face(node)
        found = self._known.get(face)
        if found is None:
            allowed = {key for key, rule in self._rules.items() if rule.allows(node)}
            suited = frozenset(index for index, key in self._kinds if key is None or key in allowed)
            found = self._known[face] = suited
        return found

    def _face(self, node: Node) -> Hashable:
        """What rules can see of a node."""
        labels = node.metadata.labels or {}
        spec = node.spec
        return (
            node.metadata.name if self._names else None,
            tuple(labels.get(key) for key in self._labels),
            (spec.taints, spec.unschedulable) if spec else None,
        )


class _Rule:
    """What all nodes of a kind must be like."""

    def __init__(self, kind: UnitKind) -> None:
        self.specs = kind.specs
        earlier = [made.node_selector for made in kind.earlier if made.node_selector is not None]
        self._tests = [selector_test(selector) for selector in earlier]
        self.selectors = [*earlier, *(one for spec in self.specs for one in _affinity(spec))]

    def allows(self, node: Node) -> bool:
        return all(test(node) for test in self._tests) and not any(pod_fits(spec, node) for spec in self.specs)


def _affinity(spec: PodSpec) -> Iterator[NodeSelector]:
    affinity = spec.affinity.node_affinity if spec.affinity else None
    if affinity is not None and affinity.required is not None:
        yield affinity.required


def _rule_key(kind: UnitKind) -> bytes | None:
    """Equal for kinds with equal rules; None for loose claims, which may go anywhere."""
    if not kind.specs and not kind.earlier:
        return None
    return b"".join([place_key(None, kind.earlier), *(place_key(spec, ()) for spec in kind.specs)])
