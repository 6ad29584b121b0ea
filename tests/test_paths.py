"""Paths: written in three styles, read back, matched; against RFC 6901 and a second reader of the dot style."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.dotpath import read_dot

from streamparse import StreamParser, UsageError
from streamparse.paths import PathPattern, format_path, parse_path, to_pointer, wildcard

Parts = tuple[str | int, ...]

keys = st.one_of(
    st.sampled_from(
        [
            "",
            "*",
            "**",
            "a.b",
            "0",
            "007",
            "-1",
            "a b",
            "[0]",
            '"',
            "\\",
            "a/b",
            "~",
            "~1",
            "é",
            "名前",
            "x1",
            "_",
            "$ref",
            "²",
            "a\nb",
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.text('ab.[]"/*~0 ', max_size=6),
)
paths = st.lists(st.one_of(keys, st.integers(0, 10**6)), max_size=6).map(tuple)


@pytest.mark.parametrize(
    ("parts", "dot", "slash", "pointer"),
    [
        ((), "", "", ""),
        (("tips", 0, "text"), "tips[0].text", "tips/0/text", "/tips/0/text"),
        (("a.b",), '["a.b"]', '"a.b"', "/a.b"),
        (("x", "a b", "c"), 'x["a b"].c', 'x/"a b"/c', "/x/a b/c"),
        (("",), '[""]', '""', "/"),
        (("*",), '["*"]', '"*"', "/*"),
        (("0",), '["0"]', '"0"', "/0"),
        ((0,), "[0]", "0", "/0"),
        ((0, 1, "a"), "[0][1].a", "0/1/a", "/0/1/a"),
        (("a", 12), "a[12]", "a/12", "/a/12"),
        (("1a",), '["1a"]', '"1a"', "/1a"),
        (("a1", "_x", "_"), "a1._x._", "a1/_x/_", "/a1/_x/_"),
        (("é", "名前", "привет"), "é.名前.привет", "é/名前/привет", "/é/名前/привет"),
        (("a/b", "m~n"), '["a/b"]["m~n"]', '"a/b"/"m~n"', "/a~1b/m~0n"),
        (("a-b", "$ref"), '["a-b"]["$ref"]', '"a-b"/"$ref"', "/a-b/$ref"),
        (('q"q', "b\\"), r'["q\"q"]["b\\"]', r'"q\"q"/"b\\"', '/q"q/b\\'),
        (("x", ""), 'x[""]', 'x/""', "/x/"),
        (("[0]",), '["[0]"]', '"[0]"', "/[0]"),
        (("так нет",), '["так нет"]', '"так нет"', "/так нет"),
    ],
)
def test_styles(parts: Parts, dot: str, slash: str, pointer: str) -> None:
    assert format_path(parts) == format_path(parts, style="dot") == dot
    assert format_path(parts, style="slash") == slash
    assert format_path(parts, style="pointer") == to_pointer(parts) == pointer
    assert parse_path(dot) == parse_path(slash, style="slash") == parts


@pytest.mark.parametrize("key", ["\ud800", "x\udfff", "ё\udabc"])
def test_a_lone_surrogate_is_escaped(key: str) -> None:
    """A path can be encoded, whatever the key holds."""
    for style in ("dot", "slash"):
        text = format_path((key,), style=style)
        assert f"\\u{ord(key[-1]):x}" in text.encode().decode()
        assert parse_path(text, style=style) == (key,)


@given(parts=paths)
def test_dot_and_slash_parse_back(parts: Parts) -> None:
    for style in ("dot", "slash"):
        text = format_path(parts, style=style)
        back = parse_path(text, style=style)
        assert back == parts
        assert [type(part) for part in back] == [type(part) for part in parts]


@given(parts=paths)
def test_dot_as_the_design_says(parts: Parts) -> None:
    """The second reader, which also refuses needless quotes, reads the same."""
    assert read_dot(format_path(parts)) == parts


@given(one=paths, other=paths)
def test_a_path_names_one_place_only(one: Parts, other: Parts) -> None:
    for style in ("dot", "slash"):
        same = format_path(one, style=style) == format_path(other, style=style)
        assert same == (one == other)


@given(parts=paths)
def test_pointer_is_rfc_6901(parts: Parts) -> None:
    """Section 3: `~` is `~0`, `/` is `~1`, in this order; section 4: the other way round to read. Indexes come back as
    keys."""
    text = to_pointer(parts)
    assert text == "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)
    assert parse_path(text, style="pointer") == tuple(str(part) for part in parts)
    assert format_path(parse_path(text, style="pointer"), style="pointer") == text


@pytest.mark.parametrize(
    ("parts", "dot", "slash", "pointer"),
    [
        (("tips", 3, "text"), "tips[*].text", "tips/*/text", "/tips/*/text"),
        ((0, 1), "[*][*]", "*/*", "/*/*"),
        (("*", 0), '["*"][*]', '"*"/*', "/*/*"),
        (("a", "0"), 'a["0"]', 'a/"0"', "/a/0"),
        ((), "", "", ""),
    ],
)
def test_wildcard(parts: Parts, dot: str, slash: str, pointer: str) -> None:
    assert wildcard(parts) == dot
    assert wildcard(parts, style="slash") == slash
    assert wildcard(parts, style="pointer") == pointer


WORD = r"[^\W\d]\w*"
STRING = r'"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
INDEX = r"[0-9]+"
DOT = re.compile(rf"(?:(?:{WORD}|\[{INDEX}\]|\[{STRING}\])(?:\.{WORD}|\[{INDEX}\]|\[{STRING}\])*)?\Z")
SLASH = re.compile(rf"(?:(?:{WORD}|{INDEX}|{STRING})(?:/(?:{WORD}|{INDEX}|{STRING}))*)?\Z")


@given(text=st.one_of(st.text('a0.[]"*/ \\\n', max_size=10), st.text(max_size=6)))
def test_what_is_no_path_is_refused(text: str) -> None:
    """Read if and only if the grammar has it; the refusal is ours and names the text."""
    for style, grammar in (("dot", DOT), ("slash", SLASH)):
        if grammar.match(text):
            parse_path(text, style=style)
        else:
            with pytest.raises(UsageError) as caught:
                parse_path(text, style=style)
            assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "a..b",
        ".a",
        "a.",
        "a[",
        "a]",
        "a[x]",
        'a["x]',
        "a[-1]",
        "a[1.5]",
        "1a",
        "a b",
        "a.[0]",
        "[0]a",
        "a.0",
        '"a"',
        "a[*]",
        "a.*",
        "**",
    ],
)
def test_no_dot_path(text: str) -> None:
    with pytest.raises(UsageError):
        parse_path(text)


@pytest.mark.parametrize("text", ["/a", "a/", "a//b", "a b", "-1", "a/*", '"a', "**"])
def test_no_slash_path(text: str) -> None:
    with pytest.raises(UsageError):
        parse_path(text, style="slash")


@pytest.mark.parametrize("text", ["a", "a/b", "/~", "/~2", "/a~"])
def test_no_pointer(text: str) -> None:
    with pytest.raises(UsageError):
        parse_path(text, style="pointer")


@pytest.mark.parametrize(
    ("style", "text", "position"),
    [
        ("dot", "a..b", 1),
        ("dot", "[0]a", 3),
        ("dot", "ab.1c", 2),
        ("dot", "x b", 1),
        ("dot", 'abc["\\x"]', 3),
        ("dot", "a[0].*b", 6),
        ("dot", "a*", 1),
        ("slash", "a//b", 2),
        ("slash", "a/", 2),
        ("slash", "/a", 0),
        ("slash", "ab/c d", 3),
        ("slash", 'ab/"\\x"', 3),
        ("pointer", "a/b", 0),
        ("pointer", "/~2", 1),
        ("pointer", "/~0/~1/~", 7),
    ],
)
def test_a_refusal_says_where(style: str, text: str, position: int) -> None:
    """The text, the first character of the part that cannot be read, and how a path is written."""
    with pytest.raises(UsageError) as caught:
        parse_path(text, style=style)  # type: ignore[arg-type]
    assert repr(text) in caught.value.message
    assert re.findall(r"character (\d+)\Z", caught.value.message) == [str(position)]
    assert "tips[0].text" in str(caught.value.hint)


@pytest.mark.parametrize(("style", "text"), [("dot", "tips[*].text"), ("dot", "**.a"), ("slash", "tips/*")])
def test_a_pattern_is_no_path(style: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_path(text, style=style)  # type: ignore[arg-type]
    assert repr(text) in caught.value.message
    assert "PathPattern" in str(caught.value.hint)


def test_a_line_break_in_a_quoted_key_may_stand_as_it_is() -> None:
    assert parse_path('a["b\nc"]') == parse_path('a/"b\nc"', style="slash") == ("a", "b\nc")


@pytest.mark.parametrize("text", ["[" + "9" * 5000 + "]", "0\n", "[0]\n", "a\n"])
def test_traps_of_the_language(text: str) -> None:
    """`int()` of many digits and `$` before a line end are CPython's affairs, not the caller's."""
    for style in ("dot", "slash"):
        with pytest.raises(UsageError):
            parse_path(text, style=style)


@pytest.mark.parametrize("value", [None, 5, ("a",), b"a"])
def test_a_path_is_text(value: object) -> None:
    with pytest.raises(UsageError, match=rf"a str, got {type(value).__name__}\Z"):
        parse_path(value)  # type: ignore[arg-type]


def test_unknown_style_names_the_known_ones() -> None:
    for call in (lambda: parse_path("a", style="xpath"), lambda: format_path(("a",), style="xpath")):  # type: ignore[arg-type]
        with pytest.raises(UsageError, match=r"xpath.*expected dot, slash, pointer\Z"):
            call()


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (
            "tips[*].text",
            [("tips", 0, "text"), ("tips", 12, "text")],
            [("tips", "text"), ("tips", 0), ("tips", "*", "text"), ("tips", 0, "text", 0)],
        ),
        ("tips[0].text", [("tips", 0, "text")], [("tips", 1, "text")]),
        ("", [()], [("a",), (0,)]),
        ("a", [("a",)], [(), ("a", "b"), ("b",), (0,)]),
        ('["*"]', [("*",)], [("a",), (0,)]),
        ('["0"]', [("0",)], [(0,)]),
        ("[0]", [(0,)], [("0",)]),
        ("[*]", [(0,), (7,)], [("0",), ("a",), (0, 0)]),
        ("[*][*]", [(0, 1)], [(0,), (0, "a")]),
        ("user.*", [("user", "a"), ("user", "")], [("user",), ("user", 0), ("user", "a", "b")]),
        ("**.text", [("text",), ("a", "text"), ("a", 0, "b", "text")], [(), ("a",), ("text", "a")]),
        ("**", [(), ("a",), (0, "a", 1)], []),
        ("a.**", [("a",), ("a", "b"), ("a", 0, "c")], [(), ("b",), ("b", "a")]),
        ("a.**.b.**.c", [("a", "b", "c"), ("a", 0, "b", 1, 2, "b", "c")], [("a", "c", "b"), ("a", "b"), ("b", "c")]),
        ("**.a[*]", [("a", 0), ("x", "a", 3)], [("a",), ("a", "0"), ("a", 0, 1)]),
    ],
)
def test_patterns(pattern: str, yes: list[Parts], no: list[Parts]) -> None:
    matcher = PathPattern(pattern)
    assert [parts for parts in yes if not matcher.matches(parts)] == []
    assert [parts for parts in no if matcher.matches(parts)] == []


@given(parts=paths, other=paths)
def test_a_path_is_the_pattern_of_itself(parts: Parts, other: Parts) -> None:
    assert PathPattern(format_path(parts)).matches(parts)
    assert PathPattern(format_path(parts)).matches(other) == (parts == other)
    assert PathPattern(wildcard(parts)).matches(parts)
    assert PathPattern("**").matches(parts)


names = st.sampled_from(["a", "b", 0, 1])


@given(
    pattern=st.lists(st.sampled_from(["a", "b", "[0]", "[*]", "*", "**"]), max_size=6),
    parts=st.lists(names, max_size=8),
)
def test_patterns_against_a_regular_expression(pattern: list[str], parts: list[str | int]) -> None:
    """Parts as characters, the pattern as an expression over them."""
    letters = {"a": "a", "b": "b", 0: "0", 1: "1"}
    expressions = {"a": "a", "b": "b", "[0]": "0", "[*]": "[01]", "*": "[ab]", "**": ".*"}
    text = ""
    for piece in pattern:
        text += piece if piece.startswith("[") or not text else f".{piece}"
    want = re.fullmatch("".join(expressions[piece] for piece in pattern), "".join(letters[part] for part in parts))
    assert PathPattern(text).matches(tuple(parts)) == bool(want)


@pytest.mark.parametrize("pattern", ["a..b", "a[", "tips[*.text", "a***", 'a["x]'])
def test_no_pattern(pattern: str) -> None:
    with pytest.raises(UsageError):
        PathPattern(pattern)


def test_patterns_are_values() -> None:
    assert PathPattern("a[*]") == PathPattern("a[*]") != PathPattern("a[0]")
    assert hash(PathPattern("a[*]")) == hash(PathPattern("a[*]"))
    assert len({hash(PathPattern(text)) for text in ("", "a", "b", "a[*]", "a.*", "a.**")}) > 1
    assert (PathPattern("a/*", "slash").text, PathPattern("a/*", "slash").style) == ("a/*", "slash")
    assert "a[*]" in repr(PathPattern("a[*]"))


@given(parts=paths.filter(lambda parts: len(parts) > 0), style=st.sampled_from(["dot", "slash", "pointer"]))
def test_events_carry_the_path_in_every_form(parts: Parts, style: str) -> None:
    """A document made round one leaf: the event of the leaf names its place in the style that was asked for."""
    value: object = "x"
    expected: list[str | int] = []
    for part in reversed(parts):
        value = {part: value} if isinstance(part, str) else [0] * min(part, 3) + [value]
        expected.insert(0, part if isinstance(part, str) else min(part, 3))
    parser = StreamParser(dialect="strict", path_style=style)  # type: ignore[arg-type]
    events = [event for event in parser.feed(json.dumps(value)) if event.delta == "x"]
    assert [event.parts for event in events] == [tuple(expected)]
    [event] = events
    assert event.path == format_path(expected, style=style)  # type: ignore[arg-type]
    assert event.wildcard_path == wildcard(expected, style=style)  # type: ignore[arg-type]
    assert event.pointer == to_pointer(expected)
    assert event.indexes == tuple(part for part in expected if isinstance(part, int))


@pytest.mark.parametrize(
    ("style", "want"), [("dot", ["b[1]", "b", ""]), ("slash", ["b/1", "b", ""]), ("pointer", ["/b/1", "/b", ""])]
)
def test_incomplete_is_written_in_the_style_that_was_asked_for(style: str, want: list[str]) -> None:
    parser = StreamParser(path_style=style)  # type: ignore[arg-type]
    parser.feed('{"a":"x","b":["y","z')
    assert list(parser.open_paths) == want
    assert list(parser.close().incomplete) == want
