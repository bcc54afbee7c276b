"""What ``-o manifests`` prints is what the API server accepts: checked with the schemas of Kubernetes, strictly."""

import copy

import kubernetes_validate
import pytest
import yaml
from support import families
from support.manifests import ADMIN_LABEL, obj
from support.older_versions import can_say, written

from drasat import scenarios
from drasat.scenarios import clusters
from drasat.solver.allocate.load import load
from drasat.verbs.allocate import allocate

SHAPES = ("gpu_nodes", "mig_nodes", "nic_nodes", "cpu_nodes", "channel_nodes", "multi_host_nodes", "mixed_nodes")
# The newest release that still served a version.
RELEASES = {"v1": "1.37", "v1beta2": "1.37", "v1beta1": "1.37", "v1alpha3": "1.32"}


def check(claims):
    """Validate claims of one version, all at once: reading a schema takes long. Unknown fields are errors."""
    (version,) = {claim["apiVersion"] for claim in claims}
    whole = {"apiVersion": version, "kind": "ResourceClaimList", "metadata": {}, "items": claims}
    kubernetes_validate.validate(whole, RELEASES[version.partition("/")[2]], strict=True)


def released(claim):
    """A claim without what no released API server knows: it would drop these fields."""
    for constraint in claim["spec"]["devices"].get("constraints", ()):
        for field in ("cel", "matchSemantics", "distinctSemantics", "semantics"):
            constraint.pop(field, None)
    return claim


def allocated(objects, **options):
    """The printed claims that were allocated."""
    return allocate(load(objects), **options).manifests()


def names(claims):
    return sorted((claim["metadata"]["namespace"], claim["metadata"]["name"]) for claim in claims)


def folders():
    from ...conftest import EXAMPLES

    return sorted(path.parent for path in EXAMPLES.glob("*/claims.yaml"))


@pytest.mark.parametrize("folder", folders(), ids=lambda path: path.name)
def test_claims_of_examples_are_printed_as_the_schema_has_them(drasat, folder):
    """RES-1, RES-2, RES-3, RES-7."""
    done = drasat("allocate", "-f", folder / "cluster.yaml", "-f", folder / "claims.yaml", "-o", "manifests")
    claims = list(yaml.safe_load_all(done.out))
    assert done.code == (1 if folder.name == "tainted-devices" else 0)
    assert claims
    assert all(claim["status"]["allocation"]["devices"]["results"] for claim in claims)
    check([*map(released, claims)])


@pytest.mark.parametrize("shape", SHAPES)
def test_claims_of_made_up_clusters_are_printed_as_the_schema_has_them(shape):
    """RES-1, RES-2, RES-3, RES-7: each way of asking, generated claims included."""
    nodes = getattr(scenarios, shape)(3, seed=2, fullness=0.3)
    everything = dict.fromkeys(clusters.CLAIM_KINDS, 1)
    claims = []
    for form in ("templates", "claims", "loose"):
        objects = scenarios.combine(nodes, scenarios.requests(25, everything, seed=2, form=form), [ADMINISTRATED])
        made = allocated(objects)
        assert made, form
        assert len(set(names(made))) == len(made)
        claims += made
    check(claims)


ADMINISTRATED = obj("Namespace", "default", labels=ADMIN_LABEL)


def test_claims_of_random_clusters_are_printed_as_the_schema_has_them():
    """RES-2, CAP-8, CON-12: every feature there is."""
    claims = [
        made for family in families.FAMILIES for seed in range(6) for made in allocated(families.member(family, seed))
    ]
    fields = {key for claim in claims for result in results(claim) for key in result}
    assert fields >= {"shareID", "consumedCapacity", "adminAccess", "tolerations", "bindingConditions"}
    assert "skipNodeOperations" in fields
    check(claims)


def results(claim):
    return claim["status"]["allocation"]["devices"]["results"]


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1", "v1alpha3"])
def test_claims_of_older_versions_are_printed_as_their_schema_has_them(version):
    """VER-1, VER-3, VER-4: the release that served a version knows the fields of the allocation, too."""
    objects = [written(item, version) for item in plain_cluster() if can_say(item, version)]
    claims = allocated(objects)
    assert len(claims) == 8
    check(claims)


def plain_cluster():
    """Whole GPUs, which all versions know, and claims for some of them."""
    nodes = scenarios.gpu_nodes(8, 8, seed=3)
    return scenarios.combine(nodes, scenarios.requests(8, {"gpu": 1}, seed=3, form="loose"))


@pytest.mark.parametrize(
    "change",
    [
        lambda result: result.update(request=1),
        lambda result: result.pop("driver"),
        lambda result: result.update(shareId="x"),
        lambda result: result.update(tolerations={"key": "k"}),
    ],
    ids=["type", "missing", "unknown", "shape"],
)
def test_the_schema_refuses_what_is_wrong(change):
    (claim, *_) = copy.deepcopy(allocated(plain_cluster()))
    check([claim])
    change(results(claim)[0])
    with pytest.raises(kubernetes_validate.ValidationError):
        check([claim])


def test_objects_of_scenarios_are_what_the_schema_has():
    """So that what is read in these tests is what a cluster could hold."""
    whole = [item for shape in SHAPES for item in getattr(scenarios, shape)(1, seed=4, fullness=0.5)]
    for kind, api in {"ResourceSlice": "resource.k8s.io/v1", "DeviceClass": "resource.k8s.io/v1", "Node": "v1"}.items():
        items = [item for item in whole if item["kind"] == kind]
        assert items
        listed = {"apiVersion": api, "kind": f"{kind}List", "metadata": {}, "items": items}
        kubernetes_validate.validate(listed, "1.37", strict=True)
