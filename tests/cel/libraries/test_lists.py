from operator import itemgetter

import pytest

SLICE_CHECKS_ITS_BOUNDS = [
    ("l.slice(1,3)", '["aaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaa"]', 14),
    ("li.slice(i,i)", "[]", 14),
    ("li.slice(0,5)", "[1, 1, 1, 1, 1]", 17),
    ("[1,2,3,4,5].slice(1,3)", "[2, 3]", 13),
    ("[1,2,3,4,5].slice(1,i)", "[2, 3]", 14),
    ("li.slice(1,i).map(x,x)", "[1, 1]", 42),
    ("[1,2,3,4,5].slice(1,3).map(x,x)", "[2, 3]", 40),
    ("lu.slice(1,i)", "[1, 1]", 15),
    ("lu.slice(1,3)", "[1, 1]", 14),
    ("lu.slice(i,3)", "[]", 13),
    ("li.slice(3,i)", "[]", 13),
    ("li.slice(1,i)", "[1, 1]", 15),
    ("li.slice(i,5)", "[1, 1]", 15),
    ("li.slice(25,30)", "error: cannot slice(25, 30), list is length 13", 13),
    ("li.slice(5,3)", "error: cannot slice(5, 3), start index must be less than or equal to end index", 13),
    ("li.slice(-1,3)", "error: cannot slice(-1, 3), negative indexes not supported", 13),
    ("li.slice(1,30)", "error: cannot slice(1, 30), list is length 13", 13),
    ("[1,2].slice(2,2)", "[]", 11),
    ("[1,2].slice(3,3)", "error: cannot slice(3, 3), list is length 2", 12),
    ("[1,2].slice(0,3)", "error: cannot slice(0, 3), list is length 2", 12),
    ("[1,2].slice(1,0)", "error: cannot slice(1, 0), start index must be less than or equal to end index", 12),
    ("li.slice(2,9).map(x,x)", "[1, 1, 1, 1, 1, 1, 1]", 111),
    ("dyn([1,2]).slice(0,1)", "[1]", 12),
    ("[0u,0u].slice(0,2)", "[0u, 0u]", 13),
    ("[true,true,false,false,false,true].slice(1,6)", "[true, false, false, false, true]", 16),
    ('["","ab","a","a"].slice(3,6)', "error: cannot slice(3, 6), list is length 4", 12),
    ("[].slice(-1,0)", "error: cannot slice(-1, 0), negative indexes not supported", 12),
    ("[true,true,true,true].slice(2,4)", "[true, true]", 13),
    ("[].slice(2,1)", "error: cannot slice(2, 1), start index must be less than or equal to end index", 12),
    ("[duration('2s')].slice(-1,0)", "error: cannot slice(-1, 0), negative indexes not supported", 12),
    ('["ab","","","a","","b"].slice(0,6)', '["ab", "", "", "a", "", "b"]', 17),
    ("[1.0].slice(5,4)", "error: cannot slice(5, 4), start index must be less than or equal to end index", 12),
    ("[].slice(3,0)", "error: cannot slice(3, 0), start index must be less than or equal to end index", 12),
    ("[].slice(1,6)", "error: cannot slice(1, 6), list is length 0", 12),
    ("[1u,3u,0u,3u,2u,1u].slice(4,6)", "[2u, 1u]", 13),
    ("[0.5,-1.5,1.0].slice(3,5)", "error: cannot slice(3, 5), list is length 3", 12),
    ('["b","b"].slice(2,4)', "error: cannot slice(2, 4), list is length 2", 12),
    ("[-1.0].slice(2,2)", "error: cannot slice(2, 2), list is length 1", 12),
    ("[1u].slice(3,5)", "error: cannot slice(3, 5), list is length 1", 12),
    ("[].slice(-1,6)", "error: cannot slice(-1, 6), negative indexes not supported", 12),
    ("[false,false,true,false,false].slice(1,1)", "[]", 11),
    ("[b'bb',b'a'].slice(4,6)", "error: cannot slice(4, 6), list is length 2", 12),
    ("[true,true,false,false].slice(2,6)", "error: cannot slice(2, 6), list is length 4", 12),
    ("[2,-1].slice(2,5)", "error: cannot slice(2, 5), list is length 2", 12),
]  # fmt: skip


@pytest.mark.parametrize("row", SLICE_CHECKS_ITS_BOUNDS, ids=itemgetter(0))
def test_slice_checks_its_bounds(check, row):
    check(*row)


FLATTEN_GOES_AS_DEEP_AS_ASKED = [
    ("ll.flatten()", "[1, 2, 3, 4, 5, 6]", 15),
    ("ll.flatten(1)", "[1, 2, 3, 4, 5, 6]", 15),
    ("ll.flatten(2)", "[1, 2, 3, 4, 5, 6]", 18),
    ("ll.flatten(i)", "[1, 2, 3, 4, 5, 6]", 22),
    ("ll.flatten().map(x,x)", "[1, 2, 3, 4, 5, 6]", 94),
    ("[[1,2],[3]].flatten().map(x,x)", "[1, 2, 3]", 53),
    ("[[1,2],[3]].flatten(2).map(x,x)", "[1, 2, 3]", 55),
    ("[[1],[2]].flatten(-1)", "error: level must be non-negative", 13),
    ("ll.flatten(0)", "[[1, 2, 3], [4, 5], [6]]", 12),
    ("[[1],[2]].flatten(0)", "[[1], [2]]", 11),
    ("dyn([dyn(1),dyn([2,3])]).flatten()", "[1, 2, 3]", 13),
    ("[dyn(1),dyn([2])].flatten(0)", "[1, [2]]", 11),
    ("[[1],[2]].flatten(-5)", "error: level must be non-negative", 13),
    ("[[[true]],[[false,true]]].flatten(0)", "[[[true]], [[false, true]]]", 11),
    ("[[b'a',b'a'],[]].flatten()", "[base64:YQ==, base64:YQ==]", 13),
    ('[["ab","b","a",""],["a","b"]].flatten()', '["ab", "b", "a", "", "a", "b"]', 13),
    ("[[1u,3u,3u,1u,2u,1u],[1u,2u,3u]].flatten()", "[1u, 3u, 3u, 1u, 2u, 1u, 1u, 2u, 3u]", 13),
    ("[[[-1.0,1.0,0.0,-1.0,0.0]],[[-1.0,1.0]]].flatten(3)", "[-1.0, 1.0, 0.0, -1.0, 0.0, -1.0, 1.0]", 17),
    ("[[false,false],[true,true,true]].flatten()", "[false, false, true, true, true]", 13),
    ("[[3u,3u,0u],[2u]].flatten()", "[3u, 3u, 0u, 2u]", 13),
    ("[[[1.0]],[[-1.0,-1.5,1.5]]].flatten(1)", "[[1.0], [-1.0, -1.5, 1.5]]", 13),
    ("[[[2,1,0,-3,1,1]],[[-1,-1,-2]]].flatten(1)", "[[2, 1, 0, -3, 1, 1], [-1, -1, -2]]", 13),
    ('[[],["ab","","b"]].flatten()', '["ab", "", "b"]', 13),
    ("[[1u,2u,3u,1u,3u],[0u,1u,1u]].flatten()", "[1u, 2u, 3u, 1u, 3u, 0u, 1u, 1u]", 13),
    ("[[[false,false,false]],[[false]]].flatten(0)", "[[[false, false, false]], [[false]]]", 11),
    ("[[[0u]],[[]]].flatten(3)", "[0u]", 17),
    ("[[[true,true,true,true]],[[true,true]]].flatten(0)", "[[[true, true, true, true]], [[true, true]]]", 11),
    ("[[0.5,1.5,1.0,-1.5,1.0],[-0.5,-1.5,0.0]].flatten()", "[0.5, 1.5, 1.0, -1.5, 1.0, -0.5, -1.5, 0.0]", 13),
    ("[[[0.0,0.0,1.5,1.5]],[[1.5,-1.5,1.5]]].flatten(2)", "[0.0, 0.0, 1.5, 1.5, 1.5, -1.5, 1.5]", 15),
    ("[[0u,3u,0u,3u,1u],[1u]].flatten()", "[0u, 3u, 0u, 3u, 1u, 1u]", 13),
    ("[[0.5,1.0,0.0],[-0.5,1.0]].flatten()", "[0.5, 1.0, 0.0, -0.5, 1.0]", 13),
    ("[[[true,true,false,true]],[[]]].flatten(3)", "[true, true, false, true]", 17),
    ("[[[b'']],[[b'a',b'',b'bb']]].flatten(1)", "[[base64:], [base64:YQ==, base64:, base64:YmI=]]", 13),
    ("[[3u,2u,1u],[]].flatten()", "[3u, 2u, 1u]", 13),
    ("[[],[-1.5,-1.0]].flatten()", "[-1.5, -1.0]", 13),
    ('[["ab","b","ab","ab"],[""]].flatten()', '["ab", "b", "ab", "ab", ""]', 13),
    ('[["","a"],["a"]].flatten()', '["", "a", "a"]', 13),
    ("[[[]],[[b'',b'a',b'bb']]].flatten(3)", "[base64:, base64:YQ==, base64:YmI=]", 17),
    ("[[],[b'',b'bb',b'']].flatten()", "[base64:, base64:YmI=, base64:]", 13),
    ("[[[2u,0u,2u,0u,1u]],[[2u,2u,2u]]].flatten(0)", "[[[2u, 0u, 2u, 0u, 1u]], [[2u, 2u, 2u]]]", 11),
    ("[[2,-3,-3],[-3,-3]].flatten()", "[2, -3, -3, -3, -3]", 13),
    ("[[[0.0,-1.0,1.0,0.0]],[[]]].flatten(1)", "[[0.0, -1.0, 1.0, 0.0], []]", 13),
    ("[[3u,1u,0u,0u,0u,1u],[]].flatten()", "[3u, 1u, 0u, 0u, 0u, 1u]", 13),
    ("[[[]],[[]]].flatten(2)", "[]", 15),
    ("[[true,true,false,true,false,true],[]].flatten()", "[true, true, false, true, false, true]", 13),
]  # fmt: skip


@pytest.mark.parametrize("row", FLATTEN_GOES_AS_DEEP_AS_ASKED, ids=itemgetter(0))
def test_flatten_goes_as_deep_as_asked(check, row):
    check(*row)


SORT_BY_ORDERS_BY_KEYS = [
    ("[3,1,2].sortBy(x,-x)", "[3, 2, 1]", 74),
    ("[].sortBy(x,x)", "[]", 14),
    ("[1,2,3].sortBy(x,'a')", "[1, 2, 3]", 38),
    ("li.sortBy(x,x)", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]", 522),
    ("li.sortBy(x,-x)", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]", 535),
    ("li.sortBy(x,string(x))", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]", 551),
    ("lu.sortBy(x,x)", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]", 522),
    ("[[2,1],[1]].sortBy(x, x.size())", "[[1], [2, 1]]", 50),
    ("[dyn(1),dyn('a')].sortBy(x, 1)", '[1, "a"]', 26),
    ("[].sortBy(v,v)", "[]", 14),
    ("[2,-3,-3,1,0].sortBy(v,v)", "[-3, -3, 0, 1, 2]", 129),
    ("[b'a'].sortBy(v,v)", "[base64:YQ==]", 29),
    ("[-0.5,0.5].sortBy(v,v)", "[-0.5, 0.5]", 48),
    ("[0.5,-1.5].sortBy(v,v)", "[-1.5, 0.5]", 48),
    ("[3u,2u,1u,2u,2u].sortBy(v,v)", "[1u, 2u, 2u, 2u, 3u]", 129),
    ("[b'',b'a',b'',b'bb'].sortBy(v,v)", "[base64:, base64:, base64:YQ==, base64:YmI=]", 99),
    ("[duration('2s'),duration('-3s')].sortBy(v,v)", "[duration(-3s), duration(2s)]", 48),
    ("[3u,1u,0u,0u,2u].sortBy(v,v)", "[0u, 0u, 1u, 2u, 3u]", 129),
    ("[2,-2,2,3].sortBy(v,v)", "[-2, 2, 2, 3]", 98),
    ("[3u,3u,2u,0u,2u].sortBy(v,v)", "[0u, 2u, 2u, 3u, 3u]", 129),
    ("[false,false,true,false,false,false].sortBy(v,v)", "[false, false, false, false, false, true]", 164),
    ("[b'bb'].sortBy(v,v)", "[base64:YmI=]", 29),
    ('["a","b","b","ab","","b"].sortBy(v,v)', '["", "a", "ab", "b", "b", "b"]', 167),
    ("[-1.5,1.0,1.0,1.0,1.0].sortBy(v,v)", "[-1.5, 1.0, 1.0, 1.0, 1.0]", 129),
    ("[true,true,true].sortBy(v,v)", "[true, true, true]", 71),
    ('["","b"].sortBy(v,v)', '["", "b"]', 48),
    ("[-0.5,1.0,1.0].sortBy(v,v)", "[-0.5, 1.0, 1.0]", 71),
    ("[-2,0,1,0,-3].sortBy(v,v)", "[-3, -2, 0, 0, 1]", 129),
    ("[2u,2u,1u,2u,2u].sortBy(v,v)", "[1u, 2u, 2u, 2u, 2u]", 129),
    ("[1,-1,2].sortBy(v,v)", "[-1, 1, 2]", 71),
    ("[b'a',b'',b'a'].sortBy(v,v)", "[base64:, base64:YQ==, base64:YQ==]", 71),
    ("[-1.0,-1.0,-1.5,1.5,-1.0,-1.0].sortBy(v,v)", "[-1.5, -1.0, -1.0, -1.0, -1.0, 1.5]", 164),
    ("[3,0,-1,-2,2,0].sortBy(v,v)", "[-2, -1, 0, 0, 2, 3]", 164),
    ("[-1.0,1.0,-1.0,1.5,1.0,0.0].sortBy(v,v)", "[-1.0, -1.0, 0.0, 1.0, 1.0, 1.5]", 164),
    ("[1,0,3,1,0].sortBy(v,v)", "[0, 0, 1, 1, 3]", 129),
    ("[b'a',b'',b'bb',b'bb'].sortBy(v,v)", "[base64:, base64:YQ==, base64:YmI=, base64:YmI=]", 99),
]  # fmt: skip


@pytest.mark.parametrize("row", SORT_BY_ORDERS_BY_KEYS, ids=itemgetter(0))
def test_sort_by_orders_by_keys(check, row):
    check(*row)


SORT_NEEDS_ONE_COMPARABLE_TYPE = [
    ("li.sort()", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]", 350),
    ("[3,1,2].sort()", "[1, 2, 3]", 29),
    ("['b','a'].sort()", '["a", "b"]', 19),
    ("lu.sort()", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]", 350),
    ("[].sort()", "[]", 11),
    ("[1.5,2.5,0.5,3.5,4.5].sort()", "[0.5, 1.5, 2.5, 3.5, 4.5]", 61),
    ("[duration('1h'),duration('2h')].sort()", "[duration(1h0m0s), duration(2h0m0s)]", 19),
    ("[true,false].sort()", "[false, true]", 19),
    ("li.sort().map(x,x)", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]", 520),
    ("['b','a','c'].sort()", '["a", "b", "c"]', 29),
    ("[0.0/0.0,1.0,0.0/0.0,-1.0].sort()", "[NaN, 1.0, NaN, -1.0]", 55),
    ("[3,1,2].sort() == [1,2,3]", "true", 30),
    ("[true,false,true].sort()", "[false, true, true]", 29),
    ('["\\taaab\\"\\u00a0\\\\A","",""].sort()', '["", "", "\\taaab\\"\u00a0\\\\A"]', 29),
    ('["bb\\t\\u00e9Zab\\tZ","","\\""].sort()', '["", "\\"", "bb\\t\u00e9Zab\\tZ"]', 29),
    ('["A\\t","A","\\t\\u00e9"].sort()', '["\\t\u00e9", "A", "A\\t"]', 29),
    ('["\\u00e9AZ\\t","","ab%b"].sort()', '["", "ab%b", "\u00e9AZ\\t"]', 29),
    ('["aaa\\u00e9\\u00e9","","\\""].sort()', '["", "\\"", "aaa\u00e9\u00e9"]', 29),
    ('["\\tbA%%\\u00a0\\t\\t","","aA"].sort()', '["", "\\tbA%%\u00a0\\t\\t", "aA"]', 29),
    ('["\\\\\\u00e9\\u00e9","\\u00a0\\n",""].sort()', '["", "\\\\\u00e9\u00e9", "\u00a0\\n"]', 29),
    ('["A\\t\\"ab\\nAAaa\\t","",""].sort()', '["", "", "A\\t\\"ab\\nAAaa\\t"]', 29),
    ("[0u,1u,3u].sort()", "[0u, 1u, 3u]", 29),
    ("[0.5].sort()", "[0.5]", 13),
    ("[duration('-3s'),duration('0s'),duration('2s')].sort()", "[duration(-3s), duration(0s), duration(2s)]", 29),
    ("[-2,0,-1,-2,0,2].sort()", "[-2, -2, -1, 0, 0, 2]", 83),
    ("[-1.0,0.5,1.0,-1.5,1.0,-1.5].sort()", "[-1.5, -1.5, -1.0, 0.5, 1.0, 1.0]", 83),
    ("[-0.5,0.0,-1.0].sort()", "[-1.0, -0.5, 0.0]", 29),
    ('["b"].sort()', '["b"]', 13),
    ("[2,3,3,2].sort()", "[2, 2, 3, 3]", 43),
    ("[3,2].sort()", "[2, 3]", 19),
    ("[false,false,true,true,true,false].sort()", "[false, false, false, true, true, true]", 83),
    ('["a","a","a","","","b"].sort()', '["", "", "a", "a", "a", "b"]', 86),
    ("[3,1,1,-3].sort()", "[-3, 1, 1, 3]", 43),
    ("[1.5,-1.5,1.0,0.0,-1.5,1.5].sort()", "[-1.5, -1.5, 0.0, 1.0, 1.5, 1.5]", 83),
    ("[0u,2u,0u,1u,3u,3u].sort()", "[0u, 0u, 1u, 2u, 3u, 3u]", 83),
    ("[2,-2].sort()", "[-2, 2]", 19),
    ("[duration('2s'),duration('-2s')].sort()", "[duration(-2s), duration(2s)]", 19),
    ("[b'bb',b'',b'',b''].sort()", "[base64:, base64:, base64:, base64:YmI=]", 44),
    ('["a","","ab","a","","a"].sort()', '["", "", "a", "a", "a", "ab"]', 86),
    ("[-3,0,2,1,1,3].sort()", "[-3, 0, 1, 1, 2, 3]", 83),
    ("[0u,3u,0u,1u].sort()", "[0u, 0u, 1u, 3u]", 43),
    ("[b'a',b'a',b'bb',b'bb'].sort()", "[base64:YQ==, base64:YQ==, base64:YmI=, base64:YmI=]", 44),
    ("[true,true,true,true,true].sort()", "[true, true, true, true, true]", 61),
    ("[duration('3s'),duration('0s')].sort()", "[duration(0s), duration(3s)]", 19),
]  # fmt: skip


@pytest.mark.parametrize("row", SORT_NEEDS_ONE_COMPARABLE_TYPE, ids=itemgetter(0))
def test_sort_needs_one_comparable_type(check, row):
    check(*row)


REVERSE_TURNS_ROUND = [
    ("li.reverse()", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]", 25),
    ("[1,2,3].reverse()", "[3, 2, 1]", 14),
    ("lu.reverse()", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]", 25),
    ("li.reverse().map(x,x)", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]", 195),
    ("d.reverse()", "error: no such overload: reverse(string)", 13),
    ("dyn('abc').reverse()", "error: no such overload: reverse(string)", 12),
    ("[2u,3u].reverse()", "[3u, 2u]", 13),
    ("[].reverse()", "[]", 11),
    ("[-1.5,0.5,-0.5,1.0,-1.0,-1.5].reverse()", "[-1.5, -1.0, 1.0, -0.5, 0.5, -1.5]", 17),
    ("[0.5,0.0,-1.5,0.0,0.5].reverse()", "[0.5, 0.0, -1.5, 0.0, 0.5]", 16),
    ('["ab"].reverse()', '["ab"]', 12),
    ("[0u,1u,1u,3u,0u].reverse()", "[0u, 3u, 1u, 1u, 0u]", 16),
    ("[1.5,0.0,1.0,-0.5,-1.0,-1.0].reverse()", "[-1.0, -1.0, -0.5, 1.0, 0.0, 1.5]", 17),
    ('["b","a","ab","b"].reverse()', '["b", "ab", "a", "b"]', 15),
    ("[-1.5,-1.5,-1.5].reverse()", "[-1.5, -1.5, -1.5]", 14),
    ("[1.5,0.5].reverse()", "[0.5, 1.5]", 13),
    ("[b'a'].reverse()", "[base64:YQ==]", 12),
    ("[3,-2].reverse()", "[-2, 3]", 13),
    ("[b''].reverse()", "[base64:]", 12),
    ('["ab","a","a","",""].reverse()', '["", "", "a", "a", "ab"]', 16),
    ("[-1,-2].reverse()", "[-2, -1]", 13),
    ("[2u,1u].reverse()", "[1u, 2u]", 13),
    ("[0u,2u,1u,1u,3u].reverse()", "[3u, 1u, 1u, 2u, 0u]", 16),
    ("[duration('-1s')].reverse()", "[duration(-1s)]", 12),
    ("[3u,0u,3u,3u].reverse()", "[3u, 3u, 0u, 3u]", 15),
    ("[true,false,false,true,true].reverse()", "[true, true, false, false, true]", 16),
]  # fmt: skip


@pytest.mark.parametrize("row", REVERSE_TURNS_ROUND, ids=itemgetter(0))
def test_reverse_turns_round(check, row):
    check(*row)


DISTINCT_KEEPS_THE_FIRST_OF_EQUALS = [
    ("l.distinct()", '["aaaaaaaaaaaaaaaaaaaaaaaaa"]', 114),
    ("li.distinct()", "[1]", 350),
    ("[1,2,3,1].distinct()", "[1, 2, 3]", 43),
    ("ll.distinct()", "[[1, 2, 3], [4, 5], [6]]", 30),
    ("[1.5,2.5,0.5,3.5,4.5].distinct()", "[1.5, 2.5, 0.5, 3.5, 4.5]", 61),
    ("['a','b','c','d','e'].distinct()", '["a", "b", "c", "d", "e"]', 63),
    ("[[1],[2],[3]].distinct()", "[[1], [2], [3]]", 29),
    ("[{'a':1},{'b':2}].distinct()", '[{"a": 1}, {"b": 2}]', 19),
    ("[dyn(1),dyn(1u)].distinct()", "[1]", 19),
    ("[null,null].distinct()", "[null]", 19),
    ("lu.distinct()", "[1]", 350),
    ("li.distinct().map(x,x)", "[1]", 364),
    ("[dyn('b'),dyn('a'),dyn('c'),dyn('d'),dyn('e')].distinct()", '["b", "a", "c", "d", "e"]', 63),
    ("[dyn('b'),dyn(1),dyn('c'),dyn('d'),dyn('e')].distinct()", '["b", 1, "c", "d", "e"]', 63),
    ("[dyn(1),dyn('a'),dyn('c'),dyn('d'),dyn('e')].distinct()", '[1, "a", "c", "d", "e"]', 61),
    ("[dyn(1),dyn(1),dyn('c'),dyn('d'),dyn('e')].distinct()", '[1, "c", "d", "e"]', 61),
    ("[dyn(1),dyn(1.0),dyn(1u),dyn(true),dyn('1')].distinct()", '[1, true, "1"]', 61),
    ("[0.0/0.0,0.0/0.0].distinct()", "[NaN, NaN]", 31),
    ("[].distinct()", "[]", 11),
    ("dyn(['b','a']).distinct()", '["b", "a"]', 19),
    ('[" ","","ab."," "].distinct()', '[" ", "", "ab."]', 44),
    ('["\\u00a0\\nAa\\u00e9","","","\\u00a0\\nAa\\u00e9"].distinct()', '["\u00a0\\nAa\u00e9", ""]', 44),
    ('[".ab\\"%.baaa",".aa","",".ab\\"%.baaa"].distinct()', '[".ab\\"%.baaa", ".aa", ""]', 44),
    ('["","\\naa","",""].distinct()', '["", "\\naa"]', 44),
    ('["A\\nA","","","A\\nA"].distinct()', '["A\\nA", ""]', 44),
    ('[".Z%\\\\A","aa\\\\","\\"Z ",".Z%\\\\A"].distinct()', '[".Z%\\\\A", "aa\\\\", "\\"Z "]', 44),
    ('["\\u00e9","ab","","\\u00e9"].distinct()', '["\u00e9", "ab", ""]', 44),
    ('["","A","\\u00e9.a",""].distinct()', '["", "A", "\u00e9.a"]', 44),
    ('[" %","","aa"," %"].distinct()', '[" %", "", "aa"]', 44),
    ("[b'bb'].distinct()", "[base64:YmI=]", 13),
    ("[-0.5].distinct()", "[-0.5]", 13),
    ("[-0.5,-1.5,-0.5,0.0].distinct()", "[-0.5, -1.5, 0.0]", 43),
    ("[-2].distinct()", "[-2]", 13),
    ("[false,true,false,true,true].distinct()", "[false, true]", 61),
    ("[-2,3,2,1,-3,1].distinct()", "[-2, 3, 2, 1, -3]", 83),
    ("[false,true,false,false,true].distinct()", "[false, true]", 61),
    ("[b''].distinct()", "[base64:]", 13),
    ("[2,-2,-1,-3,0].distinct()", "[2, -2, -1, -3, 0]", 61),
    ('["ab","","a","a"].distinct()', '["ab", "", "a"]', 44),
    ("[true,true,false,true].distinct()", "[true, false]", 43),
    ('["","b","a"].distinct()', '["", "b", "a"]', 29),
    ("[1.0,-1.0,0.5,-0.5,-1.5,-0.5].distinct()", "[1.0, -1.0, 0.5, -0.5, -1.5]", 83),
    ("[b'bb',b'bb',b'',b'a',b'',b''].distinct()", "[base64:YmI=, base64:, base64:YQ==]", 86),
    ("[-2,0,-2,3,3,1].distinct()", "[-2, 0, 3, 1]", 83),
    ('["b","b"].distinct()', '["b"]', 19),
]  # fmt: skip


@pytest.mark.parametrize("row", DISTINCT_KEEPS_THE_FIRST_OF_EQUALS, ids=itemgetter(0))
def test_distinct_keeps_the_first_of_equals(check, row):
    check(*row)


RANGE_COUNTS_FROM_ZERO = [
    ("lists.range(i)", "[0, 1, 2]", 15),
    ("lists.range(10)", "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]", 21),
    ("lists.range(10).map(x,x)", "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]", 152),
    ("lists.range(i).map(x,x)", "[0, 1, 2]", 55),
    ("lists.range(0)", "[]", 11),
    ("lists.range(-5)", "error: lists.range: size must be non-negative, got -5", 12),
    ("lists.range(1000000)", "error: operation cancelled: actual cost limit exceeded", 1000011),
    ("lists.range(10000000)", "error: lists.range: size 10000000 exceeds maximum allowed (1000000)", 12),
    ("lists.range(-1)", "error: lists.range: size must be non-negative, got -1", 12),
    ("lists.range(5)", "[0, 1, 2, 3, 4]", 16),
    ("lists.range(2)", "[0, 1]", 13),
    ("lists.range(4)", "[0, 1, 2, 3]", 15),
    ("lists.range(3)", "[0, 1, 2]", 14),
    ("lists.range(1)", "[0]", 12),
]  # fmt: skip


@pytest.mark.parametrize("row", RANGE_COUNTS_FROM_ZERO, ids=itemgetter(0))
def test_range_counts_from_zero(check, row):
    check(*row)


CEL_4_INCLUDES_LOOKS_INTO_LISTS_AND_AT_SCALARS = [
    ("d.includes('a')", "false", 4),
    ("li.includes(1)", "true", 14),
    ("li.includes('a')", "false", 14),
    ("l.includes('a')", "false", 15),
    ("i.includes(3)", "true", 2),
    ("s.includes('a')", "false", 10),
    ("lu.includes(1)", "true", 14),
    ("dyn([1,2]).includes(2)", "true", 2),
    ("[1].includes(1)", "true", 1),
    ("{'a':1}.includes('a')", "false", 1),
    ("m.includes('a')", "false", 3),
    ("{'aaaaaaaaaaaaaaaaaaaaaaaaa':'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb'}.includes('a')", "false", 6),
    ("{'a':1,'b':2,'c':3}.includes('a')", "false", 3),
    ("{1:1}.includes('a')", "false", 2),
    ("{1:'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb'}.includes('a')", "false", 6),
    ("b'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.includes('a')", "false", 4),
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.includes('a')", "false", 4),
    ("['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'].includes('a')", "false", 4),
    ("[['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa']].includes('a')", "false", 4),
    ("[{'a':1,'b':2}].includes('a')", "false", 2),
    ("[[1,2],[3]].includes([3])", "true", 3),
    ("null.includes(null)", "true", 1),
    ("1.includes(1)", "true", 1),
    ("1.includes(1.0)", "true", 1),
    ("dyn(1).includes('a')", "false", 1),
    ("[1,2].includes([1,2])", "false", 2),
    ("[[1,2]].includes([1,2])", "true", 2),
    ("{'a':1}.includes({'a':1})", "true", 1),
    ("[1].map(x,x).includes(1)", "true", 15),
    ("l.includes(s)", "false", 16),
    ("ll.includes([1])", "false", 7),
    ("b.includes(b)", "true", 3),
    ("b'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.includes(b'a')", "false", 4),
    ("m.includes(m)", "true", 4),
    ("0u.includes(1u)", "false", 1),
    ("true.includes(false)", "false", 1),
    ("[1,3].includes(-1)", "false", 2),
    ("duration('3s').includes(duration('3s'))", "true", 1),
    ("[duration('-2s'),duration('-1s'),duration('1s')].includes(duration('-2s'))", "true", 3),
    ("[2,-2,-2].includes(2)", "true", 3),
    ("true.includes(true)", "true", 1),
    ("[b'bb',b'',b'',b'',b''].includes(b'')", "true", 0),
    ("0.0.includes(0.5)", "false", 1),
    ("2u.includes(2u)", "true", 1),
    ("0u.includes(2u)", "false", 1),
]  # fmt: skip


@pytest.mark.parametrize("row", CEL_4_INCLUDES_LOOKS_INTO_LISTS_AND_AT_SCALARS, ids=itemgetter(0))
def test_CEL_4_includes_looks_into_lists_and_at_scalars(check, row):
    """CEL-4"""
    check(*row)
