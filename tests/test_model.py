"""The exact list of events, foretold by an independent model: `support.model`, which reads with `json.loads` alone."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.model import CutModel, predict
from support.runner import Row, Run, run
from support.splits import chop, cuts
from support.texts import containers, dialects, json_texts, spelled, styles, values
from support.values import loads, show

from streamparse import scan


def test_the_model_on_one_document_by_hand() -> None:
    """The model itself, against the table in part 2 of the design."""
    assert predict('{"s":"hi","n":1.50,"e":"","l":[true,null],"s":"x"}', starts=True) == [
        Row("start", (), "object"),
        Row("start", ("s",), "string"),
        Row("delta", ("s",), "string", "hi"),
        Row("done", ("s",), "string", None, '"hi"'),
        Row("start", ("n",), "number"),
        Row("delta", ("n",), "number", "1.50"),
        Row("done", ("n",), "number", None, "1.5"),
        Row("start", ("e",), "string"),
        Row("done", ("e",), "string", None, '""'),
        Row("start", ("l",), "array"),
        Row("start", ("l", 0), "boolean"),
        Row("delta", ("l", 0), "boolean", "true"),
        Row("done", ("l", 0), "boolean", None, "true"),
        Row("start", ("l", 1), "null"),
        Row("done", ("l", 1), "null", None, "null"),
        Row("done", ("l",), "array", None, "[true, null]"),
        Row("reset", ("s",), None),
        Row("start", ("s",), "string"),
        Row("delta", ("s",), "string", "x"),
        Row("done", ("s",), "string", None, '"x"'),
        Row("done", (), "object", None, '{"s": "x", "n": 1.5, "e": "", "l": [true, null]}'),
    ]


@given(value=values, style=styles, dialect=dialects, starts=st.booleans(), places=cuts())
def test_events_of_a_value(value: Any, style: dict[str, Any], dialect: str, starts: bool, places: list[float]) -> None:
    """`json.dumps` in several styles gives the foretold events in all three dialects."""
    text = json.dumps(value, **style)
    got = run(chop(text, places), dialect=dialect, emit_starts=starts)
    assert got.error is None
    assert got.events == predict(text, starts=starts)
    assert got.data == show(loads(text))
    assert (got.has_data, got.complete, got.incomplete) == (True, True, [])


@given(text=spelled, dialect=dialects, starts=st.booleans(), places=cuts())
def test_events_of_any_spelling(text: str, dialect: str, starts: bool, places: list[float]) -> None:
    """White space, escapes, number forms and duplicate keys change nothing but what they say."""
    got = run(chop(text, places), dialect=dialect, emit_starts=starts)
    assert got.error is None
    assert got.events == predict(text, starts=starts)
    assert got.data == show(loads(text))


@given(value=containers, style=styles, share=st.floats(0, 1), dialect=dialects, places=cuts())
def test_events_of_a_document_cut_anywhere(
    value: Any, style: dict[str, Any], share: float, dialect: str, places: list[float]
) -> None:
    """A beginning of a document gives the events of that beginning, then `cut` for all that was open, innermost
    first."""
    text = json.dumps(value, **style)
    least = decided(text) if dialect == "llm" else 1
    length = least + round(share * (len(text) - 1 - least))
    beginning = text[: max(length, least)]
    if len(beginning) >= len(text):
        return
    model = CutModel(beginning)
    done = Run(chop(beginning, places), dialect=dialect)
    got = done.outcome
    assert without_unknown_kinds(got.events) == without_unknown_kinds(model.rows)
    assert [row.parts for row in got.events if row.type == "cut"] == model.incomplete
    assert len(got.incomplete) == len(model.incomplete)
    if dialect == "llm":
        assert (got.error, got.complete, got.has_data) == (None, False, True)
        assert got.data == show(model.value)
        assert "truncated" in got.codes
    else:
        assert got.error is not None
        assert (got.error.type, got.error.code, got.error.offset) == (
            "IncompleteJSONError",
            "unexpected_end",
            len(beginning),
        )
        assert show(done.error.partial) == show(model.value)  # type: ignore[union-attr]


def decided(text: str) -> int:
    """How many characters it takes until a container at the start of an answer counts as the document (design, part
    6)."""
    at_once = re.match(r'\s*(\{\s*["}]|\[\s*["{\[\]])', text)
    return at_once.end() if at_once else text.index(",") + 1 if "," in text else len(text)


def without_unknown_kinds(rows: list[Row]) -> list[Row]:
    """Rows whose `cut` has no kind: of a value that has not begun (a colon, then the end) the kind is nobody's
    knowledge."""
    return [row._replace(kind=None, value=None) if row.type == "cut" and row.value == "null" else row for row in rows]


@given(text=json_texts, dialect=dialects, places=cuts())
def test_numbers_as_decimals(text: str, dialect: str, places: list[float]) -> None:
    """`number="decimal"`: what `json.loads(parse_float=Decimal)` gives; the events' deltas are the lexemes all the
    same."""
    done = Run(chop(text, places), dialect=dialect, number="decimal")
    assert plain(done.data) == plain(loads(text, parse_float=Decimal))
    assert [row._replace(value=None) for row in done.outcome.events] == [
        row._replace(value=None) for row in predict(text)
    ]


@given(text=json_texts, dialect=dialects, places=cuts())
def test_numbers_as_lexemes(text: str, dialect: str, places: list[float]) -> None:
    """`number="lexeme"`: the JSON text of each number, as a `NumberLexeme`."""

    class Lexeme(str):
        __slots__ = ()

    Lexeme.__name__ = "NumberLexeme"
    done = Run(chop(text, places), dialect=dialect, number="lexeme")
    assert show(done.data) == show(loads(text, parse_float=Lexeme, parse_int=Lexeme))
    assert [row._replace(value=None) for row in done.outcome.events] == [
        row._replace(value=None) for row in predict(text)
    ]


def plain(value: Any) -> str:
    """`show`, with whole decimals as ints: whether an int is an `int` or a `Decimal` there is the parser's own
    choice."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key!r}:{plain(member)}" for key, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(plain(item) for item in value) + "]"
    if isinstance(value, Decimal) and re.fullmatch(r"-?\d+", str(value)):
        return str(int(value))
    return show(value)


@pytest.mark.parametrize("dialect", ["llm", "strict", "json5"])
@pytest.mark.parametrize(
    ("text", "number", "want"),
    [
        ("[1.10]", "decimal", "[Decimal('1.10')]"),
        ("[1E5]", "decimal", "[Decimal('1E+5')]"),
        ("[1.50, -0, 1e400]", "lexeme", "[NumberLexeme('1.50'), NumberLexeme('-0'), NumberLexeme('1e400')]"),
        ("[1e400, -1e400, -0, -0.0, 1E-400]", "int_float", "[inf, -inf, 0, -0.0, 0.0]"),
        ("[123456789012345678901234567890]", "int_float", "[123456789012345678901234567890]"),
    ],
)
def test_number_forms(text: str, number: str, want: str, dialect: str) -> None:
    assert run([text], dialect=dialect, number=number).data == want


@pytest.mark.parametrize("dialect", ["llm", "strict", "json5"])
@pytest.mark.parametrize(
    ("text", "want"),
    [
        (r'["\ud83d"]', ["\ufffd"]),
        (r'["\ude00"]', ["\ufffd"]),
        (r'["\ud83d\ud83d\ude00"]', ["\ufffd😀"]),
        (r'["\ude00\ud83d"]', ["\ufffd\ufffd"]),
        (r'["\ud83dx\n"]', ["\ufffdx\n"]),
        (r'["\ud83d\u0041"]', ["\ufffdA"]),
        (r'{"\ud83d":1}', {"\ufffd": 1}),
        (r'"\uD83D\uDE00"', "😀"),
    ],
)
def test_halves_of_surrogate_pairs(text: str, want: Any, dialect: str) -> None:
    """Law 5, first exception: U+FFFD and a diagnostic; with `surrogates="keep"` the very value of `json.loads`."""
    got = run([text], dialect=dialect)
    assert got.data == show(want)
    assert got.codes == ({"lone_surrogate"} if "\ufffd" in str(want) else set())
    kept = Run([text], dialect=dialect, surrogates="keep")
    assert show(kept.data) == show(json.loads(text))


# What only the compiled twin calls, by itself


@given(
    text=st.text(st.sampled_from('ab"\\\x00\x1f\x20\x7f\x85é\ud7ff\ud800\udfff\ue000😀'), max_size=8),
    at=st.integers(0, 8),
)
def test_what_only_the_compiled_twin_asks_of_text(text: str, at: int) -> None:
    """The interpreted twin leaves it to regular expressions, which say here what is right."""
    at = min(at, len(text))
    match = re.compile('[^"\\\\\x00-\x1f\ud800-\udfff]*').match(text, at)
    assert match is not None
    assert scan.plain_end(text, at) == match.end()
    assert scan.is_whole(text) == (re.search("[\ud800-\udfff]", text) is None)


@given(text=st.text("0123-+.eE", min_size=1, max_size=7) | st.floats(allow_nan=False, allow_infinity=False).map(repr))
@example("-0")
@example("00")
@example("1.5e+3")
@example("-12.")
@example("1e-")
@example("-")
def test_what_only_the_compiled_twin_asks_of_numbers(text: str) -> None:
    """`json.loads` says what is right."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "COMPILED", True)
        assert scan.number_kind(text) == {int: 1, float: 2}.get(type(value), 0)
    if isinstance(value, int):
        assert scan.short_int(text) == value


@given(text=st.text("09aAfFgG \u0661", max_size=8), start=st.integers(0, 8))
def test_what_only_the_compiled_twin_asks_of_an_escape(text: str, start: int) -> None:
    """The end of up to four hexadecimal digits."""
    start = min(start, len(text))
    match = re.compile("[0-9a-fA-F]{0,4}").match(text, start)
    assert match is not None
    for compiled in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scan, "COMPILED", compiled)
            assert scan.hex_end(text, start) == match.end()
