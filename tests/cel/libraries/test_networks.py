from operator import itemgetter

import pytest

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


NETWORK_CONTAINS_SMALLER_NETWORKS = [
    ("cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16'))", "true", 6),
    ("cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", "true", 6),
    ("cidr('10.1.0.0/16').containsCIDR('10.0.0.0/8')", "false", 6),
    ("cidr('::/0').containsCIDR('::/64')", "true", 3),
    ("cidr('::/0').containsCIDR('10.0.0.0/8')", "false", 3),
    ("cidr('2001:db8::/32').containsCIDR('2001:db8::/64')", "true", 7),
    ('cidr("ff0e::1/16").containsCIDR(cidr("ff0e::1/16"))', "true", 5),
    ('cidr("1::/0").containsCIDR(cidr("1::/0"))', "true", 3),
    ('cidr("::1.2.3.4/24").containsCIDR(cidr("::1.2.3.4/24"))', "true", 7),
    ('cidr("fe80::1/24").containsCIDR(cidr("fe80::1/24"))', "true", 5),
    ('cidr("ff0e::1/64").containsCIDR(cidr("ff0e::1/64"))', "true", 6),
    ('cidr("fc00::1/0").containsCIDR(cidr("fc00::1/0"))', "true", 3),
    ('cidr("1:2:3:4:5:6:1.2.3.4/33").containsCIDR(cidr("1:2:3:4:5:6:1.2.3.4/33"))', "true", 9),
    ('cidr("::/128").containsCIDR(cidr("::/128"))', "true", 9),
    ('cidr("fe80::1/64").containsCIDR(cidr("fe80::1/64"))', "true", 6),
    ('cidr("::1.2.3.4/128").containsCIDR("::1/64")', "false", 10),
]  # fmt: skip


@pytest.mark.parametrize("row", NETWORK_CONTAINS_SMALLER_NETWORKS, ids=itemgetter(0))
def test_network_contains_smaller_networks(check, row):
    check(*row)


PARTS_OF_A_NETWORK = [
    ("cidr('10.1.2.3/8').masked()", "cidr(10.0.0.0/8)", 2),
    ("cidr('10.1.2.3/8').prefixLength()", "8", 2),
    ("cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')", "true", 4),
    ('cidr("fc00::1/33").prefixLength()', "33", 2),
    ('cidr("1:2:3:4:5:6:1.2.3.4/0") == cidr("1:2:3:4:5:6:1.2.3.4/0").masked()', "false", 8),
    ('cidr("ff0e::1/8") == cidr("ff0e::1/8").masked()', "false", 4),
    ('cidr("fc00::1/32") == cidr("fc00::1/32").masked()', "false", 4),
    ('cidr("0:0:0::fe80/0").prefixLength()', "0", 3),
    ('cidr("::1/33").prefixLength()', "33", 2),
    ('cidr("1:2:3:4:5:6:1.2.3.4/32").prefixLength()', "32", 4),
    ('cidr("254.10.1.192/0").prefixLength()', "0", 3),
    ('cidr("0.192.1.255/0") == cidr("0.192.1.255/0").masked()', "false", 6),
    ('cidr("fe80::1/16") == cidr("fe80::1/16").masked()', "false", 4),
]  # fmt: skip


@pytest.mark.parametrize("row", PARTS_OF_A_NETWORK, ids=itemgetter(0))
def test_parts_of_a_network(check, row):
    check(*row)


IS_CIDR_WITHOUT_ERROR = [
    ("isCIDR(s)", "false", 11),
    ("isCIDR('10.0.0.1/8')", "true", 1),
    ("isCIDR('10.0.0.1/33')", "false", 2),
    ("isCIDR('10.0.0.1/08')", "false", 2),
    ("isCIDR('10.0.0.1/')", "false", 1),
    ("isCIDR('10.0.0.1')", "false", 1),
    ("isCIDR('::ffff:1.2.3.4/96')", "false", 2),
    ("isCIDR('fe80::1%eth0/64')", "false", 2),
    ("isCIDR('10.0.0.1/+8')", "false", 2),
    ('isCIDR("::%/33")', "false", 1),
    ('isCIDR("256.256/+1")', "false", 1),
    ('isCIDR("fc00::1/16")', "true", 1),
    ('isCIDR("254.192.168.01/")', "false", 2),
    ('isCIDR("1:0:ff:1:0:FFFF:0:0:0")', "false", 3),
    ('isCIDR("256/128")', "false", 1),
    ('isCIDR("0:0:ff02::fe80:1/32")', "true", 2),
    ('isCIDR("224.10.0.01/ 8")', "false", 2),
    ('isCIDR("10.224..127.10/64")', "false", 2),
    ('isCIDR("168.224.168/64")', "false", 2),
    ('isCIDR(":::/33")', "false", 1),
    ('isCIDR("1:/32")', "false", 1),
    ('isCIDR(":00001:0:0:ff02:0db8/08")', "false", 3),
    ('isCIDR("ff0e::1/128")', "true", 2),
    ('isCIDR(":1/+1")', "false", 1),
    ('isCIDR("0:g:0:1:ff:0:0:00001/64")', "false", 3),
    ('isCIDR(":::/+1")', "false", 1),
    ('isCIDR("10.169.127.1/1/2")', "false", 2),
    ('isCIDR("01.168.256/129")', "false", 2),
    ('isCIDR("::ffff:1.2.3.4/ 8")', "false", 2),
    ('isCIDR(":::")', "false", 1),
    ('isCIDR("1234.168.224.192/08")', "false", 2),
    ('isCIDR("::1::/-1")', "false", 1),
    ('isCIDR("0:FFFF:fe80:0:g:1:0:0/ 8")', "false", 3),
    ('isCIDR("254.168.192.1/128")', "false", 2),
    ('isCIDR("12345:0:00001:FFFF:0:0:12345::2001/")', "false", 4),
    ('isCIDR("::1/-1")', "false", 1),
    ('isCIDR("1:")', "false", 1),
    ('isCIDR("1/a")', "false", 1),
    ('isCIDR("224.168.168./1/2")', "false", 2),
    ('isCIDR("fc00::1/128")', "true", 2),
    ('isCIDR("::1/ 8")', "false", 1),
    ('isCIDR("256.254.1/16")', "false", 2),
    ('isCIDR("1:2:3:4:5:6:1.2.3.4/-1")', "false", 3),
    ('isCIDR("1::/-1")', "false", 1),
    ('isCIDR("fe80:0:g%eth0/24")', "false", 2),
]  # fmt: skip


@pytest.mark.parametrize("row", IS_CIDR_WITHOUT_ERROR, ids=itemgetter(0))
def test_is_cidr_without_error(check, row):
    check(*row)


NETWORKS_IN_TEXT = [
    ("cidr('10.0.0.0/8')", "cidr(10.0.0.0/8)", 1),
    ("cidr('10.0.0.1/8')", "cidr(10.0.0.1/8)", 1),
    ("cidr('10.1.2.3/8').ip()", "ip(10.1.2.3)", 2),
    ("string(cidr('10.1.2.3/8'))", '"10.1.2.3/8"', 2),
    ("string(cidr('2001:0db8::/32'))", '"2001:db8::/32"', 3),
    ("cidr('10.1.2.3/8') == cidr('10.1.2.3/8')", "true", 3),
    ("cidr('10.1.2.3/8') == cidr('10.0.0.0/8')", "false", 3),
    ("cidr('10.1.2.3/8') == dyn('10')", "error: no such overload", 2),
    ("type(cidr('10.1.2.3/8'))", "net.CIDR", 2),
    ('string(cidr("::1/33"))', '"::1/33"', 2),
    ('cidr("::/8")', "cidr(::/8)", 1),
    ('string(cidr("::1/16"))', '"::1/16"', 2),
    ('cidr("::/33")', "cidr(::/33)", 1),
    ('string(cidr("fe80::1/0"))', '"fe80::1/0"', 2),
    ('string(cidr("1::/33"))', '"1::/33"', 2),
    ('cidr("::1/24")', "cidr(::1/24)", 1),
    ('string(cidr("fe80::1/8"))', '"fe80::1/8"', 2),
]  # fmt: skip


@pytest.mark.parametrize("row", NETWORKS_IN_TEXT, ids=itemgetter(0))
def test_networks_in_text(check, row):
    check(*row)


CANONICAL_TEXT = [
    ("ip.isCanonical('::1')", "true", 1),
    ("ip.isCanonical('0:0::1')", "false", 2),
    ("ip.isCanonical('::FF')", "false", 1),
    ('ip.isCanonical("::0db8:0:0db8:fe80:0")', "false", 4),
    ('ip.isCanonical("1::")', "true", 1),
    ('ip.isCanonical("1:2:3:4:5:6:1.2.3.4")', "false", 4),
    ('ip.isCanonical("0db8:0:ff02:fe80:0:0:0db8:fe80")', "false", 6),
    ('ip.isCanonical("::ffff:1.2.3.4")', 'error: IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed', 3),
    ('ip.isCanonical("::")', "true", 1),
    ('ip.isCanonical("::1")', "true", 1),
    ('ip.isCanonical("ff0e::1")', "true", 2),
    ('ip.isCanonical("0:0db8:0db8:0:0:0:0db8:2001")', "false", 6),
    ('ip.isCanonical("::1.2.3.4")', "false", 2),
    ('ip.isCanonical("fe80::1")', "true", 2),
    ('ip.isCanonical("192.254.254.10")', "true", 3),
    ('ip.isCanonical("10.169.254.254")', "true", 3),
]  # fmt: skip


@pytest.mark.parametrize("row", CANONICAL_TEXT, ids=itemgetter(0))
def test_canonical_text(check, row):
    check(*row)


KINDS_OF_ADDRESSES = [
    ("ip('::1').family()", "6", 2),
    ("ip('10.0.0.1').family()", "4", 2),
    ("ip('0.0.0.0').isUnspecified()", "true", 2),
    ("ip('::').isUnspecified()", "true", 2),
    ("ip('127.1.2.3').isLoopback()", "true", 2),
    ("ip('::1').isLoopback()", "true", 2),
    ("ip('224.0.0.1').isLinkLocalMulticast()", "true", 2),
    ("ip('224.0.1.1').isLinkLocalMulticast()", "false", 2),
    ("ip('ff02::1').isLinkLocalMulticast()", "true", 2),
    ("ip('ff05::1').isLinkLocalMulticast()", "false", 2),
    ("ip('ff12::1').isLinkLocalMulticast()", "true", 2),
    ("ip('169.254.1.1').isLinkLocalUnicast()", "true", 3),
    ("ip('fe80::1').isLinkLocalUnicast()", "true", 2),
    ("ip('febf::1').isLinkLocalUnicast()", "true", 2),
    ("ip('fec0::1').isLinkLocalUnicast()", "false", 2),
    ("ip('255.255.255.255').isGlobalUnicast()", "false", 3),
    ("ip('10.0.0.1').isGlobalUnicast()", "true", 2),
    ("ip('0.0.0.0').isGlobalUnicast()", "false", 2),
    ("ip('fe80::1').isGlobalUnicast()", "false", 2),
    ("ip('240.0.0.1').isGlobalUnicast()", "true", 2),
    ("ip('ff0e::1').isGlobalUnicast()", "false", 2),
    ("ip('fd00::1').isGlobalUnicast()", "true", 2),
    ('ip("::").isLinkLocalUnicast()', "false", 2),
    ('ip("fe80::1").isGlobalUnicast()', "false", 2),
    ('ip("1::").isUnspecified()', "false", 2),
    ('ip("::1").isLinkLocalMulticast()', "false", 2),
    ('ip("::1").isLoopback()', "true", 2),
    ('ip("fc00::1").isGlobalUnicast()', "true", 2),
    ('ip("fc00::1").isLoopback()', "false", 2),
    ('ip("10.224.192.192").isGlobalUnicast()', "true", 3),
    ('ip("127.192.192.192").isUnspecified()', "false", 3),
    ('ip("::1.2.3.4").family()', "6", 2),
    ('ip("::").isUnspecified()', "true", 2),
]  # fmt: skip


@pytest.mark.parametrize("row", KINDS_OF_ADDRESSES, ids=itemgetter(0))
def test_kinds_of_addresses(check, row):
    check(*row)


IS_IP_WITHOUT_ERROR = [
    ("isIP(s)", "false", 11),
    ("isIP('10.0.0.1')", "true", 1),
    ("isIP('::1')", "true", 1),
    ("isIP('::ffff:1.2.3.4')", "false", 2),
    ("isIP('fe80::1%eth0')", "false", 2),
    ("isIP('010.0.0.1')", "false", 1),
    ("isIP('1.2.3')", "false", 1),
    ("isIP('::g')", "false", 1),
    ("isIP('')", "false", 0),
    ('isIP("ff0e::1")', "true", 1),
    ('isIP("0:FFFF:12345:0:0:0:fe80:")', "false", 3),
    ('isIP(":1")', "false", 1),
    ('isIP(".192.254.127")', "false", 2),
    ('isIP("::1::")', "false", 1),
    ('isIP("1:2:3:4:5:6:1.2.3.4")', "true", 2),
    ('isIP("fe80:0db8::0:00001:fe80:0:0db8")', "false", 3),
    ('isIP("0:g:0:0:12345")', "false", 2),
    ('isIP("192")', "false", 1),
    ('isIP("::1.2.3.4")', "true", 1),
    ('isIP("2001:0:0:2001:0:0:12345:12345%eth0")', "false", 4),
    ('isIP("fe80::1")', "true", 1),
    ('isIP("FFFF:0:0:ff02:0:0db8::0:FFFF")', "false", 3),
    ('isIP("0:0:0:fe80:2001:ff02")', "false", 2),
    ('isIP("1234.1234.01")', "false", 2),
    ('isIP("1")', "false", 1),
    ('isIP("12345:2001:1:0:fe80:2001:g")', "false", 3),
    ('isIP("fc00::1")', "true", 1),
    ('isIP(".192.224.")', "false", 1),
    ('isIP("127.169.01")', "false", 1),
    ('isIP("g:FFFF:0:0:ff02:0:0db8:ff02")', "false", 3),
    ('isIP("127.10.255.10")', "true", 2),
    ('isIP("0.01.254")', "false", 1),
    ('isIP("::%")', "false", 1),
    ('isIP(":1:0:1:ff")', "false", 1),
    ('isIP("192.256.1234.169.1")', "false", 2),
    ('isIP("254.169.01.a")', "false", 2),
    ('isIP("10.127.168.256")', "false", 2),
    ('isIP("00001:0:ff:0db8:12345:0:g:0")', "false", 3),
    ('isIP("0.127.0.169")', "true", 2),
    ('isIP("10.1")', "false", 1),
    ('isIP("g:0:0:0:0::1::")', "false", 2),
    ('isIP("ff:0:00001:1:0:0")', "false", 2),
    ('isIP("FFFF:0:ff:12345:fe80:0:ff02:12345:::")', "false", 4),
    ('isIP("00001:FFFF:fe80:2001::12345:0db8:0")', "false", 4),
    ('isIP("1:")', "false", 1),
]  # fmt: skip


@pytest.mark.parametrize("row", IS_IP_WITHOUT_ERROR, ids=itemgetter(0))
def test_is_ip_without_error(check, row):
    check(*row)


ADDRESSES_IN_TEXT = [
    ("ip('10.0.0.1')", "ip(10.0.0.1)", 1),
    ("ip('::ffff:1.2.3.4')", 'error: IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed', 2),
    ("ip('fe80::1%eth0')", 'error: IP address "fe80::1%eth0" with zone value is not allowed', 2),
    ("string(ip('2001:0db8::0:1'))", '"2001:db8::1"', 3),
    ("string(ip('1:0:0:2:0:0:0:3'))", '"1:0:0:2::3"', 3),
    ("string(ip('1:2:3:4:5:6:0:8'))", '"1:2:3:4:5:6:0:8"', 3),
    ("ip('::1') == ip('0::1')", "true", 3),
    ("ip('::1') == ip('1.2.3.4')", "false", 3),
    ("ip('::1') == dyn('::1')", "error: no such overload", 2),
    ("type(ip('::1'))", "net.IP", 2),
    ('ip("::ffff:1.2.3.4")', 'error: IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed', 2),
    ('string(ip("fc00::1"))', '"fc00::1"', 2),
    ('ip("::1.2.3.4")', "ip(::102:304)", 1),
    ('ip("::1")', "ip(::1)", 1),
    ('ip("ff0e::1")', "ip(ff0e::1)", 1),
    ('ip("0::FFFF:0:0:0:0:2001")', "ip(0:0:ffff::2001)", 2),
    ('string(ip("ff:fe80:ff:0::0:0"))', '"ff:fe80:ff::"', 3),
    ('string(ip("224.10.1.224"))', '"224.10.1.224"', 3),
    ('string(ip("::1.2.3.4"))', '"::102:304"', 2),
    ('ip("1:2:3:4:5:6:1.2.3.4")', "ip(1:2:3:4:5:6:102:304)", 2),
    ('string(ip("0:0:fe80:0:0:0:0:0db8"))', '"0:0:fe80::db8"', 4),
    ('string(ip("168.1.224.1"))', '"168.1.224.1"', 3),
    ('ip("fe80::1")', "ip(fe80::1)", 1),
    ('ip("::0:1:0db8")', "ip(::1:db8)", 1),
    ('ip("::")', "ip(::)", 1),
    ('string(ip("FFFF:0::fe80:FFFF"))', '"ffff::fe80:ffff"', 3),
    ('ip("1::")', "ip(1::)", 1),
    ('ip("127.192.169.1")', "ip(127.192.169.1)", 2),
    ('ip("0:0:0:ff02:0:0:0:0")', "ip(0:0:0:ff02::)", 2),
    ('string(ip("1::"))', '"1::"', 2),
    ('ip("224.254.0.10")', "ip(224.254.0.10)", 2),
    ('string(ip("1:2:3:4:5:6:1.2.3.4"))', '"1:2:3:4:5:6:102:304"', 3),
]  # fmt: skip


@pytest.mark.parametrize("row", ADDRESSES_IN_TEXT, ids=itemgetter(0))
def test_addresses_in_text(check, row):
    check(*row)
