"""Services that ask for throughput, and the plans that serve them."""

from math import ceil

import pytest
from inference_scenarios import PARTITIONS, SCENARIOS, InferenceService, inference, inference_services

from drasat import load, plan


def test_a_partition_serves_its_best_batch_within_half_of_the_slo():
    service = InferenceService("s", 100, slo=100, overhead=2, work=1, scaling=1, memory=8)
    # Seven sevenths: 32 requests in 34 ms. Two: 8 requests in 30 ms, and 16 would take 58.
    assert service.throughputs() == {"2g.10gb": 266.6, "3g.20gb": 406.7, "4g.20gb": 533.3, "7g.40gb": 941.1}


@pytest.mark.parametrize("name", SCENARIOS)
def test_services_repeat_and_can_be_served(name):
    services = inference_services(name)
    assert services == inference_services(name) != inference_services(name, seed=1)
    assert len(services) == SCENARIOS[name].services
    for one in services:
        assert one.throughputs().keys() <= PARTITIONS.keys()
        assert sum(one.throughputs().values()) > 0


def test_a_plan_covers_all_demands_with_as_few_gpus_as_the_verifier_counts():
    services = inference_services("few services")
    document = plan(load(inference(services, 4)), objective="coverage,fewest-nodes").document
    assert (document.outcome, document.objective[0].value) == ("Optimal", len(services))
    used = {one.node for one in document.units if one.node}
    assert document.objective[1].value == len(used)
    by_name = {one.name: one for one in document.coverage}
    for service in services:
        assert by_name[service.name].covered >= service.rate
        served = service.throughputs().values()
        assert by_name[service.name].members == sum(ceil(service.rate / one) for one in served)
