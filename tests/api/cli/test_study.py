"""``drasat study``: files, formats, exit codes."""

import json
from pathlib import Path

import pandas
import pytest

from drasat.verbs import study_run

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "study"
STUDY = {"product": {"scale": [1, 2], "seed": [0, 1]}, "figures": ["placed", "asked"]}


@pytest.fixture
def study(tmp_path):
    file = tmp_path / "study.json"
    file.write_text(json.dumps(STUDY))
    return file


@pytest.mark.parametrize("suffix", ["parquet", "csv", "json"])
def test_a_study_is_written_by_suffix(drasat, study, tmp_path, suffix):
    out = tmp_path / f"out.{suffix}"
    done = drasat("study", "-f", EXAMPLE, "--study", study, "-o", out)
    assert (done.code, done.err) == (0, "")
    if suffix == "json":
        placed = [one["figures"]["placed"] for one in json.loads(out.read_text())["variants"]]
    else:
        read = {"parquet": pandas.read_parquet, "csv": pandas.read_csv}[suffix]
        placed = list(read(out)["placed"])
    assert placed == [5, 5, 8, 8]
    content = out.read_bytes()
    again = drasat("study", "-f", EXAMPLE, "--study", study, "-o", out, "--keep", tmp_path / "other")
    assert again.err == ""
    assert out.read_bytes() == content
    kept = drasat("study", "-f", EXAMPLE, "--study", study, "-o", out)
    assert kept.err == f"4 of 4 variants were there already: {out}.variants\n"
    assert (kept.out, out.read_bytes()) == (done.out, content)


def test_times_are_there_on_request_only(drasat, study, tmp_path):
    plain = json.loads(drasat("study", "-f", EXAMPLE, "--study", study, "-o", "json").out)
    timed = json.loads(drasat("study", "-f", EXAMPLE, "--study", study, "-o", "json", "--timings").out)
    assert timed.pop("timings").keys() == {one["name"] for one in plain["variants"]}
    assert timed == plain
    out = tmp_path / "out.csv"
    drasat("study", "-f", EXAMPLE, "--study", study, "-o", out, "--timings")
    assert (pandas.read_csv(out)["seconds"] > 0).all()


def test_workers_print_the_same(drasat, study):
    command = ("study", "-f", EXAMPLE, "--study", study, "-o", "wide")
    assert drasat(*command, "--workers", "2").out == drasat(*command).out


def test_a_failed_variant_is_told_and_is_exit_code_1(drasat, tmp_path):
    file = tmp_path / "study.yaml"
    file.write_text("product: {objective: [admitted, none]}")
    done = drasat("study", "-f", EXAMPLE, "--study", file)
    assert done.code == 1
    assert done.out.endswith("2 variants, 1 failed\n")
    assert done.err.startswith("objective=none: unknown stage 'none'")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--study", "none.yaml"], "none.yaml: No such file or directory"),
        (["--study", EXAMPLE], "is a folder, not a study"),
        (
            ["--study", EXAMPLE / "studies" / "budget.yaml", "-o", "out.xls"],
            "a study is written as .parquet, .csv, .json",
        ),
        (["--study", EXAMPLE / "studies" / "budget.yaml", "-o", "none/out.csv"], "there is no folder 'none'"),
        (["--study", EXAMPLE / "queue.yaml"], "must hold one study"),
        (["--study", EXAMPLE / "README.md"], "README.md"),
        (["--study", EXAMPLE / "studies" / "budget.yaml", "--keep", ""], "--keep: a path is empty"),
        (["--study", EXAMPLE / "studies" / "budget.yaml", "--workers", "2", "--dask", "tcp://a:1"], "not on several"),
    ],
)
def test_bad_usage_is_one_line(drasat, words, said):
    done = drasat("study", "-f", EXAMPLE, *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_a_study_is_not_written_over_itself(drasat, study):
    done = drasat("study", "-f", EXAMPLE, "--study", study, "-o", study)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"drasat: --output: {study} is the study itself\n"
    assert json.loads(study.read_text()) == STUDY


def test_an_interrupted_study_does_not_replace_a_complete_table(drasat, study, tmp_path, monkeypatch):
    out = tmp_path / "out.csv"
    assert drasat("study", "-f", EXAMPLE, "--study", study, "-o", out).code == 0
    complete = out.read_bytes()
    compute, asked = study_run.compute_variant, []

    def interrupted_at_the_third(shared, variant):
        asked.append(variant)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return compute(shared, variant)

    monkeypatch.setattr(study_run, "compute_variant", interrupted_at_the_third)
    keep = tmp_path / "other"
    done = drasat("study", "-f", EXAMPLE, "--study", study, "-o", out, "--keep", keep)
    assert (done.code, out.read_bytes()) == (130, complete)
    assert done.err == f"interrupted: {out} is not written; {keep} keeps what is finished\n"
    assert len(list(keep.iterdir())) == 2


def test_an_empty_or_broken_study_is_one_line(drasat, tmp_path):
    for text in ("", "a: [", "--- 1", "{}", "null", "product: {seed: [1]}\n---\nproduct: {seed: [2]}"):
        file = tmp_path / "study.yaml"
        file.write_text(text)
        done = drasat("study", "-f", EXAMPLE, "--study", file)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), text


def test_a_report_has_pictures_of_the_study(drasat, tmp_path):
    page = tmp_path / "report.html"
    done = drasat("study", "-f", EXAMPLE, "--study", EXAMPLE / "studies" / "budget.yaml", "--report", page)
    assert done.code == 0
    text = page.read_text()
    assert all(title in text for title in ("Curves", "Two settings", "Frontier", "Variants"))
