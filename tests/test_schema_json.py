"""JSON Schema: what fits is what the `jsonschema` package says, in one piece and while it streams."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import schemas, splits

from streamparse import SchemaError
from streamparse.schema import JsonSchema, compile_output
from streamparse.schema.json_check import _PATTERNS, compiled

enough = settings(max_examples=max(200, settings().max_examples))

_name = st.sampled_from(["a", "b", "kind", "x y"])
_small = st.integers(0, 4)
_leaf = st.none() | st.booleans() | st.integers(-3, 9) | st.sampled_from([0.5, 1.0, 2.5]) | st.text("abc", max_size=4)
values = st.recursive(
    _leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_name, inner, max_size=3), max_leaves=8
)


@st.composite
def nodes(draw: st.DrawFn, depth: int = 3) -> Any:
    """A JSON Schema that contradicts itself nowhere that can be seen without data."""
    kind = draw(st.integers(0, 9 if depth else 4))
    inner = nodes(depth - 1)
    if kind == 0:
        return draw(st.sampled_from([{}, True, {"type": ["integer", "null"]}, {"type": "boolean"}, {"type": "null"}]))
    if kind == 1:
        return {"type": "string", **draw(_some(minLength=st.integers(0, 2), maxLength=st.integers(2, 3)))} | draw(
            st.sampled_from([{}, {"pattern": "^[ab]*$"}, {"pattern": "c"}])
        )
    if kind == 2:
        bounds = _some(
            minimum=st.integers(-3, 0), exclusiveMaximum=st.integers(1, 9), multipleOf=st.sampled_from([2, 0.5])
        )
        return {"type": draw(st.sampled_from(["integer", "number"])), **draw(bounds)}
    if kind == 3:
        return {"enum": draw(st.lists(_leaf, min_size=1, max_size=3))}
    if kind == 4:
        return {"const": draw(values)}
    if kind == 5:
        return {"type": "array", "items": draw(inner)} | draw(
            _some(minItems=st.integers(0, 1), maxItems=st.integers(1, 3), uniqueItems=st.booleans(), contains=inner)
        )
    if kind == 6:
        return {"type": "array", "prefixItems": draw(st.lists(inner, min_size=1, max_size=2))} | draw(
            _some(items=inner | st.just(False))
        )
    if kind == 7:
        word = draw(st.sampled_from(["anyOf", "oneOf", "allOf"]))
        parts = draw(st.lists(inner, min_size=1, max_size=3))
        return {word: parts} | draw(_some(**{"not": inner}))
    properties = draw(st.dictionaries(_name, inner, max_size=3))
    node: dict[str, Any] = {"type": "object", "properties": properties}
    if properties:
        node["required"] = draw(st.lists(st.sampled_from(sorted(properties)), unique=True))
    return node | draw(
        _some(
            additionalProperties=inner | st.just(False),
            patternProperties=st.fixed_dictionaries({"^[ab]$": inner}),
            propertyNames=st.just({"maxLength": 2}),
            dependentRequired=st.just({"a": ["b"]}),
        )
    )


def _some(**words: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Now and then one of the keywords, or two."""
    chosen = st.lists(st.sampled_from(sorted(words)), max_size=2, unique=True)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({name: words[name] for name in names}))


@enough
@given(node=nodes(), value=values, places=splits.cuts())
def test_what_fits_is_what_the_reference_implementation_says(node: Any, value: Any, places: list[float]) -> None:
    # Through a reference and below a property, so that both are exercised too.
    schema = {"$defs": {"node": node}, "type": "object", "properties": {"at": {"$ref": "#/$defs/node"}}}
    data = {"at": value}
    wanted = not list(jsonschema.Draft202012Validator(schema).iter_errors(data))
    impossible = _impossible(schema)
    if impossible is not None:
        assert list(jsonschema.Draft202012Validator(impossible).iter_errors(value))
        return
    output = compile_output(JsonSchema(schema))
    assert (not output.shape.check(data).errors) == wanted
    run = schemas.stream(JsonSchema(schema), splits.chop(json.dumps(data), places), strict=True)
    if "double_encoded" not in {note.code for note in run.stage.diagnostics}:
        assert run.stage.tree.valid == wanted, run.invalid
        assert run.data == data
        assert bool(run.invalid) != wanted
        if wanted:
            assert run.stage.tree.value == data


def _impossible(schema: Any) -> Any:
    """The part that is refused because nothing can fit, by the place that the error names. None: it is not refused."""
    try:
        compile_output(JsonSchema(schema))
    except SchemaError as error:
        found = re.match(r"JSON Schema at #/(.*?): ", str(error))
    else:
        return None
    assert found is not None
    for part in found[1].split("/"):
        schema = schema[int(part)] if isinstance(schema, list) else schema[part]
    return schema


_INTEGER = {"type": "integer"}
KEYWORDS: list[tuple[dict[str, Any], list[Any]]] = [
    ({"$defs": {"a": {"$anchor": "n", **_INTEGER}}, "$ref": "#n"}, [1, "x"]),
    ({"allOf": [{"properties": {"q": {"$anchor": "n", **_INTEGER}}}], "items": {"$ref": "#n"}}, [[1], ["x"]]),
    ({"prefixItems": [_INTEGER], "items": {"$ref": "#/prefixItems/0"}}, [[1, 2], [1, "x"], ["x"]]),
    ({"properties": {"a": False}}, [{"b": 1}, {"a": 1}]),
    ({"oneOf": [_INTEGER, {"minimum": 5}]}, [1, 7, 7.5, "x"]),
    ({"if": _INTEGER, "then": {"minimum": 3}, "else": {"maxLength": 2}}, [3, 2, "ab", "abc"]),
    ({"if": _INTEGER, "then": {"minimum": 3}}, [3, 2, "abc"]),
    ({"if": _INTEGER, "else": {"maxLength": 2}}, [2, "abc"]),
    ({"minItems": 2, "maxItems": 3}, [[1], [1, 2], [1, 2, 3], [1, 2, 3, 4]]),
    ({"uniqueItems": True}, [[1, True, "1"], [1, 1.0], [[1], [1]], [{"a": 1}, {"a": 1}], [{"a": 1}, {"a": 2}]]),
    ({"prefixItems": [_INTEGER], "items": False}, [[], [1], ["x"], [1, 2]]),
    ({"contains": _INTEGER, "minContains": 2, "maxContains": 3}, [[1, 2], [1, "x"], [1, 2, 3, 4], [1, 2, 3, "x"]]),
    ({"contains": _INTEGER}, [[], ["x"], ["x", 1]]),
    ({"dependentRequired": {"a": ["b", "c"]}}, [{"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 1}, {"b": 1}]),
    ({"dependentSchemas": {"a": {"required": ["b"]}}}, [{"a": 1, "b": 1}, {"a": 1}, {"b": 1}, {}]),
    ({"minProperties": 1, "maxProperties": 2}, [{}, {"a": 1}, {"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3}]),
    ({"minLength": 2}, ["a", "ab"]),
    ({"maximum": 3, "exclusiveMinimum": 1}, [1, 1.5, 3, 3.5]),
    ({"minimum": 1, "exclusiveMaximum": 3}, [0, 1, 2.5, 3]),
    ({"multipleOf": 0.5}, [1.5, 0.75, 7]),
    # No key tells these apart: two share a value, or one has none.
    (
        {
            "anyOf": [
                {"type": "object", "required": ["k"], "properties": {"k": {"enum": ["a", "b"]}, "x": _INTEGER}},
                {"type": "object", "required": ["k"], "properties": {"k": {"enum": ["b", "c"]}, "x": {"type": "null"}}},
            ]
        },
        [{"k": "a", "x": 1}, {"k": "b", "x": None}, {"k": "c", "x": 1}, {"x": 1, "k": "b"}],
    ),
    # The alternatives, and the constants in them, are elsewhere.
    (
        {
            "$defs": {
                "one": {"type": "object", "required": ["k"], "properties": {"k": {"$ref": "#/$defs/a"}, "x": _INTEGER}},
                "two": {
                    "type": "object",
                    "required": ["k"],
                    "properties": {"k": {"const": "b"}, "x": {"type": "null"}},
                },
                "a": {"const": "a"},
            },
            "oneOf": [{"$ref": "#/$defs/one"}, {"$ref": "#/$defs/two"}],
        },
        [{"k": "a", "x": 1}, {"x": None, "k": "b"}, {"k": "b", "x": 1}, {"k": "c"}],
    ),
    # A reference beside other words.
    (
        {
            "$defs": {"a": {"type": "object", "properties": {"x": _INTEGER}}},
            "$ref": "#/$defs/a",
            "properties": {"y": _INTEGER},
            "required": ["y"],
        },
        [{"x": 1, "y": 2}, {"x": "s", "y": 2}, {"x": 1}, {"y": "s"}],
    ),
]


@pytest.mark.parametrize(("schema", "candidates"), KEYWORDS, ids=[str(schema)[:60] for schema, _ in KEYWORDS])
def test_each_keyword(schema: dict[str, Any], candidates: list[Any]) -> None:
    """There is a value that fits and one that does not, says the reference implementation; so does this one."""
    wanted = [jsonschema.Draft202012Validator(schema).is_valid(value) for value in candidates]
    assert set(wanted) == {True, False}
    output = compile_output(JsonSchema(schema))
    assert [not output.shape.check(value).errors for value in candidates] == wanted
    for value, fits in zip(candidates, wanted, strict=True):
        if fits:
            assert output.validate(value) is value
        else:
            with pytest.raises(SchemaError):
                output.validate(value)
        for chunks in ([json.dumps(value)], list(json.dumps(value))):
            run = schemas.stream(JsonSchema(schema), chunks, strict=True)
            assert run.stage.tree.valid == fits
            assert bool(run.invalid) != fits


def test_the_list_of_items_of_draft_7() -> None:
    schema = {"items": [_INTEGER], "additionalItems": {"type": "string"}}
    for value in ([1, "x"], [1, 2], ["x"], [1], []):
        wanted = jsonschema.Draft7Validator(schema).is_valid(value)
        assert (not compile_output(JsonSchema(schema)).shape.check(value).errors) == wanted


def test_what_is_not_finite_is_no_multiple() -> None:
    output = compile_output(JsonSchema({"multipleOf": 2}))
    for value in (float("nan"), float("inf")):
        assert [error["type"] for error in output.shape.check(value).errors] == ["multiple_of"]


def test_the_patterns_that_are_kept_are_bounded() -> None:
    for number in range(1100):
        assert compiled(f"^a{{{number}}}$").search("a" * number)
    assert len(_PATTERNS) <= 1001


def test_a_schema_of_very_many_objects() -> None:
    """More than are passed by unseen; all are checked."""
    schema = {"properties": {f"p{at}": {"type": "object", "properties": {"x": _INTEGER}} for at in range(2100)}}
    data = {f"p{at}": {"x": 1} for at in range(2100)}
    for value in (data, {**data, "p0": {"x": "s"}}, {**data, "p2099": {"x": "s"}}):
        wanted = jsonschema.Draft202012Validator(schema).is_valid(value)
        run = schemas.stream(JsonSchema(schema), [json.dumps(value)])
        assert run.stage.tree.valid == wanted


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"$ref": 5}, "$ref must be a string"),
        ({"properties": []}, "properties must be an object"),
        ({"required": "a"}, "required must be a list of keys"),
        ({"type": "strin"}, "#: unknown type"),
        ({"properties": {"x": {"type": "object", "properties": {"y": 5}}}}, "#/properties/x/properties/y"),
        ({"properties": {"x": {"$ref": "#/$defs/no"}}}, "#/properties/x"),
        ({"$ref": "https://example.com/other.json"}, "outside"),
        ({"items": {"enum": []}}, "#/items"),
        ({"items": [{"minLength": 3, "maxLength": 2}]}, "#/items/0"),
        ({"required": ["a"], "additionalProperties": False}, "'a' is required"),
        ({"type": "string", "const": 3}, "exclude one another"),
        ({"const": 3, "enum": [1, 2]}, "not one of enum"),
        ({"allOf": [{"type": "string"}, {"type": "object"}]}, "exclude one another"),
        ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}, "points at itself"),
        (
            {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}, "$ref": "#/$defs/a"},
            "refers to itself",
        ),
        ({"pattern": "("}, "#/pattern"),
        ({"unevaluatedProperties": False}, "not supported"),
        ({"anyOf": []}, "anyOf"),
        ({"minLength": -1}, "minLength"),
        ({"multipleOf": 0}, "multipleOf"),
        ({"minimum": "1"}, "minimum"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_with_its_place(schema: dict[str, Any], place: str) -> None:
    with pytest.raises(SchemaError) as caught:
        compile_output(JsonSchema(schema))
    assert place in str(caught.value)
    assert caught.value.code == "schema"


def test_a_recursive_schema_is_walked_as_deep_as_the_data_goes() -> None:
    schema = {
        "$defs": {
            "node": {
                "type": "object",
                "properties": {"next": {"$ref": "#/$defs/node"}, "v": {"type": "integer"}},
                "required": ["v"],
            }
        },
        "$ref": "#/$defs/node",
    }
    good: Any = {"v": 0}
    for v in range(50):
        good = {"v": v, "next": good}
    run = schemas.stream(JsonSchema(schema), [json.dumps(good)])
    assert run.stage.tree.valid
    bad = json.loads(json.dumps(good).replace('"v": 0}', '"v": "x"}'))
    run = schemas.stream(JsonSchema(schema), [json.dumps(bad)])
    assert [invalid.path for invalid in run.invalid] == [".".join(["next"] * 50) + ".v"]


def test_a_constant_tells_alternatives_apart_as_soon_as_it_is_there() -> None:
    def option(name: str, field: str) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {"kind": {"const": name}, field: {"type": "integer"}},
            "required": ["kind"],
        }

    schema = JsonSchema({"oneOf": [option("cat", "lives"), option("dog", "age")]})
    run = schemas.stream(schema, ['{"kind": "dog", "age": "old", '], finish=False)
    assert [(invalid.path, invalid.early) for invalid in run.invalid] == [("age", True)]
    run = schemas.stream(schema, ['{"kind": "doge'], finish=False)
    assert [(invalid.path, invalid.value) for invalid in run.invalid] == [("kind", "doge")]


def test_a_very_deep_value_is_no_crash() -> None:
    schema = JsonSchema(
        {"$defs": {"n": {"allOf": [{"type": "array", "items": {"$ref": "#/$defs/n"}}]}}, "$ref": "#/$defs/n"}
    )
    run = schemas.stream(schema, ["[" * 900 + "]" * 900])
    assert not run.stage.tree.valid
    assert any(error["type"] == "recursion_loop" for invalid in run.invalid for error in invalid.errors)
