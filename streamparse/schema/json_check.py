"""JSON Schema: does a value fit? (draft 2020-12, and `items` lists and `definitions` of draft 7.)

Errors have the form of pydantic's error details, so that a reader need not know which kind of specification was used.
`format` is an annotation, as the standard has it by default.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import regex

from ..errors import SchemaError
from ..paths import Parts
from .shape import Checked, ErrorDetails, is_array, is_object, kind_of

Node = dict[str, Any]

_TYPE_ERRORS = {
    "string": ("string_type", "Input should be a valid string"),
    "number": ("float_type", "Input should be a valid number"),
    "integer": ("int_type", "Input should be a valid integer"),
    "boolean": ("bool_type", "Input should be a valid boolean"),
    "null": ("none_required", "Input should be null"),
    "object": ("dict_type", "Input should be a valid object"),
    "array": ("list_type", "Input should be a valid array"),
}
TYPES = frozenset(_TYPE_ERRORS)


class Document:
    """A JSON Schema with its `$ref`s."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self._targets: dict[str, Any] = {}

    def target(self, ref: str, place: str = "#") -> Any:
        """What `ref` points at, within this document. Raises `SchemaError`."""
        if ref not in self._targets:
            self._targets[ref] = self._find(ref, place)
        return self._targets[ref]

    def _find(self, ref: str, place: str) -> Any:
        if ref != "#" and not ref.startswith("#/"):
            anchors = {node["$anchor"]: node for node in _nodes(self.root) if isinstance(node.get("$anchor"), str)}
            identified = {node["$id"]: node for node in _nodes(self.root) if isinstance(node.get("$id"), str)}
            found = anchors.get(ref[1:]) if ref.startswith("#") else identified.get(ref)
            if found is None:
                raise SchemaError(
                    f"$ref {ref!r} at {place} points outside this JSON Schema",
                    hint="Copy the schema it names under $defs.",
                )
            return found
        node: Any = self.root
        for part in ref.split("/")[1:]:
            part = part.replace("%25", "%").replace("~1", "/").replace("~0", "~")
            if is_array(node) and part.isdigit() and int(part) < len(node):
                node = node[int(part)]
            elif is_object(node) and part in node:
                node = node[part]
            else:
                raise SchemaError(f"$ref {ref!r} at {place} points at nothing")
        return node

    def check(self, node: Any, *, deep: bool) -> Callable[..., Checked]:
        """A check for values of `node`. Not `deep`: the children are not looked at (they were checked on their own)."""

        def check(value: Any, context: Any = None, /) -> Checked:
            try:
                return Checked(value, tuple(self.errors(node, value, (), deep=deep)))
            except RecursionError:
                return Checked(value, (_error("recursion_loop", "Too deeply nested to be checked", (), None),))

        return check

    def errors(self, node: Any, value: Any, loc: Parts, *, deep: bool = True) -> Iterator[ErrorDetails]:
        """Every way in which `value` does not fit `node`."""
        if node is True:
            return
        if node is False:
            yield _error("false_schema", "Nothing is allowed here", loc, value)
            return
        if "$ref" in node:
            yield from self.errors(self.target(node["$ref"]), value, loc, deep=deep)
        kind = kind_of(value)
        wanted = node.get("type")
        if wanted is not None:
            names = [wanted] if isinstance(wanted, str) else wanted
            if not any(_is_type(value, kind, name) for name in names):
                code, message = _TYPE_ERRORS[names[0]]
                if len(names) > 1:
                    message = f"Input should be one of the types {', '.join(names)}"
                yield _error(code, message, loc, value)
                return
        if "const" in node and not same(node["const"], value):
            yield _error("literal_error", f"Input should be {json.dumps(node['const'])}", loc, value)
        if "enum" in node and not any(same(member, value) for member in node["enum"]):
            expected = ", ".join(json.dumps(member) for member in node["enum"])
            yield _error("enum", f"Input should be one of {expected}", loc, value, expected=expected)
        if kind == "string":
            yield from _string_errors(node, value, loc)
        elif kind == "number":
            yield from _number_errors(node, value, loc)
        elif kind == "array":
            yield from self._array_errors(node, value, loc, deep)
        elif kind == "object":
            yield from self._object_errors(node, value, loc, deep)
        if deep:
            yield from self._combined_errors(node, value, loc)

    def _fits(self, node: Any, value: Any) -> bool:
        return next(self.errors(node, value, ()), None) is None

    def _combined_errors(self, node: Node, value: Any, loc: Parts) -> Iterator[ErrorDetails]:
        for part in node.get("allOf", ()):
            yield from self.errors(part, value, loc)
        if "anyOf" in node and not any(self._fits(part, value) for part in node["anyOf"]):
            yield from self._closest(node["anyOf"], value, loc, "any_of", "Input fits none of the alternatives")
        if "oneOf" in node:
            count = sum(self._fits(part, value) for part in node["oneOf"])
            if count == 0:
                yield from self._closest(node["oneOf"], value, loc, "one_of", "Input fits none of the alternatives")
            elif count > 1:
                yield _error("one_of", f"Input fits {count} alternatives, exactly one is allowed", loc, value)
        if "not" in node and self._fits(node["not"], value):
            yield _error("not", "Input fits the schema that is excluded", loc, value)
        if "if" in node:
            branch = "then" if self._fits(node["if"], value) else "else"
            if branch in node:
                yield from self.errors(node[branch], value, loc)

    def _closest(self, options: list[Any], value: Any, loc: Parts, code: str, message: str) -> Iterator[ErrorDetails]:
        """The errors of the one alternative of the right type, or one error for all."""
        kind = kind_of(value)
        typed = [option for option in options if is_object(option) and kind in kinds_of(self, option)]
        if len(typed) == 1:
            yield from self.errors(typed[0], value, loc)
        else:
            yield _error(code, message, loc, value)

    def _array_errors(self, node: Node, value: list[Any], loc: Parts, deep: bool) -> Iterator[ErrorDetails]:
        size = len(value)
        if size < node.get("minItems", 0):
            yield _error("too_short", f"List should have at least {node['minItems']} items, not {size}", loc, value)
        if size > node.get("maxItems", size):
            yield _error("too_long", f"List should have at most {node['maxItems']} items, not {size}", loc, value)
        if node.get("uniqueItems") and any(same(a, b) for at, a in enumerate(value) for b in value[:at]):
            yield _error("unique_items", "List should have unique items", loc, value)
        prefix, rest = items_of(node)
        if rest is False and size > len(prefix):
            yield _error("too_long", f"List should have at most {len(prefix)} items, not {size}", loc, value)
        if not deep:
            return
        if rest is not False:
            for at, item in enumerate(value):
                if at < len(prefix) or rest is not None:
                    yield from self.errors(prefix[at] if at < len(prefix) else rest, item, (*loc, at))
        else:
            for at, (item, part) in enumerate(zip(value, prefix, strict=False)):
                yield from self.errors(part, item, (*loc, at))
        if "contains" in node:
            count = sum(self._fits(node["contains"], item) for item in value)
            if count < node.get("minContains", 1) or count > node.get("maxContains", count):
                yield _error("contains", f"{count} items fit `contains`", loc, value)

    def _object_errors(self, node: Node, value: Node, loc: Parts, deep: bool) -> Iterator[ErrorDetails]:
        size = len(value)
        for key in node.get("required", ()):
            if key not in value:
                yield _error("missing", "Field required", (*loc, key), value)
        for key, others in node.get("dependentRequired", {}).items():
            for other in others if key in value else ():
                if other not in value:
                    yield _error("missing", f"Field required where {key!r} is given", (*loc, other), value)
        if size < node.get("minProperties", 0):
            yield _error(
                "too_short", f"Object should have at least {node['minProperties']} keys, not {size}", loc, value
            )
        if size > node.get("maxProperties", size):
            yield _error("too_long", f"Object should have at most {node['maxProperties']} keys, not {size}", loc, value)
        properties = node.get("properties", {})
        patterns = [(compiled(text), part) for text, part in node.get("patternProperties", {}).items()]
        extra = node.get("additionalProperties")
        for key, item in value.items():
            parts = [properties[key]] if key in properties else []
            parts += [part for pattern, part in patterns if pattern.search(key)]
            if not parts and extra is False:
                yield _error("extra_forbidden", "Extra inputs are not permitted", (*loc, key), item)
            elif deep:
                for part in parts or ([extra] if extra is not None else []):
                    yield from self.errors(part, item, (*loc, key))
            if deep and "propertyNames" in node and not self._fits(node["propertyNames"], key):
                yield _error("property_name", "This key is not permitted", (*loc, key), item)
        for key, part in node.get("dependentSchemas", {}).items() if deep else ():
            if key in value:
                yield from self.errors(part, value, loc)


def _string_errors(node: Node, value: str, loc: Parts) -> Iterator[ErrorDetails]:
    size = len(value)
    if size < node.get("minLength", 0):
        yield _error("string_too_short", f"String should have at least {node['minLength']} characters", loc, value)
    if size > node.get("maxLength", size):
        yield _error("string_too_long", f"String should have at most {node['maxLength']} characters", loc, value)
    if "pattern" in node and not compiled(node["pattern"]).search(value):
        yield _error("string_pattern_mismatch", f"String should match pattern {node['pattern']!r}", loc, value)


def _number_errors(node: Node, value: Any, loc: Parts) -> Iterator[ErrorDetails]:
    number = exact(value)
    if "minimum" in node and not number >= exact(node["minimum"]):
        yield _error("greater_than_equal", f"Input should be greater than or equal to {node['minimum']}", loc, value)
    if "maximum" in node and not number <= exact(node["maximum"]):
        yield _error("less_than_equal", f"Input should be less than or equal to {node['maximum']}", loc, value)
    if "exclusiveMinimum" in node and not number > exact(node["exclusiveMinimum"]):
        yield _error("greater_than", f"Input should be greater than {node['exclusiveMinimum']}", loc, value)
    if "exclusiveMaximum" in node and not number < exact(node["exclusiveMaximum"]):
        yield _error("less_than", f"Input should be less than {node['exclusiveMaximum']}", loc, value)
    if "multipleOf" in node and not _is_multiple(number, exact(node["multipleOf"])):
        yield _error("multiple_of", f"Input should be a multiple of {node['multipleOf']}", loc, value)


def _is_multiple(number: Decimal, step: Decimal) -> bool:
    if not number.is_finite():
        return False
    # As fractions: a Decimal remainder fails where the quotient has more digits than the context.
    top, bottom = number.as_integer_ratio()
    step_top, step_bottom = step.as_integer_ratio()
    return (top * step_bottom) % (bottom * step_top) == 0


def _error(code: str, message: str, loc: Parts, value: Any, **ctx: Any) -> ErrorDetails:
    details: ErrorDetails = {"type": code, "loc": loc, "msg": message, "input": value}
    if ctx:
        details["ctx"] = ctx
    return details


def exact(value: Any) -> Decimal:
    """A JSON number as the decimal it was written as."""
    return Decimal(str(value))


def same(left: Any, right: Any) -> bool:
    """Equality as JSON Schema has it: 1 equals 1.0, but true does not equal 1."""
    kind = kind_of(left)
    if kind != kind_of(right):
        return False
    if kind == "number":
        return exact(left) == exact(right)
    if kind == "array":
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if kind == "object":
        return left.keys() == right.keys() and all(same(item, right[key]) for key, item in left.items())
    return bool(left == right)


def _is_type(value: Any, kind: str, name: str) -> bool:
    if name == "integer":
        return kind == "number" and exact(value).is_finite() and exact(value) == exact(value).to_integral_value()
    return kind == name


def kinds_of(document: Document, node: Any, seen: frozenset[str] = frozenset()) -> frozenset[str]:
    """The JSON kinds that `type`, `const`, `enum` and the combinations of a node leave."""
    kinds = frozenset({"string", "number", "boolean", "null", "object", "array"})
    if not is_object(node):
        return kinds
    wanted = node.get("type")
    if wanted is not None:
        kinds &= {"number" if name == "integer" else name for name in ([wanted] if isinstance(wanted, str) else wanted)}
    if "const" in node:
        kinds &= {kind_of(node["const"])}
    if "enum" in node:
        kinds &= {kind_of(member) for member in node["enum"]}
    if "$ref" in node and node["$ref"] not in seen:
        kinds &= kinds_of(document, document.target(node["$ref"]), seen | {node["$ref"]})
    for part in node.get("allOf", ()):
        kinds &= kinds_of(document, part, seen)
    for word in ("anyOf", "oneOf"):
        if word in node:
            kinds &= frozenset[str]().union(*(kinds_of(document, part, seen) for part in node[word]))
    return kinds


def items_of(node: Node) -> tuple[list[Any], Any]:
    """The schemas of an array's first items, and the one of the rest (None: not said)."""
    items = node.get("items")
    if is_array(items):  # draft 7
        return items, node.get("additionalItems")
    return node.get("prefixItems", []), items


_PATTERNS: dict[str, Any] = {}


def compiled(text: str) -> Any:
    """A `pattern`, compiled once."""
    found = _PATTERNS.get(text)
    if found is None:
        if len(_PATTERNS) > 1000:
            _PATTERNS.clear()
        found = _PATTERNS[text] = regex.compile(text)
    return found


def _nodes(node: Any) -> Iterator[Node]:
    work = [node]
    while work:
        item = work.pop()
        if is_object(item):
            yield item
            work.extend(item.values())
        elif is_array(item):
            work.extend(item)
