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


@pytest.mark.parametrize(
    ("schema", "place"),
    [
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
