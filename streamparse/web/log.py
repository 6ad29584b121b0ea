"""Logs: where the frames of one run are kept for the clients that come, and come back.

MemoryLog    in this process, bounded, with the state that all frames add up to
SharedLog    what a log that several workers share has to offer (`RedisLog` is one)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from ..errors import UsageError
from ..wire import Frame, write_sse
from .snapshot import Message, State

DEFAULT_FRAMES: Final = 10_000
DEFAULT_BYTES: Final = 8 * 1024 * 1024
"""Bounds of one log. A reply of 100 KB in deltas of four characters makes 25,000 frames of some 130 bytes: 3 MB."""

PIECE: Final = 64 * 1024
"""Bytes that are handed out at a time: what a client that takes nothing may keep in the server's buffers."""


class LogLost(Exception):
    """Another worker took the run over: what this one still makes of it counts no more."""


class LogUnavailable(Exception):
    """The shared log cannot be reached now. What was asked of it may be asked again."""


def encode_snapshot(messages: Sequence[Message], frame_id: int) -> bytes:
    """A snapshot as events. Only the last one is numbered: with it the client has all of the frames up to that one.

    The others have the id 0, which no frame of a log has, so that a client which drops what it has seen keeps them.
    """
    last = len(messages) - 1
    return "".join(
        write_sse(Frame(frame_id if index == last else 0, event, data)) for index, (event, data) in enumerate(messages)
    ).encode()


class MemoryLog:
    """The last frames of a run, encoded: at most `frames` of them, of at most `size` bytes, but for the last one.

    What is dropped lives on in the state, from which a client that is too far behind gets a snapshot.
    """

    def __init__(self, *, frames: int = DEFAULT_FRAMES, size: int = DEFAULT_BYTES) -> None:
        if frames < 1 or size < 1:
            raise UsageError(f"a log keeps at least one frame and one byte, got {frames!r} and {size!r}")
        self._frames = frames
        self._size = size
        self._kept: deque[bytes] = deque()
        self._bytes = 0
        self._last_piece: tuple[int, int, bytes] = (0, 0, b"")
        self._last_snapshot: tuple[int, bytes] = (0, b"")
        self.state = State()
        self.tail: int = 0
        """The id of the newest frame."""
        self.ended: bool = False
        """Whether that is the last one."""

    @property
    def base(self) -> int:
        """The id of the newest frame that is no longer kept; 0: all are."""
        return self.tail - len(self._kept)

    def append(self, frames: Iterable[Frame]) -> int:
        """Add frames. Returns their size in bytes. Raises `ValueError` for one that is not the next one."""
        size = 0
        for frame in frames:
            if frame.id != self.tail + 1 or self.ended:
                raise ValueError(f"frame {frame.id} after {self.tail}{', the last one' if self.ended else ''}")
            event = write_sse(frame).encode()
            self._kept.append(event)
            self._bytes += len(event)
            size += len(event)
            self.state.feed(frame.event, frame.data)
            self.tail = frame.id
            self.ended = frame.event == "end"
            while len(self._kept) > self._frames or (self._bytes > self._size and len(self._kept) > 1):
                self._bytes -= len(self._kept.popleft())
        return size

    def restore(self, frame_id: int, messages: Iterable[Message]) -> None:
        """Go on after `frame_id`, with the state that `messages` lead to and no frame kept."""
        for message in messages:
            self.state.feed(message.event, message.data)
        self._kept.clear()
        self._bytes = 0
        self.tail = frame_id

    def read(self, after: int) -> tuple[bytes, int]:
        """Events for a client that has all frames up to `after`, and up to which it has them then.

        No bytes: it has them all. At most about 64 KB at a time, but for a longer frame, or a snapshot.
        """
        if after >= self.tail:
            return b"", after
        if after < self.base:
            # One will do as long as the frames after it are kept: so there are few, however many clients are slow.
            if self._last_snapshot[0] < self.base:
                # The last frame of all is none of the state, and comes by itself.
                frame_id = self.tail - 1 if self.ended else self.tail
                self._last_snapshot = frame_id, encode_snapshot(self.state.snapshot(), frame_id)
            return self._last_snapshot[1], self._last_snapshot[0]
        # Most clients stand at the same place: they share the bytes.
        begin, end, piece = self._last_piece
        if begin != after or (end < self.tail and len(piece) < PIECE):
            end, piece = self._join(after)
            self._last_piece = after, end, piece
        return piece, end

    def _join(self, after: int) -> tuple[int, bytes]:
        pieces: list[bytes] = []
        size = 0
        index = after - self.base
        while index < len(self._kept) and size < PIECE:
            pieces.append(self._kept[index])
            size += len(pieces[-1])
            index += 1
        return self.base + index, b"".join(pieces)


class Batch(NamedTuple):
    """What a shared log holds after some frame: the frames, or first a snapshot where they do not reach that far."""

    frames: list[Frame]
    snapshot: tuple[int, list[Message]] | None = None


class SharedLog(Protocol):
    """A log that several workers share. One of them at a time fills it: the one that holds its lease.

    All methods raise `LogUnavailable` where the log cannot be reached.
    """

    lease: float
    """Seconds without a word from the worker that fills the log until another one may take over."""
    frames: int
    """How many frames are kept behind a snapshot."""

    async def read(self, after: int, wait: float) -> Batch:
        """What comes after frame `after`. Waits up to `wait` seconds where there is nothing."""
        ...

    async def acquire(self) -> int | None:
        """Become the one that fills the log, after the frame that is returned (0: the log is empty). None where
        another one is at it, or the log has ended.
        """
        ...

    async def append(self, frames: Sequence[Frame], after: int) -> None:
        """Add frames, the first of which follows frame `after`. To do so twice does no harm.

        Raises `LogLost` where the log was taken over, or does not hold frame `after`.
        """
        ...

    async def compact(self, frame_id: int, messages: Sequence[Message]) -> int:
        """Keep what all frames up to `frame_id` add up to; those far behind it need not be kept. Returns its size in
        bytes. Raises `LogLost`.
        """
        ...

    async def renew(self) -> None:
        """Say that the worker which fills the log is alive. Raises `LogLost`."""
        ...

    async def release(self) -> None:
        """Let another worker take over at once."""
        ...

    async def watch(self, seconds: float) -> None:
        """Say that this worker has clients, for so many seconds."""
        ...

    async def watched(self) -> bool:
        """Whether any worker has clients."""
        ...
