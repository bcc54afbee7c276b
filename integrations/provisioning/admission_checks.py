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


def why_queue_is_inactive(state: ProvisioningState, workload: SimulatedWorkload) -> str | None:
    """Say that the queue of a workload takes no part in scheduling; None if it does, or if there is none."""
    queue = queue_of(state, workload)
    if queue is None:
        return None
    strategy = queue.spec.admission_checks_strategy
    flavors = {flavor.name for group in queue.spec.resource_groups or () for flavor in group.flavors or ()}
    checks = [rule.name for rule in (strategy.admission_checks or ()) if strategy] if strategy else []
    active = (
        queue.spec.stop_policy == "None"
        and flavors <= state.flavors.keys()
        and all(name in state.check_status and state.check_status[name].status == "True" for name in checks)
    )
    return None if active else f"ClusterQueue {queue.metadata.name} is inactive"
