"""Cycles that are stopped, and cycles without an end (kueue-dra 4.6)."""

import pytest
from support.kueue_cases import cases_of, read_objects
from support.kueue_counting import (
    GPU,
    NAMESPACE,
    claim_template,
    configuration,
    device_class,
    devices_of,
    pod_set,
    request,
    workload,
)
from support.kueue_verdicts import phase_verdict

from drasat import quota
from drasat.integrations.kueue.configuration import kueue_configuration
from drasat.integrations.kueue.cycles import KueueState
from drasat.integrations.kueue.scheduling import CycleStoppedError
from drasat.models.cluster.cluster import Cluster

# Cases with preemptions, with shares and without.
CASES = [one for one in cases_of("preempt", "fair", "treepreempt", "fairtree", "partial") if "phases" in one.verdict]


def state_of(case):
    return KueueState(case.cluster, kueue_configuration(case.cluster))


def looks_at_the_clock(case):
    """How often the first cycle asks whether it has to stop."""
    state, looks = state_of(case), []
    state._cycle(1, state._heads(set()), lambda: bool(looks.append(None)))
    return len(looks)


@pytest.mark.parametrize("case", CASES[::10], ids=str)
def test_a_cycle_that_is_stopped_leaves_nothing_behind(case):
    """Wherever it is stopped, all goes afterwards as if it had never begun."""
    state = state_of(case)
    for last in range(looks_at_the_clock(case)):
        looks = iter([False] * last + [True])
        heads = state._heads(set())
        with pytest.raises(CycleStoppedError):
            state._cycle(1, heads, lambda looks=looks: next(looks))
        for head, queue in heads:
            queue.pending.put_back(head)
    assert phase_verdict(state) == phase_verdict(state_of(case))


def test_workloads_that_are_evicted_without_an_end_are_named():
    """Kueue itself goes on so in this case: its order of heads is not that in which it chose the victims."""
    (case,) = (one for one in CASES if one.name == "fair-101-010")
    result = quota(case.cluster)
    assert (result.document.settled, result.document.repeating) == (False, True)
    assert result.document.notices == ("Kueue admits and evicts again and again: team/w06",)
    assert "the same states come back" in result.summary()


COUNTER = {"name": "memory", "driver": GPU, "deviceSelector": {"cel": {"expression": "true"}}}
MEMORY = [{"name": "gpu-memory", "deviceClassNames": [GPU], "sources": [{"counter": COUNTER}]}]


def parted(name, memory, driver=GPU):
    device = {"name": "d", "consumesCounters": [{"counterSet": "s", "counters": {"memory": {"value": memory}}}]}
    return devices_of(name, device, driver=driver, pool=name)


def small_queue(*objects, nominal=1, mappings=MEMORY):
    """A queue with little quota of GPUs and their memory, in which a workload waits that asks for one GPU."""
    quotas = [{"name": name, "nominalQuota": nominal} for name in ("gpu-memory", "whole-gpus")]
    group = {"coveredResources": ["gpu-memory", "whole-gpus"], "flavors": [{"name": "f", "resources": quotas}]}
    kueue = "kueue.x-k8s.io/v1beta2"
    queue = {"namespaceSelector": {}, "resourceGroups": [group]}
    local = {"name": "q", "namespace": NAMESPACE}
    setting = [
        configuration(mappings),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": kueue, "kind": "ResourceFlavor", "metadata": {"name": "f"}},
        {"apiVersion": kueue, "kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": queue},
        {"apiVersion": kueue, "kind": "LocalQueue", "metadata": local, "spec": {"clusterQueue": "cq"}},
        device_class(GPU),
        workload(pod_set("t", containers=())),
    ]
    return Cluster.build(read_objects([*setting, *objects]))


def charge_of(state):
    (one,) = state.workloads.values()
    return dict(one.charged[0].requests)


def test_slices_of_drivers_of_sources_have_workloads_counted_again():
    """Kueue-dra 3.8: other slices do not."""
    template, old = claim_template("t", request(GPU)), parted("old", "10")
    before = small_queue(template, old)
    state = KueueState(before, kueue_configuration(before))
    state.run()
    assert charge_of(state) == {"gpu-memory": 10}
    state.update(small_queue(claim_template("t", request(GPU, 2)), old, parted("other", "80", driver="x.example.com")))
    assert charge_of(state) == {"gpu-memory": 10}
    state.update(small_queue(template, old, parted("new", "80")))
    assert charge_of(state) == {"gpu-memory": 80}


def test_a_template_that_grows_counts_once_the_queue_of_a_workload_changes():
    """Kueue-dra 3.8: a template is no event, a ClusterQueue is one."""
    mappings = [{"name": "whole-gpus", "deviceClassNames": [GPU]}]
    before = small_queue(claim_template("t", request(GPU, 2)), mappings=mappings)
    state = KueueState(before, kueue_configuration(before))
    state.run()
    grown = claim_template("t", request(GPU, 3))
    state.update(small_queue(grown, mappings=mappings))
    assert charge_of(state) == {"whole-gpus": 2}
    state.update(small_queue(grown, mappings=mappings, nominal=2))
    assert charge_of(state) == {"whole-gpus": 3}
    state.run()
    (one,) = state.workloads.values()
    assert "request (3) > maximum capacity (2)" in one.conditions["QuotaReserved"].message
