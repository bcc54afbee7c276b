from operator import itemgetter

import pytest

CHAR_AT_COUNTS_CODE_POINTS = [
    ("s.charAt(3)", '"a"', 2),
    ("'abc'.charAt(0)", '"a"', 1),
    ("'abc'.charAt(3)", '""', 1),
    ("'abc'.charAt(4)", "error: index out of range: 4", 1),
    ("'abc'.charAt(-1)", "error: index out of range: -1", 1),
    ("'\u00e9\u20ac'.charAt(1)", '"\u20ac"', 1),
    ('"aa\\u20acAa".charAt(100)', "error: index out of range: 100", 1),
    ('"%A ...%\\u20ac\\u20ac\\u00a0".charAt(12)', "error: index out of range: 12", 1),
    ('"\\"aa\\t.\\u00a0\\u00e9\\u00e9\\t\\u00a0".charAt(1)', '"a"', 1),
    ('"b\\u20acabAZ\\nZ\\u20ac\\tZ\\\\A".charAt(0)', '"b"', 1),
    ('"\\u00e9\\u00e9\\t\\t.\\taa%".charAt(3)', '"\\t"', 1),
    ('"".charAt(5)', "error: index out of range: 5", 1),
    ('"b\\u00a0Zaab\\u00e9".charAt(3)', '"a"', 1),
    ('"Z\\t\\"A".charAt(2)', '"\\""', 1),
    ('"\\u00a0A\\tA\\\\Zb\\u20ac\\u20ac ".charAt(0)', '"\u00a0"', 1),
    ('"\\nb\\u20ac\\u00e9\\taaZaAZ".charAt(100)', "error: index out of range: 100", 1),
    ('"\\t\\u00e9aaab".charAt(1)', '"\u00e9"', 1),
    ('"\\"\\t\\\\\\u00a0\\tb\\"a..\\n\\u20ac".charAt(12)', '""', 1),
]  # fmt: skip


@pytest.mark.parametrize("row", CHAR_AT_COUNTS_CODE_POINTS, ids=itemgetter(0))
def test_char_at_counts_code_points(check, row):
    check(*row)


LAST_INDEX_OF_SEARCHES_BACKWARDS = [
    ("s.lastIndexOf(t)", "-1", 11),
    ("s.lastIndexOf(t,5)", "-1", 11),
    ("l.lastIndexOf(t)", "-1", 16),
    ("[1,2,3,2].lastIndexOf(2)", "3", 4),
    ("'abc'.lastIndexOf('')", "3", 0),
    ("''.lastIndexOf('')", "0", 0),
    ("'abc'.lastIndexOf('',5)", "3", 0),
    ("'abc'.lastIndexOf('',-1)", "error: index out of range: -1", 0),
    ("'abc'.lastIndexOf('c',3)", "-1", 0),
    ("'abc'.lastIndexOf('c',2)", "2", 0),
    ("'abc'.lastIndexOf('c',1)", "-1", 0),
    ("'abc'.lastIndexOf('c',4)", "-1", 0),
    ("'abc'.lastIndexOf('c',-1)", "error: index out of range: -1", 0),
    ("'abcabc'.lastIndexOf('abc',3)", "3", 0),
    ("'abcabc'.lastIndexOf('abc',2)", "0", 0),
    ("'a'.lastIndexOf('abc')", "-1", 0),
    ("'a'.lastIndexOf('abc',0)", "-1", 0),
    ("'abcabc'.lastIndexOf('abcabcabc',1)", "-1", 0),
    ('"\\\\".lastIndexOf("ab")', "-1", 0),
    ('"\\tb\\tA\\\\aa\\tab\\ta".lastIndexOf("")', "12", 1),
    ('"\\"".lastIndexOf("",100)', "1", 0),
    ('"\\nab".lastIndexOf("\\u00e9")', "-1", 0),
    ('"\\"ab\\u00e9\\"\\"abab .aa".lastIndexOf("",5)', "5", 1),
    ('"\\u00e9aa.\\n\\t \\u20ac".lastIndexOf("A",1)', "-1", 1),
    ('"Aa  .aa\\"a\\\\Z.".lastIndexOf("Aaa")', "-1", 1),
    ('"".lastIndexOf("Z",-1)', "error: index out of range: -1", 0),
    ('"abA".lastIndexOf("%")', "-1", 0),
    ('"".lastIndexOf("",1)', "0", 0),
    ('"\\u00e9\\n\\u00a0bZ".lastIndexOf("",0)', "0", 0),
    ('"ab\\u00a0".lastIndexOf("")', "3", 0),
    ('"".lastIndexOf("",100)', "0", 0),
    ('"\\u00e9".lastIndexOf("")', "1", 0),
    ('"Zb.aaa\\\\".lastIndexOf("")', "7", 0),
    ('"".lastIndexOf("Zb",3)', "-1", 0),
    ('"bAbab\\n\\u00e9aa\\\\.\\u00e9 ".lastIndexOf("",12)', "12", 1),
    ('"\\"\\\\aa\\u00a0\\u20acaab\\u20acabb\\"\\n".lastIndexOf("")', "15", 2),
    ('".\\t".lastIndexOf(".Z")', "-1", 0),
    ('"\\"bA\\\\a%".lastIndexOf("\\n",-1)', "error: index out of range: -1", 0),
    ('"\\u00a0\\\\.\\u00a0AbZ\\\\\\\\ab\\\\".lastIndexOf("%ab")', "-1", 1),
    ('"\\u00e9\\u00a0".lastIndexOf("%")', "-1", 0),
    ('"\\u20acAA\\\\\\\\b\\u00e9Z\\t ".lastIndexOf("")', "10", 1),
    ('"\\u00e9".lastIndexOf("\\"")', "-1", 0),
    ('"abb\\\\Z.b".lastIndexOf("baa")', "-1", 0),
    ('"ZaaA\\u20ac\\u00a0aAaa\\"\\n\\u00e9".lastIndexOf("bb",2)', "-1", 1),
    ("[-2,3,-1,1,3,-1].lastIndexOf(-1)", "5", 6),
]  # fmt: skip


@pytest.mark.parametrize("row", LAST_INDEX_OF_SEARCHES_BACKWARDS, ids=itemgetter(0))
def test_last_index_of_searches_backwards(check, row):
    check(*row)


INDEX_OF_SEARCHES_FROM_A_POSITION = [
    ("s.indexOf(t)", "-1", 11),
    ("s.indexOf(t,3)", "-1", 11),
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.indexOf('a')", "0", 4),
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.indexOf('a')", "0", 4),
    ("l.indexOf(t)", "-1", 16),
    ("li.indexOf(i)", "-1", 15),
    ("[[1,2],[3,4]].indexOf([1,2])", "0", 4),
    ("ll.indexOf([1])", "-1", 7),
    ("[dyn(1),dyn(null)].indexOf('a')", "-1", 2),
    ("[1,2,3].indexOf(2)", "1", 3),
    ("[1,2,3].indexOf(4)", "-1", 3),
    ("dyn([1,2]).indexOf('x')", "-1", 2),
    ("dyn('abc').indexOf('c')", "2", 0),
    ("'abc'.indexOf('')", "0", 0),
    ("''.indexOf('')", "0", 0),
    ("'abc'.indexOf('',5)", "3", 0),
    ("'abc'.indexOf('',-1)", "error: index out of range: -1", 0),
    ("'abc'.indexOf('c',3)", "-1", 0),
    ("'abc'.indexOf('c',4)", "-1", 0),
    ("'abc'.indexOf('c',-1)", "error: index out of range: -1", 0),
    ("'abcabc'.indexOf('abc',1)", "3", 0),
    ("'\u00e9abc'.indexOf('b')", "2", 0),
    ("'a'.indexOf('abc')", "-1", 0),
    ('"\\nb".indexOf("",3)', "2", 0),
    ('"\\taa%aba\\u00a0 ab.\\u00e9\\tab".indexOf("")', "0", 1),
    ('" bAbZA%aa".indexOf("\\u00e9")', "-1", 0),
    ('" A".indexOf("",12)', "2", 0),
    ('"".indexOf("baa")', "-1", 0),
    ('"%aa\\u20ac\\" \\u20ac\\n \\"\\u00a0A\\u20ac".indexOf("abaa")', "-1", 2),
    ('"\\u20ac".indexOf("\\"\\"")', "-1", 0),
    ('"\\u00a0aa\\u00e9\\\\aaZa\\"\\u20ac\\"".indexOf("\\n",3)', "-1", 1),
    ('"\\u00e9\\u00e9\\\\.".indexOf("",0)', "0", 0),
    ('".A\\"\\u20ac\\n\\\\\\\\b\\u00a0\\t".indexOf("\\"")', "2", 1),
    ('"ab\\u20aca".indexOf("",1)', "1", 0),
    ('"".indexOf("\\u00a0",12)', "-1", 0),
    ('"\\u00a0.aA\\\\".indexOf("%\\u20ac",0)', "-1", 0),
    ('"aa\\"\\u20ac".indexOf("")', "0", 0),
    ('".\\\\\\"\\t\\tb%\\u00a0\\u20ac\\u20ac".indexOf("")', "0", 1),
    ('"ZAAA\\u00a0\\"aa".indexOf("\\\\\\n")', "-1", 0),
    ('"ZZ\\"\\u00a0ZAaaaa\\u00a0\\u20ac\\u20ac\\u00e9".indexOf("A")', "5", 2),
    ('"%aa\\u20ac\\u20ac \\n".indexOf("\\" ",0)', "-1", 1),
    ('"\\u00e9%\\"b\\n\\u00a0\\"".indexOf("ab\\u00a0",5)', "-1", 0),
    ('"b\\\\Zab\\u00a0\\" \\u00a0 ".indexOf("\\"%",-1)', "error: index out of range: -1", 1),
    ('"aa.\\u00e9Zbaa\\t".indexOf("")', "0", 1),
    ('"".indexOf("")', "0", 0),
]  # fmt: skip


@pytest.mark.parametrize("row", INDEX_OF_SEARCHES_FROM_A_POSITION, ids=itemgetter(0))
def test_index_of_searches_from_a_position(check, row):
    check(*row)


REPLACE_TAKES_EVERY_OCCURRENCE_OR_SOME = [
    ("s.replace('a','')", '""', 20),
    ("'abc'.replace('b','x',0)", '"abc"', 1),
    ("'aaa'.replace('a','x',2)", '"xxa"', 1),
    ("'aaa'.replace('a','x',-2)", '"xxx"', 1),
    ("'abc'.replace('','x')", '"xaxbxcx"', 1),
    ("'abc'.replace('','x',2)", '"xaxbc"', 1),
    ("''.replace('','x')", '"x"', 0),
    ("''.replace('','x',1)", '"x"', 0),
    ('"Z\\u20ac.\\t.aa\\\\".replace("\\u00e9\\\\","\\u00a0",2)', '"Z\u20ac.\\t.aa\\\\"', 2),
    ('"\\\\\\u00e9Zaa".replace("","",3)', '"\\\\\u00e9Zaa"', 1),
    ('". ".replace("\\u20acaa","\\tA%",5)', '". "', 1),
    ('" \\nA b\\t\\u00e9ab".replace("\\u20acaa","aa")', '" \\nA b\\t\u00e9ab"', 2),
    ('"Z%aaa\\u20ac%a".replace("b","")', '"Z%aaa\u20ac%a"', 2),
    ('"ab\\\\\\n\\u00a0\\u20acab%\\n".replace(" \\t","\\u20ac")', '"ab\\\\\\n\u00a0\u20acab%\\n"', 2),
    ('" ab\\"".replace("\\\\ab","aa%")', '" ab\\""', 1),
    ('".\\u00e9Z\\\\\\u00a0\\u20ac".replace("%a","",-1)', '".\u00e9Z\\\\\u00a0\u20ac"', 2),
    ('"aa%%\\u00e9\\"\\t\\taaa\\u00a0".replace("","")', '"aa%%\u00e9\\"\\t\\taaa\u00a0"', 3),
    ('"".replace("\\t\\u20ac","..\\u20ac",2)', '""', 0),
    ('"\\u20acab\\ta\\t\\"".replace("","b")', '"b\u20acbabbb\\tbab\\tb\\"b"', 2),
    ('"%ZZ".replace("\\u00a0%","",3)', '"%ZZ"', 1),
    ('"ab%\\"ab\\u00a0Z\\u00a0Z".replace("\\u00e9%","",3)', '"ab%\\"ab\u00a0Z\u00a0Z"', 2),
    ('"\\n\\u00a0ab".replace("A",".")', '"\\n\u00a0ab"', 1),
    ('" .aa\\tab\\\\".replace("","\\\\")', '"\\\\ \\\\.\\\\a\\\\a\\\\\\t\\\\a\\\\b\\\\\\\\\\\\"', 2),
    ('"a \\taa".replace("","aZ")', '"aZaaZ aZ\\taZaaZaaZ"', 1),
    ('"\\nA\\u20ac ".replace("","Z\\t")', '"Z\\t\\nZ\\tAZ\\t\u20acZ\\t Z\\t"', 1),
    ('"\\n".replace("","")', '"\\n"', 1),
    ('"A%\\tbZ\\u00e9\\n".replace("","\\t Z",0)', '"A%\\tbZ\u00e9\\n"', 2),
    ('"ab%\\\\\\u20acaa\\"Z\\u20ac\\\\\\t".replace("","",0)', '"ab%\\\\\u20acaa\\"Z\u20ac\\\\\\t"', 3),
    ('"%A\\u00e9\\u00a0\\n".replace("A\\u00e9","")', '"%\u00a0\\n"', 1),
    ('"\\\\\\\\\\u20ac\\t\\t".replace("b\\\\","",-1)', '"\\\\\\\\\u20ac\\t\\t"', 1),
    ('"abaa\\u00a0.".replace("Zb","b",5)', '"abaa\u00a0."', 2),
]  # fmt: skip


@pytest.mark.parametrize("row", REPLACE_TAKES_EVERY_OCCURRENCE_OR_SOME, ids=itemgetter(0))
def test_replace_takes_every_occurrence_or_some(check, row):
    check(*row)


SPLIT_CUTS_AT_SEPARATORS = [
    ("s.split('a').exists(x, x == 'b')", "false", 501),
    ("s.split('').exists(x, x == 'b')", "false", 591),
    ("'a,b,c'.split(',')", '["a", "b", "c"]', 1),
    ("'a,b,c'.split(',',0)", "[]", 1),
    ("'a,b,c'.split(',',1)", '["a,b,c"]', 1),
    ("'a,b,c'.split(',',2)", '["a", "b,c"]', 1),
    ("'a,b,c'.split(',',-5)", '["a", "b", "c"]', 1),
    ("'a,b,c'.split(',',10)", '["a", "b", "c"]', 1),
    ("'abc'.split('',2)", '["a", "bc"]', 1),
    ("'abc'.split('',0)", "[]", 1),
    ("'abc'.split('',5)", '["a", "b", "c"]', 1),
    ("''.split('')", "[]", 0),
    ("''.split(',')", '[""]', 0),
    ("''.split('',2)", "[]", 0),
    ("'\u00e9\u20acx'.split('')", '["\u00e9", "\u20ac", "x"]', 1),
    ('"\\tbZZ\\\\".split("",2)', '["\\t", "bZZ\\\\"]', 1),
    ('"b.\\\\%\\u00a0\\u00a0Z.\\"%".split("b\\\\")', '["b.\\\\%\u00a0\u00a0Z.\\"%"]', 2),
    ('"ZA".split("a")', '["ZA"]', 1),
    ('"\\\\\\u20acZ".split("\\\\A")', '["\\\\\u20acZ"]', 1),
    ('"%Zb.aa ".split("\\\\\\\\")', '["%Zb.aa "]', 2),
    ('"\\nAaa%abA\\n\\taa.A".split("\\n",100)', '["", "Aaa%abA", "\\taa.A"]', 3),
    ('"Zab\\n\\t".split("")', '["Z", "a", "b", "\\n", "\\t"]', 1),
    ('"b\\\\AaabZ".split("b.",3)', '["b\\\\AaabZ"]', 2),
    ('"".split("",2)', "[]", 0),
    ('"\\u00e9bAZ".split("")', '["\u00e9", "b", "A", "Z"]', 1),
    ('"\\u20acb.\\u00a0\\u00a0\\t\\u00e9 %Aaa\\n".split("\\n",0)', "[]", 3),
    ('"\\\\a\\u20ac\\\\".split("\\u20ac.",2)', '["\\\\a\u20ac\\\\"]', 1),
    ('"\\"\\"aa\\nAa".split("\\n",-1)', '["\\"\\"aa", "Aa"]', 2),
    ('"ab".split("\\"")', '["ab"]', 1),
    ('"Z\\n".split("")', '["Z", "\\n"]', 1),
    ('"\\u00e9\\t\\taa %aa".split("aa\\u00e9",3)', '["\u00e9\\t\\taa %aa"]', 2),
    ('"\\"%aa aa\\nb".split("\\"",-1)', '["", "%aa aa\\nb"]', 2),
    ('"aa\\\\ZZ".split("\\na",0)', "[]", 1),
    ('"\\u00a0".split("\\"aa")', '["\u00a0"]', 1),
    ('".ab".split("\\t")', '[".ab"]', 1),
    ('"\\tZ\\u20ac.bb\\\\\\"\\n\\\\A".split("\\n")', '["\\tZ\u20ac.bb\\\\\\"", "\\\\A"]', 3),
    ('"Ab\\t\\u00e9A".split(".\\t",-1)', '["Ab\\t\u00e9A"]', 1),
    ('" b\\\\ \\"  \\u00e9".split("\\u20ac\\u20ac")', '[" b\\\\ \\"  \u00e9"]', 2),
    ('"aAA \\\\%b".split("\\"\\"",100)', '["aAA \\\\%b"]', 2),
]  # fmt: skip


@pytest.mark.parametrize("row", SPLIT_CUTS_AT_SEPARATORS, ids=itemgetter(0))
def test_split_cuts_at_separators(check, row):
    check(*row)


SUBSTRING_CHECKS_ITS_BOUNDS = [
    ("s.substring(1,4)", '"aaa"', 11),
    ("'abc'.substring(0)", '"abc"', 1),
    ("'abc'.substring(3)", '""', 1),
    ("'abc'.substring(4)", "error: index out of range: 4", 1),
    ("'abc'.substring(-1)", "error: index out of range: -1", 1),
    ("'abc'.substring(0,4)", "error: index out of range: 4", 1),
    ("'abc'.substring(-1,2)", "error: index out of range: -1", 1),
    ("'abc'.substring(2,1)", "error: invalid substring range. start: 2, end: 1", 1),
    ("'abc'.substring(4,5)", "error: index out of range: 4", 1),
    ("'abc'.substring(1,-1)", "error: invalid substring range. start: 1, end: -1", 1),
    ("'\u00e9\u20acx'.substring(1,2)", '"\u20ac"', 1),
    ('"Z\\"%.".substring(2)', '"%."', 1),
    ('"\\nba ZZ \\u00a0%.".substring(3)', '" ZZ \u00a0%."', 1),
    ('"".substring(100,12)', "error: invalid substring range. start: 100, end: 12", 0),
    ('"".substring(0)', '""', 0),
    ('"\\\\\\u00e9\\n\\t\\u00a0\\n".substring(5,1)', "error: invalid substring range. start: 5, end: 1", 1),
    ('"".substring(-1)', "error: index out of range: -1", 0),
    ('"\\n".substring(-1)', "error: index out of range: -1", 1),
    ('"Z\\u20acA\\\\Z.".substring(3)', '"\\\\Z."', 1),
    ('"\\tZ\\u00e9\\tA\\n\\u20ac\\t".substring(100,5)', "error: invalid substring range. start: 100, end: 5", 1),
    ('"\\na".substring(1)', '"a"', 1),
    ('"\\u20ac\\u20ac\\u00a0".substring(-1)', "error: index out of range: -1", 1),
    ('"ab\\n\\tab\\u20ac.%A\\u20ac%".substring(5)', '"b\u20ac.%A\u20ac%"', 2),
    ('"\\u20ac\\u20ac\\na".substring(1,-1)', "error: invalid substring range. start: 1, end: -1", 1),
    ('"\\\\".substring(100)', "error: index out of range: 100", 1),
    ('"Z\\nZ.".substring(3)', '"."', 1),
    ('".".substring(-1)', "error: index out of range: -1", 1),
    ('"\\\\A \\u00e9A\\naa\\u20ac".substring(0)', '"\\\\A \u00e9A\\naa\u20ac"', 1),
    ('"%%aaaa".substring(-1,5)', "error: index out of range: -1", 1),
    ('"Z".substring(100)', "error: index out of range: 100", 1),
    ('" A..\\".%ab.\\u20ac".substring(-1,1)', "error: index out of range: -1", 2),
    ('" ..\\"b ".substring(3)', '"\\"b "', 1),
    ('"".substring(1)', "error: index out of range: 1", 0),
    ('"ababaa\\u00a0".substring(2)', '"abaa\u00a0"', 1),
    ('"\\nabb A\\t".substring(0)', '"\\nabb A\\t"', 1),
    ('"\\\\.b%\\"\\t".substring(3)', '"%\\"\\t"', 1),
    ('"\\"%\\n".substring(12,5)', "error: invalid substring range. start: 12, end: 5", 1),
    ('"b\\u00a0\\\\".substring(-1,12)', "error: index out of range: -1", 1),
]  # fmt: skip


@pytest.mark.parametrize("row", SUBSTRING_CHECKS_ITS_BOUNDS, ids=itemgetter(0))
def test_substring_checks_its_bounds(check, row):
    check(*row)


TRIM_TAKES_WHAT_GO_CALLS_SPACE = [
    ("'  a \\t\\n\\v\\f\\r'.trim()", '"a"', 1),
    ("'\\u00a0a\\u0085'.trim()", '"a"', 1),
    ("'\\u1680a\\u2003\\u3000'.trim()", '"a"', 1),
    ("'\\u001ca\\u001f'.trim()", '"\\u001ca\\u001f"', 1),
    ("'\\u200ba\\ufeff'.trim()", '"\u200ba\ufeff"', 1),
    ('"Z".trim()', '"Z"', 1),
    ('"".trim()', '""', 0),
    ('"A".trim()', '"A"', 1),
    ('"ab".trim()', '"ab"', 1),
    ('"\\\\%A\\u00e9".trim()', '"\\\\%A\u00e9"', 1),
    ('"\\"\\u20ac\\" \\"%A".trim()', '"\\"\u20ac\\" \\"%A"', 1),
    ('"%".trim()', '"%"', 1),
]  # fmt: skip


@pytest.mark.parametrize("row", TRIM_TAKES_WHAT_GO_CALLS_SPACE, ids=itemgetter(0))
def test_trim_takes_what_go_calls_space(check, row):
    check(*row)


LOWER_ASCII_LEAVES_OTHER_LETTERS = [
    ("size(s.lowerAscii())", "95", 12),
    ("'aXb\u00c9'.lowerAscii()", '"axb\u00c9"', 1),
    ('"a\\"\\\\a \\u20ac\\"\\t\\\\A\\u00e9".lowerAscii()', '"a\\"\\\\a \u20ac\\"\\t\\\\a\u00e9"', 2),
    ('".".lowerAscii()', '"."', 1),
    ('"A\\\\.aa ab\\"\\u00a0\\u00e9aa".lowerAscii()', '"a\\\\.aa ab\\"\u00a0\u00e9aa"', 2),
    ('".\\u00a0aabZ\\\\A.ZZ".lowerAscii()', '".\u00a0aabz\\\\a.zz"', 2),
    ('"\\"AaaabA\\\\.".lowerAscii()', '"\\"aaaaba\\\\."', 1),
    ('"a\\u20ac\\n ab%ZZ b".lowerAscii()', '"a\u20ac\\n ab%zz b"', 2),
    ('"abaab\\u20ac \\t".lowerAscii()', '"abaab\u20ac \\t"', 1),
    ('"\\u00e9abZ\\u20ac%aa\\\\\\t.".lowerAscii()', '"\u00e9abz\u20ac%aa\\\\\\t."', 2),
    ('"Z b\\"\\u00e9ab\\"\\u20ac\\n\\t".lowerAscii()', '"z b\\"\u00e9ab\\"\u20ac\\n\\t"', 2),
    ('"\\u20ac".lowerAscii()', '"\u20ac"', 1),
    ('"".lowerAscii()', '""', 0),
    ('"\\\\".lowerAscii()', '"\\\\"', 1),
    ('"ZAZZ\\u20acb".lowerAscii()', '"zazz\u20acb"', 1),
    ('"\\u20ac.\\\\ab\\u00e9ab\\u00a0b\\\\aa".lowerAscii()', '"\u20ac.\\\\ab\u00e9ab\u00a0b\\\\aa"', 2),
    ('"\\t\\\\A\\"%b\\na.a".lowerAscii()', '"\\t\\\\a\\"%b\\na.a"', 1),
]  # fmt: skip


@pytest.mark.parametrize("row", LOWER_ASCII_LEAVES_OTHER_LETTERS, ids=itemgetter(0))
def test_lower_ascii_leaves_other_letters(check, row):
    check(*row)


UPPER_ASCII_LEAVES_OTHER_LETTERS = [
    ("'axb\u00e9'.upperAscii()", '"AXB\u00e9"', 1),
    ('"".upperAscii()', '""', 0),
    ('"ab\\u00a0A.b\\t\\"\\nb \\\\\\u00a0".upperAscii()', '"AB\u00a0A.B\\t\\"\\nB \\\\\u00a0"', 2),
    ('"ab%Aa\\n\\n.\\t%\\u20ac\\t\\u00a0".upperAscii()', '"AB%AA\\n\\n.\\t%\u20ac\\t\u00a0"', 2),
    ('"\\u00e9\\u00e9bA\\"\\naa\\u00e9\\u00e9".upperAscii()', '"\u00e9\u00e9BA\\"\\nAA\u00e9\u00e9"', 1),
    ('"\\u00e9\\t\\u00e9abab".upperAscii()', '"\u00e9\\t\u00e9ABAB"', 1),
    ('"\\u20ac\\\\\\u00e9\\tab%\\t\\u00a0".upperAscii()', '"\u20ac\\\\\u00e9\\tAB%\\t\u00a0"', 1),
    ('"aab\\n\\nab".upperAscii()', '"AAB\\n\\nAB"', 1),
    ('"b\\t\\\\\\u00a0ab \\"b".upperAscii()', '"B\\t\\\\\u00a0AB \\"B"', 1),
    ('"\\u00e9A ".upperAscii()', '"\u00e9A "', 1),
    ('"\\\\\\u20ac\\u00e9 \\u00e9\\"".upperAscii()', '"\\\\\u20ac\u00e9 \u00e9\\""', 1),
    ('"\\u20ac".upperAscii()', '"\u20ac"', 1),
    ('"\\\\Zb".upperAscii()', '"\\\\ZB"', 1),
    ('"\\u00a0aa\\u00e9b\\u00a0\\\\".upperAscii()', '"\u00a0AA\u00e9B\u00a0\\\\"', 1),
    ('"\\"ab%".upperAscii()', '"\\"AB%"', 1),
    ('"aa.b.\\u00e9".upperAscii()', '"AA.B.\u00e9"', 1),
]  # fmt: skip


@pytest.mark.parametrize("row", UPPER_ASCII_LEAVES_OTHER_LETTERS, ids=itemgetter(0))
def test_upper_ascii_leaves_other_letters(check, row):
    check(*row)


QUOTE_ESCAPES_FOR_CEL = [
    ("strings.quote('\\u0001\u00e9\\u007f\\u0085')", '"\\"\\u0001\u00e9\u007f\u0085\\""', 1),
    ("strings.quote('\\'')", "\"\\\"'\\\"\"", 1),
    ("strings.quote('\\U0001F600')", '"\\"\U0001f600\\""', 1),
    ('strings.quote("AA%Z\\n%b")', '"\\"AA%Z\\\\n%b\\""', 1),
    ('strings.quote("% \\u20ac\\nA ")', '"\\"% \u20ac\\\\nA \\""', 1),
    ('strings.quote("Zab% ab%\\t")', '"\\"Zab% ab%\\\\t\\""', 1),
    ('strings.quote("ab\\\\abab")', '"\\"ab\\\\\\\\abab\\""', 1),
    ('strings.quote("")', '"\\"\\""', 0),
    ('strings.quote("\\u00a0\\\\Zbb\\"b")', '"\\"\u00a0\\\\\\\\Zbb\\\\\\"b\\""', 1),
    ('strings.quote("\\t\\\\ab\\\\Z  b A")', '"\\"\\\\t\\\\\\\\ab\\\\\\\\Z  b A\\""', 2),
    ('strings.quote("ab\\u00e9Z")', '"\\"ab\u00e9Z\\""', 1),
    ('strings.quote("A\\u00e9\\\\")', '"\\"A\u00e9\\\\\\\\\\""', 1),
    ('strings.quote("%")', '"\\"%\\""', 1),
    ('strings.quote("Aaa\\u00a0\\t\\\\\\u00e9aa%aa")', '"\\"Aaa\u00a0\\\\t\\\\\\\\\u00e9aa%aa\\""', 2),
    ('strings.quote("\\u20acab")', '"\\"\u20acab\\""', 1),
    ('strings.quote("abaab\\"\\n\\n")', '"\\"abaab\\\\\\"\\\\n\\\\n\\""', 1),
    ('strings.quote("\\"")', '"\\"\\\\\\"\\""', 1),
    ('strings.quote(" \\u00e9Za\\u00e9a\\u00a0ab\\u20ac")', '"\\" \u00e9Za\u00e9a\u00a0ab\u20ac\\""', 1),
    ('strings.quote("aab\\"\\t\\u00e9.\\u00e9\\n")', '"\\"aab\\\\\\"\\\\t\u00e9.\u00e9\\\\n\\""', 1),
    ('strings.quote(" \\"\\\\\\\\\\"aa")', '"\\" \\\\\\"\\\\\\\\\\\\\\\\\\\\\\"aa\\""', 1),
    ('strings.quote(" A\\u20ac \\u00a0\\tab\\t %aa")', '"\\" A\u20ac \u00a0\\\\tab\\\\t %aa\\""', 2),
]  # fmt: skip


@pytest.mark.parametrize("row", QUOTE_ESCAPES_FOR_CEL, ids=itemgetter(0))
def test_quote_escapes_for_cel(check, row):
    check(*row)


JOIN_PUTS_SEPARATORS_BETWEEN = [
    ("[].join('dddddddddddddddddddd')", '""', 0),
    ("dyn([1]).join()", "error: no such overload: join(list)", 1),
    ("['a'].join(',')", '"a"', 1),
    ("[].join(',')", '""', 0),
    ("['a','b'].join('')", '"ab"', 1),
    ("['ab','c'].join(',') == 'ab,c'", "true", 2),
    ('["aaaa\\\\a\\\\",""].join()', '"aaaa\\\\a\\\\"', 2),
    ('["\\u00e9Z%\\u00a0\\\\ Z%","\\""].join()', '"\u00e9Z%\u00a0\\\\ Z%\\""', 2),
    ('["aa\\u00a0\\"\\u20acZ.\\u00e9","ab"].join()', '"aa\u00a0\\"\u20acZ.\u00e9ab"', 2),
    ('["ab","A"].join()', '"abA"', 1),
    ('["\\u20ac\\u20ac%",""].join()', '"\u20ac\u20ac%"', 1),
    ('["\\u00a0.","A\\\\","\\tA\\u00a0"].join("A\\\\")', '"\u00a0.A\\\\A\\\\A\\\\\\tA\u00a0"', 3),
    ('["\\u20acaaaa","ab."].join()', '"\u20acaaaaab."', 2),
    ('["\\u00e9\\t%\\"%","\\u00e9"].join()', '"\u00e9\\t%\\"%\u00e9"', 2),
    ('["bab\\u00a0\\\\\\t","bab","\\\\"].join("bab")', '"bab\u00a0\\\\\\tbabbabbab\\\\"', 4),
    ('["","\\u00e9.",""].join("\\u00e9.")', '"\u00e9.\u00e9.\u00e9."', 2),
    ('["\\tb","","ab\\tA"].join("")', '"\\tbab\\tA"', 2),
    ('["","\\\\","\\""].join("\\\\")', '"\\\\\\\\\\\\\\""', 1),
]  # fmt: skip


@pytest.mark.parametrize("row", JOIN_PUTS_SEPARATORS_BETWEEN, ids=itemgetter(0))
def test_join_puts_separators_between(check, row):
    check(*row)


CONTAINS_FINDS_PARTS = [
    ("s.contains(t)", "false", 32),
    ("u.contains(t)", "false", 32),
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.contains('a')", "true", 5),
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.contains('')", "true", 0),
    ("''.contains('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')", "false", 0),
    ("'abc'.contains('')", "true", 0),
    ('"ab\\\\ab.aa".contains("\\u00a0")', "false", 1),
    ('"Z\\"ab\\naa.Zbab.\\t\\n".contains("\\"Z")', "false", 2),
    ('"\\u20ac".contains("")', "true", 0),
    ('"\\u00e9Z".contains("\\u20acb")', "false", 1),
    ('"aa\\"\\\\\\t\\\\\\u20ac.ab\\\\bZ%".contains("")', "true", 0),
    ('"\\"\\u20ac\\t\\u00e9\\t\\n\\u00e9".contains("\\ta")', "false", 1),
    ('"aa%\\\\.".contains("\\\\")', "true", 1),
    ('"".contains("\\u00e9")', "false", 0),
    ('"A\\\\ \\"".contains("Aa")', "false", 1),
    ('"\\t".contains("")', "true", 0),
    ('"%a\\tab\\t".contains("")', "true", 0),
    ('"\\u00a0a.\\u00e9b".contains("ab\\n")', "false", 1),
    ('"\\"\\t%ba\\"\\u20acabZA%".contains("b")', "true", 2),
    ('"b\\n\\u00e9".contains("")', "true", 0),
    ('"\\u20acZ\\\\\\\\\\u00a0".contains("\\u00a0")', "true", 1),
]  # fmt: skip


@pytest.mark.parametrize("row", CONTAINS_FINDS_PARTS, ids=itemgetter(0))
def test_contains_finds_parts(check, row):
    check(*row)


STARTS_WITH_COMPARES_THE_BEGINNING = [
    ("s.startsWith(t)", "false", 5),
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.startsWith('')", "true", 0),
    ('".\\n\\u20ac".startsWith("\\u00a0ab")', "false", 1),
    ('"ab ab. ".startsWith("ba")', "false", 1),
    ('"\\\\\\"aa\\u20ac \\\\Aabbab".startsWith("a")', "false", 1),
    ('"ZZ\\u00e9aab".startsWith("")', "true", 0),
    ('"\\"".startsWith("")', "true", 0),
    ('"".startsWith("")', "true", 0),
    ('"\\\\\\\\\\\\Zab\\nZ ab\\u00a0Aab".startsWith("ZA")', "false", 1),
    ('"%aa \\\\\\t\\"%abab\\u00e9".startsWith("\\n\\t")', "false", 1),
    ('"\\\\\\"Z\\u00a0%ab\\u20ac\\\\a\\"\\u00a0".startsWith("\\"\\u20ac")', "false", 1),
    ('"b\\naa\\u20acZaa\\n".startsWith("")', "true", 0),
    ('"aZ\\u20aca\\"aaaa.".startsWith("")', "true", 0),
]  # fmt: skip


@pytest.mark.parametrize("row", STARTS_WITH_COMPARES_THE_BEGINNING, ids=itemgetter(0))
def test_starts_with_compares_the_beginning(check, row):
    check(*row)


ENDS_WITH_COMPARES_THE_END = [
    ("s.endsWith(t)", "false", 5),
    ('"\\tAaaa.".endsWith("")', "true", 0),
    ('"\\na\\\\\\u20ac \\t%a".endsWith("\\n\\u00e9")', "false", 1),
    ('"%\\u00e9\\u20acbaa\\n\\"".endsWith("\\\\\\\\")', "false", 1),
    ('"\\\\AZaa".endsWith("\\\\")', "false", 1),
    ('"A\\\\\\u00e9.\\"\\\\Z".endsWith("\\t")', "false", 1),
    ('"".endsWith("")', "true", 0),
    ('".%Aaa".endsWith("%.")', "false", 1),
    ('"\\\\\\"%".endsWith(". ")', "false", 1),
    ('"\\u00a0\\u00a0aa%\\n\\u00e9".endsWith("\\\\.")', "false", 1),
    ('"ab\\\\\\"b".endsWith("b\\t")', "false", 1),
    ('"\\n b\\\\\\naa%\\\\%.".endsWith("\\u00e9\\u20ac")', "false", 1),
    ('"\\u00e9Ab\\u00e9\\"\\"b ".endsWith("\\u00a0b")', "false", 1),
    ('"\\u00a0%\\u00e9".endsWith("")', "true", 0),
    ('"ZZA\\u20acZ\\u00e9Za.".endsWith("AZ")', "false", 1),
    ('"\\u00a0 \\u00a0. aZ%".endsWith(".")', "false", 1),
    ('"\\nAAAZ% aa%a".endsWith("")', "true", 0),
    ('"\\t\\naa\\u00e9\\t".endsWith("\\u00e9")', "false", 1),
    ('".Zb".endsWith("\\u00e9")', "false", 1),
    ('" abZaa".endsWith("\\u00a0\\\\")', "false", 1),
]  # fmt: skip


@pytest.mark.parametrize("row", ENDS_WITH_COMPARES_THE_END, ids=itemgetter(0))
def test_ends_with_compares_the_end(check, row):
    check(*row)
