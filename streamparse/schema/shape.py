"""Shape: an output specification as a tree that is walked beside the parser, by path part.

A `Shape` says what may stand at one place: which JSON kinds, which keys or items, whether the value is shown while it
grows, and how it is checked. `resolve(kind)` gives the shape for a value whose JSON kind is known (it takes unions
apart), `child(part)` the one of a member. Children are made when they are asked for, so recursive models are no
problem. A shape never changes after it was made.

This module knows neither pydantic nor JSON Schema; `core` and `json_schema` make shapes from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeGuard, TypeVar

from ..paths import Part

Kind = Literal["string", "number", "boolean", "null", "object", "array"]
KINDS: frozenset[Kind] = frozenset({"string", "number", "boolean", "null", "object", "array"})
CONTAINERS: frozenset[Kind] = frozenset({"object", "array"})
Ensure = Literal["present", "not_null"]
ErrorDetails = dict[str, Any]
"""One error as pydantic's `ValidationError.errors()` gives it: `type`, `loc`, `msg`, `input`, `ctx`."""

T = TypeVar("T")


class Checked(NamedTuple):
    """What a check gave: the typed value, or the errors.

    `whole` says that the value cannot be judged on its own: the container it stands in must be checked as one.
    """

    value: Any
    errors: tuple[ErrorDetails, ...] = ()
    whole: bool = False


class Check(Protocol):
    """Checks one JSON value.

    `context` is the field's name and the typed values of the fields defined before it, where one needs them.
    """

    def __call__(self, value: Any, context: tuple[str, dict[str, Any]] | None = None, /) -> Checked:
        """The typed value or the errors."""
        ...


class AtOnce(Protocol):
    """A check with nothing between it and pydantic."""

    def validate(self, value: Any, /) -> Any:
        """Gives the typed value, or raises."""
        ...

    def failed(self, error: Exception, value: Any) -> Checked:
        """What the check of `value` gives where `validate` raised `error`."""
        ...


def accept(value: Any, context: tuple[str, dict[str, Any]] | None = None, /) -> Checked:
    """The check of a place where anything may stand."""
    return Checked(value)


class Lazy(Generic[T]):
    """A value made when it is first asked for, and shared by the copies of a shape."""

    __slots__ = ("_make", "_value")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] | None = make
        self._value: T | None = None

    def get(self) -> T:
        """The value."""
        if self._make is not None:
            self._value, self._make = self._make(), None
        return self._value  # type: ignore[return-value]


class Default(NamedTuple):
    """What a missing field gets: a value, or a factory that makes one.

    `factory` None and `known` False: it cannot be told yet.
    """

    known: bool = False
    value: Any = None
    factory: Callable[[], Any] | None = None


NO_DEFAULT = Default()


@dataclass(slots=True, eq=False, kw_only=True)
class Property:
    """One field of an object.

    `name` is the attribute, `keys` the JSON keys that fill it, `index` its place in the definition.
    """

    name: str
    keys: tuple[str, ...]
    shape: Shape
    required: bool = False
    default: Default = NO_DEFAULT
    index: int = 0
    needs_context: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class Members:
    """What an object may hold. `model` is the class whose attributes the fields are; None for a plain dict."""

    fields: tuple[Property, ...] = ()
    extra: Shape | None = None
    forbid_extra: bool = False
    patterns: tuple[tuple[Any, Shape], ...] = ()
    model: type | None = None
    by_key: Mapping[str, Property] = field(default_factory=dict[str, Property])
    must: tuple[Property, ...] = ()
    needs_context: bool = False
    partial: Any = None
    """The class of the instances with holes, once one was made."""

    def __post_init__(self) -> None:
        self.by_key = {key: prop for prop in reversed(self.fields) for key in prop.keys}
        self.must = tuple(prop for prop in self.fields if prop.shape.must)
        self.needs_context = any(prop.needs_context for prop in self.fields)

    def knows(self, key: str) -> bool:
        """True where `key` is one of the fields, or any key is one."""
        return key in self.by_key or (not self.fields and not self.forbid_extra)


@dataclass(slots=True, eq=False, kw_only=True)
class Items:
    """What an array may hold: `prefix` by position, then `rest` (None: nothing is said; `closed`: nothing may
    follow).
    """

    prefix: tuple[Shape, ...] = ()
    rest: Shape | None = None
    closed: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class Tag:
    """How an object's alternative is chosen: the value at one of `keys` gives its place in `options`."""

    keys: tuple[str, ...]
    choices: Mapping[Any, int]


@dataclass(slots=True, eq=False, kw_only=True)
class Shape:
    """What may stand at one place."""

    title: str = "any"
    kinds: frozenset[Kind] = KINDS
    """JSON kinds that can be right here; another kind is wrong at its first character."""
    plain: frozenset[Kind] = KINDS
    """JSON kinds whose value is itself the typed value, so that it may be shown before it is checked."""
    hold: bool = False
    """Show a string (with the `Hold` marker: any value) only when it is final."""
    must: bool = False
    """The `Required` marker."""
    check: Check = accept
    """Checks the whole JSON value."""
    compose: Check | None = accept
    """Makes the container from its children's typed values (its own constraints and validators only).

    None: only `check` can.
    """
    sure: bool = False
    """A container whose members fit as they are and that has its required keys fits, and no code of the user's runs."""
    at_once: AtOnce | None = None
    """The check of the whole, for a container whose members were not checked on their own."""
    structure: Check | None = None
    """Checks an object's keys only: missing and forbidden ones."""
    exact: type | None = None
    """A value of exactly this Python type fits as it is: it need not be checked."""
    facts: Check | None = None
    """Checks the bare string facts below, without any code of the user's: it explains an early failure."""
    choices: frozenset[str] | None = None
    """All strings that may stand here. None: any."""
    pattern: str | None = None
    max_length: int | None = None
    members: Lazy[Members] | None = None
    items: Lazy[Items] | None = None
    options: tuple[Shape, ...] = ()
    """The alternatives of a union."""
    tag: Tag | None = None
    roots: tuple[type, ...] = ()
    """Root models round the value, innermost first."""
    ensure: Ensure | None = None
    """From a dict specification: the value must be there (and not null)."""
    _resolved: dict[Kind, Shape] = field(default_factory=dict["Kind", "Shape"], repr=False)
    _children: dict[str, Shape | None] = field(default_factory=dict[str, "Shape | None"], repr=False)

    def but(self, **changes: Any) -> Shape:
        """A copy with `changes`."""
        return replace(self, **changes, _resolved={}, _children={})

    def resolve(self, kind: Kind) -> Shape:
        """The shape for a value of this JSON kind: of a union, the alternative(s) that it leaves."""
        if not self.options or kind not in self.kinds:
            return self
        found = self._resolved.get(kind)
        if found is None:
            found = self._resolved[kind] = self._resolve(kind)
        return found

    def _resolve(self, kind: Kind) -> Shape:
        if self.tag is not None and kind == "object":
            return self
        fitting = [option.resolve(kind) for option in self.options if kind in option.kinds]
        if len(fitting) == 1:
            return fitting[0]
        hold = all(option.hold for option in fitting)
        return self.but(options=tuple(fitting), kinds=frozenset({kind}), hold=hold, tag=None)

    def choose(self, value: Any) -> Shape | None:
        """The alternative that the discriminator's `value` names."""
        try:
            index = self.tag.choices.get(value) if self.tag is not None else None
        except TypeError:  # an object or array in the discriminator's place cannot be looked up
            return None
        return None if index is None else self.options[index]

    @property
    def opaque(self) -> bool:
        """True where code of the user's reads the value first: then its keys are not known to mean anything."""
        return self.compose is None and self.kinds == KINDS

    def child(self, part: Part) -> Shape | None:
        """The shape of a member. None: nothing is said about it (see `forbids`)."""
        if isinstance(part, int):
            return self._child(part)
        found = self._children.get(part, _UNKNOWN)
        if found is not _UNKNOWN:
            return found
        made = self._child(part)
        # Only names that the shape itself has are kept: the keys of a document are without bound.
        if self._names(part):
            self._children[part] = made
        return made

    def _names(self, key: str) -> bool:
        if self.options:
            return any(option._names(key) for option in self.options)
        return self.members is not None and key in self.members.get().by_key

    def _child(self, part: Part) -> Shape | None:
        if self.options:
            return _either(
                [option.resolve("object" if isinstance(part, str) else "array").child(part) for option in self.options]
            )
        if isinstance(part, str):
            if self.members is None:
                return None
            members = self.members.get()
            prop = members.by_key.get(part)
            if prop is not None:
                return prop.shape
            matching = [shape for pattern, shape in members.patterns if pattern.search(part)]
            return matching[0] if matching else members.extra
        if self.items is None:
            return None
        items = self.items.get()
        return items.prefix[part] if part < len(items.prefix) else items.rest

    def forbids(self, part: Part) -> bool:
        """True where a member of this name, or at this index, cannot be right."""
        if self.options:
            return all(option.forbids(part) for option in self.options)
        if isinstance(part, str):
            if self.members is None:
                return False
            members = self.members.get()
            return (
                members.forbid_extra
                and part not in members.by_key
                and not any(p.search(part) for p, _ in members.patterns)
            )
        if self.items is None:
            return False
        items = self.items.get()
        return items.closed and part >= len(items.prefix)


_UNKNOWN = Shape()
ANYTHING = Shape()
"""The shape of a place about which nothing is said."""


def union(title: str, options: list[Shape], check: Check, **facts: Any) -> Shape:
    """The shape of a value that fits one of `options` (at least one)."""
    strings = [option for option in options if "string" in option.kinds]
    every = bool(strings) and all(option.choices is not None for option in strings)
    choices = frozenset[str]().union(*(option.choices or () for option in strings)) if every else None
    lengths = [option.max_length for option in strings]
    lone = strings[0] if len(strings) == 1 else None
    return Shape(
        title=title,
        kinds=frozenset[Kind]().union(*(option.kinds for option in options)),
        plain=frozenset[Kind]().union(*(option.plain for option in options)),
        hold=bool(strings) and all(option.hold for option in strings),
        must=any(option.must for option in options),
        check=check,
        compose=None,
        facts=lone.facts if lone else one_of(choices) if choices is not None else None,
        choices=choices,
        pattern=lone.pattern if lone else None,
        max_length=lone.max_length
        if lone
        else (max(n or 0 for n in lengths) if strings and None not in lengths else None),
        options=tuple(options),
        **facts,
    )


def crash(error: Exception, value: Any) -> ErrorDetails:
    """The error details where a check raised something else than what says that a value does not fit."""
    if isinstance(error, RecursionError):
        return {"type": "recursion_loop", "loc": (), "msg": "Too deeply nested to be checked", "input": value}
    message = f"The validator raised {type(error).__name__}: {error}"
    return {"type": "validator_error", "loc": (), "msg": message, "input": value}


def one_of(choices: frozenset[str]) -> Check:
    """A check that a string is one of `choices`."""

    def check(value: Any, context: tuple[str, dict[str, Any]] | None = None, /) -> Checked:
        if value in choices:
            return Checked(value)
        expected = " or ".join(map(repr, sorted(choices)))
        details = {"type": "literal_error", "loc": (), "msg": f"Input should be {expected}", "input": value}
        return Checked(None, ({**details, "ctx": {"expected": expected}},))

    return check


def _either(shapes: list[Shape | None]) -> Shape | None:
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes) or not known:
        return None
    return known[0] if len(known) == 1 else union(" | ".join(shape.title for shape in known), known, accept)


def many(shape: Shape) -> Shape:
    """The shape of a list of documents, each of `shape`."""
    return Shape(
        title=f"list[{shape.title}]",
        kinds=frozenset({"array"}),
        plain=frozenset({"array"}),
        items=Lazy(lambda: Items(rest=shape)),
    )


def fits(shape: Shape, data: Any) -> bool:
    """True where a document looks like what is wanted: its kind is allowed, and of an object's keys none that is
    required is missing and (where the shape has fields at all) at least one is known. Values are not looked at, but for
    a discriminator.
    """
    kind = kind_of(data)
    if kind not in shape.kinds:
        return False
    shape = shape.resolve(kind)
    if shape.options:
        if shape.tag is not None and is_object(data):
            chosen = next((shape.choose(data[key]) for key in shape.tag.keys if key in data), None)
            return chosen is not None and fits(chosen, data)
        return any(fits(option, data) for option in shape.options)
    if shape.members is None or not is_object(data) or shape.opaque:
        return True
    members = shape.members.get()
    if not members.fields or any(not prop.keys for prop in members.fields):
        return True
    if any(prop.required and not any(key in data for key in prop.keys) for prop in members.fields):
        return False
    return any(key in data for key in members.by_key)


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    """Whether a JSON value is an array."""
    return isinstance(value, list)


def kind_of(value: Any) -> Kind:
    """The JSON kind of a parsed value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if is_object(value):
        return "object"
    if is_array(value):
        return "array"
    # A number may be kept as a `str` subclass (number="lexeme"), so exactly `str` is asked for.
    return "string" if type(value) is str else "number"
