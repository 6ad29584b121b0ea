"""The laws of the README, one property test each (some laws have more)."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.model import CutModel, predict
from support.runner import Fault, Run, check_events, final_rows, joined, run
from support.splits import chop, cuts
from support.texts import any_texts, containers, damaged, dialects, json_texts, noise, spoiled_bytes, styles, values
from support.values import at, is_json, loads, show
from support.worker import Worker

from streamparse import JsonSchema, Limits, StreamParseError, StreamParser

documents = st.sampled_from(["first", "first", "last", "all"])


# Law 1


@given(text=any_texts, dialect=dialects, which=documents, forced=st.booleans(), places=cuts(), byte_places=cuts())
def test_law_1_chunk_invariance(
    text: str, dialect: str, which: str, forced: bool, places: list[float], byte_places: list[float]
) -> None:
    """Chunk invariance. For every split of the same text the events are the same once neighbouring deltas of one path
    are merged; so are data, reasoning, diagnostics, error code and offset. Bytes split inside a UTF-8 sequence
    included."""
    options = {"dialect": dialect, "documents": which if dialect == "llm" else "first", "starts_in_reasoning": forced}
    whole = run([text], **options)
    assert run(chop(text, places), **options) == whole
    assert run(chop(text.encode(), byte_places), **options) == whole


@given(raw=spoiled_bytes, dialect=dialects, places=cuts())
def test_law_1_chunk_invariance_of_bytes_that_are_no_utf8(raw: bytes, dialect: str, places: list[float]) -> None:
    """The same where the bytes are no UTF-8: an error in strict, one U+FFFD each in llm, as CPython's own decoder gives
    them."""
    whole = run([raw], dialect=dialect)
    assert run(chop(raw, places), dialect=dialect) == whole
    if dialect == "llm" and not raw.startswith(b"\xef\xbb\xbf"):
        assert whole.text == run([raw.decode(errors="replace")], dialect=dialect).text


@given(text=any_texts, dialect=dialects, places=cuts())
def test_law_1_holds_with_empty_chunks_and_mixed_types(text: str, dialect: str, places: list[float]) -> None:
    """Empty chunks of either type, and bytes among text, change nothing."""
    mixed: list[str | bytes] = [""]
    for number, chunk in enumerate(chop(text, places)):
        mixed += [chunk.encode() if number % 2 else chunk, b"" if number % 3 else ""]
    assert run(mixed, dialect=dialect) == run([text], dialect=dialect)


# Law 2


@given(text=any_texts, dialect=dialects, places=cuts())
def test_law_2_deltas_add_up(text: str, dialect: str, places: list[float]) -> None:
    """Deltas add up. The joined deltas of a string path are its final value; of a number or boolean, its lexeme."""
    done = Run(chop(text, places), dialect=dialect)
    texts = joined(done.outcome.events)
    for parts, row in final_rows(done.outcome.events).items():
        delta = texts.get(parts, "")
        if row.kind == "string":
            assert json.dumps(delta) == row.value
        elif row.kind == "boolean":
            assert delta == row.value
        elif row.kind == "number" and row.value not in ("nan", "inf", "-inf"):
            assert re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", delta), delta
            assert show(json.loads(delta)) == row.value
        elif row.kind != "number":
            assert delta == ""


# Law 3


@given(text=any_texts, dialect=dialects, which=documents, starts=st.booleans(), places=cuts())
def test_law_3_done_once_done_last(text: str, dialect: str, which: str, starts: bool, places: list[float]) -> None:
    """Done once, done last. One `done` per path, nothing for that path after it, children before parents, in the order
    in which the text closes them. (After `reset` the path is new.)"""
    done = Run(
        chop(text, places), dialect=dialect, documents=which if dialect == "llm" else "first", emit_starts=starts
    )
    check_events(done.events)
    if is_json(text) and which != "all":
        assert done.outcome.events == predict(text, starts=starts)


# Law 4


@given(text=any_texts, dialect=dialects, which=documents, places=cuts())
def test_law_4_final_means_final(text: str, dialect: str, which: str, places: list[float]) -> None:
    """Final means final. The `value` of a `done` is the value in the final data."""
    done = Run(chop(text, places), dialect=dialect, documents=which if dialect == "llm" else "first")
    if done.parsed is None:
        return
    for parts, row in final_rows(done.outcome.events).items():
        assert show(at(done.data, parts)) == row.value


# Law 5


@given(text=json_texts, dialect=dialects, which=st.sampled_from(["first", "last"]), places=cuts())
def test_law_5_valid_json_is_never_reinterpreted(text: str, dialect: str, which: str, places: list[float]) -> None:
    """Valid JSON is never reinterpreted. For RFC 8259 text every dialect gives exactly what `json.loads` gives (key
    order, big ints, floats, duplicate keys: last wins)."""
    got = run(chop(text, places), dialect=dialect, documents=which if dialect == "llm" else "first")
    assert got.error is None
    assert got.data == show(json.loads(text))
    assert got.events == predict(text)
    assert (got.complete, got.incomplete, got.reasoning) == (True, [], "")
    assert got.codes <= {"duplicate_key"}


@given(value=values, style=styles, dialect=dialects, places=cuts())
def test_law_5_a_document_inside_a_string_stays_a_string(
    value: Any, style: dict[str, Any], dialect: str, places: list[float]
) -> None:
    """A string that holds a document, a fence or a tag is a string, also as the root."""
    inner = json.dumps(value, **style)
    for text in (
        json.dumps(inner),
        json.dumps([f"```json\n{inner}\n```"]),
        json.dumps({"a": f"<think>{inner}</think>"}),
    ):
        got = run(chop(text, places), dialect=dialect)
        assert (got.data, got.error, got.codes) == (show(json.loads(text)), None, set())


# Law 6


@given(value=containers, style=styles, share=st.floats(0.05, 1), places=cuts())
def test_law_6_truncated_is_not_complete(value: Any, style: dict[str, Any], share: float, places: list[float]) -> None:
    """Truncated is not complete. What was open at the end is `cut`, listed in `incomplete`, and `complete` is False.
    Nothing is lost: the partial value is there."""
    text = json.dumps({"first": value}, **style)
    beginning = text[: max(text.index('"') + 1, round(share * (len(text) - 1)))]
    model = CutModel(beginning)
    parser = StreamParser()
    events = [event for chunk in chop(beginning, places) for event in parser.feed(chunk)]
    before_close = parser.snapshot()
    parsed = parser.close()
    events += parsed.events
    assert parsed.has_data
    assert parsed.complete is False
    assert show(parsed.data) == show(model.value)
    cut = [event for event in events if event.event_type == "cut"]
    assert [event.path for event in cut] == list(parsed.incomplete)
    assert [event.parts for event in cut] == model.incomplete
    assert not {event.parts for event in cut} & {event.parts for event in events if event.event_type == "done"}
    assert grows(before_close, parsed.data)
    for event in cut:
        if event.kind in ("string", "object", "array"):
            assert show(event.value) == show(at(parsed.data, event.parts))


@given(value=containers, style=styles, share=st.floats(0.05, 1))
def test_law_6_open_paths_foretell_incomplete(value: Any, style: dict[str, Any], share: float) -> None:
    """At any moment `open_paths` are the paths that would be incomplete if the text ended there."""
    text = json.dumps({"first": value}, **style)
    beginning = text[: max(text.index('"') + 1, round(share * (len(text) - 1)))]
    parser = StreamParser(dialect="strict")
    parser.feed(beginning)
    open_paths = set(parser.open_paths)
    with pytest.raises(StreamParseError) as caught:
        parser.close()
    assert open_paths == set(caught.value.incomplete)  # type: ignore[attr-defined]


# Law 7


@given(text=st.one_of(json_texts, damaged()), places=cuts(), dialect=dialects)
@example(text='{"a":1,"b":2,"a":"xyz"}', places=[-1.0], dialect="llm")
def test_law_7_only_grows(text: str, places: list[float], dialect: str) -> None:
    """Only grows. Strings grow, arrays append or change their last item, objects add keys or change the last one;
    numbers, booleans and null appear whole."""
    parser = StreamParser(dialect=dialect)
    before: Any = None
    new: set[Any] = set()  # paths that were reset and are not final yet: they grow in the place they had
    try:
        for chunk in chop(text, places):
            events = parser.feed(chunk)
            now = parser.snapshot()
            for event in events:
                if event.event_type == "reset":
                    new.add(event.parts)
                elif event.event_type == "done":
                    new.discard(event.parts)
            if any(event.event_type == "reset" for event in events) or new:
                before = None
                continue
            assert before is None or grows(before, now), f"{before!r} became {now!r}"
            before = now
        parsed = parser.close()
    except StreamParseError:
        return
    if not any(event.event_type == "reset" for event in parsed.events):
        assert before is None or grows(before, parsed.data), f"{before!r} became {parsed.data!r}"


def grows(old: Any, new: Any) -> bool:
    """True when `new` is `old` after more text."""
    if isinstance(old, str) and type(old) is type(new):
        return new.startswith(old)
    if isinstance(old, list) and isinstance(new, list):
        if len(new) < len(old):
            return False
        return not old or (show(old[:-1]) == show(new[: len(old) - 1]) and grows(old[-1], new[len(old) - 1]))
    if isinstance(old, dict) and isinstance(new, dict):
        names = list(old)
        if list(new)[: len(names)] != names:
            return False
        return not names or (
            all(show(old[n]) == show(new[n]) for n in names[:-1]) and grows(old[names[-1]], new[names[-1]])
        )
    return show(old) == show(new)


# Law 8

_SHAPES: dict[str, tuple[str, str, str]] = {
    "one string": ('{"a":"', "some text, ", '"}'),
    "escapes": ('["', "\\u00e9\\n", '"]'),
    "numbers": ("[0", ",12345", "]"),
    "small objects": ('{"l":[0', ',{"id":1,"name":"x"}', "]}"),
    "quotes to be decided": ('{"a":"', 'he "said" so, ', '"}'),
    "a quote to be decided at every end": ("", '["', ""),
    "quotes and commas": ('{"a":"x', 'x", ', ""),
    "bare words and commas": ('{"a": ', "abc, def ", ""),
    "bare words": ("[x", ", some bare words", "]"),
    "missing commas": ("[0", ' {"a":"b"}', "]"),
    "white space": ("[1,", " \n", "2]"),
    "comments": ("[1,", " /* c */ ", "2]"),
    "prose": ("", "Well, it's a [1] {thing} to say. ", '{"a":1}'),
    "unclosed fence": ("```json\n", "not a document ", ""),
    "braces": ("", "{ ", ""),
    "braces in prose": ("So: ", "{x} [", ""),
    "reasoning": ("<think>", "is < 3 </thin ", '</think>{"a":1}'),
    "unclosed string": ('["', "x ", ""),
    "documents": ("", '{"a":1}\n', ""),
    "trailing text": ('{"a":1}', " and {so} on", ""),
}


@settings(max_examples=len(_SHAPES) * 2)
@given(shape=st.sampled_from(sorted(_SHAPES)), size=st.sampled_from([1, 4, 64, 1 << 30]))
def test_law_8_linear(shape: str, size: int) -> None:
    """Linear. Work is O(characters + events), whatever the chunk sizes; memory is O(depth + value); held-back text is
    bounded."""
    start, unit, end = _SHAPES[shape]
    small, large = (start + unit * (length // len(unit)) + end for length in (3_000, 48_000))
    # Sixteen times the text: sixteen times the work if linear, 256 times if quadratic. Sixty leaves room for a noisy
    # machine.
    ratio = min(cost(large, size) / cost(small, size) for _ in range(2))
    if ratio > 60:
        ratio = min(cost(large, size) for _ in range(3)) / min(cost(small, size) for _ in range(3))
    assert ratio < 60


def cost(text: str, size: int) -> float:
    """Seconds of processor time for one run."""
    chunks = [text[index : index + size] for index in range(0, len(text), size)]
    parser = StreamParser()
    began = time.process_time()
    try:
        for chunk in chunks:
            parser.feed(chunk)
        parser.close()
    except StreamParseError:
        pass
    return max(time.process_time() - began, 1e-4)


@pytest.mark.parametrize("dialect", ["llm", "strict", "json5"])
def test_law_8_memory_is_of_the_order_of_the_value(dialect: str) -> None:
    """A million characters in one string cost a few times their own size, however small the pieces; events do not hold
    it again."""
    unit = "some text. "
    count = 1_000_000 // len(unit)
    parser = StreamParser(dialect=dialect)
    tracemalloc.start()
    try:
        parser.feed('{"a":"')
        for _ in range(count):
            parser.feed(unit)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000
    assert len(parser.snapshot()["a"]) == count * len(unit)


@given(
    held=st.integers(8, 200),
    unit=st.sampled_from(['["', 'x", ', "abc, def ", '"" ', "'a' ", '"\n, ']),
    size=st.integers(1, 9),
)
def test_law_8_what_is_held_begins_where_it_is_undecided(held: int, unit: str, size: int) -> None:
    """The way back to an undecided quote is kept, and at most 64 characters before it, however many there were."""
    parser = StreamParser(limits=Limits(held=held))
    text = '{"a":"x' + unit * 400
    with contextlib.suppress(StreamParseError):
        for at in range(0, len(text), size):
            parser.feed(text[at : at + size])
            assert sum(map(len, parser._machine.held)) <= held + 2 * size + 2 + 64


@given(held=st.integers(8, 200), filler=st.sampled_from([" ", "\n", "/**/"]))
def test_law_8_held_back_text_is_bounded(held: int, filler: str) -> None:
    """Past `Limits.held` an undecided quote ends its string: the event is there, not a megabyte later."""
    parser = StreamParser(limits=Limits(held=held))
    parser.feed('{"a":"x"')
    events = []
    for _ in range(held + 8):
        events += parser.feed(filler)
    assert [(event.event_type, event.path) for event in events if event.event_type == "done"] == [("done", "a")]


# Law 9


@given(text=st.one_of(any_texts, noise, st.text(max_size=40)), dialect=dialects, which=documents, forced=st.booleans())
def test_law_9_no_surprise(text: str, dialect: str, which: str, forced: bool) -> None:
    """No surprise. Any input ends in events, data, diagnostics or one of our own exceptions with a place; never another
    exception, never a hang, never deep recursion."""
    done = Run([text], dialect=dialect, documents=which if dialect == "llm" else "first", starts_in_reasoning=forced)
    check_events(done.events)
    outcome = done.outcome
    places: list[Any] = [*outcome.diagnostics]
    if outcome.error is not None:
        assert outcome.error.type in ("JSONSyntaxError", "IncompleteJSONError", "LimitExceeded")
        places.append(outcome.error)
    for place in places:
        assert_place(place, text)


@given(raw=st.binary(max_size=60), dialect=dialects)
def test_law_9_no_surprise_in_bytes(raw: bytes, dialect: str) -> None:
    """The same for any bytes."""
    check_events(Run([raw], dialect=dialect).events)


@given(text=st.text(st.characters(categories=["Cs", "L", "Nd", "Zs"]), max_size=20), dialect=dialects, places=cuts())
def test_law_9_raw_surrogates_never_come_out(text: str, dialect: str, places: list[float]) -> None:
    """A `str` may hold raw halves of pairs (a source that cuts UTF-16); what comes out encodes to UTF-8, at every
    split."""
    document = f'{{"a":"{text}"}}'
    whole = run([document], dialect=dialect)
    assert run(chop(document, places), dialect=dialect) == whole


def assert_place(place: Fault | Any, text: str) -> None:
    """Offset, line and column (from 1) point to one and the same place of the text."""
    assert place.offset is not None
    assert 0 <= place.offset <= len(text)
    assert isinstance(place.path, str)
    if "\r" not in text:  # whether CR alone ends a line is another question
        before = text[: place.offset]
        assert place.line == before.count("\n") + 1
        assert place.column == place.offset - (before.rfind("\n") + 1) + 1


# Law 10


@given(
    text=st.one_of(noise, damaged()).filter(lambda text: "<" not in text and text.strip()),
    which=documents,
    places=cuts(),
)
def test_law_10_nothing_silent(text: str, which: str, places: list[float]) -> None:
    """Nothing silent. Each tolerance used leaves a `Diagnostic(code, message, offset, line, column, path)`."""
    got = run(chop(text, places), documents=which)
    assert is_json(text) or got.error is not None or got.diagnostics
    assert got.diagnostic_count >= len(got.diagnostics)
    for remark in got.diagnostics:
        assert remark.message
        assert_place(remark, text)


@given(text=damaged().filter(str.strip))
def test_law_10_nothing_silent_in_json5(text: str) -> None:
    """JSON5 takes the rows marked 5 of the catalogue, each with its diagnostic."""
    got = run([text], dialect="json5")
    assert is_json(text) or got.error is not None or got.diagnostics


# Law 11


@pytest.fixture(scope="module")
def twins() -> Iterator[tuple[Worker, Worker]]:
    """The interpreted and the compiled machine, each in its own process."""
    demanded = os.environ.get("STREAMPARSE_BUILD") == "require" or os.environ.get("STREAMPARSE_TWIN") == "required"
    if importlib.util.find_spec("streamparse._machine_c") is None:
        if demanded:
            pytest.fail("the compiled twin streamparse._machine_c is demanded, but was not built")
        pytest.skip(
            "streamparse._machine_c was not built; set STREAMPARSE_BUILD=require to build it and to demand it here"
        )
    pure, compiled = Worker(pure=True), Worker(pure=False)
    yield pure, compiled
    pure.close()
    compiled.close()


def test_law_11_the_twins_are_two(twins: tuple[Worker, Worker]) -> None:
    """`STREAMPARSE_PURE` really chooses."""
    assert [worker.implementation for worker in twins] == ["streamparse.streaming_data", "streamparse._machine_c"]


@given(text=any_texts, dialect=dialects, which=documents, starts=st.booleans(), places=cuts())
def test_law_11_compiled_is_interpreted(
    twins: tuple[Worker, Worker], text: str, dialect: str, which: str, starts: bool, places: list[float]
) -> None:
    """Compiled = interpreted. Both twins of the machine give the same on every input."""
    options = {"dialect": dialect, "documents": which if dialect == "llm" else "first", "emit_starts": starts}
    pure, compiled = (worker.run(chop(text, places), options) for worker in twins)
    assert compiled == pure


# Law 12


@st.composite
def with_schema(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """(RFC 8259 text, a JSON Schema that may or may not fit it)."""
    value = draw(containers)
    return json.dumps(value, **draw(styles)), draw(schema_for(value))


def schema_for(value: Any) -> st.SearchStrategy[dict[str, Any]]:
    """A schema that fits the kind of the root, and below it fits, misses or says more than there is."""
    free: list[dict[str, Any]] = [
        {},
        *[{"type": kind} for kind in ("string", "integer", "number", "boolean", "null", "array", "object")],
        {"enum": ["a", "b", 1, None]},
        {"const": "x"},
        {"type": "string", "pattern": "^[a-z]+$"},
        {"type": "string", "maxLength": 2},
        {"type": "string", "format": "date"},
        {"type": "integer", "minimum": 5},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        {"type": "array", "items": {"type": "boolean"}},
    ]
    if isinstance(value, dict):
        return st.fixed_dictionaries(
            {
                "type": st.just("object"),
                "properties": st.fixed_dictionaries(
                    {key: st.one_of(st.sampled_from(free), schema_for(member)) for key, member in value.items()}
                ).map(lambda properties: {**properties, "unseen": {"type": "string"}}),
                "required": st.lists(st.sampled_from([*value, "unseen"]), unique=True),
                "additionalProperties": st.booleans(),
            }
        )
    if isinstance(value, list):
        items = st.one_of(st.sampled_from(free), schema_for(value[0])) if value else st.sampled_from(free)
        return st.fixed_dictionaries({"type": st.just("array"), "items": items})
    return st.sampled_from(free)


@given(pair=with_schema().filter(lambda pair: not holds_document(json.loads(pair[0]))), places=cuts(), dialect=dialects)
def test_law_12_schema_only_adds(pair: tuple[str, dict[str, Any]], places: list[float], dialect: str) -> None:
    """Schema only adds. But for the last two exceptions of law 5 a schema never changes which structure events come
    from well-formed JSON; it holds, types, validates and reports."""
    text, schema = pair
    got = run(chop(text, places), output=JsonSchema(schema), dialect=dialect)
    assert got.error is None
    assert got.events == predict(text)
    assert got.data == show(loads(text))
    assert got.complete


@given(value=containers, style=styles, places=cuts())
def test_law_12_schema_of_another_root_changes_nothing_where_there_is_no_choice(
    value: Any, style: dict[str, Any], places: list[float]
) -> None:
    """With one document only, a schema has no later one to prefer: the document comes out as it is."""
    text = json.dumps(value, **style)
    if holds_document(value):
        return
    other = (
        {"type": "array"} if isinstance(value, dict) else {"type": "object", "properties": {"a": {"type": "string"}}}
    )
    got = run(chop(text, places), output=JsonSchema(other))
    assert (got.data, got.events) == (show(value), predict(text))


def holds_document(value: Any) -> bool:
    """True when some string of the value might be a document of its own."""
    if isinstance(value, str):
        return "{" in value or "[" in value
    if isinstance(value, dict):
        return any(holds_document(member) for member in value.values())
    return isinstance(value, list) and any(holds_document(item) for item in value)


def test_the_laws_are_all_here() -> None:
    """Each numbered law has a test of its number."""
    numbers = {int(match[1]) for name in globals() if (match := re.match(r"test_law_(\d+)_", name))}
    assert numbers == set(range(1, 13))


# What holds besides


@pytest.mark.parametrize(
    "text",
    [
        '{"a":"x"""y"}',  # three quotes open a string only where nothing stands before them
        '{"a":"\n"""}',
        '{"a":1,"a":"x","i"n',  # a key that came before, and its new value is still open
        '{"a":1,a:x,i"n',
    ],
)
def test_without_the_data_the_events_are_the_same(text: str) -> None:
    """`keep_data=False` takes the values away, and nothing else."""
    whole = run([text])
    for chunks in ([text], list(text)):
        bare = Run(chunks, keep_data=False).outcome
        told = [[(row.type, row.parts, row.kind, row.delta) for row in one.events] for one in (bare, whole)]
        assert told[0] == told[1]
        assert bare.diagnostics == whole.diagnostics
        assert bare.error == whole.error


@pytest.mark.parametrize(
    "text",
    [
        "<|channel|>final<|message|>[[1]><|channel|>analysis<|message|>x<|end|>u",
        "<|channel|>final<|message|>[[1]><|end|><|start|>assistant<|channel|>final<|message|>u",
    ],
)
def test_nothing_is_read_behind_a_fault(text: str) -> None:
    """Also where more pieces of the answer come in the same text (law 9)."""
    whole = run([text])
    assert whole.error is not None
    assert run(list(text)) == whole
