"""One web worker, as a process: `python web_worker.py PORT REDIS_URL LEASE GRACE`.

`GET /runs/{key}` serves the run `key`. Every attempt at a run writes other text, so that a mixture would show. The
attempt that comes to its end leaves what `get_data()` gave at `final:{key}`; each notes its pid at `began:{key}`, and
at `closed:{key}` that its source was closed in the middle. A key that begins with `held` makes a run that waits in the
middle until `go:{key}` is set.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import uvicorn
from redis.asyncio import Redis
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import streamparse
from streamparse.web import EventStream, RedisLog

PAUSE = 0.004


def document(rows: int) -> dict[str, Any]:
    mark = uuid4().hex
    return {
        "by": mark,
        "rows": [{"text": f"{mark} writes row {row}, with ümlauts and 🌧", "n": row} for row in range(rows)],
        "last": None,
    }


def main(port: str, url: str, lease: str, grace: str) -> None:
    redis = Redis.from_url(url)
    streams: dict[str, EventStream] = {}

    def make(key: str) -> streamparse.StreamResult[Any]:
        async def source() -> AsyncIterator[str]:
            await redis.rpush(f"began:{key}", os.getpid())
            text = f"<think>{uuid4().hex}</think>" + json.dumps(document(40))
            over = False
            try:
                for at in range(0, len(text), 12):
                    yield text[at : at + 12]
                    await asyncio.sleep(PAUSE)
                    while key.startswith("held") and at > len(text) / 2 and not await redis.exists(f"go:{key}"):
                        await asyncio.sleep(PAUSE)
                over = True
            finally:
                if not over:
                    await asyncio.shield(redis.rpush(f"closed:{key}", os.getpid()))

        async def note(response: streamparse.Response) -> None:
            if response.complete:
                await redis.rpush(f"final:{key}", json.dumps([response.data, response.reasoning]))

        return streamparse.wrap(source(), on_response=note)

    async def run(request: Request) -> Response:
        key = request.path_params["key"]
        if key not in streams:
            log = RedisLog(redis, key, lease=float(lease))
            streams[key] = EventStream(lambda: make(key), log=log, grace=float(grace), heartbeat=0.5)
        return streams[key].response(request)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        for stream in streams.values():
            await stream.aclose()
        await redis.aclose()

    app = Starlette(routes=[Route("/runs/{key}", run)], lifespan=lifespan)
    uvicorn.run(app, port=int(port), log_level="critical", ws="none", timeout_graceful_shutdown=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
