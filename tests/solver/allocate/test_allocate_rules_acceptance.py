"""The least an equivalent allocator must get right (section 21), one manifest written by hand for each."""

import pytest
import yaml
from support.manifests import ADMIN_LABEL, obj

import drasat

HEAD = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {zone: z, rack: r}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: any}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: tuned}
spec: {config: [{opaque: {driver: d.x, parameters: {a: 1}}}]}
"""


def slice_(name, devices, **spec):
    """A slice of pool ``p`` on the node; ``devices`` as YAML, one a line."""
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1, **spec.pop("pool", {})}
    placed = spec.keys() & {"nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"}
    where = {} if placed else {"nodeName": "n1"}
    published = {"devices": [yaml.safe_load(line) for line in devices.split("\n") if line.strip()]} if devices else {}
    spec = {"driver": "d.x", "pool": pool, **where, **published, **spec}
    return obj("ResourceSlice", name, spec)


def claim(name, requests, constraints="[]", config="[]", status=None):
    """A claim; what it asks for as YAML. A request of the class ``any`` need not name it."""
    asked = yaml.safe_load(requests)
    for request in asked:
        for form in [request["exactly"]] if "exactly" in request else request["firstAvailable"]:
            form.setdefault("deviceClassName", "any")
    devices = {"requests": asked, "constraints": yaml.safe_load(constraints), "config": yaml.safe_load(config)}
    held = {"status": {"allocation": {"devices": {"results": yaml.safe_load(status)}}}} if status else {}
    return obj("ResourceClaim", name, {"devices": devices}, namespace="default", **held)


def pod(*claims):
    named = [{"name": name, "resourceClaimName": name} for name in claims]
    spec = {"containers": [{"name": "c", "image": "i"}], "resourceClaims": named}
    return obj("Pod", "p", spec, namespace="default")


def ask(*objects, gates=None):
    """The result document of asking the only node, as the scheduler would, expressions' errors included."""
    cluster = drasat.load([*yaml.safe_load_all(HEAD), *objects])
    return drasat.allocate(cluster, node="n1", feature_gates=gates, cel_errors="kube", engine="backtracking").to_dict()


def allocations(*objects, gates=None):
    document = ask(*objects, gates=gates)
    assert document["outcome"] == "Allocated", document
    return [made["allocation"] for unit in document["units"] for made in unit["claims"]]


def chosen(*objects, gates=None):
    """Each request with its device."""
    made = allocations(*objects, gates=gates)
    return " ".join(
        f"{result['request']}={result['device']}"
        for allocation in made
        for result in allocation["devices"].get("results", ())
    )


def refused(*objects, gates=None):
    """The outcome, and the first reason."""
    document = ask(*objects, gates=gates)
    reasons = [reason["message"] for unit in document["units"] for reason in unit["reasons"]]
    return document["outcome"], reasons[0]


THREE = slice_("s", "{name: a}\n{name: b}\n{name: c}")


def test_the_rest_decides_which_alternative_is_taken():
    """SRCH-4: a later request pushes an earlier one down, and is itself pushed where both could give way."""
    first = "{name: q, firstAvailable: [{name: two, count: 2}, {name: one, count: 1}]}"
    assert chosen(THREE, claim("c", f"[{first}, {{name: r, exactly: {{count: 2}}}}]")) == "q/one=a r=b r=c"
    second = first.replace("name: q", "name: r")
    assert chosen(THREE, claim("c", f"[{first}, {second}]")) == "q/two=a q/two=b r/one=c"


def test_the_rest_of_the_pod_decides_too():
    """SRCH-4: the requests of later claims are part of the rest."""
    first = claim("c1", "[{name: q, firstAvailable: [{name: two, count: 2}, {name: one}]}]")
    objects = (THREE, first, claim("c2", "[{name: r, exactly: {count: 2}}]"), pod("c1", "c2"))
    assert chosen(*objects) == "q/one=a r=b r=c"


MIXED = slice_("s", "{name: a, attributes: {k: {int: 1}}}\n{name: b, attributes: {k: {int: 2}}}")


def test_all_against_a_constraint_aborts_although_another_alternative_would_do():
    """SRCH-7."""
    asked = "[{name: q, firstAvailable: [{name: every, allocationMode: All}, {name: one}]}]"
    outcome, reason = refused(MIXED, claim("c", asked, "[{matchAttribute: d.x/k}]"))
    assert outcome == "Error"
    assert "cannot add device d.x/p/b because a claim constraint would not be satisfied" in reason
    assert chosen(MIXED, claim("c", asked)) == "q/every=a q/every=b"


@pytest.mark.parametrize(
    ("other", "state"),
    [
        (slice_("t", "{name: z}", driver="z.x", pool={"resourceSliceCount": 2}), "being updated"),
        (
            slice_("t", "{name: z, consumesCounters: [{counterSet: s, counters: {m: {value: 1}}}]}", driver="z.x"),
            "invalid",
        ),
    ],
    ids=["incomplete", "invalid"],
)
def test_all_needs_every_pool_of_the_node(other, state):
    """PRE-8: even one of a driver that the request does not mean; an exact request does not mind."""
    meant = "selectors: [{cel: {expression: device.driver == 'd.x'}}]"
    outcome, reason = refused(THREE, other, claim("c", f"[{{name: q, exactly: {{allocationMode: All, {meant}}}}}]"))
    assert outcome == "Error"
    assert f"asks for all devices, but resource pool z.x/p is currently {state}" in reason
    assert chosen(THREE, other, claim("c", f"[{{name: q, exactly: {{count: 3, {meant}}}}}]")) == "q=a q=b q=c"


ADMIN_NAMESPACE = obj("Namespace", "default", labels=ADMIN_LABEL)


def test_an_admin_pick_blocks_a_later_normal_request_of_the_same_pod():
    """DEV-1: in the other order the device serves both."""
    one = slice_("s", "{name: a}")
    admin = claim("admin", "[{name: q, exactly: {adminAccess: true}}]")
    normal = claim("normal", "[{name: r, exactly: {}}]")
    assert refused(ADMIN_NAMESPACE, one, admin, normal, pod("admin", "normal"))[0] == "Unallocatable"
    assert chosen(ADMIN_NAMESPACE, one, admin, normal, pod("normal", "admin")) == "r=a q=a"
    assert chosen(ADMIN_NAMESPACE, THREE, admin, normal, pod("admin", "normal")) == "q=a r=b"


def test_a_count_needs_as_many_devices_even_where_they_can_be_shared():
    """DEV-13."""
    one = slice_("s", "{name: a, allowMultipleAllocations: true}")
    assert refused(one, claim("c", "[{name: q, exactly: {count: 2}}]"))[0] == "Unallocatable"
    assert chosen(one, claim("c", "[{name: q, exactly: {}}, {name: r, exactly: {}}]")) == "q=a r=a"


def test_a_request_that_names_no_capacity_takes_all_of_it():
    """CAP-9: unless a policy has a default."""
    whole = slice_("s", "{name: a, allowMultipleAllocations: true, capacity: {m: {value: 8Gi}}}")
    policy = "{value: 8Gi, requestPolicy: {default: 1Gi}}"
    modest = slice_("s", f"{{name: a, allowMultipleAllocations: true, capacity: {{m: {policy}}}}}")
    both = claim("c", "[{name: q, exactly: {}}, {name: r, exactly: {capacity: {requests: {m: 1}}}}]")
    assert refused(whole, both)[0] == "Unallocatable"
    (taken,) = allocations(whole, claim("c", "[{name: q, exactly: {}}]"))
    assert taken["devices"]["results"][0]["consumedCapacity"] == {"m": "8Gi"}
    assert chosen(modest, both) == "q=a r=a"


def partitions(*sets):
    """Device ``a`` draws from set ``s``, ``b`` from ``t``, ``free`` from none."""
    drawing = "{name: %s, consumesCounters: [{counterSet: %s, counters: {m: {value: '4'}}}]}"
    devices = "\n".join([drawing % ("a", "s"), drawing % ("b", "t"), "{name: free}"])
    counters = [
        {"name": name, "counters": {"m": {"value": str(value)}}} for name, value in zip("st", sets, strict=True)
    ]
    two = {"resourceSliceCount": 2}
    return slice_("s", devices, pool=two), slice_("t", "", pool=two, sharedCounters=counters)


@pytest.mark.parametrize(("left", "expected"), [(4, "q=b"), (3, "q=free")])
def test_an_overdrawn_counter_set_blocks_consumers_of_others(left, expected):
    """CTR-2: the set that ``a`` draws from holds less than ``a`` has; ``b`` draws from another."""
    held = claim("held", "[{name: q, exactly: {}}]", status="[{request: q, driver: d.x, pool: p, device: a}]")
    assert chosen(*partitions(left, 4), held, claim("c", "[{name: q, exactly: {}}]")) == expected


def test_lists_that_overlap_in_pairs_have_nothing_in_common():
    """CON-7."""
    lists = enumerate(["[1, 2]", "[2, 3]", "[3, 1]"])
    ring = slice_("s", "\n".join(f"{{name: v{n}, attributes: {{k: {{ints: {values}}}}}}}" for n, values in lists))
    match = "[{matchAttribute: d.x/k}]"
    assert chosen(ring, claim("c", "[{name: q, exactly: {count: 2}}]", match)) == "q=v0 q=v1"
    assert refused(ring, claim("c", "[{name: q, exactly: {count: 3}}]", match))[0] == "Unallocatable"


@pytest.mark.parametrize("kind", ["matchAttribute", "distinctAttribute"])
def test_without_list_attributes_a_list_satisfies_a_constraint_only_alone(kind):
    """CON-9."""
    lists = slice_("s", "{name: a, attributes: {k: {ints: [1]}}}\n{name: b, attributes: {k: {ints: [2]}}}")
    off = {"DRAListTypeAttributes": False}
    one, two = (claim("c", f"[{{name: q, exactly: {{count: {count}}}}}]", f"[{{{kind}: d.x/k}}]") for count in (1, 2))
    assert chosen(lists, one, gates=off) == "q=a"
    assert refused(lists, two, gates=off)[0] == "Unallocatable"


ONE = claim("c", "[{name: q, exactly: {}}]")


def test_too_many_slices_are_as_incomplete_as_too_few():
    """POOL-4."""
    slices = [slice_(name, f"{{name: {name}}}") for name in "st"]
    assert refused(*slices, ONE)[0] == "Unallocatable"
    assert chosen(slices[0], ONE) == "q=s"


def test_an_old_generation_that_adds_up_on_its_node_stays_in_use():
    """POOL-7: a newer one elsewhere only matters where the old one does not add up."""
    newer = slice_("t", "{name: new}", pool={"generation": 2}, nodeName="n2")
    older = slice_("s", "{name: old}")
    assert chosen(older, newer, ONE) == "q=old"
    unfinished = slice_("s", "{name: old}", pool={"resourceSliceCount": 2})
    assert refused(unfinished, newer, ONE)[0] == "Unallocatable"


CONFIGS = """
- {requests: [q, r], opaque: {driver: d.x, parameters: {b: 2}}}
- {requests: [q/one, q/two], opaque: {driver: d.x, parameters: {c: 3}}}
"""


def test_configuration_that_covers_every_request_names_none():
    """RES-5: of a class or of the claim; alternatives of one request alone are left as they are."""
    lists = "{name: q, firstAvailable: [{name: one, deviceClassName: tuned}, {name: two}]}"
    (made,) = allocations(
        THREE, claim("c", f"[{lists}, {{name: r, exactly: {{deviceClassName: tuned}}}}]", config=CONFIGS)
    )
    shown = [(entry["source"], entry.get("requests")) for entry in made["devices"]["config"]]
    assert shown == [("FromClass", None), ("FromClaim", None), ("FromClaim", ["q/one", "q/two"])]


def by_label(key):
    return {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "Exists"}]}]}


TWO_DEVICES = claim("c", "[{name: q, exactly: {count: 2}}]")


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ({"nodeSelector": by_label("rack")}, [("matchExpressions", "zone"), ("matchExpressions", "rack")]),
        ({"nodeSelector": by_label("zone")}, [("matchExpressions", "zone")]),
        ({"allNodes": True}, [("matchExpressions", "zone")]),
        ({"nodeName": "n1"}, [("matchFields", "metadata.name")]),
    ],
    ids=["combined", "the-same", "everywhere", "this-node"],
)
def test_the_node_selector_joins_what_the_devices_demand(second, expected):
    """RES-7."""
    slices = slice_("s", "{name: a}", nodeSelector=by_label("zone")), slice_("t", "{name: b}", driver="e.x", **second)
    (made,) = allocations(*slices, TWO_DEVICES)
    (term,) = made["nodeSelector"]["nodeSelectorTerms"]
    assert [(kind, item["key"]) for kind, items in term.items() for item in items] == expected


def test_a_device_with_two_terms_is_fatal_when_it_is_chosen():
    """RES-7."""
    terms = [*by_label("zone")["nodeSelectorTerms"], *by_label("rack")["nodeSelectorTerms"]]
    slices = slice_("s", "{name: a}", perDeviceNodeSelection=True)
    slices["spec"]["devices"][0]["nodeSelector"] = {"nodeSelectorTerms": terms}
    outcome, reason = refused(slices, ONE)
    assert outcome == "Error"
    assert "unsupported ResourceSlice.NodeSelector with 2 terms" in reason
