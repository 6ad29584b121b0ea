"""Views: what each type of generator shows of a step of the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from .errors import SchemaError, UsageError
from .events import EventName, SpecificMessage, StreamingData
from .paths import Parts, PathPattern, PathStyle, format_path
from .run import Step
from .sources import END

if TYPE_CHECKING:
    from .schema import Item, Output

GeneratorType = Literal["delta", "instant", "streaming_parse", "specific", "items", "partial", "original", "all"]
View = Callable[[Step], Iterable[Any]]

TYPES: Final[tuple[str, ...]] = get_args(GeneratorType)
EVENT_NAMES: Final[tuple[str, ...]] = get_args(EventName)
DEFAULT_SPECIFIC: Final = ("reasoning_delta", "delta", "reasoning_done", "done", "tool_calls")


def view(
    kind: str,
    *,
    specific: str | Sequence[str] | None = None,
    paths: str | Sequence[str] | None = None,
    every: float = 0,
    path_style: PathStyle = "dot",
    output: Output | None = None,
) -> View:
    """The view of this type; the arguments are those of `get_generator`.

    Raises `UsageError` for a type, an event or an option that does not exist or fit.
    """
    if kind not in TYPES:
        raise UsageError(f"unknown generator type {kind!r}", expected=", ".join(TYPES))
    if specific is not None and kind != "specific":
        raise UsageError(f"specific= goes with type='specific', not {kind!r}")
    if every and kind != "partial":
        raise UsageError(f"every= goes with type='partial', not {kind!r}")
    patterns = _patterns(paths, path_style)
    if patterns and kind not in ("instant", "streaming_parse", "items"):
        raise UsageError(f"paths= goes with type='instant' and type='items', not {kind!r}")
    if kind == "delta":
        return _deltas
    if kind == "specific":
        return _specific(DEFAULT_SPECIFIC if specific is None else specific)
    if kind == "original":
        return _original
    if kind == "all":
        return _all
    if kind in ("instant", "streaming_parse"):
        return _Filter(patterns) if patterns else _instant
    if output is None:
        raise UsageError(f"type={kind!r} needs to know what the answer is to be", hint="Pass output= to wrap().")
    return _Items(output, patterns) if kind == "items" else _Partials(output, every)


def items_view(pattern: str, output: Any, path_style: PathStyle = "dot") -> View:
    """The elements at `pattern`, each as `output`."""
    from .schema import ItemsReader

    reader: ItemsReader[Any] = ItemsReader(pattern, output, path_style=path_style)
    return lambda step: reader.feed(_content(step))


def several(name: str, value: Any, fits: Callable[[Any], bool], wanted: str) -> list[Any]:
    """`value`, which is one or several of what is `wanted`, as a list. Raises `UsageError` where it is neither."""
    try:
        found = [value] if fits(value) else list(value)
    except TypeError:
        found = [value]
    if not all(map(fits, found)):
        raise UsageError(f"cannot use {name}={value!r}", expected=f"{wanted}, or several")
    return found


def is_text(value: object) -> bool:
    """Whether `value` is a str."""
    return isinstance(value, str)


def _patterns(paths: str | Sequence[str] | None, style: PathStyle) -> list[PathPattern]:
    if paths is None:
        return []
    return [PathPattern(path, style) for path in several("paths", paths, is_text, "a path")]


def _deltas(step: Step) -> Iterable[str]:
    return [data for event, data in step.messages if event == "delta"]


def _all(step: Step) -> Iterable[Any]:
    return step.messages


def _original(step: Step) -> Iterable[Any]:
    return () if step.chunk is END else (step.chunk,)


def _instant(step: Step) -> list[StreamingData]:
    return [data for event, data in step.messages if event == "instant"]


def _content(step: Step) -> list[StreamingData]:
    return [event for event in _instant(step) if event.source == "content"]


def _specific(names: str | Sequence[str]) -> View:
    wanted = frozenset(several("specific", names, is_text, "the name of an event"))
    unknown = sorted(wanted - frozenset(EVENT_NAMES))
    if unknown:
        raise UsageError(f"unknown event {unknown[0]!r}", expected=", ".join(EVENT_NAMES))
    return lambda step: [SpecificMessage(event, data) for event, data in step.messages if event in wanted]


class _Filter:
    """The fields that fit one of the patterns, and the resets of what lies above them."""

    def __init__(self, patterns: list[PathPattern]) -> None:
        self._patterns = patterns
        self._path: str | None = None
        self._fits = False

    def __call__(self, step: Step) -> Iterable[StreamingData]:
        return [event for event in _instant(step) if self._shows(event)]

    def _shows(self, event: StreamingData) -> bool:
        if event.event_type == "reset":
            return any(may_hold(pattern, event.parts) for pattern in self._patterns)
        if event.path != self._path:  # a field's events mostly come in a row
            parts = event.parts
            self._path, self._fits = event.path, any(pattern.matches(parts) for pattern in self._patterns)
        return self._fits


_DEEP = PathPattern("**").parts[0]


def may_hold(pattern: PathPattern, parts: Parts) -> bool:
    """Whether a place that fits `pattern` can be at `parts` or below it."""
    for position, part in enumerate(parts):
        if position == len(pattern.parts):
            return False
        wanted = pattern.parts[position]
        if wanted == _DEEP:
            return True
        wild = isinstance(wanted, int) and wanted < 0
        if type(wanted) is not type(part) if not wild else False:
            return False
        if not wild and wanted != part:
            return False
    return True


class _Items:
    """Elements of lists as their types, each when it closes."""

    def __init__(self, output: Output, patterns: list[PathPattern]) -> None:
        if not patterns and "array" not in output.shape.kinds:
            raise UsageError(
                "type='items' needs to know which list is meant, since the output is none itself",
                hint="Name it: paths=['tips[*]'].",
            )
        self._output = output
        self._patterns = patterns or [PathPattern("[*]")]

    def __call__(self, step: Step) -> Iterable[Item[Any]]:
        return [
            self._item(event)
            for event in _content(step)
            if event.is_complete and any(pattern.matches(event.parts) for pattern in self._patterns)
        ]

    def _item(self, event: StreamingData) -> Item[Any]:
        from .schema import Item
        from .schema.typed import field_of, noted

        parts, raw = event.parts, event.value
        index = next((part for part in reversed(parts) if isinstance(part, int)), 0)
        path = format_path(parts)
        shape = self._output.shape
        for part in parts:
            found = shape.resolve("object" if isinstance(part, str) else "array").child(part)
            if found is None:
                return Item(index, path, raw, raw)  # the output says nothing about it
            shape = found
        # The parser has checked it, if it was to be checked on its own.
        checked = noted(field_of(event), self._output)
        if checked is None or checked.whole or any(error["type"] == "reported" for error in checked.errors):
            checked = shape.check(raw)
        if not checked.errors:
            return Item(index, path, checked.value, raw)
        details = tuple({**details, "loc": (*parts, *details["loc"])} for details in checked.errors)
        reason = "; ".join(str(error["msg"]) for error in details)
        fault = SchemaError(f"{path}: {reason}", code="invalid_value", path=path, errors=details)
        return Item(index, path, None, raw, fault)


class _Partials:
    """The output with holes, after each step that changed it, but not more often than `every` so many seconds."""

    def __init__(self, output: Output, every: float) -> None:
        from .schema import PartialBuilder

        # It follows the events that the parser gave, on which the checks are noted: no field is checked again.
        self._builder: PartialBuilder[Any] = PartialBuilder(output)
        self._feed = self._builder.tree.feed
        self._every = every
        self._due = 0.0
        self._changed = False

    def __call__(self, step: Step) -> Iterable[Any]:
        for name, event in step.messages:
            if name == "instant" and event.source == "content":
                self._feed(event)
                self._changed = True
        if not self._changed:
            return ()
        if self._every:
            now = time.monotonic()
            if now < self._due and step.chunk is not END:
                return ()
            self._due = now + self._every
        self._changed = False
        shown = self._builder.snapshot()
        return () if shown is None else (shown,)
