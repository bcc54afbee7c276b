"""``drasat snapshot``: its options, its lines and its exit codes."""

import pytest
from support.clusters_to_read import cluster, made

import drasat as package


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "cluster.json"
    package.snapshot([*cluster(), made("v1", "Gadget", "g")]).write(path)
    return path


def test_it_writes_a_file_that_other_commands_read(drasat, source, tmp_path):
    done = drasat("snapshot", "-f", source, "-o", tmp_path / "out.json.gz")
    assert done.code == 0
    assert done.out.splitlines()[0].split() == ["KIND", "VERSION", "OBJECTS", "RESOURCEVERSION"]
    assert ["Pod", "v1", "3", "-"] in map(str.split, done.out.splitlines())
    assert drasat("plan", "-f", tmp_path / "out.json.gz").code == 0


def test_what_is_left_out_is_told(drasat, examples, tmp_path):
    (tmp_path / "gadget.yaml").write_text("apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: g}\n")
    done = drasat("snapshot", "-f", tmp_path / "gadget.yaml", "-o", tmp_path / "out.json.gz")
    assert done.err == "drasat: ignored 1 object of other kinds: 1 Gadget of example.com/v1\n"


@pytest.mark.parametrize("way", ["option", "file", "environment"])
def test_the_key_may_be_given_in_three_ways(drasat, source, tmp_path, monkeypatch, way):
    (tmp_path / "key").write_text("sesame\n")
    words = {"option": ["--redact-key", "sesame"], "file": ["--redact-key", f"@{tmp_path / 'key'}"]}
    if way == "environment":
        monkeypatch.setenv("DRASAT_REDACT_KEY", "sesame")
    out = tmp_path / "out.json"
    assert drasat("snapshot", "-f", source, "-o", out, "--redact", *words.get(way, ())).code == 0
    expected = package.snapshot(str(source), redact=True, redact_key="sesame").objects
    assert package.snapshot(str(out)).objects == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--redact-key", "k"], "--redact-key needs --redact"),
        (["--redact", "--redact-key", ""], "the key is empty"),
        (["--redact", "--redact-key", "@nonexistent"], "No such file"),
        (["--time-limit", "soon"], "--time-limit"),
        (["--max-input-size", "much"], "--max-input-size"),
        (["--context", "c"], "for a cluster, not for files"),
        (["--output", "nonexistent/out.json"], "there is no folder 'nonexistent'"),
        (["--output", "."], "cannot be written"),
        (["--max-input-size", "10"], "more than 10 bytes"),
        (["--time-limit", "0.000001"], "within the time limit"),
    ],
)
def test_bad_usage_is_one_line_and_no_file(drasat, source, tmp_path, words, message):
    done = drasat("snapshot", "-f", source, "-o", tmp_path / "out.json", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert message in done.err
    assert not (tmp_path / "out.json").exists()


def test_without_kubectl_it_is_one_line(drasat, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    done = drasat("snapshot", "-o", tmp_path / "out.json.gz")
    assert (done.code, done.out) == (2, "")
    assert done.err == ("drasat: kubectl is not on the PATH; snapshot reads a cluster through it, or files with -f\n")


@pytest.mark.parametrize("content", ["", " \n\n"])
def test_an_empty_file_is_no_cluster(drasat, tmp_path, content):
    """As for every other command; a kubectl that failed leaves such a file."""
    (tmp_path / "empty.json").write_text(content)
    done = drasat("snapshot", "-f", tmp_path / "empty.json", "-o", tmp_path / "out.json")
    assert done == (2, "", f"drasat: {tmp_path / 'empty.json'}: is empty\n")
    assert not (tmp_path / "out.json").exists()
