"""What is said of text that does not parse: the first complaint of cel-go's parser."""

from __future__ import annotations

import pytest
from support.data import cases

from drasat.cel.errors import CelCompileError
from drasat.cel.parser import parse

OPERAND = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)

# expression => line:column: complaint; ~ is "Syntax error:", OPERAND the list of what may begin an operand
COMPLAINTS = r"""
(1 2) => 1:4: ~ extraneous input '2' expecting ')'
(1 2 => 1:4: ~ mismatched input '2' expecting ')'
(1 ] => 1:4: ~ mismatched input ']' expecting ')'
(1 => 1:3: ~ missing ')' at '<EOF>'
((1) => 1:5: ~ missing ')' at '<EOF>'
f(1 2) => 1:5: ~ extraneous input '2' expecting ')'
f(1 => 1:4: ~ missing ')' at '<EOF>'
f(1 ] => 1:5: ~ mismatched input ']' expecting ')'
f(1; 2) => 1:4: ~ token recognition error at: ';'
a.f(1 2) => 1:7: ~ extraneous input '2' expecting ')'
a.f(1 => 1:6: ~ missing ')' at '<EOF>'
a[1 => 1:4: ~ missing ']' at '<EOF>'
a[1 2] => 1:5: ~ extraneous input '2' expecting ']'
a[1) => 1:4: ~ mismatched input ')' expecting ']'
[1 2] => 1:4: ~ extraneous input '2' expecting {']', ','}
[1 => 1:3: ~ mismatched input '<EOF>' expecting {']', ','}
[1) => 1:3: ~ mismatched input ')' expecting {']', ','}
[1, 2 3] => 1:7: ~ extraneous input '3' expecting {']', ','}
{1:2 3:4} => 1:6: ~ mismatched input '3' expecting {'}', ','}
{1:2 => 1:5: ~ mismatched input '<EOF>' expecting {'}', ','}
{1 2} => 1:4: ~ missing ':' at '2'
{1 => 1:3: ~ mismatched input '<EOF>' expecting ':'
{'a': } => 1:7: ~ mismatched input '}' expecting OPERAND
{'a':1,,} => 1:8: ~ extraneous input ',' expecting '}'
{,1:2} => 1:3: ~ mismatched input '1' expecting '}'
true ? 1 => 1:9: ~ mismatched input '<EOF>' expecting ':'
true ? 1 2 => 1:10: ~ missing ':' at '2'
true ? 1 :  => 1:12: ~ mismatched input '<EOF>' expecting OPERAND
true ? : 2 => 1:8: ~ extraneous input ':' expecting OPERAND
true ? 1 , 2 => 1:10: ~ mismatched input ',' expecting ':'
1 + => 1:4: ~ mismatched input '<EOF>' expecting OPERAND
1 + + 2 => 1:5: ~ extraneous input '+' expecting OPERAND
1 + * 2 => 1:5: ~ extraneous input '*' expecting OPERAND
* 2 => 1:1: ~ extraneous input '*' expecting OPERAND
&& true => 1:1: ~ extraneous input '&&' expecting OPERAND
true && => 1:8: ~ mismatched input '<EOF>' expecting OPERAND
true && && false => 1:9: ~ extraneous input '&&' expecting OPERAND
true & false => 1:6: ~ token recognition error at: '& '
true | false => 1:6: ~ token recognition error at: '| '
a = 1 => 1:3: ~ token recognition error at: '= '
a == = 1 => 1:6: ~ token recognition error at: '= '
a === b => 1:5: ~ token recognition error at: '= '
a <> b => 1:4: ~ extraneous input '>' expecting OPERAND
a ! b => 1:3: ~ mismatched input '!' expecting <EOF>
a not b => 1:3: ~ mismatched input 'not' expecting <EOF>
1 2 3 => 1:3: ~ mismatched input '2' expecting <EOF>
a b c => 1:3: ~ mismatched input 'b' expecting <EOF>
a. => 1:3: ~ no viable alternative at input '.'
a..b => 1:3: ~ no viable alternative at input '..'
a.1 => 1:2: ~ extraneous input '.1' expecting <EOF>
a.'b' => 1:3: ~ no viable alternative at input '.'b''
a.(b) => 1:3: ~ no viable alternative at input '.('
a.b c => 1:5: ~ extraneous input 'c' expecting <EOF>
. => 1:2: ~ no viable alternative at input '.'
.1a => 1:3: ~ extraneous input 'a' expecting <EOF>
.(a) => 1:2: ~ no viable alternative at input '.('
a.? => 1:4: ~ mismatched input '<EOF>' expecting {IDENTIFIER, ESC_IDENTIFIER}
a.?1 => 1:4: ~ mismatched input '1' expecting {IDENTIFIER, ESC_IDENTIFIER}
a?.b => 1:5: ~ mismatched input '<EOF>' expecting ':'
a ?? b => 1:4: ~ extraneous input '?' expecting OPERAND
a ? b => 1:6: ~ mismatched input '<EOF>' expecting ':'
) => 1:1: ~ mismatched input ')' expecting OPERAND
] => 1:1: ~ mismatched input ']' expecting OPERAND
} => 1:1: ~ mismatched input '}' expecting OPERAND
( => 1:2: ~ mismatched input '<EOF>' expecting OPERAND
() => 1:2: ~ mismatched input ')' expecting OPERAND
(] => 1:2: ~ mismatched input ']' expecting OPERAND
f) => 1:2: ~ extraneous input ')' expecting <EOF>
f()) => 1:4: ~ extraneous input ')' expecting <EOF>
(1)) => 1:4: ~ extraneous input ')' expecting <EOF>
[1]] => 1:4: ~ extraneous input ']' expecting <EOF>
'abc => 1:1: ~ token recognition error at: ''abc'
"abc => 1:1: ~ token recognition error at: '"abc'
'abc" => 1:1: ~ token recognition error at: ''abc"'
'a\' => 1:1: ~ token recognition error at: ''a\''
'\x4 => 1:1: ~ token recognition error at: ''\x4'
'\xzz' => 1:1: ~ token recognition error at: ''\xz'
'\u12' => 1:1: ~ token recognition error at: ''\u12''
'\8' => 1:1: ~ token recognition error at: ''\8'
'a' 'b' => 1:5: ~ extraneous input ''b'' expecting <EOF>
b'a => 1:2: ~ token recognition error at: ''a'
r'a => 1:2: ~ token recognition error at: ''a'
@ => 1:1: ~ token recognition error at: '@'
# => 1:1: ~ token recognition error at: '#'
a @ b => 1:3: ~ token recognition error at: '@'
a # comment => 1:3: ~ token recognition error at: '#'
a $ b => 1:3: ~ token recognition error at: '$'
a; b => 1:2: ~ token recognition error at: ';'
a, b => 1:2: ~ mismatched input ',' expecting <EOF>
1.2.3 => 1:4: ~ extraneous input '.3' expecting <EOF>
1e => 1:2: ~ extraneous input 'e' expecting <EOF>
1e+ => 1:2: ~ mismatched input 'e' expecting <EOF>
0xg => 1:2: ~ extraneous input 'xg' expecting <EOF>
1__2 => 1:2: ~ extraneous input '__2' expecting <EOF>
1_000 => 1:2: ~ extraneous input '_000' expecting <EOF>
12abc => 1:3: ~ extraneous input 'abc' expecting <EOF>
0b1 => 1:2: ~ extraneous input 'b1' expecting <EOF>
'a' + "b => 1:7: ~ token recognition error at: '"b'
a && (b || c => 1:13: ~ missing ')' at '<EOF>'
a in => 1:5: ~ mismatched input '<EOF>' expecting OPERAND
in a => 1:1: ~ extraneous input 'in' expecting OPERAND
a in b in => 1:10: ~ mismatched input '<EOF>' expecting OPERAND
- => 1:2: ~ no viable alternative at input '-'
- - => 1:4: ~ no viable alternative at input '-'
-!a => 1:2: ~ no viable alternative at input '-!'
a{b} => 1:4: ~ mismatched input '}' expecting ':'
a{b:1 => 1:6: ~ mismatched input '<EOF>' expecting {'}', ','}
a{b:1 c:2} => 1:7: ~ mismatched input 'c' expecting {'}', ','}
f(){a:1} => 1:4: ~ mismatched input '{' expecting <EOF>
[1]{a:1} => 1:4: ~ mismatched input '{' expecting <EOF>
a`b` => 1:2: ~ extraneous input '`b`' expecting <EOF>
a.`b => 1:3: ~ token recognition error at: '`b'
a.`` => 1:3: ~ token recognition error at: '``'
true false => 1:6: ~ extraneous input 'false' expecting <EOF>
null null => 1:6: ~ extraneous input 'null' expecting <EOF>
device.driver == 'a' and device.driver == 'b' => 1:22: ~ mismatched input 'and' expecting <EOF>
device.driver = 'a' => 1:15: ~ token recognition error at: '= '
device.driver == "a'  => 1:18: ~ token recognition error at: '"a' '
device.attributes["a"].b == 1 && => 1:33: ~ mismatched input '<EOF>' expecting OPERAND
device.attributes["a].b == 1 => 1:19: ~ token recognition error at: '"a].b == 1'
if a then b => 1:1: reserved identifier: if
for => 1:1: reserved identifier: for
let x = 1 => 1:1: reserved identifier: let
x := 1 => 1:3: ~ mismatched input ':' expecting <EOF>
[1, 2 => 1:6: ~ mismatched input '<EOF>' expecting {']', ','}
[1 for x in y] => 1:4: ~ mismatched input 'for' expecting {']', ','}
x.all(y y > 0) => 1:9: ~ mismatched input 'y' expecting ')'
x.all(y, ) => 1:10: ~ mismatched input ')' expecting OPERAND
has(a.b => 1:8: ~ missing ')' at '<EOF>'
a[?] => 1:4: ~ mismatched input ']' expecting OPERAND
[?] => 1:3: ~ mismatched input ']' expecting OPERAND
{?} => 1:3: ~ mismatched input '}' expecting OPERAND
{?'a'} => 1:6: ~ mismatched input '}' expecting ':'
'é' é => 1:5: ~ token recognition error at: 'é'
a.é => 1:3: ~ token recognition error at: 'é'
“a” => 1:1: ~ token recognition error at: '“'
// => 1:3: ~ mismatched input '<EOF>' expecting OPERAND
// c => 1:5: ~ mismatched input '<EOF>' expecting OPERAND
/* a */ => 1:1: ~ mismatched input '/' expecting OPERAND
1 /* a */ => 1:4: ~ extraneous input '*' expecting OPERAND
1 2 => 1:3: ~ extraneous input '2' expecting <EOF>
f(1,) => 1:5: ~ mismatched input ')' expecting OPERAND
a b => 1:3: ~ extraneous input 'b' expecting <EOF>
{1} => 1:3: ~ mismatched input '}' expecting ':'
if => 1:1: reserved identifier: if
if(1) => 1:1: reserved identifier: if
1 ? 2 : 3 ? 4 => 1:14: ~ mismatched input '<EOF>' expecting ':'
a.in => 1:3: ~ no viable alternative at input '.in'
"\q" => 1:1: ~ token recognition error at: '"\q'
1 @ 2 => 1:3: ~ token recognition error at: '@'
a.`b`() => 1:6: ~ mismatched input '(' expecting <EOF>
9223372036854775808 => 1:1: invalid int literal
--9223372036854775808 => 1:3: invalid int literal
18446744073709551616u => 1:1: invalid uint literal
1e400 => 1:1: invalid double literal
'\ud800' => 1:1: invalid unicode code point
'\U00110000' => 1:1: invalid unicode code point
[1].all(1, true) => 1:9: argument must be a simple name
[1].map(1, true) => 1:9: argument is not an identifier
[1].filter(a.b, true) => 1:13: argument is not an identifier
[1].exists_one(1, true) => 1:16: argument must be a simple name
[1].all(1,2,true) => 1:9: argument must be a simple name
[1].all(i,2,true) => 1:11: argument must be a simple name
[1].all(i,i,true) => 1:11: duplicate variable name: i
[1].transformMap(i,i,true) => 1:20: duplicate variable name: i
[1].all(__result__, true) => 1:9: iteration variable overwrites accumulator variable
[1].all(@result, true) => 1:9: ~ token recognition error at: '@'
has(a) => 1:5: invalid argument to has() macro
has(1) => 1:5: invalid argument to has() macro
has(a[0]) => 1:6: invalid argument to has() macro
has(a.?b) => 1:6: invalid argument to has() macro
cel.bind(1, 2, 3) => 1:10: cel.bind() variable names must be simple identifiers
cel.bind(a.b, 2, 3) => 1:11: cel.bind() variable names must be simple identifiers
optional.of(1).optMap(1, 2) => 1:23: optMap() variable name must be a simple identifier
[1].sortBy(1, 2) => 1:12: argument is not an identifier
[??1] => 1:3: ~ extraneous input '?' expecting OPERAND
[1,,2] => 1:4: ~ mismatched input ',' expecting ']'
!-a => 1:3: ~ no viable alternative at input '-a'
1 ? 2 ? 3 : 4 : 5 => 1:7: ~ mismatched input '?' expecting ':'
 => 1:0: ~ mismatched input '<EOF>' expecting OPERAND
   => 1:3: ~ mismatched input '<EOF>' expecting OPERAND
//x => 1:4: ~ mismatched input '<EOF>' expecting OPERAND
`a` => 1:1: ~ mismatched input '`a`' expecting OPERAND
b'\u00ff' => 1:1: unable to unescape string
0x => 1:2: ~ extraneous input 'x' expecting <EOF>
1u2 => 1:3: ~ extraneous input '2' expecting <EOF>
@a => 1:1: ~ token recognition error at: '@'
$a => 1:1: ~ token recognition error at: '$'
é => 1:1: ~ token recognition error at: 'é'
"""

# Expressions that parse, whatever else may be wrong with them.
PARSING = r"""
!-1
a{b:1,}
a.if
a.`b c`
-9223372036854775808
- 5
[1].existsOne(1, true)
(1+2).sortBy(a, a)
a{b:1}
a.b{`c`:1,?d:2,}
[?1]
{?1:2}
a[?1]
[,]
{,}
a{,}
!!1
--a
a?b:c
1 // x
a.?b.c
null.a
x.y.z(1)
[1].all(x)
1.5.f
r'a\'
b'\xff'
'\xff'
'\377'
0xFu
1.e
_a
__result__
'é' + 1
"""


def rows() -> list[tuple[str, str]]:
    """Expressions with the whole of their first complaint."""
    found = []
    for line in COMPLAINTS.strip("\n").splitlines():
        expression, complaint = line.rsplit(" => ", 1)
        found.append((expression, complaint.replace("~", "Syntax error:", 1).replace("OPERAND", OPERAND)))
    return found


def short(value: str) -> str:
    """A test's id: the start of the expression."""
    return value[:30]


@pytest.mark.parametrize(("expression", "complaint"), rows(), ids=short)
def test_first_complaint_is_that_of_cel_go(expression: str, complaint: str) -> None:
    with pytest.raises(CelCompileError) as caught:
        parse(expression)
    assert str(caught.value).splitlines()[0] == f"ERROR: <input>:{complaint}"


@pytest.mark.parametrize("expression", PARSING.strip("\n").splitlines(), ids=short)
def test_other_expressions_parse(expression: str) -> None:
    parse(expression)


def test_no_text_at_all_is_refused() -> None:
    with pytest.raises(CelCompileError) as caught:
        parse("")
    assert str(caught.value) == f"ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>' expecting {OPERAND}"


def test_complaints_that_do_not_hinder_come_first() -> None:
    with pytest.raises(CelCompileError) as caught:
        parse("if + 99999999999999999999 + has(a) + @ + [1].all(2, x) + )")
    assert [issue.message for issue in caught.value.issues][:5] == [
        "reserved identifier: if",
        "invalid int literal",
        "invalid argument to has() macro",
        "Syntax error: token recognition error at: '@'",
        "Syntax error: extraneous input '+' expecting " + OPERAND,
    ]


@pytest.mark.parametrize(
    ("expression", "place", "complaint"), cases("cel/parser-errors", "arguments_of_macros_are_checked")
)
def test_arguments_of_macros_are_checked(expression: str, place: int, complaint: str) -> None:
    with pytest.raises(CelCompileError) as caught:
        parse(expression)
    assert str(caught.value).startswith(f"ERROR: <input>:1:{place}: {complaint}")
