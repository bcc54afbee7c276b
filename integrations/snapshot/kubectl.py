"""Reads lists of objects from an API server through ``kubectl get --raw``, page by page.

kubectl brings authentication, contexts and proxies. Raw requests keep what its printed lists lose: the resource version
of each list and the token of its next page.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import monotonic
from typing import IO, Any, Literal, Self
from urllib.parse import quote

from ...models.formats.errors import Unreadable, one_line
from ...models.formats.json import read_json
from ...models.kubernetes.kinds import KINDS, Kind
from ...models.manifests.sources import DEFAULT_INPUT_SIZE
from ...models.results.snapshot import SnapshotKind, UnreadKind

# Objects of one answer of the API server; kubectl's own default.
PAGE_SIZE = 500
# A list whose token expires is started again so often; the last time it is asked for in one piece.
_RESTARTS = 2
# Kinds that are read at the same time.
_PARALLEL = 4
_LONGEST_MESSAGE = 500
_LONGEST_ERRORS = 65536
_READ_SIZE = 2**20


class SnapshotError(ValueError):
    """Why there is no snapshot; one line."""


class _RequestRefused(Exception):
    """The API server answered with an error; ``reason`` is the one of its Status, such as Forbidden."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class Deadline:
    """A point in time after which work stops. ``clock`` gives seconds."""

    def __init__(self, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._end = clock() + seconds

    def remaining(self) -> float:
        """Seconds that are left. Raises ``SnapshotError`` if none is."""
        left = self._end - self._clock()
        if left <= 0:
            raise self.exceeded()
        return left

    def exceeded(self, what: str = "the snapshot was not finished") -> SnapshotError:
        """The error for what took too long."""
        return SnapshotError(f"{what} within the time limit of {self._seconds:g}s; nothing was written")


@dataclass(frozen=True, slots=True)
class Access:
    """The cluster to read: kubectl's own options, of which None is kubectl's default, and the most bytes to take."""

    context: str | None = None
    kubeconfig: str | None = None
    max_size: int = DEFAULT_INPUT_SIZE

    @property
    def arguments(self) -> list[str]:
        """As kubectl takes them."""
        given = {"--context": self.context, "--kubeconfig": self.kubeconfig}
        return [f"{option}={value}" for option, value in given.items() if value is not None]


@dataclass(slots=True)
class ReadObjects:
    """What a cluster told: objects as the API server gives them, the lists they are from, and what was not read."""

    objects: list[dict[str, Any]] = field(default_factory=list)
    kinds: list[SnapshotKind] = field(default_factory=list)
    unread: list[UnreadKind] = field(default_factory=list)


def read_cluster(access: Access, namespace: str | None, deadline: Deadline, page_size: int = PAGE_SIZE) -> ReadObjects:
    """Read all objects of the kinds that drasat knows, in the newest version that it and the server know.

    ``namespace`` restricts kinds that are in namespaces. Raises ``SnapshotError`` if kubectl is missing or fails, or at
    the deadline. An interrupt leaves no child process behind: the main thread, where it arrives, starts none.
    """
    kubectl = Kubectl(access, deadline)
    with kubectl, ThreadPoolExecutor(_PARALLEL) as pool:
        try:
            return _read_all(kubectl, namespace, page_size, pool)
        except BaseException:
            kubectl.stop()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _read_all(kubectl: Kubectl, namespace: str | None, page_size: int, pool: ThreadPoolExecutor) -> ReadObjects:
    found = ReadObjects()
    groups = sorted({known.group for known in KINDS.values() if known.served})
    served = pool.submit(_served_versions, kubectl).result()
    resources = pool.map(lambda group: _discover(kubectl, group, served.get(group, ())), groups)
    tasks: list[tuple[Kind, _Resource]] = []
    for group, listed in zip(groups, resources, strict=True):
        for known in KINDS.values():
            if known.group != group:
                continue
            resource = listed.get(known.name)
            if resource is None:
                found.unread.append(UnreadKind(known.name, group, "NotServed"))
            else:
                tasks.append((known, resource))
    answers = pool.map(lambda task: _read_kind(kubectl, task[0], task[1], namespace, page_size), tasks)
    for (known, resource), answer in zip(tasks, answers, strict=True):
        if isinstance(answer, _RequestRefused):
            if answer.reason not in ("Forbidden", "NotFound"):
                raise SnapshotError(str(answer))
            reason: Literal["Forbidden", "NotServed"] = "Forbidden" if answer.reason == "Forbidden" else "NotServed"
            found.unread.append(UnreadKind(known.name, known.group, reason, str(answer)))
        else:
            objects, version = answer
            found.objects += objects
            found.kinds.append(SnapshotKind(known.name, resource.api_version, version, len(objects)))
    return found


@dataclass(frozen=True, slots=True)
class _Resource:
    """A kind as the server offers it."""

    api_version: str
    plural: str
    namespaced: bool

    def path(self, namespace: str | None) -> str:
        start = "/apis/" if "/" in self.api_version else "/api/"
        middle = f"/namespaces/{quote(namespace, safe='')}" if namespace is not None and self.namespaced else ""
        return f"{start}{self.api_version}{middle}/{self.plural}"


def _served_versions(kubectl: Kubectl) -> dict[str, tuple[str, ...]]:
    """The versions of each API group that the server has."""
    try:
        answer = kubectl.get("/apis")
    except _RequestRefused as error:
        raise SnapshotError(str(error)) from None
    served = {
        str(group.get("name")): tuple(_texts(group.get("versions"), "version")) for group in _dicts(answer, "groups")
    }
    return {**served, "": ("v1",)}


def _discover(kubectl: Kubectl, group: str, served: tuple[str, ...]) -> dict[str, _Resource]:
    """The resource of each known kind of a group, in the newest version that both sides know."""
    wanted = [known for known in KINDS.values() if known.group == group]
    versions = [
        version for version in dict.fromkeys(v for known in wanted for v in known.versions) if version in served
    ]
    found: dict[str, _Resource] = {}
    best: dict[str, int] = {}
    for version in versions:
        api_version = f"{group}/{version}".removeprefix("/")
        try:
            answer = kubectl.get(f"/apis/{api_version}" if group else f"/api/{version}")
        except _RequestRefused as error:
            if error.reason != "NotFound":
                raise SnapshotError(str(error)) from None
            continue
        for resource in _dicts(answer, "resources"):
            kind, plural = str(resource.get("kind")), str(resource.get("name"))
            for known in wanted:
                if known.name != kind or version not in known.versions or "/" in plural:
                    continue
                rank = known.versions.index(version)
                if "list" in (resource.get("verbs") or ()) and rank < best.get(kind, len(known.versions)):
                    best[kind] = rank
                    found[kind] = _Resource(api_version, plural, resource.get("namespaced") is True)
    return found


def _read_kind(
    kubectl: Kubectl, known: Kind, resource: _Resource, namespace: str | None, page_size: int
) -> tuple[list[dict[str, Any]], str] | _RequestRefused:
    """All objects of a kind, and the resource version that they are of; a token that expires starts the list again."""
    path = resource.path(namespace)
    for attempt in range(_RESTARTS + 1):
        size = page_size if attempt < _RESTARTS else None
        objects: list[dict[str, Any]] = []
        version = ""
        try:
            for page in _pages(kubectl, path, size):
                version = str(_metadata(page).get("resourceVersion") or version)
                head = {"apiVersion": resource.api_version, "kind": known.name}
                objects += ({**head, **item, **head} for item in _dicts(page, "items"))
        except _RequestRefused as error:
            if error.reason not in ("Expired", "Gone") or attempt == _RESTARTS:
                return error
        else:
            return objects, version
    raise AssertionError("the last attempt returns")


def _pages(kubectl: Kubectl, path: str, size: int | None) -> Iterator[dict[str, Any]]:
    """The pages of a list, all of one resource version; without a size the list in one piece."""
    token = ""
    while True:
        query = "&".join(
            [*([f"limit={size}"] if size else []), *([f"continue={quote(token, safe='')}"] if token else [])]
        )
        page = kubectl.get(f"{path}?{query}" if query else path)
        yield page
        following = str(_metadata(page).get("continue") or "")
        if not following:
            return
        if following == token:
            raise SnapshotError(f"{path}: the server gives the same page again and again")
        token = following


def _metadata(page: dict[str, Any]) -> dict[str, Any]:
    metadata = page.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _dicts(answer: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    listed = answer.get(name)
    return (item for item in listed if isinstance(item, dict)) if isinstance(listed, list) else iter(())


def _texts(listed: Any, name: str) -> Iterator[str]:
    return (str(item.get(name)) for item in _dicts({name: listed}, name))


class Kubectl:
    """Runs kubectl, one process a request; requests may come from several threads. A context that ends all of them."""

    def __init__(self, access: Access, deadline: Deadline) -> None:
        program = shutil.which("kubectl")
        if program is None:
            raise SnapshotError("kubectl is not on the PATH; snapshot reads a cluster through it, or files with -f")
        self._access = access
        self._command = [program, *access.arguments, "get", "--raw"]
        self._deadline = deadline
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the processes that run, and start no others."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            _kill(process)

    def get(self, path: str) -> dict[str, Any]:
        """The answer of the API server to a request.

        Raises ``_RequestRefused`` for an error of the server, ``SnapshotError`` for anything else.
        """
        output, errors, code = self._run(path)
        if code != 0:
            raise _failure(path, errors, code)
        value = read_json(output, 0, output)
        if isinstance(value, Unreadable) or not isinstance(value, dict):
            raise SnapshotError(f"kubectl get --raw {path}: the answer is no JSON object")
        return value

    def _run(self, path: str) -> tuple[bytes, bytes, int]:
        left = self._deadline.remaining()
        with tempfile.TemporaryFile() as errors:
            process = self._start(path, errors)
            late = threading.Event()

            def expire() -> None:
                late.set()
                _kill(process)

            timer = threading.Timer(left, expire)
            timer.start()
            try:
                output = self._output(process)
                code = process.wait()
            finally:
                timer.cancel()
                _kill(process)
                with self._lock:
                    self._running.discard(process)
            if late.is_set():
                raise self._deadline.exceeded(f"kubectl get --raw {path} did not answer")
            errors.seek(0)
            return output, errors.read(_LONGEST_ERRORS), code

    def _output(self, process: subprocess.Popen[bytes]) -> bytes:
        """All that it prints, unless that is more than a file of manifests may hold."""
        assert process.stdout is not None
        pieces = []
        with process.stdout:
            while piece := process.stdout.read(_READ_SIZE):
                pieces.append(piece)
                with self._lock:
                    self._bytes += len(piece)
                most = self._access.max_size
                if self._bytes > most:
                    hint = "--max-input-size raises the limit, --namespace restricts them"
                    raise SnapshotError(f"the cluster's objects are more than {most} bytes; {hint}")
        return b"".join(pieces)

    def _start(self, path: str, errors: IO[bytes]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise SnapshotError("interrupted")
            try:
                # A session of its own: what kubectl starts ends with it, also where that holds its pipes open.
                process = subprocess.Popen(
                    [*self._command, path],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    start_new_session=True,
                )
            except OSError as error:
                raise SnapshotError(f"{self._command[0]}: {error.strerror or error}") from None
            self._running.add(process)
            return process


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it started; nothing happens if it has ended."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _failure(path: str, errors: bytes, code: int) -> _RequestRefused | SnapshotError:
    """What a failed kubectl means: its last line tells, which begins with the reason of the server's Status."""
    lines = [line for line in errors.decode(errors="replace").splitlines() if line.strip()]
    line = (
        one_line(lines[-1].strip())[:_LONGEST_MESSAGE] if lines else f"kubectl get --raw {path} failed with code {code}"
    )
    start, _, rest = line.partition(" (")
    if start == "Error from server":
        reason, _, message = rest.partition("): ")
        return _RequestRefused(reason, message)
    return SnapshotError(f"kubectl: {line.removeprefix('error: ')}")


def unread_lines(unread: Iterable[UnreadKind]) -> list[str]:
    """Lines about the kinds that may not be read, and one about those that the server does not have."""
    listed = list(unread)
    absent = sorted(one.title for one in listed if one.reason == "NotServed")
    lines = [f"may not read {one.title}: {one.message}" for one in listed if one.reason == "Forbidden"]
    return [*lines, *([f"the server does not have {', '.join(absent)}"] if absent else [])]
