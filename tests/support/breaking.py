"""An ASGI app that breaks answers off in the middle."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Breaking:
    """An app round another one that breaks its event streams off after so many bytes, the next of `sizes` in turn.

    `asked` are the `Last-Event-ID`s with which they were asked for.
    """

    def __init__(self, app: Any, sizes: Iterable[int], *, path: str = "/") -> None:
        self._app = app
        self._sizes = iter(sizes)
        self._path = path
        self.asked: list[str | None] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or not scope["path"].startswith(self._path):
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        self.asked.append(headers.get(b"last-event-id", b"").decode() or None)
        left = next(self._sizes, 1 << 40)

        async def send_some(message: Any) -> None:
            nonlocal left
            body: bytes = message.get("body", b"")
            if message["type"] != "http.response.body" or len(body) <= left:
                left -= len(body)
                await send(message)
                return
            await send({**message, "body": body[:left], "more_body": True})
            raise ConnectionAbortedError  # the server closes the socket in the middle of the answer

        await self._app(scope, receive, send_some)
