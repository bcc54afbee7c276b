"""Estimated costs, as cel-go and the API server estimate them (cel.md 1.5)."""

from __future__ import annotations

import pytest

from drasat.cel.environment import generic_environment
from drasat.cel.library import UNBOUNDED, Range

# Variables: their types, and the greatest sizes of them and of what they hold.
VARIABLES: dict[str, tuple[str, dict[str, int]]] = {
    "b": ("bool", {}),
    "i": ("int", {}),
    "x": ("dyn", {"": 70}),
    "s": ("string", {"": 100}),
    "s2": ("string", {"": 50}),
    "by": ("bytes", {"": 40}),
    "l": ("list(int)", {"": 20}),
    "ls": ("list(string)", {"": 20, "@items": 30}),
    "m": ("map(string,string)", {"": 7, "@keys": 60, "@values": 90}),
    "ll": ("list(list(string))", {"": 3, "@items": 5, "@items.@items": 80}),
    "mm": (
        "map(string,map(string,string))",
        {"": 4, "@values": 6, "@keys": 11, "@values.@values": 120, "@values.@keys": 13, "a": 8},
    ),
    "ld": ("list(dyn)", {"": 9, "@items": 33}),
    "o": ("optional(string)", {"": 44}),
    "md": ("map(string,dyn)", {"": 5, "@values": 55, "@keys": 12}),
    "t": ("timestamp", {}),
    "q": ("kubernetes.Quantity", {}),
    "d": ("double", {}),
    "u": ("uint", {}),
    "os": ("optional(list(string))", {"": 5}),
    "lo": ("list(optional(string))", {"": 3}),
}


def sizes(path: tuple[str, ...]) -> Range | None:
    """The declared size at a path."""
    name, *below = path
    limit = VARIABLES[name][1].get(".".join(below)) if name in VARIABLES else None
    return None if limit is None else Range(0, limit)


ENVIRONMENT = generic_environment(
    {name: type_ for name, (type_, _) in VARIABLES.items()} | {"device": "kubernetes.DRADevice"}, sizes=sizes
)
LONG = "'" + "c" * 1000 + "'"

# expression => least most; %C is a string of 1000 characters
ESTIMATES = r"""
s + s => 2 22
s + s2 => 2 17
s + 'abc' => 2 12
'é' + s => 2 12
'éééééééééé' + 'éééééééééé' => 2 2
b'éééééééééé' + b'éééééééééé' => 4 4
ls[0] + 'abc' => 3 6
ls[i] + ls[0] => 5 11
m['a'] + 'abc' => 3 12
m.a + 'abc' => 3 1844674407370955266
m[s] + 'abc' => 4 13
mm['a']['b'] + 'abc' => 4 16
mm.a.b + 'abc' => 4 1844674407370955267
mm.a['b'] + 'abc' => 4 1844674407370955267
ll[0][1] + 'abc' => 4 12
ll[0] == ls => 4 4
ll == ll => 3 3
ls == ls => 3 4
m == m => 3 3
mm.a == mm.a => 5 5
mm['a'] == mm['a'] => 5 5
md.a + 'abc' => 3 1844674407370955266
md['a'] + 'abc' => 3 8
ld[0] + 'abc' => 3 6
x + 'abc' => 2 9
x.a + 'abc' => 2 1844674407370955265
x['a'] + 'abc' => 3 1844674407370955266
x == s => 3 9
x == 1 => 2 2
i == 1 => 2 2
x == x => 3 9
x < s => 3 9
i < i => 3 3
s < s2 => 3 7
s <= 'abc' => 2 2
b ? s : s2 => 2 2
(b ? s : s2) + 'abc' => 3 13
(b ? 'aaaaaaaaaaaaaaaaaaaaaa' : s2) + 'abc' => 2 8
(b ? m : {}).size() > 0 => 4 33
(b ? m : {}) == m => 4 33
(s + s2) + s => 3 43
(s + s2) + (s + s2) => 4 64
ls + ls => 3 3
(ls + ls) == (ls + ls) => 7 10
(l + [1]) == (l + [1]) => 25 27
[s] == [s] => 23 23
[1,2,3] == l => 12 12
{'a':1} == {'b':2} => 61 61
size(s) + 1 => 3 3
s.size() => 2 2
!b => 2 2
-i => 2 2
i + 1 => 2 2
i * i => 3 3
i in l => 2 22
i in [1,2,3] => 14 14
s in ls => 2 22
s in ['a','b'] => 13 13
s in m => 3 3
'a' in mm.a => 3 3
x in l => 2 22
1 in x => 1 71
s in x => 2 72
b && s == s2 => 1 8
b && s == s2 && s == s => 1 20
b || s == s2 || b => 1 9
b && (b || b) => 1 3
(b || b) && b => 1 3
i > 0 ? s == s : s2 == s2 => 5 14
string(i) => 2 2
string(s) => 2 2
string(by) => 1 5
bytes(s) => 1 11
string(by) + 'abc' => 2 10
bytes(s) == bytes(s) => 3 62
string(i) + 'abc' => 3 1844674407370955266
int(s) => 2 2
double(s) => 2 2
timestamp(s) => 2 2
duration(s) => 2 2
dyn(s) + 'abc' => 3 13
dyn(s) == s => 4 13
type(s) == string => 4 1844674407370955267
s.startsWith(s2) => 2 7
s.startsWith('abc') => 2 2
s.endsWith(s2) => 2 7
s.contains(s2) => 2 52
s.contains('abc') => 1 11
s.matches('a+') => 2 12
s.matches(s2) => 2 145
matches(s, 'a+') => 2 12
has(m.a) => 1 1
has(mm.a.b) => 2 2
has(x.a) => 1 1
has(x.a.b) => 1 1
has(mm['a'].b) => 2 2
l[0] == 1 => 3 3
t.getFullYear() => 2 2
t == t => 3 3
q == q => 3 3
[] => 10 10
[1,2] => 10 10
[s,s2] => 12 12
{'a': s} => 31 31
{s: s2} => 32 32
l.all(y, y > 0) => 2 102
l.exists(y, y > 0) => 2 122
l.exists_one(y, y > 0) => 3 83
l.map(y, y) => 12 272
l.map(y, y > 0, y) => 12 312
l.filter(y, y > 0) => 12 312
ls.all(y, y == 'abc') => 2 102
ls.all(y, y + y == 'abc') => 2 242
ls.map(y, y + y) => 12 412
m.all(k, k == 'abc') => 2 37
m.all(k, v, v == k) => 2 79
m.exists(k, v, v + k == 'abc') => 2 156
m.existsOne(k, v, v == k) => 3 73
m.map(k, k + k) => 12 194
m.map(k, m[k] + k) => 12 229
ls.transformList(i1, v, v + 'abc') => 12 352
ls.transformList(i1, v, i1 > 0, v + 'abc') => 12 392
m.transformList(k, v, v + k) => 12 215
m.transformMap(k, v, v + k) => 32 172
m.transformMap(k, v, k == v, v + k) => 32 228
m.transformMapEntry(k, v, {v: k}) => 32 270
m.transformMapEntry(k, v, k == v, {v: k}) => 32 326
mm.all(k, mm[k].all(k2, mm[k][k2] == k2)) => 2 294
mm.all(k, v, v.all(k2, v2, v2 == k2)) => 2 190
ll.all(y, y.all(z, z == 'abc')) => 2 92
ld.all(y, y + 'a' == 'abc') => 2 83
ld.all(y, y.all(z, z == 'abc')) => 2 1532
x.all(y, y + 'a' == 'abc') => 2 unlimited
x.all(y, y.z == 'abc') => 2 352
ls.map(y, y + 'abc').all(z, z == 'a') => 13 453
ls.filter(y, y == 'a').all(z, z == 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa') => 13 453
ls.filter(y, y == 'a') == ls => 14 315
ls.map(y, y) == ls => 14 275
ls.map(y, y).map(z, z) == ls => 25 546
m.transformMap(k, v, v) == m => 34 62
m.transformList(k, v, v) == ls => 14 105
m.map(k, k) == ls => 14 105
[s, s2].all(y, y == s) => 19 43
[1,2,3].all(y, y > 0) => 20 26
[[1,2],[3]].all(y, y.all(z, z > 0)) => 37 61
{'a': s}.all(k, k == s) => 35 38
{'a': s}.all(k, v, v == s) => 35 47
l.all(y, b) => 2 82
l.all(y, b && b) => 2 102
l.exists(y, b && b) => 2 122
l.map(y, b ? 1 : 2) => 12 272
cel.bind(y, s, y + 'abc') => 13 23
cel.bind(y, s, y + y) => 13 33
cel.bind(y, 1, y + 1) => 12 12
cel.bind(y, l, y.all(z, z > 0)) => 13 113
cel.bind(y, ls, y.all(z, z == 'abc')) => 13 113
cel.bind(y, mm.a, y.b + 'abc') => 15 1844674407370955278
cel.bind(y, mm, y.a.b + 'abc') => 15 1844674407370955278
cel.bind(y, s + s2, y + 'abc') => 14 44
cel.bind(y, [1,2,3], y.all(z, z > 0)) => 31 37
cel.bind(y, b ? s : s2, y + 'abc') => 14 24
o.value() + 'abc' => 3 1844674407370955266
o.orValue(s) + 'abc' => 4 1844674407370955267
o.orValue('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa') + 'abc' => 3 1844674407370955266
o.or(o) => 3 3
o.hasValue() => 2 2
o == o => 3 7
m.?a => 2 2
m.?a.orValue('abc') => 3 3
m.?a.orValue('abc') + 'abc' => 4 1844674407370955267
m.?a.value() + 'abc' => 4 1844674407370955267
m[?'a'].orValue('abc') + 'abc' => 4 1844674407370955267
ls[?0].orValue('abc') + 'abc' => 4 1844674407370955267
ls[?0].value() + 'abc' => 4 1844674407370955267
mm.?a.b.value() + 'abc' => 4 1844674407370955267
mm.?a.?b.value() + 'abc' => 5 1844674407370955268
mm.?a['b'].value() + 'abc' => 5 1844674407370955268
mm.?a[?'b'].value() + 'abc' => 5 1844674407370955268
has(mm.?a.b) => 2 2
optional.of(s).value() + 'abc' => 4 1844674407370955267
optional.of(s) => 2 2
optional.none() => 1 1
optional.ofNonZeroValue(s) => 2 2
o.optMap(y, y) => 3 16
o.optMap(y, y + y) => 3 1844674407370955281
o.optMap(y, 1) => 3 15
o.optMap(y, i + 1) => 3 17
optional.of(1).optMap(y, y) => 3 16
o.optFlatMap(y, optional.of(y)) => 3 16
o.optFlatMap(y, o) => 3 15
[?o, s] => 12 12
{?'a': o} => 31 31
[?o, 'a'].all(z, z == 'abc') => 18 22
ls.first().value() + 'abc' => 4 1844674407370955267
ls.last().orValue('abc') => 3 3
l.sortBy(y, y) => 35 1095
ls.sortBy(y, y) => 35 1135
ls.sortBy(y, y.size()) => 35 1115
ls.sortBy(y, y).all(z, z == 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa') => 36 5136
[3,1,2].sortBy(y, -y) => 104 104
l.sortBy(y, y) == l => 37 1098
[s].all(y, y == %C) => 15 26
[[s]].all(y, y.all(z, z == %C)) => 25 131
[[s2]].all(y, y[0] == %C) => 25 127
[s][0] == %C => 13 22
[s, s2][i] == %C => 15 24
[s2][0] == %C => 13 17
{'a': s}['a'] == %C => 33 42
{'a': s}.a == %C => 33 132
{'a': s, 'b': s2}[s] == %C => 35 44
{s: 'a'}.all(k, k == %C) => 35 46
{s: 'a', s2: 'b'}.map(k, k)[0] == %C => 71 80
{'a': s2}.all(k, v, v == %C) => 35 41
ls.map(y, y + 'abc').all(z, z == %C) => 13 513
ls.map(y, y + 'abc')[0] == %C => 14 357
ls.map(y, y)[0] == %C => 14 276
ls.map(y, [y])[0][0] == %C => 15 574
ls.map(y, [y]).all(z, z[0] == %C) => 13 2573
ls.map(y, [y]).all(z, z.all(w, w == %C)) => 13 2653
ls.filter(y, b)[0] == %C => 14 296
ls.filter(y, b).all(z, z == %C) => 13 433
m.map(k, k)[0] == %C => 14 110
m.filter(k, true)[0] == %C => 14 110
m.map(k, m[k])[0] == %C => 14 127
m.transformMap(k, v, v).all(k, k == %C) => 33 789
m.transformMap(k, v, v).all(k, v, v == %C) => 33 789
m.transformMap(k, v, v)['a'] == %C => 34 161
m.transformMap(k, v, v + v).all(k, v, v == %C) => 33 922
m.transformMapEntry(k, v, {v: k}).all(k, v, v == %C) => 33 999
m.transformMapEntry(k, v, {v: k}).all(k, k == %C) => 33 999
ls.transformList(i1, v, v).all(z, z == %C) => 13 413
m.transformList(k, v, k).all(z, z == %C) => 13 174
(ls + ls).all(z, z == %C) => 4 4164
(ls + ls)[0] == %C => 5 104
(ls + [s]).all(z, z == %C) => 17 2198
([s] + ls).all(z, z == %C) => 17 2198
([s] + [s2]).all(z, z == %C) => 30 52
([s2] + [s]).all(z, z == %C) => 30 52
([s2] + [s])[0] == %C => 25 34
(b ? ls : [s]).all(z, z == %C) => 3 2093
(b ? [s2] : [s]).all(z, z == %C) => 16 27
(b ? ls : ls).all(z, z == %C) => 3 2083
(b ? [s] : ls)[0] == %C => 4 113
(b ? m : {'a': s}).all(k, k == %C) => 3 761
(b ? m : {'a': s}).all(k, v, v == %C) => 3 761
(b ? m : m)['a'] == %C => 4 103
(b ? s : s) == %C => 3 12
cel.bind(y, ls, y.all(z, z == %C)) => 13 153
cel.bind(y, ls, y[0] == %C) => 14 16
cel.bind(y, [s], y.all(z, z == %C)) => 26 37
cel.bind(y, [s], y[0] == %C) => 24 33
cel.bind(y, [s], [y])[0][0] == %C => 35 134
cel.bind(y, [s], y).all(z, z == %C) => 23 unlimited
cel.bind(y, s, y) == %C => 13 22
cel.bind(y, m, y['a']) == %C => 14 22
cel.bind(y, m['a'], y) == %C => 14 22
cel.bind(y, ll, y.all(z, z.all(w, w == %C))) => 13 208
cel.bind(y, ll, y[0][0] == %C) => 15 22
cel.bind(y, ll[0], y[0] == %C) => 15 22
ll.all(y, y[0] == %C) => 2 41
ll.all(y, y.all(z, z == %C)) => 2 197
ll.map(y, y)[0][0] == %C => 15 153
ll.map(y, y).all(z, z[0] == %C) => 13 367
ll.map(y, y[0]).all(z, z == %C) => 13 91
ll.filter(y, b).all(z, z.all(w, w == %C)) => 13 1630
ll[0].all(z, z == %C) => 3 63
mm['a'].all(k, v, v == %C) => 3 99
mm.a.all(k, v, v == %C) => 3 835
mm.all(k, v, v.x == %C) => 2 422
mm.all(k, v, v['x'] == %C) => 2 70
mm.all(k, v, v.all(k2, k2 == %C)) => 2 166
x[0] == %C => 3 102
x['a'] == %C => 3 102
x.all(y, y == %C) => 2 7282
x.a.b == %C => 2 101
ld[0].all(z, z == %C) => 3 3435
ld.all(y, y == %C) => 2 74
md['a'] == %C => 3 8
md.all(k, v, v == %C) => 2 52
md.all(k, k == %C) => 2 32
dyn(ls).all(z, z == %C) => 3 2083
dyn(ls)[0] == %C => 4 103
dyn(m)['a'] == %C => 4 103
dyn(s) == %C => 3 12
[dyn(s)][0] == %C => 14 23
[1, 2][0] == 1 => 12 12
[x][0] == %C => 13 19
[x][0].a == %C => 13 112
ls.sort() => 12 852
l.sort() => 12 812
ll.map(y, y.size()).sort() => 23 83
ls.distinct() => 12 812
l.distinct() => 12 812
ls.sort().all(z, z == %C) => 13 42453
ls.sortBy(y, y).all(z, z == %C) => 36 42736
ls.reverse().all(z, z == %C) => 13 2113
ls.slice(0, 3).all(z, z == %C) => 25 328
ls.slice(0, 3) => 15 15
ls.slice(1, 3) == ls => 16 16
ls.slice(i, i) == ls => 36 37
ls.reverse() => 12 32
ll.flatten() => 12 15
ll.flatten().all(z, z == %C) => 13 328
[[s]].flatten().all(z, z == %C) => 37 138
lists.range(5) => 16 16
lists.range(5).all(z, z > 1) => 32 42
ls.min() == %C => 2 181
ls.max() => 1 81
l.min() => 1 21
l.sum() => 1 21
ls.isSorted() => 1 81
ls.indexOf('a') => 1 81
l.indexOf(1) => 1 21
ls.lastIndexOf('a') => 1 81
['a','bb'].indexOf('a') => 12 3689348814741910540
[s].min() => 12 1844674407370955276
[s2, s].min() => 14 3689348814741910542
[s].isSorted() => 12 1844674407370955276
ls.map(y, y).min() => 12 unlimited
ls.join() => 1 61
ls.join(',') => 1 63
ls.join(s) => 2 252
ls.join(',') == %C => 2 125
s.split(',') => 1 21
s.split(',')[0] == %C => 3 122
s.split(',').all(z, z == %C) => 2 10422
s.lowerAscii() == %C => 2 21
s.replace('a', 'bb') => 1 21
s.replace('a', 'bb') == %C => 2 41
s.replace('', 'bb') == %C => 2 52
s.replace('aa', 'b') == %C => 2 31
s.replace(s2, s) == %C => 4 123
s.substring(1) == %C => 2 21
s.substring(1) => 1 11
s.charAt(1) => 2 2
s.charAt(1) == %C => 3 102
s.trim() == %C => 2 21
s.find('a') == %C => 3 22
s.findAll('a').all(z, z == %C) => 3 10413
strings.quote(s) == %C => 2 32
s.format([1]) => 11 21
s.format([s]) == %C => 13 122
quantity(s) => 1 11
isQuantity(s) => 1 11
quantity('1Gi') => 1 1
q.isGreaterThan(quantity('1Gi')) => 3 3
q.compareTo(q) => 3 3
q.add(q) == q => 5 5
q.add(1) => 2 2
sign(q) => 2 2
q.asInteger() => 2 2
semver(s) => 1 11
semver('1.2.3') => 1 1
semver('1.2.3', true) => 1 1
semver('1.0.0').compareTo(semver('1.0.0')) => 3 3
semver('1.0.0').major() => 2 2
sets.contains(ls, ['a']) => 12 32
sets.contains(ls, ls) => 3 403
sets.equivalent(ls, ls) => 3 803
sets.intersects(l, [1,2]) => 12 52
ip(s) => 1 11
ip('1.1.1.1').family() => 2 2
isIP(s) => 1 11
ip.isCanonical(s) => 1 21
string(ip('1.1.1.1')) => 2 2
string(ip('1.1.1.1')) == %C => 3 102
cidr(s) => 1 11
cidr('10.0.0.0/8').containsIP(s) => 3 16
cidr('10.0.0.0/8').containsIP(ip('1.1.1.1')) => 3 6
cidr('10.0.0.0/8').containsCIDR('10.0.0.0/9') => 5 9
cidr('10.0.0.0/8').containsCIDR(cidr('10.0.0.0/9')) => 5 9
cidr('10.0.0.0/8').containsCIDR(s) => 5 19
cidr('10.0.0.0/8').ip() => 2 2
cidr('10.0.0.0/8').masked() => 2 2
cidr('10.0.0.0/8').prefixLength() => 2 2
string(cidr('10.0.0.0/8')) == %C => 3 102
isCIDR(s) => 1 11
url(s) => 1 11
isURL(s) => 2 2
url(s).getHost() => 2 12
url(s).getHost() == %C => 3 112
url('http://a.b/c').getQuery() => 3 3
format.dns1123Label().validate(s) => 2 322
format.named('uuid').value().validate(s) => 3 323
format.named(s) => 2 2
x.includes(1) => 1 71
ls.includes('a') => 1 81
optional.unwrap([o]) => 12 12
[o].unwrapOpt() => 12 12
ls.first() => 2 2
ls.last() => 2 2
cel.bind(y, ls, y).all(z, z == %C) => 13 2093
cel.bind(y, 1, ls).all(z, z == %C) => 12 2092
cel.bind(y, 1, ls)[0] == %C => 13 112
cel.bind(y, ls, 'abc') == %C => 12 12
cel.bind(y, 1, s) == %C => 12 21
cel.bind(y, 1, m['a']) == %C => 13 21
cel.bind(y, 1, s + s) == %C => 13 52
cel.bind(y, s2, s) == %C => 13 22
cel.bind(y, 1, [s]).all(z, z == %C) => 25 36
cel.bind(y, 1, m).all(k, k == %C) => 12 740
cel.bind(y, [1], s) == %C => 22 31
cel.bind(y, [1], [s])[0] == %C => 33 42
cel.bind(y, x, y.a) == %C => 13 112
cel.bind(y, x, y) == %C => 13 19
cel.bind(y, x, y).all(z, z == 1) => 13 363
cel.bind(y, ls, y == ls) => 14 15
cel.bind(y, ls, y) == ls => 14 15
cel.bind(y, m, y) == m => 14 14
([] + [s])[0] == %C => 24 33
([] + [s]).all(z, z == %C) => 26 37
([s] + [])[0] == %C => 24 33
([] + []).all(z, z == %C) => 22 22
[].all(z, z == %C) => 11 11
[[]].all(z, z == []) => 24 35
[[], [s]].all(z, z.size() == 1) => 38 44
[?o][0] == %C => 13 17
[?o].all(z, z == %C) => 15 21
{'a': ls}['a'].all(z, z == %C) => 33 2113
{'a': ls}['a'][0] == %C => 34 133
{'a': ls, 'b': [s, s]}['a'] == ls => 46 47
{'a': x}['a'] == %C => 33 39
{?'a': o}['a'] == %C => 33 37
(b ? s : x) == %C => 3 12
(b ? s : string(i)) == %C => 3 103
(b ? x : s).a == %C => 3 102
(b ? x : x)[0] == %C => 4 103
(b ? ls : ls) == ls => 4 5
(b ? 1 : 2) == 1 => 2 2
(b ? q : q) == q => 4 4
(b ? mm : mm).a.b == %C => 5 104
(b ? mm : mm)['a']['b'] == %C => 5 104
optional.of(s) == optional.of(s) => 5 1844674407370955268
l.exists(y, true) == true => 3 83
l.map(y, s)[0] == %C => 14 283
l.map(y, s + s)[0] == %C => 14 713
l.map(y, ls).all(z, z == ls) => 13 413
l.map(y, ls)[0][0] == %C => 15 374
l.map(y, x).all(z, z == %C) => 13 493
l.map(y, {'a': s})[0].a == %C => 15 974
l.map(y, {'a': s})[0]['a'] == %C => 15 974
l.map(y, y > 0, s)[0] == %C => 14 323
l.filter(y, true)[0] == 1 => 14 274
x.map(y, y)[0] == %C => 14 1023
x.map(y, s)[0] == %C => 14 933
x.map(y, y).all(z, z == 1) => 13 1273
x.filter(y, true).all(z, z == 1) => 13 1273
x.all(k, v, v == %C) => 2 7282
x.transformMap(k, v, v).all(z, true) => 33 523
s.split(',').map(y, y).all(z, z == %C) => 13 11733
ls.map(y, ls.map(z, z)).all(w, w.all(z, z == %C)) => 13 47393
ls.map(y, ls.map(z, z))[0].all(z, z == %C) => 14 7774
ls.map(y, ls.map(z, y + z)[0])[0] == %C => 14 8519
[ls.map(z, z)][0] == ls => 25 286
[ls][0] == ls => 14 15
[ls].all(y, y == ls) => 15 19
[ls, [s]].all(y, y == ls) => 29 37
i == 1 && (s == s || b) && s2 == s2 => 2 22
!(s == s) => 4 13
-i + 1 => 3 3
s != s2 => 3 7
m != m => 3 3
i != i => 3 3
t < t => 3 3
b < b => 3 3
d < 1.0 => 2 2
by < by => 3 6
by + by => 2 10
by == by => 3 6
s in [s, s2] => 15 15
[1,2,3].map(y, y * 2).filter(z, z > 2).size() == 2 => 85 121
l[0] + l[1] == 3 => 6 6
m.size() => 2 2
x.size() => 2 2
size(x) => 2 2
size([1,2,3]) => 11 11
s.contains(x) => 2 72
x.contains(s) => 2 72
x.startsWith('a') => 2 2
x.matches('a') => 2 9
x + x => 2 16
x + 1 => 2 2
x + s => 2 19
x + ls => 3 3
x - 1 => 2 2
x * 2 => 2 2
x in x => 2 72
x[0] => 2 2
x[s] => 3 3
x[x] => 3 3
x.a[0] => 2 2
x.a.b[s].c => 3 3
x.a.b[s].c[1].d => 4 4
!x => 2 2
-x => 2 2
x ? 1 : 2 => 1 1
x && x => 1 2
x || b => 1 2
x.includes(x) => 2 72
ls.includes(x) => 2 82
string(x) => 1 8
int(x) => 2 2
type(x) => 2 2
bytes(x) => 1 8
dyn(x) => 2 2
x.all(y, y) => 2 282
x == [1] => 12 12
x == {'a': 1} => 32 32
x == 1u => 2 2
x < 'abc' => 2 2
x < x => 3 9
x <= 1.0 => 2 2
x.f.startsWith('b') => 2 2
x.f + 'a' => 2 1844674407370955265
x.f == x.g => 3 1844674407370955266
x.f in ['a', 'b'] => 13 13
x.f.size() => 2 2
{'a': 1, s: 2} => 31 31
timestamp('2020-01-01T00:00:00Z') < t => 3 3
duration('1h') + duration('1m') => 3 3
t - t => 3 3
t + duration('1h') => 3 3
t.getHours('UTC') => 2 2
duration('1h').getSeconds() => 2 2
string(t) == %C => 3 102
string(duration('1h')) => 2 2
string(1.5) => 1 1
string(true) => 1 1
'abc'.size() == 3 => 2 2
'abc' + 'def' == 'abcdef' => 2 2
has(m.a) ? m.a == 'x' : false => 1 4
b ? s == s : b ? s2 == s2 : false => 2 13
b ? 1 : b ? 2 : 3 => 1 2
true || s == s => 0 12
true ? s : s2 => 1 1
cel.bind(a, 1, cel.bind(c, 2, a + c)) => 23 23
cel.bind(a, s, cel.bind(c, a, c == %C)) => 24 33
[1,2].exists(a, [1,2].exists(c, a == c)) => 19 69
l.exists(a, l.exists(c, a == c)) => 2 2922
l.transformMap(k, v, v)[0] == 1 => 34 114
m.all(k, v, k == v) => 2 79
google.protobuf.Timestamp == type(t) => 4 1844674407370955267
net.IP == type(ip('1.1.1.1')) => 4 1844674407370955267
q == null => 2 2
[q, q][0] == q => 15 15
%C == %C => 1 100
%C < %C => 1 100
[1,2,3,4,5,6,7,8,9,10,11,12] == [1,2,3,4,5,6,7,8,9,10,11,12] => 21 22
(x + s) == %C => 3 36
(x + x) == %C => 3 30
(x + 'a') == %C => 3 17
x == null => 2 2
dyn(s) == null => 3 3
dyn(%C) == dyn(null) => 3 3
s == s && x == null => 3 14
x == b => 3 3
[] == [] => 20 20
{} == {} => 60 60
{'a':1} == {} => 60 60
'' == '' => 0 0
'' + '' => 0 0
'' < 'a' => 0 0
[1,2,3].filter(y, y > 1).map(z, z) => 80 116
[1,2,3].filter(y, y > 1) == [1,2,3] => 41 77
[1,2,3].map(y, y) == [1,2,3] => 71 71
[1,2,3].map(y, y > 1, y).map(z, z) => 80 116
[1,2,3].transformList(k, v, v).map(z, z) => 110 110
[1,2,3].transformList(k, v, v > 1, v).map(z, z) => 80 116
{'a':1,'b':2}.transformMap(k, v, v).map(z, z) => 106 106
{'a':1,'b':2}.transformMap(k, v, v > 1, v).map(z, z) => 104 110
[1,2,3].sortBy(y, y).map(z, z) => 229 229
[1,2].min() => 12 12
[1,2].sum() => 12 12
['a'].min() => 11 1844674407370955275
{'a': {'b': s}}['a']['b'] == %C => 64 163
{'a': s}.all(k, {'a': s}[k] == %C) => 35 78
ls.all(i1, v, v == %C) => 2 142
ll.all(i1, v, v.all(i2, w, w == %C)) => 2 197
ll.all(i1, v, v[0] == %C) => 2 41
mm.all(k, v, v.all(k2, v2, k2 == %C)) => 2 166
mm['a'].all(k2, v2, k2 == %C) => 3 39
mm['a'].all(k2, k2 == %C) => 3 39
x.all(k, v, k == %C) => 2 7282
ld.all(y, y[0] == %C) => 2 947
l.all(k, v, k == v) => 2 122
(b ? 'a' : x) == %C => 2 9
(b ? [1] : [1,2]).all(y, y > 0) => 15 22
(b ? [s] : [])[0] == %C => 13 23
(b ? [] : [s])[0] == %C => 13 23
(b ? {} : {'a': s})['a'] == %C => 33 43
(b ? {s: s2} : {'a': s})['a'] == %C => 34 44
(b ? {s: s2} : {'a': s}).all(k, k == %C) => 36 48
[s, 'a'][0] == %C => 13 22
[s, 'a'].all(y, y == %C) => 18 40
['a', 'bb'].all(y, y == %C) => 17 21
['a', 'bb'].exists(y, y == s) => 19 25
[s].map(y, y)[0] == %C => 37 46
[s].filter(y, b)[0] == %C => 26 47
[s].filter(y, b).all(z, z == %C) => 28 51
[s].map(y, [y])[0][0] == %C => 48 147
[s].transformList(k, v, v)[0] == %C => 37 46
cel.bind(y, s + s2, y) == %C => 14 128
cel.bind(y, [s] + [s], y)[0] == %C => 36 135
cel.bind(y, [s], cel.bind(z, y, z[0] == %C)) => 35 44
cel.bind(y, [s], cel.bind(z, y, z))[0] == %C => 35 134
cel.bind(y, [s], [y, y].all(z, z.size() == 1)) => 40 46
cel.bind(y, [s], b ? y : y)[0] == %C => 25 34
cel.bind(y, [s], y + y)[0] == %C => 26 35
cel.bind(y, [s], y.map(z, z))[0] == %C => 48 57
cel.bind(y, 'abc', y) == %C => 12 111
cel.bind(y, 'abc', y + y) == %C => 14 14
s.split(',') == ls => 3 24
o.optMap(y, ls).value() == ls => 6 20
o.optFlatMap(y, o) == o => 5 21
optional.of(1).optMap(y, y + i) => 3 18
ls.first().optMap(y, y == s) => 4 29
m[?'a'].optMap(y, y == s) => 4 29
optional.of(s).or(optional.of(s2)).orValue('a') == 'b' => 7 7
lo[0].orValue('a') == 'b' => 4 4
l.sortBy(y, x) => 35 1135
x.sortBy(y, y) => 35 11235
[s].sortBy(y, y) => 61 61
[s, s2].sortBy(y, y.size()) => 82 82
ls.filter(y, b).sortBy(z, z) => 46 1426
['c','b'].sortBy(y, y) => 79 79
ll.map(y, y.size()).sortBy(z, -z) => 46 148
ls.sortBy(y, s) => 35 1135
ls.sortBy(y, y + s) => 35 1415
ls.map(y, y).sort() => 23 1123
l.map(y, y).sort() => 23 1083
['a'].sort() => 24 24
dyn(l).sort() => 13 853
has(m.a) && has(m.b) => 1 2
has({}.a) => 30 30
has(mm.a.b) && mm.a.b == 'c' => 2 6
has(x[0].a) => 2 2
has(l.map(y, m)[0].a) => 13 273
!b && !b => 2 4
-(-i) => 3 3
- 5 + i => 2 2
x.?a.?b => 3 3
x.?a[?0] => 3 3
x[?'a'] => 2 2
x.?a.b => 2 2
x.?a.hasValue() => 3 3
[1, ?optional.of(1)] => 11 11
{'a': 1, ?'b': optional.of(2)} => 31 31
type(1) => 1 1
{'a': 1}.a => 31 31
{1: 2}[1] => 31 31
m.map(k, m.map(j, m[j] + k)) => 12 1699
ls.exists(a, ls.exists_one(c, c == a)) => 2 2942
[1, 2].sortBy(y, dyn(y)) => 80 81
ls.sortBy(y, x) => 35 1135
url(s) == url(s2) => 3 22
url(s) != url(s2) => 3 22
format.dns1123Label() == format.uuid() => 3 9
format.dns1123Label() == format.named(s).value() => 5 11
format.dns1123Label() != format.uuid() => 3 1844674407370955266
ip('1.2.3.4') != ip('1.2.3.4') => 3 1844674407370955266
q != q => 3 1844674407370955266
dyn([1]).join() => 11 11
dyn(['a', 'b']).join(',') => 12 12
x.join() => 1 1
x.join(s) => 2 692
optional.of(1) == optional.of(2) => 3 3
optional.of(s) == optional.of(s2) => 5 1844674407370955268
optional.of(optional.of(1)) == optional.of(optional.of(1)) => 5 5
optional.of(i) != optional.none() => 4 4
l.first() == optional.of(i) => 5 5
o == optional.of(s) => 4 8
o.includes('a') => 1 unlimited
os.includes('a') => 1 6
optional.of('a').includes('a') => 1 unlimited
m.includes('a') => 1 12912720851596686856
md.includes('a') => 1 9223372036854776326
mm.includes('a') => 1 7378697629483821061
'a'.replace(s, 'longlonglong').indexOf('l') => 4 5
'abc'.replace(s, 'longerthanthat').indexOf('l') => 4 8
'a'.replace('b', 'longerthanthat').indexOf('l') => 2 3
'abcdefgh'.replace('bcd', '').indexOf('l') => 2 3
''.replace('', 'bbbbbbbbbbbbbbbbbbbbbbbbbb').indexOf('l') => 3 3
s.replace(s2, s).indexOf('l') => 3 1043
"""

# The same for made-up expressions, which combine everything with everything.
COMBINATIONS = r"""
([['a']].map(a, a) + [ls].filter(v, b)) => 69 81
[].sort().existsOne(k2, a, o.hasValue()) => 23 23
ll.flatten()[?mm['a']['b'].indexOf(s2)] => 17 32
[1,2,3].sortBy(a, l[i]).sortBy(y, int(mm['a']['b'])) => 447 447
([].distinct() == [ls].map(y, ls[0])) => 57 57
([1,2,3].sortBy(y, y) + ([] + l)) => 114 114
ll[0].filter(a, b)[(b ? 2 : l[0])] => 15 87
(b ? ls : ll[0]).exists(k2, v, sets.equivalent(ls, ls)) => 3 16144
[1].filter(y, sets.contains([], ls)) => 34 46
(([['a']] + ll) + ([['a']] + ll)) => 45 45
[ls][int('a'.replace(s2, mm['a']['b']))] => 18 18
cel.bind(v, (true ? [] : ['a','b']).min(), m['a'].size()) => 23 3689348814741910553
optional.of(m.a.substring(l[0])).hasValue() => 6 1844674407370955270
mm.a.b.indexOf(ls[0].trim()) => 5 1844674407370955272
(true ? m : {}).existsOne(k, a, x['a'].all(y, b)) => 3 unlimited
(true ? size(ls[0]) : (2 * 2)) => 1 3
(cel.bind(y, ls, s).indexOf(cel.bind(v, ls, 'abcdefghijklmno')) / [1].min()) => 35 45
((dyn(1).b == i) ? [].filter(y, true).join(ll[0][i]) : m['a']) => 5 28
m['a'].indexOf(['a','b'].first().value()) => 14 23
[[][1], ?{'a': s}[?mm['a']['b']]].isSorted() => 58 3689348814741910586
s2.split(mm['a']['b']).map(v, sets.intersects(ll[0], ['a','b']), mm['a'].a) => 15 1925
(x['a'].b[ll[0][0].indexOf(mm.a.b)] + (x.a + md['a']).b) => 12 3689348814741910548
({'a': s}.all(y, b) ? x.a.b : (true ? s : 'abcdefghijklmno'))[ls[0]] => 38 40
[['a']].all(y, sets.equivalent(['a','b'].slice(i, l[i]), ls)) => 24 133
(dyn(1) + (true ? x : m['a']))[l.sortBy(v, v).sum()] => 39 1509
([1,2,3] + [1,2,3]).map(v, [].map(a, m['a'])) => 230 230
mm['a'].transformMap(k, v, v).map(v, cel.bind(v, v, i)) => 44 212
m.?a.or(o.optMap(v, m['a']).optFlatMap(a, (true ? ls[?0] : optional.none()))) => 8 51
(l.filter(w, b) + (l + l)).sortBy(w, 2) => 50 8250
{'a': s}.transformMap(k, a, b, 'abcdefghijklmno').?zz => 65 67
ls[?0].orValue(m.a).substring(cel.bind(v, s, i)) => 17 1844674407370955281
((mm['a'] == mm['a']) && [1,2,3].exists(a, dyn(1).includes(s)) && has((b ? m : m).a)) => 5 39
['a','b'].distinct()[?[].min()] => 40 40
{}.transformList(k, y, y).join(cel.bind(y, ['a','b'], s2)) => 62 62
((b && true && b) ? ls[?0].optFlatMap(w, ls[?0]) : optional.none()) => 2 20
sets.intersects(m.transformList(k, v, k), ls.slice(2, l[0])) => 45 262
([[['a']][i]] + [ll[0].map(v, m['a'])]) => 56 126
(b ? m.?a : optional.none()) => 2 3
optional.of(o.orValue(ls[0])) => 5 5
cel.bind(v, 'abcdefghijklmno', [1,2,3][i]) => 22 22
x['a'].b.exists_one(v, (x == 1)) => 4 unlimited
([m['a'], ?o] == (['a','b'] + ll[0])) => 27 27
ll[0][l[0]].matches(cel.bind(y, ['a','b'], s2)) => 26 143
string(cel.bind(w, ls, ls[0])) => 14 14
[].filter(v, ls[?0].hasValue()) => 21 21
string(m.?a.or(optional.of(s)).value()) => 7 7
sets.intersects([2].transformList(k2, y, (b ? s2 : mm.a.b)), [['a','b']][-(i)]) => 61 63
[[mm.a.b, ?ls[?0]]][cel.bind(w, m.a, m.a).indexOf(ll[0][l[i]])] => 46 1844674407370955310
ll.filter(y, ld[0].exists_one(w, true)) => 12 261
ls[?0].optFlatMap(w, optional.of(s)).or(optional.of(s)) => 7 21
((dyn(s2) + dyn(ls[0])) + md['a']) => 7 29
(true ? (true ? [] : [1,2,3]) : (b ? [] : [])) => 10 11
cel.bind(a, mm['a'], (b ? a.transformMap(k2, v, s) : m)) => 14 69
[['a']].map(y, (['a','b'].slice(i, l[0]) + ls[0].split(s2))) => 73 79
[].sortBy(y, i).sortBy(a, size({})) => 78 78
(dyn(1)[s.size()] + dyn(mm['a']['b'])[m['a'].size()]) => 12 1844674407370955276
[].all(k2, a, (cel.bind(w, ls, ll[0][0]) in [mm.a.b, ?m.?a])) => 11 11
((m == mm['a']) ? dyn([]) : s2.replace(m.a, ls[0])) => 9 19
(b ? x.a : (true ? s2 : 'a').substring((2 - l[i]))) => 2 11
(has({}.a) ? {}.transformMap(k2, y, b, ls[0]) : {mm.a.b: m['a']}) => 65 91
ls[0].upperAscii().indexOf(m['a']) => 4 10
cel.bind(a, {'a': s}, mm['a']).transformMap(k, a, ['a','b'][l[i]]) => 74 176
(cel.bind(y, [].min(), (true ? l[i] : 2)) + {}.a.indexOf(ls.join('abcdefghijklmno'))) => 53 1844674407370955409
[ls].flatten().map(w, (l[i] + 2)) => 50 50
cel.bind(v, ls.join(ll[0].min()), {}[mm.a.b].indexOf(m['a'].substring(1))) => 49 1844674407370955367
o.optFlatMap(y, (ll[0].isSorted() ? ls[?0] : optional.none())) => 3 63
(x.a.b[[1,2,3][l[i]]] + md['a']) => 18 1844674407370955282
('abcdefghijklmno'.replace(ls.join(ls[0]), (s + s)) + mm.a.b) => 11 1844674407370955412
[1,2,3].map(y, []).all(k, a, [1,2,3].exists(v, b)) => 97 175
ls[0].substring(size(cel.bind(a, ll[0], []))) => 25 28
[ls].filter(w, b).map(v, 'a'.split(ls[0])) => 50 62
({m.a: m.a} == mm['a'].transformMap(k2, v, true, 'abcdefghijklmno')) => 68 86
ll.filter(y, b).filter(w, (w == [])) => 23 137
ls.join(mm.a.b).indexOf(mm['a']['b']) => 7 3689348814741910535
['a','b'].first().orValue(ls.join(mm.a.b)) => 16 1844674407370955280
(string(dyn(1)) in (b ? {'a': s} : {'a': s})) => 35 35
([].map(v, true, mm['a']['b']) == l.map(w, 'abcdefghijklmno')) => 33 273
([l[0]] + l.filter(w, true)).map(v, [ll[0][0], ll[0][0]].sortBy(v, v.lowerAscii())) => 133 2669
(dyn(1) + dyn(1)).all(w, {}.existsOne(k, y, true)) => 10 74
[].filter(w, b).sortBy(w, l[l[i]]).sort() => 66 66
([ls] + md['a'].map(a, [])).exists(k2, y, (m.exists_one(v, b) && !(b) && b)) => 30 2972
(ll.map(a, ll[0]) + [['a','b']]).filter(v, (cel.bind(y, {'a': s}, y) == {ls[0]: s})) => 121 442
cel.bind(v, cel.bind(v, {}, v), {ls[0]: 'a', ?'z': ls[?0]}).?zz => 86 86
sets.contains(['a','b'].sortBy(v, m.a), ['a','b'].filter(y, true)) => 113 137
{'a': s}.map(v, ['a','b']).map(v, v) => 88 88
cel.bind(a, string(1), mm['a']['b']) => 14 14
cel.bind(v, ['a','b'].distinct(), mm['a'].map(y, s)) => 52 130
ls[l[i]].find(ls[0].replace(s2, 'abcdefghijklmno')) => 8 510
ll.filter(a, b).filter(y, true) => 23 104
{'a': s}[optional.of(ls[0]).orValue(ls[0].substring(l[0]))] => 40 43
(ll + [['a']]).filter(w, (l[i] == 2)).map(a, -(i)) => 63 168
[].sortBy(y, string(md['a'])) => 44 44
l.transformList(k, v, m.a).isSorted() => 12 unlimited
ll[0].map(a, m['a']).sort() => 24 147
([['a']].map(v, i).map(a, ls.sort()) + ld[0].map(y, ls).filter(a, b)) => 104 1835
(l + [1,2,3].filter(w, true)).existsOne(k, a, b) => 34 133
ll[0].join(cel.bind(a, ['a','b'], s2)) => 23 83
optional.of(s).optFlatMap(a, m.?a).optFlatMap(a, (true ? o : optional.none())) => 6 49
cel.bind(y, ll[0].transformList(k2, w, optional.of(s).value()), y) => 24 99
(l.filter(v, b).min() == ls[0].size()) => 16 316
(o.hasValue() ? [1,2,3].sort() : [1,2,3].sortBy(y, 1)) => 41 100
(('abcdefghijklmno'.replace(s, m['a']) in ls) ? optional.of(ll[0].min()) : optional.none()) => 8 75
([['a']] + ll).filter(a, true) => 34 85
(!(b) ? [2] : (l + [1,2,3])).map(a, (b ? ll[0][0] : 'abcdefghijklmno').split(s2.trim())) => 37 899
([['a','b']] + ll.filter(w, b)) => 33 75
[['a']][1][(l[0] + i)].endsWith(string((true ? s : ls[0]))) => 28 1844674407370955293
[cel.bind(v, 'a', 1)].all(a, (m['a'] == (true ? m.a : s2))) => 24 37
({'a': s}.transformMap(k, v, true, k) == cel.bind(v, {'a': s}, v)) => 106 109
[2].filter(a, (ll[0] == [])) => 34 46
ll.filter(a, true).filter(y, [].exists(a, true)) => 23 134
({ls[0]: mm.a.b}.existsOne(k2, w, (true && true && b)) ? [1,2,3].sort() : [-(l[0])]) => 51 79
ls.reverse().map(y, (mm['a'] == mm['a']), 'a'.substring(1)).first() => 24 404
['a','b'].map(w, l[i]).sort() => 70 70
(string('a') + o.orValue(mm.a.b)).indexOf(['abcdefghijklmno', ?ls[?0]].join([][l[0]])) => 31 5534023222112865823
cel.bind(v, [], s2).indexOf((b ? mm['a']['b'] : s2)) => 23 30
sets.contains(m.transformList(k2, v, m['a']), (b ? ['a','b'] : ls)) => 15 262
m.transformMapEntry(k, y, {s2: {}.transformMap(k, a, y).a}) => 32 697
has({cel.bind(w, ll[0], m['a']): 'abcdefghijklmno'}.a) => 44 44
string(string(ls[?0].orValue('a'))) => 5 5
(l + [1,2,3]).exists(k, v, [['a']].all(a, b)) => 25 680
(['a','b'] == [m['a'], ?optional.of(s)]) => 25 25
(({} == {}) && l.existsOne(k, v, true) && (s in ls)) => 60 125
ls[?0].optMap(v, [][l[i]]) => 4 31
ll[0].slice(cel.bind(y, s, l[i]), ll[0][0].indexOf(ll[0][0])) => 38 46
((true ? x['a'] : 'a') + dyn(mm.a.b))[cel.bind(a, cel.bind(a, [], ll[0]), [][i])] => 49 1844674407370955315
[].slice(size(ls), [][1]).first() => 35 35
m.a.trim().substring(cel.bind(w, m.a, 1)).indexOf(string({'a': s}.a)) => 47 5534023222112865839
(true ? m : m).transformMap(k2, w, ['a','b'].join('a')) => 32 12912720851596686971
((dyn(1) + x) == (md['a'] + ld[0])) => 8 31
sets.equivalent([], l.map(y, 'abcdefghijklmno')) => 23 263
('a'.endsWith(mm['a']['b']) ? {mm['a']['b']: 'abcdefghijklmno'} : {s: 'a', ?'z': o}) => 35 48
cel.bind(w, mm['a'], w)[?(s2 + s)] => 16 31
cel.bind(y, mm['a']['b'], y).trim() => 14 26
{(b ? ll[0] : ll[0]).min(): cel.bind(v, [ls].flatten(), string(s))} => 68 9223372036854776393
cel.bind(y, ['a','b'], 'a').indexOf(m.?a.value()) => 24 24
(([ls] + ll) + ([['a']] + ll)) => 36 36
mm['a'].transformMap(k, a, b, 'a').a => 34 58
cel.bind(v, {}.transformMap(k, w, k), cel.bind(a, {}, {})) => 141 141
ll[0].slice(l[i], 1).first().or(optional.of(ls[?0].value())) => 23 23
(b ? mm['a']['b'] : s).size() => 3 5
{}.transformMap(k2, y, true, s).transformMap(k, y, (b || true), m['a'].find(ls[0])) => 92 92
['a','b'].map(y, b, ll[0][0].replace(m['a'], y)) => 25 91
mm.a.b.substring(l[i]).split(cel.bind(w, 'a', w)).min() => 17 unlimited
(([] == ['a','b']) && {}.all(y, true) && (b && true && b)) => 20 53
[ls].flatten().map(v, (b && b && b), ls[?0].value()) => 36 52
[(o.hasValue() ? ls[?0].orValue(mm.a.b) : mm['a'][m['a']]), ?o.optMap(y, ll[0].min())] => 20 80
(('a' + 'a') < cel.bind(a, ls, mm['a']['b'])) => 16 16
[1,2,3].filter(y, b).sortBy(y, size(m)).sortBy(v, (b ? [1,2,3] : l).sum()) => 443 740
o.or(optional.of(s)).optFlatMap(w, ls[?i]).optFlatMap(a, m.?a) => 8 60
((true ? [1,2,3] : l) + (l + l)).min() => 5 74
ll[0].map(y, b, s).join([][l[0]]).contains(s.replace(m[s], {}.a)) => 61 unlimited
(ls.filter(a, true) + ll[0][0].split(m.a)) => 18 294
[].transformList(k2, w, s2).isSorted() => 21 21
{'a': s}.filter(y, true)[[].sum()] => 54 66
([1,2,3] + (m.existsOne(k2, a, b) ? (b ? l : []) : [].filter(a, b))) => 16 56
([] + []).sort()[-(cel.bind(w, mm['a']['b'], i))] => 48 48
([].isSorted() ? (b ? [1,2,3] : l) : [1]) => 12 21
{s: ll[0][0], ?'z': ls[?0]}.transformMap(k, y, ls.all(y, b), [].join('abcdefghijklmno')) => 73 257
[ls].filter(w, b).flatten() => 36 48
((mm['a']['b'] in {s2: m.a, ?'z': ls[?0]}) ? mm.a.b : ll[0][0].trim()) => 42 50
((l[0] == 2) ? [1,2,3].filter(v, true) : (true ? [] : [1,2,3])).map(v, []) => 24 140
l.filter(w, b).filter(v, !(true)).sortBy(w, (b ? [1,2,3] : [1,2,3])[int('a')]) => 57 1917
{'a': s}[?ls[0]].optMap(a, cel.bind(v, ll[0], m.a)).or(mm['a'].filter(y, b)[?(i / 2)]) => 53 196
ll.existsOne(k2, a, [].filter(v, b).all(k, w, (ll[0] == ['a','b']))) => 3 75
[string(m.a).indexOf(cel.bind(v, [], 'a'))] => 33 1844674407370955297
optional.of(cel.bind(a, [][l[0]], ll[0].min())) => 26 71
((true ? l : l) + ll[0].map(w, i)).sum() => 15 105
l.sortBy(a, 2).sortBy(v, l[0]).filter(w, (b ? {'a': s} : {}).all(k2, v, b)) => 80 8326720
[1,2,3].filter(v, b).sort() => 56 92
cel.bind(a, 'abcdefghijklmno', (m.a.size() % int(ll[0][0]))) => 18 18
cel.bind(a, mm['a'], a).exists(y, (mm['a'] == {})) => 14 230
ll[2].slice(ll[0][0].indexOf(mm['a']['b']), m.a.indexOf(ls[0])) => 28 1844674407370955300
mm['a'][({'a': s}.existsOne(k, a, b) ? ['a','b'].join(s2) : cel.bind(w, s2, mm['a']['b']))] => 49 1844674407370955314
optional.of(s).optFlatMap(w, m.?a).or({}[?ls[0]]) => 38 52
l.sortBy(y, i).filter(w, [1,2,3].exists(y, true))[cel.bind(w, s, (i * l[i]))] => 63 15523
(([].all(k, a, b) && ll.existsOne(k2, a, b) && b) ? [ll[0]].flatten() : ['a','b']) => 21 48
(b ? l : []).map(y, 'a'.indexOf(m['a'])) => 13 322
cel.bind(w, m.transformMap(k, w, w), w).?zz => 44 72
s.substring(1).split(ll[0][l[0]]).sortBy(a, a) => 40 22370
[['a','b'].join('a'), ?m.?a.or(m.?a)] => 26 1844674407370955289
sets.contains((b ? ['a','b'] : []), (true ? ll[0] : ll[0])) => 14 24
(cel.bind(a, ll[0], a) + ['a','b'].map(a, true, s)) => 37 61
dyn((1 % l[i]))[int(s2.replace('a', 'a'))] => 8 18
ll[0].filter(a, b).exists(k, w, md['a'].includes('abcdefghijklmno')) => 14 389
[l[0]].filter(y, ('abcdefghijklmno'.matches('a') || (ld[0] == dyn(1)))) => 26 42
int(cel.bind(w, s, 'abcdefghijklmno')) => 12 12
optional.of(m['a']).or(m.?a) => 6 6
[1,2,3].sortBy(a, a).sortBy(a, size(mm['a'])).map(y, (true ? ls : ls.reverse())) => 1496 4007
[].first().optFlatMap(y, [][?1]) => 13 45
ls[?1].optFlatMap(a, (true ? optional.of(s) : optional.none())) => 4 18
ld[0].b.map(v, (i * l[0])).sort() => 24 unlimited
((b ? ['a','b'] : ll[0]) + ['a','b'].reverse()).min() => 29 12912720851596686890
(!(true) ? {'a': s}[?ll[0][0]] : optional.none()) => 2 36
[ls].map(v, v).map(a, (b ? 2 : l[0])) => 59 61
['abcdefghijklmno'.find(ll[0][0]), m['a'].replace(ls[0], ll[0][0])] => 20 78
((l[i] >= l[i]) ? dyn(i) : s.find('a')) => 9 19
(ls + (true ? ls : ll[0])) => 3 4
l.sortBy(a, 2).filter(y, (ll[0] == ls)) => 46 7886
m.?a.value().startsWith((s2 + ll[0][0])) => 7 33
(ll.filter(a, true) + [].map(w, [])) => 34 73
cel.bind(w, {}, w).transformList(k, y, ['a','b'].join(y)) => 52 unlimited
ll[0][0].indexOf(o.orValue(ll[0][0])) => 8 16
m.transformMapEntry(k, a, {k: k}).transformMapEntry(k, a, {ll[0].join(a): mm['a'].a}) => 63 12912720851596687415
cel.bind(a, [], ll[0]).map(w, [s, ?o])[(l[i] + l[0])] => 40 160
size([cel.bind(w, mm.a.b, 1)]) => 24 24
cel.bind(a, {}.transformMap(k, a, a), {'a': s}) => 102 102
ll[0].join(s2).split(cel.bind(v, mm.a.b, v)) => 17 197
cel.bind(y, ll[0], {}[mm['a']['b']]).indexOf(['a','b'].join('abcdefghijklmno').trim()) => 60 3689348814741910584
(sets.contains([], ls) || b) => 12 13
l.sort().filter(a, ll[0].existsOne(k2, y, true)) => 23 11623
(['a','b'] + ll.transformList(k, w, 'abcdefghijklmno').sortBy(v, ls[?0].value())) => 57 157
[['a']].filter(y, ((b ? ld[0] : 'abcdefghijklmno') == m.a)) => 36 53
(['a','b'][2].substring((b ? l[i] : l[i])) in ll[0]) => 18 23
cel.bind(y, cel.bind(v, ls[0], m.a), l[i]) => 27 27
!((ll.flatten() == (ll[0] + ls))) => 18 21
cel.bind(y, {}.transformMapEntry(k, w, {w: w}), y.transformMap(k, a, a)) => 103 103
cel.bind(w, ls.slice(1, i), w.map(a, true, ll[0][0])) => 73 339
cel.bind(v, mm['a'].transformMap(k2, a, s2), {mm['a']['b']: s, ?'z': ls[?0]}) => 79 103
(true ? {'a': s} : mm['a']).transformMap(k2, v, mm.a.b) => 33 98
({}.all(k2, y, true) ? (dyn(1) + dyn(1)) : mm['a'][mm.a.b]) => 34 37
(x['a'] == m.?a.optFlatMap(w, optional.of(s)).value()) => 8 1844674407370955285
(ll.exists(k2, a, true) ? ([] + l) : [2]) => 12 26
cel.bind(v, 'a'.find(ls[0]), (l[0] * i)) => 16 24
(s2 + s2).find((true ? ll[0][0] : mm['a']['b'])) => 5 345
ll[0][0].substring(2).find(ls[?0].value()) => 6 unlimited
has({ll[0][0]: ['a','b'][i], ?'z': m.?a.or(o)}.a) => 49 49
[{}[ll[0][0]].find(m.a), ?([].all(k2, v, true) ? o.or(o) : optional.none())] => 58 4611686018427387964
(s2.split(mm.a.b)[2] >= s2) => 7 21
(sets.intersects([], ls) ? int(m['a']) : int(mm.a.b)) => 15 16
ll.filter(w, true)[(b ? 1 : i)] => 14 54
['a', ?optional.of(s)].slice((2 + i), int(s)) => 29 29
{{'a': s}.a: cel.bind(v, ls, s), ?'z': ll[0].first()} => 77 77
(([ls] + [ls]).filter(v, !(true)) + (([ls] + [['a']]) + [ls])) => 83 107
size(mm['a'][ll[0][0]].lowerAscii()) => 7 19
[ll[0]].map(w, (w.existsOne(k, y, b) ? [].sortBy(y, m.a) : ls.slice(1, l[i]))) => 72 97
int(cel.bind(y, cel.bind(a, ls, ll[0]), ll[0][2])) => 27 27
cel.bind(y, {'abcdefghijklmno': ll[0][0], ?'z': o}, {s: mm.a.b}) => 78 78
{'a': s}[?ls[0]].value().substring(mm['a'].map(y, l[i])[size([])]) => 60 1844674407370955414
([['a']] + [['a']]).exists(k, w, b) => 50 52
m.transformMapEntry(k, v, {[].join(m.a): m.a})['a'.find(m.a).substring((1 / 1))] => 36 4611686018427388263
([ls] + mm['a'].map(y, ll[0]).filter(v, (true || b))) => 36 204
l.sortBy(v, v).sortBy(y, -(y)).map(y, 'a'.substring(l.max())) => 80 5766740
optional.of(m.a.substring(1)).value() => 4 1844674407370955268
s2.replace(m.a, 'abcdefghijklmno').split(mm.a.b.substring(l[i])) => 9 1844674407370955446
{'a': s}.a.indexOf({'a': s}[mm['a']['b']]) => 67 1844674407370955331
('a'.indexOf('abcdefghijklmno') / l[0]) => 4 4
[['a']].flatten()[(true ? i : l[i])] => 34 36
optional.of((optional.of(s).value() + {'a': s}.a)) => 36 1844674407370955300
(true ? {mm['a']['b'].substring(2): mm['a'][mm.a.b], ?'z': o} : {}) => 30 52
ls.map(a, true, a)[?(true ? 2 : i)] => 13 274
((['a','b'] + []).exists_one(w, !(true)) ? int((s2 + s)) : -(m.a.indexOf(mm['a']['b']))) => 30 1844674407370955299
[1,2,3].sortBy(v, v).sort().map(y, [string(1), m['a'].lowerAscii()]) => 2310 3039
{ll[0][2]: (ll[0][0] + m.a), ?'z': ll[0][?l[0]]}.existsOne(k, v, [['a']].exists(y, b)) => 97 1844674407370955365
((x.a[s] + (true ? x : m.a)) + ld[0]) => 6 3689348814741910535
((true ? x.a : s) == cel.bind(y, ['a','b'], s)) => 23 32
((b ? m : {'a': s}) == mm['a'].transformMap(k, y, b, k)) => 36 96
sets.contains(cel.bind(y, [], ll[0]), ['a','b'].filter(v, b)) => 48 82
[].sort().sortBy(y, (true ? i : y)) => 55 55
'a'.find(ll[0][0]).indexOf(mm['a']['b'].find(s2)) => 7 197
cel.bind(a, ls[0], ls.first().value()) => 15 15
(dyn((2 * 1)) + (ld[0] + md['a'])[(2 * l[0])]) => 11 1844674407370955283
({}.transformMap(k, a, m['a']) == {m.a: 'a'}) => 93 93
cel.bind(w, [], w).first().optMap(v, m.a) => 24 59
mm['a']['a'].trim().split((true ? ll[0][0] : s2).substring(l.max())) => 5 71
((s + mm.a.b) in ['a','b'].sortBy(w, 'a')) => 85 1844674407370955349
(b ? m : {}).transformMap(k2, w, [].join(mm['a']['b'])) => 33 174
sets.intersects(ll[0], [mm['a']['b'].substring(i), ?(true ? m.?a : optional.none())]) => 18 41
ll[0].sortBy(v, string(md['a'])) => 36 189
(true ? {'a': s} : {'a': s}).a => 32 32
([ls].exists_one(a, true) && ll[0].existsOne(k, a, true) && (i < 1)) => 14 31
(dyn(['a','b']) + (true ? ld[0] : m.a)).b => 14 1844674407370955277
{}.transformMap(k2, w, k2)[(s + m.a)] => 65 1844674407370955329
!(['a', ?ls[?0]].isSorted()) => 15 3689348814741910543
[ls][int((true ? mm['a']['b'] : s))] => 14 16
'abcdefghijklmno'.substring(size((b ? mm['a'] : {'a': s}))) => 6 35
cel.bind(v, {'a': m.a}[ls[l[i]]], cel.bind(a, m[v], int(s))) => 63 63
['abcdefghijklmno', ?m.?a].isSorted() => 14 3689348814741910542
(cel.bind(v, [], ['a','b'].reverse()) + [].map(v, ls).flatten()) => 76 76
([2].all(v, (md['a'] == dyn(1))) ? dyn(optional.of(s).value()) : [['a']][l[0]].min()) => 18 1844674407370955306
has(cel.bind(a, mm['a'], a).a) => 13 13
(md['a'] + x['a'])[ls[?0].value()].map(v, (b ? (['a','b'] + ll[0]) : [m['a'], ?ls[?0]])) => 19 unlimited
(m.existsOne(k, w, true) ? [s2, ?o] : (true ? ll[0] : [])) => 5 29
(x.a.b + (dyn(1) + dyn(1)))[cel.bind(y, s2, [][i])] => 29 1844674407370955292
((b || true) ? [1,2,3][1] : 1) => 1 12
((b ? 'abcdefghijklmno' : m['a']) >= optional.of(s).value()) => 5 15
mm['a'].filter(y, b).slice(int(s), -(2)).isSorted() => 39 11068046444225731707
{'a': s}.transformMap(k, v, mm.a.b).?zz => 69 69
{ls[?0].orValue('abcdefghijklmno'): (true ? mm['a']['b'] : m['a'])} => 35 36
ll[0].transformList(k2, w, w)[?size([])] => 25 90
('abcdefghijklmno'.size() % ll[0][0].size()) => 6 6
{}.transformMap(k2, a, b, a).existsOne(k2, a, b) => 63 63
(mm['a'].exists_one(v, b) || {'a': s}.exists(v, b)) => 4 59
sets.equivalent(x.a.map(v, m.a).sort(), ['a','b']) => 34 unlimited
([ls] + [['a']]).filter(y, true) => 45 69
(x.a + x.a).map(y, s2.size()) => 13 unlimited
((md['a'] + dyn(1)) == dyn(mm['a']['b'])) => 9 19
((true ? 'abcdefghijklmno' : ll[0][0]) + mm['a']['b'].find(ls[0])) => 5 132
['a','b'].reverse()[l[l[0]]] => 28 28
l.map(a, mm.a.b)[?int('a')].orValue(optional.of(m['a']).value()) => 19 319
cel.bind(y, (true ? 'a' : ll[0][0]), (s + mm['a']['b'])) => 14 39
ll.filter(a, b).filter(y, y.all(y, true)) => 23 155
((true ? l : [1,2,3]).sum() / 2) => 2 31
(b ? optional.of(s) : optional.none()).or(m.?a.or(optional.of(s))).optMap(w, w) => 10 32
(true ? cel.bind(w, 'a', 'abcdefghijklmno') : ['a','b'].join(mm['a']['b'])) => 10 1844674407370955277
ls.first().optFlatMap(v, o.optMap(y, m.a)) => 4 33
['a','b'].slice(l[0], i)[cel.bind(a, s, i)].substring({'a': s}[mm['a']['b']].size()) => 75 1844674407370955339
([1,2,3].filter(v, b).min() - mm['a']['b'].trim().indexOf(ls[?0].value())) => 37 97
optional.of((mm['a']['b'].find(ls[0]) + string(s))) => 8 1844674407370955376
(ll[0] + ll[0]).join(s.substring(i)) => 7 1844674407370955281
[cel.bind(a, ll[i], ls[?0].orValue(m.a)), ?o] => 29 29
((i + 2) < cel.bind(v, mm.a.b, l[0])) => 18 18
ls.map(y, true, mm.a.b)[?s.size()] => 15 315
ll[0].map(w, true, s).sortBy(v, 'a') => 47 225
string(l[0]).replace(ls.join(ls[0]), m.a).size() => 9 3689348814741910654
[['a']].flatten().min().split(string((true ? ld[0] : 'a'))) => 33 5534023222112865831
m.transformMapEntry(k2, a, {s: 'a'})[?cel.bind(a, [], s2)] => 54 285
[].all(k, v, ((true ? {'a': s} : mm['a']) == cel.bind(w, m, w))) => 11 11
m.?a.optFlatMap(y, o).hasValue() => 5 18
cel.bind(y, m.?a.optMap(v, s).value(), [i].min()) => 27 41
['a','b'].exists(a, !((b || true))) => 19 23
([] + ll[0]).sortBy(y, y).exists_one(w, b) => 49 242
(true ? m.?a : optional.none()) => 1 2
cel.bind(v, ls, ([].exists(k, w, b) ? ll.flatten() : ['a','b'].map(a, b, a))) => 34 71
[1,2,3].filter(a, b).map(v, [ls[0], ll[0][0]]) => 119 155
(mm['a']['b'].split(m['a']) == ll[l[i]]) => 11 35
mm['a'].transformMap(k2, a, mm['a']['b']).transformMap(k, v, m[m['a']]) => 64 142
[l[i]].filter(v, (l[i] == l[0])).sort() => 44 56
(b ? l : []).map(a, size('abcdefghijklmno')).filter(y, ([][y] == s2.indexOf(ls[0]))) => 24 953
{mm.a.b: s}.filter(y, ([] == [])).sortBy(v, optional.of(v).value()) => 118 130
((true && b && true) ? md['a'][1] : {}.a) => 3 32
(x.map(y, []) + ([['a']] + [ls])).filter(y, [s2, s2].isSorted()) => 86 unlimited
['a','b'].map(a, l[0]).transformList(k2, y, ls[0]).sortBy(v, ls[0].trim().upperAscii()) => 159 171
[ls][l[i]].sortBy(v, 'abcdefghijklmno') => 49 1129
mm['a']['b'].upperAscii().split(('a' + s2)) => 5 46
{m[m.a]: mm.a.b.find(m['a'])} => 39 unlimited
([ls] + ll).map(w, m.?a.value()) => 39 84
cel.bind(w, m, w).transformMapEntry(k, v, {s.substring(l[0]): k}) => 43 365
(x == [].sortBy(a, mm['a']['b'])) => 45 45
{s2: m['a']}.transformMapEntry(k2, w, {['a','b'].join(w): m.a}) => 109 1844674407370955373
l.filter(y, b).sortBy(w, i).sortBy(w, ((mm.a.b in {'a': s}) ? int(ll[0][0]) : -(2))) => 80 341820
cel.bind(w, ['a','b'], m['a']).trim() => 22 31
(b ? ['a','b'][?l[i]] : optional.none()) => 2 15
(cel.bind(v, s.substring(l[0]), mm['a'].a) + ll[0][0]) => 19 1844674407370955293
((ld[0] + dyn(1)) + dyn(l[0]))[(('abcdefghijklmno' == s) ? [][l[i]] : l[l[0]])] => 15 32
(['abcdefghijklmno', s] == cel.bind(a, ls, ll[0])) => 25 25
((ld[0]['a'] + dyn(s)) + (ld[0] + md['a'])[size([])]) => 21 3689348814741910558
string((l + [1,2,3]).sum()) => 16 36
(optional.of(s).hasValue() ? cel.bind(w, mm['a'], m) : {}.transformMap(k, v, b, v)).a => 17 65
(('a' in ['a','b']) ? (true ? ld[0] : 'abcdefghijklmno') : s.substring(2))[l[i]] => 16 27
optional.of([].join(ls[0])) => 13 13
([['a']] + [['a']]).exists_one(v, [['a']].all(v, b)) => 93 97
{cel.bind(v, m.a, v): s2.replace('abcdefghijklmno', s), ?'z': ls[?0]} => 47 57
optional.of(s).or(ls[?0]).optFlatMap(v, {'a': s}[?mm['a']['b']]) => 7 57
[ls].map(a, ls[0]).sort().isSorted() => 51 1844674407370955315
([].reverse() + ls.sortBy(y, s2)).existsOne(k2, w, true) => 59 1959
([ls].flatten() + ld[0].map(a, ['a','b'])[l[0]]) => 40 766
([ll[0].distinct()] + [ls]) => 35 85
m.a.trim().startsWith((ll[0][0] + mm.a.b)) => 8 5534023222112865800
{mm.a.b: ll[0][0]}.transformMap(k, a, ld[0].includes(s2), 'abcdefghijklmno'.upperAscii()) => 71 108
ls[(('abcdefghijklmno' == m.a) ? (1 * i) : size(mm.a.b))] => 7 10
([ls] + ([['a']] + [ls].map(y, ['a','b']))) => 77 77
[ls[0], s2].first().optMap(w, (b ? m.a : m['a']).trim()) => 16 1844674407370955308
{optional.of(s).orValue(mm.a.b): m.a.find(ll[0][0]), ?'z': ['a','b'].first()}.a => 53 unlimited
(m == cel.bind(y, {}.transformMap(k2, y, b, mm['a']['b']), y.transformMap(k2, w, 'a'))) => 104 104
{ls.join(m.a).substring(size([])): string((true ? 2 : l[0]))} => 45 3689348814741910575
((md['a'] + (true ? md['a'] : ls[0])) + dyn(ll[0][0]).b) => 8 1844674407370955283
ll.filter(v, true).filter(w, true) => 23 101
{}.transformMapEntry(k, v, {v: m.a})[cel.bind(w, ls, ll[0][0])] => 76 76
(b ? dyn(1) : 'abcdefghijklmno').b => 1 2
ll[0].distinct().exists(k2, y, b) => 14 189
m.map(y, 1).transformList(k, w, cel.bind(v, m['a'], s2)) => 23 282
(true && [].map(y, ['a','b']).exists(a, optional.of(s).hasValue()) && b) => 0 23
(ls[?0].orValue(m.a) + cel.bind(y, ll[0], m.a)) => 19 1844674407370955283
([].filter(v, b) + [1]).map(w, [1,2,3][s2.indexOf(ls[0])]) => 69 74
(s2.indexOf(s2) - ll[0][0].size()) => 7 12
{ll[0][2]: (mm['a']['b'] + mm['a']['b'])} => 39 63
x['a'][l[0]].map(v, [['a']].filter(v, b).flatten()) => 16 unlimited
['a','b'].transformList(k, a, mm['a']['b']).sort() => 71 71
([['a']].exists(k, a, true) ? md['a'].b : string(i)) => 27 27
cel.bind(a, ls[?0].value(), (b ? a : a)) => 15 15
(['a','b'] + cel.bind(v, ls, ls)) => 23 23
([].map(a, ll[0]) + (ll + ll)).filter(v, [v].all(a, ({} == m))) => 36 390
((b ? md['a'] : 'abcdefghijklmno') + (md['a'] + x)) => 4 37
{mm.a.b.trim(): ll[0][0].lowerAscii(), ?'z': m.?zz} => 38 1844674407370955310
m.a.replace(s2, mm['a']['b']).replace(mm.a.b, ls[0].find(mm.a.b)) => 14 unlimited
([].sortBy(y, 2) + (b ? [1,2,3] : [1,2,3])).all(a, [].map(w, w).all(k, y, m.exists(v, b))) => 66 132
cel.bind(w, cel.bind(w, m['a'], 'a'), w.lowerAscii()) => 24 24
[].map(a, []).filter(y, ['a','b'].exists_one(a, true)) => 32 32
optional.of((b ? m : {'a': s})[[][l[i]]]) => 18 48
[['a','b']].filter(w, (true || b)) => 32 45
[(ll[0].sort() + ['a','b'])] => 34 87
[1,2,3].filter(a, true).exists(v, [].isSorted()) => 37 103
(b ? [] : []).map(a, (b || true), (b ? mm.a.b : s))[?o.orValue('abcdefghijklmno').size()] => 26 26
([[1,2,3][i]] + (l + l).sort()) => 37 3237
(b ? x['a'] : 'a').map(v, (ll[0] + ['a','b'])) => 12 unlimited
(l[0] < int(mm['a']['b'])) => 7 7
(dyn(ll[0].filter(v, b)) + x.a.b.b) => 15 1844674407370955349
m.transformMap(k2, y, cel.bind(w, m['a'], k2))[?(s2 + ll[0].min())] => 36 1844674407370955457
(mm['a'][mm['a'].a] in cel.bind(w, cel.bind(a, mm['a'], {}), (true ? w : mm['a']))) => 60 61
((m == mm['a'].transformMap(k, v, k)) ? ld[0] : mm.a.b) => 37 62
x.a['a'].map(a, (i / l[i])) => 13 unlimited
[s2, s2][?mm['a']['b'].indexOf('a')] => 16 28
cel.bind(v, {'a': s}, {m['a']: mm['a']['b'], ?'z': optional.of(s)}).?zz => 79 79
(ld[0][[].join(s2)] + (mm['a'].exists(k2, a, b) ? ld[0][l[0]] : m.a)) => 19 1844674407370955316
({mm.a.b: ls[0]} == {mm.a.b: ls[0], ?'z': ls[?0]}) => 73 73
optional.of(s).or({s2: mm['a']['b'], ?'z': o}.?zz) => 39 39
{}.transformMapEntry(k, y, {y: y}).exists(k, v, ('abcdefghijklmno' != 'a')) => 62 62
cel.bind(w, ['a','b'], [s, m['a']]) => 33 33
(b ? {} : {}).transformMapEntry(k2, w, {[].join(m.a): w.lowerAscii()}) => 62 62
[].map(v, []).filter(a, a.existsOne(k2, a, true)) => 32 32
(true ? l : [1,2,3]).sortBy(a, (true ? 2 : a)).existsOne(k, y, true) => 37 1906
[].sort().filter(v, (v == i)) => 32 32
(l.exists(w, true) ? (true ? md['a'] : ll[0][0]) : m[ls[0]]) => 4 86
size(optional.of('abcdefghijklmno').orValue(s2)) => 4 4
ls[?0].or(m.?a).hasValue() => 6 6
{'a': s}.transformMapEntry(k2, a, {ll[0][0]: 'abcdefghijklmno'}).exists(v, true) => 102 102
[l[0]].map(v, -(v)).sort() => 50 50
[[ls][mm['a']['b'].size()]] => 26 26
o.optMap(v, v).optMap(y, ['a','b'].min()) => 5 3689348814741910585
([ls].filter(a, true) + [ls].filter(v, true)) => 47 71
['abcdefghijklmno', ['a','b'].join(s2)] => 21 1844674407370955285
(has({'a': s}.a) ? (true ? {'a': s} : {}) : {mm['a']['b']: 'a', ?'z': m.?a})[mm['a']['b']] => 65 70
{['a','b'].min().replace(o.orValue(s2), cel.bind(y, s, s2)): cel.bind(v, ls, v).min()} => 69 unlimited
{'a': s}[?'a'].optMap(a, ls[0]) => 34 79
(cel.bind(y, o.orValue(ll[0][0]), 1) >= size([].sortBy(w, w))) => 61 61
{}.transformMap(k, v, v).a.indexOf(('abcdefghijklmno'.lowerAscii() + (s + mm.a.b))) => 70 5534023222112865860
(ll[0].map(v, ll[0]) + [[]]).flatten() => 46 121
(m.a >= cel.bind(v, 'abcdefghijklmno', ll[0][0])) => 16 23
((true || true) ? l.filter(y, b) : (true ? [] : [1,2,3])) => 10 292
((ls[0] in {}) ? (true ? ld[0] : mm.a.b) : string('abcdefghijklmno')) => 34 36
(mm.a.b.endsWith(s) ? [l[0]] : x.map(v, 1)).filter(w, ['a','b'].isSorted()) => 27 unlimited
{'a': s}.transformMapEntry(k, w, {w: s}).exists(k2, a, (k2 >= 'abcdefghijklmno')) => 101 104
(b ? x['a'].b[int('a')] : ['a','b'].join(s).find(['a','b'][l[0]])) => 5 3689348814741910553
(dyn(ll[0][0]) + dyn(1).b) => 5 1844674407370955269
(dyn(mm['a']['b']) + dyn(ll[0])) => 7 20
ls[?0].optFlatMap(w, (true ? o : optional.none())) => 4 17
[ls].map(w, ((true ? i : 2) - (true ? 1 : l[i]))) => 35 39
((i - l[0]) == cel.bind(v, m.a, 2)) => 17 17
ll[l[0]].join({'a': s}[s2]) => 37 117
size(ll.transformList(k2, a, m['a'])) => 13 55
(m.exists_one(w, true) ? cel.bind(w, mm.a.b, mm.a.b) : (b ? mm['a']['b'] : s)) => 5 33
['a','b'].slice(l[i], l[0]).first() => 29 29
cel.bind(v, ll[0], v).join(ls.join(ls[0])).substring(l[0]) => 18 3689348814741910663
[{'a': s}.transformMapEntry(k, y, {y: ls[0]}).a, [].join([][l[i]])] => 132 132
(x.a[mm['a']['b']].b + md['a'].b) => 7 1844674407370955271
dyn('a'.find(mm['a']['b'])) => 4 34
((ls == ['a','b']) ? [mm['a']['b'], ?m.?a] : ['a','b'].slice(1, 2)).isSorted() => 28 3689348814741910564
[ls].flatten()[?l[0]].optFlatMap(y, ll[0].slice(2, i).first()) => 28 82
{ll[0][0]: ls[0].trim(), ?'z': optional.of(s).optFlatMap(a, o)} => 39 55
([ls] + [ls]).exists(k2, y, [].existsOne(k, v, true)) => 32 56
[1,2,3].sort().sortBy(w, (l[i] % l[i])).filter(y, true) => 498 1470
(ls.join(ll[0][0]) == ls[?0].orValue(ll[0][0])) => 11 434
optional.of(s.substring(i)) => 3 13
mm['a'].a.indexOf(cel.bind(w, m, w)[string(s)]) => 18 1844674407370955282
(b ? md['a'] : ls[0])[{}[s2]] => 36 36
x['a'][cel.bind(w, m['a'], 1)] => 15 15
[(-(l[0]) / ll[0][0].indexOf(s2))] => 18 26
[ls[0].split(mm['a']['b'])] => 15 21
dyn([].filter(w, b).sortBy(w, w.replace(ls[0], 'abcdefghijklmno'))) => 56 56
cel.bind(w, {'a': s}, mm['a']).exists_one(v, sets.equivalent(['a','b'], ls)) => 45 609
ls[?0].optFlatMap(a, ls[?0]).value().size() => 6 20
optional.of((b ? o : optional.none()).value()) => 4 4
dyn(cel.bind(w, [ls[0], ?optional.of(s)], w)) => 26 26
[ll[0]].filter(y, m.all(y, true)) => 26 59
cel.bind(v, {}, {mm['a']['b']: m.a}) => 75 75
({'a': s} == (b ? m : {})) => 34 63
((true ? [] : l).map(y, (2 - 1)) + [].sortBy(y, y).filter(a, (true || b))) => 68 337
{'a': s}.transformMap(k, v, true, m['a'])[ll[0].min()] => 66 115
cel.bind(w, ls[0].substring(l[i]), m.a.size()) => 18 21
m.a.indexOf(('abcdefghijklmno' + 'abcdefghijklmno')) => 5 1844674407370955269
[ls[?0].value(), ['a','b'][l[i]]].join(m['a'].find({}[m['a']])) => 62 1844674407370955326
(true ? ls[?0] : optional.none()).or(['a','b'].first()) => 13 14
(cel.bind(v, [], 'abcdefghijklmno') in [ls].map(a, ll[0][0])) => 58 58
l.filter(a, true).filter(v, {}.exists(k2, a, true)) => 23 1163
{'a': ls[0]}.transformMapEntry(k2, w, {k2.substring(l[i]): (true ? ll[0][0] : w)}) => 101 103
(true ? s2 : ll[0][0]).substring(cel.bind(y, s2, l[0])) => 14 24
cel.bind(a, ll[0], a.sortBy(y, s2).slice(int(mm['a']['b']), m['a'].indexOf(ll[0][0]))) => 92 219
((x.a == l[0]) ? dyn(ls) : mm['a']['b'].substring(1)) => 6 19
[['a']].flatten()[?size(l)].value() => 36 36
(!(true) || md['a'].includes(s2)) => 1 59
(([ls].map(a, 2) + [].filter(y, b)) + []) => 67 67
(([['a']] + [['a']])[l[i]] == {'a': s}[mm.a.b].split(cel.bind(w, m.a, 'a'))) => 93 113
has({(mm['a']['b'] + s): 'abcdefghijklmno'.upperAscii()}.a) => 36 58
([(b ? [] : ll[0])] + {s: m['a']}.map(a, [m['a'], 'a'])) => 82 90
(m['a'].replace(m['a'], s2) + [][i]).substring(-(ls[0].indexOf(s2))) => 21 970
(true ? (x['a'] + md['a']) : ['a','b'][2]) => 4 1844674407370955268
(int('abcdefghijklmno') - mm['a']['b'].size()) => 6 6
dyn([])[s2.replace(m.a, 'a')] => 15 25
[['a','b']].filter(a, [].isSorted()) => 42 54
[1,2,3].map(v, ll[0]).map(a, a[1]).exists(y, (ld[0][i] == ls.map(v, b, mm.a.b))) => 129 1143
o.or(ls[?0]).optFlatMap(a, ['a','b'].first()) => 6 31
optional.of(['a','b'].min()) => 13 3689348814741910541
(has(mm['a'].a) ? 'a'.split(mm['a']['b']) : ll[0].sortBy(w, mm['a']['b'])) => 6 166
[cel.bind(a, [], (true ? m['a'] : ls[0])), ?['a','b'].transformList(k2, a, 'a')[?-(1)]] => 79 79
((b ? dyn(1).b : ['a','b'][i]) == size([i])) => 15 26
{'a': s}.transformMapEntry(k, a, {a: a}).all(k2, w, mm['a'].exists(k2, y, b)) => 100 133
{[['a']].flatten().min(): (true ? m.?a : optional.none()).orValue(s)} => 66 1844674407370955331
([].filter(y, b) + l.sort()) => 34 834
((b ? ll[0][0] : 'abcdefghijklmno').size() == cel.bind(a, mm.a.b, (true ? i : l[0]))) => 17 21
['abcdefghijklmno', ?m.?a].map(y, -(1)) => 49 49
[ll[0]].filter(v, m.exists_one(v, true)) => 27 53
([1,2,3] + l.sortBy(w, 1)) => 46 1086
(x['a'][m.a] + dyn(ls[0])).b => 8 1844674407370955272
(ls.isSorted() ? m['a'] : (b ? 'abcdefghijklmno' : ls[0])).size() => 3 85
mm['a'].transformMap(k2, a, b, a).map(w, w.size()) => 44 158
{'a': s}.filter(y, true).sortBy(a, ['a','b'].join(mm.a.b)) => 105 1844674407370955381
([['a']].flatten() + ls.transformList(k2, y, 'abcdefghijklmno')) => 45 285
{m.a: cel.bind(a, 'a', ls[0]), ?'z': ll[0].first()} => 47 47
(dyn(l[i]) == [1,2,3].min()) => 18 18
((true ? md['a'] : m.a) + x[l[0]]) => 6 1844674407370955270
{ll[0][0]: (ll[0][0] + mm['a']['b'])} => 39 59
string((ld[0] + ld[0][ll[0][0]])) => 8 3689348814741910536
(ll + ll).transformList(k, a, m.?a.value()) => 14 104
has(m.transformMap(k, y, ls[0]).a) => 32 67
optional.of(o.value()).orValue((true ? ['a','b'] : [])[ls[0].indexOf(m.a)]) => 19 22
[i].filter(y, {}.all(a, true)) => 54 66
ll[0].sortBy(v, 'a').all(y, [ls].existsOne(k, a, b)) => 37 625
[{'a': s}[ll[0][0]], ?ll[0].first()] => 48 48
(!(b) ? dyn([1,2,3].sum()) : {'a': s}.transformMap(k2, w, 'abcdefghijklmno')[m['a']]) => 16 70
'a'.startsWith(string((b ? l[0] : 1))) => 2 1844674407370955268
cel.bind(w, [], []).slice([1,2,3].min(), [].sum()) => 64 64
[mm['a']['b'], ?m.?a].map(v, ls.map(v, true, v)) => 74 594
sets.intersects(cel.bind(v, [], v), x['a'].map(a, m['a'])) => 35 unlimited
(true ? ([1,2,3] + l) : l.filter(y, true))[cel.bind(w, ll[0][0], int(w))] => 28 288
dyn(['a','b']).includes(ls[0].find(mm.a.b)) => 18 unlimited
['a','b'].slice(i, 1).map(v, [['a']][1])[(-(l[i]) - -(l[i]))] => 77 77
(b ? (true ? m : mm['a']) : (true ? {'a': s} : m)) => 2 32
(x.a + (b ? dyn(1) : 'abcdefghijklmno')[l.max()]) => 4 1844674407370955289
int([].join('abcdefghijklmno').lowerAscii()) => 11 11
cel.bind(y, ls.slice(1, 2), m['a'].find(ls[0])) => 27 107
(b ? m.?a : optional.none()).optMap(w, mm['a'][m.a]) => 4 24
{}.transformMap(k2, a, true, ll[0][0].find(mm.a.b).upperAscii()) => 61 61
([['a']] + {}.map(y, ['a','b'])).filter(a, x.map(y, i).existsOne(k, w, (ls[0] != mm.a.b))) => 88 1710
[['a']].filter(y, true).filter(w, (m.a in w)) => 47 72
[(x['a'] + dyn(1)).map(y, string(1))] => 38 unlimited
{m.a: (ls[0] + 'abcdefghijklmno')} => 36 39
((true && true && b) ? {}.transformMap(k, v, true, mm['a']['b']) : {}) => 30 62
s2.split(s).sort().join(s2) => 14 1844674407370960538
[1].map(w, m.transformList(k2, y, k2)).exists_one(w, has((b ? mm['a'] : mm['a']).a)) => 51 143
{ll[0][0]: s.substring(2), ?'z': (b ? ls[?0] : optional.none())} => 36 47
dyn(['a'.find(m.a), (true ? mm.a.b : mm.a.b)]) => 16 4611686018427387920
{['a','b'][i]: m.?a.orValue(m.a)} => 47 47
ll.transformList(k, w, mm['a']['b'])[?cel.bind(v, s, i)] => 25 70
{'a': s}.transformList(k2, a, mm.a.b).join(string(1)) => 58 1844674407370955322
({'a': s}.filter(a, b) + ls.transformList(k2, v, v)) => 57 329
[ll[0].sortBy(v, s2)].filter(a, (int(mm['a']['b']) != size(m))) => 65 195
(ll[0].reverse() + [['a']][i]) => 36 41
m['a'].split(['a','b'][2]) => 13 31
(!(sets.intersects(ls, ls)) ? dyn([].join('abcdefghijklmno')) : 'abcdefghijklmno') => 4 415
[([['a']] + ll).map(w, (true ? s2 : ls[0]))] => 56 99
(b ? md['a'] : ll[0][0])[o.orValue('abcdefghijklmno')] => 6 7
dyn((true ? mm['a']['b'] : ll[0][0]).replace({}[s2], cel.bind(w, 'a', w))) => 47 71
[string([][1]), cel.bind(a, ['a','b'], ls)[l[1]]] => 46 46
([['a']].flatten().map(y, b, [].join(s)) == ll[0]) => 48 70
x.map(v, ls).filter(w, (x['a'] == ls)) => 23 2193
[[]].map(v, 'abcdefghijklmno'.indexOf('a')) => 45 45
{ll[0][l[i]]: 'abcdefghijklmno'.substring(2)} => 38 38
[].sortBy(y, i).transformList(k, v, s.substring(k)).reverse() => 66 66
(((b ? l[0] : l[i]) >= cel.bind(a, s2, l[0])) || (mm['a']['b'].upperAscii() in ls.sort())) => 17 1285
[[['a']].transformList(k, a, 'a')] => 53 53
((cel.bind(y, {'a': s}, y) == {ls[0]: ll[0][0]}) ? ['a','b'].join(m.a).size() : [1,2,3][i]) => 90 1844674407370955355
cel.bind(v, {}, mm['a'])[?m['a'].replace(ll[0][0], s)] => 49 67
(([1,2,3].map(v, m.a) == []) ? s.split(m['a']).first() : optional.none()) => 74 97
((m.?a.hasValue() || (true || true)) ? ((x.a + x) + ld[0].b) : ll[0].filter(y, b).min()) => 7 9223372036854776411
('abcdefghijklmno' + (mm['a']['b'] + s)).trim() => 8 74
(sets.contains(([] + ['a','b']), (true ? ls : ls)) ? [1,2,3] : (b ? [].sort() : [l[i]])) => 33 85
!(((b || true) && true && x.a.includes(ls[0]))) => 2 unlimited
{ll[0][0]: s}.transformMapEntry(k2, v, {'abcdefghijklmno'.upperAscii(): ls.min()}) => 100 180
[m['a'].split('a')].flatten() => 24 42
cel.bind(v, m.?a.orValue(mm.a.b), mm['a'][v]) => 20 20
{m['a']: 'a', ?'z': m.?a}[?[].join(ls[0])] => 47 47
m.?a.optFlatMap(v, optional.of(s).optFlatMap(v, m.?a).optMap(y, {}[ll[0][0]])) => 4 99
[['a','b']].flatten().filter(a, ll[0].isSorted()) => 46 103
[][?2].optMap(a, ls.min()) => 13 116
['a','b'][l[i]].indexOf('abcdefghijklmno'.substring(2)) => 17 17
{mm.a.b: ll[0][0]}.all(y, sets.equivalent([], ls)) => 40 52
(m.a in {cel.bind(a, [], mm.a.b): 'abcdefghijklmno'.find('abcdefghijklmno'), ?'z': m.?zz}) => 66 66
[].filter(y, ld[0].includes(s)) => 21 21
[1,2,3].sortBy(y, y).exists_one(y, ll[0].exists(k, w, true)) => 139 328
has(mm['a'].transformMap(k, w, s).a) => 33 57
([].sum() == mm['a']['b'].size()) => 15 15
[['a']].filter(a, true).filter(v, (ll[0] == [])) => 56 80
{cel.bind(v, ['a','b'], 'a'): mm['a'][s2]}.map(y, int(optional.of(s).value())) => 81 81
string(o.value()).lowerAscii() => 3 1844674407370955267
[(b ? l[i] : l[0])].map(a, [mm['a']['b'], 'abcdefghijklmno'].sort()) => 69 70
ls.first().optFlatMap(a, m.?zz) => 4 18
(ll[0].exists(k2, a, b) ? (b ? s2 : s) : 'abcdefghijklmno').find(mm.a.b) => 6 unlimited
cel.bind(a, string(x.a), cel.bind(y, 'a', mm.a.b)).split(ls[?0].value().substring(l.sum())) => 28 7378697629483821104
{'a': s}.transformMap(k2, a, k2).transformMap(k2, a, a) => 101 101
(m.exists(a, b) ? ls.distinct() : cel.bind(y, ls, y)) => 14 849
(true ? ld[0] : 'abcdefghijklmno').b => 0 2
cel.bind(y, [], {}.filter(a, (true && true && b))) => 61 61
((true && true && b) ? ls : [mm['a']['b'], ?ls[?0]]) => 1 16
optional.of(s.trim().find((m['a'] + s))) => 5 562
(ll[0][0] + ls[0]).startsWith(o.value()) => 7 1844674407370955282
(int(ls[0]) == size(ll[0])) => 7 7
{s: 'abcdefghijklmno'}.exists_one(a, (a < ll[0][0])) => 39 47
[ll[0]].exists_one(a, ll[0].isSorted()) => 17 63
cel.bind(w, (['a','b'] + []), cel.bind(y, [], w)).distinct() => 71 71
{}.transformMap(k, y, y).existsOne(k2, v, [['a']].existsOne(k2, w, b)) => 63 63
[ls].filter(a, true)[l[i]] => 27 39
cel.bind(a, {}, m).map(w, int(mm.a.b)) => 52 164
{s2: mm['a']['b'], ?'z': optional.of(s)}.?zz => 37 37
[1,2,3].sortBy(a, l.sum()).sortBy(w, 2) => 405 465
l.map(a, m.a).existsOne(k, w, ({'a': s} == m)) => 14 994
ls.min().split(o.optFlatMap(y, o).orValue((ls[0] + m['a']))) => 9 3689348814741910641
ll.filter(y, true).filter(a, ([['a']] + ll).existsOne(k, y, (true && true && b))) => 23 209
(mm['a'].transformMap(k2, w, ll[0][0]) == {}.transformMapEntry(k, v, {ll[0][0]: 'a'})) => 94 130
([ls] + ll.filter(a, true)).exists(k, y, ls[0].substring(1).contains(string(ll[0][0]))) => 29 unlimited
[(true ? i : l[i])].sortBy(w, (true ? int('abcdefghijklmno') : int(ls[0]))) => 60 64
(s2 in {}.transformMap(k2, y, 'a')) => 63 63
(ll.filter(a, b) + (ll + ll)) => 16 58
ll.map(y, l[i]).sort().min() => 23 95
(dyn(1)[ls[0]] + (b ? ld[0] : s)) => 6 1844674407370955271
[ll[0].min(), ?(true ? m.?a : optional.none())] => 13 59
(s2.replace(m.a, s) in m.transformMap(k2, w, b, s)) => 37 82
cel.bind(y, ls.map(v, 'abcdefghijklmno'), m['a']) => 24 264
cel.bind(y, {}, mm['a']).?zz => 43 43
(([1,2,3] + l) + [1,2,3]).sort() => 106 1386
ls.map(v, true, 'abcdefghijklmno').exists(k2, w, (dyn(1) == 2)) => 13 373
[].distinct().transformList(k2, a, m.a).min() => 32 32
({}.map(y, ['a','b']) + md['a'].map(y, ll[0])).transformList(k2, a, mm.a.b) => 66 1661
(ll[0].isSorted() ? (b ? dyn(1) : mm.a.b) : 'a') => 2 51
{ll[0][2]: s.replace(mm.a.b, 'abcdefghijklmno')}[?['a','b'].filter(w, b)[i]] => 65 109
([['a']].filter(v, true) + [['a']]) => 53 65
['a','b'].slice(2, l[i]).slice('a'.size(), l[i]) => 39 39
([ll[0][2], ?ls[?0].or(o)] + x[l[0]].map(w, m[s2])) => 33 unlimited
[['a','b'].slice(2, l[0])] => 33 33
([].sortBy(w, w) + (b ? [] : [])).map(y, (has({'a': s}.a) ? cel.bind(w, ls[0], 1) : l[0])) => 67 67
has({}.transformMapEntry(k2, y, {ls[0]: k2}).a) => 61 61
'a'.find(m['a']).substring(l[0]) => 4 28
l.sort().filter(v, ll[0].all(k2, y, b)).max() => 23 15623
(x['a'].exists_one(w, b) ? ld[0] : (true ? s2 : m.a)) => 5 unlimited
m[?ll[0].join('a').substring([1,2,3].min())] => 17 99
m.transformMap(k2, y, 'a').transformMapEntry(k, a, {m.a: cel.bind(y, ls, a)}).a => 64 407
((ls + ls).map(a, (b ? ls : ll[0])) + [['a']]) => 35 635
({'a': s}.all(v, true) ? [1,2,3].sortBy(a, a) : [].filter(v, b)) => 56 136
((l[0] * 2) == (1 / l[0])) => 7 7
dyn([]).includes(optional.of(s).value()) => 14 14
({}.map(y, ls) + ll.filter(a, b)) => 54 96
(b ? ls[?0] : optional.none()).or(mm['a'].?zz).optMap(v, ll[1].min()) => 8 74
int((true ? mm['a']['b'] : 'abcdefghijklmno')) => 1 4
([ls] + [(true ? ['a','b'] : ['a','b'])]) => 32 32
([1,2,3].map(a, a) + [l[i]]) => 74 74
(ll[0].exists_one(a, b) ? (b ? l : l) : [1,2,3].sort()) => 6 58
-(mm['a']['b'].indexOf(m['a'])) => 6 18
[[][1]].sortBy(w, size([])) => 80 80
({'a': s}[m['a']].substring(l.sum()) in ['a'.lowerAscii(), mm.a.b.substring(2)]) => 51 1844674407370955345
l.filter(v, true).sort().filter(y, ll[0].first().hasValue()) => 34 7894
[1,2,3].sortBy(v, size(l)) => 104 104
int(m.?a.or(optional.of(s)).orValue(string(2))) => 8 8
((md['a'] + md['a'])[ls[?0].orValue(mm['a']['b'])] == mm.a.b) => 15 1844674407370955289
(({} == {}) ? (true ? l : l) : []) => 61 70
(dyn(['a','b']) == [].map(v, ll[0][0])) => 32 32
[].first().or(optional.of(m.a)) => 15 15
'abcdefghijklmno'.split(mm.a.b).map(y, x.includes(mm['a']['b']), ll[0][0].substring(1)) => 17 1472
(ll.exists(a, b) ? (b ? md['a'] : s2) : o.orValue('a')) => 4 20
[(true ? ll[0] : ll[0]).distinct()] => 23 73
[].map(y, ls.transformList(k2, w, string(x.a))) => 21 21
[[['a']].transformList(k, w, 'a')] => 53 53
mm['a']['b'].replace(m[ls[0]], (ls[0] + mm['a']['b'])).find((b ? ll[0] : ll[0])[l[i]]) => 19 unlimited
(b ? ['a','b'] : [m['a'], ?optional.of(s)]).map(y, [].map(y, []).flatten()) => 110 114
cel.bind(a, ll[0].min(), ll[0][0]) => 15 60
(b ? mm['a'] : m)[?(s + mm.a.b)] => 7 1844674407370955272
(([ls] + [['a']]).all(k, y, {'a': s}.all(k2, y, b)) && b && true) => 39 112
((b ? md['a'] : mm.a.b)[['a','b'][l[i]]] + (x['a'].b + dyn(l[0]))) => 25 3689348814741910552
mm['a'].transformMapEntry(k2, w, {mm.a.b: k2})[?mm['a']['b']] => 37 253
ls[?0].optFlatMap(a, o.optFlatMap(v, optional.of(s).optMap(a, m.a))) => 4 49
((dyn(1) == ['a','b']) ? x['a'].b : m.a) => 14 14
[((['a','b'] == ['a','b']) ? l[i] : 2)] => 31 34
(b ? x : s2)[cel.bind(y, m.a, l[i])] => 18 18
(ll + ([ls] + [['a','b']])) => 34 34
ls.map(w, (l[i] * 2)).max() => 12 352
cel.bind(v, {mm.a.b: s2, ?'z': ls[?0]}, v.transformMapEntry(k, v, {m.a: m.a})) => 150 150
(x['a'] + x['a']).exists_one(a, (2 != i)) => 6 unlimited
((true && b && b) ? [1,2,3] : l.filter(y, true)).filter(w, (l[i] != size({}))) => 21 1245
l.map(v, s2)[?s2.find(ll[0][0]).indexOf(mm['a']['b'].find(mm.a.b))] => 23 unlimited
[ls].map(v, ([mm['a']['b'], ?ls[?0]] + ll[0])) => 52 52
(!(b) ? (l + [1,2,3]) : [1]) => 12 14
((l[i] * 1) / (true ? i : 2)) => 5 6
(optional.of(s).value() >= string(ll[0][0])) => 8 1844674407370955271
{ls.min(): cel.bind(a, ['a','b'], 'abcdefghijklmno')} => 51 131
ls.join(ls[0]).split(s.find(s)).min() => 5 unlimited
[].sortBy(v, m['a']).map(w, has({'a': s}.a), w).map(v, ll[0].filter(w, true)[v.size()]) => 66 66
[][?l[i]].orValue((ls[0] + mm.a.b)).find(m.a.find(cel.bind(v, ['a','b'], s2))) => 43 unlimited
cel.bind(w, [], 'a'.find(ls[0])).split(o.or(m.?a).orValue(m.a)) => 29 38
(true ? {'a': s}[?ls[0]] : optional.none()) => 1 34
([['a']].filter(v, true) + ll) => 34 46
{m.a: mm.a.b}.transformMapEntry(k, w, {w.replace(k, w): m.?a.value()}) => 104 3689348814741910632
((cel.bind(w, s2, 'a') in mm['a']) ? {ll[0][l[i]]: cel.bind(w, ls[0], w)} : {}) => 44 63
ls.map(w, 1).sortBy(y, [1,2,3].sum()).all(k2, y, b) => 47 3187
dyn(int(s)).map(y, [].slice(l[0], i).sortBy(w, mm['a']['a'])) => 84 84
(sets.intersects(ls, ll[0]) ? (b ? l : [1,2,3]) : x.a.map(v, l[i])) => 6 unlimited
[[][l[0]]].filter(w, cel.bind(a, ls, a).exists_one(y, !(true))) => 49 121
([1,2,3][1] >= cel.bind(y, ll[0][0], l[i])) => 28 28
-(cel.bind(w, ['a','b'], mm['a']['b']).indexOf(mm['a']['b'].replace(ll[0][0], ls[0]))) => 32 68
{s: m['a'], ?'z': m.?a}.transformMap(k2, w, (true ? mm['a']['b'] : w)) => 74 78
(b ? ls.first() : optional.none()).optFlatMap(y, o.optMap(w, string(md['a']))) => 4 41
(b ? optional.of(s) : optional.none()).optFlatMap(v, optional.of(m.a)) => 4 21
ls[0].split(m['a']).slice(int(m.a), (b ? l[i] : i)).join(m['a']) => 52 1844674407370955324
"""


def rows(table: str) -> list[tuple[str, int, int]]:
    """Expressions with least and most cost."""
    found = []
    for line in table.strip().splitlines():
        expression, expected = line.rsplit(" => ", 1)
        least, most = (UNBOUNDED if number == "unlimited" else int(number) for number in expected.split())
        found.append((expression.replace("%C", LONG), least, most))
    return found


def short(value: object) -> str:
    """A test's id: the start of the expression."""
    return str(value)[:40]


@pytest.mark.parametrize(("expression", "least", "most"), rows(ESTIMATES), ids=short)
def test_estimate_of_one_thing(expression: str, least: int, most: int) -> None:
    """CLM-6: the estimate is what the API server compares with the limit."""
    assert ENVIRONMENT.estimate(ENVIRONMENT.compile(expression)) == Range(least, most)


@pytest.mark.parametrize(("expression", "least", "most"), rows(COMBINATIONS), ids=short)
def test_estimate_of_combinations(expression: str, least: int, most: int) -> None:
    assert ENVIRONMENT.estimate(ENVIRONMENT.compile(expression)) == Range(least, most)
