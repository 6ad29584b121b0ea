"""Errors: one tree, each with code, place, path, what was expected; and calls that cannot work."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from support.runner import Run, run
from support.splits import each, two_way
from support.values import show

from streamparse import (
    Diagnostic,
    Dialect,
    IncompleteJSONError,
    JSONSyntaxError,
    LimitExceeded,
    Limits,
    ProviderError,
    SchemaError,
    StreamParseError,
    StreamParser,
    UsageError,
)
from streamparse.dialect import LLM, STRICT
from streamparse.errors import DIAGNOSTIC_CODES, ERROR_CODES


def test_the_tree() -> None:
    """What a caller may catch."""
    for kind in (JSONSyntaxError, IncompleteJSONError, LimitExceeded, SchemaError, ProviderError, UsageError):
        assert issubclass(kind, StreamParseError)
    assert issubclass(JSONSyntaxError, ValueError)
    assert not issubclass(IncompleteJSONError, JSONSyntaxError)
    assert not issubclass(LimitExceeded, JSONSyntaxError)


# (text, code, first and last offset that may be named, dot path). A fault inside a token may be reported at the token's
# start or at the character that cannot stand there; everything else has one offset.
FAULTS = [
    ("", "unexpected_end", 0, 0, ""),
    ("   ", "unexpected_end", 3, 3, ""),
    ("[1,]", "unexpected_character", 3, 3, ""),
    ("[1,,2]", "unexpected_character", 3, 3, ""),
    ("[1 2]", "unexpected_character", 3, 3, ""),
    ("[1:2]", "unexpected_character", 2, 2, ""),
    ('{"a":1,}', "unexpected_character", 7, 7, ""),
    ('{"a" 1}', "unexpected_character", 5, 5, None),
    ('{"a":}', "unexpected_character", 5, 5, "a"),
    ('{"a":1 "b":2}', "unexpected_character", 7, 7, ""),
    ("{1:2}", "unexpected_character", 1, 1, ""),
    ("{'a':1}", "unexpected_character", 1, 1, ""),
    ("{a:1}", "unexpected_character", 1, 1, ""),
    ('{"a":1]', "unexpected_character", 6, 6, ""),
    ('{"a":[1}', "unexpected_character", 7, 7, "a"),
    ("['a']", "unexpected_character", 1, 1, None),
    ("]", "unexpected_character", 0, 0, ""),
    ("\ufeff{}", "unexpected_character", 0, 0, ""),
    ("{} x", "trailing_text", 3, 3, ""),
    ("{}{}", "trailing_text", 2, 2, ""),
    ("1 2", "trailing_text", 2, 2, ""),
    ('{"a":["x\ny"]}', "control_character", 8, 8, "a[0]"),
    ('["\x00"]', "control_character", 2, 2, "[0]"),
    ('{"a":"\\x41"}', "invalid_escape", 6, 7, "a"),
    ('{"a":"\\u12g4"}', "invalid_escape", 6, 10, "a"),
    ('["\\\n"]', "invalid_escape", 2, 3, "[0]"),
    ('{"a":01}', "invalid_number", 5, 6, "a"),
    ("[-]", "invalid_number", 1, 2, "[0]"),
    ("[1.]", "invalid_number", 1, 3, "[0]"),
    ("[1e]", "invalid_number", 1, 3, "[0]"),
    ("[1e+]", "invalid_number", 1, 4, "[0]"),
    ("[0x1F]", "invalid_number", 1, 2, "[0]"),
    ('{"a":tru}', "invalid_literal", 5, 8, "a"),
    ('{"a":nulL}', "invalid_literal", 5, 8, "a"),
    ("[truefalse]", "invalid_literal", 1, 5, "[0]"),
    ('{"a":[1', "unexpected_end", 7, 7, None),
    ('{"a', "unexpected_end", 3, 3, None),
    ("tru", "unexpected_end", 3, 3, None),
]


@pytest.mark.parametrize(("text", "code", "first", "last", "path"), FAULTS, ids=[repr(fault[0]) for fault in FAULTS])
def test_faults_of_strict(text: str, code: str, first: int, last: int, path: str | None) -> None:
    """Code, absolute offset, line, column, path; the same for every split, and a `ValueError` unless the text only
    ended too early."""
    done = Run([text], dialect="strict")
    error = done.error
    assert error is not None
    assert error.code == code
    assert isinstance(error, IncompleteJSONError if code == "unexpected_end" else JSONSyntaxError)
    assert error.offset is not None
    assert first <= error.offset <= last
    assert error.line == text[: error.offset].count("\n") + 1
    assert error.column == error.offset - (text[: error.offset].rfind("\n") + 1) + 1
    if path is not None:
        assert error.path == path
    if code == "unexpected_character":
        assert error.expected
        assert error.expected in str(error)
    for chunks in (each(text), each(text.encode()), *two_way(text)):
        assert run(chunks, dialect="strict") == done.outcome


def test_lines_and_columns() -> None:
    """Both from 1; the offset from 0, over all chunks, in characters and not in bytes."""
    text = '{\n  "é😀": [\n    1,\n    oops\n  ]\n}'
    for chunks in ([text], each(text), each(text.encode())):
        error = Run(chunks, dialect="strict").error
        assert error is not None
        assert (error.line, error.column, error.offset) == (4, 5, text.index("oops"))
        assert error.path == '["é😀"][1]'
        for part in ("line 4", "column 5"):
            assert part in str(error)


def test_events_before_the_fault_come_from_the_same_feed() -> None:
    """An event is not lost because its chunk also holds the error."""
    parser = StreamParser(dialect="strict")
    events = parser.feed('{"a":"x","n":1,"b":"part\n"}')
    assert [(event.path, event.event_type, event.delta) for event in events] == [
        ("a", "delta", "x"),
        ("a", "done", None),
        ("n", "delta", "1"),
        ("n", "done", None),
        ("b", "delta", "part"),
    ]
    assert parser.error is not None
    assert parser.snapshot() == {"a": "x", "n": 1, "b": "part"}
    with pytest.raises(JSONSyntaxError):
        parser.close()


def test_feed_does_not_raise_on_what_the_model_wrote() -> None:
    """The fault is in `error`; the next call raises that very error."""
    parser = StreamParser(dialect="strict")
    parser.feed("[1,]")
    with pytest.raises(JSONSyntaxError) as caught:
        parser.feed("")
    assert caught.value is parser.error or caught.value.to_dict() == parser.error.to_dict()  # type: ignore[union-attr]


@pytest.mark.parametrize("dialect", ["strict", "json5"])
def test_incomplete(dialect: str) -> None:
    """Incomplete is not invalid: its own class, with the partial value, the open paths and the last events."""
    parser = StreamParser(dialect=dialect)
    parser.feed('{"a":"x","b":["y","z')
    assert parser.error is None
    with pytest.raises(IncompleteJSONError) as caught:
        parser.close()
    error = caught.value
    assert error.partial == {"a": "x", "b": ["y", "z"]}
    assert list(error.incomplete) == ["b[1]", "b", ""]
    assert [(event.event_type, event.path) for event in error.events] == [("cut", "b[1]"), ("cut", "b"), ("cut", "")]
    assert (error.code, error.offset, error.line, error.column) == ("unexpected_end", 20, 1, 21)
    assert not isinstance(error, ValueError)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Run(["[1,]"], dialect="strict").error,
        lambda: Run(['{"a":"x'], dialect="strict").error,
        lambda: Run(["[[["], limits=Limits(depth=2)).error,
        lambda: SchemaError("no", errors=({"loc": ("a",)},)),
        lambda: ProviderError("gone", details={"status": 500}),
        lambda: UsageError("wrong", hint="Do better."),
    ],
    ids=["syntax", "incomplete", "limit", "schema", "provider", "usage"],
)
def test_errors_travel(make: Callable[[], StreamParseError]) -> None:
    """Pickled, copied, as plain data: nothing of the error is lost."""
    error = make()
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert vars(twin) == vars(error)
    plain = json.loads(json.dumps(error.to_dict()))
    assert (plain["type"], plain["code"], plain["message"]) == (type(error).__name__, error.code, error.message)
    assert error.code in ERROR_CODES


def test_codes_are_a_closed_list() -> None:
    """Those of the design and of the catalogue, each with a sentence that a user understands."""
    named = "unexpected_character unexpected_end invalid_escape invalid_number invalid_literal control_character"
    named += " invalid_utf8 trailing_text limit_depth limit_string limit_key limit_number limit_document"
    assert set(named.split()) <= set(ERROR_CODES)
    assert {"truncated", "no_document", "no_reasoning", "trailing_comma", "unescaped_quote"} <= set(DIAGNOSTIC_CODES)
    assert all(len(text) > 10 for text in (*ERROR_CODES.values(), *DIAGNOSTIC_CODES.values()))


def test_a_diagnostic() -> None:
    """Where, what, and which field; a value that pickles and turns into plain data."""
    text = '{"a":[1,\n  2,],\n "b": True}'
    parser = StreamParser()
    parser.feed(text)
    parsed = parser.close()
    comma, literal = sorted(parsed.diagnostics, key=lambda one: one.offset)
    assert isinstance(comma, Diagnostic)
    assert (comma.code, comma.path) == ("trailing_comma", "a")
    assert comma.offset in (text.index(",]"), text.index(",]") + 1)
    assert comma.line == 2
    assert comma.column == comma.offset - text.index("\n")
    assert (literal.code, literal.path, literal.offset) == ("python_literal", "b", text.index("True"))
    assert (literal.line, literal.column) == (3, 7)
    assert parsed.diagnostic_count == 2
    for one in parsed.diagnostics:
        assert pickle.loads(pickle.dumps(one)) == one
        assert json.loads(json.dumps(one.to_dict()))["code"] == one.code
        assert one.code in DIAGNOSTIC_CODES


BAD_CHUNKS = [None, 5, 1.5, True, object(), ["{"], [["{"]], {"text": "{"}, ("{", "}"), lambda: "{"]


@pytest.mark.parametrize("chunk", BAD_CHUNKS, ids=lambda chunk: type(chunk).__name__)
def test_what_is_no_chunk(chunk: Any) -> None:
    """`UsageError` that names what was given and what is wanted; the parser is as it was before the call."""
    parser = StreamParser()
    parser.feed('{"a":')
    with pytest.raises(UsageError) as caught:
        parser.feed(chunk)
    message = str(caught.value)
    assert type(chunk).__name__ in message
    assert "str" in message
    assert "bytes" in message
    parser.feed('"x"}')
    assert parser.close().data == {"a": "x"}


BAD_OPTIONS: list[tuple[dict[str, Any], str, list[str]]] = [
    ({"dialect": "yaml"}, "yaml", ["strict", "json5", "llm"]),
    ({"dialect": 5}, "5", ["strict", "json5", "llm"]),
    ({"documents": "second"}, "second", ["first", "last", "all"]),
    ({"path_style": "xpath"}, "xpath", ["dot", "slash", "pointer"]),
    ({"number": "fraction"}, "fraction", ["int_float", "decimal", "lexeme"]),
    ({"surrogates": "drop"}, "drop", ["replace", "keep"]),
    ({"reasoning": "no-such-family"}, "no-such-family", ["auto"]),
    ({"reasoning": ("<a>",)}, "<a>", []),
    ({"reasoning": 5}, "5", ["auto"]),
    ({"limits": 5}, "5", ["Limits"]),
    ({"limits": {"depth": 5}}, "depth", ["Limits"]),
]


@pytest.mark.parametrize(("options", "given", "wanted"), BAD_OPTIONS, ids=[repr(one[0]) for one in BAD_OPTIONS])
def test_what_is_no_option(options: dict[str, Any], given: str, wanted: list[str]) -> None:
    """`UsageError` that names what was given and lists what there is."""
    with pytest.raises(UsageError) as caught:
        StreamParser(**options)
    for word in (given, *wanted):
        assert word in str(caught.value)


def test_options_are_keywords() -> None:
    with pytest.raises(TypeError):
        StreamParser("strict")  # type: ignore[misc]
    with pytest.raises(TypeError):
        StreamParser(dialekt="strict")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("arguments", "given"),
    [({"name": "yaml"}, "yaml"), ({"except_": {"no_such"}}, "no_such"), ({"also": {"fences"}}, "fences")],
)
def test_what_is_no_dialect(arguments: dict[str, Any], given: str) -> None:
    with pytest.raises(UsageError, match=given):
        Dialect(**arguments)


@pytest.mark.parametrize(
    ("dialect", "text", "want"),
    [
        (Dialect("strict", also={"trailing_comma"}), "[1,]", [1]),
        (Dialect("strict", also={"trailing_comma"}), "[1,,2]", None),
        (Dialect("strict", also={"comment"}), "[1, /* c */ 2]", [1, 2]),
        (Dialect("strict", also={"python_literal"}), "[True]", [True]),
        (Dialect("json5", except_={"single_quotes"}), "['a']", None),
        (Dialect("json5", except_={"single_quotes"}), '[+1, "a"]', [1, "a"]),
        (Dialect("llm", except_={"unquoted_string"}), '{"a": hello}', None),
        (Dialect("llm", except_={"unquoted_string"}), '{"a": True,}', {"a": True}),
        (Dialect("llm", except_={"missing_comma"}), '{"a":1 "b":2}', None),
        (Dialect("llm", except_={"unquoted_key"}), "{a:1}", None),
        (Dialect("llm", except_={"unquoted_string"}), "[abc , 1]", None),
        (Dialect("llm", except_={"unescaped_quote"}), '{"a":"x","b":"y"}', {"a": "x", "b": "y"}),
        (Dialect("llm"), "[1,,2]", [1, 2]),
    ],
    ids=repr,
)
def test_single_tolerances(dialect: Dialect, text: str, want: Any) -> None:
    """A `Dialect` object chooses; what is not tolerated is a syntax error."""
    got = run([text], dialect=dialect)
    assert run(each(text), dialect=dialect) == got
    if want is None:
        assert got.error is not None
        assert got.error.type == "JSONSyntaxError"
    else:
        assert got.error is None
        assert got.data == show(want)


def test_dialects_are_compared_by_what_they_tolerate() -> None:
    assert Dialect("strict") == STRICT
    assert Dialect("strict", also={"comment"}) == Dialect("strict", also=["comment"])
    assert Dialect("json5") != LLM
    assert LLM != "llm"
    assert {Dialect("llm"): 1}[LLM] == 1


@pytest.mark.parametrize(
    "dialect", ["strict", Dialect("llm", except_={"unquoted_string"})], ids=["strict", "llm without unquoted_string"]
)
def test_a_bare_word_before_a_line_end_keeps_its_place(dialect: Any) -> None:
    """The line may have ended, in another chunk, before it is certain that the word is none."""
    text = "[1,\n tru\n, 2]"
    for chunks in ([text], each(text), *two_way(text)):
        error = Run(chunks, dialect=dialect).error
        assert error is not None
        assert (error.code, error.offset, error.line, error.column) == ("invalid_literal", 8, 2, 5)


def test_a_fault_behind_an_escape() -> None:
    """What came before it in the string is told."""
    text = '["a\\nb\x01c"]'
    for chunks in ([text], each(text)):
        done = Run(chunks, dialect="strict")
        assert done.error is not None
        assert (done.error.code, done.error.offset) == ("control_character", 6)
        assert "".join(event.delta or "" for event in done.events) == "a\nb"


def test_the_end_of_the_text_may_be_the_fault() -> None:
    """The beginning of a delimiter waits, and is text of the document where the rest does not come."""
    parser = StreamParser(dialect="strict", reasoning=("<think>", "</think>"))
    parser.feed("<th")
    assert parser.error is None
    with pytest.raises(JSONSyntaxError) as caught:
        parser.close()
    assert caught.value.offset == 0


@pytest.mark.parametrize("text", ["<think>a</think>[1]", "[1]", "<think>a"])
def test_reasoning_in_strict_only_when_given(text: str) -> None:
    """`reasoning` defaults to None there; a value that is given is honoured."""
    default = run([text], dialect="strict")
    assert (default.error is None) == (text == "[1]")
    honoured = run([text], dialect="strict", reasoning="auto")
    if text.endswith("[1]"):
        assert (honoured.data, honoured.reasoning, honoured.error) == ("[1]", "a" if "<" in text else "", None)
    else:
        assert honoured.error is not None
        assert (honoured.error.type, honoured.reasoning) == ("IncompleteJSONError", "a")
