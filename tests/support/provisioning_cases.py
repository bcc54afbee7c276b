"""Recorded cases of ProvisioningRequests: the machine runs through their steps, and says in their form what it did."""

from support.kueue_cases import kueue_cases, read_objects

from drasat.integrations.provisioning import machine
from drasat.integrations.provisioning.scheduler import KueueScheduler
from drasat.integrations.provisioning.state import ProvisioningState
from drasat.integrations.provisioning.timeline import ProvisioningSimulation
from drasat.models.kubernetes.meta import Condition


def provisioning_cases():
    return kueue_cases("provisioning-cases")


def applied(mapping):
    """The event of applying an object; None for kinds that the machine does not need."""
    if mapping["kind"] == "Namespace":
        return None
    [manifest] = read_objects([mapping])
    templates = ()
    if mapping["kind"] == "Workload":
        templates = tuple(one["template"] for one in mapping["spec"]["podSets"])
    return machine.ApplyObject(manifest.object, templates)


def key(text):
    return tuple(text.split("/"))


def events_of(step):
    """The events of a step; the clock moves last."""
    for mapping in step.get("apply", ()):
        if event := applied(mapping):
            yield event
    for one in step.get("delete", ()):
        yield machine.DeleteObject(one["kind"], (one.get("namespace", ""), one["name"]))
    for name in step.get("finish", ()):
        yield machine.FinishWorkload(key(name))
    for name in step.get("activate", ()):
        yield machine.SetActive(key(name), True)
    for kind in step.get("refuse", ()):
        yield machine.RefuseKind(kind, "refused by the test")
    for kind in step.get("accept", ()):
        yield machine.RefuseKind(kind, "")
    for one in step.get("requests", ()):
        conditions = tuple(Condition(**condition) for condition in one.get("conditions", ()))
        yield machine.AnswerRequest(key(one["name"]), conditions, one.get("details", {}))
    if "advance" in step:
        yield machine.AdvanceClock(step["advance"])


def simulated(case):
    """The phases of a case as the machine and Kueue's scheduler make them."""
    gates = case.configuration.get("featureGates", {})
    state = ProvisioningState(cleanup=gates.get("CleanupProvisioningRequestsOnEviction", True))
    simulation = ProvisioningSimulation(state, KueueScheduler(case.cluster))
    first = [event for event in map(applied, case.objects) if event is not None]
    for events in (first, *(list(events_of(step)) for step in case.steps)):
        log = simulation.run(*events)
        yield phase(simulation.state, log)


def dropped(**fields):
    return {name: value for name, value in fields.items() if value not in (None, (), [], {}, "")}


def phase(state, log):
    return {
        "looping": state.looping or None,
        "at": state.now,
        "workloads": [workload(one) for one in state.workloads.values()],
        "requests": [request(one) for one in state.requests.values()],
        "templates": [template(one) for one in state.templates.values()],
        "admissionChecks": {
            name: {"status": one.status, "reason": one.reason, "message": one.message}
            for name, one in state.check_status.items()
        },
        "events": [
            {"object": one.workload, "type": one.type, "reason": one.reason, "message": one.message}
            for one in log
            if one.reason
        ],
        "errors": [f"{one.workload}: {one.message}" for one in log if not one.reason],
    }


def workload(one):
    name = "/".join(one.key)
    return {
        "workload": name,
        "state": one.state,
        "active": one.active,
        "conditions": {
            type_: {"status": found.status, "reason": found.reason, "message": found.message}
            for type_, found in sorted(one.conditions.items())
        },
        "checks": [check(progress) for progress in sorted(one.checks, key=lambda progress: progress.name)],
        "requeueAt": one.requeue_at,
        "admission": None if one.reservation is None else admission(name, one.reservation),
    }


def check(one):
    updates = [
        {"name": update.name} | dropped(annotations=update.annotations, nodeSelector=update.node_selector)
        for update in one.updates
    ]
    return {
        "name": one.name,
        "state": one.state,
        "message": one.message,
        "since": one.since,
        "retryCount": one.retry_count,
        "requeueAfterSeconds": one.requeue_after,
        "podSetUpdates": updates,
    }


def admission(name, reservation):
    return {
        "workload": name,
        "clusterQueue": reservation.cluster_queue,
        "podSets": [
            {"podSet": one.name, "count": one.count, "flavors": one.flavors, "resourceUsage": one.resource_usage}
            for one in reservation.assignments
        ],
    }


LABELS = {"kueue.x-k8s.io/managed": "true"}


def request(one):
    return {
        "name": one.name,
        "owner": f"Workload/{one.owner}",
        "class": one.class_name,
        "parameters": dict(one.parameters),
        "podSets": [{"template": entry.template, "count": entry.count} for entry in one.pod_sets],
        "true": [condition.type for condition in one.conditions if condition.status == "True"],
        "labels": LABELS,
    }


def template(one):
    spec = one.template["spec"]
    return {
        "name": one.name,
        "owner": "/".join(one.owner),
        "nodeSelector": spec.get("nodeSelector"),
        "tolerations": spec.get("tolerations"),
        "requests": [container.get("resources", {}).get("requests", {}) for container in spec["containers"]],
        "labels": LABELS,
    }


def comparable(phase):
    """What of a phase must be equal: all that is not empty.

    Kueue makes the requests of several checks in one pass in an order left to chance (of a Go map), so events of
    creations that follow each other are sorted. Of a phase that never comes to rest only that is recorded.
    """
    if phase.get("looping"):
        return {"looping": True}
    compared = plain(phase)
    events = compared.get("events", [])
    for at in range(1, len(events)):
        if events[at]["reason"] == events[at - 1]["reason"] == "ProvisioningRequestCreated":
            events[at - 1 : at + 1] = sorted(events[at - 1 : at + 1], key=lambda one: (one["object"], one["message"]))
    return compared


def plain(value):
    """Without what is empty, so that records that leave it out are equal to those that have it."""
    if isinstance(value, dict):
        parts = ((name, plain(inner)) for name, inner in value.items())
        return {name: inner for name, inner in parts if inner not in (None, "", {}, [])}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value
