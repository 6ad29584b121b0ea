"""The json5 dialect against the grammar of json5.org: what it takes, to the value, and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import pytest
from support.runner import run
from support.splits import each, two_way
from support.values import show

INF = math.inf

TAKEN: list[tuple[str, Any]] = [
    # Objects and keys
    ("{}", {}),
    ("{a:1,}", {"a": 1}),
    ("{$:1,_:2,$_9:3}", {"$": 1, "_": 2, "$_9": 3}),
    ("{'a':1,\"b\":2}", {"a": 1, "b": 2}),
    ("{null:1,true:2,NaN:3,Infinity:4}", {"null": 1, "true": 2, "NaN": 3, "Infinity": 4}),
    (r"{\u0061b:1,c\u0064:2}", {"ab": 1, "cd": 2}),
    ("{ultra\u00e9:1,\u2167:2}", {"ultra\u00e9": 1, "\u2167": 2}),
    ("{\u0939\u093f\u0928\u094d\u0926\u0940:1}", {"\u0939\u093f\u0928\u094d\u0926\u0940": 1}),
    ("{e\u0301:1,a\u203fb:2,a\u200cb:3}", {"e\u0301": 1, "a\u203fb": 2, "a\u200cb": 3}),
    ("{\U00010400:1}", {"\U00010400": 1}),
    # Arrays and numbers
    ("[]", []),
    ("[1,]", [1]),
    ("[+1,-1,+.5,-.5,5.,-5.,5.e1,.5e-1]", [1, -1, 0.5, -0.5, 5.0, -5.0, 50.0, 0.05]),
    ("[0x0,-0xC8,+0xaf,0XF]", [0, -200, 175, 15]),
    ("[Infinity,-Infinity,+Infinity]", [INF, -INF, INF]),
    ("[NaN,-NaN,+NaN]", [math.nan] * 3),
    # Strings
    (r"""'a\'b"c'""", "a'b\"c"),
    (r"""["a\'b",'\"']""", ["a'b", '"']),
    (r"'\x41\u0042\v\0\b\f\n\r\t\\\/'", "AB\v\0\b\f\n\r\t\\/"),
    (r"'\a\q\z\$\A\ '", "aqz$A "),
    ("'a\\\nb\\\r\nc\\\rd\\\u2028e\\\u2029f'", "abcdef"),
    ("'a\u2028b\t\x01'", "a\u2028b\t\x01"),
    # Comments and white space
    ("// c\n1", 1),
    ("// c\r1", 1),
    ("// c\u20281", 1),
    ("// c\u20291", 1),
    ("1// c", 1),
    ("{}//", {}),
    ("[1] // c", [1]),
    ("/* a */1/* b **/", 1),
    ("{/*c*/a/*d*/:/*e*/1/*f*/}", {"a": 1}),
    ("[//x\n1,//y\r2//z\u2028]", [1, 2]),
    ("\t\v\f \u00a0\ufeff\u2003\u3000\u16801\u2028\u2029", 1),
]

REFUSED = [
    *("", "{a:1,,}", "[,]", "[1,,2]", "{,}", "{a 1}", "{a=1}", "{a-b:1}", "{1a:1}", "{a b:1}", "[1 2]", "{a:}", "{:1}"),
    *("01", "-01", "00", "0x", "0xG", "0x1.5", "+-1", "++1", "+ 1", "- 1", "1_0", ".", "e5", ".e5", "5e", "1e+", "tru"),
    *("nulls", "NaNs", "nan", "inf", "infinity", "undefined", "True", "None", "{a:b}", "[a]", "[...]", "{a:1;b:2}"),
    *("'a", "'a\nb'", '"a\rb"', r"'\1'", r"'\9'", r"'\01'", r"'\x4'", r"'\xg1'", r"'\u12'", r"'\u{41}'"),
    *("# c\n1", "/* x", "/x", "1/*", "[1}", "{a:1]", "{a:1}}", "{}{}", "1 2", "{'a':1 'b':2}", "{a:1,/}"),
    *("\u201ca\u201d", "`a`", "'''a'''", "'a' + 'b'", "```json\n{}\n```", "hi {a:1}", "{a:1} bye", "{a\uff1a1}"),
    # No identifiers, and no white space
    *(r"{a\u002db:1}", r"{\u0031a:1}", r"{a\x62:1}", "{\u00b2:1}", "{a\u00bd:1}", "{\u0301:1}", "{\u200ca:1}"),
    *("\u200b1", "\u180e1", "\u20601", "\x851", "\x1c1", "\x001", "{a\u200b :1}"),
]


@pytest.mark.parametrize(("text", "data"), TAKEN)
def test_taken(text: str, data: Any) -> None:
    whole = run([text], dialect="json5")
    assert whole.error is None
    assert whole.complete
    assert whole.data == show(data)
    for chunks in (each(text), each(text.encode()), *two_way(text)):
        assert run(chunks, dialect="json5") == whole


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    whole = run([text], dialect="json5")
    assert whole.error is not None
    for chunks in (each(text), each(text.encode()), *two_way(text)):
        assert run(chunks, dialect="json5") == whole
