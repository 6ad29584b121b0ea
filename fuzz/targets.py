"""What is fuzzed: each target reads bytes and raises `AssertionError`, or whatever escapes, when something is wrong.

A target takes the `streamparse` package on one twin of the machine, and the input; those in `TARGETS` run on each twin.
The first byte or two of an input choose options and splits, the rest is the text: so an input stays what it was when a
target changes elsewhere. No target needs the fuzzing engine; the tests run the same functions over the saved inputs.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import itertools
import json
import math
import pickle
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .outcome import Outcome, finish, outcome
from .twins import each_twin, load_twin

Target = Callable[[bytes], None]
DIALECTS = ("llm", "strict", "json5", "llm")
BODIES = Path(__file__).parents[1] / "tests" / "bodies"


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def split(text: Any, rng: random.Random) -> list[Any]:
    """The text, or bytes, cut anywhere; some pieces may be empty."""
    sizes = rng.choice(((1,), (1, 2, 3), (0, 1, 4, 9), (1, 30)))
    pieces: list[Any] = []
    at = 0
    while at < len(text):
        size = rng.choice(sizes)
        pieces.append(text[at : at + size])
        at += size
    return pieces


def options_of(package: Any, choice: int, more: int) -> dict[str, Any]:
    """Options of a parser of `package` from two bytes."""
    dialect = DIALECTS[choice & 3]
    options: dict[str, Any] = {"dialect": dialect}
    if dialect == "llm":
        options["documents"] = ("first", "first", "last", "all")[choice >> 2 & 3]
        options["starts_in_reasoning"] = choice >> 4 & 7 == 7
    options["emit_starts"] = bool(choice & 128)
    options["number"] = ("int_float", "int_float", "decimal", "lexeme")[more & 3]
    options["surrogates"] = ("replace", "keep")[more >> 2 & 1]
    if more >> 3 & 7 == 7:
        options["limits"] = package.Limits(depth=4, string=20, key=10, number=5, document=200, held=12, diagnostics=3)
    if more >> 6 & 3 == 3:
        options["keep_data"] = False
    return options


class Differs(AssertionError):
    """Two outcomes are not equal; `kind` says how, without what is particular to the input."""

    kind = ""


def equal(name: str, got: Outcome, want: Outcome, about: str = "") -> None:
    for field in Outcome.__dataclass_fields__:
        one, two = getattr(got, field), getattr(want, field)
        if one == two:
            continue
        error = Differs(f"{about}{name}: {field}\n  got    {one!r}\n  wanted {two!r}")
        error.kind = f"{name}: {field}"
        if field == "diagnostics":  # which ones, and whether they differ in their place only
            codes = sorted({new[0] for new in set(one) ^ set(two)})
            error.kind += f" {codes} {[new[0] for new in one] == [new[0] for new in two]}"
        raise error


# ------------------------------------------------------------------------------------------------------------ targets


def no_crash(package: Any, data: bytes) -> None:
    """Laws 2, 3, 4 and 9 on raw bytes: nothing but our own errors, and the events tell one story."""
    if len(data) < 3:
        return
    options = options_of(package, data[0], data[1])
    rng = random.Random(data[0] | data[1] << 8)
    parser = package.StreamParser(**options)
    events: list[Any] = []
    parsed = fault = None
    try:
        for piece in split(data[2:], rng):
            events += parser.feed(piece)
            if rng.random() < 0.1:
                parser.snapshot()
                assert all(isinstance(path, str) for path in parser.open_paths)
                assert isinstance(parser.status, str)
        parsed = parser.close()
        events += parsed.events
    except package.StreamParseError as error:
        fault = (error.code, str(error))
        events += getattr(error, "events", ())
    if fault is not None:
        assert all(fault), f"an error without a code or a text: {fault}"
    check_story(package, events, parsed, options)


def check_story(package: Any, events: list[Any], parsed: Any, options: dict[str, Any]) -> None:
    grown: dict[tuple[str | int, ...], str] = {}
    done: dict[tuple[str | int, ...], Any] = {}
    for event in events:
        parts = event.parts
        if event.event_type == "reset":
            grown = {one: text for one, text in grown.items() if one[: len(parts)] != parts}
            done = {one: value for one, value in done.items() if one[: len(parts)] != parts}
            continue
        assert parts not in done, f"{event.event_type} of {event.path!r} after its done"
        assert package.parse_path(event.path) == parts
        if event.delta is not None:
            assert event.event_type == "delta"
            if options.get("surrogates") != "keep":
                event.delta.encode()
            grown[parts] = grown.get(parts, "") + event.delta
        if event.event_type == "done":
            done[parts] = event.value
            if event.kind == "string" and options.get("keep_data", True):
                assert grown.get(parts, "") == event.value, f"the deltas of {event.path!r} are not its value"
    if parsed is None or not parsed.has_data or not options.get("keep_data", True):
        return
    for parts, value in done.items():
        found = parsed.data
        for part in parts:
            found = found[part]
        assert repr(found) == repr(value), f"done of {parts}: {value!r}, in the data {found!r}"


def same_anywhere(package: Any, text: str, rng: random.Random, options: dict[str, Any]) -> None:
    """Law 1: whole, each character and a random split; and without the data the same events, but for their values."""
    about = f"{text!r} {options} "
    want = outcome(package, [text], **options)
    equal("each character", outcome(package, list(text), **options), want, about)
    equal("split", outcome(package, split(text, rng), **options), want, about)
    for more in ({"keep_data": False}, {"emit_starts": not options["emit_starts"]}):
        bare = outcome(package, [text], **{**options, **more})
        for field in ("rows", "diagnostics", "error"):
            one, two = getattr(bare, field), getattr(want, field)
            if field == "rows":
                one, two = ([row[:4] for row in rows if row.type != "start"] for rows in (one, two))
            if one != two:
                error = Differs(f"{about}{more}: {field}\n  got    {one!r}\n  wanted {two!r}")
                error.kind = f"{more}: {field}"
                raise error


def grows(package: Any, data: bytes) -> None:
    """Laws 4 and 7 while a text comes, up to the first key that comes again: all only grows, what is done stays."""
    if len(data) < 3:
        return
    parser = package.StreamParser(**{**options_of(package, data[0] & 0xF3, data[1]), "keep_data": True})
    before = None
    with contextlib.suppress(package.StreamParseError):
        for char in text_of(data[2:]):
            events = parser.feed(char)
            if any(event.event_type == "reset" for event in events):
                return
            now = parser.snapshot()
            assert before is None or _has_grown(before, now), f"{before!r} became {now!r}"
            before = now
            for event in events:
                if event.event_type == "done":
                    assert event.path not in parser.open_paths
                    value = now
                    for part in event.parts:
                        value = value[part]
                    assert repr(value) == repr(event.value), f"done of {event.path!r}: {event.value!r}, there {value!r}"
        parsed = parser.close()
        if before is not None and not any(event.event_type == "reset" for event in parsed.events):
            assert _has_grown(before, parsed.data), f"{before!r} ended as {parsed.data!r}"


def _has_grown(before: Any, now: Any) -> bool:
    """Whether only the last thing in `before`, if any, is not in `now` as it was."""
    if isinstance(before, str) and isinstance(now, str):
        return now.startswith(before)
    old, new = _keys(before), _keys(now)
    if not old or type(before) is not type(now):
        return repr(before) == repr(now) or (type(before) is type(now) and bool(new))
    *whole, last = old
    return (
        new[: len(old)] == old
        and all(repr(before[key]) == repr(now[key]) for key in whole)
        and _has_grown(before[last], now[last])
    )


def chunk_invariance(package: Any, data: bytes) -> None:
    """Law 1: whole, each character, and two random splits; and as bytes."""
    if len(data) < 3:
        return
    options = options_of(package, data[0], data[1])
    text = text_of(data[2:])
    want = outcome(package, [text], **options)
    rng = random.Random(data[0] | data[1] << 8)
    same_anywhere(package, text, rng, options)
    raw = text.encode()
    equal("bytes", outcome(package, split(raw, rng), **options), want, f"{text!r} {options} ")


def broken_bytes(package: Any, data: bytes) -> None:
    """Law 1 on bytes that may be no UTF-8."""
    if len(data) < 3:
        return
    options = options_of(package, data[0], data[1])
    raw = data[2:]
    want = outcome(package, [raw], **options)
    rng = random.Random(data[0] | data[1] << 8)
    equal(
        "each byte",
        outcome(package, [raw[at : at + 1] for at in range(len(raw))], **options),
        want,
        f"{raw!r} {options} ",
    )
    equal("split", outcome(package, split(raw, rng), **options), want, f"{raw!r} {options} ")


class _NotJSON(ValueError):
    pass


def _no_constant(name: str) -> Any:
    raise _NotJSON(name)


def against_json(package: Any, data: bytes) -> None:
    """Law 5: what `json.loads` reads, each dialect reads as `json.loads` does; what it refuses, `strict` refuses."""
    if len(data) < 2:
        return
    text = text_of(data[1:])
    if text.startswith("\ufeff"):
        return  # `json.loads` refuses to begin with a byte order mark, RFC 8259 leaves it to the parser
    pieces = split(text, random.Random(data[0]))
    try:
        want = json.loads(text, parse_constant=_no_constant)
    except (json.JSONDecodeError, _NotJSON):
        got = outcome(package, pieces, dialect="strict", surrogates="keep")
        assert got.error is not None, f"strict reads what json.loads refuses: {got.data}"
        return
    except (ValueError, RecursionError):
        return  # more digits or depth than CPython reads
    for dialect in ("strict", "json5", "llm"):
        got = outcome(package, pieces, dialect=dialect, surrogates="keep")
        assert got.error is None, f"{dialect}: {got.error}"
        assert got.flags == (True, True), f"{dialect}: not complete: {got.incomplete}"
        assert got.data == repr(want), f"{dialect}: {got.data}, wanted {want!r}"
        assert {code for code, *_ in got.diagnostics} <= {"duplicate_key", "lone_surrogate"}, got.diagnostics


def against_ijson(package: Any, data: bytes) -> None:
    """The order and the values of the `done` events are those of ijson's events."""
    if len(data) < 2:
        return
    ijson: Any = importlib.import_module("ijson")  # has no types
    backend: Any = importlib.import_module("ijson.backends.python")
    text = text_of(data[1:])
    try:
        json.loads(text, parse_constant=_no_constant)
        text.encode()
        events: list[tuple[str, str, Any]] = list(backend.parse(text.encode(), use_float=True))
    except (ValueError, RecursionError, ijson.JSONError):
        return
    got = outcome(package, split(text, random.Random(data[0])), dialect="strict", surrogates="keep")
    if any(code == "duplicate_key" for code, *_ in got.diagnostics):
        return
    kinds = {"end_map": "object", "end_array": "array"}
    want: list[tuple[str, str | None]] = []
    for _prefix, event, value in events:
        if event in kinds:
            want.append((kinds[event], None))
        elif event in ("string", "boolean", "null"):
            want.append((event, repr(value)))
        elif event in ("number", "integer", "double"):
            want.append(("number", repr(value)))
    found = [
        (row.kind, None if row.kind in ("object", "array") else row.value) for row in got.rows if row.type == "done"
    ]
    assert found == want, f"\n  got    {found}\n  wanted {want}"


def twins(package: Any, data: bytes) -> None:
    """Law 11: the same as on the interpreted machine; and a copy or a pickle in the middle changes nothing."""
    if len(data) < 3:
        return
    interpreted = load_twin("interpreted")
    rng = random.Random(data[0] | data[1] << 8)
    pieces = split(text_of(data[2:]), rng)
    want = outcome(interpreted, pieces, **options_of(interpreted, data[0], data[1]))
    options = options_of(package, data[0], data[1])
    equal(package.IMPLEMENTATION, outcome(package, pieces, **options), want, f"{pieces!r} {options} ")
    parser = package.StreamParser(**options)
    events: list[Any] = []
    cut = rng.randrange(len(pieces) + 1)
    with contextlib.suppress(package.StreamParseError):
        for piece in pieces[:cut]:
            events += parser.feed(piece)
    if parser.error is None:
        twin = pickle.loads(pickle.dumps(parser))
        equal("pickled", finish(package, twin, list(events), pieces[cut:]), want)
        equal("the original of the pickle", finish(package, parser, events, pieces[cut:]), want)


OPENERS = (
    ("<think>", "</think>"),
    ("<Think >\n", "\n</think>"),
    ("<thinking>", "</thinking>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
    ("[THINK]", "[/THINK]"),
)
THOUGHTS = (
    "",
    "hm",
    'a { brace and a "quote"',
    '```json\n{"x": 1}\n```',
    "it's <b>bold</b>",
    "\n\n1. first\n2. second\n",
)
PROSE = ("", "Here is the answer:\n", "It's {name}, as in [1]:\n\n", "Sure! ", "I set x = {x, y}.\n")
TAILS = ("", "\n", "\nI hope this helps!", "\n\nNote [2] isn't {included}.", "\n```\n")
FENCES = (
    ("", ""),
    ("```json\n", "\n```"),
    ("```\n", "\n```"),
    ("~~~JSON\n", "\n~~~"),
    ("  ```json\n", "\n  ```"),
    ("````json\n", "\n````"),
)
WORDS = ("a", "b c", "", "it's", 'say "x"', "line\nline", "{", "```", "é", "😀", "<think>", "</think>", "//", "null")


def _value(rng: random.Random, depth: int) -> Any:
    kind = rng.randrange(7 if depth else 5)
    if kind == 0:
        return rng.choice(WORDS)
    if kind == 1:
        return rng.choice((0, -1, 12345678901234567890, 1.5, 1e-7))
    if kind == 2:
        return rng.choice((True, False, None))
    if kind < 5:
        return " ".join(rng.choice(WORDS) for _ in range(rng.randrange(4)))
    if kind == 5:
        return [_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {rng.choice(("a", "b", "c d", "", "é")): _value(rng, depth - 1) for _ in range(rng.randrange(4))}


def around(package: Any, data: bytes) -> None:
    """Reasoning and prose round a document: the right value and reasoning at every split. Bytes choose the pieces."""
    if len(data) < 6:
        return
    rng = random.Random(data[5:])
    document = {"key": _value(rng, 3), "other": _value(rng, 2)}
    written = json.dumps(document, indent=rng.choice((None, None, 1)), ensure_ascii=rng.random() < 0.5)
    opener, closer = OPENERS[data[0] % 2] if data[0] % 3 else ("", "")
    thought = THOUGHTS[data[1] % len(THOUGHTS)] if opener else ""
    begin, end = FENCES[data[2] % len(FENCES)]
    before = PROSE[data[3] % len(PROSE)]
    after = TAILS[data[4] % len(TAILS)]
    if begin and before and not before.endswith("\n"):
        before += "\n"
    text = f"{opener}{thought}{closer}{before}{begin}{written}{end}{after}"
    want = outcome(package, [text])
    assert want.error is None
    assert want.data == repr(document), f"{text!r}\n  got    {want.data}\n  wanted {document!r}"
    assert want.flags == (True, True), f"{text!r}: {want}"
    assert want.reasoning.strip() == thought.strip(), f"{text!r}: reasoning {want.reasoning!r}"
    equal("each character", outcome(package, list(text)), want, f"{text!r} ")
    equal("split", outcome(package, split(text, rng)), want, f"{text!r} ")


SOUP = (
    *(one for pair in OPENERS for one in pair), "```json\n", "```", "\n```\n", "~~~", "<response>",
    "</response>", "<answer>", "</answer>", "<|", "|>", "<", ">", "<tool_call>", "</tool_call>", "<|eot_id|>",
    "<|channel|>final<|message|>", "Here is my thought process:", "Here is my response:", "{", "}", "[", "]",
    '{"a": 1}', "[1, 2]", '{"', '": "', '",', ":", ",", "'", '"', '"""', " ", "\n", "\t", "\ufeff", "\u200b",
    "text ", "it's ", "{name}", "[1]", "{{", "}}", "\\", '\\"', "\\n", "\\u00e9", "\\ud83d", "\\ude00",
    "\ud83d".encode("utf-8", "replace").decode(), "😀", "1", "-", "1e5", "007", "0x1F", "true", "True", "None",
    "NaN", "undefined", "//", "/*", "*/", "#", "…", "...", "“", "”", "：", "，", "=", ";", "+", "a", "key", "(",
    ")",
)  # fmt: skip


def soup(package: Any, data: bytes) -> None:
    """Law 1 and the story of the events on pieces of what models write, one piece a byte."""
    if len(data) < 3:
        return
    options = options_of(package, data[0] & 0xFC, data[1])
    families = ("auto", "auto", "auto", "granite", "gpt-oss", "mistral", None, ("<t>", "</t>"))
    family = families[data[0] & 7]
    if family not in (None, "auto") and isinstance(family, str):
        known = sorted(importlib.import_module("streamparse.reasoning").FAMILIES)
        family = known[data[1] % len(known)]
    options["reasoning"] = family
    text = "".join(SOUP[byte % len(SOUP)] for byte in data[2:])
    rng = random.Random(data[0] | data[1] << 8)
    try:
        same_anywhere(package, text, rng, options)
    except package.UsageError:
        return
    no_crash(package, data[:2] + text.encode())


NAMED = (None, None, "sse", "ndjson", "json", "json", "aws", "aws-json")  # the formats of bodies


SCHEMAS: tuple[dict[str, Any], ...] = (
    {"type": "string"},
    {"type": "integer"},
    {"type": "boolean"},
    {"type": "array", "items": {"type": "string"}},
    {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}, "p": {"enum": ["x", "y"]}}},
    {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]},
    {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}}},
)


def schema(package: Any, data: bytes) -> None:
    """Law 1 with an `output`."""
    if len(data) < 4:
        return
    options = {
        **options_of(package, data[0], data[1]),
        "keep_data": True,
        "number": "int_float",
        "surrogates": "replace",
    }
    options["output"] = package.JsonSchema(SCHEMAS[data[2] % len(SCHEMAS)])
    text = text_of(data[3:])
    about = f"{text!r} {SCHEMAS[data[2] % len(SCHEMAS)]} {options} "
    want = outcome(package, [text], **options)
    equal("each character", outcome(package, list(text), **options), want, about)
    equal("split", outcome(package, split(text, random.Random(data[0] | data[1] << 8)), **options), want, about)


def captures(package: Any, data: bytes) -> None:
    """A body cut anywhere decodes to the same chunks, and ends in chunks or a `ProviderError`; its format may be named.

    Its first line comes in one piece: pieces without line ends may be lines that lost them, which is for the decoder to
    guess.
    """
    if len(data) < 2:
        return
    first, end, rest = data[1:].partition(b"\n")
    if not end:
        return
    begin = first + end
    named = NAMED[data[0] >> 5]
    want = _decode(package, [begin + rest], named)
    for name, pieces in (
        ("split", split(rest, random.Random(data[0]))),
        ("each byte", [rest[at : at + 1] for at in range(len(rest))]),
    ):
        got = _decode(package, [begin, *pieces], named)
        assert got == want, f"{name}\n  got    {got}\n  wanted {want}"


def _decode(package: Any, pieces: Iterable[bytes], named: str | None) -> tuple[str, str]:
    decoder = importlib.import_module("streamparse.captures").BodyDecoder(format=named)
    found: list[Any] = []
    fault = ""
    try:
        for piece in pieces:
            found += decoder.feed(piece)
        found += decoder.close()
    except package.ProviderError as error:
        fault = error.code
    whole: list[Any] = []
    for chunk in found:
        if isinstance(chunk, str) and whole and isinstance(whole[-1], str):
            whole[-1] += chunk
        else:
            whole.append(chunk)
    return repr(whole), fault


def adapters(package: Any, data: bytes) -> None:
    """A body, mutated: the result ends in a Response or one of our own errors; the Response goes to JSON and back."""
    if len(data) < 2:
        return
    try:
        decoder = importlib.import_module("streamparse.captures").BodyDecoder()
        chunks = decoder.feed(data[1:]) + decoder.close()
    except package.ProviderError:
        return
    _check_response(package, chunks)


def shapes(package: Any, data: bytes) -> None:
    """The same with the chunks of a recorded body, of which the bytes choose some values and replace them."""
    if len(data) < 3:
        return
    rng = random.Random(data)
    bodies = _recorded()
    chunks = copy.deepcopy(bodies[data[0] % len(bodies)])
    for _ in range(1 + data[1] % 3):
        _spoil(chunks, rng)
    _check_response(package, chunks)


@functools.cache
def _recorded() -> list[list[Any]]:
    """The first chunks of each recorded body."""
    captures = importlib.import_module("streamparse.captures")
    return [
        list(itertools.islice(captures.open(path), 30))
        for path in sorted(BODIES.iterdir())
        if not path.name.endswith((".expect.json", ".md"))
    ]


def _spoil(value: Any, rng: random.Random) -> None:
    """Replace something inside of a list or dict."""
    key = rng.choice(_keys(value))
    if _keys(value[key]) and rng.random() < 0.9:
        _spoil(value[key], rng)
        return
    deep: Any = []
    for _ in range(rng.choice((0, 5000))):  # as `json` of newer Pythons reads it
        deep = [deep]
    value[key] = rng.choice(
        (None, True, 0, -1, 1.5, math.nan, 10**400, "", "x", "{", "\ud83d", deep, ["x"], [None], [[1]], {}, {"x": 1},
         {"type": "text"}, {"text": "x"})
    )  # fmt: skip


def _keys(value: Any) -> list[Any]:
    """Where a dict or a list has its values; others have none."""
    kind = type(value).__name__
    return list(value) if kind == "dict" else list(range(len(value))) if kind == "list" else []


def _check_response(package: Any, chunks: list[Any]) -> None:
    result = package.wrap(iter(chunks))
    try:
        for event in result.get_generator(type="all"):
            del event
        response = result.get_response()
    except package.StreamParseError:
        return
    again = package.Response.model_validate_json(response.model_dump_json())
    assert again.text == response.text
    assert again.reasoning == response.reasoning
    assert [one.raw_arguments for one in again.tool_calls] == [one.raw_arguments for one in response.tool_calls]


TARGETS: dict[str, Target] = {
    one.__name__: each_twin(one)
    for one in (
        no_crash,
        grows,
        chunk_invariance,
        broken_bytes,
        against_json,
        against_ijson,
        twins,
        around,
        soup,
        schema,
        captures,
        adapters,
        shapes,
    )
}
