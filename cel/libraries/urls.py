"""``url()`` and the parts of a URL, read as Go's ParseRequestURI does."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import unquote_plus

from ..errors import CelRuntimeError
from ..library import Function
from ..types import BOOL, STRING, URL, list_of, map_of
from ..values import CelMap, register
from .costs import of_size, per_length
from .declare import function, method, only
from .quoting import go_quote

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
    scheme, rest = _split_scheme(text)
    rest, _, query = rest.partition("?")
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


def _completed(url: Url) -> Url:
    """Read what a request has not: a fragment, and a host without a scheme."""
    text, mark, fragment = url.text.partition("#")
    path, opaque, query = url.path.partition("#")[0], url.opaque.partition("#")[0], url.query
    if mark:
        query = query.partition("#")[0] if path == url.path and opaque == url.opaque else ""
    host = url.host
    if not url.scheme and path.startswith("//") and not path.startswith("///"):
        host, path = _reporting(text, _split_host, path)
    _reporting(url.text, _check_escapes, fragment)
    return Url(url.text, url.scheme, host, opaque, path, query)


def _reporting(text: str, read: Callable[[str], _T], part: str) -> _T:
    """Call ``read``; a complaint becomes an error about ``text``."""
    try:
        return read(part)
    except ValueError as error:
        reason = f"parse {go_quote(text)}: {error}"
        raise CelRuntimeError(f"URL parse error during conversion from string: {reason}") from None


def _split_scheme(text: str) -> tuple[str, str]:
    match = _SCHEME.match(text)
    if match:
        return match[0][:-1].lower(), text[match.end() :]
    if text[0] == ":":
        raise ValueError("missing protocol scheme")
    return "", text


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
        raise ValueError(f'invalid character "{_quoted(wrong[0])}" in host name')
    return _unescape(text)


def _quoted(character: str) -> str:
    return {"\\": "\\\\", '"': '\\"'}.get(character, character)


def _unescape(text: str) -> str:
    return unquote_plus(text.replace("+", "%2B"))


def _escaped_path(url: Url) -> str:
    """The path as written where that is valid, else escaped anew."""
    if not _PATH_WRONG.search(url.path):
        return url.path
    plain = unquote_plus(url.path.replace("+", "%2B"), errors="surrogateescape")
    return _PATH_ESCAPED.sub(_escape, plain)


def _escape(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogateescape"))


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


def _parse(text: str) -> Url:
    return _completed(_reporting(text, parse_url, text))


def _is_url(text: str) -> bool:
    try:
        parse_url(text)
    except ValueError:
        return False
    return True


FUNCTIONS: tuple[Function, ...] = (
    only("url", function("string_to_url", (STRING,), URL, _parse, **per_length(result=of_size(0)))),
    only("isURL", function("is_url_string", (STRING,), BOOL, _is_url)),
    only("getScheme", method("url_get_scheme", (URL,), STRING, lambda url: url.scheme)),
    only("getHost", method("url_get_host", (URL,), STRING, lambda url: url.host)),
    only("getHostname", method("url_get_hostname", (URL,), STRING, _hostname)),
    only("getPort", method("url_get_port", (URL,), STRING, _port)),
    only("getEscapedPath", method("url_get_escaped_path", (URL,), STRING, _escaped_path)),
    only("getQuery", method("url_get_query", (URL,), map_of(STRING, list_of(STRING)), _query)),
)
