"""How variants of a study are computed: figures of documents, finished variants that are kept, and executors.

A variant is computed once: what is kept goes by a hash of the cluster and of everything that decides about its figures,
so that a changed study or cluster is seen. Files appear when they are complete.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from hashlib import sha256
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import msgspec

from ..models.cluster.cluster import Cluster
from ..models.formats.decode import Model
from ..models.formats.errors import InputError, PeerError, one_line
from ..models.manifests.writer import write_whole
from ..models.results.plan import plain_number
from ..models.results.study import Figure
from .study_variants import Variant, verb_function

Figures: TypeAlias = dict[str, Figure]
FAILED = "Failed"
# Changed whenever figures get another meaning: what was kept before is then computed again.
_FORMAT = 1
_LONGEST_ERROR = 500


class FinishedVariant(Model, kw_only=True, omit_defaults=False):
    """What a variant came to, as it is kept; ``error`` is empty unless it failed."""

    outcome: str
    figures: dict[str, Figure]
    seconds: float
    error: str = ""


def _sum(amounts: Iterable[float]) -> int | float:
    """A sum of decimal amounts, without what floating point adds."""
    return plain_number(sum((Decimal(str(one)) for one in amounts), Decimal(0)))


def _plan_figures(document: Any) -> Figures:
    used = [node for node in document.nodes if node.units]
    found: Figures = {
        "placed": document.placed,
        "asked": document.asked,
        "unplaced": document.asked - document.placed,
        "nodes-used": len(used),
        "devices": sum(node.devices for node in document.nodes),
        "devices-used": sum(node.used for node in document.nodes),
    }
    found |= {"bought": sum(one.count for one in document.bought), "cost": _sum(one.cost for one in document.bought)}
    found |= {f"bought.{one.template}": one.count for one in document.bought}
    for one in document.objective:
        found |= {f"value.{one.stage}": one.value, f"bound.{one.stage}": one.bound, f"proven.{one.stage}": one.proven}
    if document.workloads is not msgspec.UNSET:
        found["workloads-admitted"] = sum(one.outcome == "Admitted" for one in document.workloads)
    if document.steps is not msgspec.UNSET:
        actions = [one.action for one in document.steps]
        found |= {"moved": actions.count("move"), "evicted": actions.count("evict")}
    if document.removed is not msgspec.UNSET:
        found |= {"removed": len(document.removed), "removed-price": _sum(one.price for one in document.removed)}
    return found


def _allocation_figures(document: Any) -> Figures:
    allocated = [one for one in document.units if one.outcome == "Allocated"]
    results = [len(c.allocation.devices.results or ()) for u in allocated for c in u.claims if c.allocation is not None]
    return {
        "placed": len(allocated),
        "asked": len(document.units),
        "unplaced": len(document.units) - len(allocated),
        "devices-allocated": sum(results),
        "nodes-used": len({one.node for one in allocated}),
        "certified": document.certified,
        "steps": document.statistics.get("steps", 0),
    }


def _capacity_figures(document: Any) -> Figures:
    total = document.total
    return {
        "fits": total.fits,
        "bound": total.bound,
        "proven": total.proven,
        "unbounded": total.unbounded,
        "first-fit": total.first_fit,
    }


def _comparison_figures(document: Any) -> Figures:
    found: Figures = {"same-verdict": document.same_verdict, "identical": document.identical, "asked": document.asked}
    for one in document.engines:
        found |= {f"{one.engine}.placed": one.admitted, f"{one.engine}.steps": one.steps}
    return found


def _planner_figures(document: Any) -> Figures:
    """Figures of each planner and order; of a single one without its name."""
    found: Figures = {"asked": document.asked, "decided": document.decided}
    for one in document.planners:
        left = one.fragmentation
        own: Figures = {
            "placed": one.admitted,
            "gangs": one.gangs,
            "devices-used": one.used,
            "fragmentation": None if left is None else left.of_free,
            "wasted": None if left is None else left.wasted,
        }
        label = f"{one.label}." if len(document.planners) > 1 else ""
        found |= {f"{label}{name}": figure for name, figure in own.items()}
    return found


def _quota_figures(document: Any) -> Figures:
    states = [one.state for one in document.workloads]
    found: Figures = {
        "workloads": len(states),
        "admitted": sum(one in ("quotaReserved", "admitted") for one in states),
        "pending": states.count("pending"),
        "evictions": sum(len(one.evictions) for one in document.workloads),
        "cycles": document.cycles_run,
        "settled": document.settled,
    }
    if document.placement is not msgspec.UNSET:
        found["pods-placed"] = sum(one.placed for one in document.placement.workloads)
        found["pods-asked"] = sum(one.asked for one in document.placement.workloads)
    return found


FIGURES: Mapping[str, Callable[[Any], Figures]] = {
    "plan": _plan_figures,
    "allocate": _allocation_figures,
    "capacity": _capacity_figures,
    "compare": _comparison_figures,
    "compare-plans": _planner_figures,
    "quota": _quota_figures,
}
"""By verb, the named figures of its document."""


class SharedCluster:
    """A cluster that is sent to workers: each process unpacks it once, however many variants it computes."""

    # The latest of this process, by hash.
    known: ClassVar[OrderedDict[str, SharedCluster]] = OrderedDict()
    _MOST_KNOWN = 2

    def __init__(self, digest: str, cluster: Cluster) -> None:
        self.digest = digest
        self.cluster = cluster
        self._packed = b""
        # Variants that differ in a seed are about the same changed cluster.
        self._changed: tuple[object, Cluster] | None = None

    def changed(self, variant: Variant) -> Cluster:
        """The cluster that a variant is about."""
        known = self._changed
        if known is None or known[0] != variant.change:
            known = self._changed = variant.change, variant.change.apply(self.cluster)
        return known[1]

    def known_here(self) -> None:
        """Let this process take its own copy for whatever is sent with this hash."""
        self.known[self.digest] = self
        while len(self.known) > self._MOST_KNOWN:
            self.known.popitem(last=False)

    def __reduce__(self) -> tuple[Callable[..., SharedCluster], tuple[str, bytes]]:
        self._packed = self._packed or pickle.dumps(self.cluster, pickle.HIGHEST_PROTOCOL)
        return unpack_cluster, (self.digest, self._packed)


def unpack_cluster(digest: str, packed: bytes) -> SharedCluster:
    """The cluster of a hash, unpacked unless this process has it."""
    known = SharedCluster.known.get(digest)
    if known is None:
        known = SharedCluster(digest, pickle.loads(packed))
        known.known_here()
    return known


@dataclass(frozen=True, slots=True)
class _ClusterOfWorker:
    """Stands for a cluster that each worker has had from the beginning."""

    digest: str

    def changed(self, variant: Variant) -> Cluster:
        return SharedCluster.known[self.digest].changed(variant)


def compute_variant(shared: SharedCluster | _ClusterOfWorker, variant: Variant) -> FinishedVariant:
    """Ask the verb. What goes wrong is a failure of this variant, one line, and none of the study."""
    began = time.monotonic()
    try:
        result = verb_function(variant.verb)(shared.changed(variant), **variant.options)
        document = result.written
        figures = FIGURES[variant.verb](document)
        outcome = str(getattr(document, "outcome", "Done"))
        return FinishedVariant(outcome=outcome, figures=figures, seconds=time.monotonic() - began)
    except (ValueError, InputError, PeerError) as error:
        said = str(error)
    except Exception as error:
        said = f"this is a defect of drasat, please report it: {type(error).__name__}: {error}"
    return failed_variant(said, time.monotonic() - began)


def failed_variant(said: str, seconds: float = 0.0) -> FinishedVariant:
    """A variant that has no figures."""
    return FinishedVariant(outcome=FAILED, figures={}, seconds=seconds, error=one_line(said)[:_LONGEST_ERROR])


@dataclass(frozen=True, slots=True)
class VariantStore:
    """A folder with a file for each finished variant; None keeps nothing. Failures are not kept, but tried again."""

    folder: Path | None
    cluster: str

    def read(self, variant: Variant) -> FinishedVariant | None:
        """What was kept of a variant; a file that is none is as good as no file."""
        if self.folder is None:
            return None
        try:
            return msgspec.json.decode(self._path(variant).read_bytes(), type=FinishedVariant)
        except (OSError, msgspec.MsgspecError):
            return None

    def keep(self, variant: Variant, found: FinishedVariant) -> None:
        """Write a finished variant. Raises ``OSError``."""
        if self.folder is not None and not found.error:
            self.folder.mkdir(parents=True, exist_ok=True)
            content = msgspec.json.encode(found)
            write_whole(self._path(variant), lambda part: part.write(content), shared=True)

    def _path(self, variant: Variant) -> Path:
        try:
            version = metadata.version("drasat")
        except metadata.PackageNotFoundError:
            version = ""
        said = f"{_FORMAT} {version} {self.cluster} {variant.text}"
        return (self.folder or Path()) / f"{sha256(said.encode()).hexdigest()[:32]}.json"


Finish: TypeAlias = Callable[[int, FinishedVariant], None]
Question: TypeAlias = tuple[int, Variant]


def compute_here(shared: SharedCluster, asked: Iterable[Question], finish: Finish) -> None:
    """Compute variants one after the other in this process."""
    for number, variant in asked:
        finish(number, compute_variant(shared, variant))


def compute_on(executor: Executor, shared: Any, asked: Sequence[Question], finish: Finish) -> list[Question]:
    """Compute variants on an executor; return those that a worker which ended took along.

    What has not begun is dropped if this ends early.
    """
    futures: dict[Future[FinishedVariant], Question] = {}
    lost: list[Question] = []
    try:
        for one in asked:
            try:
                futures[executor.submit(compute_variant, shared, one[1])] = one
            except BrokenExecutor:
                lost.append(one)
        for future in as_completed(futures):
            one = futures[future]
            try:
                found = future.result()
            except BrokenExecutor:
                lost.append(one)
            except Exception as error:
                finish(one[0], failed_variant(f"the executor failed: {type(error).__name__}: {error}"))
            else:
                finish(one[0], found)
    finally:
        for future in futures:
            future.cancel()
    return lost


def compute_in_processes(workers: int, shared: SharedCluster, asked: Sequence[Question], finish: Finish) -> None:
    """Compute variants in so many processes of this machine.

    A process that ends, as for want of memory, takes all others of its pool along. What it left is then computed one
    by one, so that the variant that ends its process is known, and is the only one that fails.
    """
    with _process_pool(workers, shared) as pool:
        lost = compute_on(pool, _ClusterOfWorker(shared.digest), asked, finish)
    for one in sorted(lost, key=lambda question: question[0]):
        with _process_pool(1, shared) as pool:
            if compute_on(pool, _ClusterOfWorker(shared.digest), [one], finish):
                finish(one[0], failed_variant("the process that computed it ended, as for want of memory"))


@contextmanager
def _process_pool(workers: int, shared: SharedCluster) -> Iterator[Executor]:
    context = get_context()
    stop = context.Event()
    pool = ProcessPoolExecutor(workers, context, _begin_worker, (os.getpid(), stop, shared))
    try:
        yield pool
    except BaseException:
        # Who presses Ctrl-C does not want to wait for the variants that are being computed.
        stop.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin_worker(parent: int, stop: Any, shared: SharedCluster) -> None:
    # Ctrl-C on a terminal reaches every process; the parent ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    shared.known_here()
    threading.Thread(target=_end_with, args=(parent, stop), daemon=True).start()


def _end_with(parent: int, stop: Any) -> None:
    """End this process when it is told to, and once its parent has ended, even by kill -9."""
    while os.getppid() == parent and not stop.wait(1):
        pass
    os._exit(1)


@contextmanager
def dask_executor(address: str, shared: SharedCluster) -> Iterator[tuple[Executor, Any]]:
    """The executor of a Dask cluster, and what stands for the cluster there: a worker that lost it unpacks it again.

    Raises ``ValueError``, one line, without the extra ``dask``, or if there is no scheduler at the address.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("Dask is not installed: pip install 'drasat[dask]'") from None
    # The library has no types.
    make: Any = Client
    try:
        client = make(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"there is no Dask scheduler at {address!r}: {one_line(str(error))}") from None
    try:
        unpack = partial(unpack_cluster, *shared.__reduce__()[1])
        yield client.get_executor(pure=False), client.submit(unpack, key=f"cluster-{shared.digest}", pure=True)
    finally:
        client.close()
