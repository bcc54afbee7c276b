import pytest

from drasat.cel.libraries.formats import FUNCTIONS

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start"
    " and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
    "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
OLD_LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic"
    " character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
    "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
NAME = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
KEY = (
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and "
    "'/' (e.g. 'example.com/MyName')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and "
    "must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
    "regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)

# format, text, complaints, cost of the check and of getting the format
COMPLAINTS = [
    ("dns1123Label", "", [LABEL], 9),
    ("dns1123Label", "A", [LABEL], 9),
    ("dns1123Label", "ABC", [LABEL], 9),
    ("dns1123Label", "-a", [LABEL], 9),
    ("dns1123Label", "a-", [LABEL], 9),
    ("dns1123Label", "a.b", ["must not contain dots"], 9),
    ("dns1123Label", "a..b", [LABEL], 9),
    ("dns1123Label", "A.b", [LABEL], 9),
    ("dns1123Label", "a/b", [LABEL], 9),
    ("dns1123Label", "a/b/c", [LABEL], 9),
    ("dns1123Label", "A/b", [LABEL], 9),
    ("dns1123Label", "/x", [LABEL], 9),
    ("dns1123Label", "x/", [LABEL], 9),
    ("dns1123Label", "x/-", [LABEL], 9),
    ("dns1123Label", "a" * 64, ["must be no more than 63 characters"], 57),
    ("dns1123Label", "a" * 254, ["must be no more than 63 characters"], 209),
    ("dns1123Label", "1abc", [], 9),
    ("dns1123Label", "1-", [LABEL], 9),
    ("dns1123Label", "a b", [LABEL], 9),
    ("dns1123Label", "_a", [LABEL], 9),
    ("dns1123Label", "a_", [LABEL], 9),
    ("dns1123Label", "a-.b", [LABEL], 9),
    ("dns1123Label", "a.", [LABEL], 9),
    ("dns1123Label", "*", [LABEL], 9),
    ("dns1123Label", "\u00e9", [LABEL], 9),
    ("dns1123Label", " a", [LABEL], 9),
    ("dns1123Label", "a" * 63 + "-", ["must be no more than 63 characters", LABEL], 57),
    ("dns1123Label", "a." * 130, ["must be no more than 63 characters", LABEL], 217),
    ("dns1123Label", "a" * 300 + "/b", ["must be no more than 63 characters", LABEL], 249),
    ("dns1123Label", "a/" + "b" * 64, ["must be no more than 63 characters", LABEL], 57),
    ("dns1123Label", "-", [LABEL], 9),
    ("dns1123Label", ".", [LABEL], 9),
    ("dns1123Label", "x/\u00e9", [LABEL], 9),
    ("dns1123Subdomain", "", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "A", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "ABC", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "-a", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "a-", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "a.b", [], 16),
    ("dns1123Subdomain", "a..b", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "A.b", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "a/b", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "a/b/c", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "A/b", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "/x", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "x/", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "x/-", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "a" * 64, [], 106),
    ("dns1123Subdomain", "a" * 254, ["must be no more than 253 characters"], 391),
    ("dns1123Subdomain", "1abc", [], 16),
    ("dns1123Subdomain", "1-", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "a b", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "_a", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "a_", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "a-.b", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "a.", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "*", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "\u00e9", [SUBDOMAIN], 16),
    ("dns1123Subdomain", " a", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "a" * 63 + "-", [SUBDOMAIN], 106),
    ("dns1123Subdomain", "a." * 130, ["must be no more than 253 characters", SUBDOMAIN], 406),
    ("dns1123Subdomain", "a" * 300 + "/b", ["must be no more than 253 characters", SUBDOMAIN], 466),
    ("dns1123Subdomain", "a/" + "b" * 64, [SUBDOMAIN], 106),
    ("dns1123Subdomain", "-", [SUBDOMAIN], 16),
    ("dns1123Subdomain", ".", [SUBDOMAIN], 16),
    ("dns1123Subdomain", "x/\u00e9", [SUBDOMAIN], 16),
    ("dns1035Label", "", [OLD_LABEL], 9),
    ("dns1035Label", "A", [OLD_LABEL], 9),
    ("dns1035Label", "ABC", [OLD_LABEL], 9),
    ("dns1035Label", "-a", [OLD_LABEL], 9),
    ("dns1035Label", "a-", [OLD_LABEL], 9),
    ("dns1035Label", "a.b", [OLD_LABEL], 9),
    ("dns1035Label", "a..b", [OLD_LABEL], 9),
    ("dns1035Label", "A.b", [OLD_LABEL], 9),
    ("dns1035Label", "a/b", [OLD_LABEL], 9),
    ("dns1035Label", "a/b/c", [OLD_LABEL], 9),
    ("dns1035Label", "A/b", [OLD_LABEL], 9),
    ("dns1035Label", "/x", [OLD_LABEL], 9),
    ("dns1035Label", "x/", [OLD_LABEL], 9),
    ("dns1035Label", "x/-", [OLD_LABEL], 9),
    ("dns1035Label", "a" * 64, ["must be no more than 63 characters"], 57),
    ("dns1035Label", "a" * 254, ["must be no more than 63 characters"], 209),
    ("dns1035Label", "1abc", [OLD_LABEL], 9),
    ("dns1035Label", "1-", [OLD_LABEL], 9),
    ("dns1035Label", "a b", [OLD_LABEL], 9),
    ("dns1035Label", "_a", [OLD_LABEL], 9),
    ("dns1035Label", "a_", [OLD_LABEL], 9),
    ("dns1035Label", "a-.b", [OLD_LABEL], 9),
    ("dns1035Label", "a.", [OLD_LABEL], 9),
    ("dns1035Label", "*", [OLD_LABEL], 9),
    ("dns1035Label", "\u00e9", [OLD_LABEL], 9),
    ("dns1035Label", " a", [OLD_LABEL], 9),
    ("dns1035Label", "a" * 63 + "-", ["must be no more than 63 characters", OLD_LABEL], 57),
    ("dns1035Label", "a." * 130, ["must be no more than 63 characters", OLD_LABEL], 217),
    ("dns1035Label", "a" * 300 + "/b", ["must be no more than 63 characters", OLD_LABEL], 249),
    ("dns1035Label", "a/" + "b" * 64, ["must be no more than 63 characters", OLD_LABEL], 57),
    ("dns1035Label", "-", [OLD_LABEL], 9),
    ("dns1035Label", ".", [OLD_LABEL], 9),
    ("dns1035Label", "x/\u00e9", [OLD_LABEL], 9),
    ("qualifiedName", "", ["name part must be non-empty", NAME], 16),
    ("qualifiedName", "A", [], 16),
    ("qualifiedName", "ABC", [], 16),
    ("qualifiedName", "-a", [NAME], 16),
    ("qualifiedName", "a-", [NAME], 16),
    ("qualifiedName", "a.b", [], 16),
    ("qualifiedName", "a..b", [], 16),
    ("qualifiedName", "A.b", [], 16),
    ("qualifiedName", "a/b", [], 16),
    ("qualifiedName", "a/b/c", [KEY], 16),
    ("qualifiedName", "A/b", ["prefix part " + SUBDOMAIN], 16),
    ("qualifiedName", "/x", ["prefix part must be non-empty"], 16),
    ("qualifiedName", "x/", ["name part must be non-empty", NAME], 16),
    ("qualifiedName", "x/-", [NAME], 16),
    ("qualifiedName", "a" * 64, ["name part must be no more than 63 bytes"], 106),
    ("qualifiedName", "a" * 254, ["name part must be no more than 63 bytes"], 391),
    ("qualifiedName", "1abc", [], 16),
    ("qualifiedName", "1-", [NAME], 16),
    ("qualifiedName", "a b", [NAME], 16),
    ("qualifiedName", "_a", [NAME], 16),
    ("qualifiedName", "a_", [NAME], 16),
    ("qualifiedName", "a-.b", [], 16),
    ("qualifiedName", "a.", [NAME], 16),
    ("qualifiedName", "*", [NAME], 16),
    ("qualifiedName", "\u00e9", [NAME], 16),
    ("qualifiedName", " a", [NAME], 16),
    ("qualifiedName", "a" * 63 + "-", ["name part must be no more than 63 bytes", NAME], 106),
    ("qualifiedName", "a." * 130, ["name part must be no more than 63 bytes", NAME], 406),
    ("qualifiedName", "a" * 300 + "/b", ["prefix part must be no more than 253 bytes"], 466),
    ("qualifiedName", "a/" + "b" * 64, ["name part must be no more than 63 bytes"], 106),
    ("qualifiedName", "-", [NAME], 16),
    ("qualifiedName", ".", [NAME], 16),
    ("qualifiedName", "x/\u00e9", [NAME], 16),
    ("dns1123LabelPrefix", "", [LABEL], 9),
    ("dns1123LabelPrefix", "A", [LABEL], 9),
    ("dns1123LabelPrefix", "ABC", [LABEL], 9),
    ("dns1123LabelPrefix", "-a", [LABEL], 9),
    ("dns1123LabelPrefix", "a-", [], 9),
    ("dns1123LabelPrefix", "a.b", ["must not contain dots"], 9),
    ("dns1123LabelPrefix", "a..b", [LABEL], 9),
    ("dns1123LabelPrefix", "A.b", [LABEL], 9),
    ("dns1123LabelPrefix", "a/b", [LABEL], 9),
    ("dns1123LabelPrefix", "a/b/c", [LABEL], 9),
    ("dns1123LabelPrefix", "A/b", [LABEL], 9),
    ("dns1123LabelPrefix", "/x", [LABEL], 9),
    ("dns1123LabelPrefix", "x/", [LABEL], 9),
    ("dns1123LabelPrefix", "x/-", [], 9),
    ("dns1123LabelPrefix", "a" * 64, ["must be no more than 63 characters"], 57),
    ("dns1123LabelPrefix", "a" * 254, ["must be no more than 63 characters"], 209),
    ("dns1123LabelPrefix", "1abc", [], 9),
    ("dns1123LabelPrefix", "1-", [], 9),
    ("dns1123LabelPrefix", "a b", [LABEL], 9),
    ("dns1123LabelPrefix", "_a", [LABEL], 9),
    ("dns1123LabelPrefix", "a_", [LABEL], 9),
    ("dns1123LabelPrefix", "a-.b", [LABEL], 9),
    ("dns1123LabelPrefix", "a.", [LABEL], 9),
    ("dns1123LabelPrefix", "*", [LABEL], 9),
    ("dns1123LabelPrefix", "\u00e9", [LABEL], 9),
    ("dns1123LabelPrefix", " a", [LABEL], 9),
    ("dns1123LabelPrefix", "a" * 63 + "-", [], 57),
    ("dns1123LabelPrefix", "a." * 130, ["must be no more than 63 characters", LABEL], 217),
    ("dns1123LabelPrefix", "a" * 300 + "/b", ["must be no more than 63 characters", LABEL], 249),
    ("dns1123LabelPrefix", "a/" + "b" * 64, ["must be no more than 63 characters", LABEL], 57),
    ("dns1123LabelPrefix", "-", [LABEL], 9),
    ("dns1123LabelPrefix", ".", [LABEL], 9),
    ("dns1123LabelPrefix", "x/\u00e9", [LABEL], 9),
    ("dns1123SubdomainPrefix", "", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", "A", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", "ABC", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", "-a", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", "a-", [], 16),
    ("dns1123SubdomainPrefix", "a.b", [], 16),
    ("dns1123SubdomainPrefix", "a..b", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", "A.b", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", "a/b", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", "a/b/c", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", "A/b", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", "/x", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", "x/", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", "x/-", [], 16),
    ("dns1123SubdomainPrefix", "a" * 64, [], 106),
    ("dns1123SubdomainPrefix", "a" * 254, ["must be no more than 253 characters"], 391),
    ("dns1123SubdomainPrefix", "1abc", [], 16),
    ("dns1123SubdomainPrefix", "1-", [], 16),
    ("dns1123SubdomainPrefix", "a b", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", "_a", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", "a_", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", "a-.b", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", "a.", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", "*", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", "\u00e9", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", " a", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", "a" * 63 + "-", [], 106),
    ("dns1123SubdomainPrefix", "a." * 130, ["must be no more than 253 characters", SUBDOMAIN], 406),
    ("dns1123SubdomainPrefix", "a" * 300 + "/b", ["must be no more than 253 characters", SUBDOMAIN], 466),
    ("dns1123SubdomainPrefix", "a/" + "b" * 64, [SUBDOMAIN], 106),
    ("dns1123SubdomainPrefix", "-", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", ".", [SUBDOMAIN], 16),
    ("dns1123SubdomainPrefix", "x/\u00e9", [SUBDOMAIN], 16),
    ("dns1035LabelPrefix", "", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "A", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "ABC", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "-a", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "a-", [], 9),
    ("dns1035LabelPrefix", "a.b", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "a..b", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "A.b", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "a/b", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "a/b/c", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "A/b", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "/x", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "x/", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "x/-", [], 9),
    ("dns1035LabelPrefix", "a" * 64, ["must be no more than 63 characters"], 57),
    ("dns1035LabelPrefix", "a" * 254, ["must be no more than 63 characters"], 209),
    ("dns1035LabelPrefix", "1abc", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "1-", [], 9),
    ("dns1035LabelPrefix", "a b", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "_a", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "a_", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "a-.b", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "a.", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "*", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "\u00e9", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", " a", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "a" * 63 + "-", [], 57),
    ("dns1035LabelPrefix", "a." * 130, ["must be no more than 63 characters", OLD_LABEL], 217),
    ("dns1035LabelPrefix", "a" * 300 + "/b", ["must be no more than 63 characters", OLD_LABEL], 249),
    ("dns1035LabelPrefix", "a/" + "b" * 64, ["must be no more than 63 characters", OLD_LABEL], 57),
    ("dns1035LabelPrefix", "-", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", ".", [OLD_LABEL], 9),
    ("dns1035LabelPrefix", "x/\u00e9", [OLD_LABEL], 9),
    ("labelValue", "", [], 11),
    ("labelValue", "A", [], 11),
    ("labelValue", "ABC", [], 11),
    ("labelValue", "-a", [VALUE], 11),
    ("labelValue", "a-", [VALUE], 11),
    ("labelValue", "a.b", [], 11),
    ("labelValue", "a..b", [], 11),
    ("labelValue", "A.b", [], 11),
    ("labelValue", "a/b", [VALUE], 11),
    ("labelValue", "a/b/c", [VALUE], 11),
    ("labelValue", "A/b", [VALUE], 11),
    ("labelValue", "/x", [VALUE], 11),
    ("labelValue", "x/", [VALUE], 11),
    ("labelValue", "x/-", [VALUE], 11),
    ("labelValue", "a" * 64, ["must be no more than 63 bytes"], 71),
    ("labelValue", "a" * 254, ["must be no more than 63 bytes"], 261),
    ("labelValue", "1abc", [], 11),
    ("labelValue", "1-", [VALUE], 11),
    ("labelValue", "a b", [VALUE], 11),
    ("labelValue", "_a", [VALUE], 11),
    ("labelValue", "a_", [VALUE], 11),
    ("labelValue", "a-.b", [], 11),
    ("labelValue", "a.", [VALUE], 11),
    ("labelValue", "*", [VALUE], 11),
    ("labelValue", "\u00e9", [VALUE], 11),
    ("labelValue", " a", [VALUE], 11),
    ("labelValue", "a" * 63 + "-", ["must be no more than 63 bytes", VALUE], 71),
    ("labelValue", "a." * 130, ["must be no more than 63 bytes", VALUE], 271),
    ("labelValue", "a" * 300 + "/b", ["must be no more than 63 bytes", VALUE], 311),
    ("labelValue", "a/" + "b" * 64, ["must be no more than 63 bytes", VALUE], 71),
    ("labelValue", "-", [VALUE], 11),
    ("labelValue", ".", [VALUE], 11),
    ("labelValue", "x/\u00e9", [VALUE], 11),
    ("uri", "http://a", [], 277),
    ("uri", "/a", [], 277),
    ("uri", "a", ['parse "a": invalid URI for request'], 277),
    ("uri", "http://[::1", ["parse \"http://[::1\": missing ']' in host"], 553),
    ("uri", "*", [], 277),
    ("uri", "http://a/%zz", ['parse "http://a/%zz": invalid URL escape "%zz"'], 553),
    ("uri", "mailto:x", [], 277),
    ("uri", "?a", ['parse "?a": invalid URI for request'], 277),
    ("uri", "#a", ['parse "#a": invalid URI for request'], 277),
    ("uri", "http:", [], 277),
    ("uri", "//a", [], 277),
    ("uri", "", ['parse "": empty url'], 277),
    ("uuid", "123e4567-e89b-12d3-a456-426614174000", [], 73),
    ("uuid", "123E4567-E89B-12D3-A456-426614174000", [], 73),
    ("uuid", "123e4567e89b12d3a456426614174000", [], 73),
    ("uuid", "{123e4567-e89b-12d3-a456-426614174000}", ["does not match the UUID format"], 73),
    ("uuid", "123e4567-e89b-12d3-a456-42661417400", ["does not match the UUID format"], 73),
    ("uuid", "urn:uuid:123e4567-e89b-12d3-a456-426614174000", ["does not match the UUID format"], 91),
    ("uuid", "x", ["does not match the UUID format"], 19),
    ("byte", "YWJj", [], 22),
    ("byte", "YWI=", [], 22),
    ("byte", "YWI", ["invalid base64"], 22),
    ("byte", "YQ==", [], 22),
    ("byte", "YQ", ["invalid base64"], 22),
    ("byte", "", ["invalid base64"], 22),
    ("byte", "*", ["invalid base64"], 22),
    ("byte", "YW Jj", ["invalid base64"], 22),
    ("byte", "-_==", ["invalid base64"], 22),
    ("byte", "+/==", [], 22),
    ("byte", "Y===", ["invalid base64"], 22),
    ("byte", "====", ["invalid base64"], 22),
    ("byte", "YWJjZ", ["invalid base64"], 22),
    ("date", "2020-01-01", [], 37),
    ("date", "2020-13-01", ["invalid date"], 37),
    ("date", "2020-1-1", ["invalid date"], 19),
    ("date", "2020-02-29", [], 37),
    ("date", "2021-02-29", ["invalid date"], 37),
    ("date", "1900-02-29", ["invalid date"], 37),
    ("date", "2000-02-29", [], 37),
    ("date", "0000-01-01", [], 37),
    ("date", "10000-01-01", ["invalid date"], 37),
    ("date", "2020-01-01 ", ["invalid date"], 37),
    ("datetime", "2020-01-01T00:00:00Z", [], 55),
    ("datetime", "2020-01-01t00:00:00z", [], 55),
    ("datetime", "2020-01-01 00:00:00Z", ["invalid datetime"], 55),
    ("datetime", "2020-01-01T00:00:00", ["invalid datetime"], 37),
    ("datetime", "2020-01-01T00:00:00+01:00", [], 55),
    ("datetime", "2020-01-01T00:00:00.123Z", [], 55),
    ("datetime", "2020-01-01T00:00:60Z", ["invalid datetime"], 55),
    ("datetime", "2020-01-01T24:00:00Z", ["invalid datetime"], 55),
    ("datetime", "2020-01-01T00:00Z", ["invalid datetime"], 37),
    ("datetime", "2020-01-01T0:00:00Z", ["invalid datetime"], 37),
    ("datetime", "2020-02-30T00:00:00Z", ["invalid datetime"], 55),
    ("datetime", "2020-01-01T00:00:00,5Z", [], 55),
    ("datetime", "2020-01-01T00:00:00+0100", ["invalid datetime"], 55),
    ("datetime", "2020-01-01T00:00:00.1234567891Z", [], 73),
    ("datetime", "2020-01-01T00:00:00+99:99", [], 55),
]  # fmt: skip

OVERLOADS = {function.name: function.overloads[0] for function in FUNCTIONS}
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
    assert label.check("a.B") == [LABEL]


def test_prefixes_may_end_in_a_dash():
    assert OVERLOADS["format.dns1123LabelPrefix"].apply().check("abc-") == []
    assert OVERLOADS["format.dns1123Label"].apply().check("abc-") == [LABEL]


def test_complaints_about_long_names_come_first():
    complaints = OVERLOADS["format.dns1123Label"].apply().check("A" * 64)
    assert complaints == ["must be no more than 63 characters", LABEL]


def test_estimate_takes_the_longest_pattern(check_estimate):
    check_estimate("format.uuid().validate(s)", 2, 642)
    check_estimate("format.dns1123Label().validate('abc')", 33, 33)
