"""A provider on the loopback device: it plays one body, in awkward pieces, and sees when the client hangs up."""

from __future__ import annotations

import itertools
import json
import select
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# Sizes of the pieces that go out, round and round: they part characters of several bytes, line ends, names, frames.
SPLITS = (1, 2, 1, 3, 7, 1, 31, 2, 5, 127, 1, 13, 511)
PATIENCE = 60.0
"""Seconds that a server waits for a client to hang up."""

TICK = 0.02


@dataclass(frozen=True, kw_only=True)
class Play:
    """What is sent. `cut`: the connection breaks after so many bytes. `hold`: after so many bytes nothing more comes,
    until the client hangs up; but for one more piece after `nudge` seconds.
    """

    body: bytes
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    status: int = 200
    cut: int | None = None
    hold: int | None = None
    nudge: float | None = None
    splits: tuple[int, ...] = SPLITS

    def pieces(self) -> Iterator[bytes]:
        end = min(at for at in (self.cut, self.hold, len(self.body)) if at is not None)
        at = 0
        for size in itertools.cycle(self.splits):
            if at >= end:
                return
            yield self.body[at : min(at + size, end)]
            at += size


@dataclass
class Provider:
    """A running server. `requests` are the bodies that came in, `hung_up` is set when a client leaves in the middle."""

    url: str
    requests: list[Any] = field(default_factory=list[Any])
    paths: list[str] = field(default_factory=list[str])
    hung_up: threading.Event = field(default_factory=threading.Event)
    stopping: threading.Event = field(default_factory=threading.Event)

    def saw_the_client_leave(self) -> bool:
        return self.hung_up.wait(PATIENCE / 2)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    play: Play
    provider: Provider

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.provider.requests.append(json.loads(sent) if sent else None)
        self.do_GET()

    def do_GET(self) -> None:
        self.provider.paths.append(self.path)
        self.close_connection = True
        try:
            self._answer()
        except OSError:
            self.provider.hung_up.set()

    def _answer(self) -> None:
        play = self.play
        self.send_response(play.status)
        self.send_header("Content-Type", play.content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        for name, value in play.headers.items():
            self.send_header(name, value)
        self.end_headers()
        for piece in play.pieces():
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if play.hold is not None:
            self._wait_until_left(play, play.hold)
        elif play.cut is None:
            self.wfile.write(b"0\r\n\r\n")
        else:
            time.sleep(0.1)  # some clients drop what they have not read yet when they see that the connection broke

    def _wait_until_left(self, play: Play, sent: int) -> None:
        for tick in range(int(PATIENCE / TICK)):
            if self.provider.stopping.is_set():
                return
            if play.nudge is not None and tick == int(play.nudge / TICK):
                piece = play.body[sent : sent + 1024]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            if select.select([self.connection], [], [], TICK)[0]:
                assert not self.connection.recv(64), "the client talks on"
                raise ConnectionAbortedError

    def log_message(self, *args: object) -> None:
        """Keep the request log out of the test's output."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is what some tests are about."""


@contextmanager
def playing(play: Play) -> Iterator[Provider]:
    """A server that answers every request with `play`."""
    provider = Provider("")
    handler = type("Handler", (_Handler,), {"play": play, "provider": provider})
    server = _Server(("127.0.0.1", 0), handler)
    provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield provider
    finally:
        provider.stopping.set()
        server.shutdown()
        thread.join()
        server.server_close()
