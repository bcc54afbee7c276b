"""Questions at the edges: what is asked, what is answered, and what is said where there is no answer."""

import pytest
from support.mappings import CLASS, GONE, claim, node, pod, pool, template, told, wish

import drasat

HERE = [CLASS, pool()]
MANY = [CLASS, pool(40)]
LISTED = {"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "gpu", "count": 33},
                                          {"name": "b", "deviceClassName": "gpu"}]}  # fmt: skip
PLACES = [{"name": "a", "nodeName": "n2"}, {"name": "b", "allNodes": True}]
SHARED = {"name": "a", "allowMultipleAllocations": True, "capacity": {"m": {"value": "8"}}}


def share(amount):
    return [CLASS, pool([SHARED]), claim("c", wish(capacity={"requests": {"m": amount}}))]


ANSWERS = [
    ("nothing", [], []),
    ("pod-without-claims", [*HERE, pod("p")], []),
    ("pod-that-has-finished", [*HERE, claim(), pod("p", "c", phase="Succeeded")], []),
    ("pod-being-deleted", [*HERE, claim(), pod("p", "c", meta=GONE)], []),
    ("claim-being-deleted", [*HERE, claim(meta=GONE)], []),
    ("pod-on-its-node", [*HERE, node(), node("n2"), claim(), pod("p", "c", nodeName="n1")], ["Allocated n1: c=gpu-0"]),
    ("pod-on-another-node", [*HERE, node(), node("n2"), claim(), pod("p", "c", nodeName="n2")],
     ["Unallocatable -: c="]),
    ("claim-of-two-pods", [*HERE, claim(), pod("p", "c"), pod("q", "c")],
     ["Allocated n1: c=gpu-0", "Allocated n1: c="]),
    ("claim-of-two-pods-apart",
     [*HERE, node(), node("n2"), claim(), pod("p", "c"), pod("q", "c", nodeName="n2")],
     ["Allocated n1: c=gpu-0", "Unallocatable -: c="]),
    ("claim-named-twice-by-a-pod", [*HERE, claim(), claim("d"), pod("p", "d", "c", "d")],
     ["Allocated n1: d=gpu-0; c=gpu-1"]),
    ("claim-missing", [*HERE, pod("p", "z")], ["Unallocatable -: z="]),
    ("template-missing", [*HERE, pod("p", "@z")], ["Unallocatable -: p-a="]),
    ("template-for-two-entries", [*HERE, template(), pod("p", "@t", "@t")], ["Allocated n1: p-a=gpu-0; p-b=gpu-1"]),
    ("template-without-spec", [*HERE, {**template(), "spec": None}, pod("p", "@t")], ["Allocated n1: p-a="]),
    ("made-name-taken-by-a-claim", [*HERE, claim("p-a"), template(), pod("p", "@t")],
     ["Allocated n1: p-a=gpu-0", "Allocated n1: p-a-2=gpu-1"]),
    ("claims-without-names", [*HERE, *[claim("", meta={"generateName": "c-"})] * 2],
     ["Allocated n1: c-00001=gpu-0", "Allocated n1: c-00002=gpu-1"]),
    ("pods-without-names", [*HERE, template(), *[pod("", "@t", meta={"generateName": "p-"})] * 2],
     ["Allocated n1: p-00001-a=gpu-0", "Allocated n1: p-00002-a=gpu-1"]),
    ("class-missing", [pool(), claim()], ["Unallocatable -: c="]),
    ("no-slices-no-nodes", [CLASS, claim()], ["Unallocatable -: c="]),
    ("no-slices", [CLASS, node(), claim()], ["Unallocatable -: c="]),
    ("no-requests", [*HERE, claim(requests=[])], ["Allocated n1: c="]),
    ("no-requests-no-nodes", [claim(requests=None)], ["Allocated : c="]),
    ("32-devices", [*MANY, claim("c", wish(count=32))], ["Allocated n1: c=" + ",".join(f"gpu-{n}" for n in range(32))]),
    ("33-devices", [*MANY, claim("c", wish(count=33))], ["Error -: c="]),
    ("33-devices-in-two-requests", [*MANY, claim("c", wish("a", count=17), wish("b", count=16))], ["Error -: c="]),
    ("as-many-as-an-integer-holds", [*MANY, claim("c", wish(count=2**63 - 1))], ["Error -: c="]),
    ("33-devices-in-an-alternative", [*MANY, claim("c", LISTED)], ["Allocated n1: c=gpu-0"]),
    ("all-of-33", [CLASS, pool(33), claim("c", wish(allocationMode="All"))], ["Error -: c="]),
    ("all-of-none", [CLASS, pool(0), claim("c", wish(allocationMode="All"))], ["Unallocatable -: c="]),
    ("slice-for-all-nodes", [CLASS, pool(node=None, allNodes=True), claim()], ["Allocated : c=gpu-0"]),
    ("devices-with-places", [CLASS, pool(PLACES, None, perDeviceNodeSelection=True), claim("c", wish(count=2))],
     ["Allocated n2: c=a,b"]),
    ("slice-missing-in-a-pool", [CLASS, pool(pool={"name": "n1", "generation": 1, "resourceSliceCount": 2}), claim()],
     ["Unallocatable -: c="]),
    ("allocated-before", [*HERE, claim(held="gpu-0"), claim("d")], ["Allocated n1: d=gpu-1"]),
    ("held-by-a-finished-pod", [*HERE, claim(held="gpu-0"), pod("p", "c", phase="Failed"), claim("d", wish(count=2))],
     ["Unallocatable -: d="]),
    ("a-device-that-is-gone-is-held", [*HERE, claim(held="zzz"), claim("d")], ["Allocated n1: d=gpu-0"]),
    ("negative-amount-asked", share("-5"), ["Error -: c="]),
    ("nothing-asked-of-a-capacity", share("0"), ["Allocated n1: c=a"]),
    ("more-digits-than-numbers-have", share("9" * 300), ["Unallocatable -: c="]),
    ("null-amount", share(None), ["Allocated n1: c=a"]),
]  # fmt: skip


@pytest.mark.parametrize(("objects", "answer"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS])
def test_edges_of_what_may_be_asked(objects, answer):
    found = drasat.allocate(drasat.load(objects))
    assert told(found) == answer
    assert all(unit.reasons for unit in found.units if unit.outcome != "Allocated")


LIFTED = [
    ("slice-for-no-node", [CLASS, pool(node=None), claim()], ["Unallocatable -: c="]),
    ("device-for-no-node", [CLASS, pool(1, None, perDeviceNodeSelection=True), claim()], ["Unallocatable -: c="]),
    ("unknown-operator", [CLASS, pool(node=None, nodeSelector={"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "x", "operator": "Like"}]}]}), node(), claim()], ["Error -: c="]),
    ("unknown-mode", [*HERE, claim("c", wish(allocationMode="Some"))], ["Error -: c="]),
    ("selector-of-nothing", [*HERE, claim("c", wish(selectors=[{}]))], ["Error -: c="]),
    ("broken-expression", [*HERE, claim("c", wish(selectors=[{"cel": {"expression": "((("}}])), claim("d")],
     ["Error -: c=", "Allocated n1: d=gpu-0"]),
    ("empty-expression", [*HERE, claim("c", wish(selectors=[{"cel": {}}]))], ["Error -: c="]),
    ("empty-expression-not-reached", [*HERE, claim("c", {"name": "r", "firstAvailable": [
        {"name": "a", "deviceClassName": "gpu"},
        {"name": "b", "deviceClassName": "gpu", "selectors": [{"cel": {}}]}]})], ["Allocated n1: c=gpu-0"]),
    ("constraint-of-nothing", [*HERE, claim(constraints=[{"requests": ["r"]}])], ["Error -: c="]),
    ("constraint-on-strangers", [*HERE, claim(constraints=[{"requests": ["z"], "matchAttribute": "a/b"}])],
     ["Allocated n1: c=gpu-0"]),
    ("slash-in-a-name", [*HERE, claim("a/b")], ["Allocated n1: a/b=gpu-0"]),
]  # fmt: skip


@pytest.mark.parametrize(("objects", "answer"), [row[1:] for row in LIFTED], ids=[row[0] for row in LIFTED])
def test_what_the_api_server_refuses_still_has_an_answer(objects, answer):
    with pytest.raises(drasat.InputError):
        drasat.allocate(drasat.load(objects))
    found = drasat.allocate(drasat.load(objects, skip_validation=True))
    assert told(found) == answer
    assert len(found.manifests()) == sum(text.startswith("Allocated") for text in answer)


NEVER_LIFTED = [
    ("count", claim("c", wish(count=-1)), "must be greater than zero"),
    ("quantity", share("much")[2], "quantities must match the regular expression"),
    ("exponent", share("1e9999999999")[2], "too big an exponent"),
    ("forms", claim("c", {"name": "r"}), "exactly one of `exactly` or `firstAvailable` is required"),
    ("request-name", claim("c", wish("")), "requests[0].name: Required value"),
    ("request-path", claim("c", wish("a/b")), 'requests[0].name: Invalid value: "a/b"'),
    ("alternative-name", claim("c", {"name": "r", "firstAvailable": [{"deviceClassName": "gpu"}]}),
     "name: Required value"),
    ("same-request", claim("c", wish(), wish()), 'Duplicate value: "r"'),
    ("no-name", claim(""), "name or generateName is required"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "message"), [row[1:] for row in NEVER_LIFTED], ids=[row[0] for row in NEVER_LIFTED])
def test_structure_is_never_lifted(given, message):
    with pytest.raises(drasat.InputError, match=r".*") as error:
        drasat.load([CLASS, pool([SHARED]), given], skip_validation=True)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "magic"}, "unknown engine"),
        ({"cel_errors": "hide"}, "unknown policy"),
        ({"feature_gates": {"Magic": True}}, "unknown feature gate"),
        ({"feature_gates": {"DRAAdminAccess": "no"}}, "expected True or False"),
        ({"selector": "a in"}, "a in"),
        ({"claims": ["z"]}, "ResourceClaim default/z not found"),
    ],
    ids=["engine", "policy", "gate", "switch", "selector", "claim"],
)
def test_bad_arguments_are_refused_in_one_line(options, message):
    with pytest.raises(ValueError, match=message) as error:
        drasat.allocate(drasat.load([*HERE, claim()]), **options)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("seed", [-1, 0, 10**40])
def test_any_integer_is_a_seed(seed):
    found = drasat.allocate(drasat.load(share("1")), seed=seed)
    again = drasat.allocate(drasat.load(share("1")), seed=seed)
    assert found.to_json() == again.to_json()


@pytest.mark.parametrize("verb", ["allocate", "capacity", "compare", "explain", "show", "topology"])
def test_a_node_that_is_not_there_is_bad_usage(drasat, examples, verb):
    done = drasat(verb, "-f", examples / "whole-gpus", "--node", "gpu-nod")
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith('drasat: --node: node "gpu-nod" is not in the input: did you mean gpu-node-2?\n')


def test_a_node_without_a_possible_name_is_bad_usage(drasat, examples):
    assert drasat("allocate", "-f", examples / "whole-gpus", "--node", "\x1b[31m").code == 2


def test_choosing_nothing_is_a_warning(drasat, examples):
    done = drasat("allocate", "-f", examples / "whole-gpus", "-n", "nowhere")
    assert done.code == 0
    assert done.err.startswith("drasat: warning: nothing to allocate")
