"""describe(output): what to tell the model about the output that is wanted."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, cast

from ..paths import dot_key
from .shape import is_array, is_object
from .spec import compile_output

_Node = dict[str, Any]


class Description(NamedTuple):
    """`json_schema` for services that take one, `prompt` for those that do not (or beside it)."""

    json_schema: dict[str, Any]
    prompt: str


def describe(output: Any) -> Description:
    """The JSON Schema of an output specification, and a short text for the prompt.

    The text has one line a field, with its path, type and description.

    Raises `SchemaError` where `output` cannot be used.
    """
    schema = compile_output(output).json_schema()
    return Description(schema, _Writer(schema).text())


class _Writer:
    def __init__(self, root: _Node) -> None:
        self.root = root
        self.lines: list[str] = []

    def text(self) -> str:
        node = self._target(self.root)
        self._members(node, "", (self.root["$ref"],) if "$ref" in self.root else ())
        head = f"Answer with JSON only: {_article(self._type(node))}"
        if node.get("description"):
            head += f" ({_one_line(node['description'])})"
        return "\n".join([f"{head}, with these fields:" if self.lines else f"{head}.", *self.lines])

    def _target(self, node: Any) -> _Node:
        seen = set[str]()
        found: Any = node
        while is_object(found) and "$ref" in found and found["$ref"] not in seen:
            ref: str = found["$ref"]
            seen.add(ref)
            extra = {key: value for key, value in found.items() if key != "$ref"}
            target: Any = self.root
            for part in ref.split("/")[1:]:
                target = target.get(part.replace("~1", "/").replace("~0", "~"), {})
            found = {**target, **extra}
        return found if is_object(found) else {}

    def _type(self, node: _Node) -> str:
        for word in ("anyOf", "oneOf"):
            if word in node:
                names = [self._type(self._target(part)) for part in node[word]]
                return " or ".join(dict.fromkeys(names))
        if "const" in node:
            return json.dumps(node["const"], ensure_ascii=False)
        if "enum" in node:
            return "one of " + ", ".join(json.dumps(value, ensure_ascii=False) for value in node["enum"])
        kind = node.get("type", "any value")
        if is_array(kind):
            return " or ".join(cast("list[str]", kind))
        if kind == "array":
            items = node.get("items")
            return f"array of {self._type(self._target(items))}" if is_object(items) else "array"
        return f"{kind} ({node['format']})" if kind == "string" and "format" in node else str(kind)

    def _members(self, node: _Node, path: str, above: tuple[str, ...]) -> None:
        """The lines of what is inside `node`.

        `above`: the references round it; a recursive one is not written again.
        """
        for part in [*node.get("anyOf", ()), *node.get("oneOf", ()), *node.get("allOf", ())]:
            self._inside(part, path, above)
        if is_object(node.get("items")):
            self._inside(node["items"], f"{path}[*]", above)
        if is_object(node.get("additionalProperties")):
            self._inside(node["additionalProperties"], f"{path}.*" if path else "*", above)
        required = node.get("required", ())
        for key, raw in node.get("properties", {}).items():
            step = dot_key(key)
            place = path + step if path or not step.startswith(".") else step[1:]
            member = self._target(raw)
            words = [self._type(member), *(["required"] if key in required else []), *self._limits(member)]
            if "default" in member:
                words.append(f"default {json.dumps(member['default'], ensure_ascii=False)}")
            about = member.get("description")
            line = f"- {place}: {', '.join(words)}" + (f". {_one_line(about)}" if about else "")
            if line not in self.lines:
                self.lines.append(line)
            self._inside(raw, place, above)

    def _inside(self, raw: Any, path: str, above: tuple[str, ...]) -> None:
        ref = raw.get("$ref") if is_object(raw) else None
        if ref is not None and ref in above:
            self.lines.append(f"- {path}: as {ref.rsplit('/', 1)[-1]} above")
            return
        self._members(self._target(raw), path, (*above, ref) if ref else above)

    def _limits(self, node: _Node) -> list[str]:
        words: list[str] = []
        for low, high, unit in (("minLength", "maxLength", "characters"), ("minItems", "maxItems", "items")):
            if low in node and high in node:
                words.append(f"{node[low]} to {node[high]} {unit}")
            elif low in node:
                words.append(f"at least {node[low]} {unit}")
            elif high in node:
                words.append(f"at most {node[high]} {unit}")
        for word, sign in (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<")):
            if word in node:
                words.append(f"{sign} {node[word]}")
        if "pattern" in node:
            words.append(f"matching {node['pattern']}")
        return words


def _article(kind: str) -> str:
    return kind if kind.startswith(("any", "one")) else f"an {kind}" if kind[0] in "aeio" else f"a {kind}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
