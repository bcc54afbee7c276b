from operator import itemgetter

import pytest

INT_IS_STRICT_ABOUT_TEXT = [
    ("int(s)", "error: type conversion error from 'string' to 'int'", 2),
    ("int(i)", "3", 2),
    ("int(dd)", "1", 2),
    ("int(ts)", "1577836800", 2),
    ("int('12')", "12", 0),
    ("int('+12')", "12", 0),
    ("int('-12')", "-12", 0),
    ("int(1.9)", "1", 0),
    ("int(-1.9)", "-1", 0),
    ("int(9223372036854774784.0)", "9223372036854774784", 0),
    ("int(0.0/0.0)", "error: integer overflow", 2),
    ("int(1.0/0.0)", "error: integer overflow", 2),
    ("int(du)", "3600000000000", 2),
    ('int(timestamp(ss+"9999-01-01T1:00:30Z"))', "253370768430", 5),
    ('int(timestamp(ss+"2000-12-30T23:59:30.1234567899Z"))', "978220770", 7),
    ('int(ss+"+5")', "5", 3),
    ("int(z+(9.682990424521531))", "9", 3),
    ("int(z+(9.121253917604728e+77))", "error: integer overflow", 3),
    ("int(z+(3.742414018496081))", "3", 3),
    ('int(ss+"--1")', "error: type conversion error from 'string' to 'int'", 3),
    ("int(z+(822316.0354256388))", "822316", 3),
    ('int(ss+"False")', "error: type conversion error from 'string' to 'int'", 3),
    ("int(z+(66347693.0))", "66347693", 3),
    ('int(ss+"-Inf")', "error: type conversion error from 'string' to 'int'", 3),
    ("int(z+(-7.362954547237779))", "-7", 3),
    ('int(ss+"nan")', "error: type conversion error from 'string' to 'int'", 3),
    ('int(ss+"NaN")', "error: type conversion error from 'string' to 'int'", 3),
    ("int(z+(0.12566758593398342))", "0", 3),
    ('int(ss+"-")', "error: type conversion error from 'string' to 'int'", 3),
    ("int(z+(0.5074848969670661))", "0", 3),
    ("int(z+(3.1703693298858617))", "3", 3),
    ('int(ss+"0x.8p1")', "error: type conversion error from 'string' to 'int'", 3),
    ('int(ss+"0x1.8p-2")', "error: type conversion error from 'string' to 'int'", 3),
    ("int(z+(-7.216172983686144))", "-7", 3),
    ('int(ss+"0o7")', "error: type conversion error from 'string' to 'int'", 3),
    ("int(z+(754859.6298576687))", "754859", 3),
    ('int(ss+"9223372036854775807")', "9223372036854775807", 4),
    ('int(ss+"1e+")', "error: type conversion error from 'string' to 'int'", 3),
    ("int(z+(0.884482176981482))", "0", 3),
    ('int(ss+"+")', "error: type conversion error from 'string' to 'int'", 3),
    ("int(z+(45538471.0))", "45538471", 3),
    ('int(ss+"1__0")', "error: type conversion error from 'string' to 'int'", 3),
    ('int(ss+"1.")', "error: type conversion error from 'string' to 'int'", 3),
    ("int(z+(-5967052.172767213))", "-5967052", 3),
    ("int(z+(-5.847175678806145))", "-5", 3),
]  # fmt: skip


@pytest.mark.parametrize("row", INT_IS_STRICT_ABOUT_TEXT, ids=itemgetter(0))
def test_int_is_strict_about_text(check, row):
    check(*row)


UINT_IS_STRICT_ABOUT_TEXT = [
    ("uint(i)", "3u", 2),
    ("uint(s)", "error: type conversion error from 'string' to 'uint'", 2),
    ("uint('12')", "12u", 0),
    ("uint(1.9)", "1u", 0),
    ('uint(ss+"5e-324")', "error: type conversion error from 'string' to 'uint'", 3),
    ('uint(ss+"_1")', "error: type conversion error from 'string' to 'uint'", 3),
    ('uint(ss+"0.1e-5")', "error: type conversion error from 'string' to 'uint'", 3),
    ('uint(ss+"1e22")', "error: type conversion error from 'string' to 'uint'", 3),
    ("uint(z+(814901918532.696))", "814901918532u", 3),
    ("uint(z+(-2978769.6776008205))", "error: unsigned integer overflow", 3),
    ('uint(ss+"+")', "error: type conversion error from 'string' to 'uint'", 3),
    ('uint(ss+"infinity")', "error: type conversion error from 'string' to 'uint'", 3),
    ("uint(z+(0.8636491763134153))", "0u", 3),
    ('uint(ss+"1 ")', "error: type conversion error from 'string' to 'uint'", 3),
    ("uint(z+(0.7632822952978605))", "0u", 3),
    ('uint(ss+"1__0")', "error: type conversion error from 'string' to 'uint'", 3),
    ('uint(ss+"f")', "error: type conversion error from 'string' to 'uint'", 3),
    ('uint(ss+"1_0")', "error: type conversion error from 'string' to 'uint'", 3),
    ('uint(ss+"1e400")', "error: type conversion error from 'string' to 'uint'", 3),
    ("uint(z+(-5.08861836996668))", "error: unsigned integer overflow", 3),
    ("uint(z+(-3.9385153745446893))", "error: unsigned integer overflow", 3),
    ('uint(ss+"-")', "error: type conversion error from 'string' to 'uint'", 3),
    ('uint(ss+"0x1.8p-2")', "error: type conversion error from 'string' to 'uint'", 3),
    ("uint(z+(6235228.943474531))", "6235228u", 3),
    ("uint(z+(2503928.543908369))", "2503928u", 3),
    ('uint(ss+"0")', "0u", 3),
    ("uint(z+(-2.353401730526614))", "error: unsigned integer overflow", 3),
    ('uint(ss+"T")', "error: type conversion error from 'string' to 'uint'", 3),
    ("uint(z+(6.536930277325517e+27))", "error: unsigned integer overflow", 3),
    ("uint(z+(1.4439555494697871e+267))", "error: unsigned integer overflow", 3),
    ("uint(z+(0.8827089420121429))", "0u", 3),
    ("uint(z+(1.596461575518767e-13))", "0u", 3),
    ("uint(z+(7561615.138154339))", "7561615u", 3),
    ("uint(z+(7822280776434.507))", "7822280776434u", 3),
    ("uint(z+(65499762.0))", "65499762u", 3),
    ('uint(ss+"1.")', "error: type conversion error from 'string' to 'uint'", 3),
    ("uint(z+(7167939.0))", "7167939u", 3),
    ("uint(z+(0.31171797937824286))", "0u", 3),
    ('uint(ss+"")', "error: type conversion error from 'string' to 'uint'", 2),
    ("uint(z+(68483861.0))", "68483861u", 3),
    ("uint(z+(7644203.069007974))", "7644203u", 3),
    ("uint(z+(2.3700988630047443e+26))", "error: unsigned integer overflow", 3),
    ('uint(ss+"+5")', "error: type conversion error from 'string' to 'uint'", 3),
    ("uint(z+(3799056.4272774905))", "3799056u", 3),
    ("uint(z+(7.288304902902398e+16))", "72883049029023984u", 3),
]  # fmt: skip


@pytest.mark.parametrize("row", UINT_IS_STRICT_ABOUT_TEXT, ids=itemgetter(0))
def test_uint_is_strict_about_text(check, row):
    check(*row)


DOUBLE_READS_WHAT_GO_READS = [
    ("double(i)", "3.0", 2),
    ("double(s)", "error: type conversion error from 'string' to 'double'", 2),
    ("double('1.5')", "1.5", 0),
    ("double('inf')", "+Inf", 0),
    ("double('-Infinity')", "-Inf", 0),
    ("double('NaN')", "NaN", 0),
    ("double('nan')", "NaN", 0),
    ("double('0x1p-2')", "0.25", 0),
    ("double('1_0.5')", "10.5", 0),
    ("double('0x_1p4')", "16.0", 0),
    ("double('1.')", "1.0", 0),
    ("double('.5')", "0.5", 0),
    ("double('1e-400')", "0.0", 0),
    ("double(18446744073709551615u)", "1.8446744073709552e+19", 0),
    ("double(9223372036854775807)", "9.223372036854776e+18", 0),
    ("double('1_0')", "10.0", 0),
    ("double('1e1_0')", "1e+10", 0),
    ("double('0x1_0p0')", "16.0", 0),
    ("double('0x1.8p1')", "3.0", 0),
    ("double('0X1P+1')", "2.0", 0),
    ('double(ss+"1e5")', "100000.0", 3),
    ('double(ss+"-Inf")', "-Inf", 3),
    ('double(ss+"0b1")', "error: type conversion error from 'string' to 'double'", 3),
    ('double(ss+"0o7")', "error: type conversion error from 'string' to 'double'", 3),
    ('double(ss+"1E-7")', "1e-07", 3),
    ('double(ss+"-1")', "-1.0", 3),
    ('double(ss+"f")', "error: type conversion error from 'string' to 'double'", 3),
    ('double(ss+"inf")', "+Inf", 3),
    ('double(ss+"0x10")', "error: type conversion error from 'string' to 'double'", 3),
    ('double(ss+"1__0")', "error: type conversion error from 'string' to 'double'", 3),
    ('double(ss+"NaN")', "NaN", 3),
    ('double(ss+"1e22")', "1e+22", 3),
    ('double(ss+"0x1p3")', "8.0", 3),
    ('double(ss+"9223372036854775807")', "9.223372036854776e+18", 4),
    ('double(ss+"123456789012345678901234567890")', "1.2345678901234568e+29", 5),
    ('double(ss+"007")', "7.0", 3),
    ('double(ss+"1")', "1.0", 3),
    ('double(ss+"1e400")', "error: type conversion error from 'string' to 'double'", 3),
    ('double(ss+"+")', "error: type conversion error from 'string' to 'double'", 3),
    ('double(ss+"infinity")', "+Inf", 3),
    ('double(ss+"9223372036854775808")', "9.223372036854776e+18", 4),
    ('double(ss+"0x1.8p-2")', "0.375", 3),
    ('double(ss+"1e+")', "error: type conversion error from 'string' to 'double'", 3),
    ('double(ss+"0")', "0.0", 3),
    ('double(ss+"0.1e-5")', "1e-06", 3),
]  # fmt: skip


@pytest.mark.parametrize("row", DOUBLE_READS_WHAT_GO_READS, ids=itemgetter(0))
def test_double_reads_what_go_reads(check, row):
    check(*row)


BOOL_KNOWS_GOS_WORDS = [
    ("bool(s)", "error: type conversion error from 'string' to 'bool'", 2),
    ("bool('true')", "true", 0),
    ("bool('1')", "true", 0),
    ("bool('t')", "true", 0),
    ("bool('TRUE')", "true", 0),
    ("bool('True')", "true", 0),
    ("bool('T')", "true", 0),
    ("bool('F')", "false", 0),
    ("bool(true)", "true", 0),
    ('bool(ss+"1.5")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"1e22")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"1 ")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"18446744073709551615")', "error: type conversion error from 'string' to 'bool'", 4),
    ('bool(ss+"False")', "false", 3),
    ('bool(ss+"0x10")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"true")', "true", 3),
    ('bool(ss+"-")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"123456789012345678901234567890")', "error: type conversion error from 'string' to 'bool'", 5),
    ('bool(ss+"1e5")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"-1")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"0")', "false", 3),
    ('bool(ss+"+5")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"_1")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"1_000.5_0e1_0")', "error: type conversion error from 'string' to 'bool'", 4),
    ('bool(ss+"0o7")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"1e+")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"NaN")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"0.1e-5")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"1.7976931348623159e308")', "error: type conversion error from 'string' to 'bool'", 5),
    ('bool(ss+"0x1p3")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"")', "error: type conversion error from 'string' to 'bool'", 2),
    ('bool(ss+" 1")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"0x.8p1")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"inf")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"5e-324")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"--1")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"-9223372036854775808")', "error: type conversion error from 'string' to 'bool'", 4),
    ('bool(ss+"1.")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"infinity")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"nan")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"1E-7")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"1__0")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"0b1")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"1_0")', "error: type conversion error from 'string' to 'bool'", 3),
    ('bool(ss+"T")', "true", 3),
]  # fmt: skip


@pytest.mark.parametrize("row", BOOL_KNOWS_GOS_WORDS, ids=itemgetter(0))
def test_bool_knows_gos_words(check, row):
    check(*row)


BYTES_ARE_UTF8 = [
    ("bytes(b)", "base64:YWJjZGVmZ2hpamtsbW5vcA==", 2),
    ("string(bytes('\u00e9'))", '"\u00e9"', 0),
    ("bytes('\u00e9')", "base64:w6k=", 0),
    ('string(bytes("aba Z \\n%bA"))', '"aba Z \\n%bA"', 0),
    ('bytes("A..\\u00e9b")', "base64:QS4uw6li", 0),
    ('string(bytes("b\\t\\u00a0\\u00a0b\\"Z\\u00e9"))', '"b\\t\u00a0\u00a0b\\"Z\u00e9"', 0),
    ('string(bytes("\\u00a0\\t\\t aa\\u00e9.b\\\\"))', '"\u00a0\\t\\t aa\u00e9.b\\\\"', 0),
    ('bytes("A\\u00e9%\\u00a0\\u20aca\\"b")', "base64:QcOpJcKg4oKsYSJi", 0),
    ('bytes("  a%\\"")', "base64:ICBhJSI=", 0),
    ('string(bytes(".a\\u00a0\\"A aa\\t"))', '".a\u00a0\\"A aa\\t"', 0),
    ('string(bytes("ab\\n"))', '"ab\\n"', 0),
    ('string(bytes("b"))', '"b"', 0),
    ('string(bytes(".Aaba%\\u00a0\\".aa."))', '".Aaba%\u00a0\\".aa."', 0),
    ('bytes("\\\\baZ\\u00e9\\u00a0\\u00a0\\\\aaabZ")', "base64:XGJhWsOpwqDCoFxhYWFiWg==", 0),
    ('bytes("Zb.abA\\"\\u20ac\\n\\t")', "base64:WmIuYWJBIuKCrAoJ", 0),
    ('bytes("Z%%A\\"ZA\\u00e9Z.")', "base64:WiUlQSJaQcOpWi4=", 0),
    ('bytes("")', "base64:", 0),
    ('bytes("aa\\u00a0%b\\"")', "base64:YWHCoCViIg==", 0),
    ('bytes(".bb")', "base64:LmJi", 0),
    ('bytes("\\n\\\\\\u20ac\\u00e9aa")', "base64:ClzigqzDqWFh", 0),
    ('string(bytes("\\\\"))', '"\\\\"', 0),
    ('bytes("\\u20ac.A\\\\%")', "base64:4oKsLkFcJQ==", 0),
    ('bytes("%A%")', "base64:JUEl", 0),
    ('string(bytes(" .babaa\\u00e9\\\\\\""))', '" .babaa\u00e9\\\\\\""', 0),
    ('bytes("AZ%\\u00e9aaa A")', "base64:QVolw6lhYWEgQQ==", 0),
    ('bytes("a\\"Z\\u00a0Zaa.A\\t")', "base64:YSJawqBaYWEuQQk=", 0),
    ('string(bytes("A\\u00a0a"))', '"A\u00a0a"', 0),
    ('string(bytes("\\u20ac%\\\\"))', '"\u20ac%\\\\"', 0),
    ('string(bytes("aa .\\\\\\\\\\u20ac\\" \\nZ\\""))', '"aa .\\\\\\\\\u20ac\\" \\nZ\\""', 0),
    ('string(bytes(".aa"))', '".aa"', 0),
    ('string(bytes("\\t.\\u00a0\\n\\nZ\\u00e9.aaba\\t"))', '"\\t.\u00a0\\n\\nZ\u00e9.aaba\\t"', 0),
    ('string(bytes(""))', '""', 0),
    ('bytes("%\\t .%a\\u20ac\\u20ac\\\\\\"")', "base64:JQkgLiVh4oKs4oKsXCI=", 0),
    ('bytes("Ab\\n\\"\\u00a0\\"%\\t\\u00a0")', "base64:QWIKIsKgIiUJwqA=", 0),
    ('string(bytes("aa\\t\\n\\u20ac\\u20acaaa.\\""))', '"aa\\t\\n\u20ac\u20acaaa.\\""', 0),
    ('bytes("a")', "base64:YQ==", 0),
    ('string(bytes("aaaA\\u00a0"))', '"aaaA\u00a0"', 0),
]  # fmt: skip


@pytest.mark.parametrize("row", BYTES_ARE_UTF8, ids=itemgetter(0))
def test_bytes_are_utf8(check, row):
    check(*row)


STRING_IS_WRITTEN_AS_GO_DOES = [
    ("string(b)", '"abcdefghijklmnop"', 3),
    ("string(i)", '"3"', 2),
    ("string(dd)", '"1.5"', 2),
    ("string(true)", '"true"', 0),
    ("string(ts)", '"2020-01-01T00:00:00Z"', 2),
    ("string(du)", '"3600s"', 2),
    ("string(1.0)", '"1"', 0),
    ("string(1000000.0)", '"1e+06"', 0),
    ("string(999999.0)", '"999999"', 0),
    ("string(123456789.0)", '"1.23456789e+08"', 0),
    ("string(1e20)", '"1e+20"', 0),
    ("string(1e21)", '"1e+21"', 0),
    ("string(1.5e-5)", '"1.5e-05"', 0),
    ("string(0.0001)", '"0.0001"', 0),
    ("string(0.00001)", '"1e-05"', 0),
    ("string(1.7976931348623157e308)", '"1.7976931348623157e+308"', 0),
    ("string(0.1)", '"0.1"', 0),
    ("string(-0.0)", '"-0"', 0),
    ("string(0.0/0.0)", '"NaN"', 2),
    ("string(1.0/0.0)", '"+Inf"', 2),
    ("string(-1.0/0.0)", '"-Inf"', 2),
    ("string(1u)", '"1"', 0),
    ("string('a')", '"a"', 0),
    ("string(12345678.5)", '"1.23456785e+07"', 0),
    ("string(123456.0)", '"123456"', 0),
    ("string(1234567.0)", '"1.234567e+06"', 0),
    ("string(12345678.0)", '"1.2345678e+07"', 0),
    ("string(100000.0)", '"100000"', 0),
    ("string(1234567890123456.0)", '"1.234567890123456e+15"', 0),
    ("string(123456789.125)", '"1.23456789125e+08"', 0),
    ("string(999999.5)", '"999999.5"', 0),
    ("string(1000000.5)", '"1.0000005e+06"', 0),
    ("string(120000.0)", '"120000"', 0),
    ("string(1e6)", '"1e+06"', 0),
    ("string(1.5e6)", '"1.5e+06"', 0),
    ("string(1e15)", '"1e+15"', 0),
    ("string(0.00012345)", '"0.00012345"', 0),
    ("string(123456789012.0)", '"1.23456789012e+11"', 0),
    ('string(duration(ss+"0.0000000001s"))', '"0s"', 5),
    ('string(duration(ss+"+0.0000000001h123456789m12h"))', '"7407450540s"', 6),
    ('string(duration(ss+"+0.0000000001\\u00b5s"))', '"0s"', 5),
    ('string(duration(ss+"-5.h1ms"))', '"-18000.001s"', 4),
    ('string(duration(ss+"0.0000000001\\u00b5s"))', '"0s"', 5),
    ('string(duration(ss+"-1.5ns"))', '"-0.000000001s"', 4),
    ('string(duration(ss+"-12us"))', '"-0.000012s"', 4),
]  # fmt: skip


@pytest.mark.parametrize("row", STRING_IS_WRITTEN_AS_GO_DOES, ids=itemgetter(0))
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


SIZE_COUNTS_CODE_POINTS = [
    ("size(s)", "95", 2),
    ("s.size()", "95", 2),
    ("size(u)", "95", 2),
    ("size(l)", "7", 2),
    ("l.size()", "7", 2),
    ("size(m)", "2", 2),
    ("size(b)", "16", 2),
    ('size("A\\u00a0\\\\.Z%%aa")', "9", 1),
    ('size("ab \\\\\\t\\nb\\u20ac")', "8", 1),
    ('size("\\u20ac%%ab\\u20ac\\t\\\\aa.")', "11", 1),
    ('size("..\\u00e9\\"")', "4", 1),
    ('size("\\u20acb.\\"b\\"AAaa\\n")', "11", 1),
    ('size("b\\\\\\u00e9ba\\u20ac")', "6", 1),
    ('size("b\\n \\n.\\\\ba")', "8", 1),
    ('size("aaAZ")', "4", 1),
    ('size("\\u00a0A\\t\\t\\n")', "5", 1),
    ('size("aa\\n")', "3", 1),
    ('size("%Z ")', "3", 1),
    ('["b","ab",""].size()', "3", 1),
    ("[1u,2u,0u,2u].size()", "4", 1),
    ("[true,false,true,true].size()", "4", 1),
    ("[].size()", "0", 1),
    ("[-1.0,-0.5,0.5,1.0].size()", "4", 1),
    ("[2u,3u,0u,0u,0u,2u].size()", "6", 1),
    ("[false,true,true,false,false].size()", "5", 1),
    ("[duration('0s'),duration('-1s')].size()", "2", 1),
    ("[3,1,0,1,3].size()", "5", 1),
    ("[duration('-3s'),duration('3s'),duration('0s'),duration('1s')].size()", "4", 1),
    ("[false,false].size()", "2", 1),
    ("[3u,3u,3u,3u,2u].size()", "5", 1),
    ("[b'bb',b'a',b'a',b'bb'].size()", "4", 1),
    ("[duration('1s'),duration('2s'),duration('2s'),duration('2s'),duration('0s'),duration('0s')].size()", "6", 1),
    ("[3u,2u,0u].size()", "3", 1),
    ("[-1.0,-1.5,-1.5,-0.5,1.5,-0.5].size()", "6", 1),
    ("[false,false,true,false].size()", "4", 1),
    ("[3,0,-3,-3,2].size()", "5", 1),
    ("[b'a',b'',b'',b'',b'a',b'a'].size()", "6", 1),
    ('["b","","a"].size()', "3", 1),
    ("[-0.5,1.5,0.0,0.5,0.0].size()", "5", 1),
    ("[duration('-1s'),duration('-2s')].size()", "2", 1),
    ('["ab","","","ab","a","b"].size()', "6", 1),
    ("[duration('-1s'),duration('-2s'),duration('1s'),duration('1s')].size()", "4", 1),
    ("[3u].size()", "1", 1),
    ("[0u,1u].size()", "2", 1),
]  # fmt: skip


@pytest.mark.parametrize("row", SIZE_COUNTS_CODE_POINTS, ids=itemgetter(0))
def test_size_counts_code_points(check, row):
    check(*row)
