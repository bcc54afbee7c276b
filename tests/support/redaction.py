"""Compares answers about objects and about their redacted form."""

import re
from collections.abc import Mapping
from itertools import zip_longest

from drasat.integrations.snapshot.kubectl import Deadline
from drasat.integrations.snapshot.redaction import Redactor
from drasat.integrations.snapshot.snapshot import snapshot_of_files
from drasat.models.manifests.sources import open_sources

# Sentences and parameters have names inside; ids of shares are made of names, and times differ in any two runs.
_NOT_COMPARED = frozenset({"message", "detail", "notices", "notes", "proof", "parameters", "shareID", "timings"})


def objects_in(source):
    """The objects of a source, in the order of a snapshot."""
    return snapshot_of_files(open_sources([source], recursive=False), None, None, Deadline(120)).objects


def both(objects):
    """The objects as a snapshot has them, redacted, and the redactor."""
    plain = objects_in(objects)
    redactor = Redactor(plain, b"key")
    return plain, redactor.redacted(), redactor


def differences(before, after, names, path=""):
    """Where two documents differ in more than names."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        if list(before) != list(after) and [names.translate(key) for key in before] != list(after):
            return [(path, list(before), list(after))]
        return [
            found
            for (key, one), other in zip(before.items(), after.values(), strict=True)
            if key not in _NOT_COMPARED
            for found in differences(one, other, names, f"{path}/{key}")
        ]
    if isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            return [(path, before, after)]
        pairs = enumerate(zip(before, after, strict=True))
        return [found for place, (one, other) in pairs for found in differences(one, other, names, f"{path}[{place}]")]
    if "/witness/" in path and isinstance(before, str) and isinstance(after, str):
        # Several names in one text.
        pairs = zip_longest(_NAMES.split(before), _NAMES.split(after))
        return [] if all(is_translated(one, other, names) for one, other in pairs) else [(path, before, after)]
    return [] if is_translated(before, after, names) else [(path, before, after)]


_NAMES = re.compile("([/,])")


def is_translated(before, after, names):
    """Whether a value is kept, or is a name that was replaced."""
    translated = names.translate(before) if isinstance(before, str) else before
    return after in (before, translated) and type(before) is type(after)
