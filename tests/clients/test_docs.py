"""The `python { .client }` blocks of docs/adapters run, with the real client, and print what the page says."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from test_docs_code import PAGES, Block, blocks_of

from clients import wire
from clients.packages import version
from clients.replies import Reply
from clients.server import Play, playing

FOLDER = Path(__file__).parents[2] / "docs" / "adapters"
TEXT = json.dumps({"status_summary": "Order 1182 is late.", "risk_flags": ["refund", "churn"], "priority": 2})
REPLY = Reply(text=TEXT, reasoning="Late since Monday.")

# page -> the package that it needs, and the wire format that answers it
NEEDS: dict[str, tuple[str, wire.Wire]] = {
    "openai.md": ("openai", wire.RESPONSES),
    "anthropic.md": ("anthropic", wire.ANTHROPIC),
    "google.md": ("google-genai", wire.GEMINI),
    "mistral.md": ("mistralai", wire.MISTRAL),
    "cohere.md": ("cohere", wire.COHERE),
    "ollama.md": ("ollama", wire.OLLAMA),
    "groq.md": ("groq", wire.GROQ),
    "bedrock.md": ("boto3", wire.BEDROCK),
    "litellm.md": ("litellm", wire.OPENAI_CHAT),
    "langchain.md": ("langchain-openai", wire.OPENAI_CHAT),
    "pydantic-ai.md": ("pydantic-ai-slim", wire.OPENAI_CHAT),
    "http.md": ("httpx", wire.OPENAI_CHAT),
}
# a second class of a block -> its wire format
OTHERS = {".interactions": wire.INTERACTIONS}


def client_blocks(page: Path) -> list[tuple[Block, Block | None]]:
    """The blocks that need a client, each with the block after it."""
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    return [(block, after) for block, after in zip_longest(blocks, blocks[1:]) if ".client" in block.info]


@pytest.fixture
def point(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Let every client find a server that plays a wire format."""
    with ExitStack() as stack:

        def to(package: str, spoken: wire.Wire) -> None:
            play = Play(body=spoken.body(REPLY), content_type=spoken.content_type)
            url = stack.enter_context(playing(play)).url
            addresses = {
                "OPENAI_BASE_URL": f"{url}/v1",
                "ANTHROPIC_BASE_URL": url,
                "GOOGLE_GEMINI_BASE_URL": url,
                "OLLAMA_HOST": url,
                "GROQ_BASE_URL": url,
                "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": url,
                "AWS_DEFAULT_REGION": "eu-central-1",
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            }
            keys = ("OPENAI", "ANTHROPIC", "GEMINI", "CO", "GROQ")
            secrets = {f"{name}_API_KEY": "none" for name in keys}
            secrets |= {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"}
            for name, value in (addresses | secrets).items():
                monkeypatch.setenv(name, value)
            if package == "cohere":  # it reads its variable only once, when it is imported
                cohere = _module("cohere")
                monkeypatch.setattr(cohere, "ClientV2", partial(cohere.ClientV2, base_url=url))
            if package == "mistralai":  # it has no variable for its address
                for name in ("mistralai.client.sdkconfiguration", "mistralai.sdkconfiguration"):
                    if (module := _module(name)) is not None:
                        for region in module.SERVERS:
                            monkeypatch.setitem(module.SERVERS, region, url)

        yield to


def _module(name: str) -> Any:
    try:
        return __import__(name, fromlist=["_"])
    except ImportError:
        return None


@pytest.mark.usefixtures("no_leftovers")
# short programs leave their clients open until they end
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NEEDS)
def test_page(name: str, point: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    package, spoken = NEEDS[name]
    if version(package) is None:
        pytest.skip(f"{package} is not installed")
    page = FOLDER / name
    module = types.ModuleType("docs_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    blocks = client_blocks(page)
    assert blocks
    playing_now: wire.Wire | None = None
    for block, after in blocks:
        wanted = next((other for mark, other in OTHERS.items() if mark in block.info), spoken)
        if wanted is not playing_now:
            point(package, wanted)
            module.__dict__.pop("client", None)
            playing_now = wanted
            if wanted is not spoken:
                exec(compile(_client_of(blocks), str(page), "exec", dont_inherit=True), module.__dict__)
        code = compile("\n" * (block.line - 1) + block.text, str(page), "exec", dont_inherit=True)
        exec(code, module.__dict__)
        printed = capsys.readouterr().out
        assert after is not None
        assert after.language == "output"
        assert printed == after.text, f"{name}, line {after.line}"


def _client_of(blocks: list[tuple[Block, Block | None]]) -> str:
    """The line of the first block that makes the client: a client keeps its address."""
    return next(line for line in blocks[0][0].text.splitlines() if line.startswith("client = "))


def test_every_page_with_a_client_is_run() -> None:
    assert {page.name for page in PAGES if client_blocks(page)} == NEEDS.keys()
