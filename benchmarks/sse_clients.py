"""Many clients at one server: frames lost, memory per client, delay.

    python -m benchmarks.sse_clients [--clients 1000] [--streams 1] [--rate 20] [--seconds 20] [--redis URL]

A server (uvicorn, one process) and its clients (another process, one event loop) on one machine. Each run sends
`--rate` deltas a second for `--seconds` seconds; each delta holds the time at which the source gave it, so that a
client can tell how old it is when it has it: what the clients take for their own reading counts too. `--streams` says
on how many runs the clients are spread, `--reconnect` how often each client hangs up in the middle and comes back with
`Last-Event-ID`. Memory is the resident set of the server, before and with the clients.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def serve(port: int, rate: float, seconds: float, redis_url: str | None) -> None:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    import streamparse
    from streamparse.web import EventStream, RedisLog

    streams: dict[str, EventStream] = {}
    go = asyncio.Event()

    async def source() -> AsyncIterator[str]:
        await go.wait()
        begin = time.monotonic()
        yield '{"sent": "'
        for number in range(int(rate * seconds)):
            await asyncio.sleep(max(0.0, begin + number / rate - time.monotonic()))
            yield f"{time.monotonic():.6f}"
        yield '"}'

    def make() -> streamparse.StreamResult[Any]:
        return streamparse.wrap(source(), replay=False)

    async def run(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in streams:
            if redis_url is None:
                log = None
            else:
                from redis.asyncio import Redis

                log = RedisLog(Redis.from_url(redis_url), f"bench-{os.getpid()}-{name}")
            streams[name] = EventStream(make, log=log)
        return streams[name].response(request)

    async def state(request: Request) -> Response:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        cpu = resource.getrusage(resource.RUSAGE_SELF)
        return JSONResponse(
            {
                "clients": sum(stream.clients for stream in streams.values()),
                "bytes": pages * resource.getpagesize(),
                "cpu": cpu.ru_utime + cpu.ru_stime,
            }
        )

    async def start(request: Request) -> Response:
        go.set()
        return JSONResponse({})

    app = Starlette(routes=[Route("/runs/{name}", run), Route("/state", state), Route("/go", start)])
    uvicorn.run(app, port=port, log_level="critical", ws="none", backlog=4096)


@dataclass
class Client:
    """What one client got."""

    last_id: int = 0
    lost: int = 0
    twice: int = 0
    ended: bool = False
    visits: int = 0
    delays: list[float] = field(default_factory=list[float])

    def take(self, event: bytes, at: float) -> None:
        if not event.startswith(b"id: "):
            return  # a heartbeat
        number = int(event[4 : event.index(b"\n")])
        if number <= self.last_id:
            self.twice += 1
            return
        self.lost += number - self.last_id - 1
        self.last_id = number
        self.ended = b"\nevent: end\n" in event
        delta = event.rpartition(b'"delta":"')[2]
        if len(delta) < len(event):
            self.delays.append(at - float(delta[: delta.index(b'"')]))


async def follow(client: Client, port: int, path: str, hang_ups: list[int]) -> None:
    while not client.ended:
        client.visits += 1
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        header = f"Last-Event-ID: {client.last_id}\r\n" if client.last_id else ""
        writer.write(f"GET {path} HTTP/1.1\r\nHost: bench\r\n{header}\r\n".encode())
        try:
            await reader.readuntil(b"\r\n\r\n")
            while not client.ended:
                size = int(await reader.readline(), 16)
                if not size:
                    break
                piece = await reader.readexactly(size + 2)
                at = time.monotonic()
                for event in piece[:-2].split(b"\n\n"):
                    client.take(event, at)
                if hang_ups and client.last_id >= hang_ups[0]:
                    hang_ups.pop(0)
                    break
        finally:
            writer.close()


async def ask(port: int, path: str) -> dict[str, Any]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    value: dict[str, Any] = json.loads(answer.partition(b"\r\n\r\n")[2])
    return value


async def measure(port: int, options: argparse.Namespace) -> None:
    for _ in range(200):
        try:
            before = await ask(port, "/state")
            break
        except OSError:
            await asyncio.sleep(0.05)
    else:
        sys.exit("the server did not start")
    await ask(port, "/state")
    frames = int(options.rate * options.seconds)
    clients = [Client() for _ in range(options.clients)]
    tasks: list[asyncio.Task[None]] = []
    for number, client in enumerate(clients):
        step = frames // (options.reconnect + 1)
        hang_ups = [step * (at + 1) - number % max(1, step // 2) for at in range(options.reconnect)]
        tasks.append(asyncio.create_task(follow(client, port, f"/runs/{number % options.streams}", hang_ups)))
        if number % 50 == 0:
            await asyncio.sleep(0.01)
    while (connected := await ask(port, "/state"))["clients"] < options.clients:
        await asyncio.sleep(0.1)
    await ask(port, "/go")
    await asyncio.sleep(options.seconds * 0.8)
    running = await ask(port, "/state")
    await asyncio.gather(*tasks)
    after = await ask(port, "/state")

    delays = sorted(delay for client in clients for delay in client.delays)
    last = {client.last_id for client in clients}
    visits = sum(client.visits for client in clients)
    received = sum(client.last_id for client in clients)
    grown = [(now["bytes"] - before["bytes"]) / options.clients / 1024 for now in (connected, running)]
    cost = (after["cpu"] - connected["cpu"]) / received
    percent = statistics.quantiles(delays, n=100)
    print(f"machine            load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"clients            {options.clients} on {options.streams} run(s), {visits} connections")
    print(f"frames             {received:,} received, the last id of each: {last}")
    print(f"frames lost        {sum(client.lost for client in clients)}")
    print(f"frames twice       {sum(client.twice for client in clients)}")
    print(f"memory per client  {grown[0]:.1f} KiB connected, {grown[1]:.1f} KiB while it streams")
    print(f"processor, server  {cost * 1e6:.1f} µs per frame and client")
    print(
        "delay of a delta   p50 {:.1f} ms, p99 {:.1f} ms, most {:.1f} ms".format(
            *(1000 * one for one in (percent[49], percent[98], delays[-1]))
        )
    )
    if any(client.lost or client.twice for client in clients) or len(last) != 1:
        sys.exit("frames were lost, or came twice")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("--rate", type=float, default=20)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--reconnect", type=int, default=0)
    parser.add_argument("--redis")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.rate, options.seconds, options.redis)
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < options.clients + 100:
        sys.exit(f"{options.clients} clients need as many open files, this machine allows {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-m", "benchmarks.sse_clients", "--serve", str(port), *sys.argv[1:]])
    try:
        asyncio.run(measure(port, options))
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
