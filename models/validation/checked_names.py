"""Names that are checked in several steps: drivers, pools, qualified names."""

from . import names
from .findings import LIMIT, Category, Findings, Path, byte_length


def check_label(found: Findings, path: Path, text: str, category: Category = LIMIT) -> None:
    """Check a required DNS-1123 label."""
    if not text:
        found.required(path, category=category)
    elif complaints := names.label(text):
        found.each_invalid(path, text, complaints, category)


def check_subdomain(found: Findings, path: Path, text: str) -> None:
    """Check a required DNS-1123 subdomain."""
    if not text:
        found.required(path)
    elif complaints := names.subdomain(text):
        found.each_invalid(path, text, complaints)


def check_driver(found: Findings, path: Path, text: str) -> None:
    """Check a required driver name (63 bytes)."""
    if not text:
        found.required(path)
        return
    if byte_length(text) > names.DOMAIN_MAX:
        found.too_long(path, names.DOMAIN_MAX)
    found.each_invalid(path, text, names.driver(text))


def check_pool(found: Findings, path: Path, text: str) -> None:
    """Check a required pool name: subdomains joined by ``/``, 253 bytes in all."""
    if not text:
        found.required(path)
        return
    if byte_length(text) > names.SUBDOMAIN_MAX:
        found.too_long(path, names.SUBDOMAIN_MAX)
    for part in text.split("/"):
        found.each_invalid(path, part, names.subdomain(part))


def check_identifier(found: Findings, path: Path, text: str) -> None:
    """Check the part of a qualified name after the domain: a C identifier (32 bytes)."""
    if byte_length(text) > names.IDENTIFIER_MAX:
        found.too_long(path, names.IDENTIFIER_MAX)
    found.each_invalid(path, text, names.identifier(text))


def _check_domain(found: Findings, path: Path, text: str) -> None:
    if byte_length(text) > names.DOMAIN_MAX:
        found.too_long(path, names.DOMAIN_MAX)
    found.each_invalid(path, text, names.driver(text))


def check_qualified(found: Findings, path: Path, text: str) -> None:
    """``[domain/]identifier`` (ATTR-1)."""
    if not text:
        found.required(path)
        return
    parts = text.split("/")
    if len(parts) > 2:
        found.invalid(path, text, "must be either an identifier or a domain and an identifier separated by '/'")
        return
    for domain in parts[:-1]:
        if domain:
            _check_domain(found, path, domain)
        else:
            found.invalid(path, text, "the domain must not be empty")
    if parts[-1]:
        check_identifier(found, path, parts[-1])
    else:
        found.invalid(path, text, "the name must not be empty")


def check_fully_qualified(found: Findings, path: Path, text: str) -> None:
    """``domain/identifier``, as constraints need it."""
    if text and "/" not in text:
        found.invalid(path, text, "must include a domain")
    check_qualified(found, path, text)
