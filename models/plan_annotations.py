"""Annotations that say what a plan needs to know beyond the API: gangs, copies and weights."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

GANG = "drasat.dev/gang"
GANG_DOMAIN = "drasat.dev/gang-domain"
REPLICAS = "drasat.dev/replicas"
VALUE = "drasat.dev/value"

REPLICAS_MAX = 1_000_000
# What an object weighs that does not say.
DEFAULT_VALUE = Decimal(1)

_NAME_MAX = 253
_is_name = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII).fullmatch
_is_label = re.compile(r"(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?").fullmatch
_is_count = re.compile("0|[1-9][0-9]{0,6}").fullmatch
_is_decimal = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,6})?", re.ASCII).fullmatch


class AnnotationError(ValueError):
    """An annotation that cannot be read; one line with its field."""


class PlanAnnotations(NamedTuple):
    """What the annotations of an object say; None is what they do not say."""

    gang: str | None = None
    domain: str | None = None
    replicas: int | None = None
    value: Decimal | None = None


NOTHING = PlanAnnotations()


def annotation_problems(annotations: Mapping[str, str] | None) -> Iterator[tuple[str, str]]:
    """Yield the key of each annotation that cannot be read, and what is wrong with it."""
    for key in _RULES if annotations else ():
        text = (annotations or {}).get(key)
        if text is not None and (problem := _problem(key, text)):
            yield key, problem


def read_annotations(annotations: Mapping[str, str] | None, value: str = VALUE) -> PlanAnnotations:
    """Read them; ``value`` names the annotation that holds the weight.

    Raises ``AnnotationError``: for objects made in Python, for others are refused when they are read, and for a weight
    of the caller's own.
    """
    if not annotations:
        return NOTHING
    texts = {key: annotations[key] for key in (*_RULES, value) if key in annotations}
    for key, text in texts.items():
        if problem := _problem(key, text):
            raise AnnotationError(f"metadata.annotations[{key}]: {problem}")
    replicas, weight = texts.get(REPLICAS), texts.get(value)
    return PlanAnnotations(
        texts.get(GANG),
        texts.get(GANG_DOMAIN),
        None if replicas is None else int(replicas),
        None if weight is None else Decimal(weight).normalize(),
    )


def is_decimal(text: str) -> bool:
    """Whether the text is a decimal number that is not negative, of at most 12 digits before the point and 6 behind."""
    return _is_decimal(text) is not None


def _problem(key: str, text: str) -> str | None:
    fits, rule = _RULES.get(key, _RULES[VALUE])
    return None if fits(text) else f'Invalid value: "{text[:_NAME_MAX]}": {rule}'


def _is_short(fits: Callable[[str], Any]) -> Callable[[str], bool]:
    return lambda text: len(text) <= _NAME_MAX and fits(text) is not None


_RULES: dict[str, tuple[Callable[[str], bool], str]] = {
    GANG: (
        _is_short(_is_name),
        f"must be a name of at most {_NAME_MAX} letters, digits, '-', '_' and '.', with a letter or digit at both ends",
    ),
    GANG_DOMAIN: (_is_short(_is_label), "must be the key of a node label, such as topology.kubernetes.io/zone"),
    REPLICAS: (
        lambda text: _is_count(text) is not None and int(text) <= REPLICAS_MAX,
        f"must be a whole number from 0 to {REPLICAS_MAX}",
    ),
    VALUE: (is_decimal, "must be a decimal number, at least 0, of at most 12 digits before the point and 6 behind it"),
}
