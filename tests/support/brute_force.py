"""A search that tries everything, in the order of SRCH-1, SRCH-2 and SRCH-4, and judges with the verifier's rules.

It has no state to undo: every step replays all that was picked before, from nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from drasat.models.cluster.cluster import Cluster
from drasat.models.cluster.node_fit import apply_taint_rules
from drasat.models.kubernetes.claims import DeviceRequestAllocationResult, RequestSpec, ResourceClaim
from drasat.models.kubernetes.core import Node
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.meta import DeviceId
from drasat.solver.verification.constraints import ConstraintRules, covers
from drasat.solver.verification.devices import ClaimContext, ResultDevice, ResultDeviceRules, VerificationContext
from drasat.solver.verification.published import Inventory
from drasat.solver.verification.requests import ALL, all_requested, unsupported_findings
from drasat.solver.verification.state import HeldDevices, UnitUsage, VerifierExpressions

# What a result repeats is made later, when the devices are known.
_REPEATED = ("CAP-7", "CAP-8", "RES-2")


class FatalError(Exception):
    """The whole attempt is aborted (section 16)."""


class TooLargeError(Exception):
    """Trying everything would take too long."""


@dataclass(frozen=True)
class Pick:
    """A device taken for a request, by the name that results use, of the claim of this number."""

    claim: int
    request: str
    device: DeviceId
    asked: RequestSpec = field(compare=False, repr=False)


Picks = tuple[Pick, ...]


class BruteForce:
    """Tries everything for claims on a node; ``limit`` is how many devices it looks at before it gives up."""

    def __init__(self, cluster: Cluster, gates: FeatureGates, limit: int = 4000) -> None:
        held_devices = HeldDevices(gates)
        for claim in cluster.claims.values():
            if claim.status is not None and claim.status.allocation is not None:
                held_devices.enter(claim.status.allocation)
        inventory = Inventory(apply_taint_rules(cluster.slices, cluster.taint_rules, gates), gates)
        self._cluster = cluster
        self._gates = gates
        nodes = tuple(cluster.nodes.values())
        self._scene = VerificationContext(
            cluster.classes, nodes, cluster.topologies, gates, inventory, held_devices, VerifierExpressions(gates)
        )
        self._taking = ResultDeviceRules(self._scene)
        self._constraints = ConstraintRules(gates, self._scene.expressions)
        self._left = limit

    def first(self, node: Node, claims: Sequence[ResourceClaim]) -> Picks | None:
        """The first solution; None if there is none. Raises ``FatalError`` and ``TooLargeError``."""
        self._check(node, claims)
        asked = [
            (number, [(name, one) for name, one in all_requested(claim) if name.partition("/")[0] == request.name])
            for number, claim in enumerate(claims)
            for request in claim.spec.devices.requests or ()
        ]
        return self._solve(node, claims, asked, ())

    def fits(self, node: Node, claims: Sequence[ResourceClaim], picks: Picks) -> bool:
        """Whether these devices may be taken together, in this order."""
        return self._trouble(node, claims, picks) == ""

    def _check(self, node: Node, claims: Sequence[ResourceClaim]) -> None:
        """Section 6."""
        for claim in claims:
            if any(unsupported_findings(claim, self._scene.classes, self._gates)):
                raise FatalError("unsupported")
            for _, one in all_requested(claim):
                if one.allocation_mode == ALL and any(view.stops_all for view in self._scene.inventory.views(node)):
                    raise FatalError("PRE-8")

    def _solve(self, node, claims, asked, picks: Picks) -> Picks | None:
        if not asked:
            return picks
        number, alternatives = asked[0]
        for name, one in alternatives:
            for more in self._choices(node, claims, picks, (number, name, one)):
                found = self._solve(node, claims, asked[1:], more)
                if found is not None:
                    return found
        return None

    def _choices(self, node, claims, picks: Picks, wanted: tuple[int, str, RequestSpec]) -> Iterator[Picks]:
        if wanted[2].allocation_mode == ALL:
            yield from self._all(node, claims, picks, wanted)
        else:
            yield from self._some(node, claims, picks, wanted, self._devices(node), wanted[2].count or 0)

    def _devices(self, node: Node) -> list[DeviceId]:
        """POOL-11."""
        pools = self._cluster.pools(self._gates).pools_for(node)
        return [device.id for pool in pools for device in pool.devices]

    def _some(self, node, claims, picks, wanted, devices, count) -> Iterator[Picks]:
        """SRCH-2."""
        if count == 0:
            yield picks
            return
        for place, device in enumerate(devices):
            more = (*picks, Pick(*wanted[:2], device, wanted[2]))
            if self.fits(node, claims, more):
                yield from self._some(node, claims, more, wanted, devices[place + 1 :], count - 1)

    def _all(self, node, claims, picks, wanted) -> Iterator[Picks]:
        """PRE-8, SRCH-6, SRCH-7."""
        rules, chosen = self._scene.devices, []
        for device in self._devices(node):
            reason = rules.unselected(self._scene.inventory.find(device, node)[0], wanted[2], node)
            if reason is None:
                chosen.append(device)
            elif reason.fatal:
                return
        for device in chosen:
            picks = (*picks, Pick(*wanted[:2], device, wanted[2]))
            trouble = self._trouble(node, claims, picks)
            if trouble.startswith("CON-"):
                raise FatalError("SRCH-7")
            if trouble:
                return
        if chosen:
            yield picks

    def _trouble(self, node: Node, claims: Sequence[ResourceClaim], picks: Picks) -> str:
        """The first rule that the last of the picks breaks, or any before; empty: none."""
        self._left -= 1
        if self._left < 0:
            raise TooLargeError
        attempt = UnitUsage(self._scene.held_devices)
        takings = []
        for pick in picks:
            result = DeviceRequestAllocationResult(
                request=pick.request, driver=pick.device[0], pool=pick.device[1], device=pick.device[2]
            )
            there = self._scene.inventory.find(pick.device, node)
            if not isinstance(there[0], str):
                takings.append((pick, ResultDevice(result, *there, pick.asked)))
                broken = self._taking.findings(takings[-1][1], ClaimContext(node, attempt, pick.claim))
                rules = [finding.rule for finding in broken if finding.rule not in _REPEATED]
            else:
                rules = [there[0]]
            if rules:
                return rules[0]
        return self._constraint_trouble(claims, takings)

    def _constraint_trouble(self, claims, takings) -> str:
        for number, claim in enumerate(claims):
            own = [taking for pick, taking in takings if pick.claim == number]
            for constraint in claim.spec.devices.constraints or ():
                members = [(one.entry, one.requested) for one in own if covers(constraint, one.result.request)]
                for finding in self._constraints.findings(constraint, members):
                    return finding.rule
        return ""
