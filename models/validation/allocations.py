"""``status`` of a claim: what the scheduler wrote, looked at lightly."""

from ..claims import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceRequestAllocationResult,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
)
from . import names
from .amounts import check_quantity
from .checked_names import check_driver, check_label, check_pool
from .configs import check_configs
from .findings import STRUCTURE, Findings, Key, Path
from .node_operations import check_node_operations
from .node_selectors import check_node_selector
from .taints import check_time, check_tolerations

RESULTS_MAX = 32
RESULT_CONFIG_MAX = 64
CONSUMERS_MAX = 256
_SOURCES = ("FromClaim", "FromClass")


def check_status(found: Findings, path: Path, status: ResourceClaimStatus) -> None:
    """Check the allocation and the consumers of a claim."""
    if status.allocation is not None:
        _check_allocation(found, (*path, "allocation"), status.allocation)
    consumers = status.reserved_for or ()
    found.at_most((*path, "reservedFor"), consumers, CONSUMERS_MAX)
    found.unique((*path, "reservedFor"), (consumer.uid for consumer in consumers if consumer.uid), ("uid",))
    for index, consumer in enumerate(consumers):
        _check_consumer(found, (*path, "reservedFor", index), consumer)


def _check_consumer(found: Findings, path: Path, consumer: ResourceClaimConsumerReference) -> None:
    for field, text in (("resource", consumer.resource), ("name", consumer.name), ("uid", consumer.uid)):
        if not text:
            found.required((*path, field))


def _check_allocation(found: Findings, path: Path, allocation: AllocationResult) -> None:
    results, config = allocation.devices.results, allocation.devices.config
    found.at_most((*path, "devices", "results"), results, RESULTS_MAX)
    for index, result in enumerate(results or ()):
        _check_result(found, (*path, "devices", "results", index), result)
    check_configs(found, (*path, "devices", "config"), config, RESULT_CONFIG_MAX)
    for index, entry in enumerate(config or ()):
        _check_source(found, (*path, "devices", "config", index, "source"), entry)
    if allocation.node_selector is not None:
        check_node_selector(found, (*path, "nodeSelector"), allocation.node_selector, one_term=True)
    check_time(found, (*path, "allocationTimestamp"), allocation.allocation_timestamp)


def _check_source(found: Findings, path: Path, entry: DeviceAllocationConfiguration) -> None:
    if not entry.source:
        found.required(path)
    elif entry.source not in _SOURCES:
        found.unsupported(path, entry.source, _SOURCES)


def _check_device_id(found: Findings, path: Path, result: DeviceRequestAllocationResult) -> None:
    """Insist on the full id of what is in use; a badly spelt name is only a name."""
    rules = (
        ("driver", result.driver, check_driver),
        ("pool", result.pool, check_pool),
        ("device", result.device, check_label),
    )
    for field, text, rule in rules:
        if text:
            rule(found, (*path, field), text)
        else:
            found.required((*path, field), category=STRUCTURE)


def _check_result(found: Findings, path: Path, result: DeviceRequestAllocationResult) -> None:
    if not result.request:
        found.required((*path, "request"))
    _check_device_id(found, path, result)
    check_tolerations(found, (*path, "tolerations"), result.tolerations)
    if result.share_id is not None:
        found.each_invalid((*path, "shareID"), result.share_id, names.share_id(result.share_id))
    for name, text in (result.consumed_capacity or {}).items():
        check_quantity(found, (*path, "consumedCapacity", Key(name)), text)
    check_node_operations(found, (*path, "skipNodeOperations"), result.skip_node_operations)
