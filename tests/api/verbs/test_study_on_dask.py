"""Studies on a real Dask scheduler with two workers, of which one is killed."""

import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import drasat

pytest.importorskip("distributed")
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
STUDY = {"product": {"scale": [1, 2], "seed": list(range(8))}}
_PATIENCE = 120


@contextmanager
def running(*words):
    """A program of Dask, ended at the end."""
    command = [sys.executable, "-m", *map(str, words), "--no-dashboard"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    """The address of a scheduler, and its two workers."""
    from distributed import Client

    file = tmp_path_factory.mktemp("dask") / "scheduler.json"
    worker = ("distributed.cli.dask_worker", "--scheduler-file", file, "--nthreads", 1, "--no-nanny")
    scheduler = running("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", 0, "--scheduler-file", file)
    with scheduler as program, running(*worker) as first, running(*worker) as second:
        began = time.monotonic()
        while not file.exists() and program.poll() is None and time.monotonic() - began < _PATIENCE:
            time.sleep(0.1)
        with Client(scheduler_file=str(file), set_as_default=False) as client:
            client.wait_for_workers(2, timeout=_PATIENCE)
            address = client.scheduler.address
        yield address, first, second


@pytest.fixture(scope="module")
def cluster():
    return drasat.load(EXAMPLES / "study")


def test_a_worker_that_is_killed_changes_nothing(cluster, dask, tmp_path):
    """What it had is computed by the other one, which unpacks the cluster itself if it has to."""
    address, first, _ = dask

    def kill(done, total, left):
        if done == 2:
            first.send_signal(signal.SIGKILL)

    result = drasat.study(cluster, STUDY, dask=address, watch=kill, keep=tmp_path)
    assert first.wait(_PATIENCE) == -signal.SIGKILL
    assert not result.failed
    assert result.to_json() == drasat.study(cluster, STUDY).to_json()
    assert drasat.study(cluster, STUDY, dask=address, keep=tmp_path).kept == len(result.variants)


def test_an_executor_of_dask_serves_as_any_other(cluster, dask):
    from distributed import Client

    study = {"product": {"seed": [0, 1]}}
    with Client(dask[0], set_as_default=False) as client:
        result = drasat.study(cluster, study, executor=client.get_executor())
    assert result.to_json() == drasat.study(cluster, study).to_json()


def test_an_address_without_scheduler_is_one_line(cluster):
    with pytest.raises(ValueError, match="there is no Dask scheduler at 'nowhere:") as refused:
        drasat.study(cluster, STUDY, dask="nowhere://127.0.0.1:1")
    assert "\n" not in str(refused.value)
