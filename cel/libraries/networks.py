"""IP addresses and networks (``ip``, ``cidr``): no zones, no IPv4-mapped IPv6."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address

from ..errors import CelRuntimeError
from ..estimate_sizes import plus, scaled
from ..library import Estimate, Function, Operand, Range
from ..types import BOOL, CIDR, INT, IP, STRING
from ..values import Value, register, size_of
from .addresses import Address, Cidr, address_text, parse_cidr, parse_ip
from .costs import REPLACE_FACTOR, STRING_FACTOR, Rule, part, per_length
from .declare import function, method, no_overload, only

_MOST_BYTES = 16
_BROADCAST = IPv4Address("255.255.255.255")


register(IPv4Address, IP, size=lambda address: 4)
register(IPv6Address, IP, size=lambda address: _MOST_BYTES)
register(Cidr, CIDR, size=lambda cidr: -(-cidr.bits // 8))


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except CelRuntimeError:
            return False
        return True

    return check


def _is_canonical(text: str) -> bool:
    return address_text(parse_ip(text)) == text


def _is_link_local_multicast(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return address.packed[:3] == b"\xe0\x00\x00"
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 0x02


def _is_global_unicast(address: Address) -> bool:
    """All that is none of the special kinds; private addresses are global here."""
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not special and address != _BROADCAST


def _contains_ip(cidr: Cidr, address: Address) -> bool:
    return address.version == cidr.address.version and _prefix(cidr, address) == _prefix(cidr, cidr.address)


def _prefix(cidr: Cidr, address: Address) -> int:
    return int(address) >> (address.max_prefixlen - cidr.bits)


def _contains_ip_text(cidr: Cidr, text: str) -> bool:
    try:
        return _contains_ip(cidr, parse_ip(text))
    except CelRuntimeError:
        raise no_overload() from None


def _contains_cidr(cidr: Cidr, other: Cidr) -> bool:
    return other.bits >= cidr.bits and _contains_ip(cidr, other.address)


def _masked(cidr: Cidr) -> Cidr:
    return Cidr(cidr.network.network_address, cidr.bits)


def _containment(parsed: bool, network: bool) -> Rule:
    """For ``containsIP`` and, when ``network`` is set, ``containsCIDR``; the other side may have to be parsed.

    What counts is how many bytes the prefix has.
    """

    def cost(args: tuple[Value, ...], result: Value) -> int:
        prefix = size_of(args[0])
        total = part(prefix, REPLACE_FACTOR)
        if network:
            total += part(prefix, STRING_FACTOR) + 1
        return total if parsed else total + part(size_of(args[1]), STRING_FACTOR)

    def estimate(operands: tuple[Operand, ...]) -> Estimate:
        total = scaled(Range(1, _MOST_BYTES), REPLACE_FACTOR)
        if network:
            total = plus(total, scaled(Range(1, _MOST_BYTES), STRING_FACTOR), Range(1, 1))
        return Estimate(total if parsed else plus(total, scaled(operands[1].size, STRING_FACTOR)))

    return {"cost": cost, "estimate": estimate}


def _test(name: str, apply: Callable[[Address], bool]) -> Function:
    return only(name, method(f"ip_{name}", (IP,), BOOL, apply))


FUNCTIONS: tuple[Function, ...] = (
    Function(
        "ip",
        (
            function("string_to_ip", (STRING,), IP, parse_ip, **per_length()),
            method("cidr_ip", (CIDR,), IP, lambda cidr: cidr.address),
        ),
    ),
    only("isIP", function("is_ip", (STRING,), BOOL, _parses(parse_ip), **per_length())),
    only("ip.isCanonical", function("ip_is_canonical", (STRING,), BOOL, _is_canonical, **per_length(REPLACE_FACTOR))),
    only("family", method("ip_family", (IP,), INT, lambda address: address.version)),
    _test("isUnspecified", lambda address: address.is_unspecified),
    _test("isLoopback", lambda address: address.is_loopback),
    _test("isLinkLocalMulticast", _is_link_local_multicast),
    _test("isLinkLocalUnicast", lambda address: address.is_link_local),
    _test("isGlobalUnicast", _is_global_unicast),
    only("cidr", function("string_to_cidr", (STRING,), CIDR, parse_cidr, **per_length())),
    only("isCIDR", function("is_cidr", (STRING,), BOOL, _parses(parse_cidr), **per_length())),
    Function(
        "containsIP",
        (
            method("cidr_contains_ip_ip", (CIDR, IP), BOOL, _contains_ip, **_containment(True, False)),
            method("cidr_contains_ip_string", (CIDR, STRING), BOOL, _contains_ip_text, **_containment(False, False)),
        ),
    ),
    Function(
        "containsCIDR",
        (
            method("cidr_contains_cidr", (CIDR, CIDR), BOOL, _contains_cidr, **_containment(True, True)),
            method(
                "cidr_contains_cidr_string",
                (CIDR, STRING),
                BOOL,
                lambda cidr, text: _contains_cidr(cidr, parse_cidr(text)),
                **_containment(False, True),
            ),
        ),
    ),
    only("masked", method("cidr_masked", (CIDR,), CIDR, _masked)),
    only("prefixLength", method("cidr_prefix_length", (CIDR,), INT, lambda cidr: cidr.bits)),
    Function(
        "string",
        (
            function("ip_to_string", (IP,), STRING, address_text),
            function("cidr_to_string", (CIDR,), STRING, str),
        ),
    ),
)
