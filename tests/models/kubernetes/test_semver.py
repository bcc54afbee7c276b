import pickle
import re
from itertools import pairwise

import pytest

from drasat.models.kubernetes.semver import Version

GOOD = [
    "0.0.0", "1.2.3", "10.20.30", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-0", "1.0.0-00a", "1.0.0--", "1.0.0-1--",
    "1.0.0+b", "1.0.0+-", "1.0.0+01.x", "1.0.0-rc.1+b.01", "18446744073709551615.0.0",
    "1.0.0-18446744073709551615",
]  # fmt: skip
BAD = [
    "", "1", "1.2", "1.2.3.4", "v1.2.3", "V1.2.3", " 1.2.3", "1.2.3 ", "1.2.3\n", "01.2.3", "1.02.3", "1.2.03",
    "1..3", "1.2.", ".1.2", "-1.2.3", "1.2.x", "1.2.3-", "1.2.3+", "1.2.3-a..b", "1.2.3-01", "1.2.3+a+b",
    "1.2.3-a_b", "1.2.3-é", "1.2.٣", "18446744073709551616.0.0", "1.0.0-18446744073709551616", "9" * 30 + ".0.0",
]  # fmt: skip


@pytest.mark.parametrize("text", GOOD)
def test_strict_versions_keep_their_text(text):
    assert Version.parse(text).text == str(Version.parse(text)) == text


@pytest.mark.parametrize("text", BAD, ids=[text[:20].strip() or "blank" for text in BAD])
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match=r"number|Prerelease|PreRelease|prerelease|meta data|elements|empty|ParseUint"):
        Version.parse(text)


WORDED = [
    ("", "Version string empty"),
    ("1.2", "No Major.Minor.Patch elements found"),
    ("a.2.3", 'Invalid character(s) found in major number "a"'),
    ("1.2.x", 'Invalid character(s) found in patch number "x"'),
    ("01.2.3", 'Major number must not contain leading zeroes "01"'),
    ("1..3", 'strconv.ParseUint: parsing "": invalid syntax'),
    ("1.2.18446744073709551616", 'strconv.ParseUint: parsing "18446744073709551616": value out of range'),
    ("1.2.3-", "Prerelease is empty"),
    ("1.2.3-01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
    ("1.2.3-\u00e9", 'Invalid character(s) found in prerelease "\u00e9"'),
    ("1.2.3+", "Build meta data is empty"),
    ("1.2.3+a_b", 'Invalid character(s) found in build meta data "a_b"'),
    ("18446744073709551616.x.0-", 'strconv.ParseUint: parsing "18446744073709551616": value out of range'),
]


@pytest.mark.parametrize(("text", "message"), WORDED, ids=[row[0] or "empty" for row in WORDED])
def test_the_first_flaw_is_named_as_upstream_does(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Version.parse(text)


def test_message_does_not_repeat_long_text():
    with pytest.raises(ValueError, match=r"elements|number|meta data|empty|ParseUint") as caught:
        Version.parse("x" * 100_000 + ".0.0")
    assert len(str(caught.value)) < 300


def test_parts_are_numbers():
    version = Version.parse("1.22.333-rc.1+build")
    assert (version.major, version.minor, version.patch) == (1, 22, 333)


ORDER = [
    "0.0.1", "0.9.0", "1.0.0-0", "1.0.0-2", "1.0.0-10", "1.0.0--", "1.0.0-1--", "1.0.0-A", "1.0.0-alpha",
    "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0",
    "1.0.1", "1.2.0", "1.10.0", "2.0.0",
]  # fmt: skip


@pytest.mark.parametrize(("lower", "higher"), list(pairwise(ORDER)), ids=lambda v: v)
def test_precedence_is_that_of_semver(lower, higher):
    assert Version.parse(lower) < Version.parse(higher)
    assert Version.parse(higher) > Version.parse(lower)
    assert Version.parse(lower) != Version.parse(higher)


def test_build_metadata_does_not_count_but_is_kept():
    a, b = Version.parse("1.0.0+a"), Version.parse("1.0.0+b")
    assert a == b
    assert hash(a) == hash(b)
    assert not a < b
    assert a.text != b.text


NORMAL = [
    ("v1.2.3", "1.2.3"),
    ("1", "1.0.0"),
    ("1.2", "1.2.0"),
    ("v0", "0.0.0"),
    ("01.002.0003", "1.2.3"),
    ("000.00.00", "0.0.0"),
    ("1.0.0-alpha", "1.0.0-alpha"),
    ("1.0.00-alpha", "1.0.0-alpha"),
    ("v1.2.3-rc.1+b", "1.2.3-rc.1+b"),
    ("1.0.--", "1.0.0--"),
    ("0.10.-1--", "0.10.0-1--"),
]
NOT_NORMAL = [
    "",
    "v",
    "vv1.2.3",
    "V1.2.3",
    "1.",
    "1..2",
    ".1.2",
    "v.1.1",
    "1-alpha",
    "1.2-alpha",
    "1.2+b",
    "1.2.3.4",
    "x",
    "1.2.03-01",
]


@pytest.mark.parametrize(("text", "normal"), NORMAL, ids=[row[0] for row in NORMAL])
def test_normalizing_parse_completes_short_versions(text, normal):
    assert Version.parse_normalized(text).text == normal


@pytest.mark.parametrize("text", NOT_NORMAL, ids=[text or "empty" for text in NOT_NORMAL])
def test_normalizing_parse_still_refuses(text):
    with pytest.raises(ValueError, match=r"number|Prerelease|PreRelease|prerelease|meta data|elements|empty|ParseUint"):
        Version.parse_normalized(text)


def test_versions_can_be_pickled():
    assert pickle.loads(pickle.dumps(Version.parse("1.2.3-a"))) == Version.parse("1.2.3-a")


def test_long_versions_are_read_but_not_remembered():
    text = "1.0.0-" + "a" * 2000
    assert Version.parse(text) == Version.parse(text)
    assert Version.parse(text) is not Version.parse(text)
    assert Version.parse("1.0.0") is Version.parse("1.0.0")
