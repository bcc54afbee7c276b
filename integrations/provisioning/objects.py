"""From the objects of a cluster to the state of the simulation, and from the state to manifests for kubectl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.kueue import AdmissionCheckState, KueueWorkload, PodSetUpdate
from ...models.kubernetes.meta import ObjectMeta, key_of
from ...models.kubernetes.provisioning import AUTOSCALING_GROUP, PodTemplate, ProvisioningRequest
from ...models.kubernetes.workloads import PodTemplateSpec, parts_of, raw_part
from ...models.manifests.reader import Manifest
from ...models.manifests.writer import model_mapping
from ..kueue.configuration import kueue_configuration
from ..kueue.workloads import kueue_workloads
from .machine import PROVISIONING_MODELS, ApplyObject, with_objects
from .requests import MANAGED_LABEL, PodSetEntry
from .state import AutoscalerRequest, CheckProgress, PodSetChange, ProvisioningState, RequestTemplate, SimulatedWorkload

_CLEANUP_GATE = "CleanupProvisioningRequestsOnEviction"


def initial_state(cluster: Cluster) -> ProvisioningState:
    """Give the state of a cluster, with checks and requests as they stand; the controllers have not run yet.

    Time 0 is that of the last transition of a check in the input.
    """
    read = [one for one in cluster.read if one.object is not None]
    cleanup = kueue_configuration(cluster).gates.get(_CLEANUP_GATE, True)
    events = [apply_event(one) for one in read if isinstance(one.object, PROVISIONING_MODELS)]
    known = cluster.objects(KueueWorkload)
    made = (one for one in kueue_workloads(cluster) if key_of(one.metadata) not in known)
    events += (ApplyObject(one, _templates_of_job(one, read)) for one in made)
    state = with_objects(ProvisioningState(cleanup=cleanup), events)
    stamps = [
        seconds
        for workload in state.workloads.values()
        for check in workload.spec.status.admission_checks or ()
        for seconds in [_seconds(check.last_transition_time)]
        if seconds is not None
    ]
    zero = max(stamps, default=0)
    requests = [_request_of(one.object) for one in read if isinstance(one.object, ProvisioningRequest)]
    templates = [_template_of(one.object, one.raw) for one in read if isinstance(one.object, PodTemplate)]
    return replace(
        state,
        workloads={key: _with_progress(one, zero) for key, one in state.workloads.items()},
        requests={one.key: one for one in requests},
        templates={(one.namespace, one.name): one for one in templates},
        epoch=zero,
    )


def apply_event(manifest: Manifest) -> ApplyObject:
    """Give the event of applying an object as it was read; pod templates keep what drasat does not read."""
    made = manifest.object
    assert isinstance(made, PROVISIONING_MODELS)
    if not isinstance(made, KueueWorkload):
        return ApplyObject(made)
    spec = (manifest.raw or {}).get("spec") or {}
    templates = tuple(one.get("template") or {} for one in spec.get("podSets") or ())
    return ApplyObject(made, templates if len(templates) == len(made.spec.pod_sets or ()) else ())


def _templates_of_job(workload: KueueWorkload, read: Sequence[Manifest]) -> tuple[Mapping[str, Any], ...]:
    """Give the pod templates of a workload that Kueue makes of a job, as read; nothing if one is not found."""
    namespace = key_of(workload.metadata)[0]
    owners = {(one.kind, one.name) for one in workload.metadata.owner_references or ()}
    templates: list[tuple[PodTemplateSpec, Mapping[str, Any]]] = []
    for manifest in read:
        owner = manifest.object
        if owner is not None and (manifest.kind, owner.metadata.name) in owners:
            same = key_of(owner.metadata)[0] == namespace
            parts = parts_of(owner) if same else ()
            templates += (
                (part, raw_part(manifest.raw, path)) for path, part in parts if isinstance(part, PodTemplateSpec)
            )
    found = [
        next((raw for part, raw in templates if part.spec == one.template.spec), None)
        for one in workload.spec.pod_sets or ()
    ]
    return tuple(one for one in found if one) if all(found) else ()


def _with_progress(workload: SimulatedWorkload, zero: int) -> SimulatedWorkload:
    """Give a workload the checks and the back-off of its status."""
    status = workload.spec.status
    requeue_at = _seconds(status.requeue_state.requeue_at) if status.requeue_state else None
    return replace(
        workload,
        checks=tuple(_progress(one, zero) for one in status.admission_checks or ()),
        requeue_at=None if requeue_at is None else requeue_at - zero,
    )


def _progress(check: AdmissionCheckState, zero: int) -> CheckProgress:
    since = _seconds(check.last_transition_time)
    return CheckProgress(
        name=check.name,
        since=0 if since is None else since - zero,
        state=check.state or "Pending",
        message=check.message,
        retry_count=check.retry_count,
        requeue_after=check.requeue_after_seconds,
        updates=tuple(map(_change_of, check.pod_set_updates or ())),
    )


def _change_of(update: PodSetUpdate) -> PodSetChange:
    return PodSetChange(update.name, update.annotations or {}, update.node_selector or {})


def _seconds(stamp: str | None) -> int | None:
    """Whole seconds since 1970 of a time stamp; None if there is none that can be read."""
    try:
        return None if not stamp else int(datetime.fromisoformat(stamp).timestamp())
    except (ValueError, OverflowError):
        return None


def _owner(metadata: ObjectMeta, kind: str) -> str:
    return next((one.name for one in metadata.owner_references or () if one.kind == kind), "")


def _request_of(read: ProvisioningRequest) -> AutoscalerRequest:
    namespace, name = key_of(read.metadata)
    prefix = f"ppt-{name}-"
    entries = tuple(
        PodSetEntry(one.pod_template_ref.name, one.pod_template_ref.name.removeprefix(prefix), one.count)
        for one in read.spec.pod_sets or ()
    )
    return AutoscalerRequest(
        namespace=namespace,
        name=name,
        owner=_owner(read.metadata, "Workload"),
        class_name=read.spec.provisioning_class_name,
        parameters=read.spec.parameters or {},
        pod_sets=entries,
        conditions=read.status.conditions or (),
        details=read.status.provisioning_class_details or {},
    )


def _template_of(read: PodTemplate, raw: Mapping[str, Any] | None) -> RequestTemplate:
    namespace, name = key_of(read.metadata)
    owner = _owner(read.metadata, "ProvisioningRequest")
    return RequestTemplate(
        namespace,
        name,
        ("ProvisioningRequest", owner) if owner else ("Workload", _owner(read.metadata, "Workload")),
        (raw or {}).get("template") or model_mapping(read.template),
    )


def request_manifests(state: ProvisioningState) -> list[dict[str, Any]]:
    """Give the requests of a state as manifests, each after its PodTemplates, as Kueue makes them."""
    manifests = []
    for request in state.requests.values():
        owners = _owner_references(state.workloads.get((request.namespace, request.owner)))
        for entry in request.pod_sets:
            template = state.templates.get((request.namespace, entry.template))
            if template is not None:
                head = {"apiVersion": "v1", "kind": "PodTemplate"}
                metadata = _metadata(request.namespace, entry.template, owners)
                manifests.append({**head, "metadata": metadata, "template": dict(template.template)})
        manifests.append(_request_manifest(request, owners, time_stamp(state)))
    return manifests


def time_stamp(state: ProvisioningState) -> str:
    """Write the time of a state as the API server does."""
    latest = int(datetime.max.replace(tzinfo=UTC).timestamp())
    return datetime.fromtimestamp(min(state.epoch + state.now, latest), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _request_manifest(request: AutoscalerRequest, owners: list[dict[str, Any]], now: str) -> dict[str, Any]:
    spec: dict[str, Any] = {"provisioningClassName": request.class_name}
    if request.parameters:
        spec["parameters"] = dict(sorted(request.parameters.items()))
    spec["podSets"] = [{"podTemplateRef": {"name": one.template}, "count": one.count} for one in request.pod_sets]
    head = {"apiVersion": f"{AUTOSCALING_GROUP}/v1", "kind": "ProvisioningRequest"}
    status: dict[str, Any] = {}
    if request.conditions:
        # The schema wants a reason and a time, which events may leave out.
        status["conditions"] = [
            {"reason": one.type, "message": "", "lastTransitionTime": now, **model_mapping(one)}
            for one in request.conditions
        ]
    if request.details:
        status["provisioningClassDetails"] = dict(sorted(request.details.items()))
    made = {**head, "metadata": _metadata(request.namespace, request.name, owners), "spec": spec}
    return {**made, "status": status} if status else made


def _metadata(namespace: str, name: str, owners: list[dict[str, Any]]) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "labels": dict(MANAGED_LABEL)}
    return metadata | ({"ownerReferences": owners} if owners else {})


def _owner_references(workload: SimulatedWorkload | None) -> list[dict[str, Any]]:
    """Name the workload as the owner; only the API server knows the UID of one that it does not have yet."""
    if workload is None or not workload.spec.metadata.uid:
        return []
    uid, name = workload.spec.metadata.uid, workload.key[1]
    reference = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "name": name, "uid": uid}
    return [{**reference, "controller": True, "blockOwnerDeletion": True}]
