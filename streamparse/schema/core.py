"""pydantic -> Shape.

What is read is pydantic's own core schema, the tree that its validators are built from, so aliases, constraints,
discriminators, generics and recursive models are what pydantic says they are. Each field is checked by a validator made
from its own part of that tree.

A container is checked in two ways. Where only its own rules are left (its children were checked when they closed), its
part of the tree is used with every child replaced by "any": pydantic makes the model from the typed children, runs the
model's own validators and fills the defaults, and no field is validated twice. Where code runs before the fields
(`mode="before"`, `"wrap"` or `"plain"` validators, an `__init__` of its own), the children mean nothing before that
code has run: such a value is checked whole, when it closes.
"""

from __future__ import annotations

import enum
from typing import Any, cast

from pydantic_core import PydanticUndefined

from .core_check import ANY, Chain, Core, CoreCheck, ModelCheck
from .markers import ENSURE_KEY, HOLD_KEY, REQUIRED_KEY
from .shape import (
    KINDS,
    Check,
    Default,
    Items,
    Kind,
    Lazy,
    Members,
    Property,
    Shape,
    Tag,
    accept,
    is_array,
    is_object,
    kind_of,
    union,
)


def shape_of(schema: Core) -> Shape:
    """The shape of a whole core schema (`TypeAdapter(...).core_schema`)."""
    return _Compiler().shape(schema, None)


_STRING: frozenset[Kind] = frozenset({"string"})
_LIKE_NUMBER: frozenset[Kind] = frozenset({"number", "string", "boolean"})
_LIKE_DATE: frozenset[Kind] = frozenset({"string", "number"})
_NUMBER: frozenset[Kind] = frozenset({"number"})
_OBJECT: frozenset[Kind] = frozenset({"object"})
_NONE: frozenset[Kind] = frozenset()

# Kinds that the lax validator of a scalar may take, and those whose JSON value is already the typed value. More kinds
# than the validator really takes do no harm (it has the last word when the value closes); fewer would report a right
# value as wrong.
_SCALARS: dict[str, tuple[frozenset[Kind], frozenset[Kind]]] = {
    "none": (frozenset({"null"}), frozenset({"null"})),
    "bool": (_LIKE_NUMBER, frozenset({"boolean"})),
    "int": (_LIKE_NUMBER, _NUMBER),
    "float": (_LIKE_NUMBER, _NUMBER),
    "decimal": (_LIKE_NUMBER, _NONE),
    "complex": (_LIKE_NUMBER, _NONE),
    "bytes": (_STRING, _NONE),
    "date": (_LIKE_DATE, _NONE),
    "time": (_LIKE_DATE, _NONE),
    "datetime": (_LIKE_DATE, _NONE),
    "timedelta": (_LIKE_DATE, _NONE),
    "uuid": (_STRING, _NONE),
    "url": (_STRING, _NONE),
    "multi-host-url": (_STRING, _NONE),
    "json": (_STRING, _NONE),
}

# Of these, a value of the type itself comes out as it went in, if nothing but neutral keys stands beside the type.
_EXACT: dict[str, type] = {"int": int, "float": float, "bool": bool}
_NEUTRAL = frozenset({"type", "metadata", "serialization", "ref", "strict"})

_SEQUENCES = frozenset({"list", "set", "frozenset", "tuple"})
_FIELDS = frozenset({"model-fields", "dataclass-args", "typed-dict"})
# Nodes that only hand over to the schema inside; code or choices of theirs keep the children from being checked alone.
_OPAQUE = frozenset(
    {"function-before", "function-wrap", "function-plain", "chain", "lax-or-strict", "json-or-python", "custom-error"}
)


class _Compiler:
    def __init__(self) -> None:
        self.definitions: dict[str, Core] = {}
        self.known: dict[str, Shape] = {}

    def shape(self, schema: Core, config: Core | None) -> Shape:
        shape = self._shape(schema, config)
        metadata: Core = schema.get("metadata") or {}
        if metadata.get(HOLD_KEY):
            shape = _held(shape)
        if metadata.get(REQUIRED_KEY):
            shape = shape.but(must=True)
        if metadata.get(ENSURE_KEY):
            shape = shape.but(ensure=metadata[ENSURE_KEY])
        return shape

    def _shape(self, schema: Core, config: Core | None) -> Shape:
        kind: str = schema["type"]
        if kind == "definitions":
            self.definitions.update({definition["ref"]: definition for definition in schema["definitions"]})
            return self.shape(schema["schema"], config)
        if kind == "definition-ref":
            ref = schema["schema_ref"]
            if ref not in self.known:
                self.known[ref] = self.shape(self.definitions[ref], None)
            return self.known[ref]
        if kind in _SCALARS:
            kinds, plain = _SCALARS[kind]
            bare = schema.keys() <= _NEUTRAL and not (kind == "float" and config and "allow_inf_nan" in config)
            return Shape(
                title=kind,
                kinds=kinds,
                plain=plain,
                hold="string" in kinds,
                check=self._check(schema, config),
                exact=_EXACT.get(kind) if bare else None,
            )
        if kind == "str":
            return self._text(schema, config)
        if kind in ("literal", "enum"):
            return self._choice(schema, config)
        if kind == "default":
            inner = self.shape(schema["schema"], config)
            if schema.get("on_error", "raise") != "raise":
                return inner.but(check=self._check(schema, config), compose=None, kinds=KINDS, facts=None, exact=None)
            return inner if _is_container(inner) else inner.but(check=self._check(schema, config))
        if kind == "nullable":
            inner = self.shape(schema["schema"], config)
            null = Shape(title="null", kinds=frozenset({"null"}), plain=frozenset({"null"}))
            return union(f"{inner.title} | null", [inner, null], self._check(schema, config))
        if kind == "union":
            choices = [_choice(choice) for choice in schema["choices"]]
            options = [self.shape(choice, config) for choice in choices]
            return union(" | ".join(option.title for option in options), options, self._check(schema, config))
        if kind == "tagged-union":
            return self._tagged(schema, config)
        if kind == "function-after":
            inner = self.shape(schema["schema"], config)
            return self._wrapped(inner, schema, CoreCheck({**_bare(schema), "schema": ANY}, config), config)
        if kind == "model":
            return self._model(schema, config)
        if kind == "dataclass":
            return self._object(schema, schema["schema"], schema.get("config"), schema["cls"])
        if kind == "typed-dict":
            return self._object(schema, schema, schema.get("config") or config, None)
        if kind == "dict":
            return self._dict(schema, config)
        if kind in _SEQUENCES:
            return self._array(schema, config)
        return self._opaque(schema, config)

    def _check(self, schema: Core, config: Core | None) -> CoreCheck:
        return CoreCheck(schema, config, self.definitions if _uses_definitions(schema) else None)

    def _text(self, schema: Core, config: Core | None) -> Shape:
        settings = config or {}
        changed = any(
            schema.get(name) or settings.get(f"str_{name}") for name in ("strip_whitespace", "to_lower", "to_upper")
        )
        pattern = schema.get("pattern")
        maximum = schema.get("max_length", settings.get("str_max_length"))
        numbers = schema.get("coerce_numbers_to_str", settings.get("coerce_numbers_to_str"))
        check = self._check(schema, config)
        bare = schema.keys() <= _NEUTRAL and not any(name.startswith("str_") for name in settings)
        return Shape(
            title="str",
            exact=str if bare else None,
            kinds=frozenset({"string", "number"}) if numbers else _STRING,
            plain=_STRING,
            check=check,
            facts=check,
            # What is compared is the text after these changes: nothing can be said of it while it grows.
            pattern=pattern if isinstance(pattern, str) and not changed else None,
            max_length=None if changed else maximum,
        )

    def _choice(self, schema: Core, config: Core | None) -> Shape:
        literal = schema["type"] == "literal"
        values = [
            member.value if isinstance(member, enum.Enum) else member
            for member in (schema["expected"] if literal else schema["members"])
        ]
        check = self._check(schema, config)
        kinds: set[Kind] = {
            kind_of(value) for value in values if value is None or isinstance(value, (str, int, float, bool))
        }
        if kinds & {"number", "boolean"}:
            kinds |= {"number", "boolean"}  # 1, 1.0 and true are one dictionary key
            if not literal:
                kinds.add("string")  # an enum of numbers takes a number written as a string
        # `missing` and other members (tuples, ...) may take values that cannot be told from here.
        closed = (
            bool(kinds) and (literal or not schema.get("missing")) and all(isinstance(value, str) for value in values)
        )
        return Shape(
            title=" | ".join(repr(value) for value in values) if literal else schema["cls"].__name__,
            kinds=frozenset[Kind](kinds) if literal or (not schema.get("missing") and kinds) else KINDS,
            plain=frozenset[Kind](kinds) if literal else _NONE,
            hold=True,
            check=check,
            facts=check if closed else None,
            choices=frozenset(str(value) for value in values) if closed else None,
        )

    def _wrapped(self, inner: Shape, schema: Core, layer: Check, config: Core | None) -> Shape:
        """`inner` with one layer round it: `layer` does that layer alone, `schema` is the layer with what is inside."""
        options = tuple(
            self._wrapped(option, schema, layer, config).but(check=Chain(option.check, layer))
            for option in inner.options
        )
        check = self._check(schema, config)
        return inner.but(
            check=check,
            compose=inner.compose and Chain(inner.compose, layer),
            at_once=check,
            sure=False,
            exact=None,
            options=options,
        )

    def _tagged(self, schema: Core, config: Core | None) -> Shape:
        choices = {value: choice for value, choice in schema["choices"].items() if is_object(choice)}
        shapes = [self.shape(choice, config) for choice in choices.values()]
        discriminator = schema["discriminator"]
        keys: tuple[str, ...] = ()
        if isinstance(discriminator, str):
            keys = (discriminator,)
        elif is_array(discriminator) and all(len(path) == 1 for path in discriminator):
            keys = tuple(path[0] for path in discriminator)
        objects = bool(keys) and all(shape.kinds == _OBJECT for shape in shapes)
        by_value = {
            value.value if isinstance(value, enum.Enum) else value: index for index, value in enumerate(choices)
        }
        return union(
            " | ".join(shape.title for shape in shapes),
            shapes,
            self._check(schema, config),
            tag=Tag(keys=keys, choices=by_value) if objects else None,
        )

    def _model(self, schema: Core, config: Core | None) -> Shape:
        own = schema.get("config") or config
        inner = schema["schema"]
        if schema.get("root_model"):
            shape = self.shape(inner, own)
            if schema.get("custom_init"):
                shape = shape.but(check=self._check(schema, config), compose=None, exact=None)
            else:
                layer = ModelCheck(schema["cls"], accept, schema.get("post_init"), root=True)
                shape = self._wrapped(shape, schema, layer, own)
            return shape.but(roots=(*shape.roots, schema["cls"]), title=schema["cls"].__name__)
        return self._object(schema, inner, own, schema["cls"])

    def _object(self, schema: Core, fields: Core, own: Core | None, model: type | None) -> Shape:
        """An object with named fields: `schema` is all of it, `fields` the part with the fields."""
        title: str = (model or schema.get("cls") or dict).__name__
        check = self._check(schema, own)
        composable = not schema.get("custom_init")
        kinds: frozenset[Kind] = frozenset({"object"})
        while fields["type"] not in _FIELDS:
            # Code of the model's runs before its fields are looked at, and may take anything.
            composable, kinds = False, KINDS
            if "schema" not in fields:
                return Shape(title=title, check=check, compose=None, plain=_NONE)
            fields = fields["schema"]
        listed = _listed(fields)
        if any(
            not _is_flat(field.get("validation_alias")) or _validates_default(field["schema"], own)
            for _, field in listed
        ):
            composable = False
        compose: Check | None = None
        structure: Check | None = None
        if composable:
            bare = _without_children(fields)
            structure = CoreCheck(bare, own)
            if schema["type"] == "model":
                compose = ModelCheck(schema["cls"], structure, schema.get("post_init"), root=False)
            elif schema["type"] == "dataclass":
                # A class with this mark is not taken from the validator that it has ready.
                compose = CoreCheck({**_bare(schema), "schema": bare, "generic_origin": schema["cls"]}, own)
            else:
                compose = structure
        return Shape(
            title=title,
            kinds=kinds,
            plain=_NONE if model else frozenset({"object"}),
            check=check,
            compose=compose,
            at_once=check,
            sure=compose is not None and not schema.get("post_init"),
            structure=structure,
            members=Lazy(lambda: self._members(fields, own, model)),
        )

    def _members(self, fields: Core, own: Core | None, model: type | None) -> Members:
        settings = own or {}
        by_name = settings.get("validate_by_name") or settings.get("populate_by_name")
        by_alias = settings.get("validate_by_alias", True)
        properties: list[Property] = []
        partial = fields["type"] == "typed-dict" and not fields.get("total", True)
        for index, (name, field) in enumerate(_listed(fields)):
            if field.get("init") is False:
                continue
            schema = field["schema"]
            default = _default(schema)
            required = field.get("required", not partial) if fields["type"] == "typed-dict" else default is None
            properties.append(
                Property(
                    name=name,
                    keys=_keys(name, field.get("validation_alias"), by_name=bool(by_name), by_alias=bool(by_alias)),
                    shape=self.shape(schema, own),
                    required=required and default is None,
                    default=default or Default(),
                    index=index,
                    needs_context=_needs_context(schema, self.definitions),
                )
            )
        behaviour = fields.get("extra_behavior") or settings.get("extra_fields_behavior") or "ignore"
        extras = fields.get("extras_schema")
        return Members(
            fields=tuple(properties),
            extra=self.shape(extras, own) if extras and behaviour == "allow" else None,
            forbid_extra=behaviour == "forbid",
            model=model,
        )

    def _dict(self, schema: Core, config: Core | None) -> Shape:
        values = schema.get("values_schema")
        check = self._check(schema, config)
        sure = _is_bare(schema, config)
        return Shape(
            title="dict",
            kinds=frozenset({"object"}),
            plain=frozenset({"object"}),
            check=check,
            compose=accept if sure else CoreCheck({**_bare(schema), "values_schema": ANY}, config),
            at_once=check,
            sure=sure,
            members=Lazy(lambda: Members(extra=self.shape(values, config) if values else None)),
        )

    def _array(self, schema: Core, config: Core | None) -> Shape:
        inner: Any = schema.get("items_schema")
        variadic = schema.get("variadic_item_index")

        def items() -> Items:
            if not is_array(inner):
                return Items(rest=self.shape(inner, config) if inner else None)
            shapes = [self.shape(item, config) for item in inner]
            if not isinstance(variadic, int):
                return Items(prefix=tuple(shapes), closed=True)
            # What follows the variadic part is known only when the array is closed: nothing is said about it here.
            return Items(
                prefix=tuple(shapes[:variadic]), rest=shapes[variadic] if variadic == len(shapes) - 1 else None
            )

        open_ended = is_array(inner) and variadic is not None and variadic < len(inner) - 1
        bare: Core = {**_bare(schema), "items_schema": [ANY for _ in inner] if is_array(inner) else ANY}
        check = self._check(schema, config)
        sure = schema["type"] == "list" and _is_bare(schema, config)
        return Shape(
            title=schema["type"],
            kinds=frozenset({"array"}),
            plain=frozenset({"array"}) if schema["type"] == "list" else _NONE,
            check=check,
            compose=None if open_ended else accept if sure else CoreCheck(bare, config),
            at_once=check,
            sure=sure,
            items=Lazy(items),
        )

    def _opaque(self, schema: Core, config: Core | None) -> Shape:
        """A value that only its own validator can judge. What is inside still says how it is shown."""
        kind = schema["type"]
        check = self._check(schema, config)
        inner: Core | None = None
        if kind in _OPAQUE:
            steps = schema.get("steps")
            inner = (
                schema.get("schema") or schema.get("lax_schema") or schema.get("python_schema") or (steps and steps[0])
            )
        if inner is None:
            if kind == "any":
                return Shape(title=kind)
            return Shape(title=kind, check=check, compose=None, plain=_NONE)
        shape = self.shape(inner, config)
        same = kind in ("custom-error", "lax-or-strict")
        return shape.but(
            check=check,
            compose=None,
            structure=None,
            kinds=shape.kinds if same else KINDS,
            # These two stand for types that JSON has not (a path, a deque): what is written is not yet the value.
            plain=_NONE if kind in ("lax-or-strict", "json-or-python") else shape.plain,
            # Code that runs first may change the text, and chooses among alternatives for itself.
            options=shape.options if same else (),
            tag=None,
            exact=None,
            facts=None,
            choices=None,
            pattern=None,
            max_length=None,
        )


def _held(shape: Shape) -> Shape:
    return shape.but(hold=True, options=tuple(_held(option) for option in shape.options))


def _is_container(shape: Shape) -> bool:
    return (
        shape.members is not None or shape.items is not None or any(_is_container(option) for option in shape.options)
    )


def _is_bare(schema: Core, config: Core | None) -> bool:
    """Whether a list or dict says nothing but what stands in it, so that its members are its value."""
    allowed = _NEUTRAL | {"items_schema", "keys_schema", "values_schema"}
    keys: Core = schema.get("keys_schema") or ANY
    # A configuration may change every string.
    plain = keys["type"] == "any" or (
        keys["type"] == "str" and not any(name.startswith("str_") for name in config or ())
    )
    return plain and schema.keys() <= allowed and keys.keys() <= _NEUTRAL


def _bare(schema: Core) -> Core:
    return {key: value for key, value in schema.items() if key not in ("ref", "serialization", "metadata")}


def _listed(fields: Core) -> list[tuple[str, Core]]:
    listed = fields["fields"]
    return list(listed.items()) if is_object(listed) else [(field["name"], field) for field in listed]


def _without_children(fields: Core) -> Core:
    """The fields with their names, aliases and defaults, and `any` for each value."""

    def emptied(field: Core) -> Core:
        schema = field["schema"]
        return {**field, "schema": {**_bare(schema), "schema": ANY} if schema["type"] == "default" else ANY}

    listed = fields["fields"]
    bare = _bare(fields)
    bare["fields"] = (
        {name: emptied(field) for name, field in listed.items()} if is_object(listed) else [emptied(f) for f in listed]
    )
    if bare.get("extras_schema"):
        bare["extras_schema"] = ANY
    bare.pop("computed_fields", None)
    return bare


def _is_flat(alias: Any) -> bool:
    """True where the alias names keys of the object itself, not places deeper inside."""
    if alias is None or isinstance(alias, str):
        return True
    paths = alias if alias and is_array(alias[0]) else [alias]
    return all(len(path) == 1 for path in paths)


def _keys(name: str, alias: Any, *, by_name: bool, by_alias: bool) -> tuple[str, ...]:
    keys: list[str] = []
    if alias is None:
        keys = [name]
    elif by_alias:
        if isinstance(alias, str):
            keys = [alias]
        else:
            paths = alias if alias and is_array(alias[0]) else [alias]
            keys = [path[0] for path in paths if len(path) == 1]
    if (by_name or not by_alias) and name not in keys:
        keys.append(name)
    return tuple(keys)


def _default(schema: Core) -> Default | None:
    if schema["type"] != "default":
        return None
    if "default" in schema:
        return Default(schema["default"] is not PydanticUndefined, schema["default"])
    factory = schema.get("default_factory")
    return Default() if schema.get("default_factory_takes_data") or factory is None else Default(True, None, factory)


def _validates_default(schema: Core, own: Core | None) -> bool:
    return schema["type"] == "default" and bool(schema.get("validate_default", (own or {}).get("validate_default")))


def _inside(schema: Core) -> list[Core]:
    """The schemas directly inside one."""
    found: list[Core] = []
    for key in (
        "schema",
        "items_schema",
        "values_schema",
        "keys_schema",
        "lax_schema",
        "strict_schema",
        "json_schema",
        "python_schema",
    ):
        inner = schema.get(key)
        found.extend(inner if is_array(inner) else [inner] if is_object(inner) else [])
    for key in ("choices", "steps", "fields", "extras_schema", "arguments_schema", "return_schema"):
        inner = schema.get(key)
        listed: list[Any] = inner if is_array(inner) else [inner]
        if is_object(inner) and "type" not in inner:
            listed = list(inner.values())
        found.extend(inner for inner in map(_choice, listed) if is_object(inner))
    return found


def _choice(choice: Any) -> Any:
    """One choice of a union: it may come with a label."""
    return cast("Any", choice[0] if type(choice) is tuple else choice)


def _uses_definitions(schema: Core) -> bool:
    work = [schema]
    while work:
        node = work.pop()
        if node.get("type") == "definition-ref":
            return True
        work.extend(_inside(node))
    return False


def _needs_context(schema: Core, definitions: dict[str, Core]) -> bool:
    """True where a validator of this field wants to know the field's name or the fields before it."""
    work, seen = [schema], set[str]()
    while work:
        node = work.pop()
        kind = node.get("type")
        if kind in _FIELDS:
            continue  # fields of its own
        if kind == "definition-ref":
            ref = node["schema_ref"]
            if ref not in seen:
                seen.add(ref)
                work.append(definitions[ref])
            continue
        function = node.get("function")
        if is_object(function) and function.get("type") == "with-info":
            return True
        work.extend(_inside(node))
    return False
