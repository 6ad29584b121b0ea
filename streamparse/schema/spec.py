"""Output: what the caller wants the model's answer to be, in any of the ways it can be said.

* a pydantic model, a dataclass, a TypedDict, any annotation that pydantic's `TypeAdapter` accepts, or a `TypeAdapter`;
* a dict or list specification: `{"title": (str, "Short title", True), "tips": [{"text": (str, "One tip",
"not_null")}]}`;
* `JsonSchema({...})`.

In a dict specification a leaf is a type, or `(type, description, ensure)`. `ensure` True: the key must be there;
`"not_null"`: and must not be null. A leaf that is not ensured may be missing or null. The type may be a name
(`"string"`, `"int"`), an annotation, or a nested specification. Keys that are not listed are kept. `[leaf]` is a list
of such leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Annotated, Any, Optional, TypeGuard, cast

from pydantic import ConfigDict, Field, PydanticUserError, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUndefinedAnnotation
from pydantic_core import SchemaError as CoreSchemaError
from typing_extensions import NotRequired, Required, TypedDict

from ..errors import SchemaError
from ..paths import Part, Parts, format_path
from . import core, json_schema
from .guide import Place, guide_of
from .json_schema import JsonSchema
from .markers import Ensured
from .shape import ErrorDetails, Members, Shape, crash, is_array, is_object, kind_of, many

TYPE_NAMES: dict[str, Any] = {
    "any": Any, "array": list, "bool": bool, "boolean": bool, "dict": dict, "float": float, "int": int, "integer": int,
    "list": list, "number": float, "object": dict, "str": str, "string": str,
}  # fmt: skip
"""Names that a dict specification may give instead of a type (any case)."""


class Output:
    """A compiled output specification: `shape` to walk, `validate` for the final data, `json_schema` for the model's
    service.

    `spec` is what was given. Pickles by it.
    """

    def __init__(
        self, spec: Any, shape: Shape, adapter: TypeAdapter[Any] | None, describing: TypeAdapter[Any] | None
    ) -> None:
        self.spec = spec
        self.shape = shape
        self._adapter = adapter
        self._describing = describing
        self._guide: Place | None = None
        self._listed: Output | None = None

    @property
    def guide(self) -> Place:
        """What the machine may pass by."""
        if self._guide is None:
            self._guide = guide_of(self.shape)
        return self._guide

    def validate(self, data: Any) -> Any:
        """The final object: what `TypeAdapter(spec).validate_python(data)` gives; for a `JsonSchema` the data itself.

        Raises `SchemaError` (code `invalid_value`) with pydantic's details in `errors`, whatever a validator raises.
        """
        if self._adapter is None:
            errors = self.shape.check(data).errors
            if errors:
                raise invalid_value(errors)
            return data
        try:
            return self._adapter.validate_python(data)
        except ValidationError as error:
            raise invalid_value(tuple(cast("list[ErrorDetails]", error.errors(include_url=False)))) from error
        except Exception as error:  # a validator of the user's may raise anything
            raise invalid_value((crash(error, data),)) from error

    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema of the output, by alias, as a new dict."""
        if self._describing is None:
            return dict(self.spec)
        return self._describing.json_schema(by_alias=True, mode="validation")

    def listed(self) -> Output:
        """The output of several documents: a list, each item as this one."""
        if self._listed is None:
            self._listed = _Documents(self)
        return self._listed

    def missing(self, data: Any) -> tuple[str, ...]:
        """Paths that had to be there and are not: required fields, and what a dict specification ensures."""
        return tuple(format_path(parts) for parts in _missing(self.shape, data))

    def __reduce__(self) -> tuple[Callable[[Any], Output], tuple[Any]]:
        return compile_output, (self.spec,)


class _Documents(Output):
    """The output of a list of documents, each as `one`."""

    def __init__(self, one: Output) -> None:
        super().__init__(one.spec, many(one.shape), None, None)
        self.one = one

    def validate(self, data: Any) -> Any:
        """A list of what each document makes. Raises `SchemaError` with the details of all that do not fit."""
        if not is_array(data):
            details = {"type": "list_type", "loc": (), "msg": "Input should be a list of documents", "input": data}
            raise invalid_value((details,))
        made: list[Any] = []
        errors: list[ErrorDetails] = []
        for index, item in enumerate(data):
            try:
                made.append(self.one.validate(item))
            except SchemaError as error:
                errors += [{**details, "loc": (index, *details["loc"])} for details in error.errors]
        if errors:
            raise invalid_value(tuple(errors))
        return made

    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema of the list."""
        inner = self.one.json_schema()
        defs = {"$defs": inner.pop("$defs")} if "$defs" in inner else {}
        return {"type": "array", "items": inner, **defs}

    def __reduce__(self) -> tuple[Callable[[Any], Output], tuple[Any]]:
        return Output.listed, (self.one,)


def invalid_value(errors: tuple[ErrorDetails, ...]) -> SchemaError:
    """The error for data that does not fit."""
    first = errors[0]
    path = format_path(first["loc"])
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return SchemaError(f"{path or 'the answer'}: {first['msg']}{more}", code="invalid_value", path=path, errors=errors)


_compiled: dict[Any, Output] = {}


def compile_output(spec: Any) -> Output:
    """The `Output` of a specification. Raises `SchemaError` naming the place where it cannot be used."""
    if isinstance(spec, Output):
        return spec
    try:
        known = _compiled.get(spec)
    except TypeError:  # a dict, a list
        return _compile(spec)
    if known is None:
        if len(_compiled) >= 256:  # made on the fly, again and again: do not keep them all
            _compiled.clear()
        known = _compiled[spec] = _compile(spec)
    return known


def _compile(spec: Any) -> Output:
    if isinstance(spec, JsonSchema):
        return Output(spec, json_schema.shape_of(spec), None, None)
    if isinstance(spec, TypeAdapter):
        adapter: TypeAdapter[Any] = cast("Any", spec)
        return Output(adapter, core.shape_of(cast("dict[str, Any]", adapter.core_schema)), adapter, adapter)
    if isinstance(spec, (dict, list, tuple)):
        _refuse_json_schema(cast("Any", spec))
        adapter, shape = _adapter(_annotation(spec, "output", lenient=True))
        return Output(spec, shape, adapter, TypeAdapter(_annotation(spec, "output", lenient=False)))
    if isinstance(spec, (FunctionType, BuiltinFunctionType)):
        raise SchemaError(f"output {spec!r} cannot be used: it is a function")
    adapter, shape = _adapter(spec)
    return Output(spec, shape, adapter, adapter)


def _adapter(annotation: Any, place: str = "output") -> tuple[TypeAdapter[Any], Shape]:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        return adapter, core.shape_of(cast("dict[str, Any]", adapter.core_schema))
    except (
        PydanticUserError,
        PydanticSchemaGenerationError,
        PydanticUndefinedAnnotation,
        CoreSchemaError,
        NameError,
        TypeError,
    ) as error:
        raise SchemaError(
            f"{annotation!r} at {place} cannot be used: {error}",
            hint="Give a pydantic model, a dataclass, a TypedDict, an annotation, a dict or list specification,"
            " or JsonSchema({...}).",
        ) from error


def _refuse_json_schema(spec: Any) -> None:
    if is_object(spec) and (
        "$schema" in spec
        or "$ref" in spec
        or "$defs" in spec
        or (isinstance(spec.get("type"), str) and ("properties" in spec or "items" in spec))
    ):
        raise SchemaError(
            "output looks like a JSON Schema, but is a plain dict", hint="Write output=JsonSchema({...})."
        )


def _annotation(spec: Any, place: str, *, lenient: bool) -> Any:
    """A specification as an annotation.

    `lenient`: what is not ensured to be non-null may be null (the JSON Schema does not say so).
    """
    kind, description, ensure = _leaf(spec, place)
    if isinstance(kind, str):
        if kind.lower() not in TYPE_NAMES:
            raise SchemaError(f"unknown type {kind!r} at {place}", expected=", ".join(sorted(TYPE_NAMES)))
        kind = TYPE_NAMES[kind.lower()]
    elif is_object(kind):
        kind = _typed_dict(kind, place, lenient=lenient)
    elif is_array(kind):
        items = kind
        if len(items) != 1:
            raise SchemaError(
                f"the list at {place} must hold one specification, for all its items; it holds {len(items)}"
            )
        kind = list[_annotation(items[0], f"{place}[*]", lenient=lenient)]  # type: ignore[misc]
    else:
        _adapter(kind, place)
    if lenient and ensure != "not_null" and place != "output":
        kind = Optional[kind]  # noqa: UP045  # `|` is not known to everything that may stand here
    extras = ([Field(description=description)] if description else []) + ([Ensured(ensure)] if ensure else [])
    for extra in extras:
        kind = Annotated[kind, extra]
    return kind


def _is_tuple(value: Any) -> TypeGuard[tuple[Any, ...]]:
    return isinstance(value, tuple)


def _leaf(spec: Any, place: str) -> tuple[Any, str | None, str | None]:
    if not _is_tuple(spec):
        return spec, None, None
    leaf = spec
    if not 1 <= len(leaf) <= 3:
        raise SchemaError(f"the leaf at {place} must be (type, description, ensure), got {len(leaf)} values")
    kind, description, ensure = (*leaf, None, None)[:3]
    if description is not None and not isinstance(description, str):
        raise SchemaError(f"the description at {place} must be a str, got {description!r}")
    if ensure not in (None, True, False, "not_null"):
        raise SchemaError(f"ensure at {place} must be True or 'not_null', got {ensure!r}")
    return kind, description, "not_null" if ensure == "not_null" else "present" if ensure else None


def _typed_dict(spec: dict[Any, Any], place: str, *, lenient: bool) -> Any:
    fields: dict[str, Any] = {}
    for key, value in spec.items():
        if not isinstance(key, str):
            raise SchemaError(f"keys at {place} must be str, got {key!r}")
        inside = (
            format_path((key,))
            if place == "output"
            else f"{place}{'' if format_path((key,)).startswith('[') else '.'}{format_path((key,))}"
        )
        annotation = _annotation(value, inside, lenient=lenient)
        fields[key] = Required[annotation] if _is_ensured(value) else NotRequired[annotation]
    make: Any = TypedDict  # for a type checker it takes literals only
    made = make("object", fields)
    made.__pydantic_config__ = ConfigDict(extra="allow") if lenient else ConfigDict()
    return made


def _is_ensured(spec: Any) -> bool:
    """True where this key has to be there: it is ensured, or something is that can only stand inside it."""
    work = [spec]
    while work:
        node = work.pop()
        if _is_tuple(node):
            leaf = node
            if len(leaf) == 3 and leaf[2]:
                return True
            work.append(leaf[0] if leaf else None)
        elif is_object(node):
            work.extend(node.values())
        elif is_array(node):
            work.extend(node)
    return False


def _missing(shape: Shape, data: Any) -> list[Parts]:
    found: list[Parts] = []
    work: list[tuple[Parts, Shape, Any]] = [((), shape, data)]
    while work:
        parts, shape, value = work.pop()
        if value is None:
            if shape.ensure == "not_null":
                found.append(parts)
            continue
        shape = _chosen(shape.resolve(kind_of(value)), value)
        steps: list[tuple[Part, Any]] = []
        if is_object(value):
            members = shape.members.get() if shape.members and not shape.opaque else Members()
            found.extend(
                (*parts, prop.keys[0])
                for prop in members.fields
                if prop.required and prop.keys and not any(key in value for key in prop.keys)
            )
            steps = list(value.items())
        elif is_array(value):
            steps = list(enumerate(value))
        for part, item in reversed(steps):
            inside = shape.child(part)
            if inside is not None:
                work.append(((*parts, part), inside, item))
    return found


def _chosen(shape: Shape, value: Any) -> Shape:
    if shape.tag is not None and is_object(value):
        for key in shape.tag.keys:
            if key in value:
                return shape.choose(value[key]) or shape
    return shape
