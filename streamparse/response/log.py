"""Which provider events a Response keeps, and how many there were."""

from __future__ import annotations

import json
from json.encoder import encode_basestring
from typing import Literal

from ..errors import LimitExceeded
from ..limits import Limits
from ..provider import ProviderEvent, TextDelta
from .model import EventCoverage, Omission


class EventLog:
    """The events of a run, as many as the limits allow, counted exactly.

    Kept is a prefix: after the first event that does not fit, no later one is kept, so that the log has no holes. With
    `lossless` that event raises `LimitExceeded` instead.
    """

    __slots__ = ("_first_omission", "_limits", "_lossless", "events", "observed", "retained_bytes")

    def __init__(self, limits: Limits | None = None, *, lossless: bool = False) -> None:
        self._limits = limits or Limits()
        self._lossless = lossless
        self._first_omission: Omission | None = None
        self.events: list[ProviderEvent] = []
        self.observed = 0
        self.retained_bytes = 0

    def add(self, event: ProviderEvent) -> None:
        """Count `event`, and keep it if it fits. Raises `LimitExceeded` where it does not and the log is lossless."""
        self.observed += 1
        if self._first_omission is not None:
            return
        size = event_size(event)
        if len(self.events) >= self._limits.events:
            self._omit("events", self._limits.events, event)
        elif self.retained_bytes + size > self._limits.event_bytes:
            self._omit("event_bytes", self._limits.event_bytes, event)
        else:
            self.retained_bytes += size
            self.events.append(event)

    def _omit(self, limit: Literal["events", "event_bytes"], value: int, event: ProviderEvent) -> None:
        self._first_omission = Omission(limit=limit, event_kind=event.type)
        if self._lossless:
            raise LimitExceeded(
                f"more provider events than a lossless Response may keep: the first one over is {event.type!r}",
                limit=limit,
                limit_value=value,
                hint=f"Raise Limits.{limit}, or keep a prefix of the events (lossless=False).",
            )

    def coverage(self) -> EventCoverage:
        """What the log holds, in numbers."""
        return EventCoverage(
            mode="exact" if self._first_omission is None else "compact",
            observed_events=self.observed,
            retained_events=len(self.events),
            omitted_events=self.observed - len(self.events),
            retained_bytes=self.retained_bytes,
            first_omission=self._first_omission,
        )


_PLAIN_TEXT_SIZE = len(json.dumps(TextDelta(text="").to_dict(), separators=(",", ":"))) - 2


def event_size(event: ProviderEvent) -> int:
    """The size of `event` in bytes: its `to_dict` as compact JSON in UTF-8."""
    if type(event) is TextDelta and 0 <= event.choice < 10 and not event.message_boundary and not event.aside:
        # Most events of a run; the same number without building the dict.
        return _PLAIN_TEXT_SIZE + len(encode_basestring(event.text).encode("utf-8", "surrogatepass"))
    text = json.dumps(event.to_dict(), ensure_ascii=False, separators=(",", ":"), default=repr)
    return len(text.encode("utf-8", "surrogatepass"))
