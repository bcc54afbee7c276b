"""Opaque parameters, and the lists of config entries in classes, claims and allocations."""

from collections.abc import Sequence
from typing import Protocol

from ..claims import OpaqueDeviceConfiguration
from .checked_names import check_driver
from .findings import Findings, Path, byte_length, compact_json

CONFIG_MAX = 32
PARAMETERS_MAX = 10240


class ConfigEntry(Protocol):
    """A config entry of any kind."""

    @property
    def opaque(self) -> OpaqueDeviceConfiguration | None:
        """Parameters for a driver; the only form there is."""


def check_configs(found: Findings, path: Path, entries: Sequence[ConfigEntry] | None, limit: int = CONFIG_MAX) -> None:
    """Check a list of config entries."""
    found.at_most(path, entries, limit)
    for index, entry in enumerate(entries or ()):
        if entry.opaque is None:
            found.required((*path, index, "opaque"), "exactly one configuration is required")
        else:
            _check_opaque(found, (*path, index, "opaque"), entry.opaque)


def _check_opaque(found: Findings, path: Path, opaque: OpaqueDeviceConfiguration) -> None:
    check_driver(found, (*path, "driver"), opaque.driver)
    path = (*path, "parameters")
    if opaque.parameters is None:
        found.required(path)
        return
    if not isinstance(opaque.parameters, dict):
        found.invalid(path, opaque.parameters, "must be a valid JSON object")
    # Measured as compact JSON, in which clients send it.
    if byte_length(compact_json(opaque.parameters)) > PARAMETERS_MAX:
        found.too_long(path, PARAMETERS_MAX)
