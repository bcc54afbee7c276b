"""What calls cost and say where values turn out to be of types that cel-go did not know beforehand (cel.md 1.5)."""

from operator import itemgetter

import pytest

CALLS_ON_DYN_COST_WHAT_CEL_GO_CANNOT_TELL = [
    ("dyn([3,1,2]).sort()", "[1, 2, 3]", 1),
    ('dyn(["b","a"]).sort()', '["a", "b"]', 1),
    ("dyn([]).sort()", "[]", 1),
    ("[1,2].sortBy(y, dyn(y))", "[1, 2]", 32),
    ("size(l.sortBy(y, y))", "7", 209),
    ("size(l.sortBy(y, d))", "7", 97),
    ('["b","a"].sortBy(y, dyn(y))', '["a", "b"]', 32),
    ('cidr("10.0.0.0/8").containsIP(dyn("10.0.0.1"))', "true", 2),
    ('cidr("10.0.0.0/8").containsIP(dyn(ip("10.0.0.1")))', "true", 4),
    ('cidr("10.0.0.0/8").containsCIDR(dyn("10.0.0.0/16"))', "true", 4),
    ('cidr("10.0.0.0/8").containsCIDR(dyn(cidr("10.0.0.0/16")))', "true", 7),
    ('dyn(cidr("10.0.0.0/8")).containsIP("10.0.0.1")', "true", 4),
    ('cidr("2001::/64").containsIP(dyn("2001::1"))', "true", 3),
    ('cidr("2001::/64").containsCIDR(dyn("2001::1/100"))', "true", 5),
    ('cidr("10.0.0.0/8").containsIP(dyn(1))', "error: no such overload: containsIP(net.CIDR, int)", 2),
]  # fmt: skip


@pytest.mark.parametrize("row", CALLS_ON_DYN_COST_WHAT_CEL_GO_CANNOT_TELL, ids=itemgetter(0))
def test_calls_on_dyn_cost_what_cel_go_cannot_tell(check, row):
    check(*row)


REFUSED_CALLS_COST_AS_THE_FIRST_OVERLOAD = [
    ('dyn("a").max()', "error: no such overload: max(string)", 0),
    ('dyn("a").sum()', "error: no such overload: sum(string)", 0),
    ('dyn("a").isSorted()', "error: no such overload: isSorted(string)", 0),
    ('dyn("abcdefghijklmnopqrstu").max()', "error: no such overload: max(string)", 2),
    ("d.min()", "error: no such overload: min(string)", 4),
    ('dyn("abcdefghijklmnopqrstu").indexOf(dyn(null))', "error: no such overload: indexOf(string, null_type)", 2),
    ('dyn(b"abcdefghijklmnopqrstu").lastIndexOf(dyn(1))', "error: no such overload: lastIndexOf(bytes, int)", 2),
    ("d.sort()", "error: no such overload", 2),
    ("dyn(1).sort()", "error: no such overload: sort", 1),
    ('dyn(duration("1s")).size()', "error: no such overload", 1),
    ("dyn(1).size()", "error: no such overload: size", 1),
    ("dyn(null).flatten()", "error: no such overload: null_type.flatten()", 12),
    ("dyn(null).flatten(1)", "error: no such overload: null_type.flatten(int)", 12),
    ("dyn([1]).unwrapOpt()", "error: no such overload: unwrapOpt(list)", 1),
    ('optional.unwrap(dyn(["a"]))', "error: no such overload: optional.unwrap(list)", 1),
    ('dyn([1]).join("x")', "error: no such overload: join(list, string)", 1),
    ("dyn([1]).join()", "error: no such overload: join(list)", 1),
    ('"a".find(dyn(1))', "error: no such overload: find(string, int)", 1),
    ('dyn(1).find("b")', "error: no such overload", 1),
    ('dyn(1).matches("b")', "error: no such overload", 1),
    ('matches(dyn(1), "b")', "error: no such overload", 1),
    ('matches(dyn(duration("1s")), dyn(null))', "error: no such overload", 1),
]  # fmt: skip


@pytest.mark.parametrize("row", REFUSED_CALLS_COST_AS_THE_FIRST_OVERLOAD, ids=itemgetter(0))
def test_refused_calls_cost_as_the_first_overload(check, row):
    check(*row)


EMPTY_SUMS_ARE_OF_THE_TYPE_OF_THE_LIST = [
    ("[1.0].filter(q, q > 2.0).sum()", "0.0", 3),
    ("[1u].filter(q, q > 2u).sum()", "0u", 3),
    ("[duration('1s')].filter(q, q > duration('2s')).sum()", "duration(0s)", 3),
    ("[1].filter(q, q > 2).sum()", "0", 3),
    ("[].sum()", "0", 0),
    ("dyn([]).sum()", "0", 0),
    ("[1.0].filter(q, q > 2.0).sum() == 0.0", "true", 4),
    ("[1.0].filter(q, q > 1.0 || true).sum()", "1.0", 17),
]  # fmt: skip


@pytest.mark.parametrize("row", EMPTY_SUMS_ARE_OF_THE_TYPE_OF_THE_LIST, ids=itemgetter(0))
def test_empty_sums_are_of_the_type_of_the_list(check, row):
    check(*row)


OPTIONALS_ARE_AS_LARGE_AS_THEIR_VALUES = [
    ("optional.of(s) == optional.of(s)", "true", 14),
    ("optional.of(1) == optional.of(2)", "false", 3),
    ("optional.of([1,2,3,4,5,6,7,8,9,10,11,12]) != optional.of([1,2,3,4,5,6,7,8,9,10,11,12])", "false", 4),
    ("optional.of(optional.of(s)) == optional.of(optional.of(s))", "true", 16),
    ("optional.of(s) == optional.none()", "false", 4),
    ("optional.of(l) == optional.of(l)", "true", 5),
    ("dyn(s).contains(dyn(optional.of(s)))", "error: no such overload", 105),
    ("dyn(s).startsWith(dyn(optional.of(s)))", "error: no such overload", 15),
    ("strings.quote(dyn(optional.of(s)))", "error: no such overload: strings.quote(optional_type)", 13),
    ("dyn(optional.of(s)).format(dyn([]))", "error: no such overload: format(optional_type, list)", 13),
    ("dyn(optional.of(s)).lowerAscii()", "error: no such overload: lowerAscii(optional_type)", 4),
    ('dyn(optional.of(s)).replace("a", "b")', "error: no such overload: replace(optional_type, string, string)", 4),
]  # fmt: skip


@pytest.mark.parametrize("row", OPTIONALS_ARE_AS_LARGE_AS_THEIR_VALUES, ids=itemgetter(0))
def test_optionals_are_as_large_as_their_values(check, row):
    check(*row)


ADDRESSES_AND_NETWORKS_HAVE_A_SIZE = [
    ('ip("2001::1") == ip("2001::1")', "true", 3),
    ('ip("2001::1") != ip("2001::1")', "false", 4),
    ('ip("1.2.3.4") != ip("1.2.3.4")', "false", 3),
    ('cidr("2001::1/128") == cidr("2001::1/128")', "true", 5),
    ('dyn(ip("2001::1")).replace("a", "b")', "error: no such overload: replace(net.IP, string, string)", 6),
    ('dyn(cidr("2001::1/128")).replace("a", "b")', "error: no such overload: replace(net.CIDR, string, string)", 7),
    ('dyn(cidr("2001::1/0")).replace("a", "b")', "error: no such overload: replace(net.CIDR, string, string)", 2),
    ('dyn(ip("2001::1")).lowerAscii()', "error: no such overload: lowerAscii(net.IP)", 4),
    ('dyn("a").contains(dyn(ip("2001::1")))', "error: no such overload", 4),
    ('sets.contains(dyn(null), dyn(ip("10.0.0.1")))', "error: no such overload: sets.contains(null_type, net.IP)", 7),
]  # fmt: skip


@pytest.mark.parametrize("row", ADDRESSES_AND_NETWORKS_HAVE_A_SIZE, ids=itemgetter(0))
def test_addresses_and_networks_have_a_size(check, row):
    check(*row)
