"""EventStream: one run, served to any number of clients as an event stream.

stream = EventStream(streamparse.wrap(source, output=Ticket))

@app.get("/reply")
async def reply(request: Request) -> Response:
    return stream.response(request)
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from ..errors import UsageError
from ..result import StreamResult
from ..wire import Frame, FrameEncoder
from ..wire.frame import DescribeError, Options, describe_error
from .follow import Follower
from .log import DEFAULT_BYTES, DEFAULT_FRAMES, PIECE, LogUnavailable, MemoryLog, SharedLog
from .produce import Source, batches

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

logger = logging.getLogger("streamparse.web")

# A comment: it keeps proxies from closing a connection that says nothing, and shows the server which are gone.
HEARTBEAT: Final = b":\n\n"

_ID: Final = re.compile("[0-9]{1,15}", re.ASCII)
_NEVER: Final = 1 << 30
# Seconds until what was cancelled is cancelled again: more than all that it closes may take.
_AGAIN: Final = 10.0
_NO_STORE: Final = {"Cache-Control": "no-store"}


class EventStream:
    """The frames of one run, for many clients, that may come late, come back, and be slow.

    result: what `wrap` made, or a callable (sync or async) that makes one, anew for each time that the run is begun.
    max_rate: how often a second frames are sent at most; neighbouring deltas are merged. None: as they come.
    heartbeat: seconds of silence after which a client is sent a comment. None: never.
    limit, limit_bytes: how many frames are kept for clients that come back, and how many bytes of them. One that needs
        older ones gets a snapshot: what they add up to.
    log: a log that several workers share, `RedisLog(redis, key)`: whichever is asked serves the run, one of them makes
        it, and another one begins it anew where that one dies. `result` should then be a callable.
    include: texts of the answer to send beside its fields: `delta`, `done`, `original_delta`, `original_done`.
    cancel_on_disconnect: whether the run, and with it the provider's stream, is cancelled when the last client has been
        gone for `grace` seconds. Use False where the answer is wanted without a reader, too.
    send_timeout: seconds that a client may take nothing until its connection is closed. None: as long as it likes; it
        costs a socket, but no memory.
    describe_error: what the clients are told of an error; by default of one that is not ours nothing but its type.

    The run begins with the first client, or with `start()`. All of it happens on the asyncio loop of the first client.
    """

    def __init__(
        self,
        result: Source,
        *,
        max_rate: float | None = None,
        heartbeat: float | None = 15,
        limit: int = DEFAULT_FRAMES,
        limit_bytes: int = DEFAULT_BYTES,
        log: SharedLog | None = None,
        include: Iterable[str] = (),
        cancel_on_disconnect: bool = True,
        grace: float = 10,
        send_timeout: float | None = None,
        describe_error: DescribeError = describe_error,
    ) -> None:
        if not callable(result) and not isinstance(result, StreamResult):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(
                f"EventStream of {type(result).__name__}", expected="what wrap() made, or a callable that makes it"
            )
        if heartbeat is not None and heartbeat <= 0:
            raise UsageError(f"heartbeat is a positive number of seconds, or None, got {heartbeat!r}")
        self._source = result
        self._options: Options = {"max_rate": max_rate, "include": include, "describe_error": describe_error}
        FrameEncoder(**self._options)  # so that a wrong option fails here
        self._heartbeat = heartbeat
        self._log: MemoryLog = MemoryLog(frames=limit, size=limit_bytes)
        self._shared = log
        self._cancels = cancel_on_disconnect
        self._grace = grace
        self._send_timeout = send_timeout
        self._result: StreamResult[Any] | None = None
        self._clients = 0
        self._seen = 0  # the newest frame that a client said to have
        self._task: asyncio.Task[None] | None = None  # fills the log
        self._cancelled = False  # before it began
        self._broken = False  # it broke off, and cannot go on
        self._leaving: asyncio.Task[None] | None = None  # runs while nobody reads
        self._closing: asyncio.Future[None] | None = None
        self._waiters: set[asyncio.Future[None]] = set()
        self._pulse: asyncio.TimerHandle | None = None

    # ---- what can be asked

    @property
    def result(self) -> StreamResult[Any] | None:
        """The result that is read here; None before the run has begun, and where another worker makes it."""
        return self._result

    @property
    def clients(self) -> int:
        """How many clients read now."""
        return self._clients

    @property
    def ended(self) -> bool:
        """Whether the last frame is there."""
        return self._log.ended

    @property
    def last_event_id(self) -> int:
        """The id of the newest frame; 0: there is none."""
        return self._log.tail

    # ---- for clients

    def response(self, request: Request, *, headers: Mapping[str, str] | None = None) -> Response:
        """The answer to a client: the frames after `Last-Event-ID` (the header, or `?last_event_id=`), from the first
        one on without it, until the last one.

        204 tells a client that has them all not to come back, 409 one that has more of them than there are: those were
        of another run. No CORS header is sent: that is for your middleware.
        """
        from sse_starlette import EventSourceResponse
        from starlette.responses import PlainTextResponse, Response

        after = position(request.headers.get("last-event-id") or request.query_params.get("last_event_id"))
        log = self._log
        if after > log.tail and self._shared is None:
            text = f"Last-Event-ID is {after}, but there are only {log.tail} frames: it is of another run."
            return PlainTextResponse(text, status_code=409, headers=_NO_STORE)
        if (log.ended and after >= log.tail) or self._broken:
            return Response(status_code=204, headers=_NO_STORE)
        return EventSourceResponse(
            self.body(after), headers=headers, ping=_NEVER, sep="\n", send_timeout=self._send_timeout
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Be an ASGI app: `Mount("/reply", stream)`, or the whole application."""
        from starlette.requests import Request
        from starlette.responses import PlainTextResponse

        if scope["type"] != "http":
            raise UsageError(f"an EventStream answers http, not {scope['type']}")
        if scope["method"] in ("GET", "HEAD"):
            answer = self.response(Request(scope))
        else:
            answer = PlainTextResponse("GET only", status_code=405, headers={"Allow": "GET, HEAD"})
        await answer(scope, receive, send)

    async def body(self, after: int | str | None = None) -> AsyncGenerator[bytes, None]:
        """The bytes of an event stream, for any framework that takes an async iterator.

        `after` is what the client said with `Last-Event-ID`. Close the generator when the client is gone.
        """
        at = position(after)
        log = self._log
        self._seen = max(self._seen, at)
        self._join()
        try:
            while True:
                piece, at = log.read(at)
                if piece:
                    for start in range(0, len(piece), PIECE):
                        yield piece[start : start + PIECE]
                    continue
                if log.ended or not self._filling:
                    return  # perhaps without the last frame: then the client comes back, here or to another worker
                tail = log.tail
                await self._wait()
                if log.tail == tail and self._filling:
                    yield HEARTBEAT
        finally:
            self._leave()

    def start(self) -> None:
        """Begin the run before there is a client. Needs a running event loop."""
        if self._task is None and not self._log.ended and not self._broken:
            self._task = asyncio.get_running_loop().create_task(self._fill())

    async def cancel(self) -> None:
        """End the run, where this worker makes it: the clients get what there is, and `end`. The source is closed.

        One that has not begun ends as soon as it does. With a shared `log` only one that has begun here is ended.
        """
        if self._result is not None:
            await self._result.aclose()
        else:
            self._cancelled = self._shared is None

    async def aclose(self) -> None:
        """Let go of the run and of the clients, without an `end`: another worker may go on with it."""
        task = self._task
        while task is not None and not task.done():
            # Again, since before Python 3.12 `asyncio.wait_for`, in which the client of Redis sends, loses a
            # cancellation that comes just when what it waits for is done (python/cpython#86296).
            task.cancel()
            await asyncio.wait([task], timeout=_AGAIN)

    # ---- clients come and go

    def _join(self) -> None:
        self._clients += 1
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None
        self.start()
        if self._pulse is None and self._heartbeat is not None:
            self._pulse = asyncio.get_running_loop().call_later(self._heartbeat, self._beat)

    def _leave(self) -> None:
        self._clients -= 1
        if self._clients:
            return
        if self._pulse is not None:
            self._pulse.cancel()
            self._pulse = None
        if self._task is not None:
            self._leaving = asyncio.get_running_loop().create_task(self._give_up())

    async def _give_up(self) -> None:
        """Nobody reads here: after a while nobody comes back."""
        await asyncio.sleep(self._grace)
        if self._result is not None and not self._cancels:
            return
        if self._shared is not None and self._result is not None:
            while await self._is_watched(self._shared):
                await asyncio.sleep(self._shared.lease / 3)
        if self._result is not None:
            self._closing = asyncio.ensure_future(self._result.aclose())
            await asyncio.shield(self._closing)  # who comes back now is too late
        else:  # another worker makes it
            await self.aclose()

    async def _is_watched(self, shared: SharedLog) -> bool:
        try:
            return await shared.watched()
        except LogUnavailable:
            return True  # who knows

    def _beat(self) -> None:
        assert self._heartbeat is not None
        self._pulse = asyncio.get_running_loop().call_later(self._heartbeat, self._beat)
        self._wake()

    async def _wait(self) -> None:
        """Until the log has grown, or it is time for a heartbeat."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)

    # ---- the log is filled

    @property
    def _filling(self) -> bool:
        return self._task is not None

    async def _fill(self) -> None:
        try:
            if self._shared is None:
                async with aclosing(self._batches()) as made:
                    async for frames in made:
                        self._log.append(frames)
                        self._wake()
            else:
                await Follower(
                    self._log,
                    self._shared,
                    self._batches,
                    grown=self._wake,
                    clients=lambda: self._clients,
                    seen=lambda: self._seen,
                ).run()
        except Exception:
            logger.exception("an event stream broke off; its clients will come back")
        finally:
            self._task = None
            self._broken = self._shared is None and not self._log.ended and self._log.tail > 0
            self._wake()

    async def _batches(self) -> AsyncGenerator[list[Frame], None]:
        try:
            async with aclosing(batches(self._source, FrameEncoder(**self._options), self._began)) as made:
                async for frames in made:
                    yield frames
        finally:
            if not self._log.ended:  # another worker makes it now
                self._result = None

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _began(self, result: StreamResult[Any]) -> None:
        self._result = result
        if self._cancelled:
            self._closing = asyncio.ensure_future(result.aclose())


def position(last_event_id: int | str | None) -> int:
    """The frame that a client says it has; 0 where it has none, or what it says is no number of a frame."""
    if isinstance(last_event_id, int):
        return max(0, last_event_id)
    return int(last_event_id) if last_event_id is not None and _ID.fullmatch(last_event_id.strip()) else 0
