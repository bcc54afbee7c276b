"""For which nodes an allocation is usable (RES-7, read anew)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from ...models.core import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from ...models.gates import FeatureGates
from ...models.selection import NAME_FIELD
from .findings import Finding
from .published import Published

Requirement: TypeAlias = tuple[str, str, str, frozenset[str]]
"""Whether it is about a label or a field, key, operator and values."""


def node_selector(
    entries: Sequence[Published], node: Node, found: NodeSelector | None, gates: FeatureGates
) -> Iterator[Finding]:
    """Compare the selector of an allocation with what its devices demand; the order of requirements is free.

    The stable variant has never heard of devices that bind to a node (FEAT-3).
    """
    wanted: list[Requirement] = []
    for entry in entries:
        place = entry.place
        if place.node_name or (entry.device.binds_to_node and gates.variant != "stable"):
            wanted = [("field", NAME_FIELD, "In", frozenset({node.metadata.name}))]
            break
        selector = None if place.all_nodes else place.node_selector
        terms = (selector.node_selector_terms if selector else None) or ()
        if len(terms) > 1:
            yield Finding("RES-7", f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms")
        wanted += [requirement for term in terms for requirement in _requirements(term) if requirement not in wanted]
    terms = (found.node_selector_terms if found else None) or ()
    there = [_requirements(term) for term in terms]
    if (found is not None) != bool(wanted) or not _alike(there, [wanted] if wanted else []):
        yield Finding("RES-7", f"the node selector demands {there}, not {wanted}")


def _alike(there: Sequence[Sequence[Requirement]], wanted: Sequence[Sequence[Requirement]]) -> bool:
    return there == wanted or sorted(map(_sorted, there)) == sorted(map(_sorted, wanted))


def _sorted(requirements: Sequence[Requirement]) -> list[tuple[str, str, str, list[str]]]:
    return sorted((kind, key, operator, sorted(values)) for kind, key, operator, values in requirements)


def _requirements(term: NodeSelectorTerm) -> list[Requirement]:
    labels = [_plain("label", requirement) for requirement in term.match_expressions or ()]
    return labels + [_plain("field", requirement) for requirement in term.match_fields or ()]


def _plain(kind: str, requirement: NodeSelectorRequirement) -> Requirement:
    return kind, requirement.key, requirement.operator, frozenset(requirement.values or ())
