"""LimitRanges and RuntimeClasses in charges, and what Kueue refuses because of them (kueue-dra 3.6, 3.8)."""

import pytest
from support.kueue_cases import read_objects
from support.kueue_counting import NAMESPACE, charges, pod_set, workload

from drasat import queue_capacity, quota
from drasat.integrations.kueue.configuration import kueue_configuration
from drasat.integrations.kueue.cycles import KueueState
from drasat.models.cluster.cluster import Cluster
from drasat.models.workload.controllers import read_controllers
from drasat.models.workload.requests import effective_requests

KUEUE = "kueue.x-k8s.io/v1beta2"


def runtime_class(**overhead):
    named = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "kata"}}
    return {**named, "handler": "kata", "overhead": {"podFixed": overhead}}


def limits(*items, name="limits", namespace=NAMESPACE):
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"limits": list(items)},
    }


def container(**fields):
    return {"type": "Container", **fields}


def asking(*resources, **spec):
    made = [{"name": f"c{number}", "image": "i", "resources": one} for number, one in enumerate(resources)]
    return workload({"name": "main", "count": 2, "template": {"spec": {"containers": made, **spec}}})


@pytest.mark.parametrize(
    ("resources", "item", "expected"),
    [
        pytest.param({}, {"defaultRequest": {"cpu": "1"}}, {"cpu": 2000}, id="a default request"),
        pytest.param({}, {"default": {"cpu": "3"}}, {"cpu": 6000}, id="a default limit is the default request"),
        pytest.param({}, {"max": {"cpu": "4"}}, {"cpu": 8000}, id="a maximum is the default limit"),
        pytest.param({}, {"min": {"cpu": "2"}}, {"cpu": 4000}, id="a minimum is the default request"),
        pytest.param(
            {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}, {"default": {"cpu": "9"}}, {"cpu": 2000},
            id="what a container asks for stays",
        ),
        pytest.param(
            {"limits": {"cpu": "2"}}, {"defaultRequest": {"cpu": "500m"}}, {"cpu": 1000},
            id="a default request comes before the limit",
        ),
        pytest.param({"limits": {"cpu": "2"}}, {"default": {"memory": "1Ki"}}, {"cpu": 4000, "memory": 2048},
                     id="a limit stands for an absent request"),
    ],
)  # fmt: skip
def test_defaults_of_limit_ranges_are_charged(resources, item, expected):
    """Kueue-dra 3.6."""
    assert charges(asking(resources), limits(container(**item))) == [expected]


def test_of_several_limit_ranges_the_first_default_counts():
    """Those of other namespaces, and those without an item for containers, do not."""
    found = charges(
        asking({}),
        limits(container(defaultRequest={"cpu": "1"}), name="a"),
        limits(container(defaultRequest={"cpu": "2", "memory": "1Ki"}), name="b"),
        limits(container(defaultRequest={"nvidia.com/gpu": "2"}), namespace="other"),
    )
    assert found == [{"cpu": 2000, "memory": 2048}]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"runtimeClassName": "kata"}, {"cpu": 1250, "memory": 160 * 2**20}),
        ({"runtimeClassName": "kata", "overhead": {"cpu": "100m"}}, {"cpu": 1100}),
        ({"runtimeClassName": "unknown"}, {"cpu": 1000}),
        ({}, {"cpu": 1000}),
    ],
)
def test_overhead_of_a_runtime_class_is_charged_unless_the_pod_has_its_own(spec, expected):
    """Kueue-dra 3.6: overhead is a part of the request of each pod."""
    kata = runtime_class(cpu="250m", memory="160Mi")
    assert charges(workload(pod_set(containers=({"cpu": "1"},), **spec)), kata) == [expected]


def cluster_of(*objects):
    quotas = {"name": "f", "resources": [{"name": "cpu", "nominalQuota": 20}]}
    groups = [{"coveredResources": ["cpu"], "flavors": [quotas]}]
    queue = {"namespaceSelector": {}, "resourceGroups": groups}
    setting = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "f"}},
        {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": queue},
        {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": "q", "namespace": NAMESPACE},
            "spec": {"clusterQueue": "cq"},
        },
    ]
    return Cluster.build(read_objects([*setting, *objects]))


def state_of(*objects):
    cluster = cluster_of(*objects)
    return KueueState(cluster, kueue_configuration(cluster))


def told(state):
    (one,) = state.workloads.values()
    return one.conditions["QuotaReserved"].reason, one.conditions["QuotaReserved"].message


_PLACE = "spec.podSets[0].template.spec"


@pytest.mark.parametrize(
    ("resources", "items", "message"),
    [
        (
            {"requests": {"cpu": "3", "memory": "3"}, "limits": {"cpu": "2", "memory": "2"}}, [],
            f'resources validation failed: {_PLACE}.containers[0]: Invalid value: ["cpu","memory"]: '
            "requests must not exceed its limits",
        ),
        (
            {"requests": {"cpu": "3"}}, [container(default={"cpu": "2"})],
            f'resources validation failed: {_PLACE}.containers[0]: Invalid value: ["cpu"]: '
            "requests must not exceed its limits",
        ),
        (
            {"requests": {"cpu": "3"}, "limits": {"cpu": "3"}}, [container(max={"cpu": "2"})],
            f"resources didn't satisfy LimitRange constraints: {_PLACE}.containers[0]: Invalid value: "
            '["cpu"]: requests must not be above the limitRange max',
        ),
        (
            {"requests": {"cpu": "1"}, "limits": {"cpu": "4"}}, [container(max={"cpu": "3"}, min={"cpu": "2"})],
            f"resources didn't satisfy LimitRange constraints: [{_PLACE}.containers[0]: Invalid value: "
            f'["cpu"]: requests must not be above the limitRange max, {_PLACE}.containers[0]: Invalid value: '
            '["cpu"]: requests must not be below the limitRange min]',
        ),
        (
            {"requests": {"cpu": "3"}}, [container(), {"type": "Pod", "max": {"cpu": "2"}}],
            f"resources didn't satisfy LimitRange constraints: {_PLACE}: Invalid value: "
            '["cpu"]: requests must not be above the limitRange max',
        ),
    ],
)  # fmt: skip
def test_what_limits_forbid_is_not_admitted(resources, items, message):
    """Kueue says so before it looks at quota."""
    state = state_of(asking(resources), *([limits(*items)] if items else []))
    state.run()
    assert told(state) == ("Misconfigured", message)


def test_a_limit_range_without_an_item_for_containers_is_not_looked_at():
    """Kueue looks up those that have one."""
    state = state_of(asking({"requests": {"cpu": "3"}}), limits({"type": "Pod", "max": {"cpu": "2"}}))
    state.run()
    assert told(state)[0] == "QuotaReserved"


def test_a_limit_range_that_changes_has_workloads_counted_and_tried_again():
    """Kueue-dra 3.8."""
    waiting = asking({"requests": {"cpu": "3"}, "limits": {"cpu": "3"}})
    state = state_of(waiting, limits(container(max={"cpu": "2"})))
    state.run()
    assert told(state)[0] == "Misconfigured"
    state.update(cluster_of(waiting, limits(container(max={"cpu": "3"}))))
    state.run()
    assert told(state)[0] == "QuotaReserved"


def test_a_runtime_class_that_comes_has_workloads_counted_again():
    """Kueue-dra 3.8."""
    big = asking({"requests": {"cpu": "11"}}, runtimeClassName="kata")
    state = state_of(big)
    state.run()
    assert told(state)[0] == "ExceedsMaxQuota"
    assert "request (22)" in told(state)[1]
    state.update(cluster_of(big, runtime_class(cpu="250m")))
    state.run()
    assert "request (22500m)" in told(state)[1]


def test_pods_that_are_placed_ask_for_what_is_charged():
    """Two pods of 3 cpu each by default: one node has room for one of them, and a workload is placed whole."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    node["status"] = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}
    default = limits(container(defaultRequest={"cpu": "3"}))
    found = quota(cluster_of(asking({}), default, node))
    assert [(one.asked, one.placed) for one in found.stranded] == [(2, 0)]
    assert found.document.placement.verified
    (copies,) = queue_capacity(cluster_of(asking({}), default, node)).document.queues
    assert (copies.quota.fits, copies.placement.fits) == (3, 0)


@pytest.mark.parametrize(
    ("resources", "item", "expected"),
    [
        ({}, {"default": {"cpu": "3"}}, 3000),
        ({"limits": {"cpu": "2"}}, {"defaultRequest": {"cpu": "500m"}}, 2000),
        ({"limits": {"memory": "1Ki"}}, {"defaultRequest": {"cpu": "500m"}}, 500),
        ({"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}, {"defaultRequest": {"cpu": "500m"}}, 1000),
    ],
    ids=["nothing is asked", "a limit comes before the default request", "another limit", "a request stays"],
)
def test_pods_of_controllers_get_the_defaults_of_their_namespace(resources, item, expected):
    """The API server adds them as it takes the pods."""
    template = asking(resources)["spec"]["podSets"][0]["template"]
    meta = {"name": "web", "namespace": NAMESPACE}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}
    made = read_controllers(cluster_of(deployment, limits(container(**item))))
    (missing,) = made.missing.values()
    assert effective_requests(missing.sets[0].pod().spec)["cpu"] == expected


def test_copies_are_charged_the_default_request_and_placed_with_the_limit():
    """Two pods of half a cpu each by quota, of three on nodes: the default request comes before the limit for Kueue."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    node["status"] = {"allocatable": {"cpu": "6", "memory": "8Gi", "pods": "10"}}
    default = limits(container(defaultRequest={"cpu": "500m"}))
    (copies,) = queue_capacity(cluster_of(asking({"limits": {"cpu": "3"}}), default, node)).document.queues
    assert (copies.quota.fits, copies.placement.fits) == (20, 1)
