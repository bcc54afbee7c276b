"""The same objects in every API version: equal typed objects, equal allocations, and each in its own version again."""

import pytest
import yaml
from support import families
from support.older_versions import OLDER, can_say, written

import drasat
from drasat import scenarios

VERSIONS = ("v1beta2", "v1beta1", "v1alpha3")
IDS = {"v1beta2": "VER-1-v1beta2", "v1beta1": "VER-2-VER-3-v1beta1", "v1alpha3": "VER-4-v1alpha3"}
EVERY_VERSION = pytest.mark.parametrize("version", [pytest.param(version, id=IDS[version]) for version in VERSIONS])

EVERYTHING = """
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1-gpus, labels: {kept: "yes"}}
spec:
  driver: gpu.example.com
  pool: {name: n1, generation: 3, resourceSliceCount: 2}
  nodeName: n1
  devices:
  - name: gpu-0
    attributes: {model: {string: a}, gpu.example.com/index: {int: 0}, ready: {bool: true}, driver: {version: 1.2.3}}
    capacity: {memory: {value: 80Gi}, cores: {value: "100"}}
    consumesCounters: [{counterSet: chip, counters: {slices: {value: "3"}}}]
    taints: [{key: worn, value: out, effect: NoSchedule}]
  - name: gpu-1
    attributes: {roots: {strings: [x, y]}}
    capacity: {memory: {value: 40Gi}, cores: {value: "50"}}
    consumesCounters: [{counterSet: chip, counters: {slices: {value: "4"}}}]
    bindsToNode: true
    bindingConditions: [ready]
    bindingFailureConditions: [broken]
    allowMultipleAllocations: true
  - {name: plain}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1-counters}
spec:
  driver: gpu.example.com
  pool: {name: n1, generation: 3, resourceSliceCount: 2}
  nodeName: n1
  sharedCounters: [{name: chip, counters: {slices: {value: "7"}}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: network}
spec:
  driver: nic.example.com
  pool: {name: everywhere, generation: 1, resourceSliceCount: 1}
  allNodes: true
  devices: [{name: nic-0, attributes: {speed: {int: 100}}}]
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec:
  selectors: [{cel: {expression: device.driver == 'gpu.example.com'}}]
  config: [{opaque: {driver: gpu.example.com, parameters: {mode: fast}}}]
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: nic}
spec: {selectors: [{cel: {expression: device.driver == 'nic.example.com'}}]}
---
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: rule}
spec: {deviceSelector: {driver: gpu.example.com, pool: n1, device: plain}, taint: {key: old, effect: NoExecute}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: both, namespace: default, annotations: {kept: "yes"}}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu
        allocationMode: ExactCount
        count: 2
        selectors: [{cel: {expression: "'memory' in device.capacity['gpu.example.com']"}}]
        tolerations: [{key: worn, operator: Exists}]
        capacity: {requests: {memory: 30Gi}}
    - name: nic
      firstAvailable:
      - {name: many, deviceClassName: nic, count: 4}
      - {name: one, deviceClassName: nic}
    config: [{requests: [gpu], opaque: {driver: gpu.example.com, parameters: {mode: slow}}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-nic, namespace: default}
spec: {spec: {devices: {requests: [{name: nic, exactly: {deviceClassName: nic, allocationMode: All}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec:
  containers: [{name: c, image: i}]
  resourceClaims: [{name: gpus, resourceClaimName: both}]
"""
OBJECTS = tuple(yaml.safe_load_all(EVERYTHING))
INDEXED = ("slices", "classes", "claims", "templates", "taint_rules")


def typed(cluster):
    """The objects of a cluster, whatever version they were read in."""
    return {name: getattr(cluster, name) for name in INDEXED}


def in_version(objects, version):
    return [written(item, version) for item in objects]


def answer(objects):
    return drasat.allocate(drasat.load(objects), cel_errors="kube")


@EVERY_VERSION
def test_older_versions_make_the_same_objects(version):
    now, then = drasat.load(OBJECTS), drasat.load(in_version(OBJECTS, version))
    assert all(typed(now).values())
    assert typed(then) == typed(now)


@EVERY_VERSION
def test_older_versions_get_the_same_allocations(version):
    now, then = answer(OBJECTS), answer(in_version(OBJECTS, version))
    assert now.outcome == "Allocated"
    assert len(now.to_dict()["units"][0]["claims"][0]["allocation"]["devices"]["results"]) == 3
    assert then.to_json() == now.to_json()


@EVERY_VERSION
def test_what_is_printed_keeps_its_version_and_shape(version):
    read = in_version(OBJECTS, version)
    (claim,) = [item for item in read if item["kind"] == "ResourceClaim"]
    (printed,) = answer(read).manifests()
    assert printed["apiVersion"] == f"resource.k8s.io/{version}"
    assert {key: value for key, value in printed.items() if key != "status"} == claim
    assert printed["status"]["allocation"] == answer(OBJECTS).manifests()[0]["status"]["allocation"]


@EVERY_VERSION
def test_what_was_printed_is_read_as_allocated(version):
    read = in_version(OBJECTS, version)
    printed = answer(read).manifests()
    others = [item for item in read if item["kind"] != "ResourceClaim"]
    again = answer([*others, *printed])
    assert (again.outcome, again.manifests()) == ("Allocated", [])
    assert all(claim.status.allocation for claim in drasat.load([*others, *printed]).claims.values())


def test_versions_may_be_mixed():
    """VER-1 to VER-4 apply object by object: VER-1, VER-2, VER-3, VER-4."""
    mixed = [written(item, VERSIONS[number % 3]) for number, item in enumerate(OBJECTS)]
    assert len({item["apiVersion"] for item in mixed}) > 3
    assert answer(mixed).to_json() == answer(OBJECTS).to_json()


def together(version):
    """Slices as 1.33 and 1.34 published them: counter sets beside the devices."""
    gpus, counters, *others = OBJECTS
    pool = {**gpus["spec"]["pool"], "resourceSliceCount": 1}
    whole = {**gpus, "spec": {**gpus["spec"], "pool": pool, "sharedCounters": counters["spec"]["sharedCounters"]}}
    return [written(whole, version), *others]


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
def test_counter_sets_and_devices_may_share_a_slice_of_an_older_cluster(version):
    """VER-5: today's servers refuse it, in those versions too; where it is let through nothing else changes."""
    with pytest.raises(drasat.InputError, match="`devices` and `sharedCounters` exclude each other"):
        drasat.load(together(version))
    lenient = drasat.load(together(version), skip_validation=True)
    assert drasat.allocate(lenient, cel_errors="kube").to_json() == answer(OBJECTS).to_json()


@pytest.mark.parametrize("family", families.FAMILIES)
def test_random_clusters_have_one_answer_in_every_version(family):
    """VER-1, VER-2, VER-3, VER-4: of the members that the version can say."""
    told = 0
    for seed in range(4):
        objects = families.member(family, seed)
        expected = answer(objects).to_json()
        for version in VERSIONS:
            if all(can_say(item, version) for item in objects):
                told += 1
                assert answer(in_version(objects, version)).to_json() == expected
    assert told >= 8


def test_clusters_of_real_shapes_are_the_same_in_every_version():
    """VER-1, VER-2, VER-4: every kind of node, objects compared one by one."""
    makers = ("gpu_nodes", "mig_nodes", "nic_nodes", "cpu_nodes", "channel_nodes", "multi_host_nodes")
    objects = [item for name in makers for item in getattr(scenarios, name)(2, seed=1, fullness=0.5)]
    alone = [item for item in objects if item["kind"] in OLDER]
    assert {item["kind"] for item in alone} >= {"ResourceSlice", "ResourceClaim", "DeviceClass"}
    for version in VERSIONS:
        for item in alone:
            if can_say(item, version):
                assert typed(drasat.load(written(item, version))) == typed(drasat.load(item))


@pytest.mark.parametrize("text", ["apiVersion: resource.k8s.io/v1alpha2", "apiVersion: resource.k8s.io/v2"])
def test_versions_nobody_converts_are_told(text):
    """VER-6: an object of an unknown version is not silently taken for another."""
    item = {**OBJECTS[0], **yaml.safe_load(text)}
    with pytest.raises(drasat.InputError, match=r"apiVersion|version"):
        drasat.load(item)
