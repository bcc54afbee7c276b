"""The document of ``snapshot``, which also stands in the metadata of the file that it writes."""

from __future__ import annotations

from typing import Literal

from ..formats.decode import Model
from .common import API_VERSION


class SnapshotKind(Model, kw_only=False, omit_defaults=False):
    """A kind that was read: the resource version of the list (empty for files), and the number of its objects."""

    kind: str
    api_version: str
    resource_version: str
    objects: int


class UnreadKind(Model, kw_only=False, omit_defaults=False):
    """A kind that is missing: the server forbids it, or does not have it. ``message`` is the server's."""

    kind: str
    group: str
    reason: Literal["Forbidden", "NotServed"]
    message: str = ""

    @property
    def title(self) -> str:
        """The kind with its group, as in ``Job.batch``."""
        return f"{self.kind}.{self.group}".removesuffix(".")


class SnapshotDocument(Model, kw_only=True, omit_defaults=False):
    """What a snapshot holds. ``namespace`` is null for all; ``ignored`` counts objects of other kinds in files."""

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["SnapshotResult"] = "SnapshotResult"
    redacted: bool
    namespace: str | None
    kinds: tuple[SnapshotKind, ...]
    unread: tuple[UnreadKind, ...]
    ignored: dict[str, int]
