"""The stage behind the machine: holding, early failure, strings that hold JSON, what is told and when."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pydantic.dataclasses
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    ValidationError,
    field_validator,
    model_validator,
)
from support import schemas, splits
from support.runner import check_events, joined, merge
from support.values import is_json

from streamparse import Limits, SchemaError, StreamParser
from streamparse.dialect import LLM
from streamparse.implementation import Machine, StreamingData
from streamparse.schema import Hold, JsonSchema, Required, compile_output
from streamparse.schema.early import watch
from streamparse.schema.stage import SchemaStage
from streamparse.tolerance import tolerance_for

CASES = [
    json.loads(line) for line in (Path(__file__).parent / "cases" / "schema.jsonl").read_text("utf-8").splitlines()
]

# The others hold prose or two documents: which one counts is decided before the stage.
ONE_DOCUMENT = [case for case in CASES if "schema" in case.get("options", {}) and is_json("".join(case["chunks"]))]


class Colour(Enum):
    red = "red"
    green = "green"


def deltas(events: list[StreamingData]) -> list[tuple[str, str | None]]:
    return [(event.path, event.delta) for event in events if event.event_type == "delta"]


def test_there_are_cases() -> None:
    assert len(ONE_DOCUMENT) >= 3


@pytest.mark.parametrize("case", ONE_DOCUMENT, ids=lambda case: case["name"])
def test_cases_of_one_document(case: dict[str, Any]) -> None:
    text = "".join(case["chunks"])
    for chunks in (case["chunks"], [text], list(text)):
        run = schemas.stream(JsonSchema(case["options"]["schema"]), chunks)
        assert run.data == case["want"]["data"]
        assert {note.code for note in run.stage.diagnostics} == set(case["want"].get("diagnostics", ()))


class TestHolding:
    @pytest.mark.parametrize(
        ("kind", "text"),
        [
            (date, "2024-01-02"),
            (UUID, "12345678-1234-5678-1234-567812345678"),
            (Literal["red", "blue"], "blue"),
            (Colour, "green"),
            (int, "42"),
            (Annotated[str, Hold], "abc"),
            (date | None, "2024-01-02"),
        ],
        ids=str,
    )
    def test_a_value_that_means_something_only_as_a_whole_is_one_delta(self, kind: Any, text: str) -> None:
        run = schemas.stream(dict[str, kind], list(json.dumps({"a": text, "b": text})))
        assert deltas(run.events) == [("a", text), ("b", text)]
        check_events(run.events)
        assert run.stage.tree.valid

    @pytest.mark.parametrize("kind", [str, Annotated[str, Field(max_length=9)], Any, str | None, int | str], ids=str)
    def test_text_is_shown_as_it_comes(self, kind: Any) -> None:
        run = schemas.stream(dict[str, kind], list('{"a": "abc"}'))
        assert deltas(run.events) == [("a", "a"), ("a", "b"), ("a", "c")]

    def test_a_held_container_comes_when_it_is_closed(self) -> None:
        class Held(BaseModel):
            rows: Annotated[list[str], Hold]
            text: str

        text = '{"rows": ["a", "b"], "text": "c"}'
        run = schemas.stream(Held, [text[:16]], finish=False)
        assert run.events == []
        run = schemas.stream(Held, list(text))
        assert [(event.path, event.event_type) for event in run.events] == [
            ("rows[0]", "delta"), ("rows[0]", "done"), ("rows[1]", "delta"), ("rows[1]", "done"), ("rows", "done"),
            ("text", "delta"), ("text", "done"), ("", "done"),
        ]  # fmt: skip

    def test_a_required_field_lets_its_object_be_seen(self) -> None:
        class Card(BaseModel):
            note: str
            title: Annotated[str, Required]

        text = '[{"note": "n", "title": "Ti"}, {"note": "m"}]'
        seen = [schemas.stream(list[Card], list(text[:end]), finish=False).events for end in range(len(text))]
        assert all(not events for events in seen[: text.index("Ti") + 1])
        assert [(event.path, event.delta) for event in seen[text.index("Ti") + 1]] == [
            ("[0].note", "n"),
            ("[0].note", None),
            ("[0].title", "T"),
        ]
        run = schemas.stream(list[Card], list(text))
        check_events(run.events)
        assert joined(merge(run.events)) == {(0, "note"): "n", (0, "title"): "Ti", (1, "note"): "m"}

    def test_what_is_held_when_the_text_ends_is_only_cut(self) -> None:
        run = schemas.stream(dict[str, date], list('{"a": "2024-'))
        assert [(event.path, event.event_type, event.value) for event in run.events] == [
            ("a", "cut", "2024-"),
            ("", "cut", {"a": "2024-"}),
        ]

    def test_a_duplicate_key_starts_again(self) -> None:
        run = schemas.stream(dict[str, date], list('{"a": "2024-01-02", "a": "2025-01-02"}'))
        assert [(event.event_type, event.value) for event in run.events if event.path == "a"] == [
            ("delta", "2024-01-02"),
            ("done", "2024-01-02"),
            ("reset", None),
            ("delta", "2025-01-02"),
            ("done", "2025-01-02"),
        ]
        assert run.stage.tree.value == {"a": date(2025, 1, 2)}

    def test_starts_are_given_only_where_asked_for(self) -> None:
        text = '{"a": "2024-01-02", "b": [1]}'
        assert not [event for event in schemas.stream(Any, [text]).events if event.event_type == "start"]
        run = schemas.stream(dict[str, date | list[int]], [text], starts=True)
        assert merge(run.events) == merge(run.machine_events)


class TestEarly:
    def early(self, output: Any, text: str) -> list[tuple[str, Any, str]]:
        found = []
        for chunks in ([text], list(text), [text[:9], text[9:]]):
            run = schemas.stream(output, chunks, finish=False)
            found.append(
                [(invalid.path, invalid.value, invalid.errors[0]["type"]) for invalid in run.invalid if invalid.early]
            )
        assert found[0] == found[1] == found[2]
        return found[0]

    def test_a_literal_that_cannot_become_any(self) -> None:
        assert self.early(dict[str, Literal["red", "green", "grey"]], '{"a": "grexy') == [
            ("a", "grex", "literal_error")
        ]
        assert self.early(dict[str, Literal["red", "green", "grey"]], '{"a": "gre') == []
        assert self.early(dict[str, Colour], '{"a": "redd') == [("a", "redd", "enum")]

    def test_a_string_that_is_too_long(self) -> None:
        assert self.early(dict[str, Annotated[str, Field(max_length=3)]], '{"a": "abcdef') == [
            ("a", "abcd", "string_too_long")
        ]

    def test_a_pattern_that_cannot_match_any_more(self) -> None:
        kind = Annotated[str, Field(pattern=r"^\d{3}-[a-z]+$")]
        assert self.early(dict[str, kind], '{"a": "12x') == [("a", "12x", "string_pattern_mismatch")]
        assert self.early(dict[str, kind], '{"a": "123-abc') == []
        assert self.early(dict[str, Annotated[str, Field(pattern="b$")]], '{"a": "xyz') == []

    def test_a_wrong_kind_at_its_first_character(self) -> None:
        class Row(BaseModel):
            a: list[int]
            b: str

        assert self.early(Row, '{"a": {') == [("a", {}, "list_type")]
        assert self.early(Row, '{"b": [') == [("b", [], "string_type")]
        assert self.early(Row, "[") == [("", [], "model_type")]
        assert self.early(Row, '{"a": "[1, 2') == []  # it may be an array written as a string

    def test_a_forbidden_key(self) -> None:
        class Closed(BaseModel):
            model_config = ConfigDict(extra="forbid")
            a: int

        assert self.early(Closed, '{"b": "x') == [("b", None, "extra_forbidden")]

    def test_nothing_is_early_where_other_code_comes_first(self) -> None:
        class Before(BaseModel):
            a: Literal["red"]
            b: Annotated[str, Field(max_length=2)]

            @field_validator("a", "b", mode="before")
            @classmethod
            def low(cls, value: Any) -> Any:
                return value.lower()[:2] if len(value) > 3 else value.lower()

        assert self.early(Before, '{"a": "RED", "b": "abcdef') == []

        class Stripped(BaseModel):
            model_config = ConfigDict(str_strip_whitespace=True)
            a: Annotated[str, Field(max_length=2)]

        assert self.early(Stripped, '{"a": "     ab') == []
        assert schemas.stream(Stripped, ['{"a": "     ab "}']).stage.tree.valid

    def test_it_is_told_once(self) -> None:
        run = schemas.stream(dict[str, Annotated[str, Field(max_length=3)]], list('{"a": "abcdef", "b": "abcd"}'))
        assert [(invalid.path, invalid.early) for invalid in run.invalid] == [("a", True), ("b", True)]
        assert not run.stage.tree.valid

    def test_a_pattern_is_tried_seldom_on_a_long_string(self) -> None:
        shape = compile_output(Annotated[str, Field(pattern="^[a-z ]*$")]).shape
        watched = watch(shape)
        assert watched is not None
        tried = sum(watched.due(1) for _ in range(100_000))
        assert tried < 300

    @given(text=st.text("ab-1", max_size=30), places=splits.cuts())
    def test_the_failing_prefix_is_the_shortest(self, text: str, places: list[float]) -> None:
        kind = Annotated[str, Field(pattern="^(a|b)+-?1*$", max_length=20)]
        run = schemas.stream(dict[str, kind], splits.chop(json.dumps({"k": text}), places))
        early = [invalid.value for invalid in run.invalid if invalid.early]
        # By hand: letters, then at most one dash, then ones.
        state = 0
        shortest = None
        for at, char in enumerate(text):
            allowed = {0: "ab", 1: "ab-1", 2: "1"}[state]
            if char not in allowed or at == 20:
                shortest = text[: at + 1]
                break
            state = max(state, {"a": 1, "b": 1, "-": 2, "1": 2}[char])
        assert early == ([shortest] if shortest is not None else [])


class TestDoubleEncoding:
    class Order(BaseModel):
        items: list[int]
        meta: dict[str, Any] | None = None

    @given(
        items=st.lists(st.integers()),
        meta=st.none() | st.dictionaries(st.text(max_size=4), st.text(max_size=6), max_size=3),
        places=splits.cuts(20),
    )
    def test_it_is_as_if_it_had_not_been_encoded(self, items: list[int], meta: Any, places: list[float]) -> None:
        data = {"items": items, "meta": meta}
        text = json.dumps({"items": json.dumps(items), "meta": meta if meta is None else json.dumps(meta)})
        run = schemas.stream(self.Order, splits.chop(text, places))
        plain = schemas.stream(self.Order, [json.dumps(data)])
        assert run.data == data
        assert merge(run.events) == merge(plain.events)
        assert run.stage.tree.value == self.Order.model_validate(data)
        assert [note.path for note in run.stage.diagnostics] == ["items"] + ["meta"] * (meta is not None)

    @pytest.mark.parametrize(
        "text", ["hello", "", "  ", "[1, 2", "[1] and more", "{", "[1,,]", "null", "12", '{"a": 1}', "[1, oops]"]
    )
    def test_what_is_no_json_comes_as_it_is(self, text: str) -> None:
        for chunks in ([json.dumps({"items": text})], list(json.dumps({"items": text}))):
            run = schemas.stream(self.Order, chunks)
            assert run.data == {"items": text}
            assert joined(merge(run.events)).get(("items",), "") == text
            assert [(event.event_type, event.value) for event in run.events if event.path == "items"][-1] == (
                "done",
                text,
            )
            check_events(run.events)
            assert [invalid.path for invalid in run.invalid] == ["items"]
            assert not run.stage.diagnostics

    def test_a_string_stays_one_where_a_string_may_stand(self) -> None:
        run = schemas.stream(dict[str, list[int] | str], ['{"a": "[1]"}'])
        assert run.data == {"a": "[1]"}
        run = schemas.stream(dict[str, Any], ['{"a": "[1]"}'])
        assert run.data == {"a": "[1]"}

    def test_twice_encoded(self) -> None:
        data = {"rows": [{"cells": [1, 2]}]}
        text = json.dumps({"rows": json.dumps([{"cells": json.dumps([1, 2])}])})

        class Row(BaseModel):
            cells: list[int]

        class Table(BaseModel):
            rows: list[Row]

        for chunks in ([text], list(text)):
            run = schemas.stream(Table, chunks)
            assert run.data == data
            assert run.stage.tree.value == Table.model_validate(data)
            assert merge(run.events) == merge(schemas.stream(Table, [json.dumps(data)]).events)

    def test_the_whole_document(self) -> None:
        data = {"items": [1]}
        run = schemas.stream(self.Order, list(json.dumps(json.dumps(data))))
        assert run.data == data
        assert run.stage.tree.value == self.Order(items=[1])

    def test_cut_inside(self) -> None:
        text = json.dumps({"rows": json.dumps([{"cells": json.dumps([1, 2])}])})
        text = text[: text.index("2") + 1]
        schema = {"type": "array", "items": {"type": "object", "properties": {"cells": {"type": "array"}}}}
        run = schemas.stream(JsonSchema({"properties": {"rows": schema}}), [text])
        assert run.data == {"rows": [{"cells": [1]}]}
        assert [(event.path, event.event_type) for event in run.events][-5:] == [
            ("rows[0].cells[1]", "cut"), ("rows[0].cells", "cut"), ("rows[0]", "cut"), ("rows", "cut"), ("", "cut"),
        ]  # fmt: skip

    def test_the_value_so_far(self) -> None:
        machine = Machine(LLM, Limits(), tolerance=tolerance_for(LLM.tolerances), starts=True)
        stage = SchemaStage(compile_output(self.Order), machine, LLM, Limits())
        stage.feed(machine.read('{"items": "[1, 2, 3'))
        assert stage.overlay(machine.snapshot(None)) == {"items": [1, 2]}
        assert stage.open_paths(machine.open_paths) == ["items[2]", "items", ""]

    def test_a_key_that_comes_again_keeps_its_last_value(self) -> None:
        run = schemas.stream(self.Order, ['{"items": "[1]", "items": [2]}'])
        assert run.data == {"items": [2]}
        run = schemas.stream(self.Order, ['{"items": [2], "items": "[1]"}'])
        assert run.data == {"items": [1]}


class TestInvalid:
    def test_it_stands_between_the_events(self) -> None:
        run = schemas.stream(dict[str, int], ['{"a": 1, "b": "x", "c": 2}'])
        assert [(event.path, event.event_type) for event in run.events[: run.invalid[0].after]][-1] == ("b", "done")

    def test_errors_are_counted_from_the_root(self) -> None:
        class Row(BaseModel):
            cells: list[int]

        run = schemas.stream(list[Row], ['[{"cells": [1, "x"]}, {}]'])
        assert [(invalid.path, invalid.errors[0]["loc"]) for invalid in run.invalid] == [
            ("[0].cells[1]", (0, "cells", 1)),
            ("[1].cells", (1, "cells")),
        ]
        assert json.loads(json.dumps(run.invalid[0].to_dict()))["errors"][0]["loc"] == [0, "cells", 1]
        assert "valid integer" in run.invalid[0].message

    def test_what_is_missing_in_a_document_that_may_not_count_is_told_at_the_end(self) -> None:
        def run(choosing: bool) -> SchemaStage:
            machine = Machine(LLM, Limits(), tolerance=tolerance_for(LLM.tolerances), starts=True)
            stage = SchemaStage(compile_output(Shipped), machine, LLM, Limits(), choosing=choosing)
            stage.feed(machine.read('{"note": 5}'))
            return stage

        assert [invalid.path for invalid in run(choosing=False).take_invalid()] == ["note", "when", "items"]
        stage = run(choosing=True)
        assert [invalid.path for invalid in stage.take_invalid()] == ["note"]
        stage.finish()
        assert [invalid.path for invalid in stage.take_invalid()] == ["when", "items"]

    def test_a_validator_that_crashes_does_not_stop_the_stream(self) -> None:
        class Crash(BaseModel):
            a: int
            b: int

            @field_validator("a")
            @classmethod
            def boom(cls, value: int) -> int:
                raise KeyError("boom")

        run = schemas.stream(Crash, ['{"a": 1, "b": 2}'])
        assert [(invalid.path, invalid.errors[0]["type"]) for invalid in run.invalid] == [("a", "validator_error")]
        assert "KeyError" in run.invalid[0].message
        with pytest.raises(SchemaError) as caught:
            compile_output(Crash).validate({"a": 1, "b": 2})
        assert caught.value.errors[0]["type"] == "validator_error"

    def test_the_models_own_validators_run_once_on_whole_values(self) -> None:
        calls: list[Any] = []

        class Inner(BaseModel):
            x: int

            @field_validator("x")
            @classmethod
            def field(cls, value: int) -> int:
                calls.append(value)
                return value

            @model_validator(mode="after")
            def model(self) -> Any:
                calls.append(self.x)
                return self

        class Outer(BaseModel):
            rows: list[Inner]

            @model_validator(mode="after")
            def model(self) -> Any:
                calls.append(len(self.rows))
                return self

        schemas.stream(Outer, list('{"rows": [{"x": 12}, {"x": 34}]}'))
        assert calls == [12, 12, 34, 34, 2]

    def test_no_field_is_checked_again_with_what_it_stands_in(self) -> None:
        calls: list[Any] = []

        def note(value: Any) -> Any:
            calls.append(value)
            return value

        noted = Annotated[int, AfterValidator(note)]

        class Inner(BaseModel):
            x: noted
            _private: int = 0

            def model_post_init(self, context: Any) -> None:
                self._private = self.x

        class Root(RootModel[list[noted]]):
            pass

        @dataclasses.dataclass
        class Plain:
            x: noted

        @pydantic.dataclasses.dataclass
        class Own:
            x: noted

        class Outer(BaseModel):
            model_config = ConfigDict(extra="allow")
            a: Inner
            b: Root
            c: Plain
            d: Own
            e: dict[str, noted]
            f: tuple[noted, ...]
            g: noted | None
            h: list[Inner]

        data = {
            "a": {"x": 1},
            "b": [2],
            "c": {"x": 3},
            "d": {"x": 4},
            "e": {"k": 5},
            "f": [6],
            "g": 7,
            "h": [{"x": 8}],
            "i": 9,
        }
        run = schemas.stream(Outer, list(json.dumps(data)))
        assert calls == [1, 2, 3, 4, 5, 6, 7, 8]
        made = run.stage.tree.value
        assert made == Outer.model_validate(data)
        assert made.a._private == 1
        assert made.model_dump() == Outer.model_validate(data).model_dump()
        assert made.model_fields_set == Outer.model_validate(data).model_fields_set
        assert made.model_extra == {"i": 9}

    def test_a_validator_behind_a_union_sees_every_alternative(self) -> None:
        class Odd(BaseModel):
            n: int | str | None
            m: int | None = None

            @field_validator("n", "m")
            @classmethod
            def odd(cls, value: Any) -> Any:
                if value is None or not int(value) % 2:
                    raise ValueError("even")
                return value

        run = schemas.stream(list[Odd], ['[{"n": 2}, {"n": "2"}, {"n": null}, {"n": 1, "m": 2}, {"n": 1, "m": 3}]'])
        assert [invalid.path for invalid in run.invalid] == ["[0].n", "[1].n", "[2].n", "[3].m"]

    def test_earlier_fields_are_there_where_extra_keys_are_kept(self) -> None:
        seen: list[Any] = []

        class Open(BaseModel):
            model_config = ConfigDict(extra="allow")
            a: int
            b: list[int]

            @field_validator("b")
            @classmethod
            def look(cls, value: Any, info: Any) -> Any:
                seen.append(dict(info.data))
                return value

        run = schemas.stream(Open, ['{"b": [1], "c": 2, "a": 3}'])
        assert seen == [{"a": 3}]
        assert run.stage.tree.value == Open(a=3, b=[1], c=2)

    def test_a_model_post_init_that_raises_is_told(self) -> None:
        class Picky(BaseModel):
            x: int

            def model_post_init(self, context: Any) -> None:
                raise ValueError("never")

        run = schemas.stream(list[Picky], ['[{"x": 1}]'])
        assert [(invalid.path, invalid.message) for invalid in run.invalid] == [("[0]", "Value error, never")]

    def test_earlier_fields_are_there_for_a_validator_whatever_the_order(self) -> None:
        class Range(BaseModel):
            low: int
            high: int

            @field_validator("high")
            @classmethod
            def above(cls, value: int, info: Any) -> int:
                if value < info.data["low"]:
                    raise ValueError("below low")
                return value

        for text in ('{"low": 2, "high": 1}', '{"high": 1, "low": 2}'):
            run = schemas.stream(Range, list(text))
            assert [(invalid.path, invalid.message) for invalid in run.invalid] == [("high", "Value error, below low")]
        assert schemas.stream(Range, ['{"high": 3, "low": 2}']).stage.tree.value == Range(low=2, high=3)


class Shipped(BaseModel):
    when: date
    items: list[Literal["a", "bb"]]
    note: Annotated[str, Field(max_length=100)] = ""
    place: dict[str, Annotated[str, Hold]] = {}


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
def test_the_stage_pickles_and_copies_at_any_moment(how: str) -> None:
    text = (
        '{"note": "some text", "when": "2024-01-02", "items": "[\\"a\\", \\"bb\\"]", '
        '"place": {"x": "held", "y": "z"}, "e": [{"f": 1}]}'
    )
    whole = schemas.stream(Shipped, list(text))
    for cut in range(len(text)):
        machine = Machine(LLM, Limits(), tolerance=tolerance_for(LLM.tolerances), starts=True)
        stage = SchemaStage(compile_output(Shipped), machine, LLM, Limits())
        events = [event for char in text[:cut] for event in stage.feed(machine.read(char))]
        both = (machine, stage)
        machine, stage = pickle.loads(pickle.dumps(both)) if how == "pickle" else copy.deepcopy(both)
        events += [event for char in text[cut:] for event in stage.feed(machine.read(char))]
        events += stage.feed(machine.finish())
        assert merge(events) == merge(whole.events), cut
        assert stage.root(machine.tree(None)) == whole.data
        assert stage.tree.value == whole.stage.tree.value


def test_several_documents_are_items_of_one_list() -> None:
    machine = Machine(LLM, Limits(), tolerance=tolerance_for(LLM.tolerances), starts=True, solo=False)
    stage = SchemaStage(compile_output(dict[str, date]), machine, LLM, Limits(), documents_all=True)
    root = [None, "", "array", ("content", "dot"), "", "", None]
    events: list[StreamingData] = []
    for index, text in enumerate(['{"a": "2024-01-02"}', '{"a": "no"}']):
        machine.begin(root, index)
        events += stage.feed(machine.read(text))
    assert [(event.path, event.event_type) for event in events] == [
        ("[0].a", "delta"), ("[0].a", "done"), ("[0]", "done"), ("[1].a", "delta"), ("[1].a", "done"), ("[1]", "done"),
    ]  # fmt: skip
    assert [invalid.path for invalid in stage.take_invalid()] == ["[1].a"]
    assert stage.tree.snapshot()[0] == {"a": date(2024, 1, 2)}


class Dated(BaseModel):
    when: date
    n: int = 0
    rows: list[list[int]] = []


@pytest.mark.parametrize(
    "text",
    [
        '{"when": "2024-01-02", "n": 1.5}',
        '{"n": 1.5, "when": "2024-01-02"}',
        '{"when": ""}',
        '{"when": "2024-01-02", "rows": ["[1, oops]"]}',
        '{"when": "2024-01-02", "rows": [[1], "[1, 2", [2]]}',
    ],
)
def test_what_does_not_fit_is_what_pydantic_says(text: str) -> None:
    """At the same places, and the data stays as it came."""
    data = json.loads(text)
    with pytest.raises(ValidationError) as caught:
        Dated.model_validate(data)
    wanted = {error["loc"] for error in caught.value.errors()}
    for chunks in ([text], list(text)):
        run = schemas.stream(Dated, chunks)
        assert {error["loc"] for invalid in run.invalid for error in invalid.errors} == wanted
        assert not run.stage.tree.valid
        assert run.data == data
        check_events(run.events)


def test_a_value_that_is_held_and_empty_has_no_delta() -> None:
    run = schemas.stream(Dated, list('{"when": ""}'))
    assert [(event.path, event.event_type) for event in run.events] == [("when", "done"), ("", "done")]


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["a"]
    x: int = 0


class Other(BaseModel):
    kind: Literal["b"]


@pytest.mark.parametrize("text", ['{"zz": 1, "kind": "a"}', '{"kind": "a", "zz": 1}', '{"zz": 1, "x": 1, "kind": "a"}'])
def test_a_key_that_is_not_permitted_before_the_discriminator(text: str) -> None:
    for chunks in ([text], list(text)):
        run = schemas.stream(Annotated[Closed | Other, Field(discriminator="kind")], chunks)
        assert [(one.path, one.errors[0]["type"]) for one in run.invalid] == [("zz", "extra_forbidden")]
        assert not run.stage.tree.valid


@pytest.mark.parametrize(
    ("output", "text", "shown", "paths"),
    [
        (Dated, '{"rows": "  ', {"rows": "  "}, ["rows", ""]),
        (Dated, '{"rows": "[[1], [2, ', {"rows": [[1], [2]]}, ["rows[1]", "rows", ""]),
    ],
)
def test_a_string_that_may_hold_json_while_it_is_open(output: Any, text: str, shown: Any, paths: list[str]) -> None:
    parser = StreamParser(output=output)
    for chunk in text:
        parser.feed(chunk)
    assert parser.snapshot() == shown
    assert parser.open_paths == paths
    parsed = parser.close()
    assert parsed.data == shown
    assert list(parsed.incomplete) == paths


def test_a_root_that_is_a_string_of_json_while_it_is_open() -> None:
    parser = StreamParser(output=list[str], dialect="strict")
    for chunk in '"[\\"a\\", \\"b':
        parser.feed(chunk)
    assert parser.snapshot() == ["a", "b"]
    assert parser.open_paths == ["[1]", ""]
    parser.feed('c\\"]"')
    assert parser.close().data == ["a", "bc"]


def test_a_pattern_that_takes_too_long_is_left_to_the_check_at_the_end() -> None:
    shape = compile_output(Annotated[str, Field(pattern="^(a|aa)+$")]).shape
    watched = watch(shape)
    assert watched is not None
    text = "a" * 60 + "b"
    assert watched.failed(text) is None
    assert watched.failed("b") is None  # it is given up
    assert shape.check(text).errors


def test_a_pattern_that_only_pydantic_understands_is_left_to_the_check_at_the_end() -> None:
    kind = Annotated[str, Field(pattern=r"^\x{61}+$")]
    assert watch(compile_output(kind).shape) is None
    for text, valid in (('{"k": "aa"}', True), ('{"k": "ab"}', False)):
        assert schemas.stream(dict[str, kind], list(text)).stage.tree.valid is valid
