"""Claims of random clusters with every feature of devices, counted as claim templates of a workload."""

from hypothesis import given
from support.families import member
from support.kueue_counting import claim_template, configuration, count, pod_set, workload
from support.random_clusters import clusters, examples

from drasat.integrations.kueue.counting import WorkloadCharge

SELECTOR = {"cel": {"expression": "true"}}


def mappings(classes, objects, kind):
    """Each class is a resource of its own; of ``kind`` counter or capacity what the first device says is its source."""
    slices = [one["spec"] for one in objects if one["kind"] == "ResourceSlice"]
    made = []
    for name in classes:
        sources = []
        for spec in slices:
            for device in spec.get("devices", ()):
                consumed = [key for entry in device.get("consumesCounters", ()) for key in entry["counters"]]
                names = consumed if kind == "counter" else list(device.get("capacity", ()))
                sources += [
                    {kind: {"name": key, "driver": spec["driver"], "deviceSelector": SELECTOR}} for key in names
                ]
        made.append({"name": f"r-{name}"[:63].rstrip("-."), "deviceClassNames": [name], "sources": sources[:1]})
    return made


@examples(60)
@given(clusters())
def test_any_claim_is_charged_or_refused_with_its_place(name):
    """Kueue-dra 3, 5: with and without sources, and whatever devices, classes and requests look like."""
    objects = member(*name)
    specs = [one["spec"] for one in objects if one["kind"] == "ResourceClaim"]
    classes = [one["metadata"]["name"] for one in objects if one["kind"] == "DeviceClass"]
    kept = [one for one in objects if one["kind"] in ("DeviceClass", "ResourceSlice")]
    templates = []
    for number, spec in enumerate(specs):
        one = claim_template(f"t{number}")
        one["spec"]["spec"] = spec
        templates.append(one)
    asked = workload(pod_set(*(one["metadata"]["name"] for one in templates), count=2))
    for kind in ("counter", "capacity"):
        gates = {"KueueDRAIntegrationConsumableCapacity": True, "KueueDRAIntegrationPrioritizedList": kind == "counter"}
        config = configuration(mappings(classes, objects, kind), gates)
        counted = count(asked, *kept, *templates, config=config)
        if isinstance(counted, WorkloadCharge):
            (each,) = counted.pod_sets
            assert each.requests.keys() <= {"cpu", *(one["name"] for one in config["resources"]["deviceClassMappings"])}
        else:
            assert counted.error.lstrip("[").startswith("spec.podSets[0].template.spec.resourceClaims[")


@examples(60)
@given(clusters("match", "distinct", "taints", "nodes"))
def test_claims_without_selectors_cost_their_counts(name):
    """Kueue-dra 3.2: neither constraints nor devices change the number."""
    objects = member(*name)
    specs = [one["spec"] for one in objects if one["kind"] == "ResourceClaim"]
    for spec in specs:
        requests = spec["devices"]["requests"]
        if any("selectors" in one["exactly"] or one["exactly"].get("allocationMode") == "All" for one in requests):
            continue
        template = claim_template("t")
        template["spec"]["spec"] = spec
        classes = sorted({one["exactly"]["deviceClassName"] for one in requests})
        config = configuration([{"name": "all", "deviceClassNames": classes}])
        (each,) = count(workload(pod_set("t", count=3)), template, config=config).pod_sets
        assert each.requests.get("all", 0) == 3 * sum(one["exactly"].get("count", 1) for one in requests)
