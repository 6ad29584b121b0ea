"""JSON Schema -> Shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import regex

from ..errors import SchemaError
from .json_check import TYPES, Document, Node, compiled, items_of, kinds_of, same
from .shape import Check, Items, Kind, Lazy, Members, Property, Shape, Tag, accept, is_array, is_object, kind_of, union


class JsonSchema(dict[str, Any]):
    """An output specification written as JSON Schema (draft 2020-12): `output=JsonSchema({"type": "object", ...})`."""


# Keywords that hold one schema, a list of schemas, and a mapping to schemas.
_ONE = ("additionalProperties", "items", "additionalItems", "not", "if", "then", "else", "contains", "propertyNames")
_LIST = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPPING = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_COUNTS = (
    "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains",
)  # fmt: skip
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_UNSUPPORTED = ("unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef", "dependencies")
_COMBINING = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "contains", "propertyNames", "patternProperties", "dependentSchemas"}
)
_LOCAL = frozenset(
    {
        "type", "const", "enum", "properties", "additionalProperties", "items", "additionalItems", "prefixItems",
        "required", "pattern", "dependentRequired", "uniqueItems", *_COUNTS, *_BOUNDS,
    }
)  # fmt: skip
_EXACT: dict[str, type] = {"string": str, "boolean": bool, "integer": int, "number": float}
_INSIDE = frozenset({"type", "properties", "items"})
_HELD_FORMATS = frozenset({"date", "date-time", "time", "duration", "uuid"})


def shape_of(schema: Node) -> Shape:
    """The shape of a JSON Schema.

    Raises `SchemaError` where it is not one, contradicts itself, or needs what is not supported.
    """
    document = Document(schema)
    for place, node in _walk(schema):
        _verify(document, node, place)
    try:
        return _Compiler(document).shape(schema)
    except RecursionError:
        raise SchemaError("the JSON Schema refers to itself without a property or an item between") from None


def _walk(schema: Any) -> Iterator[tuple[str, Any]]:
    """Every schema inside `schema`, with its place as a JSON Pointer fragment."""
    work: list[tuple[str, Any]] = [("#", schema)]
    while work:
        place, node = work.pop()
        yield place, node
        if not is_object(node):
            continue
        work.extend((f"{place}/{word}", node[word]) for word in _ONE if word in node and not is_array(node[word]))
        for word in (*_LIST, "items"):
            if is_array(node.get(word)):
                work.extend((f"{place}/{word}/{at}", part) for at, part in enumerate(node[word]))
        for word in _MAPPING:
            if is_object(node.get(word)):
                work.extend((f"{place}/{word}/{key}", part) for key, part in node[word].items())


def _verify(document: Document, node: Any, place: str) -> None:
    if isinstance(node, bool):
        return
    if not is_object(node):
        raise SchemaError(f"JSON Schema at {place}: a schema is an object or a boolean, got {type(node).__name__}")

    def wrong(message: str) -> SchemaError:
        return SchemaError(f"JSON Schema at {place}: {message}")

    for word in _UNSUPPORTED:
        if word in node:
            raise wrong(f"{word} is not supported")
    if "$ref" in node:
        if not isinstance(node["$ref"], str):
            raise wrong("$ref must be a string")
        target = document.target(node["$ref"], place)
        chain = {node["$ref"]}
        while is_object(target) and "$ref" in target:
            if target["$ref"] in chain:
                raise wrong(f"$ref {node['$ref']!r} points at itself")
            chain.add(target["$ref"])
            target = document.target(target["$ref"], place)
    wanted = node.get("type")
    names = [wanted] if isinstance(wanted, str) else wanted
    if names is not None and not (is_array(names) and names and all(isinstance(n, str) and n in TYPES for n in names)):
        raise wrong(f"unknown type {wanted!r}, expected {', '.join(sorted(TYPES))}")
    for word in _LIST:
        if word in node and (not is_array(node[word]) or not node[word]):
            raise wrong(f"{word} must be a list of schemas that is not empty")
    for word in _MAPPING:
        if word in node and not is_object(node[word]):
            raise wrong(f"{word} must be an object")
    for word in _COUNTS:
        if word in node and not (isinstance(node[word], int) and not isinstance(node[word], bool) and node[word] >= 0):
            raise wrong(f"{word} must be a whole number that is not negative, got {node[word]!r}")
    for word in _BOUNDS:
        if word in node and (isinstance(node[word], bool) or not isinstance(node[word], (int, float))):
            raise wrong(f"{word} must be a number, got {node[word]!r}")
    for low, high in (
        ("minLength", "maxLength"),
        ("minItems", "maxItems"),
        ("minProperties", "maxProperties"),
        ("minimum", "maximum"),
    ):
        if low in node and high in node and node[low] > node[high]:
            raise wrong(f"{low} {node[low]} is above {high} {node[high]}: nothing can fit")
    if "multipleOf" in node and node["multipleOf"] <= 0:
        raise wrong("multipleOf must be above 0")
    required = node.get("required", [])
    if not is_array(required) or not all(isinstance(key, str) for key in required):
        raise wrong("required must be a list of keys")
    if (
        node.get("additionalProperties") is False
        and not node.get("patternProperties")
        and "$ref" not in node
        and "allOf" not in node
    ):
        for key in required:
            if key not in node.get("properties", {}):
                raise wrong(f"{key!r} is required, but additionalProperties forbids it")
    if "enum" in node and (not is_array(node["enum"]) or not node["enum"]):
        raise wrong("enum must be a list that is not empty")
    if "const" in node and "enum" in node and not any(same(member, node["const"]) for member in node["enum"]):
        raise wrong("const is not one of enum: nothing can fit")
    if not kinds_of(document, node):
        raise wrong("type, const, enum and the alternatives exclude one another: nothing can fit")
    for pattern in [node["pattern"]] if "pattern" in node else []:
        _verify_pattern(pattern, f"{place}/pattern")
    for pattern in node.get("patternProperties", {}):
        _verify_pattern(pattern, f"{place}/patternProperties")


def _verify_pattern(pattern: Any, place: str) -> None:
    try:
        compiled(pattern)
    except (regex.error, TypeError) as error:
        raise SchemaError(f"JSON Schema at {place}: {pattern!r} is not a regular expression: {error}") from None


class _Compiler:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.known: dict[str, Shape] = {}

    def shape(self, node: Any) -> Shape:
        check = self.document.check(node, deep=True)
        if not is_object(node):
            return Shape(title="any") if node else Shape(title="nothing", check=check)
        words = node.keys() & (_COMBINING | _LOCAL)
        if "$ref" in node and not words:
            ref = node["$ref"]
            if ref not in self.known:
                self.known[ref] = self.shape(self.document.target(ref))
            return self.known[ref]
        for word in ("anyOf", "oneOf"):
            if word in node and words == {word} and "$ref" not in node:
                return self._union(node, node[word], check)
        if words & _COMBINING or "$ref" in node:
            return self._mixed(node, check)
        return self._plain(node, check, self.document.check(node, deep=False))

    def _plain(self, node: Node, check: Check, own: Check | None) -> Shape:
        kinds = cast("frozenset[Kind]", kinds_of(self.document, node))
        choices = [node["const"]] if "const" in node else node.get("enum")
        # Where nothing is said but what stands inside, the kind is all there is to check.
        sure = isinstance(node.get("type"), str) and node.keys() & _LOCAL <= _INSIDE
        strings = None if choices is None else frozenset(value for value in choices if kind_of(value) == "string")
        return Shape(
            title=node.get("title") or " | ".join(sorted(kinds)),
            kinds=kinds,
            hold=strings is not None or node.get("format") in _HELD_FORMATS,
            check=check,
            exact=_EXACT.get(str(node.get("type"))) if node.keys() & _LOCAL == {"type"} else None,
            compose=accept if sure else own,
            sure=sure,
            structure=own,
            facts=check,
            choices=strings,
            pattern=node.get("pattern"),
            max_length=node.get("maxLength"),
            members=Lazy(lambda: self._members(node)) if "object" in kinds else None,
            items=Lazy(lambda: self._items(node)) if "array" in kinds else None,
        )

    def _members(self, node: Node) -> Members:
        required = node.get("required", ())
        properties = node.get("properties", {})
        fields = [
            Property(
                name=key,
                keys=(key,),
                shape=self.shape(properties[key]) if key in properties else Shape(),
                required=key in required,
                index=index,
            )
            for index, key in enumerate(dict.fromkeys([*properties, *required]))
        ]
        extra = node.get("additionalProperties")
        return Members(
            fields=tuple(fields),
            extra=self.shape(extra) if is_object(extra) else None,
            forbid_extra=extra is False,
            patterns=tuple(
                (compiled(text), self.shape(part)) for text, part in node.get("patternProperties", {}).items()
            ),
        )

    def _items(self, node: Node) -> Items:
        prefix, rest = items_of(node)
        return Items(
            prefix=tuple(self.shape(part) for part in prefix),
            rest=self.shape(rest) if is_object(rest) else None,
            closed=rest is False,
        )

    def _union(self, node: Node, parts: list[Any], check: Check) -> Shape:
        options = [self.shape(part) for part in parts]
        title = node.get("title") or " | ".join(option.title for option in options)
        return union(title, options, check, tag=self._tag(parts))

    def _tag(self, parts: list[Any]) -> Tag | None:
        """The key whose constant tells the alternatives apart: each has it, requires it, and no two share a value."""
        nodes = [self._target(part) for part in parts]
        if any(not is_object(node) or node.get("type") != "object" for node in nodes):
            return None
        for key in nodes[0].get("required", ()):
            choices: dict[Any, int] = {}
            total = 0
            for index, node in enumerate(nodes):
                member = self._target(node.get("properties", {}).get(key))
                values = (
                    [] if not is_object(member) else [member["const"]] if "const" in member else member.get("enum", [])
                )
                if (
                    key not in node.get("required", ())
                    or not values
                    or not all(isinstance(value, str) for value in values)
                ):
                    break
                total += len(values)
                choices.update(dict.fromkeys(values, index))
            else:
                if total == len(choices):
                    return Tag(keys=(key,), choices=choices)
        return None

    def _target(self, node: Any) -> Any:
        while is_object(node) and "$ref" in node:
            node = self.document.target(node["$ref"])
        return node

    def _mixed(self, node: Node, check: Check) -> Shape:
        """A node that combines schemas: checked whole, its parts say what stands where."""
        alone = {word: value for word, value in node.items() if word not in _COMBINING or word == "patternProperties"}
        alone.pop("$ref", None)
        parts = [self._plain(alone, check, None)]
        if "$ref" in node:
            parts.append(self.shape({"$ref": node["$ref"]}))
        parts += [self.shape(part) for part in node.get("allOf", ())]
        base = parts[0]
        return base.but(
            kinds=cast("frozenset[Kind]", kinds_of(self.document, node)),
            hold=any(part.hold for part in parts),
            exact=None,
            compose=None,
            structure=None,
            facts=None,
            choices=None,
            pattern=None,
            max_length=None,
            members=Lazy(lambda: _joined(parts)) if any(part.members for part in parts) else None,
        )


def _joined(parts: list[Shape]) -> Members:
    fields: dict[str, Property] = {}
    for part in parts:
        for prop in part.members.get().fields if part.members else ():
            fields.setdefault(prop.name, prop)
    first = parts[0].members.get() if parts[0].members else Members()
    return Members(fields=tuple(fields.values()), extra=first.extra, patterns=first.patterns)
