"""A cluster behind a small API server, read with the real kubectl and with a stand-in."""

import shutil
import sys
from pathlib import Path

import pytest

STUB = Path(__file__).parents[2] / "support" / "kubectl_stub.py"


def write_kubectl(folder, script):
    """Put a program of this name and text into a folder of its own."""
    folder.mkdir(exist_ok=True)
    program = folder / "kubectl"
    program.write_text(script)
    program.chmod(0o755)
    return folder


def _use(which, monkeypatch, tmp_path):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path))
    if which == "stub":
        folder = write_kubectl(tmp_path / "bin", f"#!{sys.executable} -IS\n{STUB.read_text()}")
        monkeypatch.setenv("PATH", str(folder), prepend=":")
    elif shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")


@pytest.fixture(params=["stub", "real"])
def each_kubectl(request, monkeypatch, tmp_path):
    """The kubectl that is on the PATH; the real one is skipped where none is installed."""
    _use(request.param, monkeypatch, tmp_path)


@pytest.fixture
def kubectl(monkeypatch, tmp_path):
    """Some kubectl on the PATH: the real one, which starts faster, where it is installed."""
    _use("real" if shutil.which("kubectl") else "stub", monkeypatch, tmp_path)
