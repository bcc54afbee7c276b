"""Where an allocation can be used (RES-7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..models.core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from ..models.pools import PoolDevice
from ..models.reach import Located, per_device
from ..problem.messages import Blank
from ..problem.outcomes import FatalError


def node_selector(claim: int, devices: Sequence[PoolDevice], node_name: str, binding: bool) -> NodeSelector | None:
    """Combine the devices' node selections in one term; None: usable everywhere.

    A single device that belongs to a node, or (unless not ``binding``) binds to it, ties the whole allocation to it.
    Raises ``FatalError`` for a selector with several terms, which cannot be combined.
    """
    expressions: list[NodeSelectorRequirement] = []
    fields: list[NodeSelectorRequirement] = []
    for device in devices:
        located = _located(device)
        if located.node_name or (binding and device.device.binds_to_node):
            return _this_node(node_name)
        if located.node_selector is None or located.all_nodes:
            continue
        term = _only_term(claim, located.node_selector)
        _append(expressions, term.match_expressions or ())
        _append(fields, term.match_fields or ())
    if not expressions and not fields:
        return None
    term = NodeSelectorTerm(match_expressions=tuple(expressions) or None, match_fields=tuple(fields) or None)
    return NodeSelector(node_selector_terms=(term,))


def cannot_be_combined(device: PoolDevice) -> bool:
    """Tell whether a device's selector has several terms, which only a device before it makes superfluous (RES-7)."""
    located = _located(device)
    if located.node_name or located.all_nodes or located.node_selector is None:
        return False
    return len(located.node_selector.node_selector_terms or ()) != 1


def _located(device: PoolDevice) -> Located:
    return device.device if per_device(device.slice) else device.slice.spec


def _this_node(name: str) -> NodeSelector:
    field = NodeSelectorRequirement(key="metadata.name", operator="In", values=(name,))
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(field,)),))


def _only_term(claim: int, selector: NodeSelector) -> NodeSelectorTerm:
    terms = selector.node_selector_terms or ()
    if len(terms) != 1:
        problem = f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms"
        message = ("create NodeSelector for claim ", Blank.CLAIM_NAME, f": {problem}")
        raise FatalError("nodeSelector", message, claim=claim)
    return terms[0]


def _append(known: list[NodeSelectorRequirement], added: Iterable[NodeSelectorRequirement]) -> None:
    """Add the requirements that are not there already, whatever the order of their values."""
    seen = {_identity(requirement) for requirement in known}
    for requirement in added:
        if _identity(requirement) not in seen:
            seen.add(_identity(requirement))
            known.append(requirement)


def _identity(requirement: NodeSelectorRequirement) -> tuple[str, str, frozenset[str]]:
    return requirement.key, requirement.operator, frozenset(requirement.values or ())
