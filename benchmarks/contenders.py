"""Who is measured, how each is driven, and what each gives for its time.

A *push* contender keeps its state between deltas; its `run(deltas)` reads them all. A *re-parse* contender reads the
whole text so far again at each delta; its `prime(prefix)` returns the call that does so once, and the mean over the
positions of the text is its cost per delta.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fuzz.twins import load_twin

Run = Callable[[list[str]], Any]
Prime = Callable[[str], Callable[[], Any]]


@dataclass(frozen=True)
class Gives:
    """What the caller has after each delta, without work of his own."""

    open_string: bool = False  # the text of a string that has not ended
    path: bool = False  # which field grew
    piece: bool = False  # by what
    done: bool = False  # that a field is final
    value: bool = False  # the final value of the whole
    tolerant: bool = False  # reads what models write beside RFC 8259
    invariant: bool = False  # the same for every split of the text

    def marks(self) -> list[str]:
        return [
            "yes" if one else "–"
            for one in (self.open_string, self.path, self.piece, self.done, self.value, self.tolerant, self.invariant)
        ]


@dataclass(frozen=True)
class Contender:
    name: str
    gives: Gives
    run: Run | None = None
    prime: Prime | None = None
    note: str = ""
    roots: tuple[type, ...] = (dict, list)


class EventSlot:
    """The event object of the floor F: a slotted class with the nine attributes that an event of streamparse shows."""

    __slots__ = ("delta", "event_type", "is_complete", "kind", "parts", "path", "source", "value", "wildcard_path")

    def __init__(
        self,
        path: str,
        wildcard_path: str,
        parts: tuple[str, ...],
        delta: str,
        value: object,
        is_complete: bool,
        event_type: str,
        kind: str,
        source: str,
    ) -> None:
        self.path = path
        self.wildcard_path = wildcard_path
        self.parts = parts
        self.delta = delta
        self.value = value
        self.is_complete = is_complete
        self.event_type = event_type
        self.kind = kind
        self.source = source


def floor() -> Contender:
    def run(deltas: list[str]) -> None:
        buffer: list[str] = []
        parts = ("a", "b")
        for delta in deltas:
            buffer.append(delta)
            EventSlot("a.b", "a.b", parts, delta, None, False, "delta", "string", "content")

    return Contender("F: append + one event object", Gives(), run)


def _fed(name: str, make: Callable[[], Callable[[str], object]]) -> Contender:
    def run(deltas: list[str]) -> None:
        feed = make()
        for delta in deltas:
            feed(delta)

    return Contender(name, Gives(), run)


def empty_call() -> Contender:
    """What tells machines apart: the same call cost as much where the goals were set as it does in this run, or not."""

    class Empty:
        def feed(self, delta: str) -> None: ...

    return _fed("C: an empty method call", lambda: Empty().feed)


def idle_parser() -> Contender:
    """What every push parser written in Python costs that gives events: the floor F, in a method that returns them."""

    class Idle:
        def __init__(self) -> None:
            self.buffer: list[str] = []
            self.parts = ("a", "b")

        def feed(self, delta: str) -> list[EventSlot]:
            self.buffer.append(delta)
            return [EventSlot("a.b", "a.b", self.parts, delta, None, False, "delta", "string", "content")]

    return _fed("P: F in a method that returns the event", lambda: Idle().feed)


def loads_once() -> Contender:
    return Contender("L: json.loads, once at the end", Gives(value=True), lambda deltas: json.loads("".join(deltas)))


# ---------------------------------------------------------------------------------------------------------- streamparse


OURS = Gives(open_string=True, path=True, piece=True, done=True, value=True, tolerant=True, invariant=True)
OURS_STRICT = Gives(open_string=True, path=True, piece=True, done=True, value=True, tolerant=False, invariant=True)


def streamparse(package: Any, twin: str, dialect: str) -> Contender:
    parser_type = package.StreamParser

    def run(deltas: list[str]) -> Any:
        parser = parser_type(dialect=dialect)
        feed = parser.feed
        for delta in deltas:
            feed(delta)
        return parser.close().data

    return Contender(f"streamparse {twin}, {dialect}", OURS_STRICT if dialect == "strict" else OURS, run)


def twins(dialects: tuple[str, ...] = ("llm", "strict")) -> Iterator[Contender]:
    """Each twin that is there, each dialect."""
    for twin in ("compiled", "interpreted"):
        package = load_twin(twin)
        if package is None:
            print(f"no {twin} twin here: left out", file=sys.stderr)
            continue
        for dialect in dialects:
            yield streamparse(package, twin, dialect)


# ---------------------------------------------------------------------------------------------------------------- peers


def jiter() -> Contender:
    from jiter import from_json

    def prime(prefix: str) -> Callable[[], Any]:
        return lambda: from_json(prefix.encode(), partial_mode="trailing-strings")

    return Contender(
        "J: jiter, re-parse at each delta", Gives(open_string=True, value=True), prime=prime, note="depth 200 at most"
    )


def ijson_parse(backend: str, label: str) -> Contender:
    import ijson

    module = ijson.get_backend(backend)

    def run(deltas: list[str]) -> None:
        events = ijson.sendable_list()
        machine = module.parse_coro(events)
        for delta in deltas:
            machine.send(delta.encode())
            events.clear()
        machine.close()

    return Contender(
        f"ijson {label}, parse_coro pushed",
        Gives(path=True, done=True, invariant=True),
        run,
        note="no value of the whole",
    )


def ijson_basic() -> Contender:
    import ijson

    module = ijson.get_backend("yajl2_c")

    def run(deltas: list[str]) -> None:
        events = ijson.sendable_list()
        machine = module.basic_parse_coro(events)
        for delta in deltas:
            machine.send(delta.encode())
            events.clear()
        machine.close()

    return Contender("ijson C, basic_parse_coro pushed", Gives(done=True, invariant=True), run, note="tokens only")


def ijson_c() -> Contender:
    return ijson_parse("yajl2_c", "C")


def ijson_python() -> Contender:
    return ijson_parse("python", "Python")


def json_stream() -> Contender:
    from json_stream import visit

    def run(deltas: list[str]) -> None:
        visit((delta.encode() for delta in deltas), lambda item, path: None)

    return Contender(
        "json-stream (Rust tokens), visit",
        Gives(path=True, done=True, invariant=True),
        run,
        note="pulls; no value of the whole",
    )


async def _from(deltas: list[str]) -> AsyncIterator[str]:
    for delta in deltas:
        yield delta


def jsonriver() -> Contender:
    from jsonriver import parse

    async def all_of(deltas: list[str]) -> Any:
        value = None
        async for got in parse(_from(deltas)):
            value = got
        return value

    return Contender(
        "jsonriver",
        Gives(open_string=True, value=True, invariant=True),
        lambda deltas: asyncio.run(all_of(deltas)),
        note="numbers are floats",
    )


def jsontap() -> Contender:
    from jsontap import jsontap as tap

    async def all_of(deltas: list[str]) -> Any:
        return await tap(_from(deltas))

    return Contender(
        "jsontap", Gives(path=True, done=True, value=True, invariant=True), lambda deltas: asyncio.run(all_of(deltas))
    )


def streaming_json_parser() -> Contender:
    from streaming_json_parser import StreamingJsonParser

    native = type(StreamingJsonParser()).__module__ == "builtins"

    def run(deltas: list[str]) -> Any:
        parser = StreamingJsonParser()
        value = None
        for delta in deltas:
            value = parser.feed(delta.encode()).value
        return value

    kind = "native" if native else "Python"
    return Contender(
        f"streaming-json-parser ({kind}), .value read", Gives(open_string=True, value=True, invariant=True), run
    )


def jaxn() -> Contender:
    from jaxn import JSONParserHandler, StreamingJSONParser

    class Handler(JSONParserHandler):
        def on_value_chunk(self, path: str, field_name: str, chunk: str) -> None:
            pass

        def on_field_end(self, path: str, field_name: str, value: str, parsed_value: Any = None) -> None:
            pass

    def run(deltas: list[str]) -> None:
        parser = StreamingJSONParser(Handler())
        for delta in deltas:
            parser.parse_incremental(delta)

    return Contender(
        "jaxn",
        Gives(open_string=True, path=True, piece=True, done=True, invariant=True),
        run,
        note="a call per character; no value of the whole",
    )


def jsonsax() -> Contender:
    from jsonsax import Parser

    def run(deltas: list[str]) -> None:
        parser = Parser()
        parser.on("value", lambda path, value: None)
        for delta in deltas:
            parser.feed(delta)
        parser.close()

    return Contender("jsonsax", Gives(path=True, done=True, invariant=True), run, note="no value of the whole")


def jsonmend() -> Contender:
    from jsonmend import Mender

    def run(deltas: list[str]) -> Any:
        mender = Mender()
        for delta in deltas:
            mender.feed(delta)
        return mender.close()

    return Contender("jsonmend, Mender", Gives(open_string=True, value=True, tolerant=True, invariant=True), run)


def _reparse(
    name: str, parse: Callable[[str], Any], gives: Gives, note: str = "", roots: tuple[type, ...] = (dict, list)
) -> Contender:
    return Contender(name, gives, prime=lambda prefix: lambda: parse(prefix), note=note, roots=roots)


def partial_json_parser() -> Contender:
    from partial_json_parser import loads

    return _reparse("partial-json-parser, re-parse", loads, Gives(open_string=True, value=True))


def partialjson() -> Contender:
    from partialjson import JSONParser

    def parse(text: str) -> Any:
        return JSONParser(on_extra_token=None).parse(text)

    return _reparse("partialjson, re-parse", parse, Gives(open_string=True, value=True))


def stream_json_repair() -> Contender:
    from partial_json_stream import parse_partial_json

    return _reparse(
        "stream-json-repair, re-parse", parse_partial_json, Gives(open_string=True, value=True, tolerant=True)
    )


def json_repair() -> Contender:
    from json_repair import repair_json

    def parse(text: str) -> Any:
        return repair_json(text, return_objects=True, stream_stable=True)

    return _reparse("json_repair stream_stable, re-parse", parse, Gives(open_string=True, value=True, tolerant=True))


def langchain() -> Contender:
    from langchain_core.utils.json import parse_partial_json

    return _reparse(
        "LangChain parse_partial_json, re-parse", parse_partial_json, Gives(open_string=True, value=True, tolerant=True)
    )


def instructor() -> Contender:
    from instructor.dsl.partial import process_potential_object
    from pydantic import BaseModel, ConfigDict

    class Anything(BaseModel):
        model_config = ConfigDict(extra="allow")

    def parse(text: str) -> Any:
        return process_potential_object(text, "trailing-strings", Anything)

    return _reparse(
        "instructor Partial, re-parse",
        parse,
        Gives(open_string=True, value=True),
        "object roots only; validates",
        (dict,),
    )


def agently() -> Contender:
    from agently.utils import StreamingJSONParser

    def schema_of(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: schema_of(one) for key, one in value.items()}
        if isinstance(value, list):
            return [schema_of(value[0])] if value else []
        return (type(value).__name__,)

    def prime(prefix: str) -> Callable[[], Any]:
        from jiter import from_json

        parser = StreamingJSONParser(
            schema_of(from_json(prefix.encode(), partial_mode="trailing-strings")), max_incomplete_parse_chars=0
        )

        async def feed(text: str) -> None:
            async for _ in parser.parse_chunk(text):
                pass

        loop = asyncio.new_event_loop()
        loop.run_until_complete(feed(prefix[:-4]))
        return lambda: loop.run_until_complete(feed(prefix[-4:]))

    return Contender(
        "agently StreamingJSONParser, no cap",
        Gives(open_string=True, path=True, piece=True, done=True, value=True, tolerant=True),
        prime=prime,
        note="re-parses; needs a schema",
    )


PEERS: tuple[Callable[[], Contender], ...] = (
    ijson_basic,
    ijson_c,
    ijson_python,
    streaming_json_parser,
    jsonsax,
    json_stream,
    jsontap,
    jsonmend,
    jsonriver,
    jaxn,
    jiter,
    partial_json_parser,
    partialjson,
    stream_json_repair,
    instructor,
    langchain,
    json_repair,
    agently,
)
YARDSTICKS: tuple[Callable[[], Contender], ...] = (jiter, ijson_c)


def importable(makers: tuple[Callable[[], Contender], ...]) -> list[Contender]:
    """The contenders that are here; the others are named."""
    out: list[Contender] = []
    for maker in makers:
        try:
            out.append(maker())
        except Exception as error:  # noqa: BLE001  # a peer may fail in any way when it is imported: it is named and left out
            print(f"{maker.__name__}: left out ({type(error).__name__}: {error})", file=sys.stderr)
    return out
