"""The `python { .web }` blocks of the docs run, with the real framework, and serve what the page says they serve."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest
from test_docs_code import PAGES, ROOT, blocks_of, name_of

pytest.importorskip("uvicorn", reason="needs the extra `web`")
pytest.importorskip("sse_starlette", reason="needs the extra `web`")

from support.redis_server import SERVER, redis_server
from support.web import Page, frames_in, lines_of

pytestmark = pytest.mark.outside

DATA = {"title": "Rain in Spain", "tips": ["Take a coat.", "Wait."]}
PATIENCE = 30

# page -> the package that it needs
NEEDS = {
    "docs/web.md": "redis",
    "docs/how-to/fastapi.md": "fastapi",
    "docs/how-to/django.md": "django",
    "docs/how-to/flask.md": "flask",
}


def code_of(page: str) -> tuple[str, str]:
    """The code of a page, and what it prints."""
    blocks = blocks_of((ROOT / page).read_text(encoding="utf-8"))
    code = [block.text for block in blocks if ".web" in block.info]
    after = itertools.pairwise(blocks)
    return "\n".join(code), "".join(b.text for a, b in after if ".web" in a.info and b.language == "output")


@contextmanager
def running(page: str, folder: Path, *, change: Callable[[str], str] = str, **env: str) -> Iterator[str]:
    """The `app` of a page as a program of its own. Gives its URL. `change` changes the code before."""
    need = NEEDS[page]
    if find_spec(need) is None:
        pytest.skip(f"{need} is not installed")
    code, printed = code_of(page)
    code = change(code)
    serve = """
        import socket, sys
        listener = socket.create_server(("127.0.0.1", 0))
        print(f"port {listener.getsockname()[1]}", flush=True)
        """
    if page.endswith("flask.md"):
        serve += """
        from werkzeug.serving import make_server
        make_server("127.0.0.1", 0, app, threaded=True, fd=listener.fileno()).serve_forever()
        """
    else:
        serve += """
        import uvicorn
        config = uvicorn.Config(app, log_level="error", ws="none", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listener])
        """
    program = folder / "program.py"
    program.write_text(code + textwrap.dedent(serve), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, text=True, env={**os.environ, **env}
    )
    watchdog = threading.Timer(PATIENCE, process.kill)
    watchdog.start()
    try:
        assert process.stdout is not None
        lines: list[str] = []
        while not (lines and lines[-1].startswith("port ")):
            line = process.stdout.readline()
            assert line, f"{page} ended early: {lines}"
            lines.append(line)
        assert "".join(lines[:-1]) == printed
        yield f"http://127.0.0.1:{lines[-1].split()[1]}"
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


async def reading(
    client: httpx.AsyncClient, method: str, url: str, page: Page, until: int = 10**9, **options: Any
) -> Any:
    """Read frames into `page`, up to the frame `until`. Gives the answer."""
    async with client.stream(method, url, **options) as answer:
        answer.raise_for_status()
        async for frame in frames_in(lines_of(answer.aiter_bytes())):
            if frame.event != ":":
                page.take(frame)
            if page.last_id >= until:
                break
    return answer


@pytest.mark.parametrize("page", ["docs/how-to/fastapi.md", "docs/how-to/django.md", "docs/how-to/flask.md"])
async def test_a_run_is_begun_and_read_in_two_visits(page: str, tmp_path: Path) -> None:
    with running(page, tmp_path) as url:
        async with httpx.AsyncClient(trust_env=False, follow_redirects=True, timeout=PATIENCE) as client:
            shown = Page()
            options: dict[str, Any] = {"json": {"text": "Will it rain?"}} if "fastapi" in page else {}
            first = await reading(client, "POST", f"{url}/runs", shown, until=3, **options)
            assert first.history[0].status_code == 303
            assert first.headers["content-type"].startswith("text/event-stream")
            assert first.headers["x-accel-buffering"] == "no"
            assert not [name for name in first.headers if name.startswith("access-control")]
            assert shown.end is None
            await reading(client, "GET", str(first.url), shown, headers={"Last-Event-ID": str(shown.last_id)})
            assert shown.data == DATA
            assert shown.end["complete"] is True
            assert (await client.get(f"{url}/runs/unknown")).status_code == 404


@pytest.mark.parametrize("page", ["docs/how-to/fastapi.md", "docs/how-to/django.md", "docs/how-to/flask.md"])
async def test_fields_come_one_by_one(page: str, tmp_path: Path) -> None:
    """Nothing on the way holds the stream back until it is whole."""
    with running(page, tmp_path) as url:
        async with httpx.AsyncClient(trust_env=False, follow_redirects=True, timeout=PATIENCE) as client:
            options: dict[str, Any] = {"json": {"text": "Will it rain?"}} if "fastapi" in page else {}
            async with client.stream("POST", f"{url}/runs", **options) as answer:
                times = [time.monotonic() async for _ in answer.aiter_bytes()]
    # The model takes 160 ms for its answer.
    assert len(times) > 3
    assert times[-1] - times[0] > 0.08


async def test_the_browser_client_is_served(tmp_path: Path) -> None:
    with running("docs/how-to/fastapi.md", tmp_path) as url:
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(f"{url}/client.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "export function connect" in answer.text


@pytest.mark.parametrize("page", ["docs/how-to/fastapi.md", "docs/how-to/django.md"])
async def test_a_client_that_hangs_up_ends_the_run(page: str, tmp_path: Path) -> None:
    def slower(code: str) -> str:
        return code.replace("sleep(0.01)", "sleep(0.05)").replace("max_rate=30", "grace=0.05")

    with running(page, tmp_path, change=slower) as url:
        async with httpx.AsyncClient(trust_env=False, follow_redirects=True, timeout=PATIENCE) as client:
            shown = Page()
            options: dict[str, Any] = {"json": {"text": "Will it rain?"}} if "fastapi" in page else {}
            first = await reading(client, "POST", f"{url}/runs", shown, until=1, **options)
            await asyncio.sleep(1)
            await reading(client, "GET", str(first.url), shown, headers={"Last-Event-ID": str(shown.last_id)})
    assert shown.end["end_state"] == "cancelled"


@pytest.mark.skipif(SERVER is None, reason="no redis-server on this machine (Debian: redis-server)")
async def test_two_workers_with_redis(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with redis_server(tmp_path) as port:
        redis_url = f"redis://127.0.0.1:{port}"
        with (
            running("docs/web.md", tmp_path / "a", REDIS_URL=redis_url) as one,
            running("docs/web.md", tmp_path / "b", REDIS_URL=redis_url) as two,
        ):
            async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
                shown = Page()
                await reading(client, "GET", f"{one}/runs/x", shown, until=2)
                await reading(client, "GET", f"{two}/runs/x", shown, headers={"Last-Event-ID": str(shown.last_id)})
    assert shown.data == {"title": "Rain in Spain", "tips": ["Take a coat."]}
    assert shown.status == ["complete"]


def test_every_page_with_a_framework_is_run() -> None:
    found = {
        name_of(page) for page in PAGES if any(".web" in b.info for b in blocks_of(page.read_text(encoding="utf-8")))
    }
    assert found == NEEDS.keys()
