from operator import itemgetter

import pytest
from support.data import cases

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


@pytest.mark.parametrize("row", cases("cel/semvers", "versions_in_text"), ids=itemgetter(0))
def test_versions_in_text(check, row):
    check(*row)
