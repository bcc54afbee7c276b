"""The pages of the command line and of the Python API are those of the program."""

import inspect
import os
import re

import pytest
from support import command_page
from support.pages import TEXTS

import drasat

API = TEXTS["docs/reference/python-api.md"]
FUNCTIONS = [name for name in drasat.__all__ if inspect.isfunction(getattr(drasat, name))]


def test_page_of_commands_is_up_to_date():
    if os.environ.get("UPDATE_DOCS"):
        command_page.PAGE.write_text(command_page.page(), encoding="utf-8")
    assert command_page.PAGE.read_text(encoding="utf-8") == command_page.page()


def test_every_public_name_is_documented():
    assert [name for name in drasat.__all__ if f"`{name}" not in API and f"`drasat.{name}" not in API] == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_documented(name):
    parameters = [one.name for one in inspect.signature(getattr(drasat, name)).parameters.values()]
    assert [parameter for parameter in parameters if not re.search(rf"`\*?{parameter}`", API)] == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstrings_have_every_parameter_and_what_is_raised(name):
    """The site has the docstrings as the reference of the API."""
    function = getattr(drasat, name)
    text = inspect.getdoc(function)
    listed = re.findall(r"^(\w+(?:, \w+)*|\*?\w+)$", text.partition("Parameters\n----------\n")[2], re.MULTILINE)
    documented = {one.lstrip("*") for line in listed for one in line.split(", ")}
    assert [one for one in inspect.signature(function).parameters if one not in documented] == []
    assert "\nRaises\n------\n" in text


@pytest.mark.parametrize("name", [name for name in drasat.__all__ if inspect.isclass(getattr(drasat, name))])
def test_every_member_of_a_public_class_has_a_docstring(name):
    members = inspect.getmembers(getattr(drasat, name), lambda one: callable(one) or isinstance(one, property))
    silent = [member for member, found in members if not member.startswith("_") and not inspect.getdoc(found)]
    assert silent == []
