"""Workloads for Kueue's counting in a few lines, and what they are charged as."""

import json

from drasat.integrations.kueue.configuration import kueue_configuration
from drasat.integrations.kueue.counting import WorkloadCharge, count_workload
from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.kueue import KueueWorkload
from drasat.models.kubernetes.quantity import Quantity

from .kueue_cases import CONFIGURATION_API, read_objects

NAMESPACE = "team"
GPU, BIG, NIC = "gpu.example.com", "gpu-big.example.com", "nic.example.com"
MAPPINGS = [{"name": "whole-gpus", "deviceClassNames": [GPU, BIG]}, {"name": "rdma", "deviceClassNames": [NIC]}]


def configuration(mappings=MAPPINGS, gates=None, **resources):
    """A configuration; further keywords are fields of its ``resources``."""
    fields = {"deviceClassMappings": mappings, **resources}
    return {"apiVersion": CONFIGURATION_API, "kind": "Configuration", "resources": fields, "featureGates": gates or {}}


def request(device_class, count=1, *expressions, name="r", **fields):
    """A request for devices; further keywords are fields of ``exactly``."""
    body = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count, **fields}
    if expressions:
        body["selectors"] = [{"cel": {"expression": text}} for text in expressions]
    return {"name": name, "exactly": body}


def claim_template(name, *requests, **devices):
    """A claim template in the workload's namespace."""
    spec = {"spec": {"devices": {"requests": list(requests), **devices}}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


def device_class(name, *expressions, **spec):
    """A device class."""
    selectors = [{"cel": {"expression": text}} for text in expressions]
    body = {**({"selectors": selectors} if selectors else {}), **spec}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": body}


def devices_of(name, *devices, driver=GPU, pool="p", generation=1, slices=1):
    """A slice with these devices."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {
            "driver": driver,
            "nodeName": "n",
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": slices},
            "devices": list(devices),
        },
    }


def pod_set(*claims, count=1, name="main", containers=({"cpu": "500m"},), **spec):
    """Equal pods: ``claims`` are names of templates, ``containers`` requests; further keywords stand in the spec."""
    entries = [
        {"name": f"c{number}", **({"resourceClaimTemplateName": one} if isinstance(one, str) else one)}
        for number, one in enumerate(claims)
    ]
    made = [{"name": f"c{number}", "resources": {"requests": one}} for number, one in enumerate(containers)]
    template = {"spec": {"containers": made, **({"resourceClaims": entries} if entries else {}), **spec}}
    return {"name": name, "count": count, "template": template}


def workload(*pod_sets, status=None):
    """A workload that waits."""
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": NAMESPACE},
        "spec": {"queueName": "q", "podSets": list(pod_sets)},
        **({"status": status} if status else {}),
    }


def count(one, *objects, config=None, deadline=None):
    """What a workload is charged as among these objects, or the failure."""
    cluster = Cluster.build(read_objects(json.loads(json.dumps([config or configuration(), *objects, one]))))
    (found,) = cluster.objects(KueueWorkload).values()
    return count_workload(found, cluster, kueue_configuration(cluster), deadline=deadline)


def charges(one, *objects, config=None):
    """The charge of each pod set as amounts by resource, where counting must succeed."""
    counted = count(one, *objects, config=config)
    assert isinstance(counted, WorkloadCharge), counted
    return [dict(each.requests) for each in counted.pod_sets]


def recorded_charge(charge):
    """A charge of a recorded verdict as integers."""
    return [
        (one["podSet"], one["count"], {name: _integer(name, text) for name, text in one["requests"].items()})
        for one in charge
    ]


def _integer(name, text):
    amount = Quantity.parse(text)
    return amount.milli if name == "cpu" else amount.value
