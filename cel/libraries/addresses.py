"""IP addresses and networks in text: no zones, no IPv4-mapped IPv6, errors as Go words them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import TypeAlias

from ..errors import CelRuntimeError

Address: TypeAlias = IPv4Address | IPv6Address

_IPV4 = re.compile(r"[0-9.]*")
_BITS = re.compile(r"0|[1-9][0-9]{0,2}")
_FAILED = "parse error during conversion from string: "
_CIDR_FAILED = "network address " + _FAILED


@dataclass(frozen=True, slots=True)
class Cidr:
    """An address and how many bits of it name the network."""

    address: Address
    bits: int

    @property
    def network(self) -> IPv4Network | IPv6Network:
        """The network the address is in."""
        return ip_network((int(self.address).to_bytes(self.address.max_prefixlen // 8, "big"), self.bits), strict=False)

    def __str__(self) -> str:
        return f"{address_text(self.address)}/{self.bits}"


def address_text(address: Address) -> str:
    """An address as Go writes it: the shortest form, in lower case."""
    return str(address)


def _read_address(text: str) -> Address:
    """An address as netip.ParseAddr reads it, zones left out; ``ValueError`` with Go's reason."""
    first = next((mark for mark in text if mark in ".:%"), "")
    if first == ".":
        return _read_ipv4(text)
    if first != ":":
        raise ValueError("unable to parse IP" if not first else "missing IPv6 address")
    try:
        return IPv6Address(text)
    except AddressValueError:
        raise ValueError("unable to parse IP") from None


def _read_ipv4(text: str) -> IPv4Address:
    if not _IPV4.fullmatch(text):
        raise ValueError("unexpected character")
    fields = text.split(".")
    for number, digits in enumerate(fields):
        _check_octet(digits)
        if number == 3 and len(fields) > 4:
            raise ValueError("IPv4 address too long")
    if len(fields) < 4:
        raise ValueError("IPv4 address too short")
    return IPv4Address(text)


def _check_octet(digits: str) -> None:
    if not digits:
        raise ValueError("IPv4 field must have at least one digit")
    if len(digits) > 1 and digits[0] == "0":
        raise ValueError("IPv4 field has octet with leading zero")
    if len(digits) > 3 or int(digits) > 255:
        raise ValueError("IPv4 field has value >255")


def parse_ip(text: str) -> Address:
    """Read an address; CelRuntimeError for anything else."""
    try:
        address = _read_address(text)
    except ValueError as error:
        raise CelRuntimeError(f'IP Address "{text}" {_FAILED}ParseAddr("{text}"): {error}') from None
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            raise CelRuntimeError(f'IP address "{text}" with zone value is not allowed')
        if address.ipv4_mapped is not None:
            raise CelRuntimeError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return address


def parse_cidr(text: str) -> Cidr:
    """Read an address with a prefix length; CelRuntimeError for anything else."""
    try:
        return _read_cidr(text)
    except ValueError as error:
        raise CelRuntimeError(f'{_CIDR_FAILED}{_CIDR_FAILED}netip.ParsePrefix("{text}"): {error}') from None


def _read_cidr(text: str) -> Cidr:
    start, slash, bits = text.rpartition("/")
    if not slash:
        raise ValueError("no '/'")
    try:
        address = _read_address(start)
    except ValueError as error:
        raise ValueError(f'ParseAddr("{start}"): {error}') from None
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        raise ValueError("IPv6 zones cannot be present in a prefix")
    if not _BITS.fullmatch(bits):
        raise ValueError(f'bad bits after slash: "{bits}"')
    if int(bits) > address.max_prefixlen:
        raise ValueError("prefix length out of range")
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        raise CelRuntimeError(f'{_CIDR_FAILED}IPv4-mapped IPv6 address "{text}" is not allowed')
    return Cidr(address, int(bits))
