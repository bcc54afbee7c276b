"""Bytes to plain documents: JSON or YAML, one or many, told apart by how they begin."""

import codecs
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from .json_documents import json_documents, split_documents
from .unreadable import Unreadable, position, unreadable
from .yaml_documents import yaml_documents

_JSON_START = re.compile(rb"\s*[\[{]")


def read_documents(data: bytes, name: str = "") -> Iterator[Any]:
    """Yield what each document of a file holds, or ``Unreadable``; lists may yield their items lazily.

    What begins with a brace or a bracket is JSON, as for kubectl, unless it proves to be YAML's flow
    style in a file that may be YAML. A file named ``.json`` is never read as YAML.
    """
    text = _utf8(data)
    if isinstance(text, Unreadable):
        return iter([text])
    extension = _extension(name)
    if extension != ".json" and not _JSON_START.match(text):
        return yaml_documents(text)
    parts = split_documents(text)
    if isinstance(parts, Unreadable):
        may_be_yaml = extension in {".yaml", ".yml"} or (extension != ".json" and b"\n---" in text)
        return yaml_documents(text) if may_be_yaml else iter([parts])
    return json_documents(text, parts)


def _extension(name: str) -> str:
    return PurePath(name.lower().removesuffix(".gz")).suffix


def _utf8(data: bytes) -> bytes | Unreadable:
    """Drop the byte order mark, and bring UTF-16 to UTF-8."""
    encoding = "utf-8"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    try:
        if encoding == "utf-16":
            return data.decode(encoding).encode()
        if not data.isascii():
            data.decode(encoding)
    except UnicodeDecodeError as error:
        return unreadable(f"not valid {encoding.upper()} at {position(data, error.start)}")
    return data.removeprefix(codecs.BOM_UTF8)
