"""Field events to browsers and other clients: `EventStream` for any ASGI app, and logs that its frames are kept in.

Needs the extra `web`; `RedisLog` needs the extra `redis`, and is imported when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .log import Batch, LogLost, LogUnavailable, MemoryLog, SharedLog
from .stream import EventStream

if TYPE_CHECKING:
    from .redis_log import RedisLog

__all__ = ["Batch", "EventStream", "LogLost", "LogUnavailable", "MemoryLog", "RedisLog", "SharedLog"]


def __getattr__(name: str) -> Any:
    if name != "RedisLog":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .redis_log import RedisLog

    return RedisLog
