"""The server of the demo page: what it plays, what it refuses, and the commands that start it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
import pytest
from clients.server import Play, playing

import streamparse

pytest.importorskip("uvicorn", reason="needs the extra `web`")
pytest.importorskip("sse_starlette", reason="needs the extra `web`")

from support.processes import heed_ctrl_c
from support.web import Served, page_of, read_all, serving

from streamparse.web.demo import MAX_UPLOAD, application
from streamparse.web.live import PROVIDERS, available
from streamparse.web.triage import Triage, prompt

RECORDING = files("streamparse") / "demo" / "triage.sse"
NAMES = ("127.0.0.1", "localhost")
FAST = "speed=0"


def recorded() -> str:
    """What the model wrote in the recording, read without our own decoder."""
    lines = RECORDING.read_text("utf-8").split("\n")
    chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])


TEXT = recorded()
DOCUMENT = json.loads(TEXT.split("```json\n")[1].split("\n```")[0])


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serving(application(names=NAMES)) as served:
        yield served


@pytest.fixture
async def client(server: Served) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=20) as made:
        yield made


async def begin(client: httpx.AsyncClient, path: str, **options: Any) -> str:
    """Start a run; gives its address."""
    answer = await client.post(path, **options)
    assert answer.status_code == 303, answer.text
    return str(answer.url.join(answer.headers["location"]))


# ---- the page


async def test_the_page_has_all_its_files_and_a_strict_policy(client: httpx.AsyncClient) -> None:
    """No inline script or style, nothing from elsewhere: not in the files, and the policy forbids it."""
    page = await client.get("/")
    policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert page.headers["x-content-type-options"] == "nosniff"

    found: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            attributes = dict(attrs)
            assert tag != "style"
            assert not [name for name in attributes if name.startswith("on") or name == "style"]
            assert tag != "script" or "src" in attributes
            for name in ("src", "href"):
                value = attributes.get(name)
                if value and not value.startswith("#"):
                    found.append(value)

    Reader().feed(page.text)
    assert set(found) == {"icon.svg", "page.css", "page.js"}
    imported = re.findall(r'from "\./(.+?)"', (await client.get("/page.js")).text)
    assert sorted(imported) == ["card.js", "client.js"]
    for name in {*found, *imported}:
        answer = await client.get(f"/{name}")
        assert answer.status_code == 200
        assert "://" not in answer.text.replace("http://www.w3.org/2000/svg", ""), name


def test_scripts_never_make_markup() -> None:
    """What a model writes becomes text nodes only."""
    folder = files("streamparse.web")
    for file in (folder / "client.js", folder / "page" / "page.js", folder / "page" / "card.js"):
        text = file.read_text("utf-8")
        markup = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|DOMParser"
        assert not re.findall(markup, text)


# ---- runs


async def test_the_recording_is_played(client: httpx.AsyncClient) -> None:
    page = page_of(await read_all(await begin(client, f"/play?{FAST}")))
    assert page.data == DOCUMENT
    assert page.reasoning == TEXT.split("</think>")[0].removeprefix("<think>\n").rstrip("\n")
    assert page.end["complete"]


async def test_the_raw_text_comes_with_it_and_one_field_does_not_fit(client: httpx.AsyncClient) -> None:
    frames = await read_all(await begin(client, f"/play?{FAST}"))
    assert "".join(frame.data["text"] for frame in frames if frame.event == "original_delta") == TEXT
    assert [frame.data["path"] for frame in frames if frame.event == "invalid"] == ["next_steps[2].minutes"]
    with pytest.raises(ValueError, match=r"next_steps\.2\.minutes"):
        Triage.model_validate(DOCUMENT)


async def test_a_part_of_the_recording_is_cut(client: httpx.AsyncClient) -> None:
    frames = await read_all(await begin(client, f"/play?{FAST}&end=0.6"))
    page = page_of(frames)
    text = "".join(frame.data["text"] for frame in frames if frame.event == "original_delta")
    assert TEXT.startswith(text)
    assert 0.4 * len(TEXT) < len(text) < 0.8 * len(TEXT)
    assert not page.end["complete"]
    assert page.end["end_state"] == "cut"
    assert page.end["incomplete"][-1] == ""
    assert page.cut


async def test_speed_is_that_of_a_model(client: httpx.AsyncClient) -> None:
    """Some 470 chunks, 50 a second: at a speed of 10 about a second."""
    address = await begin(client, "/play?speed=10")
    began = time.monotonic()
    await read_all(address)
    assert 0.7 < time.monotonic() - began < 6


async def test_a_run_pauses_and_goes_on_at_another_speed(client: httpx.AsyncClient) -> None:
    address = await begin(client, "/play?speed=4")
    async with httpx.AsyncClient(trust_env=False, timeout=20) as other, other.stream("GET", address) as stream:
        seen = 0
        pieces = stream.aiter_raw()
        while seen < 500:
            seen += len(await anext(pieces))
        assert (await client.post(f"{address}?paused=true")).status_code == 204
        with pytest.raises(httpx.ReadTimeout):
            await other.get(f"{address}", timeout=0.6)  # a second reader is as far as the first, and waits
        assert (await client.post(f"{address}?paused=false&speed=0")).status_code == 204
    page = page_of(await read_all(address))
    assert page.data == DOCUMENT


async def test_a_client_comes_back_to_the_same_run(client: httpx.AsyncClient) -> None:
    address = await begin(client, f"/play?{FAST}")
    frames = await read_all(address)
    rest = await read_all(address, headers={"Last-Event-ID": "100"})
    assert rest == frames[100:]


async def test_curl_may_start_a_run_by_get(client: httpx.AsyncClient) -> None:
    answer = await client.get(f"/play?{FAST}", follow_redirects=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.startswith("id: 1\n")


async def test_the_oldest_runs_are_forgotten(client: httpx.AsyncClient) -> None:
    oldest = await begin(client, f"/play?{FAST}")
    await read_all(oldest)
    for _ in range(16):
        await begin(client, "/play?speed=1")
    assert (await client.get(oldest)).status_code == 404


@pytest.mark.parametrize("query", ["speed=-1", "speed=1e9", "speed=nan", "speed=x", "end=2"])
async def test_numbers_are_checked(client: httpx.AsyncClient, query: str) -> None:
    answer = await client.post(f"/play?{query}")
    assert answer.status_code == 400
    assert query.split("=")[0] in answer.text


# ---- captures of one's own


@pytest.mark.parametrize("body", [RECORDING.read_bytes(), TEXT.encode(), json.dumps(DOCUMENT).encode()], ids=len)
async def test_a_capture_is_played(client: httpx.AsyncClient, body: bytes) -> None:
    page = page_of(await read_all(await begin(client, f"/upload?{FAST}", content=body)))
    assert page.data == DOCUMENT
    assert page.end["complete"]


async def test_a_capture_that_is_broken_says_so_after_what_is_whole(client: httpx.AsyncClient) -> None:
    body = RECORDING.read_bytes()
    half = body[: body.index(b"[DONE]") // 2]
    half = half[: half.rindex(b"\n\n") + 2] + b'data: {"broken\n\n' + body[-100:]
    page = page_of(await read_all(await begin(client, f"/upload?{FAST}", content=half)))
    assert page.error is not None
    assert page.data["priority"] == DOCUMENT["priority"]
    assert not page.end["complete"]


@pytest.mark.parametrize("announced", [True, False], ids=["with its length", "in chunks"])
async def test_a_body_that_is_too_large_is_refused(client: httpx.AsyncClient, announced: bool) -> None:
    async def body() -> AsyncIterator[bytes]:
        for _ in range(MAX_UPLOAD // 65536 + 1):
            yield b" " * 65536

    content: Any = b" " * (MAX_UPLOAD + 1) if announced else body()
    answer = await client.post("/upload", content=content)
    assert answer.status_code == 413
    assert str(MAX_UPLOAD) in answer.text


async def test_a_client_that_goes_while_it_sends_is_nothing_to_report() -> None:
    messages = iter([{"type": "http.request", "body": b"half", "more_body": True}, {"type": "http.disconnect"}])
    scope = {"type": "http", "method": "POST", "path": "/upload", "query_string": b"", "headers": [(b"host", b"x")]}
    sent: list[Any] = []

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message)

    await application()(scope, receive, send)
    assert sent[0]["status"] == 400


# ---- other origins


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
    ],
    ids=str,
)
async def test_other_origins_start_nothing(client: httpx.AsyncClient, headers: dict[str, str]) -> None:
    address = await begin(client, "/play?speed=1")
    for path in ("/play", "/upload", "/live", address):
        answer = await client.post(path, headers=headers)
        assert answer.status_code == 403
        assert not [name for name in answer.headers if name.startswith("access-control")]
    if headers.get("Sec-Fetch-Mode") != "navigate":
        assert (await client.get("/play", headers=headers)).status_code == 403


async def test_no_answer_may_be_read_by_another_origin(client: httpx.AsyncClient) -> None:
    """CORS is closed: a preflight gets nothing, and no answer has a header that opens it."""
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    answers = [await client.options("/upload", headers=asked), await client.get("/"), await client.get("/sources")]
    answers.append(await client.get(f"/play?{FAST}", follow_redirects=True))
    for answer in answers:
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


async def test_links_from_elsewhere_lead_to_the_page(client: httpx.AsyncClient) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert (await client.get("/", headers=headers)).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "["])
async def test_another_name_for_this_address_is_refused(client: httpx.AsyncClient, host: str) -> None:
    """DNS rebinding: a page elsewhere points its own name to this machine."""
    assert (await client.get("/", headers={"Host": host})).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9", "127.0.0.1:8000"])
async def test_its_own_names_are_known(client: httpx.AsyncClient, host: str) -> None:
    assert (await client.get("/", headers={"Host": host})).status_code == 200


# ---- live models


def test_models_need_a_key_and_a_client(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS:
        monkeypatch.delenv(provider.key, raising=False)
    assert available() == {}
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    assert list(available()) == ["openai"]


async def test_without_a_key_nothing_is_asked(client: httpx.AsyncClient) -> None:
    assert (await client.get("/sources")).json() == {"live": [], "max_upload": MAX_UPLOAD}
    for body in ({"provider": "openai", "ticket": "x"}, {}, [], {"provider": [], "ticket": "x"}):
        assert (await client.post("/live", json=body)).status_code == 400
    assert (await client.post("/live", content=b"{" * 100_000)).status_code == 413


@pytest.mark.parametrize("name", ["openai", "anthropic"])
async def test_a_model_is_asked_and_its_answer_checked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the official client, and a provider on the loopback device that answers with a triage."""
    pytest.importorskip(name)
    answer = json.dumps(DOCUMENT)
    with playing(Play(body=stream_of(name, answer).encode())) as provider:
        for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setenv(f"{name.upper()}_API_KEY", "sk-none")
        monkeypatch.setenv(f"{name.upper()}_BASE_URL", provider.url)
        monkeypatch.setenv(f"{name.upper()}_MODEL", "a-model")
        with serving(application(names=NAMES, providers=available())) as served:
            async with httpx.AsyncClient(base_url=served.url, trust_env=False, timeout=20) as client:
                assert name in [one["id"] for one in (await client.get("/sources")).json()["live"]]
                address = await begin(client, "/live", json={"provider": name, "ticket": "Where is order 1182?"})
                page = page_of(await read_all(address))
                assert (await client.post(f"{address}?speed=2")).status_code == 409
    assert page.data == DOCUMENT
    (request,) = provider.requests
    assert request["model"] == "a-model"
    assert request["messages"] == [{"role": "user", "content": prompt("Where is order 1182?")}]
    assert "Where is order 1182?" in request["messages"][0]["content"]
    assert "risk_flags" in request["messages"][0]["content"]


def stream_of(name: str, text: str) -> str:
    """The body of a provider that writes `text`."""
    pieces = [text[at : at + 5] for at in range(0, len(text), 5)]
    if name == "openai":
        base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "a-model"}
        choices = [{"index": 0, "delta": {"content": piece}, "finish_reason": None} for piece in pieces]
        choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
        return "".join(f"data: {json.dumps({**base, 'choices': [one]})}\n\n" for one in choices) + "data: [DONE]\n\n"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "a-model", "usage": usage}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": one}} for one in pieces),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


# ---- the commands


class Command:
    """A command that serves, until the block is left: then it gets Ctrl-C."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "streamparse", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
            preexec_fn=heed_ctrl_c,
        )

    def __enter__(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"http://\S+/", line)
        assert found is not None, line + (self.process.stderr.read() if self.process.stderr else "")
        return found[0]

    def __exit__(self, *error: object) -> None:
        self.process.send_signal(signal.SIGINT)
        self.out, self.errors = self.process.communicate(timeout=15)


posix = pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")


@posix
def test_serve_tells_its_address_and_ends_quietly() -> None:
    command = Command("serve", "--port", "0", OPENAI_API_KEY="", ANTHROPIC_API_KEY="")
    with command as address:
        assert "<title>streamparse demo</title>" in httpx.get(address, trust_env=False).text
        with httpx.stream("POST", f"{address}play", follow_redirects=True, trust_env=False, timeout=10) as stream:
            assert next(stream.iter_bytes())
        # a client that is reading does not keep it from ending
        reader = socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1].strip("/"))))
        run = str(stream.url).rsplit("/", 1)[1]
        reader.sendall(f"GET /runs/{run} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        assert reader.recv(1000)
    reader.close()
    assert command.process.returncode == 130
    assert command.errors == ""


@posix
def test_demo_opens_the_browser(tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o755)
    code = "from streamparse.web.command import serve; serve(port=0, demo=True)"
    environment = {**os.environ, "BROWSER": f"{browser} %s"}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        for _ in range(200):
            if opened.exists():
                break
            time.sleep(0.05)
        process.terminate()
    assert opened.read_text().strip() in line
    assert opened.read_text().startswith("http://127.0.0.1:")


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "streamparse", "serve", "--port", port]
        run = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert run.returncode == 2
    assert f"cannot listen on 127.0.0.1, port {port}" in run.stderr
    assert "--port" in run.stderr


@pytest.mark.parametrize("host", ["é..x", "a" * 300])
def test_a_host_that_cannot_be_one_is_told(host: str) -> None:
    from streamparse.web.command import serve

    with pytest.raises(streamparse.UsageError, match="host"):
        serve(host=host, port=0)


def test_what_listens_for_other_machines_asks_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reaches the server would spend its owner's money."""
    import uvicorn

    from streamparse.web import command

    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    apps: list[Any] = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: apps.append(self.config.app))
    monkeypatch.setattr(command, "application", lambda **options: options)
    pytest.importorskip("openai")
    for host in ("0.0.0.0", "127.0.0.1"):
        command.serve(host=host, port=0)
    everywhere, here = apps
    assert everywhere == {"names": None, "providers": {}}
    assert list(here["providers"]) == ["openai"]
    assert "localhost" in here["names"]
    with pytest.raises(streamparse.UsageError, match=r"cannot listen on 203\.0\.113\.1"):
        command.serve(host="203.0.113.1", port=0)
