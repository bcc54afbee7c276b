from operator import itemgetter

import pytest

IS_URL_WITHOUT_ERROR = [
    ("isURL(s)", "false", 2),
    ("isURL('https://a')", "true", 1),
    ("isURL('*')", "true", 1),
    ('isURL("/a_b:80/a//b?#%zz")', "true", 1),
    ('isURL("1a://u%40:p@a%20b:/a?a;b=1#%zz")', "false", 1),
    ('isURL("https://u@example.com:x/a;b?a=1&b=2&a=3")', "false", 1),
    ('isURL("HTTP://[fe80::1%25en0]:8a/<?a=%41+b")', "false", 1),
    ('isURL("ws://a:b:c@\\u00e9.com:80:90/a%20b?a b=c#%zz")', "true", 1),
    ('isURL("@[::1]:80:90/a b?#%zz")', "false", 1),
    ('isURL("ws://@%41/<?\\u00e9=\\u00fc#a b")', "false", 1),
    ('isURL("HTTP://a:b:c@a<b/a%zz?a=1&b=2&a=3")', "false", 1),
    ('isURL("https://u%40:p@example.com/a\\"b?a=%41+b#a b")', "true", 1),
    ('isURL("[::1]/a//b?=b")', "false", 1),
    ('isURL("https://u%40:p@/<?a b=c#x")', "true", 1),
    ('isURL("http://a:b:c@/a b?a=1&b=2&a=3")', "true", 1),
    ('isURL("//u:p@:80/a*b?a=1#%zz")', "true", 1),
    ('isURL("1a://1.2.3.4:80/a//b?&&")', "false", 1),
    ('isURL("mailto:a:b:c@a b:80/a|b?&&#")', "true", 1),
    ('isURL("mailto:u^@a\\\\b/a[b]?a=1&b=2&a=3")', "true", 1),
    ('isURL("http:/a:b:c@a\\\\b:x/<?a;b=1#a b")', "true", 1),
    ('isURL("http:/a<b:99999/(x)?\\u00e9=\\u00fc")', "true", 1),
    ('isURL("http://u^@A-B:8a/\\u00e9?a b=c#")', "false", 1),
    ('isURL("ftp://a^b:80/a%20b?a=b=c#a b")', "false", 1),
    ('isURL("/1.2.3.4:80:90/a|b?&&")', "true", 1),
    ('isURL("a+b.c-1://[::1%en]:99999/a%20b?=b")', "false", 1),
    ('isURL("HTTP://u:p@A-B:80/a?a=1&b=2&a=3#")', "true", 1),
    ('isURL("http://:80/a;b?a=b=c")', "true", 1),
    ('isURL("http:/u:p@a^b:8a/a[b]?a;b=1#x")', "true", 1),
    ('isURL("https://u@:/<#%zz")', "false", 1),
    ('isURL("\\u00e9.com:/a[b]?a=%zz")', "false", 1),
    ('isURL("https://a<b:80:90/<?a=1&b=2&a=3")', "false", 1),
    ('isURL("HTTP://u%40:p@a|b:?a=1&b=2&a=3#%zz")', "false", 1),
    ('isURL("a+b.c-1://@[fe80::1%25en0]:8a/a b?a=%zz")', "false", 1),
    ('isURL("a+b.c-1://a%zz/a%?a=%zz")', "false", 1),
    ('isURL("//a<b:/a*b?a;b=1#%zz")', "true", 1),
    ('isURL("u%40:p@a\\\\b:8a/a*b?&&#%zz")', "false", 1),
    ('isURL("u^@a\\"b:80/a\\"b?a;b=1")', "false", 1),
    ('isURL(":@[::1:80/a;b?a;b=1")', "false", 1),
    ('isURL("mailto:[fe80::1%25en0]:?a;b=1#a b")', "true", 1),
    ('isURL("a_b:u:p@%41:x/a//b?&&")', "false", 1),
    ('isURL(":a_b:80:90/a%20b?a=%zz")', "false", 1),
    ('isURL(":u%40:p@[::1:80/a\\"b#x")', "false", 1),
    ('isURL("1a://a:b:c@[::1%en]/a|b?&&")', "false", 1),
    ('isURL("u@%C3%A9/?\\u00e9=\\u00fc")', "false", 1),
    ('isURL("http://u:p@a b/a^b`{}?a=1&b=2&a=3#a b")', "false", 1),
]  # fmt: skip


@pytest.mark.parametrize("row", IS_URL_WITHOUT_ERROR, ids=itemgetter(0))
def test_is_url_without_error(check, row):
    check(*row)


SCHEME_IS_IN_LOWER_CASE = [
    ("url('https://user:pw@example.com:8080/a%20b/c?x=1&y=2&x=3#frag').getScheme()", '"https"', 7),
    ("url('HTTP://Host/path').getScheme()", '"http"', 3),
    ('url("https://u%40:p@example.com/a\\"b?a=%41+b#a b").getScheme()', '"https"', 6),
    ('url("//u:p@\\u00e9.com:99999/a^b`{}?a=b=c#").getScheme()', '""', 5),
    ('url("a+b.c-1://u:p@a\\"b:/a^b`{}#x").getScheme()', '"a+b.c-1"', 4),
    ('url("http:/u%40:p@\\u00e9.com:x/a[b]?a=b=c").getScheme()', '"http"', 5),
    ('url("mailto:@a|b:/?a=1#").getScheme()', '"mailto"', 3),
    ('url("a:b:c@a%zz:80:90/a%2fb#x").getScheme()', '"a"', 4),
    ('url("HTTP://a<b/a//b?=b").getScheme()', '"http"', 3),
    ('url("ftp:@[::1]/a").getScheme()', '"ftp"', 3),
    ('url("http://a<b:99999/a%20b?=b#").getScheme()', '"http"', 4),
    ('url("mailto:u^@a:80:90/a%20b#").getScheme()', '"mailto"', 4),
    ('url("https://u@a_b/a[b]?&&").getScheme()', '"https"', 4),
    ('url("a:99999/a*b").getScheme()', '"a"', 3),
    ('url("http://a:b:c@%C3%A9/a;b?\\u00e9=\\u00fc#x").getScheme()', '"http"', 4),
    ('url("//@1.2.3.4/a//b?\\u00e9=\\u00fc#").getScheme()', '""', 3),
    ('url("mailto:@1.2.3.4:99999/?a").getScheme()', '"mailto"', 4),
    ('url("ftp:u:p@a^b/a;b?\\u00e9=\\u00fc").getScheme()', '"ftp"', 3),
    ('url("//u@example.com:99999/a;b?a=b=c#a b").getScheme()', '""', 5),
]  # fmt: skip


@pytest.mark.parametrize("row", SCHEME_IS_IN_LOWER_CASE, ids=itemgetter(0))
def test_scheme_is_in_lower_case(check, row):
    check(*row)


HOSTNAME_IS_WITHOUT_BRACKETS_AND_PORT = [
    ("url('https://user:pw@example.com:8080/a%20b/c?x=1&y=2&x=3#frag').getHostname()", '"example.com"', 7),
    ("url('https://[::1]:80/path').getHostname()", '"::1"', 4),
    ("url('https://[::1%25eth0]:80/path').getHostname()", '"::1%eth0"', 4),
    ('url("a+b.c-1://u@%C3%A9:99999/a;b?&&#").getHostname()', '"\u00e9"', 5),
    ('url("/@\\u00e9.com:").getHostname()', '""', 2),
    ('url("http:/a<b:99999/a[b]?\\u00e9=\\u00fc").getHostname()', '""', 4),
    ('url("HTTP://a:b:c@1.2.3.4/a%2fb?a=1&b=2&a=3").getHostname()', '"1.2.3.4"', 5),
    ('url("ftp:[::1%en]:80:90/?a b=c").getHostname()', '""', 4),
    ('url("ftp:u%40:p@%41:x/a%?a=1&b=2&a=3#a b").getHostname()', '""', 5),
    ('url("a+b.c-1://u%40:p@[fe80::1%25en0]/a%2fb?a=%41+b#x").getHostname()', '"fe80::1%en0"', 6),
    ('url("http:/a_b:99999/a//b?").getHostname()', '""', 4),
    ('url("/a:b:c@[fe80::1%25en0]:8a/a%2fb?\\u00e9=\\u00fc#a b").getHostname()', '""', 5),
    ('url("//a_b:80:90/a|b?a=1&b=2&a=3").getHostname()', '"a_b:80"', 4),
    ('url("http:/@\\u00e9.com?\\u00e9=\\u00fc#a b").getHostname()', '""', 3),
    ('url("/a*b?a=1&b=2&a=3").getHostname()', '""', 3),
    ('url("ftp:@example.com:/<?a=%zz").getHostname()', '""', 4),
    ('url("http:/A-B/a?a=%zz").getHostname()', '""', 3),
    ('url("/@a%20b:80/(x)?a b=c#x").getHostname()', '""', 4),
    ('url("mailto:a^b:x/a*b?=b").getHostname()', '""', 3),
    ('url("ws://u@a\\"b:80/<?=b#x").getHostname()', '"a\\"b"', 3),
    ('url("/u%40:p@A-B:8a?a b=c").getHostname()', '""', 3),
    ('url("ftp:u:p@1.2.3.4/a%#").getHostname()', '""', 3),
]  # fmt: skip


@pytest.mark.parametrize("row", HOSTNAME_IS_WITHOUT_BRACKETS_AND_PORT, ids=itemgetter(0))
def test_hostname_is_without_brackets_and_port(check, row):
    check(*row)


HOST_IS_WITH_PORT = [
    ("url('https://user:pw@example.com:8080/a%20b/c?x=1&y=2&x=3#frag').getHost()", '"example.com:8080"', 7),
    ("url('https://[::1]:80/path').getHost()", '"[::1]:80"', 4),
    ("url('//host/path').getHost()", '"host"', 3),
    ("url('http://a?b/c').getHost()", '"a"', 3),
    ('url("a:80/a%zz?a b=c").getHost()', '""', 3),
    ('url("/u@%C3%A9:80/(x)?&&").getHost()', '""', 3),
    ('url("https://%C3%A9:99999/a[b]?&&#").getHost()', '"\u00e9:99999"', 4),
    ('url("HTTP://:/a%2fb#x").getHost()', '":"', 3),
    ('url("ftp:u%40:p@a|b:80/a%20b?a=1#a b").getHost()', '""', 5),
    ('url("mailto:@%41:8a/a[b]?a=%zz").getHost()', '""', 4),
    ('url("mailto:1.2.3.4:99999/(x)?a=b=c#").getHost()', '""', 5),
    ('url("http:/u:p@\\u00e9.com/a*b?\\u00e9=\\u00fc").getHost()', '""', 4),
    ('url("ftp://@:99999/(x)?a b=c").getHost()', '":99999"', 4),
    ('url("http:/[::1]:x/a%20b#").getHost()', '""', 3),
    ('url("http:/a\\"b:80:90/a|b#").getHost()', '""', 3),
    ('url("mailto:a%20b:99999/a\\"b?a b=c#").getHost()', '""', 4),
    ('url("ftp:a%20b:80:90/a;b?\\u00e9=\\u00fc").getHost()', '""', 4),
    ('url("ftp:a/a//b?&&").getHost()', '""', 3),
    ('url("//u@%C3%A9/a^b`{}?&&#a b").getHost()', '"\u00e9"', 4),
    ('url("/u:p@a b/(x)").getHost()', '""', 3),
    ('url("https://[::1]:/a*b?a=%41+b#").getHost()', '"[::1]:"', 4),
]  # fmt: skip


@pytest.mark.parametrize("row", HOST_IS_WITH_PORT, ids=itemgetter(0))
def test_host_is_with_port(check, row):
    check(*row)


PORT_IS_DIGITS = [
    ("url('https://user:pw@example.com:8080/a%20b/c?x=1&y=2&x=3#frag').getPort()", '"8080"', 7),
    ("url('http://a:1?b').getPort()", '"1"', 3),
    ('url("/a:b:c@a_b:x/a%20b?a=1&b=2&a=3#").getPort()', '""', 5),
    ('url("HTTP://u@a_b/a%20b?=b#a b").getPort()', '""', 4),
    ('url("ftp://@1.2.3.4:/a//b?a=1").getPort()', '""', 4),
    ('url("HTTP://u:p@A-B:80/a?a=1&b=2&a=3#").getPort()', '"80"', 5),
    ('url("mailto:a:b:c@a:80:90/a|b").getPort()', '""', 4),
    ('url("https://u:p@a<b/a%20b?a=1#x").getPort()', '""', 4),
    ('url("mailto:u@a b:/a[b]?a").getPort()', '""', 3),
    ('url("/u:p@[::1]/(x)?a=%zz#x").getPort()', '""', 4),
    ('url("a:b:c@1.2.3.4/a%?a=%41+b#x").getPort()', '""', 4),
    ('url("/u:p@1.2.3.4:80/a//b?#").getPort()', '""', 4),
    ('url("//A-B:99999/?a b=c").getPort()', '"99999"', 3),
    ('url("/example.com:8a/<?a=b=c#").getPort()', '""', 4),
    ('url("HTTP://u%40:p@1.2.3.4:/a[b]?a=%zz#a b").getPort()', '""', 5),
    ('url("a+b.c-1://@:/a^b`{}?a b=c#x").getPort()', '""', 4),
    ('url("ftp:@a\\"b:99999/a*b?a b=c#").getPort()', '""', 4),
]  # fmt: skip


@pytest.mark.parametrize("row", PORT_IS_DIGITS, ids=itemgetter(0))
def test_port_is_digits(check, row):
    check(*row)


PATH_IS_ESCAPED_WHERE_IT_MUST_BE = [
    ("url('https://user:pw@example.com:8080/a%20b/c?x=1&y=2&x=3#frag').getEscapedPath()", '"/a%20b/c"', 7),
    ("url('/a b').getEscapedPath()", '"/a%20b"', 2),
    ("url('/\u00e9').getEscapedPath()", '"/%C3%A9"', 2),
    ("url('/a#b').getEscapedPath()", '"/a"', 2),
    ("url('/a?x=1#b').getEscapedPath()", '"/a"', 2),
    ("url('http://a/#').getEscapedPath()", '"/"', 2),
    ("url('http://a/b#%41').getEscapedPath()", '"/b"', 3),
    ("url('http://a?b/c').getEscapedPath()", '""', 3),
    ('url("ftp://1.2.3.4/a^b`{}?\\u00e9=\\u00fc#x").getEscapedPath()', '"/a%5Eb%60%7B%7D"', 4),
    ('url("mailto:a:b:c@a b:80/a|b?&&#").getEscapedPath()', '""', 4),
    ('url("/1.2.3.4:80:90/a|b?&&").getEscapedPath()', '"/1.2.3.4:80:90/a%7Cb"', 4),
    ('url("https://a:b:c@/a\\"b#a b").getEscapedPath()', '"/a%22b"', 4),
    ('url("http:/u:p@a^b:8a/a[b]?a;b=1#x").getEscapedPath()', '"/u:p@a%5Eb:8a/a%5Bb%5D"', 4),
    ('url("mailto:u^@a_b:80:90/a^b`{}?a=%zz#").getEscapedPath()', '""', 5),
    ('url("mailto:[fe80::1%25en0]:?a;b=1#a b").getEscapedPath()', '""', 5),
    ('url("//%C3%A9/a[b]?\\u00e9=\\u00fc#").getEscapedPath()', '"/a[b]"', 3),
    ('url("ftp:u:p@:x/a%2fb").getEscapedPath()', '""', 3),
    ('url("ws://%C3%A9:/a^b`{}#x").getEscapedPath()', '"/a%5Eb%60%7B%7D"', 4),
    ('url("ftp://u:p@A-B:/?\\u00e9=\\u00fc").getEscapedPath()', '"/"', 3),
    ('url("/@A-B:80/a%2fb?a#").getEscapedPath()', '"/@A-B:80/a%2fb"', 3),
    ('url("ftp://[fe80::1%25en0]/a[b]?#x").getEscapedPath()', '"/a[b]"', 4),
    ('url("ftp:u%40:p@a b:80:90/a;b?=b#x").getEscapedPath()', '""', 4),
    ('url("//u:p@[::1]:/a?a=%41+b").getEscapedPath()', '"/a"', 4),
    ('url("//\\u00e9.com:99999/<?a#").getEscapedPath()', '"/%3C"', 3),
    ('url("ftp:u:p@[::1]:?=b").getEscapedPath()', '""', 3),
    ('url("a+b.c-1://a<b/a%20b?=b#").getEscapedPath()', '"/a%20b"', 4),
    ('url("mailto:u@a\\\\b/a%2fb?a b=c#").getEscapedPath()', '""', 4),
    ('url("HTTP://a\\"b/\\u00e9?a=%zz#x").getEscapedPath()', '"/%C3%A9"', 3),
    ('url("ftp:a%20b/a\\"b?a=1").getEscapedPath()', '""', 3),
    ('url("/%41:80:90/a;b?a=1").getEscapedPath()', '"/%41:80:90/a;b"', 3),
    ('url("http:/@[fe80::1%25en0]/?a=1&b=2&a=3#x").getEscapedPath()', '"/@[fe80::1%25en0]/"', 5),
    ('url("ftp:[::1]/<?&&").getEscapedPath()', '""', 3),
    ('url("http:/u:p@%C3%A9/a%20b?").getEscapedPath()', '"/u:p@%C3%A9/a%20b"', 4),
    ('url("u:p@a\\\\b:99999/a;b?a;b=1#").getEscapedPath()', '""', 4),
    ('url("/u^@A-B:99999/").getEscapedPath()', '"/u%5E@A-B:99999/"', 3),
    ('url("ftp://u%40:p@:/a|b?a=b=c").getEscapedPath()', '"/a%7Cb"', 4),
]  # fmt: skip


@pytest.mark.parametrize("row", PATH_IS_ESCAPED_WHERE_IT_MUST_BE, ids=itemgetter(0))
def test_path_is_escaped_where_it_must_be(check, row):
    check(*row)


QUERY_IS_GROUPED_BY_KEY = [
    ("url('/a?b=c').getQuery()", '{"b": ["c"]}', 2),
    ("url('/a?b').getQuery()", '{"b": [""]}', 2),
    ("url('/a?b;c=1').getQuery()", "{}", 2),
    ("url('/a?b=%zz&c=d+e%20f').getQuery()", '{"c": ["d e f"]}', 3),
    ("url('/a?x=1#b').getQuery()", '{"x": ["1"]}', 2),
    ("url('http://a/b#c?d=1').getQuery()", "{}", 3),
    ('url("//a:b:c@a<b/?a b=c").getQuery()', '{"a b": ["c"]}', 3),
    ('url("ftp:u:p@a|b:8a/a%zz?a=%41+b#a b").getQuery()', '{"a": ["A b"]}', 5),
    ('url("http://a:b:c@/a b?a=1&b=2&a=3").getQuery()', '{"a": ["1", "3"], "b": ["2"]}', 4),
    ('url("mailto:a:b:c@%C3%A9:x/a?a b=c#a b").getQuery()', '{"a b": ["c"]}', 5),
    ('url("a+b.c-1://a:b:c@[::1]/a b?a=1#").getQuery()', '{"a": ["1"]}', 4),
    ('url("HTTP://u%40:p@a\\"b:").getQuery()', "{}", 3),
    ('url("//@[::1]/a#").getQuery()', "{}", 3),
    ('url("u:p@a\\\\b:8a/a*b?a b=c").getQuery()', '{"a b": ["c"]}', 3),
    ('url("https://u%40:p@a\\"b/a;b?").getQuery()', "{}", 4),
    ('url("ftp://a_b/a\\"b?a b=c").getQuery()', '{"a b": ["c"]}', 3),
    ('url("/@a\\"b:80:90?&&#x").getQuery()', "{}", 3),
    ('url("mailto:u^@a:x/a//b?a;b=1#").getQuery()', "{}", 4),
    ('url("/u%40:p@a b/a%2fb?a=%41+b").getQuery()', '{"a": ["A b"]}', 4),
    ('url("ftp:a b:99999/?").getQuery()', "{}", 3),
    ('url("/[::1]:99999/\\u00e9?a=b=c#").getQuery()', '{"a": ["b=c"]}', 4),
    ('url("mailto:a\\"b:99999/(x)?&&#a b").getQuery()', "{}", 4),
    ('url("mailto:u@a^b:x/a*b?a=1").getQuery()', '{"a": ["1"]}', 4),
    ('url("mailto:u@[::1]/(x)?#").getQuery()', "{}", 3),
    ('url("/u@a^b:80:90/\\u00e9?&&#a b").getQuery()', "{}", 4),
    ('url("ftp://@/a|b?&&#").getQuery()', "{}", 3),
    ('url("/a_b:80:90/a%2fb?a=%41+b#a b").getQuery()', '{"a": ["A b"]}', 4),
    ('url("mailto::80/a%?a;b=1#x").getQuery()', "{}", 4),
    ('url("ftp:u:p@a_b:99999/a b#x").getQuery()', "{}", 4),
    ('url("u:p@[::1:80/a\\"b?a").getQuery()', '{"a": [""]}', 3),
    ('url("http:/@1.2.3.4:/a\\"b?a=%41+b").getQuery()', '{"a": ["A b"]}', 4),
    ('url("//a<b/\\u00e9?=b#").getQuery()', '{"": ["b"]}', 3),
    ('url("mailto::80/a%zz?a b=c").getQuery()', '{"a b": ["c"]}', 4),
    ('url("https://u@a_b:/a?a;b=1#").getQuery()', "{}", 4),
    ('url("a+b.c-1://:99999/a\\"b").getQuery()', "{}", 3),
]  # fmt: skip


@pytest.mark.parametrize("row", QUERY_IS_GROUPED_BY_KEY, ids=itemgetter(0))
def test_query_is_grouped_by_key(check, row):
    check(*row)


URL_IS_READ_AS_GO_READS_REQUESTS = [
    ("url('https://user:pw@example.com:8080/a%20b/c?x=1&y=2&x=3#frag')", "url(U)", 6),
    ("url('/a/b') == url('/a/b')", "true", 3),
    ("url('/a/b') == dyn('x')", "error: no such overload", 2),
    ("dyn('x') == url('/a')", "false", 2),
    ("url('')", 'error: URL parse error during conversion from string: parse "": empty url', 0),
    ("url('http:opaque')", "url(U)", 2),
    ("url('mailto:a@b')", "url(U)", 1),
    ("url('*')", "url(U)", 1),
    ("type(url('/a'))", "kubernetes.URL", 2),
    ("url('#x')", 'error: URL parse error during conversion from string: parse "#x": invalid URI for request', 1),
    ("url('http:#x')", "url(U)", 1),
    ('url("https://[fe80::1%25en0]:/<?&&#a b")', "url(U)", 4),
    ('url("ftp:u^@a:8a/(x)?\\u00e9=\\u00fc#a b")', "url(U)", 3),
    ('url("https://u%40:p@/<?a b=c#x")', "url(U)", 3),
    ('url("/u:p@\\u00e9.com:/#x")', "url(U)", 2),
    ('url("a+b.c-1://:80:90/a[b]?&&#")', "url(U)", 3),
    ('url("mailto:u^@a\\\\b/a[b]?a=1&b=2&a=3")', "url(U)", 3),
    ('url("http:/a:b:c@a\\\\b:x/<?a;b=1#a b")', "url(U)", 3),
    ('url("http:/a<b:99999/(x)?\\u00e9=\\u00fc")', "url(U)", 3),
    ('url("/?a=1&b=2&a=3#x")', "url(U)", 2),
    ('url("http://:80/a;b?a=b=c")', "url(U)", 2),
    ('url("ftp:u@a%20b:99999/(x)?a=b=c#x")', "url(U)", 3),
    ('url("a:8a/<?a=b=c#x")', "url(U)", 2),
    ('url("//@:80:90/(x)?=b#a b")', "url(U)", 2),
    ('url("ws://a_b:99999/a[b]?a=b=c#a b")', "url(U)", 3),
    ('url("http:/a b:80/a;b?a b=c#a b")', "url(U)", 3),
    ('url("mailto:@%C3%A9/?a=%zz#a b")', "url(U)", 3),
    ('url("/a:b:c@a%20b:8a/<?a=1#")', "url(U)", 3),
    ('url("ftp:[::1]:/<?&&#")', "url(U)", 2),
    ('url("http:/u%40:p@[::1]:8a/a%20b?a=1#")', "url(U)", 4),
    ('url("u:p@a%zz:99999/")', "url(U)", 2),
    ('url("ftp:u%40:p@1.2.3.4:/a;b?=b#a b")', "url(U)", 3),
    ('url("ws://A-B/a b?a")', "url(U)", 2),
    ('url("mailto:@%41:80:90/a//b?a=1&b=2&a=3#a b")', "url(U)", 4),
    ('url("https://@1.2.3.4/a|b#")', "url(U)", 3),
    ('url("mailto:u@/?a=1#")', "url(U)", 2),
    ('url("ftp:a:b:c@:x/a%20b")', "url(U)", 2),
    ('url("http:/u^@\\u00e9.com:99999/a%2fb?a=%zz")', "url(U)", 4),
    ('url("u:p@[fe80::1%25en0]:99999/a%?=b#a b")', "url(U)", 4),
    ('url("http:/@:99999#")', "url(U)", 2),
    ('url("ftp://u%40:p@example.com/a[b]?a=%zz#x")', "url(U)", 4),
    ('url("http:/a\\"b:80:90/a b?a#x")', "url(U)", 3),
    ('url("mailto:@a:x/a*b?&&")', "url(U)", 2),
    ('url("/u@a:99999/a*b?=b")', "url(U)", 2),
    ('url("mailto:u:p@a%20b:99999/a*b?a=%zz")', "url(U)", 4),
]  # fmt: skip


@pytest.mark.parametrize("row", URL_IS_READ_AS_GO_READS_REQUESTS, ids=itemgetter(0))
def test_url_is_read_as_go_reads_requests(check, row):
    check(*row)
