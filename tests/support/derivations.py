"""Random expressions of derived attributes: string functions and lists of strings over one device (CON-12)."""

DOMAIN = "gpu.example.com"
_FIELDS = f"device.attributes['{DOMAIN}']"
LEAVES = {
    "any": ["<string>", "<int>", "<strings>"],
    "string": [
        "'a'", "':'", "'-'", "''", "'00.0'", "device.driver", "%s", "%s", "@bus", "@bus", "@model", "@model", "@long",
        "@word", "@empty", "@missing", "@?missing.orValue('none')", "@?model.orValue('none')", "@i", "string(@i)",
    ],
    "int": ["0", "1", "2", "-1", "5", "100", "@i", "%i"],
    "bool": ["true", "@b", "has(@bus)", "has(@missing)", "@b.includes(true)"],
    "strings": ["['a', 'b']", "@tags", "@tags", "['x']", "@vs", "[]"],
    "ints": ["[1, 2]", "@ints", "lists.range(3)"],
}  # fmt: skip

_ADDRESSES = ("'10.0.0.1'", "'::1'", "<string>")
DEEPER = {
    "any": [
        *["<string>"] * 6, *["<int>"] * 3, *["<strings>"] * 5, "<bool>", "<ints>", "dyn(<strings>)", "dyn(<string>)",
        "(<bool> ? <string> : <string>)", "semver('1.' + string(<int>) + '.0')", "@v", "dyn([<any>, <any>])",
    ],
    "string": [
        "<strings>[<int>]", "<strings>[0]", "<strings>[1]", "<strings>.join(<string>)", "<strings>.join()",
        "<string>.substring(<int>)", "<string>.substring(<int>, <int>)", "<string>.lowerAscii()",
        "<string>.upperAscii()", "<string>.replace(<string>, <string>)", "<string>.replace(<string>, <string>, <int>)",
        "<string>.trim()", "<string>.charAt(<int>)", "<string>.find('[0-9]+')", "<string>.find(<string>)",
        "(<string> + <string>)", "(<string> + <string>)", "(<bool> ? <string> : <string>)", "strings.quote(<string>)",
        "cel.bind($s, <string>, <string>)", "'~s-~d'.format([<string>, <int>])", "string(<int>)", "<strings>.min()",
        "<strings>.max()", "<strings>.first().orValue(<string>)", "<strings>.last().value()", "string(bytes(<string>))",
        "dyn(<string>)", "string(<string>)", "<strings>.distinct()[0]",
    ],
    "int": [
        "<string>.size()", "size(<string>)", "<string>.indexOf(<string>)", "<string>.indexOf(<string>, <int>)",
        "<string>.lastIndexOf(<string>)", "<string>.lastIndexOf(<string>, <int>)", "int(<string>)", "(<int> + <int>)",
        "(<int> % 3)", "<strings>.size()", "<ints>[<int>]", "<ints>.sum()", "<ints>.max()",
        "<strings>.indexOf(<string>)",
        "(<bool> ? <int> : <int>)", "cel.bind($i, <int>, <int>)", "@v.major()", "<strings>.lastIndexOf(<string>)",
        f"device.capacity['{DOMAIN}'].memory.asInteger()",
    ],
    "bool": [
        "<string>.startsWith(<string>)", "<string>.endsWith(<string>)", "<string>.contains(<string>)",
        "<string>.matches('^[a-z]+$')", "<string>.matches(<string>)", "<string> == <string>", "<string> < <string>",
        "<string> in <strings>", "<string> in ['a', 'b']", "<strings>.exists($s, <bool>)", "<strings>.all($s, <bool>)",
        "<strings>.exists_one($s, <bool>)", "(<bool> && <bool>)", "(<bool> || <bool>)", "!<bool>", "<int> < <int>",
        "<strings>.isSorted()", "<strings> == <strings>", "sets.contains(<strings>, <strings>)",
        *(f"isIP({address})" for address in _ADDRESSES), "<strings>.includes(<string>)", "isQuantity(<string>)",
    ],
    "strings": [
        "<string>.split(<string>)", "<string>.split(':')", "<string>.split('')", "<string>.split(<string>, <int>)",
        "<string>.findAll('[0-9a-z]')", "<string>.findAll('[0-9]+', <int>)", "<strings>.map($s, <string>)",
        "<strings>.map($s, <bool>, <string>)", "<strings>.filter($s, <bool>)", "<strings>.distinct()",
        "<strings>.reverse()", "<strings>.slice(0, <int>)", "<strings>.slice(<int>, <int>)", "<strings>.sort()",
        "<strings>.sortBy($s, <int>)", "(<strings> + <strings>)", "[<string>, <string>]",
        "[[<string>], <strings>].flatten()",
        "cel.bind($s, <string>, <strings>)", "dyn(<strings>)", "<strings>.transformList($i, $s, <string>)",
        "(<bool> ? <strings> : <strings>)",
    ],
    "ints": ["<strings>.map($s, <int>)", "<ints>.map($i, <int>)", "<ints>.reverse()", "<ints>.filter($i, <bool>)"],
}  # fmt: skip

INSTEAD = {"s": "@bus", "i": "2"}
"""What is read where no variable is in scope."""


def written(text):
    """An expression with ``@name`` written out, short for an attribute, and ``~``, for the percent sign of a format."""
    return text.replace("@", f"{_FIELDS}.").replace("~", "%")
