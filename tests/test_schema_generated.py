"""Generated models × values × splits, through the parser: what the schema promises of any model.

The models come from `support.schemas` (aliases, constraints, unions, validators of all kinds) and from the mean ones
below: generics, recursion, root models, dataclasses, discriminated unions in one another, fields that are held or
required. The judge is pydantic, on the whole data.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Generic, Literal, TypeVar

import pydantic.dataclasses
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    RootModel,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)
from support import schemas, splits
from support.runner import merge
from support.schemas import junk, number, text
from typing_extensions import NotRequired, TypedDict

from streamparse import StreamParser
from streamparse.schema import Hold, PartialBuilder, Required

enough = settings(max_examples=max(200, settings().max_examples))
T = TypeVar("T")

calls: list[Any] = []
"""What the validators of the models below were shown, in order."""


def note(value: Any) -> Any:
    calls.append(json.dumps(value, default=repr))
    return value


Noted = Annotated[str, AfterValidator(note)]


class Kind(Enum):
    one = "one"
    other = "other"


class Leaf(BaseModel):
    label: Noted
    size: int = 0


class Page(BaseModel, Generic[T]):
    items: list[T]
    total: Annotated[int, Field(ge=0), AfterValidator(note)]
    next: str | None = None


class Tree(BaseModel):
    name: str
    children: list[Tree] = []
    parent: Tree | None = None


class Names(RootModel[list[Noted]]):
    pass


class Boxed(RootModel[dict[str, Leaf]]):
    pass


@dataclasses.dataclass
class Spot:
    x: float
    label: Noted = ""
    inside: Leaf | None = None


@pydantic.dataclasses.dataclass
class Checked:
    low: int
    high: int

    def __post_init__(self) -> None:
        calls.append("post")
        if self.low > self.high:
            raise ValueError("low above high")


class Row(TypedDict):
    a: int
    b: NotRequired[Noted]


class Circle(BaseModel):
    shape: Literal["circle"]
    radius: float


class Square(BaseModel):
    shape: Literal["square", "box"]
    side: int
    label: Noted = ""


class Text(BaseModel):
    type: Literal["text"] = "text"
    body: Annotated[str, Field(max_length=8)]


class Drawing(BaseModel):
    type: Literal["drawing"]
    content: Annotated[Circle | Square, Field(discriminator="shape")]


Block = Annotated[Text | Drawing, Field(discriminator="type")]


class Sheet(BaseModel):
    blocks: list[Block]
    first: Block | None = None


class Strange(BaseModel):
    model_config = ConfigDict(populate_by_name=True, extra="forbid")
    value: int = Field(alias="Value !")
    deep: str = Field(default="", validation_alias=AliasPath("nest", 0))
    made: list[int] = Field(default_factory=lambda: [7])

    @model_validator(mode="before")
    @classmethod
    def before(cls, data: Any) -> Any:
        calls.append("before")
        return data


class Held(BaseModel):
    code: Annotated[str, Hold]
    rows: Annotated[list[Noted], Hold] = []
    title: Annotated[str, Required]
    note: str = ""


class Limits(BaseModel):
    model_config = ConfigDict(extra="forbid")
    code: Annotated[str, Field(pattern="^[a-c]{1,3}$")] = "a"
    kind: Kind = Kind.one
    word: Literal["red", "redder", "blue"] | None = None
    few: Annotated[list[int], Field(max_length=2)] = []
    price: Decimal = Decimal(1)
    wait: timedelta | None = None

    @field_validator("few")
    @classmethod
    def ordered(cls, value: list[int]) -> list[int]:
        note(value)
        if value != sorted(value):
            raise ValueError("not in order")
        return value


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow", str_strip_whitespace=True)
    a: Annotated[str, BeforeValidator(lambda value: note(value) if isinstance(value, str) else "")] = ""
    b: int | str | list[Leaf] | None = None
    c: dict[str, Any] = {}
    d: dict[str, list[Leaf]] = {}


leaf = st.fixed_dictionaries({"label": text}, optional={"size": number})
tree: st.SearchStrategy[Any] = st.recursive(
    st.fixed_dictionaries({"name": text}),
    lambda inner: st.fixed_dictionaries(
        {"name": text}, optional={"children": st.lists(inner, max_size=2), "parent": st.none() | inner}
    ),
    max_leaves=5,
)
shape = st.fixed_dictionaries({"shape": st.just("circle"), "radius": number}) | st.fixed_dictionaries(
    {"side": number, "shape": st.sampled_from(["square", "box", "bo"])}, optional={"label": text}
)
block = st.fixed_dictionaries({"body": text}, optional={"type": st.just("text")}) | st.fixed_dictionaries(
    {"content": shape, "type": st.sampled_from(["drawing", "draw"])}
)
strange = st.fixed_dictionaries({"Value !": number}, optional={"nest": st.lists(text, max_size=2)}) | (
    st.fixed_dictionaries({"value": number}, optional={"made": st.lists(number, max_size=2), "deep": text})
)
held = st.fixed_dictionaries({"code": text}, optional={"rows": st.lists(text, max_size=2), "title": text, "note": text})
limits = st.fixed_dictionaries(
    {},
    optional={
        "code": st.text("abcd", max_size=4),
        "kind": st.sampled_from(["one", "other", "oth"]),
        "word": st.sampled_from(["red", "redder", "redd", "blue", None]),
        "few": st.lists(number, max_size=3).map(lambda found: sorted(found) if len(found) < 3 else found),
        "price": st.sampled_from([1, 1.5, "2.50", "x"]),
        "wait": st.sampled_from(["PT5S", "P1D", "soon", 3]),
        "more": st.just(1),
    },
)
loose = st.fixed_dictionaries(
    {},
    optional={
        "a": text,
        "b": number | text | st.lists(leaf, max_size=2) | st.none(),
        "c": st.dictionaries(text, junk, max_size=2),
        "d": st.dictionaries(text, st.lists(leaf, max_size=2), max_size=2),
        "e": junk,
    },
)
MODELS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "generic": (Page[Leaf], st.fixed_dictionaries({"items": st.lists(leaf, max_size=3), "total": number})),
    "generic of a union": (
        Page[Leaf | Spot],
        st.fixed_dictionaries(
            {"items": st.lists(leaf | st.fixed_dictionaries({"x": number, "label": text}), max_size=3), "total": number}
        ),
    ),
    "recursive": (Tree, tree),
    "root of strings": (Names, st.lists(text, max_size=3)),
    "root of a dict": (dict[str, Boxed], st.dictionaries(text, st.dictionaries(text, leaf, max_size=2), max_size=2)),
    "dataclass": (
        list[Spot],
        st.lists(st.fixed_dictionaries({"x": number}, optional={"label": text, "inside": leaf}), max_size=2),
    ),
    "dataclass with code": (Checked, st.fixed_dictionaries({"low": number, "high": number})),
    "typed dict": (list[Row], st.lists(st.fixed_dictionaries({"a": number}, optional={"b": text}), max_size=3)),
    "unions in unions": (
        Sheet,
        st.fixed_dictionaries({"blocks": st.lists(block, max_size=3)}, optional={"first": block | st.none()}),
    ),
    "aliases": (list[Strange], st.lists(strange, max_size=2)),
    "held": (list[Held], st.lists(held, max_size=2)),
    "limits": (Limits, limits),
    "loose": (Loose, loose),
    "tuple": (tuple[int, Leaf, Noted], st.tuples(number, leaf, text).map(list) | st.lists(number, max_size=2)),
}


def spoil(data: Any, where: int, value: Any) -> Any:
    """`data` with one of its values replaced."""
    places: list[tuple[Any, Any]] = []
    work = [data]
    while work:
        node = work.pop()
        inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, item in inside:
            places.append((node, key))
            work.append(item)
    if places:
        node, key = places[where % len(places)]
        node[key] = value
    return data


def judge(model: Any, data: Any) -> tuple[bool, Any, Counter[str]]:
    """What pydantic says: whether it fits, the object, and what the validators were shown."""
    calls.clear()
    try:
        return True, TypeAdapter(model).validate_python(data), Counter(calls)
    except ValidationError as error:
        return False, error, Counter(calls)


def no_starts(events: list[Any]) -> list[Any]:
    return merge(event for event in events if event.event_type != "start")


@pytest.mark.parametrize("name", MODELS)
@given(draw=st.data(), places=splits.cuts(20))
def test_mean_models(name: str, draw: st.DataObject, places: list[float]) -> None:
    model, values = MODELS[name]
    data = draw.draw(values)
    if draw.draw(st.integers(0, 3)) == 0:
        data = spoil(json.loads(json.dumps(data)), draw.draw(st.integers(0, 20)), draw.draw(junk))
    _check(model, data, places, calls)


@enough
@given(made=schemas.models(), draw=st.data(), places=splits.cuts(20))
def test_generated_models(made: schemas.Made, draw: st.DataObject, places: list[float]) -> None:
    _check(made.model, draw.draw(made.data), places, made.seen)


def _check(model: Any, data: Any, places: list[float], seen: list[Any]) -> None:
    whole = json.dumps(data)
    chunks = splits.chop(whole, places)
    seen.clear()
    fits, wanted, shown = judge(model, data)
    shown = Counter(seen) if seen is not calls else shown

    seen.clear()
    parser = StreamParser(output=model, dialect="strict")
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    parsed = parser.close()
    events += parsed.events
    invalid = parser.take_invalid()
    told = Counter(seen)
    assert fits == (not invalid), (wanted, invalid)
    if fits:
        # Once each, and nothing else.
        assert told == shown
        final = parser.partial()
        assert final == wanted
        assert type(final) is type(wanted)
    else:
        # Where something does not fit pydantic too calls each validator at most once on a value.
        assert not told - shown, (told, shown, invalid)
        _judged_alike(model, data, invalid)

    # Law 12: the same events as without a schema, whatever was held for a while.
    if not _holds_json(data):
        plain = StreamParser(dialect="strict")
        bare = [event for chunk in chunks for event in plain.feed(chunk)]
        bare += plain.close().events
        assert no_starts(events) == merge(bare)
        assert parsed.data == data

    # Partial instances: from the parser, and from one that is told of every value, at each moment.
    starting = StreamParser(output=model, dialect="strict", emit_starts=True)
    builder: PartialBuilder[Any] = PartialBuilder(model)
    parts: list[Any] = []
    for chunk in chunks:
        seen.clear()
        builder.update(starting.feed(chunk))
        parts.append(_plain(starting.partial()))
    builder.update(starting.close().events)
    seen.clear()
    looked = StreamParser(output=model, dialect="strict")
    for chunk, part in zip(chunks, parts, strict=True):
        looked.feed(chunk)
        assert _plain(looked.partial()) == part
    looked.close()
    # Looking changes nothing: not what is checked, nor what comes out.
    assert Counter(seen) == told
    assert [one.to_dict() for one in looked.take_invalid()] == [one.to_dict() for one in invalid]
    if fits:
        assert builder.snapshot() == looked.partial() == starting.partial() == wanted


def _calls_more_often(told: Counter[str], shown: Counter[str], whole: str) -> bool:
    """pydantic stops at the first fault of a value, and never runs what comes after; a field is checked on its own all
    the same. So validators may run on more values than there, but each on a value that is in the text, and whole.
    """
    return all(value in ("before", "post") or value.strip() in whole or value[1:-1].strip() in whole for value in told)


def _judged_alike(model: Any, data: Any, invalid: list[Any]) -> None:
    """Each place that is told lies in the data, or is a key that is missing in it."""
    for one in invalid:
        node = data
        for position, part in enumerate(one.parts):
            missing = part not in node if isinstance(node, dict) else part >= len(node)
            if missing:
                assert position == len(one.parts) - 1
                assert {error["type"] for error in one.errors} <= {"missing", "missing_argument"}
                break
            node = node[part]


def _plain(value: Any) -> Any:
    """What can be compared: partial instances by what they show."""
    if isinstance(value, BaseModel):
        return {name: _plain(item) for name, item in value.__dict__.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _holds_json(data: Any) -> bool:
    return any(string.lstrip()[:1] in ("{", "[") for string in _strings(data))


def _strings(data: Any) -> set[str]:
    if isinstance(data, str):
        return {data}
    items = [*data.keys(), *data.values()] if isinstance(data, dict) else data if isinstance(data, list) else []
    return {string for item in items for string in _strings(item)}
