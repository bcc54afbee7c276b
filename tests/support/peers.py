"""Peers that answer what a test wants, and one that answers with our own search; no Go is needed."""

from types import SimpleNamespace

from msgspec.structs import replace

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaimStatus,
)
from drasat.peers.answers import AllocateAnswer, PodVerdict, ScheduleAnswer
from drasat.solver.allocate.allocate import allocate


def result(device, *, pool="p", driver="d.x", **fields):
    return DeviceRequestAllocationResult(request="r", driver=driver, pool=pool, device=device, **fields)


def allocation(*results):
    return AllocationResult(devices=DeviceAllocationResult(results=results or None))


def answer(outcome="allocated", *, steps=3, **fields):
    return AllocateAnswer(id=1, outcome=outcome, fatal=outcome == "error", seconds=0.0, steps=steps, **fields)


class FakePeer:
    """Gives the answers in turn and remembers the requests."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []

    def allocate(self, request):
        self.requests.append(request)
        return self.answers.pop(0)


class SchedulingPeer:
    """Schedules with our own search, changed by ``change``; a context manager like the real one."""

    handshake = SimpleNamespace(version="v0.0.0-fake")

    def __init__(self, change=lambda verdict: verdict, seconds=(0.5, 0.25, 4.0)):
        self.requests = []
        self.closed = False
        self._change = change
        self._seconds = list(seconds)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closed = True

    def schedule(self, request):
        self.requests.append(request)
        cluster = Cluster.of([*request.classes, *request.slices, *request.claims, *request.allocated, *request.nodes])
        verdicts, cluster_now = [], cluster
        for pod in request.pods:
            found = allocate(cluster_now, claims=[f"{pod.namespace}/{name}" for name in pod.claims], cel_errors="kube")
            (unit,) = found.units
            verdict = PodVerdict(
                namespace=pod.namespace,
                name=pod.name,
                claims=tuple(ref.name for ref, _ in unit.allocations),
                nodes_tried=len(request.nodes),
                node=unit.node or "",
                outcome={"Allocated": "allocated", "Unallocatable": "unallocatable"}[unit.outcome],
                fatal=False,
                seconds=0.0,
                steps=found.statistics.steps,
                allocations=tuple(made for _, made in unit.allocations),
            )
            verdicts.append(self._change(verdict))
            cluster_now = cluster_now.with_claims(_with_status(unit))
        return ScheduleAnswer(id=1, pods=tuple(verdicts), seconds=self._seconds[len(self.requests) - 1])


def _with_status(unit):
    return [replace(ref.claim, status=ResourceClaimStatus(allocation=made)) for ref, made in unit.allocations]
