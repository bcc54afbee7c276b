"""Fields and kinds that nobody has, the same object twice, and equal warnings, in every verb that reads manifests."""

import json

import pytest
import yaml
from support.manifests import SPEC, obj

import drasat as api
from drasat.models.formats.errors import InputError

VERBS = ["allocate", "capacity", "compare", "explain", "plan", "show", "topology"]
COUNTED = 'unknown field "spec.devices.requests[0].exactly.counts": did you mean count?'

MISPLACED = 'unknown field "spec.constraint": did you mean spec.devices.constraints?'


@pytest.fixture
def write(tmp_path):
    def one(*objects, name="input.yaml"):
        path = tmp_path / name
        path.write_text(yaml.safe_dump_all(objects))
        return path

    return one


def misspelt(name="c", **fields):
    exactly = {"deviceClassName": "gpu", "counts": 2}
    return obj("ResourceClaim", name, {"devices": {"requests": [{"name": "r", "exactly": exactly}]}, **fields})


def cluster():
    device = {"name": "d", "attributes": {"model": {"string": "m"}}, "capacity": {"memory": {"value": "80Gi"}}}
    pool = {"name": "pool", "generation": 1, "resourceSliceCount": 1}
    selectors = [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]
    published = {"driver": "gpu.example.com", "nodeName": "node", "pool": pool, "devices": [device]}
    other = {**published, "driver": "x.example.com", "pool": {**pool, "name": "x"}, "devices": [
        {"name": "d", "attributes": {"other.example.com/speed": {"int": 1}}}]}  # fmt: skip
    return [
        obj("Node", "node"),
        obj("DeviceClass", "gpu", {"selectors": selectors}),
        obj("DeviceClass", "nothing", {"selectors": [{"cel": {"expression": "device.driver == 'none.example.com'"}}]}),
        obj("ResourceSlice", "s", published),
        obj("ResourceSlice", "x", other),
    ]


def test_validate_reports_each_unknown_field_as_kubectl_words_it(drasat, write):
    path = write(misspelt("a", constraint=[]), misspelt("b"))
    done = drasat("validate", "-f", path)
    assert done.code == 0
    assert [line for line in done.out.splitlines() if "unknown" in line] == [
        f"{path} document 1: ResourceClaim default/a: warning: {MISPLACED}",
        f"{path} document 1: ResourceClaim default/a: warning: {COUNTED}",
        f"{path} document 2: ResourceClaim default/b: warning: {COUNTED}",
    ]
    problems = json.loads(drasat("validate", "-f", path, "-o", "json").out)["problems"]
    assert {(one["field"], one["message"]) for one in problems} >= {
        ("spec.devices.requests[0].exactly.counts", COUNTED)
    }


def test_strict_validation_refuses_them(drasat, write):
    path = write(misspelt())
    done = drasat("validate", "-f", path, "--strict")
    assert done.code == 2
    assert f"{path} document 1: ResourceClaim default/c: {COUNTED}\n" in done.out


@pytest.mark.parametrize("verb", VERBS)
def test_other_verbs_warn_once_and_refuse_if_strict(drasat, write, verb):
    path = write(*cluster(), *(misspelt(name) for name in "abc"))
    warned = [line for line in drasat(verb, "-f", path).err.splitlines() if "unknown field" in line]
    assert warned == [f"drasat: {path} document 6: ResourceClaim default/a: warning: {COUNTED} (3 times)"]
    done = drasat(verb, "-f", path, "--strict")
    assert (done.code, done.out) == (2, "")
    assert [line for line in done.err.splitlines() if "unknown field" in line] == [
        f"drasat: {path} document {6 + number}: ResourceClaim default/{name}: {COUNTED}"
        for number, name in enumerate("abc")
    ]


@pytest.mark.parametrize(
    "spec",
    [
        {"requests": SPEC["devices"]["requests"], "constraints": [{"matchAttribute": "gpu.example.com/model"}]},
        {"devices": {"request": SPEC["devices"]["requests"]}},
        {"device": SPEC["devices"]},
    ],
    ids=["as-in-KEP-5491", "request", "device"],
)
@pytest.mark.parametrize("template", [False, True])
@pytest.mark.parametrize("verb", ["allocate", "plan", "validate"])
def test_a_claim_that_asks_for_nothing_by_mistake_is_an_error(drasat, write, verb, template, spec):
    claim = obj("ResourceClaimTemplate", "c", {"spec": spec}) if template else obj("ResourceClaim", "c", spec)
    done = drasat(verb, "-f", write(*cluster(), claim), "--skip-validation")
    assert done.code == 2
    assert "Without it the claim asks for no devices" in done.out + done.err
    assert "did you mean" in done.out + done.err


def test_a_claim_without_requests_is_no_mistake(drasat, write):
    done = drasat("validate", "-f", write(obj("ResourceClaim", "c", {"devices": {}, "pineapple": 1})))
    assert (done.code, done.out.count("unknown field")) == (0, 1)


def test_kinds_that_are_not_read_are_listed(drasat, write):
    others = [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}} for name in "ab"]
    path = write(*others, {"apiVersion": "workload.example.dev/v1", "kind": "Workload", "metadata": {"name": "w"}})
    listed = "not read: 2 Service of v1\nnot read: 1 Workload of workload.example.dev/v1\n"
    assert drasat("validate", "-f", path).out == f"{listed}0 errors, 0 warnings\n"
    assert drasat("validate", "-f", path, "--strict").code == 0
    assert json.loads(drasat("validate", "-f", path, "-o", "json").out)["ignored"] == [
        {"kind": "Service", "apiVersion": "v1", "count": 2},
        {"kind": "Workload", "apiVersion": "workload.example.dev/v1", "count": 1},
    ]


@pytest.mark.parametrize(
    ("kind", "api_version", "meant"),
    [
        ("ResourceClaims", "resource.k8s.io/v1", "ResourceClaim"),
        ("resourceclaim", "resource.k8s.io/v1", "ResourceClaim"),
        ("DeviceClasses", "resource.k8s.io/v1", "DeviceClass"),
        ("ResourceClaim", "v1", "ResourceClaim of resource.k8s.io/v1"),
        ("DeviceClass", "resources.k8s.io/v1", "DeviceClass of resource.k8s.io/v1"),
        ("Deployment", "extensions/v1", "Deployment of apps/v1"),
        ("Pods", "v1", "Pod"),
        ("NodeTemplates", "drasat.dev/v1alpha1", "NodeTemplate"),
        ("ResourceQuota", "v1", ""),
        ("ConfigMap", "v1", ""),
        ("ResourceClass", "resource.k8s.io/v1alpha2", ""),
        ("Job", "batch.volcano.sh/v1alpha1", ""),
        ("PodGroup", "scheduling.x-k8s.io/v1alpha1", ""),
        ("Workload", "workload.example.dev/v1", ""),
        ("Workload", "kueue.x-k8s.io/v1alpha2", "Workload of kueue.x-k8s.io/v1beta2"),
        ("DeviceConfig", "amd.com/v1alpha1", ""),
        ("Node", "longhorn.io/v1beta2", ""),
    ],
)
def test_a_kind_that_is_probably_misspelt(drasat, write, kind, api_version, meant):
    path = write(*({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}} for name in "ab"))
    done = drasat("validate", "-f", path)
    expected = f"{path} document 1: warning: kind: {kind} of {api_version} is not read: did you mean {meant}?"
    assert [line for line in done.out.splitlines() if "warning:" in line] == ([expected] if meant else [])
    assert done.code == 0
    assert drasat("validate", "-f", path, "--strict").code == (2 if meant else 0)
    if meant:
        assert f"did you mean {meant}?" in drasat("allocate", "-f", path).err


def test_the_same_object_in_two_files_is_one(drasat, write):
    objects = [*cluster(), obj("ResourceClaim", "c", SPEC)]
    one, two = write(*objects), write(*reversed(objects), name="two.yaml")
    once = drasat("allocate", "-f", one, "-o", "json")
    assert once.code == 0
    assert drasat("allocate", "-f", one, "-f", two, "-f", one, "-o", "json") == once
    listed = write({"apiVersion": "v1", "kind": "List", "items": objects}, name="list.yaml")
    assert drasat("allocate", "-f", one, "-f", listed, "-o", "json") == once


@pytest.mark.parametrize(
    "other",
    [
        obj("ResourceClaim", "c", SPEC, labels={"a": "b"}),
        {**obj("ResourceClaim", "c", SPEC), "apiVersion": "resource.k8s.io/v1beta2", "status": {}},
        obj("ResourceSlice", "s", {**cluster()[3]["spec"], "devices": []}),
        obj("Pod", "p", {"containers": [{"name": "c", "image": "b"}]}),
    ],
    ids=["labels", "status", "slice", "image"],
)
def test_different_objects_of_one_name_are_an_error(drasat, write, other):
    objects = [
        *cluster(),
        obj("ResourceClaim", "c", SPEC),
        obj("Pod", "p", {"containers": [{"name": "c", "image": "a"}]}),
    ]
    done = drasat("allocate", "-f", write(*objects, other))
    assert done.code == 2
    assert f'Duplicate value: "{other["metadata"]["name"]}": the same object is in' in done.err


def test_equal_warnings_are_one_line_with_their_number(drasat, write):
    pods = [obj("Pod", f"p{number}", {"containers": [{"name": "c"}], "priorityClassName": "x"}) for number in range(3)]
    done = drasat("plan", "-f", write(*cluster(), *pods))
    (line,) = [line for line in done.err.splitlines() if "PriorityClass" in line]
    assert line.endswith(
        "Pod default/p0: warning: spec.priorityClassName: PriorityClass x is not in the input: priority 0 (3 times)"
    )


def asking(class_name="gpu", constraints=(), derived=(), selectors=(), **capacity):
    exactly = {"deviceClassName": class_name}
    if capacity:
        exactly["capacity"] = {"requests": {name.replace("__", "/"): "1Gi" for name in capacity}}
    exactly["selectors"] = [{"cel": {"expression": text}} for text in selectors]
    if derived:
        exactly["derivedAttributes"] = [{"name": name, "expression": "1"} for name in derived]
    devices = {"requests": [{"name": "r", "exactly": exactly}], "constraints": list(constraints)}
    return obj("ResourceClaim", "c", {"devices": devices})


MATCH = {"matchAttribute": "nvidia.com/model"}
UNPUBLISHED = [
    (asking(memory=1), None),
    (asking(gpu__memory=1), "capacity gpu/memory: did you mean memory?"),
    (asking(memori=1), "capacity memori: did you mean memory?"),
    (asking(cores=1), "capacity cores"),
    (asking("nothing", cores=1), None),
    (asking("absent", cores=1), None),
    (asking(constraints=[MATCH]), "attribute nvidia.com/model: did you mean gpu.example.com/model?"),
    (asking(constraints=[{"distinctAttribute": "gpu.example.com/model"}]), None),
    (asking(constraints=[{"distinctAttribute": "other.example.com/speed"}]), "attribute other.example.com/speed"),
    (asking(constraints=[MATCH], derived=["nvidia.com/model"]), None),
    (asking(selectors=["device.attributes['nvidia.com'].model == 'm'"]),
     "attribute nvidia.com/model: did you mean gpu.example.com/model?"),
    (asking(selectors=["device.attributes['gpu.example.com'].modle == 'm'"]),
     "attribute gpu.example.com/modle: did you mean gpu.example.com/model?"),
    (asking(selectors=["device.attributes['gpu.example.com'].memory == 1"]),
     "attribute gpu.example.com/memory: did you mean capacity gpu.example.com/memory?"),
    (asking(selectors=["device.capacity['x.com'].memory.isGreaterThan(quantity('1Gi'))"]),
     "capacity x.com/memory: did you mean gpu.example.com/memory?"),
    (asking(selectors=["device.driver == 'x' && device.capacity['gpu.example.com'].memory == quantity('1Gi')"]), None),
    (asking(selectors=["has(device.attributes['nvidia.com'].model)"]), None),
    (asking(selectors=["device.attributes['nvidia.com'].?model.orValue('') == 'm'"]), None),
    (asking(selectors=["device.driver == 'gpu.example.com' || device.attributes['nvidia.com'].model == 'm'"]), None),
]  # fmt: skip


@pytest.mark.parametrize(("claim", "complaint"), UNPUBLISHED)
def test_names_that_no_device_of_the_class_publishes(drasat, write, claim, complaint):
    """CAP-1, CON-2: with a wrong domain nothing can satisfy the request."""
    path = write(*cluster(), claim)
    said = [line for line in drasat("validate", "-f", path).out.splitlines() if "publishes" in line]
    if complaint is None:
        assert said == []
    else:
        (line,) = said
        assert line.endswith(f": no device of class gpu publishes {complaint}")
        assert "warning: " in line
        for verb in ("allocate", "explain"):
            assert f"drasat: {line}\n" in drasat(verb, "-f", path).err


def test_names_in_templates_and_alternatives(drasat, write):
    alternative = {"name": "a", **asking(gpu__memory=1)["spec"]["devices"]["requests"][0]["exactly"]}
    spec = {"devices": {"requests": [{"name": "r", "firstAvailable": [alternative]}], "constraints": [MATCH]}}
    done = drasat("validate", "-f", write(*cluster(), obj("ResourceClaimTemplate", "t", {"spec": spec})))
    fields = [line.split("warning: ")[1].split(":")[0] for line in done.out.splitlines() if "publishes" in line]
    assert fields == [
        "spec.spec.devices.requests[0].firstAvailable[0].capacity.requests[gpu/memory]",
        "spec.spec.devices.constraints[0].matchAttribute",
    ]


def test_python_has_the_same_options(tmp_path, write):
    path = write(*cluster(), misspelt())
    assert api.load(path).claims
    with pytest.raises(InputError, match="unknown field"):
        api.load(path, strict=True)
    with pytest.raises(InputError, match="holds more than 100 bytes"):
        api.load(path, max_input_size=100)
    assert api.validate(path).valid
    assert not api.validate(path, strict=True).valid
    assert not api.validate(path, max_input_size="1k").valid
    with pytest.raises(ValueError, match="zero"):
        api.load(path, max_input_size=0)


@pytest.mark.parametrize(
    ("kind", "api_version"),
    [("Deployment", "resource.k8s.io/v1"), ("ResourceClam", "resource.k8s.io/v1"), ("Gadget", "x.io/v1")],
    ids=["another group", "misspelt", "unknown, which holds no pods"],
)
def test_a_kind_that_is_not_read_is_named_in_one_line(drasat, write, kind, api_version):
    template = {} if kind == "Gadget" else {"template": {"spec": {"containers": [{"name": "c"}]}}}
    path = write({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": template})
    told = drasat("validate", "-f", path).out.splitlines()[:-1]
    assert len([line for line in told if kind in line]) == 1
    told = drasat("allocate", "-f", path).err.splitlines()
    assert len([line for line in told if kind in line]) == 1
