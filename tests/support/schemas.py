"""Generated pydantic models with data for them, and the stage run by hand.

The data is written with the JSON Schema meaning of each type in mind, not with anything of ours: what fits is what
pydantic says.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    create_model,
    field_validator,
    model_validator,
)
from typing_extensions import TypedDict

from streamparse import LLM, STRICT, Limits
from streamparse.implementation import Machine, StreamingData
from streamparse.schema import Invalid, compile_output
from streamparse.schema.stage import SchemaStage
from streamparse.tolerance import tolerance_for

import datetime as dt  # isort: skip  # after the rest: `dt` is what the models' annotations say


class Mood(Enum):
    glad = "glad"
    gloomy = "gloomy"


class Level(Enum):
    low = 1
    high = 2


class Cat(BaseModel):
    kind: Literal["cat"]
    name: str
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog", "hound"]
    name: str
    tags: list[str] = []


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


class Place(TypedDict):
    city: str
    zip: int


@dataclass
class Point:
    x: float
    y: float = 0.0


class Made:
    """A model, a strategy of data for it (mostly fitting), and every string that a validator of it was shown."""

    def __init__(self, model: Any, data: st.SearchStrategy[Any], seen: list[str]) -> None:
        self.model = model
        self.data = data
        self.seen = seen

    def __repr__(self) -> str:
        return f"Made({_shown(self.model)})"


def _shown(model: Any) -> str:
    if isinstance(model, type) and issubclass(model, BaseModel) and model.__name__.startswith("Model"):
        fields = ", ".join(f"{name}: {_shown(info.annotation)} = {info!r}" for name, info in model.model_fields.items())
        validators = sorted(model.__pydantic_decorators__.field_validators)
        return f"{model.__name__}({fields}; {model.model_config}; {validators})"
    return str(model)


_word = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Z", "S")), max_size=12)
text = st.one_of(_word, _word.map(lambda word: f" {word} "), st.sampled_from(["", "a", "abc", "b c"]))
number = st.integers(-1000, 1000)
junk = st.recursive(
    st.none() | st.booleans() | number | st.floats(-10, 10) | text,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "kind", "name", "x"]), inner, max_size=3)
    ),
    max_leaves=4,
)


def _leaves(seen: list[str]) -> list[tuple[Any, st.SearchStrategy[Any]]]:
    def note(value: str) -> str:
        seen.append(value)
        return value

    noted = Annotated[str, AfterValidator(note)]
    return [
        (str, text),
        (noted, text),
        (Annotated[str, Field(max_length=6)], text),
        (Annotated[str, Field(pattern="^[a-c]*$")], st.text("abcd", max_size=5)),
        (int, number | st.just("12")),
        (Annotated[int, Field(ge=0)], number),
        (float, number | st.floats(-10, 10)),
        (bool, st.booleans() | st.just("yes")),
        (dt.date, st.dates().map(str)),
        (dt.datetime, st.datetimes(min_value=dt.datetime(1990, 1, 1)).map(lambda value: value.isoformat())),  # noqa: DTZ001
        (UUID, st.uuids().map(str)),
        (Literal["red", "green", "greener"], st.sampled_from(["red", "green", "greener", "gree"])),
        (Literal[1, "one", None], st.sampled_from([1, "one", None, 2])),
        (Mood, st.sampled_from(["glad", "gloomy", "gloom"])),
        (Level, st.sampled_from([1, 2, 3])),
        (int | str, number | text),
        (noted | None, st.none() | text),
        (Any, junk),
    ]


_fixed: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (Cat, st.fixed_dictionaries({"kind": st.just("cat"), "name": text}, optional={"lives": number})),
    (
        Annotated[Cat | Dog, Field(discriminator="kind")],
        st.fixed_dictionaries(
            {"name": text, "kind": st.sampled_from(["cat", "dog", "hound", "cow"])},
            optional={"lives": number, "tags": st.lists(text, max_size=2)},
        )
        | st.fixed_dictionaries(
            {"kind": st.sampled_from(["dog", "hound"]), "name": text, "tags": st.lists(text | number, max_size=2)}
        ),
    ),
    (
        Cat | Loose,
        st.fixed_dictionaries({}, optional={"kind": st.just("cat"), "name": text, "a": number, "b": junk}),
    ),
    (Loose, st.fixed_dictionaries({"a": number}, optional={"b": junk})),
    (Place, st.fixed_dictionaries({"city": text, "zip": number}, optional={"more": junk})),
    (Point, st.fixed_dictionaries({"x": number}, optional={"y": st.floats(-1, 1)})),
    (tuple[int, str], st.tuples(number, text).map(list) | st.lists(number, max_size=3)),
    (set[int], st.lists(number, max_size=4)),
    (dict[str, int], st.dictionaries(text, number, max_size=3)),
    (dict[int, str], st.dictionaries(number.map(str) | text, text, max_size=2)),
]


@st.composite
def types(draw: st.DrawFn, seen: list[str], depth: int = 2) -> tuple[Any, st.SearchStrategy[Any]]:
    """An annotation and a strategy of JSON values for it."""
    choice = draw(st.integers(0, 5 if depth else 2))
    if choice <= 1:
        return draw(st.sampled_from(_leaves(seen)))
    if choice == 2:
        return draw(st.sampled_from(_fixed))
    inner, data = draw(types(seen, depth - 1))
    if choice == 3:
        return draw(
            st.sampled_from(
                [
                    (list[inner], st.lists(data, max_size=3)),
                    (Annotated[list[inner], Field(min_length=1)], st.lists(data, max_size=2)),
                ]
            )
        )
    if choice == 4:
        return draw(
            st.sampled_from(
                [(inner | None, st.none() | data), (dict[str, inner], st.dictionaries(text, data, max_size=2))]
            )
        )
    made = draw(models(seen, depth - 1))
    return made.model, made.data


@st.composite
def models(draw: st.DrawFn, seen: list[str] | None = None, depth: int = 2) -> Made:
    """A pydantic model with its own mixture of aliases, defaults, validators and treatment of extra keys."""
    seen = [] if seen is None else seen
    fields: dict[str, Any] = {}
    keys: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    for index in range(draw(st.integers(1, 4))):
        name = f"f{index}"
        annotation, data = draw(types(seen, depth))
        alias = draw(st.sampled_from([None, None, f"F {index}", AliasChoices(f"first{index}", f"second{index}")]))
        key = alias or name if not isinstance(alias, AliasChoices) else draw(st.sampled_from(alias.choices))
        settings: dict[str, Any] = {"validation_alias": alias} if alias is not None else {}
        if draw(st.booleans()):
            settings["default"] = None
            optional[str(key)] = data
        else:
            keys[str(key)] = data
        fields[name] = (annotation, Field(**settings))
    extra = draw(st.sampled_from(["ignore", "ignore", "forbid", "allow"]))
    validators: dict[str, Any] = {}
    for maker in draw(
        st.lists(st.sampled_from([_field_after, _field_info, _model_after, _model_before]), max_size=2, unique=True)
    ):
        validators[maker.__name__] = maker(draw(st.sampled_from(sorted(fields))))
    base = type(
        "Base", (BaseModel,), {"model_config": ConfigDict(extra=extra, str_strip_whitespace=draw(st.booleans()))}
    )
    model = create_model(f"Model{draw(st.integers(0, 999))}", __base__=base, __validators__=validators, **fields)
    if draw(st.integers(0, 3)) == 0:
        optional["unknown"] = junk
    data = st.fixed_dictionaries(keys, optional=optional)
    if keys and draw(st.integers(0, 3)) == 0:  # once in a while a value of another kind, or a missing key
        spoiled = draw(st.sampled_from(sorted(keys)))
        data = data | st.tuples(data, junk).map(lambda pair: {**pair[0], spoiled: pair[1]})
        data = data | data.map(lambda value: {key: item for key, item in value.items() if key != spoiled})
    return Made(model, data.map(_shuffled), seen)


def _shuffled(value: dict[str, Any]) -> dict[str, Any]:
    items = list(value.items())
    random.Random(json.dumps(value, sort_keys=True, default=str)).shuffle(items)
    return dict(items)


def _field_after(name: str) -> Any:
    def check(cls: Any, value: Any) -> Any:
        if isinstance(value, (str, list, dict)) and len(value) % 3 == 1:
            raise ValueError("one, four, seven, ... of them")
        return value

    return field_validator(name)(check)


def _field_info(name: str) -> Any:
    def check(cls: Any, value: Any, info: Any) -> Any:
        # Which of the earlier fields are known is part of the verdict, and so must be what pydantic itself would show.
        if len(info.data) % 2 and info.field_name == name and not value:
            raise ValueError(f"empty after {sorted(info.data)}")
        return value

    return field_validator(name)(check)


def _model_after(name: str) -> Any:
    def check(self: Any) -> Any:
        if len(self.model_fields_set) > 1 and not getattr(self, name):
            raise ValueError("nothing")
        return self

    return model_validator(mode="after")(check)


def _model_before(name: str) -> Any:
    def check(cls: Any, data: Any) -> Any:
        return {key: value for key, value in data.items() if key != "unknown"} if isinstance(data, dict) else data

    return model_validator(mode="before")(check)


@dataclass
class Streamed:
    """What the stage made of a text: the events it gave, what the machine gave, the final value, and what did not
    fit.
    """

    events: list[StreamingData]
    machine_events: list[StreamingData]
    stage: SchemaStage
    data: Any
    invalid: list[Invalid]


def stream(
    output: Any,
    chunks: list[str],
    *,
    each: Callable[[SchemaStage, Any], None] | None = None,
    finish: bool = True,
    strict: bool = False,
    starts: bool = False,
) -> Streamed:
    """Run machine and stage over `chunks`; `each(stage, tree)` is called after every one."""
    dialect = STRICT if strict else LLM
    compiled = compile_output(output)
    guide = None if starts else compiled.guide
    tolerance = tolerance_for(dialect.tolerances)
    machine = Machine(dialect, Limits(), tolerance=tolerance, starts=True, guide=guide)
    stage = SchemaStage(compiled, machine, dialect, Limits(), emit_starts=starts, guided=not starts)
    seen: list[StreamingData] = []
    raw: list[StreamingData] = []
    invalid: list[Invalid] = []

    def take(events: list[StreamingData]) -> None:
        raw.extend(events)
        if machine.told:  # as the parser does it
            events = stage.feed(events) if machine.told == 2 else stage.feed_end(events)
            machine.told = 2 if stage.waiting else 0
        seen.extend(events)
        invalid.extend(stage.take_invalid())

    for chunk in chunks:
        take(machine.read(chunk))
        if each is not None:
            each(stage, machine.tree(None))
    if finish:
        events = machine.finish()
        machine.told = 2
        take(events)
    return Streamed(seen, raw, stage, stage.root(machine.tree(None)), invalid)
