"""What the parser tells of values that do not fit, the same for every way their text may be cut."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field
from support.splits import each, two_way

from streamparse import SchemaError, StreamParser, wrap
from streamparse.schema import Hold, JsonSchema, Partial, Required, compile_output


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int = 0
    inner: Closed | None = None


class Cat(BaseModel):
    kind: Literal["cat"]
    name: str


class Dog(BaseModel):
    kind: Literal["dog"]
    age: int


class Card(BaseModel):
    code: Annotated[str, Hold] = ""
    title: Annotated[str, Required]
    tags: list[str] = []


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]
Word = Literal["red", "redder", "blue"]
Short = Annotated[str, Field(max_length=2)]


def pattern(text: str) -> Any:
    return dict[str, Annotated[str, Field(pattern=text)]]


ENSURED = {"a": (str, "x", True), "b": (str, "y", "not_null"), "c": [(int,)]}
CLOSED_SCHEMA = JsonSchema(
    {
        "type": "object",
        "properties": {"a": {"enum": ["x", "yy"]}, "b": {"type": "string", "pattern": "^ab"}, "c": {"const": "q"}},
        "additionalProperties": False,
    }
)

# output, text, what is told: (path, value, early, pydantic's type of the error)
CASES: list[tuple[Any, str, list[tuple[str, Any, bool, str]]]] = [
    # a pattern: hopeful as long as anything that can follow makes it right
    (pattern("^(?:foo|foobar)$"), '{"a": "foob', []),
    (pattern("^(?:foo|foobar)$"), '{"a": "fooc', [("a", "fooc", True, "string_pattern_mismatch")]),
    (pattern("^(?:foo|foobar)$"), '{"a": "foob", "b": "foo"}', [("a", "foob", False, "string_pattern_mismatch")]),
    (pattern(r"^\p{Lu}\p{L}*$"), '{"a": "Äbc1x', [("a", "Äbc1", True, "string_pattern_mismatch")]),
    # characters, not their halves or escapes
    (pattern("^.{2}$"), r'{"a": "\ud83d\ude00x', []),
    (pattern("^.{2}$"), r'{"a": "\ud83d\ude00xyz', [("a", "😀xy", True, "string_pattern_mismatch")]),
    (dict[str, Short], r'{"a": "\ud83d\ude00\ud83d\ude00', []),
    (dict[str, Short], r'{"a": "\ud83d\ude00\ud83d\ude00\u0041\u0042', [("a", "😀😀A", True, "string_too_long")]),
    # choices that begin alike
    (dict[str, Word], '{"a": "redd', []),
    (dict[str, Word], '{"a": "rede', [("a", "rede", True, "literal_error")]),
    (dict[str, Word], '{"a": "redd", "b": "blue"}', [("a", "redd", False, "literal_error")]),
    (dict[str, Word | None], '{"a": "green', [("a", "g", True, "literal_error")]),
    # a kind that cannot be right
    (dict[str, int], '{"a": {', [("a", {}, True, "int_type")]),
    (dict[str, int | None], '{"a": ["x"', [("a", [], True, "int_type")]),
    (list[int], '{"a": 1}', [("", {}, True, "list_type")]),
    (dict[str, bool], '{"a": "maybe"}', [("a", "maybe", False, "bool_parsing")]),
    # a string in a container's place may hold one, until its first character says that it does not
    (dict[str, list[int]], '{"a": "hel', [("a", "", True, "list_type")]),
    (dict[str, list[int]], '{"a": "  [1,', []),
    (dict[str, list[int]], '{"a": "{', [("a", "", True, "list_type")]),
    (dict[str, list[int]], '{"a": ""}', [("a", "", False, "list_type")]),
    (dict[str, list[int]], r'{"a": "[1, \"x\"]"}', [("a[1]", "x", False, "int_parsing")]),
    (dict[str, list[Short]], r'{"a": "[\"abc', [("a[0]", "abc", True, "string_too_long")]),
    # keys
    (Closed, '{"a": 1, "b": "', [("b", None, True, "extra_forbidden")]),
    (Closed, '{"inner": {"inner": {"c": [', [("inner.inner.c", None, True, "extra_forbidden")]),
    (dict[str, Closed], r'{"x": "{\"b\": [', [("x.b", None, True, "extra_forbidden")]),
    # a discriminator that names nothing; what came before it is checked once it is there
    (list[Pet], '[{"kind": "co', [("[0].kind", "co", True, "literal_error")]),
    (
        list[Pet],
        '[{"age": "x", "kind": "dog"}, {"kind": "cat"}]',
        [
            ("[0].age", "x", False, "int_parsing"),
            ("[1].name", {"kind": "cat"}, False, "missing"),
        ],
    ),
    # a dict specification
    (
        ENSURED,
        '{"b": null, "c": ["x", null]}',
        [
            ("b", None, True, "string_type"),
            ("c[0]", "x", False, "int_parsing"),
            ("a", {"b": None, "c": ["x", None]}, False, "missing"),
        ],
    ),
    ({"a": {"b": (str, "", True)}}, '{"a": {}}', [("a.b", {}, False, "missing")]),
    # a JSON Schema
    (
        CLOSED_SCHEMA,
        '{"a": "z", "b": "b", "c": "qq", "d": 1}',
        [
            ("a", "z", True, "enum"),
            ("b", "b", True, "string_pattern_mismatch"),
            ("c", "qq", True, "literal_error"),
            ("d", None, True, "extra_forbidden"),
        ],
    ),
    # a key that comes again is judged again; the first fault was told all the same
    (
        dict[str, Word],
        '{"a": "green", "a": "red", "b": "x"}',
        [("a", "g", True, "literal_error"), ("b", "x", True, "literal_error")],
    ),
    (
        dict[str, int],
        '{"a": 1, "b": "x", "b": 2, "c": "y"}',
        [("b", "x", False, "int_parsing"), ("c", "y", False, "int_parsing")],
    ),
    # and so is the discriminator
    (list[Pet], '[{"kind": "cow", "kind": "cat", "name": "x"}]', [("[0].kind", "co", True, "literal_error")]),
    (list[Pet], '[{"kind": "cat", "name": "x", "kind": "dog", "age": 1}]', []),
    (
        list[Pet],
        '[{"kind": "cat", "name": "x", "kind": "dog", "age": "y"}]',
        [("[0]", {"kind": "dog", "name": "x", "age": "y"}, False, "int_parsing")],
    ),
]


def arrivals(text: str) -> Iterator[list[str]]:
    yield [text]
    yield each(text)
    yield from two_way(text)


def told(parser: StreamParser) -> list[tuple[str, Any, bool, str]]:
    return [(one.path, one.value, one.early, one.errors[0]["type"]) for one in parser.take_invalid()]


@pytest.mark.parametrize(("output", "text", "wanted"), CASES, ids=[text for _, text, _ in CASES])
def test_what_is_told(output: Any, text: str, wanted: list[tuple[str, Any, bool, str]]) -> None:
    for chunks in arrivals(text):
        parser = StreamParser(output=output)
        for chunk in chunks:
            parser.feed(chunk)
        if text.endswith(("}", "]")):
            parser.close()
        assert told(parser) == wanted, chunks


@pytest.mark.parametrize(("output", "text", "wanted"), CASES, ids=[text for _, text, _ in CASES])
def test_what_is_told_by_a_copy(output: Any, text: str, wanted: list[tuple[str, Any, bool, str]]) -> None:
    for cut in range(len(text)):
        parser = StreamParser(output=output)
        parser.feed(text[:cut])
        parser = copy.deepcopy(parser)
        partial = parser.partial()
        parser.feed(text[cut:])
        if text.endswith(("}", "]")):
            parser.close()
        assert told(parser) == wanted, cut
        again = StreamParser(output=output)
        again.feed(text[:cut])
        assert again.partial() == partial


TEXT = (
    '{"cards": [{"code": "A-1", "tags": ["x", "y"], "title": "One"}, {"tags": ["z", "w"], "title": "Two"}], '
    '"pets": [{"age": 3, "kind": "dog"}], "word": "blue", "rows": "[[1, 2], [3]]", "free": {"a": [1, {"b": null}]}}'
)


class Everything(BaseModel):
    cards: list[Card]
    pets: list[Pet] = []
    word: Word | None = None
    rows: list[list[int]] = []
    free: dict[str, Any] = {}


@pytest.mark.parametrize("how", ["pickle", "copy"])
def test_a_parser_that_moves_goes_on(how: str) -> None:
    whole = StreamParser(output=Everything)
    events = [event for char in TEXT for event in whole.feed(char)]
    parsed = whole.close()
    wanted = Everything.model_validate(parsed.data)
    assert whole.partial() == wanted
    for cut in range(len(TEXT)):
        parser = StreamParser(output=Everything)
        found = [event for char in TEXT[:cut] for event in parser.feed(char)]
        before = parser.partial()
        parser = pickle.loads(pickle.dumps(parser)) if how == "pickle" else copy.deepcopy(parser)
        assert parser.partial() == before
        found += [event for char in TEXT[cut:] for event in parser.feed(char)]
        assert found == events, cut
        assert parser.close().data == parsed.data
        assert parser.partial() == wanted
        assert not parser.take_invalid()


def test_partial_instances_are_the_same_for_every_split() -> None:
    parts: list[Any] = []
    single = StreamParser(output=Everything)
    for char in TEXT:
        single.feed(char)
        parts.append(single.partial())
    for chunks in two_way(TEXT):
        parser = StreamParser(output=Everything)
        parser.feed(chunks[0])
        if chunks[0]:
            assert parser.partial() == parts[len(chunks[0]) - 1]
        parser.feed(chunks[1])
        assert parser.partial() == parts[-1]


def test_what_was_shown_does_not_change_afterwards() -> None:
    parser = StreamParser(output=Everything)
    kept: list[tuple[Any, str]] = []
    for char in TEXT:
        parser.feed(char)
        part: Partial[Everything] | None = parser.partial()
        kept.append((part, repr(part)))
    assert all(repr(part) == text for part, text in kept)


@pytest.mark.parametrize(
    "text", ['{"cards": []}', "[]", '{"cards": [{}]}', "nothing here", '{"cards": [{"title": 1}]}']
)
def test_the_object_is_what_pydantic_says_whatever_was_looked_at(text: str) -> None:
    result = wrap(list(text), output=Everything)
    list(result.get_generator(type="partial"))
    list(result.get_generator(type="items", paths=["cards[*]"]))
    data = result.get_data()
    try:
        wanted = Everything.model_validate(data)
    except ValueError:
        with pytest.raises(SchemaError):
            result.get_data_object()
    else:
        assert result.get_data_object() == wanted


class TestSeveralDocuments:
    TEXT = '{"kind": "cat", "name": "Tom"} {"kind": "dog", "age": 3} {"kind": "cow"}'

    def test_the_object_is_the_list_of_them(self) -> None:
        result = wrap(list(self.TEXT[:57]), output=Pet, documents="all")
        wanted = [Cat(kind="cat", name="Tom"), Dog(kind="dog", age=3)]
        assert result.get_data_object() == wanted
        assert list(result.get_generator(type="partial"))[-1] == wanted
        assert [(item.index, item.value) for item in result.get_generator(type="items")] == list(enumerate(wanted))

    def test_what_does_not_fit_is_told_with_its_index(self) -> None:
        result = wrap(list(self.TEXT), output=Pet, documents="all")
        assert [data.path for event, data in result.get_generator("all") if event == "invalid"] == ["[2].kind"]
        with pytest.raises(SchemaError) as caught:
            result.get_data_object()
        assert [error["loc"] for error in caught.value.errors] == [(2,)]

    def test_the_specification_of_the_list(self) -> None:
        listed = compile_output(Cat).listed()
        assert listed.json_schema()["items"]["required"] == ["kind", "name"]
        assert listed.missing([{"kind": "cat"}]) == ("[0].name",)
        assert pickle.loads(pickle.dumps(listed)) is listed
        with pytest.raises(SchemaError, match="list of documents"):
            listed.validate(None)


def test_snapshots_not_more_often_than_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("streamparse.views.time.monotonic", lambda: now[0])

    def chunks() -> Iterator[str]:
        for char in '{"a": "abcdefghij"}':
            now[0] += 1.0
            yield char

    class Text(BaseModel):
        a: str

    every = [part.a for part in wrap(chunks(), output=Text).get_generator(type="partial")]
    assert every[-2:] == ["abcdefghij", "abcdefghij"]
    seldom = [part.a for part in wrap(chunks(), output=Text).get_generator(type="partial", every=4.0)]
    assert len(seldom) == -(-len(every) // 4) + 1
    assert seldom[-1] == "abcdefghij"
