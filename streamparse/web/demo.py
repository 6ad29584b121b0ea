"""The demo: a page that shows a reply field by field, and the server behind it, a Starlette application.

    GET  /                          the page, and beside it page.css, page.js, card.js, icon.svg, client.js
    GET  /sources                   {"live": [{"id", "name"}], "max_upload"}: the models that can be asked, and bytes
    POST /play?speed=&end=          play the recording that comes with the package, or a part of it (end=0.7)
    POST /upload?speed=             play the capture in the body
    POST /live                      {"provider", "ticket"}: ask a model
    GET  /runs/ID                   the frames of a run, an event stream; `Last-Event-ID` goes on where it was
    POST /runs/ID?speed=&paused=    change the pace of a run that plays

Each start answers with 303 to the run it began, so that a client which comes back finds the same one. `GET /play` does
so too, for `curl -L`. Nothing is sent to other origins, and no other origin may start anything.
"""

from __future__ import annotations

import asyncio
import json
import math
import secrets
from collections.abc import Iterable
from importlib.resources import files
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..captures import BodyDecoder
from ..errors import StreamParseError
from ..result import StreamResult, wrap
from . import live
from .playback import Pace, play
from .stream import EventStream
from .triage import Triage

MAX_UPLOAD: Final = 8 * 1024 * 1024
"""Bytes of a capture that is dropped on the page: some 100,000 chunks of a provider."""
_MAX_QUESTION: Final = 64 * 1024
_MAX_SPEED: Final = 100.0
_MAX_RUNS: Final = 16
_SENDINGS: Final = 60  # a second: no screen shows more

_PAGE: Final = {
    "/": ("page/index.html", "text/html; charset=utf-8"),
    "/page.css": ("page/page.css", "text/css; charset=utf-8"),
    "/page.js": ("page/page.js", "text/javascript; charset=utf-8"),
    "/card.js": ("page/card.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("page/icon.svg", "image/svg+xml"),
    "/client.js": ("client.js", "text/javascript; charset=utf-8"),
}

_HEADERS: Final = {
    # The page has no inline script and no inline style, and talks to nobody but its server.
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class _Run(NamedTuple):
    stream: EventStream
    pace: Pace | None


class _Runs:
    """The runs that clients may come back to: the latest ones."""

    def __init__(self) -> None:
        self._runs: dict[str, _Run] = {}

    async def begin(self, result: StreamResult[Any], pace: Pace | None) -> str:
        """Add a run. Gives its id, which nobody can guess."""
        while len(self._runs) >= _MAX_RUNS:
            ended = (name for name, run in self._runs.items() if run.stream.ended)
            oldest = self._runs.pop(next(ended, next(iter(self._runs))))
            await oldest.stream.cancel()
        name = secrets.token_urlsafe(12)
        self._runs[name] = _Run(EventStream(result, max_rate=_SENDINGS, include=["original_delta"]), pace)
        return name

    def get(self, request: Request) -> _Run:
        run = self._runs.get(request.path_params["run"])
        if run is None:
            raise HTTPException(404, "There is no such run (any more).")
        return run


class _Demo:
    def __init__(self, providers: dict[str, live.Provider]) -> None:
        self._providers = providers
        self._runs = _Runs()
        self._recording = (files("streamparse") / "demo" / "triage.sse").read_bytes()

    def routes(self) -> Iterable[BaseRoute]:
        for path, (file, content_type) in _PAGE.items():
            yield Route(path, _static(file, content_type))
        yield Route("/sources", self._sources)
        yield Route("/play", self._play, methods=["GET", "POST"])
        yield Route("/upload", self._upload, methods=["POST"])
        yield Route("/live", self._live, methods=["POST"])
        yield Route("/runs/{run}", self._frames, methods=["GET"])
        yield Route("/runs/{run}", self._pace, methods=["POST"])

    async def _sources(self, request: Request) -> Response:
        models = [{"id": one.id, "name": one.name} for one in self._providers.values()]
        return JSONResponse({"live": models, "max_upload": MAX_UPLOAD})

    async def _play(self, request: Request) -> Response:
        pace = Pace(_number(request, "speed", 1, _MAX_SPEED))
        chunks, _, _ = _decode(self._recording)
        chunks = chunks[: math.ceil(len(chunks) * _number(request, "end", 1, 1))]
        return await self._begin(wrap(play(chunks, pace), output=Triage), pace)

    async def _upload(self, request: Request) -> Response:
        pace = Pace(_number(request, "speed", 1, _MAX_SPEED))
        body = await _body(request, MAX_UPLOAD)
        chunks, adapter, error = await asyncio.to_thread(_decode, body)
        return await self._begin(wrap(play(chunks, pace, error=error), adapter=adapter), pace)

    async def _live(self, request: Request) -> Response:
        try:
            asked: Any = json.loads(await _body(request, _MAX_QUESTION))
            provider, ticket = asked["provider"], asked["ticket"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise HTTPException(400, 'The body must be {"provider": "…", "ticket": "…"}.') from None
        if not isinstance(provider, str) or provider not in self._providers or not isinstance(ticket, str):
            raise HTTPException(400, f"The provider must be one of: {', '.join(self._providers) or 'none'}.")
        triage = self._providers[provider].triage
        return await self._begin(wrap(lambda: triage(ticket), output=Triage), None)

    async def _begin(self, result: StreamResult[Any], pace: Pace | None) -> Response:
        return RedirectResponse(f"runs/{await self._runs.begin(result, pace)}", status_code=303)

    async def _frames(self, request: Request) -> Response:
        return self._runs.get(request).stream.response(request)

    async def _pace(self, request: Request) -> Response:
        pace = self._runs.get(request).pace
        if pace is None:
            raise HTTPException(409, "A model writes as fast as it does.")
        paused = request.query_params.get("paused")
        pace.set(
            speed=_number(request, "speed", pace.speed, _MAX_SPEED), paused=None if paused is None else paused == "true"
        )
        return Response(status_code=204)


def _static(file: str, content_type: str) -> Any:
    body = files("streamparse.web").joinpath(file).read_bytes()

    async def send(request: Request) -> Response:
        return Response(body, headers={"Content-Type": content_type, "Cache-Control": "no-cache"})

    return send


def _number(request: Request, name: str, default: float, most: float) -> float:
    """A parameter from 0 to `most`."""
    text = request.query_params.get(name)
    try:
        number = default if text is None else float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= most:
        raise HTTPException(400, f"{name} is a number from 0 to {most:g}.")
    return number


async def _body(request: Request, most: int) -> bytes:
    """The body, if it has no more than `most` bytes. What is too much is not kept."""
    too_large = HTTPException(413, f"The body may have {most} bytes at most.", headers={"Connection": "close"})
    announced = request.headers.get("content-length", "")
    # A client that is not listened to at all often does not see the answer: some more is taken in and dropped.
    patience = 4 * most
    if announced.isdecimal() and (len(announced) > 15 or int(announced) > patience):
        raise too_large
    body = bytearray()
    size = 0
    try:
        async for piece in request.stream():
            size += len(piece)
            if size <= most:
                body += piece
            elif size > patience:
                break
    except ClientDisconnect:
        raise HTTPException(400, "The body is not whole.") from None  # nobody hears it, and it is nothing to report
    if size > most:
        raise too_large
    return bytes(body)


def _decode(body: bytes) -> tuple[list[Any], str | None, Exception | None]:
    """The chunks of a capture, the adapter that is known for them, and what is wrong with it after those chunks."""
    decoder = BodyDecoder()
    chunks: list[Any] = []
    error: Exception | None = None
    try:
        chunks += decoder.feed(body)
        chunks += decoder.close()
    except StreamParseError as raised:
        error = raised
    return chunks, "text" if decoder.format == "text" else None, error


class _Guard:
    """Headers for every answer; no request from another origin, or by a name that is not this server's."""

    def __init__(self, app: ASGIApp, names: frozenset[str] | None) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(Request(scope))
        await (self._app if refusal is None else refusal)(scope, receive, send_guarded)

    def _refusal(self, request: Request) -> Response | None:
        host = request.headers.get("host", "")
        if self._names is not None and _hostname(f"//{host}") not in self._names:
            # A page elsewhere could give its own name this server's address.
            return PlainTextResponse("This server does not go by that name.", status_code=421)
        site = request.headers.get("sec-fetch-site", "same-origin")
        origin = request.headers.get("origin")
        alike = origin is None or origin in (f"http://{host}", f"https://{host}")
        navigates = request.method == "GET" and request.headers.get("sec-fetch-mode") == "navigate"
        if not navigates and (site not in ("same-origin", "none") or not alike):
            return PlainTextResponse("Requests from other origins are not answered.", status_code=403)
        return None


def _hostname(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def application(*, names: Iterable[str] | None = None, providers: dict[str, live.Provider] | None = None) -> Starlette:
    """The demo as an ASGI application.

    `names` are those that the server may be called by (`localhost`); None: any. `providers` are the models that may be
    asked, by default none: whoever reaches the server asks them with its owner's key.
    """
    allowed = None if names is None else frozenset(names)
    return Starlette(routes=[*_Demo(providers or {}).routes()], middleware=[Middleware(_Guard, names=allowed)])


__all__ = ["MAX_UPLOAD", "application"]
