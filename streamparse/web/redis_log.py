"""RedisLog: the log of a run in Redis, so that any worker can serve it, and another one can finish it.

Three keys, which end in the same slot of a cluster:

    {key}:log     a stream; the entry `7-0` is frame 7: its event and its data as JSON
    {key}:run     a hash: `owner` (who may add frames), `tail`, `ended`, and the last `snapshot` with its `snapshot_id`
    {key}:lease   there while the owner lives: it expires unless the owner renews it
    {key}:watched there while a worker has clients

Who takes over writes its own name into `owner`, and each script that adds something compares it first. So a worker
that was believed dead and comes back can add nothing more, whatever its clock says; and since each frame has its
number, adding the same frames again after a lost answer adds nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from hashlib import sha1
from typing import Any, Final
from uuid import uuid4

from redis import exceptions
from redis.asyncio import Redis

from ..errors import UsageError
from ..wire import Frame
from ..wire.json_text import from_json, to_json
from .log import DEFAULT_FRAMES, Batch, LogLost, LogUnavailable
from .snapshot import Message

# What passes: the server is away, starts, or another one takes its place.
_PASSING: Final = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.BusyLoadingError,
    exceptions.ReadOnlyError,
    OSError,
)
_COUNT: Final = 500  # entries that are read at a time

# KEYS: log, run, lease. Each script runs as a whole, with nothing between its steps.
_ACQUIRE: Final = """
if redis.call('EXISTS', KEYS[3]) == 1 or redis.call('HEXISTS', KEYS[2], 'ended') == 1 then return false end
redis.call('HSET', KEYS[2], 'owner', ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[2])
return tonumber(redis.call('HGET', KEYS[2], 'tail') or 0)
"""
_OWNED: Final = """
if redis.call('HGET', KEYS[2], 'owner') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
"""
_RENEW: Final = _OWNED + "return 1"
_APPEND: Final = (
    _OWNED
    + """
local tail = tonumber(redis.call('HGET', KEYS[2], 'tail') or 0)
local id = tonumber(ARGV[4])
if id > tail then return 0 end
for at = 5, #ARGV, 2 do
    id = id + 1
    if id > tail then
        redis.call('XADD', KEYS[1], string.format('%.0f-0', id), 'event', ARGV[at], 'data', ARGV[at + 1])
        redis.call('HSET', KEYS[2], 'tail', string.format('%.0f', id))
        if ARGV[at] == 'end' then
            redis.call('HSET', KEYS[2], 'ended', 1)
            redis.call('DEL', KEYS[3])
        end
    end
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1
"""
)
_COMPACT: Final = (
    _OWNED
    + """
redis.call('HSET', KEYS[2], 'snapshot', ARGV[5], 'snapshot_id', ARGV[4])
if tonumber(ARGV[4]) > tonumber(redis.call('HGET', KEYS[2], 'tail') or 0) then
    redis.call('HSET', KEYS[2], 'tail', ARGV[4])
end
redis.call('XTRIM', KEYS[1], 'MINID', ARGV[6] .. '-0')
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1
"""
)
_RELEASE: Final = """
if redis.call('GET', KEYS[3]) == ARGV[1] then redis.call('DEL', KEYS[3]) end
return 1
"""
_LOAD: Final = """
local snapshot = redis.call('HMGET', KEYS[2], 'snapshot_id', 'snapshot')
local from = math.max(tonumber(snapshot[1] or 0), tonumber(ARGV[1]))
return {snapshot[1], snapshot[2], redis.call('XRANGE', KEYS[1], string.format('(%.0f-0', from), '+', 'COUNT', ARGV[2])}
"""


class RedisLog:
    """A log in Redis Streams, for `EventStream(..., log=)`. Each worker makes its own for the same `key`.

    redis: a `redis.asyncio.Redis` (or cluster) client; it stays the caller's to close.
    key: names the run. Whoever knows the URL of the stream should not be able to guess another one's.
    ttl: seconds that the log is kept after its last frame.
    lease: seconds without a word from the worker that fills the log until another one takes over.
    frames: how many frames are kept besides those since the last snapshot: see `SharedLog.compact`.

    Needs Redis 6.2 or newer.
    """

    def __init__(
        self, redis: Redis, key: str, *, ttl: float = 3600, lease: float = 10, frames: int = DEFAULT_FRAMES
    ) -> None:
        if not 0 < lease < ttl or frames < 1:
            raise UsageError(
                f"RedisLog(ttl={ttl!r}, lease={lease!r}, frames={frames!r})", expected="0 < lease < ttl, 1 <= frames"
            )
        self.key = key
        self.lease = lease
        self._client: Any = redis  # its annotations differ from one version to the next
        self._name = uuid4().hex  # another one each time that this worker takes over
        self.frames = frames
        self._ttl = ttl
        self._keys = [f"{{{key}}}:{part}" for part in ("log", "run", "lease")]
        self._watched = f"{{{key}}}:watched"

    async def read(self, after: int, wait: float) -> Batch:
        """What comes after frame `after`; see `SharedLog`."""
        log = self._keys[0]
        block = self._blocking(wait)
        entries = _read(await self._ask(self._client.xread({log: f"{after}-0"}, count=_COUNT, block=block)))
        if not entries or entries[0].id == after + 1:
            return Batch(entries)
        snapshot_id, snapshot, found = await self._run(_LOAD, after, _COUNT)
        entries = _entries(found)
        if snapshot_id is None or int(snapshot_id) <= after:
            raise LogLost(f"the frames of {self.key!r} after {after} are gone from Redis")
        messages = [Message(*message) for message in from_json(_text(snapshot))]
        return Batch(entries, (int(snapshot_id), messages))

    async def acquire(self) -> int | None:
        """Become the one that fills the log; see `SharedLog`."""
        self._name = uuid4().hex
        tail = await self._run(_ACQUIRE, self._name, *self._times)
        return None if tail is None else int(tail)

    async def append(self, frames: Sequence[Frame], after: int) -> None:
        """Add frames; see `SharedLog`."""
        written = [part for frame in frames for part in (frame.event, to_json(frame.data))]
        await self._owned(_APPEND, after, *written)

    async def compact(self, frame_id: int, messages: Sequence[Message]) -> int:
        """Keep what the frames add up to; see `SharedLog`."""
        written = to_json(messages)
        await self._owned(_COMPACT, frame_id, written, max(0, frame_id - self.frames))
        return len(written)

    async def renew(self) -> None:
        """Say that this worker is alive; see `SharedLog`."""
        await self._owned(_RENEW)

    async def release(self) -> None:
        """Let another worker take over at once; see `SharedLog`."""
        await self._run(_RELEASE, self._name)

    async def watch(self, seconds: float) -> None:
        """Say that this worker has clients; see `SharedLog`."""
        await self._ask(self._client.set(self._watched, 1, px=_milliseconds(seconds)))

    async def watched(self) -> bool:
        """Whether any worker has clients; see `SharedLog`."""
        return bool(await self._ask(self._client.exists(self._watched)))

    async def delete(self) -> None:
        """Forget the run. Only for one that is over: a worker that is at it would begin anew."""
        await self._ask(self._client.delete(*self._keys, self._watched))

    @property
    def _times(self) -> tuple[int, int]:
        return _milliseconds(self.lease), _milliseconds(self._ttl)

    def _blocking(self, wait: float) -> int | None:
        """For how many milliseconds the server may wait: less than the client waits for the server."""
        options: Mapping[str, Any] = self._client.get_connection_kwargs()
        timeout: float | None = options.get("socket_timeout")
        return _milliseconds(min(wait, timeout / 2) if timeout else wait) or None

    async def _owned(self, script: str, *args: str | int) -> None:
        if not await self._run(script, self._name, *self._times, *args):
            raise LogLost(f"another worker has taken over {self.key!r}, or Redis has lost it")

    async def _run(self, script: str, *args: str | int) -> Any:
        rest = (len(self._keys), *self._keys, *args)
        try:
            # Redis knows a script that it has run by its digest, until it restarts.
            digest = sha1(script.encode(), usedforsecurity=False).hexdigest()
            return await self._ask(self._client.evalsha(digest, *rest))
        except exceptions.NoScriptError:
            return await self._ask(self._client.eval(script, *rest))

    async def _ask(self, answer: Awaitable[Any]) -> Any:
        try:
            return await answer
        except _PASSING as error:
            raise LogUnavailable(f"Redis cannot be reached: {error}") from error


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode()


def _read(answer: Any) -> list[Frame]:
    """The entries of one stream; how they are wrapped depends on the protocol and on the version of the client."""
    if not answer:
        return []
    found: Any = next(iter(answer.values())) if hasattr(answer, "values") else answer[0][1]
    return _entries(found[0] if hasattr(found[0], "append") else found)


def _entries(found: Iterable[tuple[Any, Any]]) -> list[Frame]:
    frames: list[Frame] = []
    for entry_id, fields in found:
        # From a script they come as a flat list.
        entry: Any = fields if hasattr(fields, "items") else dict(zip(fields[::2], fields[1::2], strict=True))
        event, data = ((entry.get(name) or entry[name.encode()]) for name in ("event", "data"))
        frames.append(Frame(int(_text(entry_id).partition("-")[0]), _text(event), from_json(_text(data))))
    return frames
