"""How a model is composed: the joint rules in the order in which a reader asks for them."""

from __future__ import annotations

from .admin_access import ADMIN_ACCESS
from .all_devices import ALL
from .capacity import CAPACITY
from .cel_devices import CEL_DEVICES
from .compatibility_groups import COMPATIBILITY_GROUPS
from .counters import COUNTERS
from .distinct_attribute import DISTINCT_ATTRIBUTE
from .encoder import Encoder
from .exact_count import EXACT_COUNT
from .first_available import FIRST_AVAILABLE
from .match_attribute import MATCH_ATTRIBUTE
from .predicate import PREDICATE
from .result_limit import RESULT_LIMIT_ENCODER
from .sharing import SHARING
from .topology.encoder import TOPOLOGY

ENCODERS: tuple[Encoder, ...] = (
    EXACT_COUNT,
    ALL,
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
    RESULT_LIMIT_ENCODER,
)
