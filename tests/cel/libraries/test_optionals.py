from operator import itemgetter

import pytest

ZERO_VALUES_ARE_NONE = [
    ("optional.ofNonZeroValue(0)", "optional.none()", 1),
    ("optional.ofNonZeroValue('')", "optional.none()", 1),
    ("optional.ofNonZeroValue([])", "optional.none()", 1),
    ("optional.ofNonZeroValue(quantity('0'))", "optional.of(quantity(0))", 2),
    ("optional.ofNonZeroValue(duration('0s'))", "optional.none()", 1),
    ("optional.ofNonZeroValue(timestamp(0))", "optional.of(timestamp(1970-01-01T00:00:00Z))", 1),
    ("optional.ofNonZeroValue(timestamp('0001-01-01T00:00:00Z'))", "optional.none()", 1),
    ("optional.ofNonZeroValue(null)", "optional.none()", 1),
    ("optional.ofNonZeroValue({})", "optional.none()", 1),
    ("optional.ofNonZeroValue(false)", "optional.none()", 1),
    ("optional.ofNonZeroValue(0.0)", "optional.none()", 1),
    ("optional.ofNonZeroValue(0u)", "optional.none()", 1),
    ("optional.ofNonZeroValue(b'')", "optional.none()", 1),
    ("optional.ofNonZeroValue(semver('0.0.0'))", "optional.of(semver(0.0.0))", 2),
    ("optional.ofNonZeroValue(optional.none())", "optional.of(optional.none())", 2),
    ("optional.ofNonZeroValue(int)", "optional.of(int)", 1),
    ('optional.ofNonZeroValue("ab")', 'optional.of("ab")', 1),
    ("optional.ofNonZeroValue(-3)", "optional.of(-3)", 1),
    ("optional.ofNonZeroValue(true)", "optional.of(true)", 1),
    ("optional.ofNonZeroValue(1u)", "optional.of(1u)", 1),
    ("optional.ofNonZeroValue(2)", "optional.of(2)", 1),
    ("optional.ofNonZeroValue(duration('2s'))", "optional.of(duration(2s))", 1),
    ("optional.ofNonZeroValue(2u)", "optional.of(2u)", 1),
    ('optional.ofNonZeroValue("")', "optional.none()", 1),
    ("optional.ofNonZeroValue(3u)", "optional.of(3u)", 1),
    ("optional.ofNonZeroValue(duration('3s'))", "optional.of(duration(3s))", 1),
    ("optional.ofNonZeroValue(duration('-1s'))", "optional.of(duration(-1s))", 1),
    ('optional.ofNonZeroValue("a")', 'optional.of("a")', 1),
    ("optional.ofNonZeroValue(b'a')", "optional.of(base64:YQ==)", 1),
]  # fmt: skip


@pytest.mark.parametrize("row", ZERO_VALUES_ARE_NONE, ids=itemgetter(0))
def test_zero_values_are_none(check, row):
    check(*row)


UNWRAP_DROPS_WHAT_IS_NONE = [
    ("optional.unwrap([optional.of(1),optional.none()])", "[1]", 13),
    ("[optional.of(1),optional.none()].unwrapOpt()", "[1]", 13),
    ("[optional.of(1),optional.of(2)].unwrapOpt().map(x,x)", "[1, 2]", 40),
    ('[optional.of("b"),optional.none()].unwrapOpt()', '["b"]', 13),
    ("[optional.of(duration('0s')),optional.none()].unwrapOpt()", "[duration(0s)]", 13),
    ("[optional.of(duration('1s')),optional.none()].unwrapOpt()", "[duration(1s)]", 13),
    ("[optional.of(b'bb'),optional.none()].unwrapOpt()", "[base64:YmI=]", 13),
    ("[optional.of(duration('-3s')),optional.none()].unwrapOpt()", "[duration(-3s)]", 13),
    ("[optional.of(1u),optional.none()].unwrapOpt()", "[1u]", 13),
    ("[optional.of(true),optional.none()].unwrapOpt()", "[true]", 13),
    ('[optional.of("a"),optional.none()].unwrapOpt()', '["a"]', 13),
    ("[optional.of(2),optional.none()].unwrapOpt()", "[2]", 13),
    ("[optional.of(-3),optional.none()].unwrapOpt()", "[-3]", 13),
    ("[optional.of(2u),optional.none()].unwrapOpt()", "[2u]", 13),
    ("[optional.of(b''),optional.none()].unwrapOpt()", "[base64:]", 13),
    ("[optional.of(1.5),optional.none()].unwrapOpt()", "[1.5]", 13),
    ("[optional.of(-1),optional.none()].unwrapOpt()", "[-1]", 13),
    ("[optional.of(-1.5),optional.none()].unwrapOpt()", "[-1.5]", 13),
    ('[optional.of("ab"),optional.none()].unwrapOpt()', '["ab"]', 13),
    ("[optional.of(-2),optional.none()].unwrapOpt()", "[-2]", 13),
]  # fmt: skip


@pytest.mark.parametrize("row", UNWRAP_DROPS_WHAT_IS_NONE, ids=itemgetter(0))
def test_unwrap_drops_what_is_none(check, row):
    check(*row)


FIRST_AND_LAST_ARE_OPTIONAL = [
    ("l.first()", 'optional.of("aaaaaaaaaaaaaaaaaaaaaaaaa")', 2),
    ("l.last()", 'optional.of("aaaaaaaaaaaaaaaaaaaaaaaaa")', 2),
    ("[].first()", "optional.none()", 1),
    ("[1].first().value()", "1", 2),
    ("[1.0,-0.5,1.5,0.5,0.0,-1.5].last()", "optional.of(-1.5)", 1),
    ("[duration('3s'),duration('2s')].first()", "optional.of(duration(3s))", 1),
    ("[false].first()", "optional.of(false)", 1),
    ("[-3,3,2,1,1,0].last()", "optional.of(0)", 1),
    ('["a","b","b"].first()', 'optional.of("a")', 1),
    ("[1.0,-1.0,-0.5,1.5,1.0].first()", "optional.of(1.0)", 1),
    ('["","a","ab","ab",""].first()', 'optional.of("")', 1),
    ("[-1.0,-0.5,1.0,0.5].first()", "optional.of(-1.0)", 1),
    ("[true].first()", "optional.of(true)", 1),
    ("[2,-1,-3,1].first()", "optional.of(2)", 1),
    ("[0.5,0.5,0.0,-1.0,0.5].last()", "optional.of(0.5)", 1),
    ("[b'bb',b'',b'a',b'',b'bb'].first()", "optional.of(base64:YmI=)", 1),
    ("[1u,0u,0u,2u,2u].last()", "optional.of(2u)", 1),
    ("[false,true].last()", "optional.of(true)", 1),
    ('["a"].first()', 'optional.of("a")', 1),
    ("[3u].last()", "optional.of(3u)", 1),
    ("[1.0,1.5,1.5,0.5].first()", "optional.of(1.0)", 1),
    ("[duration('1s'),duration('0s'),duration('-3s')].last()", "optional.of(duration(-3s))", 1),
    ("[-0.5,-1.5,0.5,1.5,-0.5].last()", "optional.of(-0.5)", 1),
    ("[-2,3,-1,2,-1,2].first()", "optional.of(-2)", 1),
    ("[b'a',b'',b'',b'a',b'',b'a'].first()", "optional.of(base64:YQ==)", 1),
    ("[].last()", "optional.none()", 1),
    ("[3u,1u,2u,2u].first()", "optional.of(3u)", 1),
    ("[true,true,true,true].first()", "optional.of(true)", 1),
    ("[duration('-3s'),duration('0s'),duration('-3s')].first()", "optional.of(duration(-3s))", 1),
    ("[false,true,false].first()", "optional.of(false)", 1),
    ("[b'a',b'bb',b'bb'].first()", "optional.of(base64:YQ==)", 1),
    ("[0u,3u,2u,1u,2u,0u].last()", "optional.of(0u)", 1),
    ("[3u].first()", "optional.of(3u)", 1),
    ("[duration('0s'),duration('-3s'),duration('-1s'),duration('0s')].last()", "optional.of(duration(0s))", 1),
    ('["a","ab","","a","ab",""].last()', 'optional.of("")', 1),
    ("[-2,-3].last()", "optional.of(-3)", 1),
    ("[0u,3u,1u].first()", "optional.of(0u)", 1),
    ('["","ab"].first()', 'optional.of("")', 1),
    ("[0u,0u].first()", "optional.of(0u)", 1),
    ("[1.5,-1.5].first()", "optional.of(1.5)", 1),
    ("[false,true,true].first()", "optional.of(false)", 1),
    ("[-3,3,-1,-2].first()", "optional.of(-3)", 1),
    ('["a","","ab","b","b"].last()', 'optional.of("b")', 1),
    ("[3,3,1,-1].last()", "optional.of(-1)", 1),
    ("[-0.5,0.0,-1.5].first()", "optional.of(-0.5)", 1),
]  # fmt: skip


@pytest.mark.parametrize("row", FIRST_AND_LAST_ARE_OPTIONAL, ids=itemgetter(0))
def test_first_and_last_are_optional(check, row):
    check(*row)


OPTIONAL_VALUES = [
    ("optional.of(1)", "optional.of(1)", 1),
    ("optional.none()", "optional.none()", 1),
    ("optional.of(1).hasValue()", "true", 2),
    ("optional.of(1).value()", "1", 2),
    ("optional.none().value()", "error: optional.none() dereference", 2),
    ("optional.of(1).or(optional.of(2))", "optional.of(1)", 1),
    ("optional.of(1).orValue(2)", "1", 1),
    ("optional.none().orValue(2)", "2", 1),
    ("optional.none().or(optional.none()).orValue(3)", "3", 2),
    ("optional.of(1).optMap(x, x+1)", "optional.of(2)", 7),
    ("optional.of(1).optFlatMap(x, optional.of(x+1))", "optional.of(2)", 7),
    ("optional.none().optMap(x, x+1)", "optional.none()", 3),
    ("type(optional.of(1))", "optional_type", 2),
    ("optional.of(1).includes(1)", "false", 2),
]  # fmt: skip


@pytest.mark.parametrize("row", OPTIONAL_VALUES, ids=itemgetter(0))
def test_optional_values(check, row):
    check(*row)
