from operator import itemgetter

import pytest
from support.data import cases


@pytest.mark.parametrize("row", cases("cel/conversions", "int_is_strict_about_text"), ids=itemgetter(0))
def test_int_is_strict_about_text(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/conversions", "uint_is_strict_about_text"), ids=itemgetter(0))
def test_uint_is_strict_about_text(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/conversions", "double_reads_what_go_reads"), ids=itemgetter(0))
def test_double_reads_what_go_reads(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/conversions", "bool_knows_gos_words"), ids=itemgetter(0))
def test_bool_knows_gos_words(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/conversions", "bytes_are_utf8"), ids=itemgetter(0))
def test_bytes_are_utf8(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/conversions", "string_is_written_as_go_does"), ids=itemgetter(0))
def test_string_is_written_as_go_does(check, row):
    check(*row)


DYN_CHANGES_NOTHING = [
    ("format.dns1123Label() == dyn(1)", "error: no such overload", 2),
    ("size(dyn(1))", "error: no such overload: size", 1),
    ("dyn(1)", "1", 0),
]  # fmt: skip


@pytest.mark.parametrize("row", DYN_CHANGES_NOTHING, ids=itemgetter(0))
def test_dyn_changes_nothing(check, row):
    check(*row)


TYPE_NAMES = [
    ("type(s)", "string", 2),
    ("type(format.uuid())", "kubernetes.NamedFormat", 2),
    ("type(1)", "int", 0),
    ("type(int)", "type", 0),
    ("type([1])", "list", 0),
    ("type({})", "map", 0),
    ("type(null)", "null_type", 0),
    ("type(ts)", "google.protobuf.Timestamp", 2),
    ("type(du)", "google.protobuf.Duration", 2),
]  # fmt: skip


@pytest.mark.parametrize("row", TYPE_NAMES, ids=itemgetter(0))
def test_type_names(check, row):
    check(*row)


@pytest.mark.parametrize("row", cases("cel/conversions", "size_counts_code_points"), ids=itemgetter(0))
def test_size_counts_code_points(check, row):
    check(*row)
