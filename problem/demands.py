"""From asks to demands: which devices are candidates, which of them are traps, and which the search must not meet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..models.pools import COMPLETE, INCOMPLETE
from .asks import ALL, EXACT_COUNT, Ask
from .bench import Bench, Failures
from .filters import CONSTRAINT_ATTRIBUTE, UNLISTED, Context
from .messages import Blank
from .outcomes import FatalError, trapped
from .policies import KUBE, STRICT
from .records import Constraint, Demand, Failure
from .shapes import Shape


class Demands:
    """Makes demands of asks: their candidates are what passes all filters, or what All means."""

    def __init__(self, context: Context, policy: str) -> None:
        self.policy = policy
        self._bench = Bench(context, policy)

    def demand(self, ask: Ask, index: int, shape: Shape) -> Demand:
        """Compile an ask, but for its constraints. Raises ``FatalError`` (PRE-7, PRE-8, PRE-10, CEL-6)."""
        mode = ask.spec.allocation_mode
        if mode not in (EXACT_COUNT, ALL):
            raise FatalError("request", _text(ask, f"unsupported count mode {mode}"), claim=ask.claim)
        sheet = self._bench.sheet(ask, shape)
        demand = Demand(
            index,
            ask.claim,
            ask.request,
            ask.subrequest,
            ask.spec.device_class_name,
            ask.spec.count or 0,
            mode == ALL,
            ask.admin,
            candidates=sheet.passing,
            traps=sheet.traps,
            failures=sheet.failures,
            amounts=sheet.amounts,
        )
        return self._list_all(demand, ask, shape) if mode == ALL else demand

    def _list_all(self, demand: Demand, ask: Ask, shape: Shape) -> Demand:
        """List what All means: everything selectable, whether it can be taken or not (PRE-8, PRE-9).

        Pools are walked in order, and the first that is not complete is an error.
        """
        listed: list[int] = []
        first = 0
        for number, pool in enumerate(shape.pools):
            if pool.status != COMPLETE:
                state = "being updated" if pool.status == INCOMPLETE else "invalid"
                message = _text(ask, "asks for all devices, but resource pool ", Blank.POOL, f" is currently {state}")
                raise FatalError("pool", message, claim=ask.claim, pool=number)
            devices = range(first, first + len(pool.profiles))
            listed += [device for device in devices if self._is_listed(demand, device)]
            first = devices.stop
        barred = frozenset(device for device in listed if demand.failures[device])
        return replace(demand, count=len(listed), candidates=tuple(listed), traps={}, barred=barred)

    def _is_listed(self, demand: Demand, device: int) -> bool:
        failed = demand.failures[device]
        unlisted = next((failure for failure in failed if failure.filter in UNLISTED), None)
        if unlisted is None:
            return True
        if self._bench.is_fatal(unlisted):
            raise trapped(unlisted, demand.claim, device)
        # A device whose test went wrong may be one that is meant, so All cannot do without it.
        return bool(unlisted.error) and self.policy == STRICT


def _text(ask: Ask, *parts: str | Blank) -> tuple[str | Blank, ...]:
    return ("claim ", Blank.CLAIM, f", request {ask.own_name}: ", *parts)


def constrained(demand: Demand, constraints: Sequence[Constraint], policy: str) -> Demand:
    """Link a demand to the constraints that apply to it, and note candidates without a usable value (CON-3).

    ``constraints`` are all of the problem. Under ``kube`` an error of a derived attribute waits for the search to
    meet it, so that it stays where it is; otherwise the candidate is out.
    """
    own = tuple(number for number, constraint in enumerate(constraints) if demand.index in constraint.tokens)
    if not own:
        return demand
    if all(constraints[number].tokens[demand.index].keys() >= set(demand.candidates) for number in own):
        return replace(demand, constraints=own)
    found = {device: _valueless(device, demand.index, constraints, own) for device in demand.candidates}
    lacking = {device: extra for device, extra in found.items() if extra}
    known = enumerate(demand.failures)
    merged = tuple((*failed, *lacking.get(device, ())) for device, failed in known)
    linked = replace(demand, constraints=own, failures=merged)
    if policy == KUBE and any(failure.error for extra in lacking.values() for failure in extra):
        return linked
    if not demand.all_devices:
        usable = (device for device in demand.candidates if device not in lacking or device in demand.traps)
        return replace(linked, candidates=tuple(usable))
    failing = {device for device, extra in lacking.items() if any(failure.error for failure in extra)}
    return replace(linked, barred=demand.barred | failing)


def _valueless(device: int, demand: int, constraints: Sequence[Constraint], own: Iterable[int]) -> Failures:
    """List the constraints for which the device has no value."""
    lacking = (constraints[number] for number in own if device not in constraints[number].tokens[demand])
    return tuple(
        constraint.errors.get(demand, {}).get(device) or Failure(CONSTRAINT_ATTRIBUTE, constraint.lack)
        for constraint in lacking
    )
