"""Results in the forms that are the same for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from .exits import write, write_lines

if TYPE_CHECKING:
    from ..results import Result


class Allocated(Protocol):
    """A result with claims that were allocated."""

    def manifests(self) -> list[dict[str, Any]]:
        """The claims, with ``status.allocation``."""


def json(result: Result) -> None:
    """Print the document."""
    write(result.to_json())


def yaml(result: Result) -> None:
    """Print the document as YAML."""
    write(result.to_yaml())


def manifests(result: Allocated) -> None:
    """Print the allocated claims, ready for kubectl."""
    from ..models.writing import to_yaml

    write(to_yaml(result.manifests()))


def names(result: Allocated) -> None:
    """Print the names of the allocated claims, as kubectl takes them."""
    write_lines(f"resourceclaim.resource.k8s.io/{manifest['metadata']['name']}" for manifest in result.manifests())
