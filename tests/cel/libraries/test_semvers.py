from operator import itemgetter

import pytest

IS_SEMVER_WITHOUT_ERROR = [
    ("isSemver(s)", "false", 11),
    ("isSemver(s,true)", "false", 11),
    ("isSemver('1.2.3')", "true", 1),
    ("isSemver('v1.2',true)", "true", 1),
]  # fmt: skip


@pytest.mark.parametrize("row", IS_SEMVER_WITHOUT_ERROR, ids=itemgetter(0))
def test_is_semver_without_error(check, row):
    check(*row)


PARTS_OF_A_VERSION = [
    ("semver('1.2.3').major()", "1", 2),
    ("semver('1.2.3').minor()", "2", 2),
    ("semver('1.2.3').patch()", "3", 2),
    ("semver('18446744073709551615.0.0').major()", "-1", 4),
]  # fmt: skip


@pytest.mark.parametrize("row", PARTS_OF_A_VERSION, ids=itemgetter(0))
def test_parts_of_a_version(check, row):
    check(*row)


VERSIONS_ARE_COMPARED_BY_PRECEDENCE = [
    ("semver('1.2.3').isGreaterThan(semver('1.2.2'))", "true", 3),
    ("semver('1.2.3').isLessThan(semver('1.2.2'))", "false", 3),
    ("semver('1.2.3').compareTo(semver('1.2.2'))", "1", 3),
]  # fmt: skip


@pytest.mark.parametrize("row", VERSIONS_ARE_COMPARED_BY_PRECEDENCE, ids=itemgetter(0))
def test_versions_are_compared_by_precedence(check, row):
    check(*row)


VERSIONS_IN_TEXT = [
    ("semver(s)", "error: No Major.Minor.Patch elements found", 11),
    ("semver('1.2.3')", "semver(1.2.3)", 1),
    ("semver('v1.2')", "error: No Major.Minor.Patch elements found", 1),
    ("semver('v1.2',true)", "semver(1.2.0)", 1),
    ("semver('1.2.3',false)", "semver(1.2.3)", 1),
    ("semver('1.2.3') == semver('1.2.3+b')", "true", 3),
    ("semver('1.2.3') == dyn('1.2.3')", "error: no such overload", 2),
    ("dyn('1.2.3') == semver('1.2.3')", "false", 2),
    ("semver('')", "error: Version string empty", 0),
    ("semver('1.2')", "error: No Major.Minor.Patch elements found", 1),
    ("semver('1.2.x')", 'error: Invalid character(s) found in patch number "x"', 1),
    ("semver('01.2.3')", 'error: Major number must not contain leading zeroes "01"', 1),
    ("semver('1.2.3-01')", 'error: Numeric PreRelease version must not contain leading zeroes "01"', 1),
    ("semver('1.2.3-a..b')", "error: Prerelease is empty", 1),
    ("semver('1.2.3-\u00e9')", 'error: Invalid character(s) found in prerelease "\u00e9"', 1),
    ("semver('1.2.3+')", "error: Build meta data is empty", 1),
    ("semver('1.2.3-')", "error: Prerelease is empty", 1),
    ("semver('a.2.3')", 'error: Invalid character(s) found in major number "a"', 1),
    ("semver('1-alpha', true)", "error: short version cannot contain PreRelease/Build meta data", 1),
    ("semver('x', true)", 'error: Invalid character(s) found in major number "x"', 1),
    ("semver('1..2', true)", 'error: strconv.ParseUint: parsing "": invalid syntax', 1),
    ("type(semver('1.2.3'))", "kubernetes.Semver", 2),
    ("semver(s) == semver(s)", "error: No Major.Minor.Patch elements found", 23),
]  # fmt: skip


@pytest.mark.parametrize("row", VERSIONS_IN_TEXT, ids=itemgetter(0))
def test_versions_in_text(check, row):
    check(*row)
