"""Limits: each one is reached at its value plus one, with its name, its value and the place; and depth without
recursion."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import time
from typing import Any

import pytest
from support.runner import Run, run
from support.splits import each, two_way
from support.values import show

from streamparse import LimitExceeded, Limits, StreamParseError, StreamParser

DIALECTS = ["llm", "strict", "json5"]


@pytest.mark.parametrize("documents", ["first", "all"])
@pytest.mark.parametrize("bound", [1, 3, 9, 14, 40])
def test_what_is_left_of_a_text_that_was_too_long(bound: int, documents: Any) -> None:
    """What a parser shows after the bound of the whole text does not depend on how the text came."""
    text = '{"a": [1, "xyz"]} <b>{"a": [1, 2]}'

    def left(chunks: list[Any]) -> tuple[Any, ...]:
        parser = StreamParser(limits=Limits(document=bound), documents=documents)
        for chunk in chunks:
            if parser.error is None:
                parser.feed(chunk)
        return parser.status, parser.open_paths, show(parser.data), show(parser.snapshot())

    whole = left([text])
    assert whole[0] == ("error" if bound < len(text) else "closed")
    if bound < len(text):
        assert whole[1] == []
    for chunks in ([text.encode()], each(text), each(text.encode()), *two_way(text)):
        assert left(chunks) == whole, chunks


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("name", "value", "fits", "exceeds", "path"),
    [
        ("depth", 3, '{"a":[[1]]}', '{"a":[[[1]]]}', "a[0]"),
        ("string", 5, '{"a":"12345"}', '{"a":"123456"}', "a"),
        ("key", 5, '{"a":{"12345":1}}', '{"a":{"123456":1}}', "a"),
        ("number", 5, '{"a":12345}', '{"a":123456}', "a"),
        ("document", 11, '{"a":"123"}', '{"a":"1234"}', ""),
    ],
)
def test_each_limit(dialect: str, name: str, value: int, fits: str, exceeds: str, path: str) -> None:
    limits = Limits(**{name: value})
    good = run([fits], dialect=dialect, limits=limits)
    assert (good.error, good.complete) == (None, True)
    parser = StreamParser(dialect=dialect, limits=limits)
    parser.feed(exceeds)
    with pytest.raises(LimitExceeded) as caught:
        parser.close()
    error = caught.value
    assert (error.limit, error.limit_value, error.code) == (name, value, f"limit_{name}")
    assert error.offset is not None
    assert 0 < error.offset <= len(exceeds)
    assert (error.line, error.column) == (1, error.offset + 1)
    assert str(value) in str(error)
    assert name in str(error)
    if name != "document":
        assert error.path is not None
        assert error.path.startswith(path)
    whole = run([exceeds], dialect=dialect, limits=limits)
    assert run(each(exceeds), dialect=dialect, limits=limits) == whole
    assert run(each(exceeds.encode()), dialect=dialect, limits=limits) == whole


def test_events_before_the_limit_are_kept() -> None:
    got = run(['{"a":"x","b":"1234567"}'], limits=Limits(string=5))
    assert got.error is not None
    assert [(row.type, row.parts, row.delta) for row in got.events if row.parts == ("a",)] == [
        ("delta", ("a",), "x"),
        ("done", ("a",), None),
    ]


@pytest.mark.parametrize("text", ["x" * 101, "<think>" + "x" * 101 + "</think>{}", '```json\n{"a":"' + "x" * 101])
def test_prose_and_reasoning_count_as_document(text: str) -> None:
    """The bound is on the whole text, so that nothing around a document is free."""
    got = run([text], limits=Limits(document=100))
    assert got.error is not None
    assert got.error.code == "limit_document"
    assert run(each(text), limits=Limits(document=100)) == got


def test_diagnostics_are_bounded_and_counted() -> None:
    """A bounded number is kept, the count is exact."""
    text = "[1" + ",,1" * 50 + "]"
    got = run([text], limits=Limits(diagnostics=7))
    assert got.error is None
    assert (len(got.diagnostics), got.diagnostic_count) == (7, 50)
    assert [remark.offset for remark in got.diagnostics] == sorted(remark.offset for remark in got.diagnostics)
    assert run(each(text), limits=Limits(diagnostics=7)) == got
    assert run([text]).diagnostic_count == 50


@pytest.mark.parametrize(
    ("text", "place"),
    [
        # The key is longer than it may be once its quote turns out to be none.
        ('{"<response>"\n</think>', (14, 2, 1)),
        # A bare key, while it is not certain that the string before it ended.
        ('{"a"：<|eot_id|>，None<Think >\n', None),
    ],
)
def test_a_long_key_behind_what_is_held(text: str, place: tuple[int, int, int] | None) -> None:
    """Where the text is cut does not change what is decided, nor the place of the error (law 1)."""
    limits = Limits(key=10, held=12)
    whole = run([text], limits=limits)
    assert run(each(text), limits=limits) == whole
    if place is not None:
        parser = StreamParser(limits=limits)
        parser.feed(text)
        assert isinstance(parser.error, LimitExceeded)
        assert (parser.error.limit, parser.error.offset, parser.error.line, parser.error.column) == ("key", *place)


def test_held_text_decides_at_its_bound() -> None:
    """Past `held` an undecided quote ends its string; before it, the quote waits for what follows."""
    text = '{"a":"he said "' + " " * 30 + 'hi","b":1}'
    wide = run([text], limits=Limits(held=100))
    assert wide.data == '{"a": "he said \\"' + " " * 30 + 'hi", "b": 1}'
    narrow = StreamParser(limits=Limits(held=10))
    events = narrow.feed(text[: text.index("hi")])
    assert [(event.event_type, event.path, event.value) for event in events if event.is_complete] == [
        ("done", "a", "he said ")
    ]
    assert run(each(text), limits=Limits(held=10)) == run([text], limits=Limits(held=10))


@pytest.mark.parametrize("held", [1, 2, 5, 50])
@pytest.mark.parametrize(
    "text",
    [
        '{"a":"x" , "b":"y"}',
        '{"a":"' + "x" * 60 + '"}',
        "{" + " " * 60 + '"a":1}',
        '[1 , 2 , "x"  ,  true , null ]',
        " " * 60 + '{"a":1}' + " " * 60,
        '{"' + "k" * 60 + '":1}',
        "[" + "1" * 60 + "]",
    ],
)
def test_valid_json_fits_any_bound_on_held_text(text: str, held: int) -> None:
    """For valid JSON the bound never changes the result (law 5)."""
    assert run([text], limits=Limits(held=held)).data == show(json.loads(text))
    assert run(each(text), limits=Limits(held=held)) == run([text], limits=Limits(held=held))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
def test_a_million_open_brackets(dialect: str, opening: str) -> None:
    """A clean error, and no time spent on what comes after it."""
    text = opening * 1_000_000
    began = time.process_time()
    got = run([text], dialect=dialect)
    assert time.process_time() - began < 2
    assert got.error is not None
    assert (got.error.type, got.error.code) == ("LimitExceeded", "limit_depth")
    assert got.error.offset is not None
    assert got.error.offset < 20 * Limits().depth


def test_the_default_depth() -> None:
    """As deep as CPython's own `json` goes, and no deeper than the documented value."""
    depth = Limits().depth
    assert 500 <= depth <= 5000
    assert run(["[" * depth + "]" * depth]).error is None
    assert run(["[" * (depth + 1) + "]" * (depth + 1)]).error is not None


DEEP = 100_000


@pytest.mark.parametrize(
    ("dialect", "size"), [("llm", 1 << 30), ("llm", 1000), ("llm", 1), ("strict", 1000), ("json5", 1000)]
)
@pytest.mark.parametrize(
    ("opening", "leaf", "closing"), [("[", "1", "]"), ('{"a":', '"x"', "}"), ('[{"k":', "null", "}]")]
)
def test_depth_100_000_within_raised_limits(dialect: str, opening: str, leaf: str, closing: str, size: int) -> None:
    """No recursion and no work that grows with the depth: one `done` for each container, the innermost first."""
    count = DEEP // len(closing)
    text = opening * count + leaf + closing * count
    parser = StreamParser(dialect=dialect, limits=Limits(depth=DEEP))
    began = time.process_time()
    events = [event for at in range(0, len(text), size) for event in parser.feed(text[at : at + size])]
    parsed = parser.close()
    events += parsed.events
    assert time.process_time() - began < 20
    assert parsed.complete
    dones = [event for event in events if event.event_type == "done"]
    assert len(dones) == DEEP + 1
    assert (dones[0].kind, dones[-1].path, dones[-1].kind) == (
        {"1": "number", '"x"': "string", "null": "null"}[leaf],
        "",
        "array" if opening[0] == "[" else "object",
    )
    value, depth = parsed.data, 0
    while isinstance(value, (list, dict)):
        value = value[0] if isinstance(value, list) else next(iter(value.values()))
        depth += 1
    assert depth == DEEP
    assert value == {"1": 1, '"x"': "x", "null": None}[leaf]


def test_deep_documents_are_looked_at_and_moved_without_recursion() -> None:
    """snapshot, copy, deepcopy and pickle of a parser that is 20,000 deep."""
    deep = 20_000
    parser = StreamParser(limits=Limits(depth=deep))
    parser.feed("[" * deep + '"x')
    assert depth_of(parser.snapshot()) == deep
    for twin in (copy.copy(parser), copy.deepcopy(parser), pickle.loads(pickle.dumps(parser))):
        twin.feed('"' + "]" * deep)
        assert depth_of(twin.close().data) == deep


def test_deep_documents_are_cut_without_recursion() -> None:
    """Cut at depth 3,000: one `cut` for each container and one for the string, innermost first."""
    deep = 3_000
    parser = StreamParser(limits=Limits(depth=deep))
    parser.feed("[" * deep + '"x')
    parsed = parser.close()
    assert [event.event_type for event in parsed.events] == ["cut"] * (deep + 1)
    assert len(parsed.incomplete) == deep + 1
    assert (parsed.incomplete[0], parsed.incomplete[-1]) == ("[0]" * deep, "")


def depth_of(value: Any) -> int:
    depth = 0
    while isinstance(value, list) and value:
        value = value[0]
        depth += 1
    return depth


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Limits)])
@pytest.mark.parametrize("value", [0, -1, 1.5, "many", None, True])
def test_a_limit_is_a_positive_integer(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=name):
        Limits(**{name: value})


def test_limits_have_the_names_that_the_errors_use() -> None:
    names = {field.name for field in dataclasses.fields(Limits)}
    assert {"depth", "string", "key", "number", "document", "held", "events", "diagnostics"} <= names
    with pytest.raises(TypeError):
        Limits(5)  # type: ignore[call-arg]
    with pytest.raises(dataclasses.FrozenInstanceError):
        Limits().depth = 5  # type: ignore[misc]


RUNS = ["(", "<", "`", "\\", '"', "{{", "<think>", ",", "'", "-", "/*", "[,", '{"a":1}', ".", "\n", "#", "{'"]


@pytest.mark.parametrize("unit", RUNS)
def test_long_runs_of_one_thing(unit: str) -> None:
    """Linear, and an end: data, diagnostics or an error of ours."""
    text = unit * (200_000 // len(unit))
    for wrapped in (text, '{"a":' + text, '["' + text):
        parser = StreamParser()
        began = time.process_time()
        try:
            for at in range(0, len(wrapped), 4096):
                parser.feed(wrapped[at : at + 4096])
            parser.close()
        except StreamParseError:
            pass
        assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("text", "limit", "offset"),
    [
        ("{'a':'12345678'}", "string", 6 + 4),
        ("{'abcdef':1}", "key", 2 + 4),
        ("{abcdef:1}", "key", 1 + 4),
        ('["a\\nbcdefg"]', "string", 2 + 4),
    ],
)
def test_limits_of_strings_and_keys_in_other_forms(text: str, limit: str, offset: int) -> None:
    """The first character too many is named."""
    for chunks in ([text], each(text)):
        error = Run(chunks, limits=Limits(**{limit: 4})).error
        assert isinstance(error, LimitExceeded)
        assert (error.limit, error.offset) == (limit, offset)


@pytest.mark.parametrize("text", ["[truee, 1]", "[abcdef, 1]"])
def test_a_long_word_of_strict_is_the_fault_that_it_is(text: str) -> None:
    """A word that is no number is no number that is too long."""
    whole = run([text], dialect="strict")
    assert whole.error is not None
    assert whole.error.type == "JSONSyntaxError"
    for chunks in ([text], each(text)):
        assert run(chunks, dialect="strict", limits=Limits(number=4)) == whole


def test_white_space_in_a_bare_text_longer_than_what_may_be_held() -> None:
    text = "hello" + " " * 20 + "world"
    for chunks in ([text], each(text)):
        assert Run(chunks, output=str, limits=Limits(held=8)).data == text


@pytest.mark.parametrize("which", ["first", "last", "all"])
@pytest.mark.parametrize("bound", [8, 12, 15, 16, 20])
def test_the_bound_behind_a_document_that_is_whole(which: str, bound: int) -> None:
    """The text goes on past the bound in the same chunk that ends a document, and may begin another one."""
    text = '{"a":1} {"b":2} {"c":3}'
    whole = run([text], documents=which, limits=Limits(document=bound))
    assert whole.error is not None
    assert (whole.error.code, whole.error.offset) == ("limit_document", bound)
    for chunks in (each(text), *two_way(text)):
        assert run(chunks, documents=which, limits=Limits(document=bound)) == whole


def test_a_fault_in_the_first_part_of_a_long_text_is_the_last_thing_read() -> None:
    """A text that may hold many documents is read in parts."""
    parser = StreamParser(documents="all", limits=Limits(depth=2))
    parser.feed('[[["a"' + " " * 9000 + "]" * 9000)
    assert isinstance(parser.error, LimitExceeded)
    assert (parser.error.limit, parser.error.offset) == ("depth", 2)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("[1,undefined…", Limits(number=5)),  # a bare word longer than a number may be
        ('{"":"ab"\\ude00xyz"}', Limits(string=4, document=12)),  # an escape over two bounds, behind a quote
        ('{"":"ab"\\ude00xyz"}', Limits(string=4, document=14)),
        ('{p:"a""d\\ude00\\\\\\\\\\', Limits(key=10, held=12)),  # an escape over the bound of a key, behind a quote
        ("{p:'a''d\\ude00\\\\\\\\\\", Limits(key=10, held=12)),
        ("[" * 13 + '\\"', Limits(held=12)),  # brackets, more than may be held, of an escaped document
    ],
)
def test_limits_at_any_split(text: str, limits: Limits) -> None:
    whole = run([text], limits=limits)
    for at in range(len(text)):
        assert run([text[:at], text[at:]], limits=limits) == whole
    assert run(list(text), limits=limits) == whole
