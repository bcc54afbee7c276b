"""Types and complaints of the checker and the validators, as cel-go has them (cel.md 1.3)."""

from __future__ import annotations

import pytest

from drasat.cel.environment import generic_environment
from drasat.cel.errors import CelCompileError
from drasat.cel.types import full_name

VARIABLES = {
    "x": "dyn",
    "i": "int",
    "s": "string",
    "l": "list(int)",
    "m": "map(string,int)",
    "ls": "list(string)",
    "d": "double",
    "o": "optional(int)",
    "ld": "list(dyn)",
    "md": "map(string,dyn)",
    "b": "bool",
    "q": "kubernetes.Quantity",
    "ll": "list(list(int))",
    "mm": "map(string,map(string,int))",
    "u": "uint",
    "t": "timestamp",
    "dur": "duration",
    "by": "bytes",
    "n": "null",
    "device": "kubernetes.DRADevice",
}
ENVIRONMENT = generic_environment(VARIABLES)

# expression => type of its result
TYPES = r"""
[[], [1]] => list(list(int))
[[1], []] => list(list(int))
{[1]: 2} => map(list(int), int)
{1.5: 2} => map(double, int)
{null: 1} => map(null_type, int)
{x: 1} => map(dyn, int)
{m: 1} => map(map(string, int), int)
b ? x : 1 => dyn
b ? [] : [1] => list(int)
b ? [x] : [1] => list(dyn)
b ? q : null => kubernetes.Quantity
i < 1u => bool
i < 1.5 => bool
q == null => bool
l == [] => bool
x + 1 => int
x + s => string
x + x => dyn
-x => dyn
x < 1 => bool
x.a.b => dyn
x.size() => int
size(x) => int
l[0] => int
l[x] => int
m['a'] => int
m.a => int
x.?a => optional_type(dyn)
m.?a => optional_type(int)
l[?0] => optional_type(int)
mm.?a.?b => optional_type(int)
mm.?a.b => optional_type(int)
mm.?a.b.hasValue() => bool
[?o] => list(int)
[?o, 1] => list(int)
{?'a': o} => map(string, int)
1 in l => bool
s in m => bool
x in l => bool
l.all(y, y > 0) => bool
l.all(y, x) => bool
l.map(y, string(y)) => list(string)
l.map(y, y > 0, s) => list(string)
l.filter(y, x) => list(int)
m.all(k, k == 'a') => bool
m.map(k, k) => list(string)
m.filter(k, true) => list(string)
x.all(y, y > 0) => bool
x.map(y, y) => list(dyn)
x.filter(y, true) => list(dyn)
[].all(y, y > 0) => bool
[].map(y, y) => list(dyn)
{}.map(y, y) => list(dyn)
[].filter(y, true) => list(dyn)
l.all(i1, v1, v1 > i1) => bool
m.all(k, v, k == 'a' && v > 0) => bool
x.all(k, v, v) => bool
l.transformList(i1, v1, v1 + i1) => list(int)
m.transformMap(k, v, string(v)) => map(string, string)
m.transformMap(k, v, v > 1, string(v)) => map(string, string)
l.transformMap(k, v, string(v)) => map(int, string)
m.transformMapEntry(k, v, {v: k}) => map(int, string)
m.transformMapEntry(k, v, v>0, {v: k}) => map(int, string)
x.transformMap(k, v, v) => map(dyn, dyn)
x.transformList(k, v, v) => list(dyn)
l.sortBy(y, -y) => list(int)
l.sortBy(y, x) => list(int)
x.sortBy(y, y) => dyn
o.optMap(y, y + 1) => optional_type(int)
o.optMap(y, string(y)) => optional_type(string)
o.optFlatMap(y, optional.of(s)) => optional_type(string)
x.optMap(y, y) => optional_type(dyn)
x.optFlatMap(y, y) => optional_type(dyn)
cel.bind(y, [], y + [1]) => list(int)
has(x.a) => bool
has(m.a) => bool
type(1) == int => bool
type(i) => type(int)
int => type(int)
list => type(list(dyn))
map => type(map(dyn, dyn))
type => type(type)
null_type => type(null_type)
google.protobuf.Timestamp => type(google.protobuf.Timestamp)
optional_type => type(optional_type(dyn))
net.IP => type(net.IP)
timestamp => type(google.protobuf.Timestamp)
optional.of(1) => optional_type(int)
optional.none() => optional_type(dyn)
optional.none().orValue('a') => string
sets.contains(l, []) => bool
[[1]].flatten() => list(int)
[[[1]]].flatten() => list(list(int))
x.flatten() => list(dyn)
matches(s, '[') => bool
s.find('[') => string
s.findAll('[') => list(string)
duration(s) => google.protobuf.Duration
quantity('x') => kubernetes.Quantity
semver('x') => kubernetes.Semver
ip('x') => net.IP
'%s %d'.format(['a', 1]) => string
'%d'.format(l) => string
s.format([1,'a']) => string
format.named('x') => optional_type(kubernetes.NamedFormat)
t - dur => google.protobuf.Timestamp
ip('1') == null => bool
o == null => bool
t == null => bool
device.attributes.foo => map(string, dyn)
device.attributes.foo.bar.baz => dyn
device == null => bool
device == device => bool
device.attributes == {} => bool
device.?driver => optional_type(string)
has(device.driver) => bool
device.attributes.a.b + 1 => int
type(device) => type(kubernetes.DRADevice)
[device] => list(kubernetes.DRADevice)
device.attributes.all(k, v, v.x == 1) => bool
device.attributes.a.b.includes(1) => bool
device.attributes.includes(1) => bool
i.includes('a') => bool
l.includes('a') => bool
ls.includes('a') => bool
{}.a => dyn
{}.map(a, a.b) => list(dyn)
[].map(a, a.b) => list(dyn)
[][0].a => dyn
[][0] + 1 => int
[[], []] == [[1]] => bool
b ? optional.none() : o => optional_type(int)
[optional.none(), o] => list(optional_type(int))
type(1) == type('a') => bool
l.map(y, []) => list(list(dyn))
l.map(y, {}) => list(map(dyn, dyn))
l.map(y, y > 1, []).map(z, z + [1]) => list(list(int))
.s => string
.s.size() => int
.sets.contains([1],[1]) => bool
[1].map(s, s + 1) => list(int)
[1].map(s, .s + 'a') => list(string)
[1].map(sets, sets.contains([1],[1])) => list(bool)
l.all(i, i > 0) && i > 0 => bool
timestamp(1) => google.protobuf.Timestamp
x == int => bool
dyn(1) + 's' => string
[dyn(1), dyn('a')] => list(dyn)
{'a': dyn(1), 'b': dyn('a')} => map(string, dyn)
[{}, {'a': 1}] => list(map(string, int))
b ? null : q => null_type
b ? [null] : [q] => list(null_type)
[null] == [q] => bool
'%s'.format(x) => string
'%s'.format([[1,'a']]) => string
'%d'.format([x]) => string
'%.3d'.format([1]) => string
'%s'.format(['a'] + ['b']) => string
x.format([1]) => string
'a'.find('(') => string
'a'.findAll('(', 1) => list(string)
'a'.matches('(' + 'b') => bool
duration(x) => google.protobuf.Duration
bytes('a').size() => int
'%%'.format([]) => string
'%.100f'.format([1.0]) => string
'%.99999999999f'.format([1.0]) => string
'%.2s'.format([1.0]) => string
'%.2x'.format(['a']) => string
'%.2f %e'.format([1.0,2.0]) => string
s.format(['%d']) => string
('%'+'d').format(['a']) => string
'%d'.format(['a'] + []) => string
matches('s', '[') => bool
'[1'.matches(s) => bool
'%s'.format([string([1,'a'].size())]) => string
[1,'a'].map(x, string(x)).join().format([1]) => string
'%s %s'.format([[1,'a'],'x']) => string
t.getFullYear('nowhere') => int
timestamp('9999-12-31T23:59:59.999999999Z') => google.protobuf.Timestamp
timestamp('2020-01-01T00:00:00.1234567891Z') => google.protobuf.Timestamp
duration('1h1h') => google.protobuf.Duration
duration('-1.5h') => google.protobuf.Duration
duration('+1s') => google.protobuf.Duration
duration('.5s') => google.protobuf.Duration
duration('1.s') => google.protobuf.Duration
duration('0') => google.protobuf.Duration
duration('1us') => google.protobuf.Duration
duration('1µs') => google.protobuf.Duration
duration('9223372036.854775807s') => google.protobuf.Duration
'%s'.format([1]) => string
'%s'.format([1u]) => string
'%s'.format([1.5]) => string
'%s'.format(['a']) => string
'%s'.format([b'a']) => string
'%s'.format([true]) => string
'%s'.format([null]) => string
'%s'.format([[1]]) => string
'%s'.format([{'a':1}]) => string
'%s'.format([timestamp('2020-01-01T00:00:00Z')]) => string
'%s'.format([duration('1h')]) => string
'%s'.format([int]) => string
'%s'.format([x]) => string
'%s'.format([[x]]) => string
'%s'.format([{1.5:1}]) => string
'%s'.format([{x:1}]) => string
'%s'.format([{null:1}]) => string
'%s'.format([{[1]:1}]) => string
'%d'.format([1]) => string
'%d'.format([1u]) => string
'%f'.format([1.5]) => string
'%f'.format(['a']) => string
'%f'.format([x]) => string
'%e'.format([1.5]) => string
'%e'.format(['a']) => string
'%e'.format([x]) => string
'%b'.format([1]) => string
'%b'.format([1u]) => string
'%b'.format([true]) => string
'%b'.format([x]) => string
'%x'.format([1]) => string
'%x'.format([1u]) => string
'%x'.format(['a']) => string
'%x'.format([b'a']) => string
'%x'.format([x]) => string
'%X'.format([1]) => string
'%X'.format([1u]) => string
'%X'.format(['a']) => string
'%X'.format([b'a']) => string
'%X'.format([x]) => string
'%o'.format([1]) => string
'%o'.format([1u]) => string
'%o'.format([x]) => string
"""

# expression => line:column: complaint ; line:column: complaint ...
COMPLAINTS = r"""
[1, 'a'] => 1:5: expected type 'int' but found 'string'
[1, 'a', 2] => 1:5: expected type 'int' but found 'string'
[1, null] => 1:5: expected type 'int' but found 'null'
[null, 1] => 1:8: expected type 'null' but found 'int'
[x, 1] => 1:5: expected type 'dyn' but found 'int'
[1, x] => 1:5: expected type 'int' but found 'dyn'
['a', x, 1] => 1:7: expected type 'string' but found 'dyn'
[[], ['a'], [1]] => 1:13: expected type 'list(string)' but found 'list(int)'
{1: 2, 'a': 3} => 1:8: expected type 'int' but found 'string'
{'a': 1, 'b': 'c'} => 1:15: expected type 'int' but found 'string'
{'a': x, 'b': 'c'} => 1:15: expected type 'dyn' but found 'string'
i && true => 1:1: expected type 'bool' but found 'int'
true && i => 1:9: expected type 'bool' but found 'int'
i || s => 1:1: expected type 'bool' but found 'int' ; 1:6: expected type 'bool' but found 'string'
i && s && b => 1:1: expected type 'bool' but found 'int' ; 1:6: expected type 'bool' but found 'string'
b && b && i && b => 1:11: expected type 'bool' but found 'int'
!i => 1:1: found no matching overload for '!_' applied to '(int)'
-s => 1:1: found no matching overload for '-_' applied to '(string)'
-u => 1:1: found no matching overload for '-_' applied to '(uint)'
i ? 1 : 2 => 1:3: found no matching overload for '_?_:_' applied to '(int, int, int)'
b ? 1 : 'a' => 1:3: found no matching overload for '_?_:_' applied to '(bool, int, string)'
b ? 1 : null => 1:3: found no matching overload for '_?_:_' applied to '(bool, int, null)'
i + s => 1:3: found no matching overload for '_+_' applied to '(int, string)'
i + 1u => 1:3: found no matching overload for '_+_' applied to '(int, uint)'
i == s => 1:3: found no matching overload for '_==_' applied to '(int, string)'
i == 1.0 => 1:3: found no matching overload for '_==_' applied to '(int, double)'
i == null => 1:3: found no matching overload for '_==_' applied to '(int, null)'
q == 1 => 1:3: found no matching overload for '_==_' applied to '(kubernetes.Quantity, int)'
l == ls => 1:3: found no matching overload for '_==_' applied to '(list(int), list(string))'
x.f(1) => 1:4: undeclared reference to 'f' (in container '')
size(i) => 1:5: found no matching overload for 'size' applied to '(int)'
i.size() => 1:7: found no matching overload for 'size' applied to 'int.()'
s.foo() => 1:6: undeclared reference to 'foo' (in container '')
foo(s) => 1:4: undeclared reference to 'foo' (in container '')
s.startsWith(1) => 1:13: found no matching overload for 'startsWith' applied to 'string.(int)'
startsWith(s, 's') => 1:11: found no matching overload for 'startsWith' applied to '(string, string)'
l['a'] => 1:2: found no matching overload for '_[_]' applied to '(list(int), string)'
m[0] => 1:2: found no matching overload for '_[_]' applied to '(map(string, int), int)'
m.a.b => 1:4: type 'int' does not support field selection
i.a => 1:2: type 'int' does not support field selection
s.a => 1:2: type 'string' does not support field selection
s[0] => 1:2: found no matching overload for '_[_]' applied to '(string, int)'
l.a => 1:2: type 'list(int)' does not support field selection
o.a => 1:2: type 'int' does not support field selection
o[0] => 1:2: found no matching overload for '_[_]' applied to '(optional_type(int), int)'
o.?a => 1:2: type 'int' does not support field selection
l.?a => 1:2: type 'list(int)' does not support field selection
i.?a => 1:2: type 'int' does not support field selection
[?i] => 1:3: expected type 'optional_type(int)' but found 'int'
{?'a': i} => 1:8: expected type 'optional_type(int)' but found 'int'
'a' in l => 1:5: found no matching overload for '@in' applied to '(string, list(int))'
i in m => 1:3: found no matching overload for '@in' applied to '(int, map(string, int))'
1 in s => 1:3: found no matching overload for '@in' applied to '(int, string)'
1 in 2 => 1:3: found no matching overload for '@in' applied to '(int, int)'
l.all(y, y) => 1:10: expected type 'bool' but found 'int'
l.exists(y, y) => 1:13: expected type 'bool' but found 'int'
l.exists_one(y, y) => 1:13: found no matching overload for '_?_:_' applied to '(int, int, int)'
l.map(y, y + 'a') => 1:12: found no matching overload for '_+_' applied to '(int, string)'
l.map(y, y, y) => 1:6: found no matching overload for '_?_:_' applied to '(int, list(int), list(int))'
l.filter(y, y) => 1:9: found no matching overload for '_?_:_' applied to '(int, list(int), list(int))'
i.all(y, y) => 1:1: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)
n.all(y, true) => 1:1: expression of type 'null' cannot be range of a comprehension (must be list, map, or dynamic)
l.all(i1, v1, v1) => 1:15: expected type 'bool' but found 'int'
m.exists(k, v, v) => 1:16: expected type 'bool' but found 'int'
m.existsOne(k, v, v) => 1:12: found no matching overload for '_?_:_' applied to '(int, int, int)'
i.all(k, v, v) => 1:1: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)
m.transformList(k, v, k + v) => 1:25: found no matching overload for '_+_' applied to '(string, int)'
o.optFlatMap(y, y) => 1:13: found no matching overload for '_?_:_' applied to '(bool, int, optional_type(dyn))'
cel.bind(y, 1, y + 's') => 1:18: found no matching overload for '_+_' applied to '(int, string)'
has(i.a) => 1:4: type 'int' does not support field selection
has(undef.a) => 1:5: undeclared reference to 'undef' (in container '')
has(q.a) => 1:4: unexpected failed resolution of 'kubernetes.Quantity'
has(o.a) => 1:4: type 'int' does not support field selection
has(l.a) => 1:4: type 'list(int)' does not support field selection
kubernetes.Quantity => 1:1: undeclared reference to 'kubernetes' (in container '')
dyn => 1:1: undeclared reference to 'dyn' (in container '')
any => 1:1: undeclared reference to 'any' (in container '')
undef => 1:1: undeclared reference to 'undef' (in container '')
undef.foo.bar => 1:1: undeclared reference to 'undef' (in container '')
Foo{a: 1} => 1:4: undeclared reference to 'Foo' (in container '')
optional.of(i).orValue('a') => 1:23: found no matching overload for 'orValue' applied to 'optional_type(int).(string)'
o.value() + 's' => 1:11: found no matching overload for '_+_' applied to '(int, string)'
lists.range('a') => 1:12: found no matching overload for 'lists.range' applied to '(string)'
l.min() + 's' => 1:9: found no matching overload for '_+_' applied to '(int, string)'
ls.sum() => 1:7: found no matching overload for 'sum' applied to 'list(string).()'
[q].max() => 1:8: found no matching overload for 'max' applied to 'list(kubernetes.Quantity).()'
[[1]].sum() => 1:10: found no matching overload for 'sum' applied to 'list(list(int)).()'
ll.flatten() + ['a'] => 1:14: found no matching overload for '_+_' applied to '(list(int), list(string))'
l.flatten() => 1:10: found no matching overload for 'flatten' applied to 'list(int).()'
l.slice(0, 'a') => 1:8: found no matching overload for 'slice' applied to 'list(int).(int, string)'
l.indexOf('a') => 1:10: found no matching overload for 'indexOf' applied to 'list(int).(string)'
ls.join(1) => 1:8: found no matching overload for 'join' applied to 'list(string).(int)'
l.join() => 1:7: found no matching overload for 'join' applied to 'list(int).()'
s.split(',', 'a') => 1:8: found no matching overload for 'split' applied to 'string.(string, string)'
s.matches('[') => 1:11: invalid matches argument
s.matches('(?P<n>x') => 1:11: invalid matches argument
duration('x') => 1:10: invalid duration argument
timestamp('x') => 1:11: invalid timestamp argument
'%d'.format(['a']) => 1:14: error during formatting: decimal clause can only be used on integers, was given string
'%z'.format([1]) => 1:12: could not parse formatting clause: unrecognized formatting clause "z"
'%d'.format([]) => 1:12: index 0 out of range
by + 'a' => 1:4: found no matching overload for '_+_' applied to '(bytes, string)'
string(l) => 1:7: found no matching overload for 'string' applied to '(list(int))'
int(true) => 1:4: found no matching overload for 'int' applied to '(bool)'
int(l) => 1:4: found no matching overload for 'int' applied to '(list(int))'
t - t + 1 => 1:7: found no matching overload for '_+_' applied to '(duration, int)'
t + t => 1:3: found no matching overload for '_+_' applied to '(timestamp, timestamp)'
dur + dur == 1 => 1:11: found no matching overload for '_==_' applied to '(duration, int)'
t.getFullYear('a', 1) => 1:14: found no matching overload for 'getFullYear' applied to 'timestamp.(string, int)'
has(ip('1').a) => 1:4: type 'net.IP' does not support field selection
url('a').b => 1:9: unexpected failed resolution of 'kubernetes.URL'
cidr('a').b => 1:10: type 'net.CIDR' does not support field selection
semver('1').b => 1:12: unexpected failed resolution of 'kubernetes.Semver'
format.dns1123Label().b => 1:22: unexpected failed resolution of 'kubernetes.NamedFormat'
format.named('x').value().b => 1:26: unexpected failed resolution of 'kubernetes.NamedFormat'
s == null => 1:3: found no matching overload for '_==_' applied to '(string, null)'
l == null => 1:3: found no matching overload for '_==_' applied to '(list(int), null)'
m == null => 1:3: found no matching overload for '_==_' applied to '(map(string, int), null)'
device.foo => 1:7: undefined field 'foo'
device.driver.foo => 1:14: type 'string' does not support field selection
device.foo.bar => 1:7: undefined field 'foo'
device['driver'] => 1:7: found no matching overload for '_[_]' applied to '(kubernetes.DRADevice, string)'
has(device.foo) => 1:4: undefined field 'foo'
device.?foo => 1:7: undefined field 'foo'
device.capacity.a.b == 1 => 1:21: found no matching overload for '_==_' applied to '(kubernetes.Quantity, int)'
device.capacity.a.b.foo => 1:20: unexpected failed resolution of 'kubernetes.Quantity'
device.attributes['a'].b < 'x' + 1 => 1:32: found no matching overload for '_+_' applied to '(string, int)'
'driver' in device => 1:10: found no matching overload for '@in' applied to '(string, kubernetes.DRADevice)'
device.attributes.exists(k, k.foo) => 1:30: type 'string' does not support field selection
device.allowMultipleAllocations + 1 => 1:33: found no matching overload for '_+_' applied to '(bool, int)'
[] + 1 => 1:4: found no matching overload for '_+_' applied to '(list(dyn), int)'
{} + 1 => 1:4: found no matching overload for '_+_' applied to '(map(dyn, dyn), int)'
[[]] + [1] => 1:6: found no matching overload for '_+_' applied to '(list(list(dyn)), list(int))'
b ? [] : {} => 1:3: found no matching overload for '_?_:_' applied to '(bool, list(dyn), map(dyn, dyn))'
optional.none() + 1 => 1:17: found no matching overload for '_+_' applied to '(optional_type(dyn), int)'
type(1) == 1 => 1:9: found no matching overload for '_==_' applied to '(type(int), int)'
[type(1), int, type('a')] => 1:20: expected type 'type(int)' but found 'type(string)'
[int, string] => 1:7: expected type 'type(int)' but found 'type(string)'
x.map(y, y.z).foo() => 1:18: undeclared reference to 'foo' (in container '')
sets => 1:1: undeclared reference to 'sets' (in container '')
.undef => 1:2: undeclared reference to '.undef' (in container '')
.undef(1) => 1:7: undeclared reference to '.undef' (in container '')
has() => 1:4: undeclared reference to 'has' (in container '')
has(1, 2) => 1:4: undeclared reference to 'has' (in container '')
cel => 1:1: undeclared reference to 'cel' (in container '')
string(1, 2) => 1:7: found no matching overload for 'string' applied to '(int, int)'
int + 1 => 1:5: found no matching overload for '_+_' applied to '(type(int), int)'
int('a') == int => 1:10: found no matching overload for '_==_' applied to '(int, type(int))'
[dyn(1), 'a'] => 1:10: expected type 'dyn' but found 'string'
[1, 2u] => 1:5: expected type 'int' but found 'uint'
[1, 1.0] => 1:5: expected type 'int' but found 'double'
[[1], ['a']] => 1:7: expected type 'list(int)' but found 'list(string)'
[[1], [dyn(1)]] => 1:7: expected type 'list(int)' but found 'list(dyn)'
[[dyn(1)], [1]] => 1:12: expected type 'list(dyn)' but found 'list(int)'
[null, q] => 1:8: expected type 'null' but found 'kubernetes.Quantity'
[q, null] => 1:5: expected type 'kubernetes.Quantity' but found 'null'
[null, s] => 1:8: expected type 'null' but found 'string'
b ? null : s => 1:3: found no matching overload for '_?_:_' applied to '(bool, null, string)'
b ? null : [1] => 1:3: found no matching overload for '_?_:_' applied to '(bool, null, list(int))'
'a' in ['a', 1] => 1:14: expected type 'string' but found 'int'
1 in {'a': 1} => 1:3: found no matching overload for '@in' applied to '(int, map(string, int))'
'a'.matches(1) => 1:12: found no matching overload for 'matches' applied to 'string.(int)'
'%s'.format(1) => 1:12: found no matching overload for 'format' applied to 'string.(int)'
'%s'.format(['a'], 1) => 1:12: found no matching overload for 'format' applied to 'string.(list(string), int)'
'%s %s'.format(['a', 1, x, q, [1,'a']]) => 1:15: too many arguments supplied to string.format (expected 2, got 5)
'%'.format([1]) => 1:11: unexpected end of string
'%s %s'.format(['a']) => 1:15: index 1 out of range
x.matches('(') => 1:11: invalid matches argument
dyn('a').matches('(') => 1:18: invalid matches argument
duration('1h') + duration('1x') => 1:27: invalid duration argument
duration('1') => 1:10: invalid duration argument
duration('') => 1:10: invalid duration argument
duration('99999999999999999h') => 1:10: invalid duration argument
timestamp('2020-01-01') => 1:11: invalid timestamp argument
timestamp('2020-13-01T00:00:00Z') => 1:11: invalid timestamp argument
timestamp('0000-01-01T00:00:00Z') => 1:11: invalid timestamp argument
timestamp('2020-01-01T00:00:00+25:00') => 1:11: invalid timestamp argument
cel.bind(a, a, 1) => 1:13: undeclared reference to 'a' (in container '')
cel.bind(a, 1, cel.bind(a, 'x', a)) + 1 => 1:37: found no matching overload for '_+_' applied to '(string, int)'
[1,2].exists(x, [x].exists(x, x.foo)) => 1:32: type 'int' does not support field selection
1 + 2 + 's' + 3 => 1:7: found no matching overload for '_+_' applied to '(int, string)'
1 < 2 < 3 => 1:7: found no matching overload for '_<_' applied to '(bool, int)'
{'a': undef} => 1:7: undeclared reference to 'undef' (in container '')
[undef, 1, 'a'] => 1:2: undeclared reference to 'undef' (in container '')
l[undef] => 1:3: undeclared reference to 'undef' (in container '')
undef[0] => 1:1: undeclared reference to 'undef' (in container '')
l.map(undef.x, 1) => 1:12: argument is not an identifier
l.all(y, undef) => 1:10: undeclared reference to 'undef' (in container '')
l.map(y, undef) => 1:10: undeclared reference to 'undef' (in container '')
l.map(y, undef) + [1] => 1:10: undeclared reference to 'undef' (in container '')
'%% %'.format([]) => 1:14: unexpected end of string
'%5d'.format([1]) => 1:13: could not parse formatting clause: unrecognized formatting clause "5"
'%-5d'.format([1]) => 1:14: could not parse formatting clause: unrecognized formatting clause "-"
'%d %d'.format([1u,x,'b']) => 1:15: too many arguments supplied to string.format (expected 2, got 3)
'%s'.format([]) => 1:12: index 0 out of range
'a'.format([1]) => 1:11: too many arguments supplied to string.format (expected 0, got 1)
matches('[', 's') => 1:9: invalid matches argument
s.matches(r'\d(') => 1:11: invalid matches argument
duration('1h', 'a') => 1:9: found no matching overload for 'duration' applied to '(string, string)'
dyn('x').matches('[') => 1:18: invalid matches argument
[1,'a'].map(x, x).size() > 1 ? '%s'.format([1]) : 'a' => 1:4: expected type 'int' but found 'string'
[ [1,'a'], 2] => 1:6: expected type 'int' but found 'string' ; 1:12: expected type 'list(dyn)' but found 'int'
[1,'a',2u] => 1:4: expected type 'int' but found 'string'
[[1], [2, 'a']] => 1:7: expected type 'list(int)' but found 'list(dyn)' ; 1:11: expected type 'int' but found 'string'
{'a': [1], 'b': ['a']} => 1:17: expected type 'list(int)' but found 'list(string)'
{'a': 1, 2: 'b'} => 1:10: expected type 'string' but found 'int' ; 1:13: expected type 'int' but found 'string'
[1,2].map(x, [x,'a']) => 1:17: expected type 'int' but found 'string'
{?'a': o, 'b':'c'} => 1:15: expected type 'int' but found 'string'
[?o,'a'] => 1:5: expected type 'int' but found 'string'
['a', ?o] => 1:8: expected type 'string' but found 'int'
l.map(k, [k, s]) => 1:14: expected type 'int' but found 'string'
b ? [1,'a'] : [] => 1:8: expected type 'int' but found 'string'
'%s'.format([duration('x')]) => 1:23: invalid duration argument
timestamp('x').getFullYear('a') => 1:11: invalid timestamp argument
duration(1) => 1:9: found no matching overload for 'duration' applied to '(int)'
timestamp('2020-01-01t00:00:00z') => 1:11: invalid timestamp argument
timestamp('2020-02-30T00:00:00Z') => 1:11: invalid timestamp argument
timestamp('2020-01-01T24:00:00Z') => 1:11: invalid timestamp argument
duration('1d') => 1:10: invalid duration argument
duration('-') => 1:10: invalid duration argument
duration('9223372036.854775808s') => 1:10: invalid duration argument
'%d'.format([1.5]) => 1:14: error during formatting: decimal clause can only be used on integers, was given double
'%d'.format([b'a']) => 1:14: error during formatting: decimal clause can only be used on integers, was given bytes
'%d'.format([true]) => 1:14: error during formatting: decimal clause can only be used on integers, was given bool
'%d'.format([null]) => 1:14: error during formatting: decimal clause can only be used on integers, was given null_type
'%d'.format([[1]]) => 1:14: error during formatting: decimal clause can only be used on integers, was given list
'%d'.format([{'a':1}]) => 1:14: error during formatting: decimal clause can only be used on integers, was given map
'%d'.format([int]) => 1:14: error during formatting: decimal clause can only be used on integers, was given type
'%d'.format([[x]]) => 1:14: error during formatting: decimal clause can only be used on integers, was given list
'%d'.format([[q]]) => 1:14: error during formatting: decimal clause can only be used on integers, was given list
'%d'.format([[[q]]]) => 1:14: error during formatting: decimal clause can only be used on integers, was given list
'%d'.format([{1:q}]) => 1:14: error during formatting: decimal clause can only be used on integers, was given map
'%d'.format([{1.5:1}]) => 1:14: error during formatting: decimal clause can only be used on integers, was given map
'%d'.format([{x:1}]) => 1:14: error during formatting: decimal clause can only be used on integers, was given map
'%d'.format([[device]]) => 1:14: error during formatting: decimal clause can only be used on integers, was given list
'%d'.format([{q:1}]) => 1:14: error during formatting: decimal clause can only be used on integers, was given map
'%d'.format([{null:1}]) => 1:14: error during formatting: decimal clause can only be used on integers, was given map
'%d'.format([{[1]:1}]) => 1:14: error during formatting: decimal clause can only be used on integers, was given map
'%f'.format([1]) => 1:14: error during formatting: fixed-point clause can only be used on doubles, was given int
'%f'.format([1u]) => 1:14: error during formatting: fixed-point clause can only be used on doubles, was given uint
'%f'.format([b'a']) => 1:14: error during formatting: fixed-point clause can only be used on doubles, was given bytes
'%f'.format([true]) => 1:14: error during formatting: fixed-point clause can only be used on doubles, was given bool
'%f'.format([[1]]) => 1:14: error during formatting: fixed-point clause can only be used on doubles, was given list
'%f'.format([{'a':1}]) => 1:14: error during formatting: fixed-point clause can only be used on doubles, was given map
'%f'.format([int]) => 1:14: error during formatting: fixed-point clause can only be used on doubles, was given type
'%f'.format([[x]]) => 1:14: error during formatting: fixed-point clause can only be used on doubles, was given list
'%f'.format([[q]]) => 1:14: error during formatting: fixed-point clause can only be used on doubles, was given list
'%f'.format([[[q]]]) => 1:14: error during formatting: fixed-point clause can only be used on doubles, was given list
'%f'.format([{1:q}]) => 1:14: error during formatting: fixed-point clause can only be used on doubles, was given map
'%f'.format([{1.5:1}]) => 1:14: error during formatting: fixed-point clause can only be used on doubles, was given map
'%f'.format([{x:1}]) => 1:14: error during formatting: fixed-point clause can only be used on doubles, was given map
'%f'.format([{q:1}]) => 1:14: error during formatting: fixed-point clause can only be used on doubles, was given map
'%f'.format([{[1]:1}]) => 1:14: error during formatting: fixed-point clause can only be used on doubles, was given map
'%e'.format([1]) => 1:14: error during formatting: scientific clause can only be used on doubles, was given int
'%e'.format([1u]) => 1:14: error during formatting: scientific clause can only be used on doubles, was given uint
'%e'.format([b'a']) => 1:14: error during formatting: scientific clause can only be used on doubles, was given bytes
'%e'.format([true]) => 1:14: error during formatting: scientific clause can only be used on doubles, was given bool
'%e'.format([[1]]) => 1:14: error during formatting: scientific clause can only be used on doubles, was given list
'%e'.format([{'a':1}]) => 1:14: error during formatting: scientific clause can only be used on doubles, was given map
'%e'.format([int]) => 1:14: error during formatting: scientific clause can only be used on doubles, was given type
'%e'.format([[x]]) => 1:14: error during formatting: scientific clause can only be used on doubles, was given list
'%e'.format([[q]]) => 1:14: error during formatting: scientific clause can only be used on doubles, was given list
'%e'.format([[[q]]]) => 1:14: error during formatting: scientific clause can only be used on doubles, was given list
'%e'.format([{1:q}]) => 1:14: error during formatting: scientific clause can only be used on doubles, was given map
'%e'.format([{1.5:1}]) => 1:14: error during formatting: scientific clause can only be used on doubles, was given map
'%e'.format([{x:1}]) => 1:14: error during formatting: scientific clause can only be used on doubles, was given map
'%e'.format([{q:1}]) => 1:14: error during formatting: scientific clause can only be used on doubles, was given map
'%e'.format([{null:1}]) => 1:14: error during formatting: scientific clause can only be used on doubles, was given map
'%e'.format([{[1]:1}]) => 1:14: error during formatting: scientific clause can only be used on doubles, was given map
'%o'.format([1.5]) => 1:14: error during formatting: octal clause can only be used on integers, was given double
'%o'.format(['a']) => 1:14: error during formatting: octal clause can only be used on integers, was given string
'%o'.format([b'a']) => 1:14: error during formatting: octal clause can only be used on integers, was given bytes
'%o'.format([true]) => 1:14: error during formatting: octal clause can only be used on integers, was given bool
'%o'.format([null]) => 1:14: error during formatting: octal clause can only be used on integers, was given null_type
'%o'.format([[1]]) => 1:14: error during formatting: octal clause can only be used on integers, was given list
'%o'.format([{'a':1}]) => 1:14: error during formatting: octal clause can only be used on integers, was given map
'%o'.format([int]) => 1:14: error during formatting: octal clause can only be used on integers, was given type
'%o'.format([[x]]) => 1:14: error during formatting: octal clause can only be used on integers, was given list
'%o'.format([[q]]) => 1:14: error during formatting: octal clause can only be used on integers, was given list
'%o'.format([[[q]]]) => 1:14: error during formatting: octal clause can only be used on integers, was given list
'%o'.format([{1:q}]) => 1:14: error during formatting: octal clause can only be used on integers, was given map
'%o'.format([{1.5:1}]) => 1:14: error during formatting: octal clause can only be used on integers, was given map
'%o'.format([{x:1}]) => 1:14: error during formatting: octal clause can only be used on integers, was given map
'%o'.format([[device]]) => 1:14: error during formatting: octal clause can only be used on integers, was given list
'%o'.format([{q:1}]) => 1:14: error during formatting: octal clause can only be used on integers, was given map
'%o'.format([{null:1}]) => 1:14: error during formatting: octal clause can only be used on integers, was given map
'%o'.format([{[1]:1}]) => 1:14: error during formatting: octal clause can only be used on integers, was given map
"""


def rows(table: str) -> list[tuple[str, str]]:
    """Expressions and what is expected of them."""
    return [tuple(line.rsplit(" => ", 1)) for line in table.strip().splitlines()]  # type: ignore[misc]


def short(value: str) -> str:
    """A test's id: the start of the expression."""
    return value[:40]


@pytest.mark.parametrize(("expression", "expected"), rows(TYPES), ids=short)
def test_result_has_the_type(expression: str, expected: str) -> None:
    assert full_name(ENVIRONMENT.compile(expression).type) == expected


@pytest.mark.parametrize(("expression", "expected"), rows(COMPLAINTS), ids=short)
def test_every_complaint_is_made_where_cel_go_makes_it(expression: str, expected: str) -> None:
    with pytest.raises(CelCompileError) as caught:
        ENVIRONMENT.compile(expression)
    made = [line for line in str(caught.value).splitlines() if line.startswith("ERROR: <input>:")]
    assert [line.removeprefix("ERROR: <input>:") for line in made] == expected.split(" ; ")
