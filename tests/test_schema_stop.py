"""`on_invalid="stop"` over a real connection: the provider sees the client hang up, and writes no more tokens."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from streamparse import wrap

httpx = pytest.importorskip("httpx")
openai = pytest.importorskip("openai")

TICK = 0.004
PATIENCE = 20.0


class Ticket(BaseModel):
    title: str
    severity: Literal["low", "high", "critical"]
    code: Annotated[str, Field(pattern=r"^[A-Z]{2}-\d+$")] = "AA-0"
    steps: list[str]


STEPS = ["look at the log files of every service that was running"] * 40


def answer(**changed: Any) -> list[str]:
    """An answer with its fault in its first tokens, in tokens of four characters."""
    text = json.dumps({"title": "Exports fail", "severity": "high", **changed, "steps": STEPS})
    return [text[at : at + 4] for at in range(0, len(text), 4)]


class Provider(ThreadingHTTPServer):
    """Writes `tokens` one by one, as Chat Completions does, until the client hangs up. `written` counts them."""

    daemon_threads = True

    def __init__(self, tokens: list[str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.tokens = tokens
        self.written = 0
        self.hung_up = threading.Event()
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            for token in self.server.tokens:
                if self.left():
                    break
                choice = {"index": 0, "delta": {"content": token}, "finish_reason": None}
                chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
                self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
                self.server.written += 1
            else:
                self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            self.server.hung_up.set()
        self.server.over.set()

    def left(self) -> bool:
        """Wait as long as a token takes. Whether the client has closed the connection."""
        readable, _, _ = select.select([self.connection], [], [], TICK)
        if readable and not self.connection.recv(1, socket.MSG_PEEK):
            self.server.hung_up.set()
        return self.server.hung_up.is_set()

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def serve() -> Iterator[Any]:
    servers: list[Provider] = []

    def start(tokens: list[str]) -> Provider:
        server = Provider(tokens)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


FAULTS = [
    ({"severity": "crazy"}, "severity"),
    ({"code": "AB-1x"}, "code"),
    ({"title": None}, "title"),
    ({"severity": ["high"]}, "severity"),
]


def call(client: str, url: str) -> Any:
    messages: Any = [{"role": "user", "content": "?"}]
    body = {"model": "m", "messages": messages, "stream": True}
    if client == "openai":
        made = openai.OpenAI(base_url=url, api_key="k", max_retries=0)
        return lambda: made.chat.completions.create(**body)
    return httpx.Client().stream("POST", url + "/chat/completions", json=body)


@pytest.mark.parametrize("client", ["openai", "httpx"])
@pytest.mark.parametrize(("changed", "path"), FAULTS, ids=lambda value: str(value))
def test_the_connection_is_closed_at_the_first_fault(serve: Any, client: str, changed: Any, path: str) -> None:
    tokens = answer(**changed)
    server = serve(tokens)
    result = wrap(call(client, server.url), output=Ticket, on_invalid="stop")
    messages = list(result.get_generator("all"))
    assert server.over.wait(PATIENCE)
    assert server.hung_up.is_set()
    assert [data.path for event, data in messages if event == "invalid"] == [path]
    response = result.response
    assert response is not None
    assert response.end_state == "cancelled"
    assert not response.complete
    # The fault lies in the first 25 tokens; what was under way when the client hung up is a few more.
    assert len(tokens) > 500
    assert server.written < 100


async def test_the_connection_is_closed_at_the_first_fault_async(serve: Any) -> None:
    tokens = answer(severity="crazy")
    server = serve(tokens)
    async with openai.AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0) as client:
        stream = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "?"}], stream=True)
        result = wrap(stream, output=Ticket, on_invalid="stop")
        seen = [data.path async for event, data in result.get_async_generator("all") if event == "invalid"]
        assert server.over.wait(PATIENCE)
    assert seen == ["severity"]
    assert server.hung_up.is_set()
    assert server.written < 100


@pytest.mark.parametrize("on_invalid", ["continue", "stop"])
def test_what_fits_or_is_only_told_is_read_to_its_end(serve: Any, on_invalid: Any) -> None:
    tokens = answer(**({"severity": "crazy"} if on_invalid == "continue" else {}))[:60]
    server = serve(tokens)
    result = wrap(call("openai", server.url), output=Ticket, on_invalid=on_invalid)
    assert "".join(result.get_generator("delta")) == "".join(tokens)
    assert server.over.wait(PATIENCE)
    assert server.written == len(tokens)
    assert not server.hung_up.is_set()
