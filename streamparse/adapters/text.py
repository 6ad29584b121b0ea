"""Plain text: pieces of `str` or `bytes`, and streams that are made of provider events already."""

from __future__ import annotations

import codecs
from typing import Any, ClassVar, cast

from ..decode import INVALID
from ..provider import TERMINAL, ProviderEvent, Raw, Result, TextDelta
from .base import Adapter, Events, plain


class TextAdapter(Adapter):
    """Pieces of text or of UTF-8 bytes. The end of such a stream is its only end mark, so it counts as finished."""

    name: ClassVar[str] = "text"

    def __init__(self) -> None:
        super().__init__()
        self._decoder = codecs.getincrementaldecoder("utf-8")(INVALID)

    @staticmethod
    def matches(chunk: Any) -> bool:
        return isinstance(chunk, str | bytes | bytearray | memoryview)

    def read(self, chunk: Any, out: Events) -> None:
        if isinstance(chunk, str):
            piece = chunk
        elif isinstance(chunk, bytes | bytearray | memoryview):
            piece = self._decoder.decode(bytes(cast("bytes", chunk)))
        else:
            out.append(Raw(payload=plain(chunk)))
            return
        if piece:
            out.append(TextDelta(text=piece))

    def close(self) -> Events:
        rest = self._decoder.decode(b"", final=True)
        return [*([TextDelta(text=rest)] if rest else []), Result(finished=True)]


class EventsAdapter(Adapter):
    """Provider events as they are: for a source that makes them itself."""

    name: ClassVar[str] = "events"

    @staticmethod
    def matches(chunk: Any) -> bool:
        return isinstance(chunk, ProviderEvent)

    def read(self, chunk: Any, out: Events) -> None:
        event = chunk if isinstance(chunk, ProviderEvent) else Raw(payload=plain(chunk))
        self.ended = isinstance(event, TERMINAL)
        out.append(event)
