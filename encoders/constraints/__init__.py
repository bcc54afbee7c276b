"""Encoders of the joint rules, in the order in which a reader asks for them."""

from __future__ import annotations

from ..model import Encoder
from .amounts import CAPACITY, COMPATIBILITY_GROUPS, COUNTERS, NODE_RESOURCES
from .attributes import DISTINCT_ATTRIBUTE, MATCH_ATTRIBUTE
from .relations import CEL_DEVICES, PREDICATE
from .requests import ADMIN_ACCESS, ALL_DEVICES, EXACT_COUNT, FIRST_AVAILABLE, RESULT_LIMIT_ENCODER, SHARING
from .topology import TOPOLOGY

ENCODERS: tuple[Encoder, ...] = (
    EXACT_COUNT,
    ALL_DEVICES,
    FIRST_AVAILABLE,
    SHARING,
    ADMIN_ACCESS,
    MATCH_ATTRIBUTE,
    DISTINCT_ATTRIBUTE,
    TOPOLOGY,
    CEL_DEVICES,
    PREDICATE,
    COUNTERS,
    CAPACITY,
    COMPATIBILITY_GROUPS,
    NODE_RESOURCES,
    RESULT_LIMIT_ENCODER,
)
