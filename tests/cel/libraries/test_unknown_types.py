"""What calls cost and say where values turn out to be of types that cel-go did not know beforehand (cel.md 1.5)."""

from operator import itemgetter

import pytest
from support.data import cases


@pytest.mark.parametrize("row", cases("cel/unknown-types", "dyn"), ids=itemgetter(0))
def test_calls_on_dyn_cost_what_cel_go_cannot_tell(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/unknown-types", "refused"), ids=itemgetter(0))
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


@pytest.mark.parametrize("row", cases("cel/unknown-types", "optionals_are_as_large_as_their_values"), ids=itemgetter(0))
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
