"""Semantics of match and distinct entries: one spelling, a mode that fits, and its own options only (SEM-1)."""

import msgspec

from ..base import api_name
from ..claims import ConstraintSemantics, DeviceConstraint, SemanticsOptions, SemanticsOptionsByMode
from ..semantics import LIST_MODES, MODES, SPELLINGS, Mode
from .findings import STRUCTURE, Findings, Path


def check_semantics(found: Findings, path: Path, entry: DeviceConstraint) -> None:
    """Check the semantics of an entry, if it has any."""
    given = [field for field in SPELLINGS if getattr(entry, field) is not None]
    attributes = [field for field in SPELLINGS["semantics"] if getattr(entry, field) is not None]
    for field in given[1:]:
        found.forbidden((*path, api_name(field)), f"may not be set beside `{api_name(given[0])}`", STRUCTURE)
    for field in given[:1]:
        where = (*path, api_name(field))
        if _stands_beside(found, where, SPELLINGS[field], attributes):
            _check_mode(found, where, getattr(entry, field), attributes[0])


def _stands_beside(found: Findings, path: Path, allowed: tuple[str, ...], attributes: list[str]) -> bool:
    """Check that one attribute is there, and the right one."""
    wrong = [field for field in attributes if field not in allowed]
    if len(attributes) == 1 and not wrong:
        return True
    names = " or ".join(f"`{api_name(field)}`" for field in allowed)
    detail = f"may not be set beside `{api_name(wrong[0])}`" if wrong else f"may only be set beside either {names}"
    found.forbidden(path, detail if attributes else f"may only be set beside {names}", STRUCTURE)
    return False


def _check_mode(found: Findings, path: Path, semantics: ConstraintSemantics, attribute: str) -> None:
    fitting = [name for name, mode in MODES.items() if mode.attribute == attribute]
    if not semantics.mode:
        found.required((*path, "mode"), category=STRUCTURE)
    elif semantics.mode not in fitting:
        found.unsupported((*path, "mode"), semantics.mode, fitting, STRUCTURE)
    elif semantics.options is not None:
        _check_options(found, (*path, "options"), semantics)


def _check_options(found: Findings, path: Path, semantics: ConstraintSemantics) -> None:
    chosen = MODES[semantics.mode]
    for field in msgspec.structs.fields(SemanticsOptionsByMode):
        options = getattr(semantics.options, field.name)
        if options is None:
            continue
        where = (*path, field.encode_name)
        if field.name == chosen.options:
            _check_own(found, where, options, chosen)
        else:
            found.forbidden(where, f"these are not options of mode {semantics.mode}", STRUCTURE)


def _check_own(found: Findings, path: Path, options: SemanticsOptions, mode: Mode) -> None:
    for field in msgspec.structs.fields(SemanticsOptions):
        if field.name not in mode.knows and getattr(options, field.name) is not None:
            found.forbidden((*path, field.encode_name), "the mode has no such option", STRUCTURE)
    if "list_mode" in mode.knows and options.list_mode not in (None, *LIST_MODES):
        found.unsupported((*path, "listMode"), options.list_mode, LIST_MODES, STRUCTURE)
    if "min_size" in mode.knows and options.min_size is not None and options.min_size < 1:
        found.invalid((*path, "minSize"), options.min_size, "must be greater than zero", STRUCTURE)
