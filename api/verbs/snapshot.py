"""The public function ``snapshot``, and its result."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..models.formats.errors import plural
from ..models.manifests.sources import InputSource, open_sources, parse_input_size
from ..models.results.snapshot import SnapshotDocument
from . import Result

if TYPE_CHECKING:
    import pandas

    from ..integrations.snapshot.snapshot import Snapshot


class SnapshotResult(Result[SnapshotDocument]):
    """The answer of ``snapshot``: what was read, and the objects themselves."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__(snapshot.document)
        self._snapshot = snapshot

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The objects, ready for ``load``."""
        return self._snapshot.objects

    @property
    def names(self) -> Mapping[str, str]:
        """The new name of each name that was replaced; empty unless redacted."""
        return self._snapshot.names

    def write(self, path: str | PathLike[str]) -> None:
        """Write the objects as one List, packed if the name ends in ``.gz``; the file appears when it is complete.

        Raises ``OSError``.
        """
        from ..integrations.snapshot.snapshot import write_snapshot

        write_snapshot(self._snapshot, Path(path))

    def summary(self) -> str:
        """How many objects of how many kinds there are."""
        return f"{plural(len(self.objects), 'object')} of {plural(len(self.document.kinds), 'kind')}"

    def to_frame(self) -> pandas.DataFrame:
        """One row a kind."""
        fields = ("kind", "api_version", "resource_version", "objects")
        return self._frame([[getattr(one, field) for field in fields] for one in self.document.kinds], fields)


def snapshot(
    *sources: InputSource,
    recursive: bool = False,
    context: str | None = None,
    kubeconfig: str | None = None,
    namespace: str | None = None,
    redact: bool = False,
    redact_key: str | bytes | None = None,
    time_limit: float = 300.0,
    max_input_size: int | str | None = None,
) -> SnapshotResult:
    """Read every kind of object that drasat knows, from a cluster through kubectl, or from files.

    Parameters
    ----------
    sources
        As for ``load``; none for a cluster.
    recursive
        Read folders and the folders below them.
    context, kubeconfig
        The options of kubectl.
    namespace
        Restrict kinds that are in namespaces to this one. Devices that claims of others hold then seem to be free.
    redact
        Replace names, labels, images, environment and annotations; what decides an answer stays.
    redact_key
        The same key gives the same names to the same objects. Without one a random key is made and forgotten.
    time_limit
        Seconds for all of it.
    max_input_size
        As for ``load``; also the most bytes of all answers of the API server.

    Raises
    ------
    ValueError
        If kubectl is missing, fails or takes too long, or may not read a kind that every answer needs (ResourceSlice,
        DeviceClass, ResourceClaim, Node, Pod).
    InputError
        If a file cannot be read.

    """
    from ..integrations.snapshot.kubectl import Access, Deadline
    from ..integrations.snapshot.snapshot import snapshot_of_cluster, snapshot_of_files

    if redact_key is not None and not redact_key:
        raise ValueError("the key for redaction is empty")
    if sources and (context is not None or kubeconfig is not None):
        raise ValueError("context and kubeconfig are for a cluster, not for files")
    deadline = Deadline(time_limit)
    key = None
    if redact:
        key = redact_key.encode() if isinstance(redact_key, str) else redact_key or secrets.token_bytes(32)
    if sources:
        inputs = open_sources(sources, recursive, max_input_size)
        return SnapshotResult(snapshot_of_files(inputs, namespace, key, deadline))
    access = Access(context, kubeconfig, parse_input_size(max_input_size))
    return SnapshotResult(snapshot_of_cluster(access, namespace, key, deadline))
