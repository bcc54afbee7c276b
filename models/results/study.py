"""The document of ``study``: variants of a question with the figures that each came to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from ..formats.decode import Model
from .common import API_VERSION

Figure: TypeAlias = bool | int | float | str | None


class StudyVariant(Model, kw_only=True, omit_defaults=False):
    """A variant: the verb that was asked, what sets it apart, and the figures of its document.

    ``outcome`` is that of the verb, or ``Failed``; then ``error`` says why and there are no figures. ``settings`` are
    as written in the study.
    """

    name: str
    verb: str
    settings: dict[str, Any]
    outcome: str
    figures: dict[str, Figure]
    error: str = ""


class StudyDocument(Model, kw_only=True, omit_defaults=False):
    """What ``study -o json`` prints, with variants in the order of the study.

    ``cluster`` is a hash of the input. ``settings`` are the names of what sets variants apart, ``figures`` those of all
    figures, both in the order of columns. ``notices`` say what of the question was left aside. ``timings`` are seconds
    by variant, as measured when it was computed.
    """

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["StudyResult"] = "StudyResult"
    cluster: str
    settings: tuple[str, ...]
    figures: tuple[str, ...]
    variants: tuple[StudyVariant, ...]
    notices: tuple[str, ...] = ()
    timings: dict[str, float] | msgspec.UnsetType = msgspec.UNSET


def display_setting(value: Any) -> str:
    """A value of a setting in a few words, for names of variants and in tables."""
    if isinstance(value, Mapping):
        return " ".join(f"{key} {display_setting(inner)}" for key, inner in value.items()) or "none"
    if isinstance(value, list | tuple):
        return "+".join(map(display_setting, value)) or "none"
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
