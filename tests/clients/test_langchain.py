"""LangChain: a chat model's `stream` and `astream`, with `langchain-openai` behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from clients.checks import ClientTests
from clients.packages import need
from clients.wire import MODEL, OPENAI_CHAT, RESPONSES

need("langchain-core")
langchain_openai = need("langchain-openai")


class TestChat(ClientTests):
    wire = OPENAI_CHAT
    kinds: dict[str, Any] = {"stream_usage": True}

    def model(self, url: str) -> Any:
        return langchain_openai.ChatOpenAI(
            model=MODEL, base_url=f"{url}/v1", api_key="none", max_retries=0, **self.kinds
        )

    @contextmanager
    def sync_call(self, url: str) -> Iterator[Callable[[], Any]]:
        model = self.model(url)
        yield lambda: model.stream("Triage order 1182.")

    @asynccontextmanager
    async def async_call(self, url: str) -> AsyncIterator[Callable[[], Any]]:
        model = self.model(url)
        yield lambda: model.astream("Triage order 1182.")


class TestResponses(TestChat):
    wire = RESPONSES
    kinds: dict[str, Any] = {"use_responses_api": True}
