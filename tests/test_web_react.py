"""The React hooks beside the browser client, in headless Chromium with React itself."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.outside import CLIENT, chromium, missing

import streamparse

pytest.importorskip("uvicorn", reason="needs the extra `web`")
pytest.importorskip("sse_starlette", reason="needs the extra `web`")

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route
from support.web import serving

from streamparse.web import EventStream

pytestmark = pytest.mark.outside

MODULES = Path(os.environ.get("STREAMPARSE_NODE_MODULES") or Path(__file__).parent / "node" / "node_modules")

PAGE = """<!doctype html><title>hooks</title>
<script src="react/umd/react.development.js"></script>
<script src="react-dom/umd/react-dom.development.js"></script>
<script type="importmap">{"imports": {"react": "./shim.js"}}</script>
<div id="root"></div>
<script type="module">
import { useField, useReply, useWhole } from "./react.js";
const h = React.createElement;
window.drawn = { title: 0, other: 0 };

function Text({ reply, path, name }) {
  const field = useField(reply, path);
  drawn[name]++;
  return h("p", { id: name, "data-state": field?.state ?? "waiting" }, field?.text);
}
function Tree({ reply }) {
  const whole = useWhole(reply);
  return h("pre", { id: "tree" }, whole && JSON.stringify([whole.tree, whole.done, whole.connection]));
}
function App() {
  const [shown, show] = React.useState(true);
  const reply = useReply("reply");
  window.hide = () => show(false);
  window.reply = reply;
  if (!shown) return h("p", { id: "gone" }, "gone");
  return h(React.Fragment, null, h(Text, { reply, path: "title", name: "title" }),
    h(Text, { reply, path: "other", name: "other" }), h(Tree, { reply }));
}
ReactDOM.createRoot(document.getElementById("root")).render(h(React.StrictMode, null, h(App)));
</script>"""
SHIM = "export const { useCallback, useEffect, useState, useSyncExternalStore } = globalThis.React;"
VALUE = {"title": "Rain in Späin 🌧 " * 10, "other": "x"}


async def slowly(text: str, may_end: threading.Event) -> AsyncIterator[str]:
    """The text in pieces; its second half only when it may."""
    for at in range(0, len(text), 3):
        await anyio.sleep(0.005)
        while at > len(text) / 2 and not may_end.is_set():
            await anyio.sleep(0.01)
        yield text[at : at + 3]


def test_hooks_draw_what_changed() -> None:
    """A component grows with its field, is not drawn for another one, and not once a delta; strict mode included."""
    lacking = [name for name in ("react", "react-dom") if not (MODULES / name / "umd").is_dir()]
    if lacking:
        missing(f"{MODULES} lacks {', '.join(lacking)} 18: npm install --no-package-lock --prefix tests/node")
    may_end = threading.Event()
    stream = EventStream(streamparse.wrap(slowly(json.dumps(VALUE), may_end), adapter="text"))

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        if name == "favicon.ico":
            return Response(status_code=204)
        if name == "shim.js":
            return Response(SHIM, media_type="text/javascript")
        folder = CLIENT.parent if name in ("react.js", "client.js") else MODULES
        return FileResponse(folder / name, media_type="text/javascript")

    async def page_of(request: Request) -> Response:
        return HTMLResponse(PAGE)

    async def reply(request: Request) -> Response:
        return stream.response(request)

    app = Starlette(routes=[Route("/", page_of), Route("/reply", reply), Route("/{name:path}", asset)])
    with serving(app) as server, chromium() as browser:
        page = browser.new_page()
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.goto(server.url)
        page.wait_for_selector('#title[data-state="growing"]')
        grown = page.inner_text("#title")
        assert VALUE["title"].startswith(grown)
        may_end.set()
        page.wait_for_selector('#other[data-state="done"]')
        page.wait_for_function("JSON.parse(document.getElementById('tree').textContent)[1]")
        assert json.loads(page.inner_text("#tree")) == [VALUE, True, "closed"]
        assert page.text_content("#title") == VALUE["title"]
        drawn = page.evaluate("drawn")
        deltas = sum(1 for one in range(0, len(json.dumps(VALUE)), 3))
        assert 4 < drawn["title"] < 3 * deltas  # strict mode draws twice
        assert drawn["other"] < 16
        page.evaluate("hide()")
        page.wait_for_selector("#gone")
        assert page.evaluate("reply.connection") == "closed"
        assert problems == []
