"""Partial[Model]: an instance whose fields may not be there yet.

`Partial[Ticket]` is, for a type checker, `Ticket | PartialModel`: every attribute of `Ticket` is seen with its own type
or None, and an attribute that `Ticket` does not have is an error. `isinstance(p, Ticket)` tells whether the ticket is
complete and valid: a closed value is the real instance, an open one an instance of the class `Partial[Ticket]`, which
has the same attributes and none of the validators.

A nested model is seen as `User | None`. It may be partial too: `as_partial(p.user)` has the checker look at it that
way.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, Field, create_model, model_serializer

from ..errors import UsageError
from ..paths import Part
from .shape import Default, Property, Shape

T = TypeVar("T")


class PartialModel(BaseModel):
    """Base of all `Partial[...]` classes. A field that is not there yet is None, or its default."""

    model_config = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=(), extra="allow")

    partial_of: ClassVar[type]
    """The class that this one is the partial of."""

    def __reduce__(self) -> Any:
        # The class is made at run time, so it is found again by what it is the partial of.
        return _restore, (type(self).partial_of, self.__dict__, self.__pydantic_fields_set__)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> None: ...

        def __getitem__(self, key: Any) -> None: ...

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> Any:
        """The JSON Schema of the model, with nothing required."""
        source = getattr(cls, "partial_of", None)
        if source is None or not hasattr(source, "__pydantic_core_schema__"):
            return handler(core_schema)
        schema = dict(handler.resolve_ref_schema(handler(source.__pydantic_core_schema__)))
        schema.pop("required", None)
        return {**schema, "title": cls.__name__}


class _PartialRoot(PartialModel):
    """Base of the partials of root models: serialises as its root."""

    @model_serializer
    def _serialize(self) -> Any:
        return self.__dict__.get("root")


if TYPE_CHECKING:
    Partial: TypeAlias = T | PartialModel
else:

    class Partial:
        """`Partial[Model]`: the class of instances of `Model` that may not be complete."""

        def __class_getitem__(cls, model):
            if isinstance(model, TypeVar):
                return Any
            return partial_class(model) if _has_fields(model) else model


def as_partial(value: T) -> Partial[T]:
    """`value` itself, for the type checker as a partial: `as_partial(ticket.user)`."""
    return value


def _has_fields(model: Any) -> bool:
    return isinstance(model, type) and (issubclass(model, BaseModel) or is_dataclass(cast("Any", model)))


_classes: WeakKeyDictionary[type, type[PartialModel]] = WeakKeyDictionary()


def partial_class(model: type) -> type[PartialModel]:
    """The class `Partial[model]`, made once. Raises `UsageError` where `model` is no class with fields."""
    known = _classes.get(model)
    if known is not None:
        return known
    if not _has_fields(model):
        raise UsageError(f"Partial[{model!r}]: a pydantic model or a dataclass is wanted")
    fields: dict[str, Any] = {}
    if issubclass(model, BaseModel):
        for name, info in model.model_fields.items():
            fields[name] = (Any, Field(default=None, serialization_alias=info.serialization_alias or info.alias))
    else:
        fields = {item.name: (Any, None) for item in dataclass_fields(cast("Any", model))}
    base = _PartialRoot if issubclass(model, BaseModel) and model.__pydantic_root_model__ else PartialModel
    with warnings.catch_warnings():
        # A name that shadows an attribute of BaseModel was the model's choice; it was warned about there.
        warnings.simplefilter("ignore")
        made = create_model(f"Partial{model.__name__}", __base__=base, __module__=model.__module__, **fields)
    made.partial_of = model
    made.__doc__ = f"A {model.__name__} of which not everything is there yet."
    _classes[model] = made
    return made


class _Hidden:
    """Stands for a value that cannot be shown yet."""

    def __repr__(self) -> str:
        return "HIDDEN"

    def __reduce__(self) -> str:
        return "HIDDEN"


HIDDEN = _Hidden()


def present(shape: Shape, values: dict[str, Any], defaults: dict[str, Any], growing: Part | None = None) -> Any:
    """An open object as it is shown: a partial instance, or a dict. `values` are the members that can be shown, by key.

    `growing` is the key of a member that is coming and cannot be shown yet: its default does not count any more.
    `defaults` keeps the defaults that were made for this object, so that a factory runs once. Returns `HIDDEN` while a
    field marked `Required` is not there.
    """
    if shape.members is None:
        return dict(values)
    members = shape.members.get()
    if members.must and any(not any(key in values for key in prop.keys) for prop in members.must):
        return HIDDEN
    if members.model is None:
        return {_name(members.by_key.get(key), key): value for key, value in values.items()}
    if members.partial is None:
        members.partial = partial_class(members.model)
    shown: dict[str, Any] = {}
    given: set[str] = set()
    for prop in members.fields:
        name = prop.name
        for key in prop.keys:
            if key in values:
                shown[name] = values[key]
                given.add(name)
                break
        else:
            if growing is not None and growing in prop.keys:
                shown[name] = None
                continue
            if name not in defaults:
                defaults[name] = make_default(prop.default)
            shown[name] = defaults[name]
    return _instance(members.partial, shown, given)


def wrap_roots(shape: Shape, value: Any) -> Any:
    """`value` inside the partials of the root models round it."""
    for model in shape.roots:
        value = _instance(partial_class(model), {"root": value}, {"root"})
    return value


def _name(prop: Property | None, key: str) -> str:
    return key if prop is None else prop.name


def make_default(default: Default) -> Any:
    """The value of a field that did not come; None where its factory raises."""
    if default.factory is not None:
        return _call(default.factory)
    value: Any = default.value
    # As pydantic does: what can be changed is copied, so that no two instances share it.
    return copy.deepcopy(value) if type(value).__hash__ is None else value


def _call(factory: Callable[[], Any]) -> Any:
    try:
        return factory()
    except Exception:  # noqa: BLE001  # the user's code; the full validation at the end shows what it raised
        return None


def _restore(model: type, values: dict[str, Any], given: set[str]) -> PartialModel:
    return _instance(partial_class(model), values, given)


def _instance(made: type[PartialModel], values: dict[str, Any], given: set[str]) -> PartialModel:
    # What `model_construct` does, without its search for aliases and defaults: they are settled here already.
    instance = made.__new__(made)
    object.__setattr__(instance, "__dict__", values)
    object.__setattr__(instance, "__pydantic_fields_set__", given)
    object.__setattr__(instance, "__pydantic_extra__", {})
    object.__setattr__(instance, "__pydantic_private__", None)
    return instance
