"""List requests: each copy is served by one of its alternatives (SRCH-4)."""

from __future__ import annotations

from .encoder import Encoder
from .model import AllocationModel
from .wording import about_request


def _post(model: AllocationModel) -> None:
    for request in model.merged.requests:
        if request.listed:
            first = model.merged.branches[request.branches[0]]
            guard = model.guard(about_request(model.merged, first))
            choices = [(choice, 1) for one in request.branches if (choice := model.choices[one]) is not None]
            due = model.due(first)
            model.rows.equal([*choices, *due.times(-1)], due.constant, guard)
            if guard is not None:
                # A request that is let go is still served in one way at most.
                model.rows.at_most(choices, first.copies)


FIRST_AVAILABLE = Encoder("firstAvailable", "one alternative of a list is chosen", _post)
