from operator import itemgetter

import pytest
from support.data import cases

NETWORK_CONTAINS_ADDRESSES_OF_ITS_KIND = [
    ("cidr('10.0.0.0/8').containsIP(ip('10.1.2.3'))", "true", 3),
    ("cidr('10.0.0.0/8').containsIP('10.1.2.3')", "true", 3),
    ("cidr('10.0.0.0/8').containsIP(s)", "error: no such overload", 13),
    ("cidr('10.0.0.0/8').containsIP('x')", "error: no such overload", 3),
    ("cidr('10.0.0.0/8').containsIP('::1')", "false", 3),
    ("cidr('2001:db8::/32').containsIP(ip('2001:db8::1'))", "true", 5),
    ("cidr('2001:db8::/32').containsIP('2001:db8::1')", "true", 5),
    ('cidr("::1/8").containsIP("1234.224.10")', "error: no such overload", 4),
    ('cidr("ff:0:0:0:0::FFFF:0/33").containsIP("FFFF:0:ff02")', "error: no such overload", 6),
    ('cidr("0:0:1:0:0:0:1:ff02/24").containsIP("::0:0db8::ff:ff:12345:fe80:0")', "error: no such overload", 7),
]  # fmt: skip


@pytest.mark.parametrize("row", NETWORK_CONTAINS_ADDRESSES_OF_ITS_KIND, ids=itemgetter(0))
def test_network_contains_addresses_of_its_kind(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/networks", "network_contains_smaller_networks"), ids=itemgetter(0))
def test_network_contains_smaller_networks(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/networks", "parts_of_a_network"), ids=itemgetter(0))
def test_parts_of_a_network(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/networks", "is_cidr_without_error"), ids=itemgetter(0))
def test_is_cidr_without_error(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/networks", "networks_in_text"), ids=itemgetter(0))
def test_networks_in_text(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/networks", "canonical_text"), ids=itemgetter(0))
def test_canonical_text(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/networks", "kinds_of_addresses"), ids=itemgetter(0))
def test_kinds_of_addresses(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/networks", "is_ip_without_error"), ids=itemgetter(0))
def test_is_ip_without_error(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/networks", "addresses_in_text"), ids=itemgetter(0))
def test_addresses_in_text(check, row):
    check(*row)
