"""Manifests out: nothing of the input is lost, and every reader reads the same; files appear when they are complete."""

import os
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.data import cases

from drasat.models.formats.errors import Source, has_errors
from drasat.models.formats.yaml import yaml_documents
from drasat.models.kubernetes.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from drasat.models.kubernetes.core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.manifests.reader import Manifest, read_manifests
from drasat.models.manifests.writer import (
    check_output_file,
    claim_manifest,
    model_mapping,
    object_mapping,
    to_yaml,
    write_whole,
    yaml_parts,
)

ALLOCATION = AllocationResult(
    devices=DeviceAllocationResult(
        results=(DeviceRequestAllocationResult(request="r", driver="d", pool="p", device="gpu-0", share_id="s-1"),)
    ),
    node_selector=NodeSelector(
        node_selector_terms=(
            NodeSelectorTerm(
                match_fields=(NodeSelectorRequirement(key="metadata.name", operator="In", values=("n",)),)
            ),
        )
    ),
)
WRITTEN = {
    "devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "gpu-0", "shareID": "s-1"}]},
    "nodeSelector": {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]
    },
}


def read(mapping: dict) -> Manifest:
    (manifest,), problems, _ = read_manifests([mapping])
    assert not has_errors(problems)
    return manifest


def claim(version: str = "v1", **fields) -> dict:
    return {"apiVersion": f"resource.k8s.io/{version}", "kind": "ResourceClaim", "metadata": {"name": "c"}, **fields}


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1", "v1alpha3"])
def test_allocation_is_added_to_what_was_read(version):
    """VER-6: own apiVersion, own shape, unknown fields."""
    given = claim(
        version, spec={"controller": "x", "devices": {"requests": [{"name": "r", "deviceClassName": "g"}]}}, own=1
    )
    assert claim_manifest(read(given), ALLOCATION) == {**given, "status": {"allocation": WRITTEN}}


def test_the_rest_of_the_status_is_kept_and_an_old_allocation_replaced():
    given = claim(status={"reservedFor": [{"name": "p"}], "unknown": 1, "allocation": {"devices": {}}})
    assert claim_manifest(read(given), ALLOCATION)["status"] == {
        "reservedFor": [{"name": "p"}],
        "unknown": 1,
        "allocation": WRITTEN,
    }


def test_the_input_is_not_changed():
    given = claim(status={"reservedFor": []})
    manifest = read(given)
    claim_manifest(manifest, ALLOCATION)
    assert manifest.raw == claim(status={"reservedFor": []})


@pytest.mark.parametrize("status", [None, {}], ids=["null", "empty"])
def test_a_status_without_content(status):
    assert claim_manifest(read(claim(status=status)), ALLOCATION)["status"] == {"allocation": WRITTEN}


def test_items_of_typed_lists_become_whole_manifests():
    listed = {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "ResourceClaimList",
        "items": [{"metadata": {"name": "c"}}],
    }
    written = claim_manifest(read(listed), ALLOCATION)
    assert list(written) == ["apiVersion", "kind", "metadata", "status"]
    assert (written["apiVersion"], written["kind"]) == ("resource.k8s.io/v1beta2", "ResourceClaim")


def test_a_claim_without_a_mapping_is_written_from_its_object():
    made = ResourceClaim(metadata=ObjectMeta(name="c", namespace="ml"))
    manifest = Manifest("ResourceClaim", "resource.k8s.io/v1", made, None, Source("made", 1))
    assert claim_manifest(manifest, ALLOCATION) == claim(
        metadata={"name": "c", "namespace": "ml"}, status={"allocation": WRITTEN}
    )


def test_a_manifest_of_an_ignored_kind_is_no_claim():
    manifest = Manifest("Deployment", "apps/v1", None, None, Source("f", 1))
    with pytest.raises(ValueError, match="was not read into an object"):
        claim_manifest(manifest, ALLOCATION)


def test_models_are_written_with_the_names_of_the_api_and_without_defaults():
    assert model_mapping(ALLOCATION) == WRITTEN
    assert model_mapping(AllocationResult()) == {}


def test_objects_are_written_as_v1():
    made = ResourceClaim(metadata=ObjectMeta(name="c"))
    assert object_mapping(made) == claim()


def test_yaml_documents_are_separated_and_keys_stay_in_order():
    assert to_yaml([{"b": [1, {}], "a": []}, {"c": None}]) == "b:\n- 1\n- {}\na: []\n---\nc: null\n"


@pytest.mark.parametrize("text", cases("models/writing", "strings_stay_strings_for_every_reader"))
def test_strings_stay_strings_for_every_reader(text):
    written = to_yaml([{text: text, "list": [text]}])
    expected = {text: text, "list": [text]}
    assert yaml.safe_load(written) == expected
    assert list(yaml_documents(written.encode())) == [expected]


def test_programs_are_written_as_blocks():
    assert to_yaml([{"expression": "a &&\nb"}]) == "expression: |-\n  a &&\n  b\n"


def test_plain_words_are_not_quoted():
    mapping = {"name": "gpu-0", "model": "A100 40GB", "memory": "40Gi", "version": "1.2.3", "resource.k8s.io/x": "a/b"}
    assert to_yaml([mapping]) == "".join(f"{key}: {value}\n" for key, value in mapping.items())


SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
TEXTS = st.text(max_size=12) | st.text("01_.-+eExX:yno~# \n", max_size=8)
DATA = st.recursive(
    SCALARS | TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=8
)


@given(st.lists(st.dictionaries(TEXTS, DATA, max_size=3), max_size=3))
def test_what_is_written_is_read_again(mappings):
    assert list(yaml_documents(to_yaml(mappings).encode())) == mappings


def test_deep_documents_can_be_written():
    deep: dict = {}
    for _ in range(245):
        deep = {"a": deep}
    assert list(yaml_documents(to_yaml([deep]).encode())) == [deep]


def test_many_documents_are_written_in_parts_that_together_are_one_text():
    documents = [{"kind": "X", "number": number} for number in range(1203)]
    parts = list(yaml_parts(documents))
    assert len(parts) > 2
    assert list(yaml.safe_load_all("".join(parts))) == documents
    assert "".join(parts) == "---\n".join(f"kind: X\nnumber: {number}\n" for number in range(1203))
    assert list(yaml_parts([])) == []


def write(text):
    return lambda part: part.write(text)


def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    """A file in the place of a device, such as /dev/null, would break every other program."""
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    check_output_file(pipe)
    write_whole(pipe, write(b"all"))
    said = os.read(reader, 99)
    os.close(reader)
    assert (said, pipe.is_fifo()) == (b"all", True)
    assert [*tmp_path.iterdir()] == [pipe]


def test_a_link_stays_one_and_the_file_it_leads_to_is_replaced(tmp_path):
    link, file = tmp_path / "link", tmp_path / "folder" / "file"
    file.parent.mkdir()
    link.symlink_to(file)
    for text in (b"first", b"second"):
        write_whole(link, write(text))
        assert (link.is_symlink(), file.read_bytes()) == (True, text)
    assert [*file.parent.iterdir()] == [file]


def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path):
    file = tmp_path / ("x" * 250 + ".json")
    write_whole(file, write(b"all"))
    assert file.read_bytes() == b"all"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none/file", "cannot be written: there is no folder '{}/none'"),
        ("there/file", "cannot be written: there is no folder '{}/there'"),
        ("folder", "cannot be written: it is a folder"),
    ],
)
def test_what_cannot_be_written_is_said_with_its_path(tmp_path, name, said):
    (tmp_path / "there").write_text("")
    (tmp_path / "folder").mkdir()
    path = tmp_path / name
    with pytest.raises(ValueError, match="cannot be written") as refused:
        check_output_file(path)
    assert str(refused.value) == f"{str(path)!r} {said.format(tmp_path)}"
    with pytest.raises(OSError, match=re.escape(str(path))) as failed:
        write_whole(path, write(b"all"))
    assert failed.value.filename == str(path)
    assert {one.name for one in tmp_path.iterdir()} == {"there", "folder"}


def test_nothing_is_left_of_a_file_that_could_not_be_made(tmp_path):
    def fail(part):
        part.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match=r"No space left on device: '.*/file'") as failed:
        write_whole(tmp_path / "file", fail)
    assert (failed.value.errno, [*tmp_path.iterdir()]) == (28, [])
