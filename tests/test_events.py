"""StreamingData: immutable, cheap, a value; and the parts of the parser's surface that hand events out."""

from __future__ import annotations

import copy
import gc
import inspect
import json
import pickle
import sys
from typing import Any

import pytest
from hypothesis import given
from pydantic import BaseModel, TypeAdapter, ValidationError
from support.runner import Run, check_events
from support.splits import chop, cuts, each
from support.texts import any_texts, dialects, json_texts
from support.values import at, show

from streamparse import IMPLEMENTATION, Parsed, StreamingData, StreamParser, UsageError
from streamparse.values import same_value

TEXT = '{"tips":[{"text":"hé"},{"text":"b"}],"n":-1.50,"t":true,"z":null,"a b":{}}'
PLAIN = ("path", "wildcard_path", "delta", "value", "is_complete", "event_type", "kind", "source")


def events_of(text: str = TEXT, **options: Any) -> list[StreamingData]:
    parser = StreamParser(**options)
    events = [event for character in each(text) for event in parser.feed(character)]
    return events + list(parser.close().events)


def find(path: str, kind: str) -> StreamingData:
    [event] = [event for event in events_of() if event.path == path and event.event_type == kind][-1:]
    return event


def test_an_output_needs_the_data() -> None:
    with pytest.raises(UsageError, match="keep_data"):
        StreamParser(output=dict[str, int], keep_data=False)


def test_the_collector_does_not_follow_the_events_of_the_compiled_twin() -> None:
    """What Cython is told about the class beside its types (setup.py) is told in a way that it heeds."""
    assert gc.is_tracked(find("n", "done")) == (IMPLEMENTATION == "interpreted")


def test_attributes() -> None:
    """The table in part 2 of the design, row by row."""
    event = find("tips[0].text", "delta")
    assert event.path == "tips[0].text"
    assert event.wildcard_path == "tips[*].text"
    assert event.parts == ("tips", 0, "text")
    assert event.indexes == (0,)
    assert event.pointer == "/tips/0/text"
    assert event.delta == "é"
    assert event.value == "hé"
    assert event.is_complete is False
    assert event.event_type == "delta"
    assert event.kind == "string"
    assert event.source == "content"


@pytest.mark.parametrize(
    ("path", "kind", "delta", "value"),
    [
        ("n", "number", "-1.50", -1.5),
        ("t", "boolean", "true", True),
        ("z", "null", None, None),
        ("tips[1].text", "string", "b", "b"),
        ('["a b"]', "object", None, {}),
        ("tips", "array", None, [{"text": "hé"}, {"text": "b"}]),
        ("", "object", None, json.loads(TEXT)),
    ],
)
def test_deltas_and_done(path: str, kind: str, delta: str | None, value: Any) -> None:
    """Leaves: the text, then `done` with the value; null and containers: `done` only."""
    mine = [event for event in events_of() if event.path == path]
    assert [event.event_type for event in mine] == (["delta", "done"] if delta else ["done"])
    assert [event.delta for event in mine] == ([delta, None] if delta else [None])
    assert [event.is_complete for event in mine] == ([False, True] if delta else [True])
    assert show(mine[-1].value) == show(value)
    assert {event.kind for event in mine} == {kind}


def test_a_closing_quote_is_an_event_of_its_own() -> None:
    """So that `ui[path] += delta` is always right."""
    events = events_of('{"a":"x"}', dialect="strict")
    assert [(event.path, event.event_type, event.delta) for event in events] == [
        ("a", "delta", "x"),
        ("a", "done", None),
        ("", "done", None),
    ]


def test_a_user_interface_that_only_adds() -> None:
    """The loop of the README."""
    shown: dict[str, str] = {}
    for event in events_of('{"a":"one","a":"two","l":["x",{"y":"z"}],"n":1.0}'):
        if event.event_type == "reset":
            shown = {path: text for path, text in shown.items() if path != event.path}
        elif event.delta is not None:
            shown[event.path] = shown.get(event.path, "") + event.delta
    assert shown == {"a": "two", "l[0]": "x", "l[1].y": "z", "n": "1.0"}


def test_starts_only_when_asked_for() -> None:
    assert not [event for event in events_of() if event.event_type == "start"]
    starts = [
        (event.path, event.kind)
        for event in events_of('{"a":["x",1,null],"b":{}}', emit_starts=True)
        if event.event_type == "start"
    ]
    assert starts == [
        ("", "object"),
        ("a", "array"),
        ("a[0]", "string"),
        ("a[1]", "number"),
        ("a[2]", "null"),
        ("b", "object"),
    ]


@pytest.mark.parametrize("name", [*PLAIN, "parts", "indexes", "pointer", "brand_new"])
def test_immutable(name: str) -> None:
    event = find("tips[0].text", "delta")
    before = pickle.dumps(event)
    with pytest.raises((AttributeError, TypeError)):
        setattr(event, name, "x")
    with pytest.raises((AttributeError, TypeError)):
        delattr(event, name)
    assert pickle.dumps(event) == before


def test_slotted() -> None:
    assert not hasattr(find("n", "done"), "__dict__")
    assert sys.getsizeof(find("n", "done")) <= 200


def test_equal_by_value() -> None:
    first, second = events_of(), events_of()
    assert first == second
    assert all(one is not other for one, other in zip(first, second, strict=True))
    assert first[0] != first[1]
    for other in (events_of(TEXT.replace("hé", "ho")), events_of(TEXT.replace("tips", "hint"))):
        assert first != other
    assert first[0] != (first[0].path, first[0].delta)
    assert first[0] != None  # noqa: E711  # the comparison itself is under test


def test_equality_looks_at_the_value() -> None:
    """`done` of 1, 1.0, true and "1" are four events; so are `done`s of containers that differ inside."""
    dones = [events_of(f'{{"a":{text}}}')[-2] for text in ("1", "1.0", "true", '"1"', "[1]", "[2]", "[]", "{}")]
    for index, one in enumerate(dones):
        assert [one == other for other in dones] == [index == place for place in range(len(dones))]


def test_hash() -> None:
    """Events go into sets, those of containers too; equal ones fall together."""
    first, second = events_of(), events_of()
    assert [hash(event) for event in first] == [hash(event) for event in second]
    assert len({*first, *second}) == len(set(first)) == len(first)


@given(text=any_texts, dialect=dialects, places=cuts())
def test_pickle_and_copy(text: str, dialect: str, places: list[float]) -> None:
    """Any event survives, and all it says with it."""
    for event in Run(chop(text, places), dialect=dialect, emit_starts=True).events:
        for twin in (pickle.loads(pickle.dumps(event)), copy.copy(event), copy.deepcopy(event)):
            assert type(twin) is type(event)
            assert twin == event
            assert show(plain(twin)) == show(plain(event))
            assert (twin.parts, show(twin.value)) == (event.parts, show(event.value))


def plain(event: StreamingData) -> dict[str, Any]:
    """`to_dict()` with lists for tuples, as `show` wants them."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in event.to_dict().items()}


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_every_pickle_protocol(protocol: int) -> None:
    events = events_of()
    assert pickle.loads(pickle.dumps(events, protocol)) == events


def test_to_dict() -> None:
    """Plain data that `json.dumps` takes, with the names of the attributes."""
    for event in events_of():
        mapping = event.to_dict()
        assert json.loads(json.dumps(mapping))
        for name in PLAIN:
            assert show(mapping[name]) == show(getattr(event, name)), name


def test_repr_names_path_and_type() -> None:
    text = repr(find("tips[0].text", "delta"))
    assert "StreamingData" in text
    assert "tips[0].text" in text
    assert "delta" in text


@given(text=json_texts, places=cuts())
def test_value_on_demand(text: str, places: list[float]) -> None:
    """The value of a delta is the text up to that delta, whenever it is asked for: at once, or after the stream has
    gone on."""
    parser = StreamParser()
    seen: list[tuple[StreamingData, str]] = []
    for chunk in chop(text, places):
        deltas = [event for event in parser.feed(chunk) if event.event_type == "delta"]
        seen += [(event, show(event.value)) for event in deltas]
    parser.close()
    assert [show(event.value) for event, _ in seen] == [value for _, value in seen]


def test_a_reset_does_not_change_older_events() -> None:
    parser = StreamParser()
    old = parser.feed('{"a":"one')
    parser.feed('","a":"two"}')
    assert [event.value for event in old] == ["one"]


def test_values_of_done_belong_to_the_event() -> None:
    """A list that goes on growing elsewhere does not change what an earlier event said."""
    parser = StreamParser()
    events = parser.feed('{"a":[[1],[2')
    [done] = [event for event in events if event.path == "a[0]" and event.is_complete]
    parser.feed("],[3]]}")
    assert done.value == [1]


class Holder(BaseModel):
    """A user's own model with an event in it."""

    item: StreamingData
    label: str = ""


@pytest.mark.parametrize("index", range(4))
def test_pydantic_field(index: int) -> None:
    event = events_of()[index]
    holder = Holder(item=event)
    assert holder.item is event
    assert Holder(item=event) == holder
    dumped = json.loads(holder.model_dump_json())
    assert dumped["item"] == json.loads(json.dumps(event.to_dict()))
    assert holder.model_dump(mode="json")["item"]["path"] == event.path


def test_pydantic_round_trip() -> None:
    """What was serialised validates again, to an equal event."""
    for event in events_of():
        again = Holder.model_validate_json(Holder(item=event).model_dump_json())
        assert again.item == event
        assert again.item.parts == event.parts
        assert Holder.model_validate({"item": event.to_dict()}).item == event


@pytest.mark.parametrize("value", [5, "x", None, {}, {"path": "a"}, {"path": 5, "event_type": "delta"}, []])
def test_pydantic_refuses_what_is_no_event(value: Any) -> None:
    with pytest.raises(ValidationError):
        Holder(item=value)


def test_pydantic_schema_and_adapter() -> None:
    """A web framework can describe an endpoint that sends events."""
    assert Holder.model_json_schema()["properties"]["item"]
    events = events_of()
    adapter = TypeAdapter(list[StreamingData])
    assert adapter.validate_python(events) == events
    assert adapter.validate_json(adapter.dump_json(events)) == events


class Text(str):
    __slots__ = ()


def test_chunks_of_a_str_subclass() -> None:
    """An SDK's own text type is text; what comes out is plain `str`."""
    parser = StreamParser()
    events = [event for character in each(TEXT) for event in parser.feed(Text(character))]
    events += parser.close().events
    assert events == events_of()
    assert {type(event.delta) for event in events} == {str, type(None)}
    assert {type(key) for key in parser.data} == {str}


@given(text=json_texts, places=cuts())
def test_without_data_the_events_are_the_same(text: str, places: list[float]) -> None:
    """`keep_data=False` saves the tree, not the events."""
    kept, dropped = (Run(chop(text, places), keep_data=keep) for keep in (True, False))
    check_events(dropped.events, values=False)
    assert [(event.event_type, event.parts, event.kind, event.delta) for event in dropped.events] == [
        (event.event_type, event.parts, event.kind, event.delta) for event in kept.events
    ]


def test_live_data_and_snapshot() -> None:
    """`data` is the tree itself, `snapshot()` a copy that stays as it is and may be changed."""
    parser = StreamParser()
    parser.feed('{"a":"x","b":["y","z')
    copied = parser.snapshot()
    assert copied == parser.data == {"a": "x", "b": ["y", "z"]}
    assert list(parser.open_paths) == ["b[1]", "b", ""]
    parser.feed('z","w"]')
    assert copied == {"a": "x", "b": ["y", "z"]}
    copied["b"].append("mine")
    copied["a"] = "mine"
    parser.feed("}")
    parsed = parser.close()
    assert parsed.data == {"a": "x", "b": ["y", "zz", "w"]}
    assert at(parsed.data, ("b", 1)) == "zz"
    assert list(parser.open_paths) == []


def test_without_data_a_parser_that_moves_goes_on() -> None:
    """An open object remembers its keys, so that one that comes again is told."""
    text = '{"a":{"b":1,"c":["x",[2]],"b":"yz"},"a":3}'
    for cut in range(len(text)):
        parser = StreamParser(keep_data=False)
        events = parser.feed(text[:cut])
        parser = pickle.loads(pickle.dumps(parser)) if cut % 2 else copy.deepcopy(parser)
        events += parser.feed(text[cut:])
        events += parser.close().events
        assert [event.path for event in events if event.event_type == "reset"] == ["a.b", "a"]
        assert "".join(event.delta or "" for event in events) == "1x2yz3"
        assert [event.path for event in events if event.is_complete] == [
            "a.b", "a.c[0]", "a.c[1][0]", "a.c[1]", "a.c", "a.b", "a", "a", "",
        ]  # fmt: skip


def test_a_key_that_came_again_has_no_value_before_its_new_one() -> None:
    text = '{"b":2,"a":1,"a":'
    for chunks in ([text], each(text)):
        parser = StreamParser()
        for chunk in chunks:
            parser.feed(chunk)
        assert parser.snapshot() == {"b": 2}
        parsed = parser.close()
        assert parsed.data == {"b": 2}
        assert parsed.incomplete == ("a", "")


def test_open_paths_of_bare_words() -> None:
    """A literal that is whole is as good as closed; a number may go on."""
    for text, paths in (
        ('{"a": [true', ["a", ""]),
        ('{"a": [tru', ["a[0]", "a", ""]),
        ('{"a": [1', ["a[0]", "a", ""]),
        ('{"a": [1 ', ["a", ""]),
        ('{"a":', ["a", ""]),
        ('{"a": nul', ["a", ""]),
        ('{"a": null', [""]),
    ):
        parser = StreamParser()
        parser.feed(text)
        assert parser.open_paths == paths, text


def test_halves_of_surrogates_may_stay() -> None:
    """With `surrogates="keep"` the value is what `json.loads` gives."""
    for text in ('["a\ud83db"]', r'["a\ud83db"]'):
        parser = StreamParser(surrogates="keep")
        parser.feed(text)
        assert parser.close().data == json.loads(text) == ["a\ud83db"]


def test_halves_of_a_pair_before_the_document() -> None:
    parser = StreamParser()
    for chunk in ("See \ud83d", '\ude00: {"a":1} \ud83d', "\ude00", " \ud83d"):
        parser.feed(chunk)
    parsed = parser.close()
    assert parsed.data == {"a": 1}
    assert parsed.text == 'See 😀: {"a":1} 😀 \ufffd'


def test_what_is_left_is_compared_by_value() -> None:
    def parsed(text: str) -> Parsed:
        parser = StreamParser()
        parser.feed(text)
        return parser.close()

    assert parsed('<think>x</think>{"a":1}') == parsed('<think>x</think>{"a":1}')
    assert parsed('{"a":1}') != parsed('{"a":1} ')  # the text
    assert parsed('<think>x</think>{"a":1}') != parsed('<think>y</think>{"a":1}')
    assert parsed("[1]") != [1]
    shown = repr(parsed('<think>x</think>{"a":1}'))
    for part in ("data={'a': 1}", "complete=True", "reasoning='x'", "text='{\"a\":1}'"):
        assert part in shown


def test_several_documents_are_live_data_too() -> None:
    parser = StreamParser(documents="all")
    parser.feed('{"a":1} {"b":[2,')
    assert parser.data == [{"a": 1}, {"b": [2]}]
    parser.feed("3]}")
    assert parser.data == [{"a": 1}, {"b": [2, 3]}]
    parsed = parser.close()
    assert parsed.data == [{"a": 1}, {"b": [2, 3]}]
    assert parser.close() is parsed


def test_a_cut_document_of_several_is_there_once() -> None:
    parser = StreamParser(documents="all")
    parser.feed('{"a":1} {"b":[2,')
    parsed = parser.close()
    assert parsed.incomplete == ("[1].b", "[1]")
    assert parsed.data == parser.data == parser.snapshot() == [{"a": 1}, {"b": [2]}]
    assert parser.open_paths == ["[1].b", "[1]"]


@pytest.mark.parametrize("text", ["42", "```\n42\n```", '"x"', "true"])
def test_a_lone_scalar_is_one_document_of_several(text: str) -> None:
    parser = StreamParser(documents="all")
    parser.feed(text)
    assert parser.close().data == [json.loads(text.strip("`\n"))]


@pytest.mark.parametrize(
    ("text", "output", "data"),
    [
        ('{"a": [1, "x"', None, {"a": [1, "x"]}),
        (r"{\"a\": 1}", None, {"a": 1}),
        ("hello", str, "hello"),
    ],
)
def test_a_document_in_reasoning_that_never_ended(text: str, output: Any, data: Any) -> None:
    """The prompt was said to have opened a block, but the answer has none: it is read as the answer after all."""
    for chunks in ([text], each(text)):
        parser = StreamParser(starts_in_reasoning=True, output=output)
        for chunk in chunks:
            parser.feed(chunk)
        parsed = parser.close()
        assert parsed.data == data
        assert "no_reasoning" in {remark.code for remark in parsed.diagnostics}


@pytest.mark.parametrize(
    ("left", "right"),
    [([1], [1, 2]), ([[1]], [[]]), ({"a": [1]}, {"a": [1, 1]}), ({"a": 1}, {"b": 1}), ([1], [True]), ([1], [1.0])],
)
def test_values_that_are_not_the_same(left: Any, right: Any) -> None:
    assert not same_value(left, right)
    assert same_value(left, copy.deepcopy(left))


def test_the_default_of_reasoning_is_shown_by_its_name() -> None:
    assert "reasoning: 'str | Pair | Family | Default | None' = DEFAULT" in str(inspect.signature(StreamParser))
