"""What Karpenter's schemas refuse, and what of an InstanceType has no meaning (karpenter-dra 1.1)."""

import pytest

import drasat

SELECTED = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m5"]}
OFFERING = {"requirements": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}], "price": "1.5"}


def of(kind, spec, version="karpenter.sh/v1"):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def overlay(**spec):
    return of("NodeOverlay", {"requirements": [SELECTED], **spec}, "karpenter.sh/v1alpha1")


def pool(requirements=(), labels=None, **spec):
    template = {"metadata": {"labels": labels or {}}, "spec": {"requirements": list(requirements)}}
    return of("NodePool", {"template": template, **spec})


def instance_type(**spec):
    return of("InstanceType", {"capacity": {"cpu": "4"}, "offerings": [OFFERING], **spec}, "drasat.dev/v1alpha1")


def refused(made):
    return [str(problem) for problem in drasat.validate([made]).problems if problem.severity == "error"]


def requirement(key, operator, *values, **more):
    return {"key": key, "operator": operator, "values": list(values), **more}


REACHED = {"driver": "d.example.com", "nodeSelector": {"nodeSelectorTerms": [{"matchLabelKeys": ["-"]}]}}


@pytest.mark.parametrize(
    "made",
    [
        overlay(price="12"),
        overlay(price="1.5", weight=10000, capacity={"example.com/fuse": "1"}),
        *(overlay(priceAdjustment=text) for text in ("+1.5", "-3", "+200%", "-99.5%", "-100%")),
        overlay(requirements=[requirement("cpus", "Gte", "4"), requirement("karpenter.sh/nodepool", "In", "p")]),
        pool([requirement("kubernetes.io/arch", "In", "amd64", "arm64", minValues=2)], {"team": "ml"}, weight=100),
        pool(limits={"cpu": "100", "nodes": "3"}),
        pool(replicas=2, limits={"nodes": "3"}),
        instance_type(overhead={"kubeReserved": {"cpu": "100m"}}),
    ],
)
def test_what_karpenter_takes_is_taken(made):
    assert refused(made) == []


@pytest.mark.parametrize(
    ("made", "path", "words"),
    [
        (overlay(price="1", priceAdjustment="+1"), "spec", "cannot set both 'price' and 'priceAdjustment'"),
        (overlay(price="-1"), "spec.price", "should match"),
        (overlay(price="1e3"), "spec.price", "should match"),
        (overlay(price="\u0661"), "spec.price", "should match"),
        (overlay(price="9" * 13), "spec.price", "must have at most 12 digits"),
        (overlay(priceAdjustment=f"+{'9' * 13}%"), "spec.priceAdjustment", "must have at most 12 digits"),
        (overlay(priceAdjustment="5%"), "spec.priceAdjustment", "should match"),
        (overlay(priceAdjustment="-101%"), "spec.priceAdjustment", "should match"),
        (overlay(weight=0), "spec.weight", "should be greater than or equal to 1"),
        (overlay(weight=10001), "spec.weight", "should be less than or equal to 10000"),
        (overlay(capacity={"memory": "1Gi"}), "spec.capacity", "invalid resource restricted"),
        (of("NodeOverlay", {}, "karpenter.sh/v1alpha1"), "spec.requirements", "Required value"),
        (overlay(requirements=[requirement("a", "In")]), "spec.requirements[0].values", "must have a value defined"),
        (overlay(requirements=[requirement("a", "NotIn")]), "spec.requirements[0].values", "must have a value defined"),
        (overlay(requirements=[requirement("a", "Gt", "1", "2")]), "spec.requirements[0].values", "positive integer"),
        (overlay(requirements=[requirement("a", "Lte", "-1")]), "spec.requirements[0].values", "positive integer"),
        (overlay(requirements=[requirement("a", "Near", "1")]), "spec.requirements[0].operator", "Unsupported value"),
        (overlay(requirements=[SELECTED] * 101), "spec.requirements", "must have at most 100 items"),
        (
            overlay(requirements=[requirement("kubernetes.io/hostname", "In", "n")]),
            "spec.requirements[0].key",
            'label "kubernetes.io/hostname" is restricted',
        ),
        (
            overlay(requirements=[requirement("karpenter.sh/other", "In", "n")]),
            "spec.requirements[0].key",
            'label domain "karpenter.sh" is restricted',
        ),
        (
            pool([requirement("karpenter.sh/nodepool", "In", "n")]),
            "spec.template.spec.requirements[0].key",
            'label "karpenter.sh/nodepool" is restricted',
        ),
        (pool(labels={"karpenter.sh/nodepool": "n"}), "spec.template.metadata.labels", "is restricted"),
        (pool(weight=101), "spec.weight", "should be less than or equal to 100"),
        (pool(replicas=1, weight=5), "spec.weight", "not supported on static NodePools"),
        (pool(replicas=1, limits={"cpu": "1"}), "spec.limits", "only 'limits.nodes' is supported"),
        (
            pool([requirement("a", "In", "b", minValues=2)]),
            "spec.template.spec.requirements[0].minValues",
            "at least that many values",
        ),
        (pool([requirement("a", "Exists", minValues=51)]), "spec.template.spec.requirements[0].minValues", "1 to 50"),
        (
            pool(disruption={"budgets": [{"nodes": "1", "schedule": "@daily"}]}),
            "spec.disruption.budgets[0]",
            "'schedule' must be set with 'duration'",
        ),
        (instance_type(offerings=[]), "spec.offerings", "Required value"),
        (instance_type(offerings=[{"price": "cheap"}]), "spec.offerings[0].price", "must be a decimal number"),
        (instance_type(offerings=[{}]), "spec.offerings[0].price", "Required value"),
        (
            instance_type(offerings=[{**OFFERING, "reservationCapacity": -1}]),
            "spec.offerings[0].reservationCapacity",
            "greater than or equal to 0",
        ),
        (instance_type(slices=[{"driver": "-"}]), "spec.slices[0].driver", "Invalid value"),
        (
            instance_type(slices=[{"driver": "d.example.com", "nodeSelector": {"nodeSelectorTerms": []}}]),
            "spec.slices[0].nodeSelector.nodeSelectorTerms",
            "must have exactly one term",
        ),
        (
            instance_type(slices=[REACHED | {"allNodes": True}]),
            "spec.slices[0].allNodes",
            "may not be set beside nodeSelector",
        ),
        (
            instance_type(slices=[REACHED]),
            "spec.slices[0].nodeSelector.nodeSelectorTerms[0].matchLabelKeys[0]",
            "Invalid value",
        ),
        (
            instance_type(attributeBindings=[{"devices": [{}]}]),
            "spec.attributeBindings[0].devices[0].device",
            "Required",
        ),
        (instance_type(attributeBindings=[{}]), "spec.attributeBindings[0].attributes", "Required value"),
        (of("DRAConfig", {"driver": "-", "pools": []}, "test.karpenter.sh/v1alpha1"), "spec.driver", "Invalid value"),
    ],
)
def test_what_karpenter_refuses_is_refused_with_its_place(made, path, words):
    found = refused(made)
    assert any(f" {path}: " in f" {line}" and words in line for line in found), found
