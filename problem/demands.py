"""From asks to demands: which devices are candidates, which of them are traps, and which the search must not meet."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from ..models.pools import COMPLETE, INCOMPLETE
from .asks import ALL, EXACT_COUNT, Ask
from .capacity import CapacityError, Draw
from .filters import CONSTRAINT_ATTRIBUTE, EXPRESSION_FILTERS, UNLISTED, Candidate, Context, drawn, failures
from .messages import Blank
from .outcomes import FatalError, trapped
from .profiles import Profile
from .records import Amounts, Constraint, Demand, Failure
from .shapes import Shape

KUBE, STRICT, SKIP = "kube", "strict", "skip"
POLICIES = (KUBE, STRICT, SKIP)

_encode = msgspec.msgpack.Encoder().encode

Failures = tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """What filters make of a device for one ask; ``amounts`` in the order of its capacities' names."""

    failures: Failures
    amounts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """What filters make of all devices of a shape, for asks that are alike: one object for all of them."""

    failures: tuple[Failures, ...]
    passing: tuple[int, ...]
    traps: dict[int, Failure]
    amounts: dict[int, Amounts]


class Bench:
    """Where the candidates of asks are judged, each profile once for asks that are alike."""

    def __init__(self, context: Context, policy: str) -> None:
        self.policy = policy
        self._context = context
        self._alike: dict[bytes, int] = {}
        self._judged: dict[Hashable, Judged] = {}
        self._sheets: dict[Hashable, Sheet] = {}

    def demand(self, ask: Ask, index: int, shape: Shape) -> Demand:
        """Compile an ask, but for its constraints. Raises ``FatalError`` (PRE-7, PRE-8, PRE-10, CEL-6)."""
        mode = ask.spec.allocation_mode
        if mode not in (EXACT_COUNT, ALL):
            raise FatalError("request", _text(ask, f"unsupported count mode {mode}"), claim=ask.claim)
        sheet = self._sheet(ask, shape)
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

    def is_fatal(self, failure: Failure) -> bool:
        """Tell whether meeting this failure aborts everything; the policy is about expressions only."""
        return bool(failure.error) and (self.policy == KUBE or failure.filter not in EXPRESSION_FILTERS)

    def _judge(self, ask: Ask, alike: int, profile: Profile, reachable: bool, shape: Shape) -> Judged:
        key = alike, profile.index, reachable, shape.node_skips
        judged = self._judged.get(key) or self._judged.get((ask.own_name, key))
        if judged is None:
            result = drawn(profile, ask, self._context.gates)
            candidate = Candidate(profile, reachable, shape.node_skips, ask, self._context, result)
            amounts = result.amounts if isinstance(result, Draw) else {}
            taken = tuple(amounts[name].nano for name in sorted(amounts))
            judged = Judged(failures(candidate), taken)
            # Only errors of capacities name the request.
            self._judged[(ask.own_name, key) if isinstance(result, CapacityError) else key] = judged
        return judged

    def _sheet(self, ask: Ask, shape: Shape) -> Sheet:
        alike = self._alike.setdefault(_judged_parts(ask), len(self._alike)), shape.index
        sheet = self._sheets.get(alike) or self._sheets.get((ask.own_name, alike))
        if sheet is None:
            devices = zip(shape.profiles, shape.reachable, strict=True)
            judged = [self._judge(ask, alike[0], *device, shape) for device in devices]
            sheet = self._summary(judged, shape)
            # Only errors of capacities name the request.
            named = any(failure.error for failed in sheet.failures for failure in failed)
            self._sheets[(ask.own_name, alike) if named else alike] = sheet
        return sheet

    def _summary(self, judged: Sequence[Judged], shape: Shape) -> Sheet:
        """List what passes all filters, and the traps: candidates whose first failure is a fatal error (CEL-7)."""
        failures = tuple(device.failures for device in judged)
        traps = {device: failed[0] for device, failed in enumerate(failures) if failed and self.is_fatal(failed[0])}
        passing = tuple(device for device, failed in enumerate(failures) if not failed or device in traps)
        rows = shape.capacities.rows
        amounts = {
            device: tuple(zip(rows[device], one.amounts, strict=True))
            for device, one in enumerate(judged)
            if one.amounts
        }
        return Sheet(failures, passing, traps, amounts)

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
        if self.is_fatal(unlisted):
            raise trapped(unlisted, demand.claim, device)
        # A device whose test went wrong may be one that is meant, so All cannot do without it.
        return bool(unlisted.error) and self.policy == STRICT


def _judged_parts(ask: Ask) -> bytes:
    """Write down all that filters look at: asks that agree in it judge every device alike, but for names in errors."""
    spec = ask.spec
    return _encode((spec.device_class_name, spec.selectors, spec.capacity, spec.tolerations, ask.all_devices))


def _text(ask: Ask, *parts: str | Blank) -> tuple[str | Blank, ...]:
    return ("claim ", Blank.CLAIM, f", request {ask.own_name}: ", *parts)


def constrained(demand: Demand, constraints: Sequence[Constraint], policy: str) -> Demand:
    """Link a demand to the constraints that apply to it, and note candidates without a usable value (CON-3).

    ``constraints`` are all of the problem. Under ``kube`` an error of a derived attribute waits for the search to
    meet it, so that it stays where it is; otherwise the candidate is out.
    """
    own = tuple(number for number, constraint in enumerate(constraints) if demand.index in constraint.tokens)
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
        constraint.errors.get(demand, {}).get(device) or Failure(CONSTRAINT_ATTRIBUTE, f"no {constraint.attribute}")
        for constraint in lacking
    )
