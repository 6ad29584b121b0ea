"""Raw HTTP: the responses of `httpx`, `requests` and `aiohttp`, as they come, with each provider's body in them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from clients import wire
from clients.checks import ClientTests
from clients.packages import need
from clients.replies import ANSWER
from clients.server import Play
from streamparse import ProviderError

httpx = need("httpx")

WIRES = {
    "openai": wire.OPENAI_CHAT,
    "responses": wire.RESPONSES,
    "anthropic": wire.ANTHROPIC,
    "gemini": wire.GEMINI,
    "interactions": wire.INTERACTIONS,
    "mistral": wire.MISTRAL,
    "mistral-conversation": wire.MISTRAL_CONVERSATION,
    "cohere": wire.COHERE,
    "ollama": wire.OLLAMA,
    "ollama-generate": wire.OLLAMA_GENERATE,
    "bedrock": wire.BEDROCK,
    "bedrock-invoke": wire.BEDROCK_INVOKE,
}
JSON: dict[str, Any] = {"stream": True}


class TestHttpx(ClientTests):
    """`client.stream(...)`, a context manager."""

    wire = wire.OPENAI_CHAT
    bodies = ("*.sse", "*.ndjson", "*.aws", "*.array.json")

    @contextmanager
    def sync_call(self, url: str) -> Iterator[Callable[[], Any]]:
        with httpx.Client() as client:
            yield lambda: client.stream("POST", url, json=JSON)

    @asynccontextmanager
    async def async_call(self, url: str) -> AsyncIterator[Callable[[], Any]]:
        async with httpx.AsyncClient() as client:
            yield lambda: client.stream("POST", url, json=JSON)

    @pytest.mark.parametrize("mode", ["sync", "async"])
    @pytest.mark.parametrize("name", WIRES)
    def test_every_provider(self, name: str, mode: str) -> None:
        spoken = WIRES[name]
        seen = self.read(mode, Play(body=spoken.body(ANSWER), content_type=spoken.content_type))
        assert seen.error is None
        assert (seen.response.text, seen.response.reasoning) == (ANSWER.text, ANSWER.reasoning)
        assert seen.response.complete
        assert (seen.response.id, seen.response.model) == (spoken.id, spoken.model)

    @pytest.mark.parametrize("mode", ["sync", "async"])
    def test_a_page_of_an_error_is_no_answer(self, mode: str) -> None:
        page = b"<!DOCTYPE html>\n<html><body><h1>502 Bad Gateway</h1></body></html>\n"
        seen = self.read(mode, Play(body=page, content_type="text/html", status=502))
        assert isinstance(seen.error, ProviderError)
        assert "<!DOCTYPE html>" in str(seen.error)
        assert (seen.response.end_state, seen.events) == ("error", [])

    @pytest.mark.parametrize("content_type", ["text/event-stream", "application/x-ndjson"])
    @pytest.mark.parametrize("mode", ["sync", "async"])
    def test_a_body_of_another_type_than_it_says(self, mode: str, content_type: str) -> None:
        seen = self.read(mode, Play(body=wire.BEDROCK.body(ANSWER), content_type=content_type))
        assert isinstance(seen.error, ProviderError)
        assert "messageStart" in str(seen.error)  # the first line of what came
        assert (seen.response.end_state, seen.response.text) == ("error", "")

    @pytest.mark.parametrize("content_type", ["text/plain", "application/octet-stream", ""])
    @pytest.mark.parametrize("mode", ["sync", "async"])
    def test_a_type_that_says_nothing(self, mode: str, content_type: str) -> None:
        for spoken in (wire.OPENAI_CHAT, wire.OLLAMA, wire.BEDROCK):
            seen = self.read(mode, Play(body=spoken.body(ANSWER), content_type=content_type))
            assert (seen.error, seen.response.text) == (None, ANSWER.text)

    @pytest.mark.parametrize("mode", ["sync", "async"])
    def test_half_a_frame_at_the_end(self, mode: str) -> None:
        body = self.wire.body(ANSWER)
        body = body[: len(body) // 2]
        assert not body.endswith(b"\n")
        seen = self.read(mode, Play(body=body))
        assert isinstance(seen.error, ProviderError)
        assert ANSWER.text.startswith(seen.response.text)
        assert len(seen.response.text) > 50  # what came before it is kept
        assert seen.response.end_state == "error"


class TestHttpxResponse(TestHttpx):
    """The response of `client.send(..., stream=True)`."""

    @contextmanager
    def sync_call(self, url: str) -> Iterator[Callable[[], Any]]:
        with httpx.Client() as client:
            yield lambda: client.send(client.build_request("POST", url, json=JSON), stream=True)

    @asynccontextmanager
    async def async_call(self, url: str) -> AsyncIterator[Callable[[], Any]]:
        async with httpx.AsyncClient() as client:
            yield lambda: client.send(client.build_request("POST", url, json=JSON), stream=True)
