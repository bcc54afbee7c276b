import pytest
from support.data import cases, read

from drasat.cel.libraries.kubernetes import NAMED_FORMAT_FUNCTIONS

WORDS = read("cel/formats")["words"]
# format, text, complaints, cost of the check and of getting the format
COMPLAINTS = [
    (name, text, [WORDS.get(one, one) for one in complaints], cost)
    for name, text, complaints, cost in cases("cel/formats", "complaints")
]
OVERLOADS = {function.name: function.overloads[0] for function in NAMED_FORMAT_FUNCTIONS}
NAMES = dict.fromkeys(row[0] for row in COMPLAINTS)


@pytest.mark.parametrize("row", COMPLAINTS, ids=lambda row: f"{row[0]} {row[1][:30]}")
def test_complaints_are_those_of_the_api_machinery(row):
    name, text, complaints, cost = row
    checked = OVERLOADS[f"format.{name}"].apply()
    result = OVERLOADS["validate"].apply(checked, text)
    assert (result.value if result.present else []) == complaints
    assert 1 + OVERLOADS["validate"].cost((checked, text), result) == cost


@pytest.mark.parametrize("name", NAMES)
def test_formats_have_a_function_and_a_name(check, name):
    check(f"format.named('{name}').value() == format.{name}()", "true", 4)


@pytest.mark.parametrize("name", ["DNS1123Label", "cidr", "", "nope"])
def test_other_names_find_no_format(check, name):
    check(f"format.named('{name}')", "optional.none()", 1)


def test_good_strings_give_none(check):
    check("format.dns1123Label().validate('abc')", "optional.none()", 9)
    check("format.uuid().validate('x').value()", '["does not match the UUID format"]', 20)


def test_dots_in_a_label_are_named_only_where_all_else_is_fine():
    label = OVERLOADS["format.dns1123Label"].apply()
    assert label.check("a.b") == ["must not contain dots"]
    assert label.check("a.B") == [WORDS["LABEL"]]


def test_prefixes_may_end_in_a_dash():
    assert OVERLOADS["format.dns1123LabelPrefix"].apply().check("abc-") == []
    assert OVERLOADS["format.dns1123Label"].apply().check("abc-") == [WORDS["LABEL"]]


def test_complaints_about_long_names_come_first():
    complaints = OVERLOADS["format.dns1123Label"].apply().check("A" * 64)
    assert complaints == ["must be no more than 63 characters", WORDS["LABEL"]]


def test_estimate_takes_the_longest_pattern(check_estimate):
    check_estimate("format.uuid().validate(s)", 2, 642)
    check_estimate("format.dns1123Label().validate('abc')", 33, 33)
