"""A workload with provisioning checks, and what happens to it, in a few words."""

from msgspec.structs import replace
from support.kueue_cases import read_objects

from drasat.integrations.provisioning import machine
from drasat.integrations.provisioning.reservation import default_reservation, give_free_quota
from drasat.integrations.provisioning.state import ProvisioningState
from drasat.integrations.provisioning.timeline import ProvisioningSimulation, no_scheduler
from drasat.models.kubernetes.meta import Condition

KUEUE = "kueue.x-k8s.io/v1beta2"
WORKLOAD = ("team", "wl")


def kueue(kind, name, spec, **metadata):
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def config(name="config1", **fields):
    parameters = {"provisioningClassName": "class1", "parameters": {"p1": "v1"}}
    return kueue("ProvisioningRequestConfig", name, parameters | fields)


def check(name="check1", target="config1", **fields):
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": target}
    spec = {"controllerName": "kueue.x-k8s.io/provisioning-request", "parameters": parameters}
    return kueue("AdmissionCheck", name, spec | fields)


def queue(*rules, **fields):
    quotas = [{"name": one, "nominalQuota": "1000"} for one in ("cpu", "memory", "example.com/gpu")]
    group = {
        "coveredResources": [one["name"] for one in quotas],
        "flavors": [{"name": name, "resources": quotas} for name in ("f1", "f2")],
    }
    listed = [rule if isinstance(rule, dict) else {"name": rule} for rule in rules or ("check1",)]
    strategy = {"admissionChecksStrategy": {"admissionChecks": listed}}
    return kueue("ClusterQueue", "cq", {"namespaceSelector": {}, "resourceGroups": [group], **strategy} | fields)


def flavor(name, zone):
    tolerations = [{"key": "spot", "operator": "Exists"}]
    return kueue("ResourceFlavor", name, {"nodeLabels": {"zone": zone}, "tolerations": tolerations})


def pods(name, count=1, requests=None, *, limits=None, labels=None, **spec):
    resources = {"requests": requests or ({} if limits else {"cpu": "1"})} | ({"limits": limits} if limits else {})
    containers = spec.pop("containers", [{"name": "c", "resources": resources}])
    template = {"metadata": {"labels": labels} if labels else {}, "spec": {"containers": containers, **spec}}
    return {"name": name, "count": count, "template": template}


STANDARD = (pods("ps1", 4), pods("ps2", 3, {"cpu": "500m", "example.com/gpu": "1"}))


def workload(*pod_sets, name="wl", **metadata):
    spec = {"queueName": "lq", "podSets": list(pod_sets or STANDARD)}
    return kueue("Workload", name, spec, namespace="team", uid=f"uid-{name}", **metadata)


class Play:
    """A simulation of one workload; it gets quota whenever it waits for it, unless ``free`` is off."""

    def __init__(self, *objects, pod_sets=(), free=True, cleanup=True, backoff="as-coded", **metadata):
        kinds = {one["kind"] for one in objects}
        given = [config(), check(), queue(), flavor("f1", "z1"), flavor("f2", "z2")]
        local = kueue("LocalQueue", "lq", {"clusterQueue": "cq"}, namespace="team")
        own = [] if "Workload" in kinds else [workload(*pod_sets, **metadata)]
        everything = [*(one for one in given if one["kind"] not in kinds), *objects, local, *own]
        state = ProvisioningState(cleanup=cleanup)
        self.simulation = ProvisioningSimulation(state, give_free_quota if free else no_scheduler, backoff)
        self.simulation.run(*map(self.applied, everything))

    @staticmethod
    def applied(mapping):
        [manifest] = read_objects([mapping])
        templates = ()
        if mapping["kind"] == "Workload":
            templates = tuple(one["template"] for one in mapping["spec"]["podSets"])
        return machine.ApplyObject(manifest.object, templates)

    def run(self, *events):
        """Let events happen; the reasons of what was noted."""
        return [one.reason for one in self.simulation.run(*events)]

    def apply(self, *objects):
        return self.run(*map(self.applied, objects))

    def delete(self, kind, name, namespace=""):
        return self.run(machine.DeleteObject(kind, (namespace, name)))

    def advance(self, seconds):
        return self.run(machine.AdvanceClock(seconds))

    def answer(self, *types, request=None, message="text", status="True", **details):
        """The autoscaler sets conditions of a request, by default of the only one."""
        names = [request] if request else list(self.requests)
        conditions = tuple(Condition(type=one, status=status, message=message) for one in types)
        return self.run(*(machine.AnswerRequest(("team", name), conditions, details) for name in names))

    def fail_after(self, seconds):
        self.advance(seconds)
        return self.answer("Failed")

    def evict(self, reason="Preempted", preempted="InClusterQueue"):
        return self.run(machine.EvictWorkload(WORKLOAD, reason, "Preempted by another", preempted))

    def finish(self):
        return self.run(machine.FinishWorkload(WORKLOAD))

    def activate(self, active=True):
        return self.run(machine.SetActive(WORKLOAD, active))

    def reserve(self, **counts):
        assigned = default_reservation(self.state, self.one, counts=counts)
        return self.run(machine.ReserveQuota(WORKLOAD, assigned))

    def reserve_flavor(self, name):
        assigned = default_reservation(self.state, self.one)
        sets = tuple(replace(one, flavors=dict.fromkeys(one.flavors, name)) for one in assigned.assignments)
        return self.run(machine.ReserveQuota(WORKLOAD, type(assigned)(assigned.cluster_queue, sets)))

    @property
    def state(self):
        return self.simulation.state

    @property
    def one(self):
        return self.state.workloads[WORKLOAD]

    @property
    def requests(self):
        """The requests by name."""
        return {one.name: one for one in self.state.requests.values()}

    @property
    def templates(self):
        return {one.name: one for one in self.state.templates.values()}

    def check(self, name="check1"):
        return next(one for one in self.one.checks if one.name == name)

    def counts(self):
        """The entries of the only request: pod sets and pods."""
        [request] = self.requests.values()
        return {entry.pod_set: entry.count for entry in request.pod_sets}

    @property
    def messages(self):
        return [one.message for one in self.simulation.log]
