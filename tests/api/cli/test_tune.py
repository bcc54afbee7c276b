"""``drasat tune``: tables, manifests that can be read again, documents, exit codes."""

import json

import jsonschema
import pytest

import drasat as package
from drasat.models.results.schema import results_schema
from drasat.peers.programs import KUBE_SCHEDULER, find_program
from drasat.scenarios import objects

DRIVER = "gpu.example.com"


@pytest.fixture
def written(tmp_path):
    """A node that lists its large GPUs first, and a queue in which pods that take any GPU come first."""
    large = f'device.attributes["{DRIVER}"].model == "large"'
    devices = [objects.device(f"gpu-{n}", {"model": "large" if n < 2 else "small"}) for n in range(4)]
    either = [("l", objects.wanted("gpu", large)), ("any", objects.wanted("gpu"))]
    made = [
        objects.device_class("gpu", f'device.driver == "{DRIVER}"'),
        objects.node("n1"),
        objects.resource_slice("n1-a", DRIVER, "n1", objects.on_node("n1"), devices),
        objects.template("any", objects.claim_spec([objects.exactly("g", objects.wanted("gpu"))])),
        objects.template("either", objects.claim_spec([objects.first_available("g", either)])),
        objects.template("large", objects.claim_spec([objects.exactly("g", objects.wanted("gpu", large))])),
        *(
            objects.pod(f"p{number}", [objects.by_template("g", name)])
            for number, name in enumerate(("any", "either", "large", "large"))
        ),
    ]
    path = tmp_path / "input.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": made}))
    return path


def test_the_table_has_the_lists_that_change_and_the_sums(drasat, written):
    done = drasat("tune", "-f", written, "--arrivals", "1")
    assert done.code == 0
    head, first, second, _, last = done.out.splitlines()
    assert head.split() == ["ORDER", "OF", "IN", "BEFORE", "AFTER"]
    assert (first.split()[:2], second.split()[:3]) == (
        ["devices", "n1-a"],
        ["alternatives", "ResourceClaimTemplate", "default/either"],
    )
    assert last == "Optimal: first fit places 2 of 4, 4 after; no order exceeds 4"
    assert "2 lists tried" in done.err


def test_with_the_printed_manifests_first_fit_places_what_is_said(drasat, written, tmp_path):
    """POOL-1: all slices of a pool that changes have the next generation."""
    done = drasat("tune", "-f", written, "--arrivals", "1", "-o", "manifests")
    assert done.code == 0
    changed = tmp_path / "changed"
    changed.mkdir()
    (changed / "new.yaml").write_text(done.out)
    # What is read later replaces what has its name.
    items = [
        one for one in json.loads(written.read_text())["items"] if one["metadata"]["name"] not in ("n1-a", "either")
    ]
    (changed / "rest.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    cluster = package.load(changed)
    assert [one.spec.pool.generation for one in cluster.slices] == [2]
    again = package.tune(cluster, arrivals=1)
    assert (again.document.before, again.document.orders) == ((4,), ())


def test_the_document_is_as_published(drasat, written):
    done = drasat("tune", "-f", written, "-o", "json")
    document = json.loads(done.out)
    jsonschema.validate(document, results_schema())
    assert (document["kind"], document["outcome"], document["bound"]) == ("TuneResult", "Optimal", 4)
    assert drasat("tune", "-f", written, "-o", "json").out == done.out
    result = package.tune(package.load(written))
    assert result.lost == (12 - sum(result.document.before), 12 - sum(result.document.after))
    frame = result.to_frame()
    assert [*frame.columns] == ["arrival", "before", "after", "bound", "asked"]
    assert frame["after"].sum() == sum(result.document.after)
    assert "first fit places" in repr(result)


def test_only_the_orders_that_are_named_change(drasat, written):
    done = drasat("tune", "-f", written, "--orders", "devices", "-o", "json", "--arrivals", "1")
    document = json.loads(done.out)
    assert ({one["order"] for one in document["orders"]}, document["after"]) == ({"devices"}, [3])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--orders", "pools"], "unknown order 'pools', known are: devices, slices, alternatives"),
        (["--arrivals", "0"], "at least one arrival and one trial are needed"),
        (["--trials", "x"], "--trials"),
        (["--cel-errors", "never"], "never"),
    ],
)
def test_bad_input_is_refused_in_one_line(drasat, written, arguments, said):
    done = drasat("tune", "-f", written, *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "Traceback" not in done.err


def test_without_time_the_exit_code_says_so(drasat, written):
    done = drasat("tune", "-f", written, "--time-limit", "1ms")
    assert done.code == 3
    assert "the time limit left no time to simulate the queue" in done.out


@pytest.mark.skipif(find_program(KUBE_SCHEDULER) is None, reason="the peer is not built")
def test_the_real_allocator_confirms(drasat, written):
    done = drasat("tune", "-f", written, "--confirm", "--arrivals", "1")
    assert done.code == 0
    assert "places 2, 4 after" in done.err


def test_a_peer_that_is_not_built_is_an_error(drasat, written, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    done = drasat("tune", "-f", written, "--confirm")
    assert done.code == 2
    assert "drasat peers build" in done.err or "needs Go" in done.err
