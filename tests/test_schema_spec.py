"""Every way to say what is wanted, and what is refused."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import re
from datetime import date
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

import pydantic.dataclasses
import pytest
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    RootModel,
    Tag,
    TypeAdapter,
    ValidationInfo,
    computed_field,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticUseDefault, core_schema
from support import schemas
from typing_extensions import NotRequired, TypedDict

from streamparse import SchemaError, StreamParser
from streamparse.schema import JsonSchema, Output, Required, Shape, compile_output, describe, fits
from streamparse.schema.choice import may_begin
from streamparse.schema.shape import kind_of

T = TypeVar("T")


def _name(value: object) -> str:
    """A name for a case that is the same in every process: without the addresses of functions and objects."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))[:80]


class User(BaseModel):
    name: str
    age: int = 0


class Box(BaseModel, Generic[T]):
    item: T
    more: list[T] = []


class Tree(BaseModel):
    value: int
    children: list[Tree] = []

    @computed_field  # type: ignore[prop-decorator]
    @property
    def total(self) -> int:
        return self.value + sum(child.total for child in self.children)


class Names(RootModel[list[str]]):
    pass


class Aliased(BaseModel):
    model_config = (
        ConfigDict(validate_by_name=True, validate_by_alias=True)
        if hasattr(ConfigDict, "validate_by_name")
        else ConfigDict(populate_by_name=True)
    )
    full_name: str = Field(validation_alias=AliasChoices("fullName", "FULL"))
    age: int = Field(alias="Age")


class Deep(BaseModel):
    inner: int = Field(validation_alias=AliasPath("a", "b", 0))


class Own(BaseModel):
    x: int

    def __init__(self, **data: Any) -> None:
        super().__init__(**{key: value * 2 for key, value in data.items()})


class Filled(BaseModel):
    model_config = ConfigDict(validate_default=True)
    day: date = "2024-01-02"  # type: ignore[assignment]
    n: int


class Typed(TypedDict):
    id: int
    note: NotRequired[str]


@dataclasses.dataclass
class Place:
    city: str
    zips: list[int] = dataclasses.field(default_factory=list)


class Early(BaseModel):
    a: int

    @model_validator(mode="before")
    @classmethod
    def unwrap(cls, data: Any) -> Any:
        return data.get("wrapped", data)


class Splits(BaseModel):
    words: list[str]

    @field_validator("words", mode="before")
    @classmethod
    def split(cls, value: Any) -> Any:
        return value.split() if isinstance(value, str) else value


def _which(value: Any) -> str:
    return "user" if "name" in (value if isinstance(value, dict) else value.__dict__) else "tree"


Callable_ = Annotated[Annotated[User, Tag("user")] | Annotated[Tree, Tag("tree")], Discriminator(_which)]


class Lenient:
    """What is no integer becomes one: a default that also stands for what does not fit."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return core_schema.with_default_schema(core_schema.int_schema(), default=7, on_error="default")


class One(BaseModel):
    kind: Literal["a"] = Field(validation_alias=AliasChoices("kind", "k"))
    x: int


class Two(BaseModel):
    kind: Literal["b"] = Field(validation_alias=AliasChoices("kind", "k"))
    x: str


class Either:
    """The discriminator may stand at either of two keys."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        choices = {"a": handler.generate_schema(One), "b": handler.generate_schema(Two)}
        return core_schema.tagged_union_schema(choices, [["kind"], ["k"]])


class Ready(RootModel[int]):
    def __init__(self, root: int = 0) -> None:
        super().__init__(root)


class MoreNumbers(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int] = Field(init=False)
    a: int


class ByName(BaseModel):
    model_config = ConfigDict(validate_by_alias=False, validate_by_name=True)
    a: int = Field(alias="A")


def _or_default(value: Any) -> Any:
    if value == "?":
        raise PydanticUseDefault
    return value


class WithDefault(BaseModel):
    a: Annotated[int, BeforeValidator(_or_default)] = 5
    b: str = ""


@pydantic.dataclasses.dataclass
class SetLater:
    a: int
    b: int = dataclasses.field(init=False, default=3)


class Earlier(BaseModel):
    a: int = 3
    b: int

    @field_validator("b")
    @classmethod
    def add(cls, value: int, info: ValidationInfo) -> int:
        return value + int(info.data["a"])


class EarlierMade(BaseModel):
    a: list[int] = Field(default_factory=lambda: [3])
    b: int

    @field_validator("b")
    @classmethod
    def add(cls, value: int, info: ValidationInfo) -> int:
        return value + sum(info.data["a"])


class Shown(BaseModel):
    title: Annotated[str, Required]
    tags: list[str]
    n: int


class Gaps(BaseModel):
    when: date
    n: list[float]


def _short(value: Any) -> Any:
    if len(value) > 1:
        raise ValueError("too many")
    return value


GOOD: list[tuple[Any, Any]] = [
    (User, {"name": "Ada", "age": "36"}),
    (Box[int], {"item": "1", "more": [2, 3]}),
    (Box[User], {"item": {"name": "Ada"}, "more": [{"name": "Bob", "age": 1}]}),
    (Tree, {"value": 1, "children": [{"value": 2, "children": [{"value": 3}]}]}),
    (Names, ["a", "b"]),
    (Aliased, {"FULL": "Ada", "Age": 3}),
    (Aliased, {"full_name": "Ada", "age": 3}),
    (Deep, {"a": {"b": [7]}}),
    (Own, {"x": 4}),
    (Filled, {"n": 1}),
    (Typed, {"id": 1}),
    (Place, {"city": "Paris", "zips": ["75001", 75002]}),
    (Early, {"wrapped": {"a": 5}}),
    (Splits, {"words": "one two"}),
    (list[User], [{"name": "Ada"}]),
    (dict[str, User], {"x": {"name": "Ada"}}),
    (int, 42),
    (str, "hello"),
    (Literal["a", "b"], "b"),
    (date, "2024-02-03"),
    (User | None, None),
    (User | list[int], [1, "2"]),
    (tuple[int, str], [1, "x"]),
    (tuple[int, ...], [1, "2", 3]),
    (Callable_, {"value": 3, "children": []}),
    (Annotated[int, BeforeValidator(lambda value: value + 1)], 1),
    (TypeAdapter(list[int]), ["1", 2]),
    (list[Lenient], [1, "x"]),
    (Lenient, "x"),
    (Either, {"kind": "a", "x": 1}),
    (Either, {"x": "s", "k": "b"}),
    (Ready, 3),
    (MoreNumbers, {"a": "1", "b": "2"}),
    (ByName, {"a": "1"}),
    (WithDefault, {"a": "?", "b": "x"}),
    (list[WithDefault], [{"b": "x", "a": "?"}]),
    (SetLater, {"a": 1}),
    (dict[str, Annotated[Any, PlainValidator(lambda value: [value])]], {"a": {"x": 1}}),
    (Earlier, {"b": 1}),
    (Earlier, {"b": 1, "a": 5}),
    (Earlier, {"a": 5, "b": 1}),
    (EarlierMade, {"b": 1}),
    (EarlierMade, {"b": 1, "a": [5]}),
    (Shown, {"tags": ["x"], "n": 1, "title": "T"}),
    (Shown, {"title": "T", "tags": ["x"], "n": 1}),
    (list[Shown], [{"tags": [], "n": 1, "title": "T"}]),
    (Gaps, {"when": "2024-01-02", "n": [1.5, 1, 2.5, 2]}),
]


@pytest.mark.parametrize(("spec", "data"), GOOD, ids=_name)
def test_the_object_is_what_pydantic_makes_of_the_data(spec: Any, data: Any) -> None:
    adapter: Any = spec if isinstance(spec, TypeAdapter) else TypeAdapter(spec)
    wanted = adapter.validate_python(data)
    output = compile_output(spec)
    assert output.validate(data) == wanted
    run = schemas.stream(spec, list(json.dumps(data)))
    assert run.stage.tree.valid, run.invalid
    assert run.stage.tree.value == wanted
    assert type(run.stage.tree.value) is type(wanted)
    assert kind_of(data) in output.shape.kinds
    assert fits(output.shape, data)


@pytest.mark.parametrize(
    ("spec", "data", "place"),
    [
        (User, {"name": 3}, "name"),
        (User, {"age": 1}, "name"),
        (Box[int], {"item": 1, "more": [1, "x"]}, "more[1]"),
        (Tree, {"value": 1, "children": [{"value": 2, "children": [{}]}]}, "children[0].children[0].value"),
        (Names, ["a", 1], "[1]"),
        (Aliased, {"FULL": "Ada", "Age": "x"}, "Age"),
        (Place, {"city": "Paris", "zips": ["x"]}, "zips[0]"),
        (Typed, {"id": "x"}, "id"),
        (JsonSchema({"properties": {"a": {"type": "integer"}}}), {"a": "x"}, "a"),
        (dict[str, Annotated[Any, AfterValidator(_short)]], {"a": [1], "b": [1, 2]}, "b"),
        (dict[str, Annotated[list[int] | dict[str, int] | None, AfterValidator(_short)]], {"b": [1, 2]}, "b"),
        (Annotated[RootModel[Any], AfterValidator(lambda value: _short(value.root))], [1, 2], ""),
    ],
    ids=_name,
)
def test_what_does_not_fit_is_told_with_its_path(spec: Any, data: Any, place: str) -> None:
    run = schemas.stream(spec, list(json.dumps(data)))
    assert [invalid.path for invalid in run.invalid] == [place]
    assert all(error["type"] and error["msg"] for error in run.invalid[0].errors)
    error = run.invalid[0].to_error()
    assert (error.code, error.path) == ("invalid_value", place)
    with pytest.raises(SchemaError) as caught:
        compile_output(spec).validate(data)
    assert caught.value.code == "invalid_value"
    assert caught.value.errors


class TestDictSpec:
    spec: ClassVar[Any] = {
        "title": (str, "Short title", True),
        "tips": [{"text": (str, "One tip", "not_null"), "rank": ("integer",)}],
        "a b": (list[int], "Numbers"),
        "meta": {"lang": ("string", "Language", True)},
        "free": Any,
        "flags": [(str, "Flag", True)],
    }
    full: ClassVar[Any] = {
        "title": "T",
        "tips": [{"text": "t", "rank": 1}],
        "a b": [1],
        "meta": {"lang": "en"},
        "free": {"x": None},
        "flags": ["f"],
        "other": 1,
    }

    def test_leaves_are_types_descriptions_and_what_must_be_there(self) -> None:
        output = compile_output(self.spec)
        assert output.validate(self.full) == self.full  # keys that are not listed are kept
        assert output.missing(self.full) == ()

    def test_what_is_not_ensured_may_be_missing_or_null(self) -> None:
        data = {"title": None, "tips": [{"text": "t", "rank": None}], "meta": {"lang": None}, "flags": [None]}
        output = compile_output(self.spec)
        assert output.validate(data) == data
        assert output.missing(data) == ()

    def test_missing_lists_what_was_ensured(self) -> None:
        output = compile_output(self.spec)
        assert output.missing({}) == ("title", "tips", "meta", "flags")
        assert output.missing({"title": "", "meta": {}, "flags": [], "tips": [{"text": None}, {}]}) == (
            "meta.lang",
            "tips[0].text",
            "tips[1].text",
        )

    def test_wrong_types_are_told_as_they_stream(self) -> None:
        run = schemas.stream(self.spec, list('{"title": {"x": 1}, "tips": [{"text": null, "rank": "no"}]}'))
        assert [(invalid.path, invalid.early) for invalid in run.invalid if invalid.errors[0]["type"] != "missing"] == [
            ("title", True),
            ("tips[0].text", True),
            ("tips[0].rank", False),
        ]

    def test_a_list_specification(self) -> None:
        output = compile_output([{"n": (int, "N", True)}])
        assert output.validate([{"n": "1"}]) == [{"n": 1}]
        assert output.missing([{}, {"n": 1}]) == ("[0].n",)

    @pytest.mark.parametrize(
        ("spec", "place"),
        [
            ({"a": {"b": ("strin", "x")}}, "a.b"),
            ({"a": [{"b c": (int, 5)}]}, 'a[*]["b c"]'),
            ({"a": (int, "x", "maybe")}, "a"),
            ({"a": (int, "x", True, 4)}, "a"),
            ({"a": [int, str]}, "a"),
            ({"a": ()}, "a"),
            ({1: int}, "output"),
            ({"a": {"b": object()}}, "at a.b cannot be used"),
            ({"type": "object", "properties": {}}, "JsonSchema"),
            (lambda: 1, "cannot be used"),
        ],
        ids=_name,
    )
    def test_a_specification_that_cannot_be_used_is_refused_with_its_place(self, spec: Any, place: str) -> None:
        with pytest.raises(SchemaError) as caught:
            compile_output(spec)
        assert place in str(caught.value)


def test_an_output_that_a_discriminator_chooses() -> None:
    output = compile_output(Either)
    assert fits(output.shape, {"k": "a", "kind": "a", "x": 1})
    assert not fits(output.shape, {"kind": "c", "x": 1})
    assert not fits(output.shape, {"x": 1})
    assert output.missing({"kind": "a"}) == ("x",)
    assert output.missing({"kind": "b", "x": "s"}) == ()


@pytest.mark.parametrize(
    ("spec", "text", "may"),
    [
        (User, "[1", False),
        (list[int], "[1", True),
        (list[int], '{"a"', False),
        (User, '{"na', None),
        (User, '{"name"', None),
        (User, '{"name":', True),
        (User, '{"n\\u0061me" :', True),
        (User, '{"other": ', False),
        (User, r'{"\q": ', False),
        (User, "{name", True),
        (One | Two, '{"x":', True),
        (One | list[int], '{"y":', False),
        (dict[str, int], '{"y":', True),
    ],
    ids=_name,
)
def test_whether_a_document_may_be_the_one_that_is_wanted(spec: Any, text: str, may: bool | None) -> None:
    """By its bracket and its first key; None: too early to say."""
    assert may_begin(compile_output(spec).shape, text) is may


def test_another_document_that_was_cut_before_its_first_key_does_not_count() -> None:
    for text in ('{"x":1} {"na', '{"x":1} {'):
        for chunks in ([text], list(text)):
            parser = StreamParser(output=User)
            for chunk in chunks:
                parser.feed(chunk)
            assert parser.close().data == {"x": 1}


def test_a_specification_is_compiled_once() -> None:
    assert compile_output(User) is compile_output(User)
    assert compile_output(compile_output(User)) is compile_output(User)


def test_an_output_pickles_by_its_specification() -> None:
    for spec in (User, TestDictSpec.spec, JsonSchema({"type": "integer"})):
        output = pickle.loads(pickle.dumps(compile_output(spec)))
        assert isinstance(output, Output)
        assert isinstance(output.shape, Shape)
        assert output.json_schema() == compile_output(spec).json_schema()
        assert copy.deepcopy(output).spec == spec


def test_fits_looks_at_kinds_and_keys() -> None:
    shape = compile_output(User).shape
    assert fits(shape, {"name": 1})
    assert not fits(shape, {"age": 1})
    assert not fits(shape, [])
    assert not fits(compile_output(Typed).shape, {"other": 1})
    assert fits(compile_output(JsonSchema({"properties": {"a": {}, "b": {}}})).shape, {"b": 1})
    assert not fits(compile_output(JsonSchema({"properties": {"a": {}, "b": {}}})).shape, {"c": 1})
    assert fits(compile_output(dict[str, int]).shape, {"anything": 1})
    assert fits(compile_output(User | list[int]).shape, [1])


class TestDescribe:
    def test_the_prompt_has_a_line_for_each_field(self) -> None:
        class Tip(BaseModel):
            text: str = Field(description="One tip,\n in a sentence", max_length=80)
            mood: Literal["glad", "sad"] = "glad"

        class Answer(BaseModel):
            title: str = Field(alias="Title", min_length=1)
            tips: list[Tip]
            when: date | None = None

        description = describe(Answer)
        assert description.json_schema == Answer.model_json_schema()
        assert description.prompt.splitlines() == [
            "Answer with JSON only: an object, with these fields:",
            "- Title: string, required, at least 1 characters",
            "- tips: array of object, required",
            "- tips[*].text: string, required, at most 80 characters. One tip, in a sentence",
            '- tips[*].mood: one of "glad", "sad", default "glad"',
            "- when: string (date) or null, default null",
        ]

    def test_a_dict_specification_says_what_was_written(self) -> None:
        assert describe(TestDictSpec.spec).prompt.splitlines() == [
            "Answer with JSON only: an object, with these fields:",
            "- title: string, required. Short title",
            "- tips: array of object, required",
            "- tips[*].text: string, required. One tip",
            "- tips[*].rank: integer",
            '- ["a b"]: array of integer. Numbers',
            "- meta: object, required",
            "- meta.lang: string, required. Language",
            "- free: any value",
            "- flags: array of string, required",
        ]

    def test_a_recursive_model_ends(self) -> None:
        assert describe(Tree).prompt.splitlines()[-1] == "- children[*]: as Tree above"

    def test_a_json_schema_says_what_it_bounds(self) -> None:
        kind = {"type": "object", "properties": {"k": {"type": "string"}}}
        schema = {
            "type": "object",
            "description": "The\n answer",
            "properties": {
                "c": {"const": "x"},
                "t": {"type": ["integer", "null"]},
                "m": {"additionalProperties": {"properties": {"y": {"minimum": 1, "exclusiveMaximum": 3}}}},
                "s": {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^a"},
                "u": {"anyOf": [kind, {**kind, "title": "the same key"}]},
                "l": {"type": "array", "minItems": 1, "maxItems": 2},
            },
            "required": ["c"],
        }
        assert describe(JsonSchema(schema)).prompt.splitlines() == [
            "Answer with JSON only: an object (The answer), with these fields:",
            '- c: "x", required',
            "- t: integer or null",
            "- m: any value",
            "- m.*.y: any value, ≥ 1, < 3",
            "- s: string, 1 to 3 characters, matching ^a",
            "- u: object",
            "- u.k: string",
            "- l: array, 1 to 2 items",
        ]

    def test_a_scalar(self) -> None:
        assert describe(int).prompt == "Answer with JSON only: an integer."
        assert describe(JsonSchema({"enum": ["a", 1]})).prompt == 'Answer with JSON only: one of "a", 1.'
