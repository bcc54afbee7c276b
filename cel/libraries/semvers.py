"""``semver()`` and what can be asked of a version."""

from __future__ import annotations

from ...models.versions import Version
from ..errors import CelRuntimeError
from ..library import Function
from ..types import BOOL, INT, SEMVER, STRING
from ..values import register
from .costs import per_length
from .declare import function, method, only

register(Version, SEMVER)


def _parse(text: str, normalize: bool = False) -> Version:
    try:
        return Version.parse_normalized(text) if normalize else Version.parse(text)
    except ValueError as error:
        raise CelRuntimeError(str(error)) from None


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _parse(text, normalize)
    except CelRuntimeError:
        return False
    return True


def _int64(number: int) -> int:
    """Upstream counts in uint64 and converts without a look."""
    return number if number < 2**63 else number - 2**64


_TWO = (SEMVER, SEMVER)

FUNCTIONS: tuple[Function, ...] = (
    Function(
        "semver",
        (
            function("string_to_semver", (STRING,), SEMVER, _parse, **per_length()),
            function("string_bool_to_semver", (STRING, BOOL), SEMVER, _parse, **per_length()),
        ),
    ),
    Function(
        "isSemver",
        (
            function("is_semver_string", (STRING,), BOOL, _is_semver, **per_length()),
            function("is_semver_string_bool", (STRING, BOOL), BOOL, _is_semver, **per_length()),
        ),
    ),
    only("major", method("semver_major", (SEMVER,), INT, lambda v: _int64(v.major))),
    only("minor", method("semver_minor", (SEMVER,), INT, lambda v: _int64(v.minor))),
    only("patch", method("semver_patch", (SEMVER,), INT, lambda v: _int64(v.patch))),
    only("isGreaterThan", method("semver_is_greater_than", _TWO, BOOL, lambda a, b: a.key > b.key)),
    only("isLessThan", method("semver_is_less_than", _TWO, BOOL, lambda a, b: a.key < b.key)),
    only("compareTo", method("semver_compare_to", _TWO, INT, lambda a, b: (a.key > b.key) - (a.key < b.key))),
)
