"""The document of ``tune``: the orders with which kube-scheduler's first fit loses least."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..formats.decode import Model
from .common import API_VERSION

TuneVerdict = Literal["Optimal", "Feasible", "Unknown"]


class TunedOrder(Model, kw_only=True, omit_defaults=False):
    """Items whose order changes. ``before`` and ``after`` are their names.

    ``order`` says what is listed. ``devices`` are those of slices, and ``alternatives`` those of a request. ``slices``
    are those of a pool: what the slice of a name in ``after`` has goes to the slice of the name at that place in
    ``before``. ``objects`` are the slices, the first slices of pools, or claims and templates with kind and namespace.
    """

    order: Literal["devices", "slices", "alternatives"]
    objects: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]


class Confirmation(Model, kw_only=True, omit_defaults=False):
    """The units that the real allocator of this version places, for each arrival of the queue."""

    version: str
    before: tuple[int, ...]
    after: tuple[int, ...]


class TuneDocument(Model, kw_only=True, omit_defaults=False):
    """What ``tune -o json`` prints. ``before`` and ``after`` are the units placed of ``asked``, for each arrival.

    ``Optimal``: no order places more, because ``after`` is at the ``bound`` or all orders were tried (``exhausted``).
    ``Unknown``: time was up before anything was known; then both are empty. ``bound`` is the most units that anybody
    can place, null if none is known. ``choices`` is the number of things whose order can be chosen, ``trials`` that of
    the orders that were simulated. ``decided``: no time limit ended the search. ``confirmed`` is there if it was asked.
    """

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["TuneResult"] = "TuneResult"
    outcome: TuneVerdict
    asked: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    bound: int | None
    orders: tuple[TunedOrder, ...]
    choices: int
    trials: int
    exhausted: bool
    decided: bool
    verified: bool
    seed: int
    feature_gates: dict[str, bool]
    cel_errors: str
    notices: tuple[str, ...]
    confirmed: Confirmation | msgspec.UnsetType | None = msgspec.UNSET
