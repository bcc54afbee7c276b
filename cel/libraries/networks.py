"""IP addresses, networks and URLs: ``ip``, ``cidr``, ``url``, and the functions on their values.

Addresses have no zones, and IPv6 ones are not IPv4-mapped. All are read as Go reads them (``netip``, and
``ParseRequestURI`` for URLs), with Go's wording of errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import TypeAlias, TypeVar
from urllib.parse import unquote_plus

from ..declarations import Estimate, Function, Operand, Range
from ..errors import CelRuntimeError
from ..types import BOOL, CIDR, INT, IP, STRING, URL, list_of, map_of
from ..values import CelMap, Value, register, size_of
from . import declare
from .declare import CostRule, function, is_read_by, method, no_overload
from .strings import go_quote

_MOST_BYTES = 16
_BROADCAST = IPv4Address("255.255.255.255")
register(IPv4Address, IP, size=lambda address: 4)
register(IPv6Address, IP, size=lambda address: _MOST_BYTES)


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


def _containment(parsed: bool, network: bool) -> CostRule:
    """For ``containsIP`` and, when ``network`` is set, ``containsCIDR``; the other side may have to be parsed.

    What counts is how many bytes the prefix has.
    """

    def cost(args: tuple[Value, ...], result: Value) -> int:
        prefix = size_of(args[0])
        total = declare.scaled_cost(prefix, declare.REPLACE_FACTOR)
        if network:
            total += declare.scaled_cost(prefix, declare.STRING_FACTOR) + 1
        return total if parsed else total + declare.scaled_cost(size_of(args[1]), declare.STRING_FACTOR)

    def estimate(operands: tuple[Operand, ...]) -> Estimate:
        total = Range(1, _MOST_BYTES).scaled(declare.REPLACE_FACTOR)
        if network:
            total = total + Range(1, _MOST_BYTES).scaled(declare.STRING_FACTOR) + Range(1, 1)
        return Estimate(total if parsed else total + operands[1].size.scaled(declare.STRING_FACTOR))

    return {"cost": cost, "estimate": estimate}


def _address_test(name: str, apply: Callable[[Address], bool]) -> Function:
    return method(name, f"ip_{name}", (IP,), BOOL, apply)


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
        return f"{self.address}/{self.bits}"


register(Cidr, CIDR, size=lambda cidr: -(-cidr.bits // 8))


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
        if not digits:
            raise ValueError("IPv4 field must have at least one digit")
        if len(digits) > 1 and digits[0] == "0":
            raise ValueError("IPv4 field has octet with leading zero")
        if len(digits) > 3 or int(digits) > 255:
            raise ValueError("IPv4 field has value >255")
        if number == 3 and len(fields) > 4:
            raise ValueError("IPv4 address too long")
    if len(fields) < 4:
        raise ValueError("IPv4 address too short")
    return IPv4Address(text)


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


NETWORK_FUNCTIONS: tuple[Function, ...] = (
    function("ip", "string_to_ip", (STRING,), IP, parse_ip, **declare.cost_per_length()),
    method("ip", "cidr_ip", (CIDR,), IP, lambda cidr: cidr.address),
    function("isIP", "is_ip", (STRING,), BOOL, is_read_by(parse_ip), **declare.cost_per_length()),
    function(
        "ip.isCanonical", "ip_is_canonical", (STRING,), BOOL, lambda text: str(parse_ip(text)) == text,
        **declare.cost_per_length(declare.REPLACE_FACTOR),
    ),
    method("family", "ip_family", (IP,), INT, lambda address: address.version),
    _address_test("isUnspecified", lambda address: address.is_unspecified),
    _address_test("isLoopback", lambda address: address.is_loopback),
    _address_test("isLinkLocalMulticast", _is_link_local_multicast),
    _address_test("isLinkLocalUnicast", lambda address: address.is_link_local),
    _address_test("isGlobalUnicast", _is_global_unicast),
    function("cidr", "string_to_cidr", (STRING,), CIDR, parse_cidr, **declare.cost_per_length()),
    function("isCIDR", "is_cidr", (STRING,), BOOL, is_read_by(parse_cidr), **declare.cost_per_length()),
    # Where the type of the argument is open, the first overload decides it.
    method(
        "containsIP", "cidr_contains_ip_string", (CIDR, STRING), BOOL, _contains_ip_text, **_containment(False, False)
    ),
    method("containsIP", "cidr_contains_ip_ip", (CIDR, IP), BOOL, _contains_ip, **_containment(True, False)),
    method(
        "containsCIDR", "cidr_contains_cidr_string", (CIDR, STRING), BOOL,
        lambda cidr, text: _contains_cidr(cidr, parse_cidr(text)), **_containment(False, True),
    ),
    method("containsCIDR", "cidr_contains_cidr", (CIDR, CIDR), BOOL, _contains_cidr, **_containment(True, True)),
    method("masked", "cidr_masked", (CIDR,), CIDR, lambda cidr: Cidr(cidr.network.network_address, cidr.bits)),
    method("prefixLength", "cidr_prefix_length", (CIDR,), INT, lambda cidr: cidr.bits),
    function("string", "ip_to_string", (IP,), STRING, str),
    function("string", "cidr_to_string", (CIDR,), STRING, str),
)  # fmt: skip
_T = TypeVar("_T")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})(.{0,2})", re.DOTALL)
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
# Go accepts these in a host, and what is not ASCII; a class that ends at U+10FFFF takes long to compile.
_HOST_WRONG = re.compile(r"(?=[\x00-\x7f])[^A-Za-z0-9\-._~!$&'()*+,;=:\[\]<>\"%]")
_USER_WRONG = re.compile(r"[^A-Za-z0-9\-._:~!$&'()*+,;=%@]")
_STRICT = frozenset({"http", "https"})
_PORT = re.compile(r"(?::[0-9]*)?")
_PATH_LETTERS = r"A-Za-z0-9\-_.~$&+,/:;=@"
_PATH_WRONG = re.compile(rf"[^{_PATH_LETTERS}!'()*\[\]%]")
_PATH_ESCAPED = re.compile(rf"[^{_PATH_LETTERS}]")


@dataclass(frozen=True, slots=True)
class Url:
    """A URL; equal to others of the same text."""

    text: str
    scheme: str = ""
    host: str = ""
    opaque: str = ""
    path: str = ""
    query: str = ""


register(Url, URL)


def parse_url(text: str) -> Url:
    """Read an absolute URI or an absolute path; ``ValueError`` with Go's reason.

    As in the first line of a request: a fragment is left where it stands, and without a scheme there is no host.
    """
    if _CONTROL.search(text):
        raise ValueError("net/url: invalid control character in URL")
    if not text:
        raise ValueError("empty url")
    if text == "*":
        return Url(text, path=text)
    match = _SCHEME.match(text)
    if text[0] == ":":
        raise ValueError("missing protocol scheme")
    scheme = match[0][:-1].lower() if match else ""
    rest, _, query = text[match.end() if match else 0 :].partition("?")
    host = ""
    if not rest.startswith("/"):
        if scheme:
            return Url(text, scheme, opaque=rest, query=query)
        raise ValueError("invalid URI for request")
    if scheme and rest.startswith("//"):
        host, rest = _split_host(rest, strict=scheme in _STRICT)
    _check_escapes(rest)
    return Url(text, scheme, host, path=rest, query=query)


def _split_host(rest: str, strict: bool = False) -> tuple[str, str]:
    authority, slash, path = rest[2:].partition("/")
    return _host(authority, strict), slash + path


def _complete_request_url(url: Url) -> Url:
    """Read what a request has not: a fragment, and a host without a scheme."""
    text, mark, fragment = url.text.partition("#")
    path, opaque, query = url.path.partition("#")[0], url.opaque.partition("#")[0], url.query
    if mark:
        query = query.partition("#")[0] if path == url.path and opaque == url.opaque else ""
    host = url.host
    if not url.scheme and path.startswith("//") and not path.startswith("///"):
        host, path = _with_url_error(text, _split_host, path)
    _with_url_error(url.text, _check_escapes, fragment)
    return Url(url.text, url.scheme, host, opaque, path, query)


def _with_url_error(text: str, read: Callable[[str], _T], part: str) -> _T:
    """Call ``read``; a complaint becomes an error about ``text``."""
    try:
        return read(part)
    except ValueError as error:
        reason = f"parse {go_quote(text)}: {error}"
        raise CelRuntimeError(f"URL parse error during conversion from string: {reason}") from None


def _check_escapes(text: str) -> None:
    match = _BAD_ESCAPE.search(text)
    if match:
        raise ValueError(f'invalid URL escape "{match[0]}"')


def _host(authority: str, strict: bool) -> str:
    """The host and port of ``user:password@host:port``."""
    user, at, host = authority.rpartition("@")
    parsed = _parse_host(host, strict)
    if at:
        if _USER_WRONG.search(user):
            raise ValueError("net/url: invalid userinfo")
        _check_escapes(user)
    return parsed


def _parse_host(host: str, strict: bool) -> str:
    """``strict`` allows one colon, before the port."""
    if not host.startswith("["):
        colon = host.find(":") if strict else host.rfind(":")
        _check_port(host[colon:] if colon >= 0 else "")
        return _unescape_host(host)
    end = host.rfind("]")
    if end < 0:
        raise ValueError("missing ']' in host")
    _check_port(host[end + 1 :])
    zone = host.find("%25", 0, end)
    if zone >= 0:
        return _unescape_host(host[:zone]) + _unescape(host[zone:end]) + _unescape_host(host[end:])
    return _unescape_host(host)


def _check_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise ValueError(f'invalid port "{port}" after host')


def _unescape_host(text: str) -> str:
    """Only what is not ASCII may be escaped in a host."""
    _check_escapes(text)
    for match in _ESCAPE.finditer(text):
        if int(match[0][1], 16) < 8 and match[0] != "%25":
            raise ValueError(f'invalid URL escape "{match[0]}"')
    wrong = _HOST_WRONG.search(text)
    if wrong:
        quoted = {"\\": "\\\\", '"': '\\"'}.get(wrong[0], wrong[0])
        raise ValueError(f'invalid character "{quoted}" in host name')
    return _unescape(text)


def _unescape(text: str) -> str:
    return unquote_plus(text.replace("+", "%2B"))


def _escaped_path(url: Url) -> str:
    """The path as written where that is valid, else escaped anew."""
    if not _PATH_WRONG.search(url.path):
        return url.path
    plain = unquote_plus(url.path.replace("+", "%2B"), errors="surrogateescape")
    return _PATH_ESCAPED.sub(
        lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogateescape")), plain
    )


def _hostname(url: Url) -> str:
    host = url.host
    colon = host.rfind(":")
    if colon >= 0 and _PORT.fullmatch(host[colon:]):
        host = host[:colon]
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def _port(url: Url) -> str:
    _, _, port = url.host.rpartition("]")[2].rpartition(":")
    return port if ":" in url.host.rpartition("]")[2] and port.isdigit() else ""


def _query(url: Url) -> CelMap:
    """Values by key; pairs Go cannot read are left out."""
    found: dict[str, list[str]] = {}
    for pair in url.query.split("&"):
        key, _, value = pair.partition("=")
        if pair and ";" not in pair and not _BAD_ESCAPE.search(pair):
            found.setdefault(unquote_plus(key), []).append(unquote_plus(value))
    return CelMap.of(found)


URL_FUNCTIONS: tuple[Function, ...] = (
    function(
        "url", "string_to_url", (STRING,), URL,
        lambda text: _complete_request_url(_with_url_error(text, parse_url, text)),
        **declare.cost_per_length(result=declare.of_size(0)),
    ),
    function("isURL", "is_url_string", (STRING,), BOOL, is_read_by(parse_url)),
    method("getScheme", "url_get_scheme", (URL,), STRING, lambda url: url.scheme),
    method("getHost", "url_get_host", (URL,), STRING, lambda url: url.host),
    method("getHostname", "url_get_hostname", (URL,), STRING, _hostname),
    method("getPort", "url_get_port", (URL,), STRING, _port),
    method("getEscapedPath", "url_get_escaped_path", (URL,), STRING, _escaped_path),
    method("getQuery", "url_get_query", (URL,), map_of(STRING, list_of(STRING)), _query),
)  # fmt: skip
