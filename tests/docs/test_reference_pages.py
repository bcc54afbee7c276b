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
