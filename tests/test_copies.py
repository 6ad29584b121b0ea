"""Copies of a parser: at any moment, with a schema, with several documents, of a subclass; and parsers that end."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel
from support.splits import each, two_way
from support.values import show

from streamparse import JSONSyntaxError, Limits, StreamParser, UsageError
from streamparse.fields import field_at, parts_of


class Inner(BaseModel):
    x: int = 0


class Outer(BaseModel):
    a: int = 0
    b: Inner = Inner()
    c: list[int] = []


class Counting(StreamParser):
    """With attributes of its own."""

    count = 0

    def feed(self, chunk: Any, /) -> Any:
        self.count += 1
        return super().feed(chunk)


class Slotted(StreamParser):
    __slots__ = ("__weakref__", "seen", "unset")

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.seen: list[str] = []

    def feed(self, chunk: Any, /) -> Any:
        self.seen.append(chunk)
        return super().feed(chunk)


WAYS: list[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, lambda parser: pickle.loads(pickle.dumps(parser))]


@pytest.mark.parametrize("way", WAYS, ids=["copy", "deepcopy", "pickle"])
def test_copies_of_a_subclass_are_of_it(way: Callable[[Any], Any]) -> None:
    text = '{"a": [1, "xy"]}'
    for cut in range(len(text)):
        counting, slotted = Counting(), Slotted()
        for char in text[:cut]:
            counting.feed(char)
            slotted.feed(char)
        again, other = way(counting), way(slotted)
        assert (type(again), type(other)) == (Counting, Slotted)
        for char in text[cut:]:
            again.feed(char)
            other.feed(char)
        assert (again.count, other.seen, hasattr(other, "unset")) == (len(text), list(text), False)
        assert again.close().data == other.close().data == {"a": [1, "xy"]}
        assert (counting.count, slotted.seen) == (cut, list(text[:cut])), "the copy is no copy"


@pytest.mark.parametrize("looked", [False, True])
@pytest.mark.parametrize("documents", ["first", "all"])
@pytest.mark.parametrize("text", ['{"a": 1}{"a": 2, "b": "{}", "c": [3]}', '{"a": 1, "c": [2], "b": "{\\"x\\": 1}"}'])
def test_copies_show_the_same_partial_output(text: str, documents: Any, looked: bool) -> None:
    def rest(parser: Any, cut: int) -> list[str]:
        shown = []
        for char in text[cut:]:
            parser.feed(char)
            shown.append(repr(parser.partial()))
        return shown

    for cut in range(len(text)):
        parser = StreamParser(output=Outer, documents=documents)
        for char in text[:cut]:
            parser.feed(char)
            if looked:
                parser.partial()
        found = [rest(way(parser), cut) for way in WAYS]
        assert found == [rest(parser, cut)] * len(WAYS), cut


def test_what_is_shown_does_not_depend_on_who_has_looked_before() -> None:
    for text in ('{"a": 1, "b": "{}"', '{"a": 1, "b": "{\\"x\\": 1', '{"a": 1, "c": [4], "b": "{}", "c'):
        parser = StreamParser(output=Outer)
        parser.feed(text)
        shown = parser.partial()
        assert (shown.a, shown.c) == (1, [4] if "[4]" in text else [])
        for before in range(len(text)):
            looking = StreamParser(output=Outer)
            looking.feed(text[:before])
            looking.partial()
            looking.feed(text[before:])
            assert repr(looking.partial()) == repr(shown), before


@pytest.mark.parametrize("documents", ["first", "last", "all"])
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"b": "{}"}{}', [{"b": {}}, {}]),
        ('{"b":"{}"}{"b":1}', [{"b": {}}, {"b": 1}]),
        ('{"b":"{}"} {"b":"{\\"x\\": 2}"}', [{"b": {}}, {"b": {"x": 2}}]),
        (
            '{"c":[1],"b":"{\\"x\\":3}","a":1} {"b":"{}"} {"a":2}',
            [{"c": [1], "b": {"x": 3}, "a": 1}, {"b": {}}, {"a": 2}],
        ),
    ],
)
def test_a_string_is_opened_in_its_own_document(text: str, wanted: list[Any], documents: Any) -> None:
    """The machine may have gone on to another one in the same text."""
    expected = wanted if documents == "all" else wanted[0 if documents == "first" else -1]
    for chunks in ([text], ["", text], each(text), *two_way(text)):
        parser = StreamParser(output=Outer, documents=documents)
        for chunk in chunks:
            parser.feed(chunk)
        assert show(parser.close().data) == show(expected), chunks


def test_place_of_an_opened_string_where_text_follows_the_document() -> None:
    text = '{"b":\n"{}"\n}'
    for chunks in ([text, "\n"], ["", text, " "], [text + "\n"], each(text + " ")):
        parser = StreamParser(output=Outer)
        for chunk in chunks:
            parser.feed(chunk)
        (remark,) = parser.close().diagnostics
        assert (remark.code, remark.offset, remark.line, remark.column) == ("double_encoded", 6, 2, 1), chunks


def test_nothing_is_fed_after_the_end() -> None:
    parser = StreamParser()
    parser.feed(b'{"t": "a\xc3')
    parsed = parser.close()
    with pytest.raises(UsageError):
        parser.feed('bc"}')
    assert (parsed.text, parser.status) == ('{"t": "a\ufffd', "closed")
    strict = StreamParser(dialect="strict", reasoning="granite")
    strict.feed("1\ud83d")
    for _ in range(2):
        with pytest.raises(JSONSyntaxError):
            strict.close()
        with pytest.raises(JSONSyntaxError):
            strict.feed("2")


@pytest.mark.parametrize(
    ("chunks", "data", "text"),
    [
        (["", '{"a": "x\ud83d', b'y"}'], {"a": "x\ufffdy"}, '{"a": "x\ufffdy"}'),
        (['{"a": "x\ud83d', b'y"}'], {"a": "x\ufffdy"}, '{"a": "x\ufffdy"}'),
        (["so \ud83d", b'{"a": 1}'], {"a": 1}, 'so \ufffd{"a": 1}'),
        (['{"a": 1} \ud83d', "\ude00"], {"a": 1}, '{"a": 1} \U0001f600'),
        (['{"a": 1} \ud83d', b"x"], {"a": 1}, '{"a": 1} \ufffdx'),
        (['{"a": 1}', "\ud83d", "\ude00 \ud83d"], {"a": 1}, '{"a": 1}\U0001f600 \ufffd'),
    ],
)
def test_halves_of_surrogate_pairs_keep_their_place(chunks: list[Any], data: Any, text: str) -> None:
    parser = StreamParser()
    taken = []
    for chunk in chunks:
        parser.feed(chunk)
        taken.append(parser.take_text())
    parsed = parser.close()
    taken.append(parser.take_text())
    assert (parsed.data, parsed.text, "".join(taken)) == (data, text, text)
    dropped = StreamParser(keep_data=False)
    for chunk in chunks:
        dropped.feed(chunk)
    assert dropped.close().complete
    assert dropped.take_text() == ""


def test_a_pair_that_is_cut_behind_a_document_is_one_character_of_the_next() -> None:
    text = '{"a":1}["\ud83d\ude00", "\\ud83d"] \ud83d\ude00 {"b": "\ud83d\ude00"}'
    wanted = show([{"a": 1}, ["\U0001f600", "\ufffd"], {"b": "\U0001f600"}])
    for chunks in ([text], ["", text], each(text), *two_way(text)):
        parser = StreamParser(documents="all")
        for chunk in chunks:
            parser.feed(chunk)
        assert show(parser.close().data) == wanted, chunks


def test_the_bound_of_an_escaped_document_is_on_the_text_as_it_came() -> None:
    """Escapes count, and the place does not depend on the splits."""
    for text in ('{\\"a\\": 1}', '{\\"a\\": \\"x\\\\ny\\u0041\\"} b {\\"c\\": 2}', '[{\\n\\"a\\": [1, {}]}]'):
        for bound in range(1, len(text) + 1):
            found = set()
            for chunks in ([text], [text.encode()], each(text), *two_way(text)):
                parser = StreamParser(limits=Limits(document=bound))
                for chunk in chunks:
                    if parser.error is None:
                        parser.feed(chunk)
                error = parser.error
                place = (error.offset, error.line, error.column) if error is not None else None
                found.add((type(error).__name__, place, show(parser.snapshot())))
            assert len(found) == 1, bound
            assert (bound < len(text)) is ("LimitExceeded" in str(found))


def test_the_bound_of_the_text_is_noticed_inside_of_a_key() -> None:
    for chunks in (
        ['{"aaaaaaaaaaaax'],
        ['{"', "aaaaaaaaaaaa", "x"],
        ['{"', "aaaaaaaaaaaa", b"x"],
        each('{"' + "a" * 12),
    ):
        parser = StreamParser(limits=Limits(document=9))
        told = False
        for chunk in chunks:
            if not told:
                parser.feed(chunk)
                told = parser.error is not None
        assert parser.error is not None
        assert (told, parser.error.offset, parser.status) == (True, 9, "error"), chunks


def test_fields_above_a_field_that_comes_from_elsewhere_are_of_the_right_kind() -> None:
    for parts in ((), ("a",), (1,), (1, "b"), ("a", 0, 2, "c")):
        field: Any = field_at(parts, "number", "content", "dot")
        assert (parts_of(field), field[2]) == (parts, "number")
        for part in reversed(parts):
            field = field[0]
            assert field[2] == ("array" if isinstance(part, int) else "object")
