"""The Python code of the README and of the docs runs, and prints what the page says it prints.

* The `python` blocks of a page run in order and share their names.
* An `output` block directly below a `python` block is what that block prints.
* A `python { .no-run }` block is not run; `NO_RUN` says how many each page may have.
* A `python { .client }` block needs a client that may be missing: tests/clients/test_docs.py runs it. A `.web` block
  needs a web framework: tests/test_web_docs.py runs it. A `.app` block needs a toolkit of user interfaces:
  tests/test_docs_apps.py runs it.
* The official clients talk to a server in this process, which plays one reply in the provider's own wire format.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import types
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

# page -> number of its blocks that do not run. A page is listed here only with a reason beside it.
NO_RUN: dict[str, int] = {}

FENCE = re.compile(r"(?P<indent> *)(?P<marks>`{3,}|~{3,})(?P<info>.*)")


@dataclass
class Block:
    """One fenced block: `line` is the number of its first line of code, `info` what stands behind the opening fence."""

    line: int
    info: str
    text: str
    follows: bool  # nothing but blank lines between the block before it and this one

    @property
    def language(self) -> str:
        return self.info.split(" ", 1)[0]

    @property
    def runs(self) -> bool:
        return self.language == "python" and not self.runs_elsewhere and ".no-run" not in self.info

    @property
    def runs_elsewhere(self) -> bool:
        return any(where in self.info for where in (".client", ".web", ".app"))


def blocks_of(markdown: str) -> list[Block]:
    blocks: list[Block] = []
    opening: re.Match[str] | None = None
    code: list[str] = []
    start, follows = 0, False
    for number, line in enumerate(markdown.split("\n"), 1):
        fence = FENCE.fullmatch(line)
        if opening is None:
            if fence:
                opening, code, start = fence, [], number + 1
            elif line.strip():
                follows = False
        elif fence and fence["marks"].startswith(opening["marks"]) and not fence["info"].strip():
            text = "".join(line.removeprefix(opening["indent"]) + "\n" for line in code)
            blocks.append(Block(start, opening["info"].strip(), text, follows))
            opening, follows = None, True
        else:
            code.append(line)
    assert opening is None, f"the fence opened above line {start} is never closed"
    return blocks


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


REPLY = {"status_summary": "Order 1182 is late.", "risk_flags": ["refund", "churn"], "priority": 2}


def openai_frames(pieces: list[str]) -> Iterator[str]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5.4"}

    def choice(delta: dict[str, str], finish: str | None) -> list[dict[str, Any]]:
        return [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]

    usage = {"prompt_tokens": 12, "completion_tokens": 34, "total_tokens": 46}
    chunks = [choice({"role": "assistant", "content": ""}, None)]
    chunks += [choice({"content": piece}, None) for piece in pieces]
    chunks += [choice({}, "stop")]
    for choices in chunks:
        yield f"data: {json.dumps({**head, 'choices': choices, 'usage': None})}\n\n"
    yield f"data: {json.dumps({**head, 'choices': [], 'usage': usage})}\n\n"
    yield "data: [DONE]\n\n"


def anthropic_frames(pieces: list[str]) -> Iterator[str]:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5-5",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 12, "output_tokens": 1},
    }
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    events += [{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}]
    for piece in pieces:
        delta = {"type": "text_delta", "text": piece}
        events += [{"type": "content_block_delta", "index": 0, "delta": delta}]
    events += [{"type": "content_block_stop", "index": 0}]
    events += [{"type": "message_delta", "delta": end, "usage": {"output_tokens": 34}}, {"type": "message_stop"}]
    for event in events:
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


FRAMES = {"/v1/chat/completions": openai_frames, "/v1/messages": anthropic_frames}


class Provider(BaseHTTPRequestHandler):
    """Answers every request for a stream with `REPLY`, in pieces of five characters."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        frames = FRAMES.get(self.path.partition("?")[0])
        if frames is None or request.get("stream") is not True:
            self.send_error(404, "only streams are played here")
            return
        text = json.dumps(REPLY)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for frame in frames([text[at : at + 5] for at in range(0, len(text), 5)]):
            self.wfile.write(frame.encode())

    def log_message(self, *args: object) -> None:
        """Keep the request log out of the test's output."""


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", address)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.usefixtures("provider")
# a page may leave its client open until the program ends, as short programs do
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
# the clients warn about model names that have become old
@pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_page(page: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = types.ModuleType("docs_page")  # a real module, so that dataclasses, pydantic and pickle find its names
    monkeypatch.setitem(sys.modules, module.__name__, module)
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    for number, block in enumerate(blocks):
        if not block.runs:
            continue
        # blank lines in front make the line numbers of a traceback those of the page
        code = compile("\n" * (block.line - 1) + block.text, str(page), "exec", dont_inherit=True)
        exec(code, module.__dict__)
        printed = capsys.readouterr().out
        after = blocks[number + 1] if number + 1 < len(blocks) else None
        if after and after.language == "output":
            assert printed == after.text, f"{name_of(page)}, line {after.line}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_is_one_that_is_checked(page: Path) -> None:
    before: Block | None = None
    for block in blocks_of(page.read_text(encoding="utf-8")):
        place = f"{name_of(page)}, line {block.line}"
        assert block.language not in {"", "py", "python3", "pycon"}, f"{place}: fence Python code as `python`"
        if block.language == "output":
            assert before is not None, f"{place}: output of no block"
            assert before.runs or before.runs_elsewhere, f"{place}: output of a block that is not run"
            assert block.follows, f"{place}: output does not directly follow its block"
        before = block


def test_blocks_that_do_not_run_are_listed() -> None:
    found = Counter(
        name_of(page)
        for page in PAGES
        for block in blocks_of(page.read_text(encoding="utf-8"))
        if block.language == "python" and not block.runs and not block.runs_elsewhere
    )
    assert dict(found) == NO_RUN


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/how-to/openai.md", "docs/how-to/anthropic.md"])
def test_the_main_pages_have_code_that_runs(page: str) -> None:
    blocks = blocks_of((ROOT / page).read_text(encoding="utf-8"))
    assert any(block.runs for block in blocks)
    assert any(block.language == "output" for block in blocks)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_pictures_in_html_are_there(page: Path) -> None:
    """The build of the docs checks those in Markdown only."""
    for name in re.findall(r'(?:src|srcset)="([^"]+)"', page.read_text(encoding="utf-8")):
        assert (page.parent / name).is_file(), name


def test_blocks_are_found() -> None:
    page = (
        "text\n```python\na = 1\n```\n\n```output\n1\n```\n    ~~~python { .no-run }\n    if a:\n        b\n    ~~~\n"
        "````markdown\n```python\nc\n```\n````\n"
    )
    assert blocks_of(page) == [
        Block(3, "python", "a = 1\n", False),
        Block(7, "output", "1\n", True),
        Block(10, "python { .no-run }", "if a:\n    b\n", True),
        Block(14, "markdown", "```python\nc\n```\n", True),
    ]
