"""AdmissionChecks: whether one is active, which ones a workload has, and whether its queue takes part in scheduling.

Sections 1.1 and 6 of provisioning-request.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...models.kubernetes.kueue import KUEUE_GROUP, AdmissionCheck, ClusterQueue
from ...models.kubernetes.meta import Condition
from ...models.kubernetes.provisioning import ProvisioningRequestConfig
from .state import ProvisioningState, SimulatedWorkload

_CONFIG_KIND = "ProvisioningRequestConfig"


def check_status(check: AdmissionCheck, configs: Mapping[str, ProvisioningRequestConfig]) -> Condition:
    """Give the condition Active of a check (1.1)."""
    reference = check.spec.parameters
    bad = "bad parameters reference"
    if reference is None:
        problem = "missing parameters reference"
    elif reference.api_group != KUEUE_GROUP:
        problem = f'wrong group "{reference.api_group}", expecting "{KUEUE_GROUP}": {bad}'
    elif reference.kind != _CONFIG_KIND:
        problem = f'wrong kind "{reference.kind}", expecting "{_CONFIG_KIND}": {bad}'
    elif not reference.name:
        problem = f"empty name: {bad}"
    elif reference.name not in configs:
        problem = f'provisioningrequestconfigs.{KUEUE_GROUP} "{reference.name}" not found'
    else:
        return Condition(type="Active", status="True", reason="Active", message="The admission check is active")
    return Condition(type="Active", status="False", reason="BadParametersRef", message=problem)


def config_of(
    check: AdmissionCheck, configs: Mapping[str, ProvisioningRequestConfig]
) -> ProvisioningRequestConfig | None:
    """Find the configuration of a check; None if its reference is bad."""
    active = check_status(check, configs).status == "True"
    return configs[check.spec.parameters.name] if active and check.spec.parameters else None


def queue_of(state: ProvisioningState, workload: SimulatedWorkload) -> ClusterQueue | None:
    """The ClusterQueue of a workload: that of its LocalQueue."""
    local = state.local_queues.get((workload.key[0], workload.spec.spec.queue_name))
    return None if local is None else state.cluster_queues.get(local.spec.cluster_queue)


def checks_of_workload(state: ProvisioningState, workload: SimulatedWorkload) -> list[str] | None:
    """Names of the checks that a workload has now, in the queue's order; None without a queue.

    Without quota these are the checks for all flavors, with quota those for a flavor that it got.
    """
    queue = queue_of(state, workload)
    if queue is None:
        return None
    strategy = queue.spec.admission_checks_strategy
    groups = queue.spec.resource_groups or ()
    every = {flavor.name for group in groups for flavor in group.flavors or ()}
    reservation = workload.reservation
    got = (
        None
        if reservation is None
        else {flavor for one in reservation.assignments for flavor in (one.flavors or {}).values()}
    )
    names = []
    for rule in (strategy.admission_checks or ()) if strategy else ():
        flavors = set(rule.on_flavors or every)
        if not rule.on_flavors or (flavors >= every if got is None else flavors & got):
            names.append(rule.name)
    return names


def why_out_of_queue(state: ProvisioningState, workload: SimulatedWorkload) -> tuple[str, str] | None:
    """Say why a workload cannot wait in a queue, as QuotaReserved=False does: reason and message; None if it can."""
    namespace, name = workload.key[0], workload.spec.spec.queue_name
    local = state.local_queues.get((namespace, name))
    if local is None:
        return "Misconfigured", f"LocalQueue {name} doesn't exist"
    if local.spec.stop_policy != "None":
        return "Suspended", f"LocalQueue {name} is inactive"
    queue = state.cluster_queues.get(local.spec.cluster_queue)
    if queue is None:
        return "Misconfigured", f"ClusterQueue {local.spec.cluster_queue} doesn't exist"
    return None if _is_active(state, queue) else ("Suspended", f"ClusterQueue {queue.metadata.name} is inactive")


def _is_active(state: ProvisioningState, queue: ClusterQueue) -> bool:
    """Whether a queue takes part in scheduling: it is not stopped, and its flavors and checks are there and active."""
    strategy = queue.spec.admission_checks_strategy
    flavors = {flavor.name for group in queue.spec.resource_groups or () for flavor in group.flavors or ()}
    checks = [rule.name for rule in (strategy.admission_checks or ())] if strategy else []
    return (
        queue.spec.stop_policy == "None"
        and flavors <= state.flavors.keys()
        and all(name in state.check_status and state.check_status[name].status == "True" for name in checks)
    )


DRAIN = "HoldAndDrain"
STOPPED_QUEUES = ("LocalQueue", "ClusterQueue")
"""The kinds of queues that may be stopped; reasons of conditions begin with them."""


def draining_queue(state: ProvisioningState, workload: SimulatedWorkload) -> str:
    """The kind of the queue that takes the quota of its workloads back; empty if none does."""
    local = state.local_queues.get((workload.key[0], workload.spec.spec.queue_name))
    queue = queue_of(state, workload)
    stopped = (local and local.spec.stop_policy, queue and queue.spec.stop_policy)
    return next((kind for kind, policy in zip(STOPPED_QUEUES, stopped, strict=True) if policy == DRAIN), "")
