"""Relatives of the catalogue's rows: what a person would say was meant. Each at every split, and by characters."""

from __future__ import annotations

import copy
import pickle
import time
from decimal import Decimal
from typing import Any

import pytest
from support.runner import Run, run
from support.splits import each, two_way
from support.values import show

from streamparse import JsonSchema, JSONSyntaxError, Limits, StreamParser
from streamparse.values import NumberLexeme

# (text, data). The first block are faults that were fixed: the value is what the catalogue's rule gives by hand.
ROWS: list[tuple[str, Any]] = [
    ('{"a":hello\n"b":2}', {"a": "hello", "b": 2}),
    ("[1 2 3]", [1, 2, 3]),
    ('{"a":[1 2],"b":{"c":3}"d":4}', {"a": [1, 2], "b": {"c": 3}, "d": 4}),
    ('{"a":"he said "hi""}', {"a": 'he said "hi"'}),
    ('{"a":"he said "hi"","b":1}', {"a": 'he said "hi"', "b": 1}),
    ('{"a":1；"b":2}', {"a": 1, "b": 2}),
    ('{"a":ull,"*":ull}', {"a": "ull", "*": "ull"}),
    ('{"a": 5  apples, "b": 10%}', {"a": "5  apples", "b": "10%"}),
    ('[{"a":"x"} {"a":"y"}]', [{"a": "x"}, {"a": "y"}]),
    ('[["a",""] "b"]', [["a", ""], "b"]),
    ('["a",2024-05-01]', ["a", "2024-05-01"]),
    ('{"name":"","all" [1]}', {"name": "", "all": [1]}),
    # Values
    ('{"a":1,,"b":2,,}', {"a": 1, "b": 2}),
    ("{a:\"x\", b:'y'}", {"a": "x", "b": "y"}),
    ("{'a':'don't stop','b':1}", {"a": "don't stop", "b": 1}),
    ('{“a”:“say "hi" now”}', {"a": 'say "hi" now'}),
    ('{"a":"""""","b":1}', {"a": "", "b": 1}),
    ("{'a':'''x\ny'''}", {"a": "x\ny"}),
    ('{"a":yes,"b":no}', {"a": "yes", "b": "no"}),
    ('{"a": $12.50}', {"a": "$12.50"}),
    ('{"a": hello, world, "b": 1}', {"a": "hello, world", "b": 1}),
    ("[hello world, foo]", ["hello world", "foo"]),
    ('{"a":0xFF,"b":-0x1f,"c":1E+2,"d":.5e1,"e":1.}', {"a": 255, "b": -31, "c": 100.0, "d": 5.0, "e": 1.0}),
    ('{"a":1_000_000.5,"b":-007,"c":00}', {"a": 1000000.5, "b": -7, "c": 0}),
    ('{"a":2024-05-01T10:00:00Z,"b":192.168.0.1}', {"a": "2024-05-01T10:00:00Z", "b": "192.168.0.1"}),
    ('{"a":?,"b":,"c"}', {"a": None, "b": None, "c": None}),
    ('{"a"::1,"b"=>2,"c":=3}', {"a": 1, "b": 2, "c": 3}),
    ('{"a":{"b":[1,2}}', {"a": {"b": [1, 2]}}),
    ('{{"a":{{"b":1}}}}', {"a": {"b": 1}}),
    (r"{\"a\":\"b\", \"c\": [1, \"d\\n\"]}", {"a": "b", "c": [1, "d\n"]}),
    (r'{"p":"\d+\.\w"}', {"p": r"\d+\.\w"}),
    (r'{"p":"\u00e9\u00zz\x41\x4"}', {"p": "é\\u00zzA\\x4"}),
    ('{"p":"a\\\r\nb"}', {"p": "ab"}),
    ('{"a":"x" +\n "y" + "z","b":1}', {"a": "xyz", "b": 1}),
    ('["a",...]', ["a"]),
    # Quotes inside strings
    ('{"a":"he said "yes", and left","b":2}', {"a": 'he said "yes", and left', "b": 2}),
    ('{"a":"the "x": y","b":1}', {"a": 'the "x": y', "b": 1}),
    ('["the "x", y","z"]', ['the "x", y', "z"]),
    ('{"a":""hi" he said","b":1}', {"a": '"hi" he said', "b": 1}),
    ('{"a":{"b":"x "y" z"},"c":"w"}', {"a": {"b": 'x "y" z'}, "c": "w"}),
    ('[["a "b"","c"],"d"]', [['a "b"', "c"], "d"]),
    ('{"a":"use {"x": 1} here","b":2}', {"a": 'use {"x": 1} here', "b": 2}),
    ('{"q"uote":1}', {'q"uote': 1}),
    ('["say "x", for now","y"]', ['say "x", for now', "y"]),
    ('{"k":1,"a":["the "x", true story","y"]}', {"k": 1, "a": ['the "x", true story', "y"]}),
    # What an adversary found
    ('{"rating": 4/5, "date": 01/02/2024, "b": 3 / 4}', {"rating": "4/5", "date": "01/02/2024", "b": "3 / 4"}),
    ('["a" 42]', ["a", 42]),
    ('["a"\n1\n2]', ["a", 1, 2]),
    ('["x" null, "y"]', ["x", None, "y"]),
    ('{desc:"x"\n age:"y"}', {"desc": "x", "age": "y"}),
    ("[\n  True\n  False\n]", [True, False]),
    ("[1\n2]", [1, 2]),
    ('[{\\"a\\":\\"b\\"}]', [{"a": "b"}]),
    ('[[\\"a\\"]]', [["a"]]),
    ('[\\"a\\"]', ["a"]),
    ("{「a」：「b」、『c』:1}", {"a": "b", "c": 1}),
    ('{"a":"x", …}', {"a": "x"}),
    ("[1, 2, …]", [1, 2]),
    ('{"a":1};', {"a": 1}),
    ('{"a":["x"} Hope that helps!', {"a": ["x"]}),
    ('[{"a":"x"] and more', [{"a": "x"}]),
    ('{"a":[{"b":["x"}]} and more', {"a": [{"b": ["x"]}]}),
    # What a second one found
    ("[true false]", [True, False]),
    ("[1 true null, 2]", [1, True, None, 2]),
    ("[1, 2 ...]", [1, 2]),
    ("[1 …]", [1]),
    ("[1; 2; 3]", [1, 2, 3]),
    ("[1、2]", [1, 2]),
    ('{"a":"x","k" "v"}', {"a": "x", "k": "v"}),
    ('{"a":"x","k" "v, w","b":[1]}', {"a": "x", "k": "v, w", "b": [1]}),
    ('{"a":"the "b", "c" "d" and e","f":1}', {"a": 'the "b", "c" "d" and e', "f": 1}),
    ('{"code":"dict["key"] = 1","n":1}', {"code": 'dict["key"] = 1', "n": 1}),
    ('{"code":"x = d["k"]["l"].m","n":1}', {"code": 'x = d["k"]["l"].m', "n": 1}),
    ('[{"code":"d["k"] += 1"},{"code":"y"}]', [{"code": 'd["k"] += 1'}, {"code": "y"}]),
    ('{"a":"x"]', {"a": "x"}),
    ('{"a":"x"]\n\n**Note**', {"a": "x"}),
    ('{"a":"x"]<|im_end|>', {"a": "x"}),
    ('{"a":[1,2},"b":3}', {"a": [1, 2], "b": 3}),
    ('{"a":["x"},"b":3}', {"a": ["x"], "b": 3}),
    ('[{"a":1],{"a":2}]', [{"a": 1}, {"a": 2}]),
    ('[{"a":"x"], "b"]', [{"a": "x"}, "b"]),
    ('{"a":[1,2}, and "b": no', {"a": [1, 2]}),
    ('{\ufeff"a"\u200b:\u200d1\u2060,"b":2024-05-01\ufeff}', {"a": 1, "b": "2024-05-01"}),
    (r"{\n  \"a\": 1,\n  \"b\": \"c\"\n}", {"a": 1, "b": "c"}),
    (r"Here: {\n  \"a\": 1\n}", {"a": 1}),
    (r"[\n  {\n    \"a\": 1\n  }\n]", [{"a": 1}]),
    (r"Take this: [{\n\"a\": 1}]", [{"a": 1}]),
    (r'[{\alpha}] is {"a": 1}', {"a": 1}),
    (r'Take [{\nabla f}] and {\nabla g}: {"a": 1}', {"a": 1}),
    ('f(x) = {x : x > 0} holds for {"a": 1}', {"a": 1}),
    ("Here is {a : 'x'}", {"a": "x"}),
    # What no other test reached
    ('{"a": hello world\nb: 2}', {"a": "hello world", "b": 2}),
    ('{“a”:“x \\” y”,"b":1}', {"a": "x ” y", "b": 1}),
    ('{"a":"x" + y","b":1}', {"a": 'x" + y', "b": 1}),
    ('[{{"a":1]', [{"a": 1}]),
    ('["a", (b) c","d"]', ['a", (b) c', "d"]),
    ("[1,}", [1]),
    ('{"a":1,]', {"a": 1}),
    ('{"a":"he said "x", (y) and left","b":2}', {"a": 'he said "x", (y) and left', "b": 2}),
    ('{"k":1, a" x, "b": 1}', {"k": 1, "a": "x", "b": 1}),
    ("[hello ...]", ["hello ..."]),
    (r"{\"a\":\"caf\u00e9\"}", {"a": "café"}),
    # Comments, and what only looks like one
    ('{/*c*/"a":1 /* d */, // e\n"b":"http://x.y"}', {"a": 1, "b": "http://x.y"}),
]


@pytest.mark.parametrize(("text", "data"), ROWS, ids=[text for text, _ in ROWS])
def test_right_value(text: str, data: Any) -> None:
    whole = run([text])
    assert whole.error is None
    assert whole.complete
    assert whole.data == show(data)
    assert whole.diagnostics
    for chunks in (each(text), each(text.encode()), *two_way(text)):
        assert run(chunks) == whole


@pytest.mark.parametrize("length", [4096, 4097, 4200, 4300, 9000])
def test_unquoted_word_longer_than_what_may_be_held(length: int) -> None:
    word = "a" * length
    for text, data in ((f'{{"k": {word} b, "j": 1}}', {"k": word + " b", "j": 1}), (f'["x", {word}]', ["x", word])):
        whole = run([text])
        assert whole.data == show(data)
        for chunks in (each(text), [text[: length // 2], text[length // 2 :]], [text[:-5], text[-5:]]):
            assert run(chunks) == whole


@pytest.mark.parametrize("held", [4, 8, 4096])
@pytest.mark.parametrize("behind", ['{}"k": 2}}', ',{}"{}": 2}}', ' "{}" "v"}}', '}},{}"{}": 2}}', "]{}, [2]]"])
@pytest.mark.parametrize("before", ['{"a":"x"', '{"a":["x"', '[{"a":"x"', '{"a":[1', '[{"a":1'])
def test_what_decides_is_far_away(before: str, behind: str, held: int) -> None:
    """As far as may be held, and not one character farther: the same however the text is cut."""
    for far in (held - 8, held - 1, held, held + 1, held + 8):
        for filler in (" ", "k"):
            text = before + behind.format(filler * max(far, 0), filler * max(far, 0))
            whole = run([text], limits=Limits(held=held))
            for chunks in (each(text), [text[: len(text) // 2], text[len(text) // 2 :]]):
                assert run(chunks, limits=Limits(held=held)) == whole


def test_any_number_of_documents_in_one_text() -> None:
    """One after another, not one inside another."""
    for which, want in (("all", [{"a": 1}] * 3000), ("last", {"a": 1}), ("first", {"a": 1})):
        got = run(['{"a":1}\n' * 3000], documents=which)
        assert got.error is None
        assert got.data == show(want)


@pytest.mark.parametrize("dialect", ["llm", "strict", "json5"])
def test_halves_of_a_pair_in_two_chunks(dialect: str) -> None:
    """JSON that was decoded piece by piece gives halves; together they are one character, alone U+FFFD."""
    parser = StreamParser(dialect=dialect)  # type: ignore[arg-type]
    deltas = [
        event.delta
        for chunk in ('{"a":"x', "\ud83d", "\ude00y\ud83d", "\ude00\ud83d", 'z"}')
        for event in parser.feed(chunk)
        if event.delta
    ]
    assert "".join(deltas) == "x😀y😀\ufffdz"
    parsed = parser.close()
    assert parsed.data == {"a": "x😀y😀\ufffdz"}
    assert parsed.text == '{"a":"x😀y😀\ufffdz"}'
    assert [remark.code for remark in parsed.diagnostics] == ["lone_surrogate"]


@pytest.mark.parametrize(
    ("text", "data", "halves"),
    [
        ('[""\ud83d\ude00', ['"😀'], 0),
        ('[""\ud83d\ud83d', ['"\ufffd\ufffd'], 2),
        ('[""\ud83d', ['"\ufffd'], 1),
        ('{a:""\ud83d"\ud83d', {"a": '"\ufffd"\ufffd'}, 2),
        ('["a"\ud83d\ude00","b"]', ['a"😀', "b"], 0),
        ('{"a":"x"\n\ud83d\ude00\n"y", "b":1}', {"a": 'x"\n😀\n"y', "b": 1}, 0),
        ('{"a": x, \ud83d\ude00 y}', {"a": "x, 😀 y"}, 0),
        ('{"a": x\ud83d, y, "b":2}', {"a": "x\ufffd, y", "b": 2}, 1),
        ('{"a": x\ud83dy}', {"a": "x\ufffdy"}, 1),
        ("{k\ud83d\ude00\ud83d: 1}", {"k😀\ufffd": 1}, 1),
        ("{é:\ud83d,\ud83d\ude00", {"é": "\ufffd,😀"}, 1),
    ],
    ids=ascii,
)
def test_halves_of_a_pair_where_a_quote_or_comma_is_pending(text: str, data: Any, halves: int) -> None:
    for surrogates in ("replace", "keep"):
        whole = Run([text], surrogates=surrogates).outcome
        wanted = show(data)
        assert whole.data == (wanted if surrogates == "replace" else wanted.replace(r"\ufffd", r"\ud83d"))
        assert [remark.code for remark in whole.diagnostics].count("lone_surrogate") == halves
        for chunks in (each(text), *two_way(text)):
            assert Run(chunks, surrogates=surrogates).outcome == whole


def test_bytes_that_are_no_text_are_told_in_unquoted_text_too() -> None:
    data = b'{"a": x\xff y, k\xff: 1}'
    whole = run([data])
    assert whole.data == show({"a": "x\ufffd y", "k\ufffd": 1})
    assert [remark.code for remark in whole.diagnostics].count("invalid_utf8") == 2
    for chunks in (each(data), *two_way(data)):
        assert run(chunks) == whole


@pytest.mark.parametrize("dialect", ["llm", "strict"])
@pytest.mark.parametrize("text", ['["\ud83d\ude00b"]', '{"a":"\ud83d\ude00b"}'])
def test_a_pair_counts_as_one_character_of_the_document(text: str, dialect: str) -> None:
    length = len(text) - 1
    for most in range(3, length + 2):
        whole = run([text], dialect=dialect, limits=Limits(document=most))
        assert (whole.error is None) == (most >= length)
        for chunks in (each(text), *two_way(text)):
            assert run(chunks, dialect=dialect, limits=Limits(document=most)) == whole


def test_the_bound_of_the_document_right_behind_half_a_pair() -> None:
    """The half stands alone, as far as may be read: it is at fault first, and is told inside of a string."""
    for text, code in (('[1,"😀"\ud83d\n\n]', "unexpected_character"), ('["abcd\ud83d b"]', "limit_document")):
        for dialect in ("json5", "llm"):
            whole = run([text], dialect=dialect, limits=Limits(document=7))
            assert whole.error is not None
            if dialect == "json5":
                assert whole.error.code == code
            for chunks in (each(text), *two_way(text)):
                assert run(chunks, dialect=dialect, limits=Limits(document=7)) == whole


@pytest.mark.parametrize("quote", ['"', "'"])
def test_two_quotes_behind_a_line_continuation_are_not_three(quote: str) -> None:
    text = f"[{quote}\\\n{quote}{quote},1]"
    whole = run([text])
    assert whole.data == show([quote, 1])
    assert [remark.code for remark in whole.diagnostics if remark.code != "single_quotes"] == [
        "line_continuation",
        "unescaped_quote",
    ]
    for chunks in (each(text), *two_way(text)):
        assert run(chunks) == whole


def test_a_subclass_of_str_that_stays_one() -> None:
    class Token(str):
        def __str__(self) -> str:
            return self

    assert run(['{"z":"', Token('{"a":1}')]) == run(['{"z":"', '{"a":1}'])


@pytest.mark.parametrize("exponent", ["9999999999999999999", "-9999999999999999999"])
def test_an_exponent_beyond_decimal_is_our_own_error(exponent: str) -> None:
    parser = StreamParser(number="decimal", dialect="strict")
    parser.feed(f"[1e{exponent}]")
    assert isinstance(parser.error, JSONSyntaxError)
    assert parser.error.code == "invalid_number"


def test_number_forms_in_every_number_mode() -> None:
    text = "[0x1F, +1, .5, 5., -.5e3]"
    wanted = [31, 1, Decimal("0.5"), 5, -500]
    for chunks in ([text], each(text)):
        parsed = Run(chunks, number="decimal").data
        assert parsed == wanted
        assert [type(value) for value in parsed] == [int, int, Decimal, Decimal, Decimal]
        lexemes = Run(chunks, number="lexeme").data
        assert {type(value) for value in lexemes} == {NumberLexeme}
        assert [Decimal(value) for value in lexemes] == wanted
    # What Decimal cannot hold is as for a float: infinite, or zero.
    beyond = Run([f"[.5e{'9' * 20}, .5e-{'9' * 20}]"], number="decimal").data
    assert beyond == [Decimal("Infinity"), 0]


@pytest.mark.parametrize("text", ['{"a":"x" +', '{"a":"x" + ', '{"a":1, .', '{"a":1, ..', '{"a":1, /', '{"a":1, `'])
def test_cut_inside_a_tolerance(text: str) -> None:
    """Half a mark at the end of the text is cut off: what came before is there."""
    got = run([text])
    assert got.error is None
    assert got.data == show({"a": "x"} if "x" in text else {"a": 1})
    assert got.incomplete == [""]
    assert "truncated" in got.codes
    assert run(each(text)) == got


def test_long_words_take_linear_time() -> None:
    """A colon in an unquoted string is looked at with what is held before it, not with all of it."""
    for text in ('{"a": ' + "w: " * 30_000, '{"a": w' + "\n:" * 30_000, "{" + "a:" * 30_000):
        began = time.process_time()
        run([text])
        assert time.process_time() - began < 20


@pytest.mark.parametrize("which", ["first", "all"])
def test_a_parser_with_a_schema_is_copied_anywhere(which: str) -> None:
    schema = JsonSchema(
        {
            "type": "object",
            "properties": {"tags": {"type": "array", "items": {"type": "string"}}, "o": {"type": "object"}},
        }
    )
    text = '{"tags":["a"],"o":"x"}'
    for at in range(len(text)):
        parser = StreamParser(output=schema, documents=which)  # type: ignore[arg-type]
        parser.feed(text[:at])
        for other in (copy.copy(parser), copy.deepcopy(parser), pickle.loads(pickle.dumps(parser))):
            other.feed(text[at:])
            data = other.close().data
            assert (data[0] if which == "all" else data) == {"tags": ["a"], "o": "x"}


def test_wide_space_is_told_in_json5_too() -> None:
    """Nothing silent: white space that RFC 8259 does not know leaves its diagnostic in each dialect that takes it."""
    for text in ("\ufeff[]", "[1,\u00a02]", "[\v]"):
        for dialect in ("json5", "llm"):
            got = run([text], dialect=dialect)
            assert got.error is None
            assert "bom" in got.codes
            assert run(each(text), dialect=dialect) == got
