"""The structure of the source stays within its limits: sizes, imports, class names, modules that a command loads."""

import pytest

from .figures import LIMITS, SHARED_CLASS_NAMES, figures, import_lines, repeated_class_names, sources


@pytest.fixture(scope="module")
def measured():
    return figures()


@pytest.mark.parametrize("name", LIMITS)
def test_figure_is_within_its_limit(name, measured):
    assert measured[name] <= LIMITS[name]


def test_every_figure_has_a_limit(measured):
    assert measured.keys() == LIMITS.keys()


def test_class_names_are_unique():
    assert repeated_class_names(sources()) == SHARED_CLASS_NAMES


def test_import_lines_are_counted_with_all_their_lines():
    assert import_lines("import a\nfrom b import (\n    c,\n    d,\n)\nx = 1\n") == 5
