"""An independent second reading of the rules.

Is this allocation one that the API and the scheduler would accept?

Nothing here is shared with the search but the models and the CEL evaluator. Rules are checked on the finished
allocation, in the order of its results, so that what the search does step by step is here a replay.
"""

from __future__ import annotations

from .verify import Placement, Violation, verify

__all__ = ["Placement", "Violation", "verify"]
