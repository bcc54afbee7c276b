"""The public function ``tune`` and its result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from ..models.cluster.cluster import Cluster
from ..models.formats.errors import plural
from ..models.kubernetes.claims import ResourceClaim, ResourceClaimTemplate
from ..models.kubernetes.gates import FeatureGates
from ..models.manifests.writer import object_mapping
from ..models.results import comparison as records
from ..models.results.common import ProofKind
from . import ResultWithManifests

if TYPE_CHECKING:
    import pandas

    from ..solver.compare.orders import Order, OrderedItems
    from ..solver.compare.tuning import TunedOrders


class TuneResult(ResultWithManifests[records.TuneDocument]):
    """The answer of ``tune``; its manifests are the slices, claims and templates that change."""

    @property
    def orders(self) -> tuple[records.TunedOrder, ...]:
        """What is listed in another order."""
        return self.document.orders

    @property
    def lost(self) -> tuple[int, int] | None:
        """The units that first fit loses against the bound, over all arrivals, before and after; None without bound."""
        found = self.document
        if found.bound is None or not found.after:
            return None
        most = found.bound * len(found.after)
        return most - sum(found.before), most - sum(found.after)

    def to_frame(self) -> pandas.DataFrame:
        """One row an arrival of the queue."""
        found = self.document
        rows = [
            (number, before, after, found.bound, found.asked)
            for number, (before, after) in enumerate(zip(found.before, found.after, strict=True))
        ]
        return self._frame(rows, ("arrival", "before", "after", "bound", "asked"))

    def summary(self) -> str:
        """One line: what is placed before and after, and what no order exceeds."""
        found = self.document
        if not found.after:
            return "Unknown: the time limit left no time to simulate the queue"
        arrivals = len(found.after)
        bound = "no bound is known" if found.bound is None else f"no order exceeds {found.bound * arrivals}"
        most = f"{found.asked * arrivals}" + (f" in {plural(arrivals, 'arrival')}" if arrivals > 1 else "")
        return f"{found.outcome}: first fit places {sum(found.before)} of {most}, {sum(found.after)} after; {bound}"

    def reasons(self) -> Iterable[str]:
        """What the real allocator places, and how far the search came."""
        found = self.document
        if found.confirmed:
            own = found.confirmed
            yield f"kube-scheduler {own.version} places {sum(own.before)}, {sum(own.after)} after"
        elif found.confirmed is None:
            yield "the time limit left no time for the real allocator"
        tried = "all orders" if found.exhausted else plural(found.trials, "order")
        yield f"{tried} of {plural(found.choices, 'list')} tried"
        if not found.decided:
            yield "the time limit ended the search"


def tune(
    cluster: Cluster,
    *,
    orders: Sequence[str] = ("devices", "slices", "alternatives"),
    arrivals: int = 3,
    trials: int = 300,
    namespace: str | None = None,
    selector: str = "",
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    cel_errors: str = "kube",
    time_limit: float | None = 60.0,
    seed: int = 0,
    confirm: bool = False,
) -> TuneResult:
    """Find orders of devices, slices and alternatives with which kube-scheduler's first fit loses least.

    First fit takes each pod in turn to the first node by name that fits, with the devices that the scheduler's search
    finds first. What it places is compared with the bound of ``plan``. All orders are tried if they are few, otherwise
    local search tries some of them.

    Parameters
    ----------
    cluster
        What there is, and what waits; see ``load``.
    orders
        What may be listed in another order: ``devices`` of slices, ``slices`` of pools, ``alternatives`` of requests.
    arrivals
        In how many orders the queue arrives: by priority and as read, then at random among equal priorities.
    trials
        How many orders are simulated at most.
    namespace, selector, feature_gates
        As for ``plan``.
    cel_errors
        As for ``allocate``.
    time_limit
        Seconds for everything.
    seed
        Decides the random arrivals and the local search.
    confirm
        Let the real allocator place the queue before and after, too.

    Raises
    ------
    ValueError
        One line, for unknown orders, numbers below 1, as ``plan`` does, and for rules that first fit does not know.
    PeerError
        One line, if the real allocator is to confirm, and is not built or fails.

    """
    from ..solver.compare.tuning import tune as solve

    ask = partial(solve, cluster, kinds=orders, arrivals=arrivals, trials=trials, namespace=namespace)
    ask = partial(ask, selector=selector, feature_gates=feature_gates, cel_errors=cel_errors)
    found = ask(time_limit=time_limit, seed=seed, confirm=confirm)
    return TuneResult(_document(found, seed, confirm), partial(_changed_manifests, cluster, found), cluster)


def _document(found: TunedOrders, seed: int, confirm: bool) -> records.TuneDocument:
    confirmed: records.Confirmation | msgspec.UnsetType | None = None if confirm else msgspec.UNSET
    if found.confirmed is not None:
        own = found.confirmed
        confirmed = records.Confirmation(version=own.version, before=own.before, after=own.after)
    verdict: records.TuneVerdict = "Optimal" if found.is_optimal else "Feasible" if found.after else "Unknown"
    return records.TuneDocument(
        outcome=verdict,
        asked=found.asked,
        before=found.before,
        after=found.after,
        bound=found.bound,
        orders=tuple(_order(*change) for change in found.changes),
        choices=found.choices,
        trials=found.trials,
        exhausted=found.exhausted,
        decided=found.in_time,
        verified=bool(found.after),
        seed=seed,
        feature_gates=found.gates.to_dict(),
        cel_errors=found.cel_errors,
        notices=found.notices,
        confirmed=confirmed,
        proof=(proof := _proof_of(found)),
        certified=proof is not None and proof.is_checked,
    )


def _proof_of(found: TunedOrders) -> ProofKind | None:
    """What it rests on that no order places more; None where that is not known."""
    if not found.is_optimal:
        return None
    if all(one == found.asked for one in found.after):
        return ProofKind.WITNESS
    return ProofKind.EXHAUSTED if found.exhausted else ProofKind.SOLVER


def _order(items: OrderedItems, order: Order) -> records.TunedOrder:
    if items.kind == "alternatives":
        objects = tuple(f"{kind} {namespace}/{name}" for kind, namespace, name, _ in items.places)
    else:
        objects = tuple(place[0] for place in items.places)
    after = tuple(items.names[place] for place in order)
    return records.TunedOrder(order=items.kind, objects=tuple(dict.fromkeys(objects)), before=items.names, after=after)


def _changed_manifests(given: Cluster, found: TunedOrders) -> Iterator[dict[str, Any]]:
    """Slices of pools that change, all of them with the next generation (POOL-1), then claims and templates."""
    before = {one.metadata.name: one for one in given.slices}
    changed = {
        (one.spec.driver, one.spec.pool.name) for one in found.cluster.slices if one is not before[one.metadata.name]
    }
    for one in found.cluster.slices:
        if (one.spec.driver, one.spec.pool.name) in changed:
            pool = structs.replace(one.spec.pool, generation=one.spec.pool.generation + 1)
            yield object_mapping(structs.replace(one, spec=structs.replace(one.spec, pool=pool)))
    asking: list[tuple[ResourceClaim | ResourceClaimTemplate, object]] = [
        *((one, given.templates[key]) for key, one in found.cluster.templates.items()),
        *((one, given.claims[key]) for key, one in found.cluster.claims.items()),
    ]
    yield from (object_mapping(one) for one, known in asking if one is not known)
