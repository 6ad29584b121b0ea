"""All that came out of one parser run, as plain values, so that two runs compare as one equation, on both twins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One event; neighbouring deltas of one path are one row."""

    type: str
    parts: tuple[str | int, ...]
    kind: str
    delta: str | None
    value: str | None


@dataclass(frozen=True)
class Outcome:
    rows: tuple[Row, ...]
    data: str
    flags: tuple[bool, bool]
    incomplete: tuple[str, ...]
    reasoning: str
    text: str
    diagnostics: tuple[tuple[str, str, int, int, int, str], ...]
    diagnostic_count: int
    error: tuple[Any, ...] | None


def rows_of(events: Iterable[Any]) -> tuple[Row, ...]:
    rows: list[Row] = []
    for event in events:
        final = event.event_type in ("done", "cut")
        row = Row(event.event_type, event.parts, event.kind, event.delta, repr(event.value) if final else None)
        last = rows[-1] if rows else None
        if (
            last
            and last.type == row.type == "delta"
            and last.parts == row.parts
            and last.delta is not None
            and row.delta is not None
        ):
            rows[-1] = last._replace(delta=last.delta + row.delta)
        else:
            rows.append(row)
    return tuple(rows)


def outcome(package: Any, chunks: Iterable[str | bytes], **options: Any) -> Outcome:
    """Run a new parser of `package` over the chunks. Only its own errors are caught."""
    return finish(package, package.StreamParser(**options), [], chunks)


def finish(package: Any, parser: Any, events: list[Any], chunks: Iterable[str | bytes]) -> Outcome:
    """Go on with a parser that gave `events` so far."""
    parsed = error = None
    try:
        for chunk in chunks:
            events += parser.feed(chunk)
        parsed = parser.close()
        events += parsed.events
    except package.StreamParseError as fault:
        error = fault
        events += getattr(fault, "events", ())
    place = None
    if error is not None:
        place = (type(error).__name__, error.code, error.offset, error.line, error.column, error.path, str(error))
    found = parsed.diagnostics if parsed else parser.diagnostics
    return Outcome(
        rows=rows_of(events),
        data=repr(parsed.data if parsed else parser.snapshot()),
        flags=(parsed.has_data, parsed.complete) if parsed else (False, False),
        incomplete=tuple(parsed.incomplete if parsed else getattr(error, "incomplete", ())),
        reasoning=parsed.reasoning if parsed else "",
        text=parsed.text if parsed else "",
        diagnostics=tuple((one.code, one.message, one.offset, one.line, one.column, one.path) for one in found),
        diagnostic_count=parsed.diagnostic_count if parsed else 0,
        error=place,
    )
