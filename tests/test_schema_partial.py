"""Partial instances: what they show at each moment, what a type checker sees, and what they cost."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import pickle
import re
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import pytest
from pydantic import BaseModel, Field, RootModel, TypeAdapter
from support import schemas
from typing_extensions import TypedDict

import streamparse
from streamparse import StreamParser, UsageError, parse_path
from streamparse.schema import (
    Hold,
    ItemsReader,
    Partial,
    PartialBuilder,
    PartialModel,
    Required,
    as_partial,
    partial,
    partial_of,
)
from streamparse.schema.partial import partial_class


class Cat(BaseModel):
    kind: Literal["cat"]
    name: str
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str
    age: int


class Tip(BaseModel):
    text: str
    rank: int | None = None


class Ticket(BaseModel):
    title: str
    due: date | None = None
    priority: int = 3
    tags: list[str] = Field(default_factory=list)
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None
    tips: list[Tip]


TEXT = (
    '{"title": "Broken", "due": "2024-01-02", "priority": 1, "pet": {"kind": "dog", "name": "Rex", "age": 3}, '
    '"tips": [{"text": "Wait", "rank": 1}, {"text": "Or not"}]}'
)


def at(text: str, output: Any = Ticket) -> Any:
    """The partial instance after `text`."""
    builder: PartialBuilder[Any] = PartialBuilder(output)
    return builder.update(StreamParser().feed(text))


def until(mark: str) -> Any:
    return at(TEXT[: TEXT.index(mark) + len(mark)])


def test_before_anything_came_there_are_the_defaults() -> None:
    empty = at("")
    assert isinstance(empty, PartialModel)
    assert (empty.title, empty.due, empty.priority, empty.tags, empty.pet, empty.tips) == (
        None,
        None,
        3,
        [],
        None,
        None,
    )
    assert empty.model_fields_set == set()


def test_a_string_is_shown_as_it_grows_and_a_date_when_it_is_whole() -> None:
    assert until("Bro").title == "Bro"
    assert until("2024-01-0").due is None
    assert until('2024-01-02"').due is None  # not yet certain that the quote ends the string
    assert until('2024-01-02",').due is None
    assert until('2024-01-02", "p').due is None or until('2024-01-02", "p').due == date(2024, 1, 2)
    assert until('"priority": ').due == date(2024, 1, 2)


def test_numbers_are_shown_whole() -> None:
    assert until('"priority": 1').priority == 3  # nothing of it came out yet
    assert until('"priority": 1,').priority == 1


def test_a_default_does_not_count_once_the_value_is_coming() -> None:
    class Mood(BaseModel):
        mood: Literal["glad", "gloomy"] = "glad"

    assert at('{"mood": "', Mood).mood == "glad"
    assert at('{"mood": "glo', Mood).mood is None
    assert at('{"mood": "gloomy", "x":', Mood).mood == "gloomy"


def test_a_union_is_shown_when_it_is_decided() -> None:
    assert until('"kind": "do').pet is None
    pet = until('"name": "Re').pet
    assert isinstance(pet, PartialModel)
    assert type(pet).partial_of is Dog
    assert (pet.kind, pet.name, pet.age) == ("dog", "Re", None)
    assert until('"age": 3}').pet == Dog(kind="dog", name="Rex", age=3)


def test_closed_items_are_real_instances_and_the_open_one_is_partial() -> None:
    tips = until('"Or n').tips
    assert tips[0] == Tip(text="Wait", rank=1)
    assert type(tips[1]).partial_of is Tip
    assert tips[1].text == "Or n"
    assert tips[1].rank is None


def test_the_last_one_is_the_real_object() -> None:
    assert at(TEXT) == Ticket.model_validate_json(TEXT)


def test_an_invalid_value_is_not_shown_as_if_it_were_one() -> None:
    shown = at(
        '{"title": "x", "due": "tomorrow", "priority": "high", '
        '"tips": [{"text": "t", "rank": "first"}], "pet": 5, "e": 1'
    )
    assert (shown.title, shown.due, shown.priority, shown.pet) == ("x", None, None, None)
    assert isinstance(shown.tips[0], PartialModel)
    assert (shown.tips[0].text, shown.tips[0].rank) == ("t", None)
    ended = at('{"title": "x", "due": "tomorrow", "tips": []}')
    assert isinstance(ended, PartialModel)
    assert (ended.title, ended.due) == ("x", None)


def test_a_default_factory_runs_once_for_an_object() -> None:
    made: list[int] = []

    class Counted(BaseModel):
        a: str
        b: int = Field(default_factory=lambda: made.append(1) or len(made))  # type: ignore[func-returns-value]

    builder = PartialBuilder(Counted)
    parser = StreamParser()
    shown = [builder.update(parser.feed(char)) for char in '{"a": "hello", "c":']
    assert [item.b for item in shown if item is not None] == [1] * len(shown)


def test_mutable_defaults_are_not_shared_with_the_model() -> None:
    class Listed(BaseModel):
        a: str
        b: list[int] = [1]

    at("", Listed).b.append(2)
    assert Listed(a="").b == [1]


def test_hold_hides_a_field_until_it_is_closed() -> None:
    class Held(BaseModel):
        code: Annotated[str, Hold]
        rows: Annotated[list[str], Hold]
        text: str

    assert at('{"code": "A1', Held).code is None
    shown = at('{"code": "A1", "rows": ["x", "y"', Held)
    assert (shown.code, shown.rows) == ("A1", None)
    assert at('{"code": "A1", "rows": ["x", "y"], "text": "t', Held).rows == ["x", "y"]


def test_required_hides_the_object_that_lacks_it() -> None:
    class Card(BaseModel):
        note: str = ""
        title: Annotated[str, Required]

    class Board(BaseModel):
        cards: list[Card]

    assert at('{"cards": [{"note": "n"', Board).cards == []
    shown = at('{"cards": [{"note": "n", "title": "T', Board).cards
    assert [(card.note, card.title) for card in shown] == [("n", "T")]
    assert at('{"note": "n"', Card) is None  # nothing can be shown yet
    assert at('{"note": "n", "title": "T', Card).title == "T"


def test_a_union_without_discriminator_is_shown_once_its_keys_tell() -> None:
    class A(BaseModel):
        x: str

    class B(BaseModel):
        y: str
        x: str = ""

    class Either(BaseModel):
        v: A | B

    assert at('{"v": {"x": "1', Either).v is None
    assert type(at('{"v": {"x": "1", "y": "2', Either).v).partial_of is B
    assert at('{"v": {"x": "1"}, "w": ', Either).v == A(x="1")


def test_typed_dicts_dataclasses_dicts_and_root_models() -> None:
    class Row(TypedDict):
        a: int
        b: str

    @dataclasses.dataclass
    class Point:
        x: int
        label: str = "here"

    class Names(RootModel[list[str]]):
        pass

    assert at('{"a": 1, "b": "x', Row) == {"a": 1, "b": "x"}
    point = at('{"x": 1,', Point)
    assert (point.x, point.label) == (1, "here")
    assert at('{"x": 1}', Point) == Point(1)
    assert at('["a", "b', Names).root == ["a", "b"]
    assert at('["a", "b', Names).model_dump() == ["a", "b"]
    assert at('["a"]', Names) == Names(["a"])
    assert at('{"x": [1, ', dict[str, list[int]]) == {"x": [1]}
    assert at("", list[int]) is None


def test_a_duplicate_key_starts_the_field_again() -> None:
    shown = at('{"title": "one", "title": "tw')
    assert shown.title == "tw"
    assert at('{"title": 5, "tips": [], "title": "two"}') == Ticket(title="two", tips=[])


def test_a_partial_instance_dumps_pickles_and_copies() -> None:
    shown = until('"name": "Re')
    assert shown.model_dump(mode="json", exclude_unset=True) == {
        "title": "Broken",
        "due": "2024-01-02",
        "priority": 1,
        "pet": {"kind": "dog", "name": "Re"},
    }
    assert json.loads(shown.model_dump_json())["tips"] is None
    assert copy.deepcopy(shown) == copy.copy(shown) == pickle.loads(pickle.dumps(shown)) == shown
    builder = PartialBuilder(Ticket)
    parser = StreamParser()
    builder.update(parser.feed(TEXT[:90]))
    again = pickle.loads(pickle.dumps(builder))
    rest = parser.feed(TEXT[90:]) + list(parser.close().events)
    assert again.update(rest) == builder.update(rest) == Ticket.model_validate_json(TEXT)


def test_partial_is_a_class_at_run_time() -> None:
    assert Partial[Ticket] is partial_class(Ticket) is Partial[Ticket]
    assert isinstance(at('{"title": "x'), Partial[Ticket])
    schema = TypeAdapter(Partial[Ticket]).json_schema()
    assert "required" not in schema
    assert schema["properties"]["title"] == Ticket.model_json_schema()["properties"]["title"]
    assert as_partial(5) == 5
    with pytest.raises(UsageError):
        partial_class(int)


def test_a_type_checker_sees_optional_fields(tmp_path: Path) -> None:
    for tool in ("mypy", "pyright"):  # of the group `dev`, which CI has
        pytest.importorskip(tool)
    source = tmp_path / "seen.py"
    source.write_text(
        """
from __future__ import annotations
from dataclasses import dataclass
from pydantic import BaseModel
from typing_extensions import assert_type
from streamparse.schema import Partial, PartialBuilder, PartialModel, as_partial

class User(BaseModel):
    name: str

class Ticket(BaseModel):
    title: str
    count: int = 3
    user: User
    users: list[User]

@dataclass
class Point:
    x: int

def look(ticket: Partial[Ticket], point: Partial[Point]) -> str:
    assert_type(ticket.title, str | None)
    assert_type(ticket.count, int | None)
    assert_type(ticket.users, list[User] | None)
    assert_type(point.x, int | None)
    if ticket.user is not None:
        assert_type(as_partial(ticket.user).name, str | None)
    if isinstance(ticket, Ticket):
        assert_type(ticket.title, str)
    snapshot = PartialBuilder(Ticket).snapshot()
    if snapshot is not None:
        assert_type(snapshot.title, str | None)
    return ticket.title or ""

def wrong(ticket: Partial[Ticket]) -> None:
    ticket.title.upper()
    ticket.nothing
"""
    )
    lines = [
        at for at, line in enumerate(source.read_text().splitlines(), 1) if ".upper()" in line or ".nothing" in line
    ]
    home = Path(streamparse.__file__).parents[1]
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(home)]}))
    environment = dict(os.environ) if home.name == "site-packages" else {**os.environ, "MYPYPATH": str(home)}

    def run(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", *command, str(source)],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=environment,
        )
        return done.stdout + done.stderr

    seen = run("mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "--follow-imports", "silent")
    errors = re.findall(r"^seen\.py:(\d+): error:", seen, re.MULTILINE)
    assert list(map(int, errors)) == lines, seen
    seen = run("pyright", "--outputjson", "--pythonpath", sys.executable)
    reports = json.loads(seen[seen.index("{") :])["generalDiagnostics"]
    errors = [item["range"]["start"]["line"] + 1 for item in reports if item["severity"] == "error"]
    assert errors == lines, seen


@pytest.mark.parametrize("count", [10, 1000])
def test_a_snapshot_makes_what_is_open_not_what_there_is(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Row(BaseModel):
        id: int
        text: str

    class Table(BaseModel):
        rows: list[Row]

    made: list[str] = []
    make = partial._instance

    def counted(kind: type[PartialModel], *args: Any) -> PartialModel:
        made.append(kind.__name__)
        return make(kind, *args)

    monkeypatch.setattr(partial, "_instance", counted)
    builder = PartialBuilder(Table)
    parser = StreamParser()
    builder.update(parser.feed(json.dumps({"rows": [{"id": n, "text": "t"} for n in range(count)]})[:-6]))
    made.clear()
    shown: Any = builder.update(parser.feed("more"))
    assert len(shown.rows) == count
    assert made == ["PartialRow", "PartialTable"]


@pytest.mark.parametrize("end", range(len(TEXT) + 1))
def test_the_same_from_a_snapshot_at_any_moment(end: int) -> None:
    parser = StreamParser(emit_starts=True)  # so that a list that was only opened is in the events too
    events = parser.feed(TEXT[:end])
    opened = [parse_path(path) for path in parser.open_paths]
    shown = PartialBuilder(Ticket).update(events)
    assert partial_of(Ticket, parser.snapshot(), opened) == shown


class TestItems:
    def test_each_element_when_it_closes(self) -> None:
        reader = ItemsReader("tips[*]", Tip)
        parser = StreamParser()
        seen = [(item.index, item.value) for char in TEXT for item in reader.feed(parser.feed(char))]
        seen += [(item.index, item.value) for item in reader.feed(parser.close().events)]
        assert seen == [(0, Tip(text="Wait", rank=1)), (1, Tip(text="Or not"))]

    def test_an_invalid_one_keeps_its_index(self) -> None:
        reader = ItemsReader("a[*].b[*]", int)
        run = schemas.stream(dict[str, Any], ['{"a": [{"b": [1, "x", 3]}, {"b": ["4"]}]}'])
        items = reader.feed(run.events)
        assert [(item.path, item.index, item.value, item.raw, item.valid) for item in items] == [
            ("a[0].b[0]", 0, 1, 1, True),
            ("a[0].b[1]", 1, None, "x", False),
            ("a[0].b[2]", 2, 3, 3, True),
            ("a[1].b[0]", 0, 4, "4", True),
        ]
        error = items[1].error
        assert error is not None
        assert error.path == "a[0].b[1]"
        assert error.errors[0]["loc"] == ("a", 0, "b", 1)
        with pytest.raises(type(error)):
            items[1].unwrap()
        assert items[0].unwrap() == 1


def test_a_builder_takes_one_event_at_a_time_and_tells_what_does_not_fit() -> None:
    builder: PartialBuilder[Any] = PartialBuilder(Ticket)
    for event in StreamParser().feed('{"title": "Broken", "priority": "high", "tips": ['):
        builder.feed(event)
    assert [invalid.path for invalid in builder.take_invalid()] == ["priority"]
    assert builder.take_invalid() == []
    shown: Any = builder.snapshot()
    assert shown.title == "Broken"


def test_a_default_that_cannot_be_made_is_none() -> None:
    def fail() -> int:
        raise ValueError("no")

    class Made(BaseModel):
        a: int = 1
        b: int = Field(default_factory=fail)

    shown = at('{"a": 2, ', Made)
    assert (shown.a, shown.b) == (2, None)


def test_the_schema_of_a_partial_requires_nothing() -> None:
    @dataclasses.dataclass
    class Point:
        x: int
        y: int = 0

    for model in (Ticket, Point):
        schema = Partial[model].model_json_schema()  # type: ignore[valid-type]
        names = [item.name for item in dataclasses.fields(model)] if model is Point else [*Ticket.model_fields]
        assert list(schema["properties"]) == names
        assert not schema.get("required")


def test_a_partial_of_a_type_variable_is_anything() -> None:
    kind = TypeVar("kind")  # type: ignore[misc]
    assert Partial[kind] is Any  # type: ignore[valid-type, comparison-overlap]


class Mixed(BaseModel):
    when: date
    n: list[float]


def test_a_list_of_which_some_items_need_no_check_is_copied_anywhere() -> None:
    text = '{"when": "2024-01-02", "n": [1.5, 1, 2.5, 2, 3.5]}'
    for cut in range(len(text)):
        parser = StreamParser(output=Mixed)
        parser.feed(text[:cut])
        parser = pickle.loads(pickle.dumps(parser)) if cut % 2 else copy.deepcopy(parser)
        parser.feed(text[cut:])
        parser.close()
        assert parser.partial() == Mixed.model_validate(json.loads(text))
