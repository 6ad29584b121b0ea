"""`mistralai`: `chat.stream`, and conversations."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from clients.checks import ClientTests, Seen
from clients.packages import need
from clients.replies import BROKEN
from clients.wire import MISTRAL, MISTRAL_CONVERSATION, MODEL

need("mistralai")

try:
    from mistralai.client import Mistral
except ImportError:  # before version 2
    from mistralai import Mistral  # type: ignore[attr-defined, no-redef]

PROMPT: Any = [{"role": "user", "content": "Triage order 1182."}]


class TestChat(ClientTests):
    wire = MISTRAL
    bodies = ("mistral-chat-*.sse",)
    captures = ("mistral-chat-*.sse",)

    def check_error(self, seen: Seen) -> None:
        """A chat says that it failed by its finish reason, without a word of why; nothing is raised."""
        assert (seen.response.finish_reason, seen.response.raw_finish_reason) == ("error", "error")
        assert (seen.response.end_state, seen.response.complete) == ("error", False)
        assert seen.response.data == json.loads(BROKEN.text + '"}')

    @staticmethod
    def ask(client: Any) -> Any:
        return client.chat.stream(model=MODEL, messages=PROMPT)

    @staticmethod
    def ask_async(client: Any) -> Any:
        return client.chat.stream_async(model=MODEL, messages=PROMPT)

    @contextmanager
    def sync_call(self, url: str) -> Iterator[Callable[[], Any]]:
        with Mistral(server_url=url, api_key="none") as client:
            yield lambda: self.ask(client)

    @asynccontextmanager
    async def async_call(self, url: str) -> AsyncIterator[Callable[[], Any]]:
        async with Mistral(server_url=url, api_key="none") as client:
            yield lambda: self.ask_async(client)


class TestConversations(TestChat):
    wire = MISTRAL_CONVERSATION
    test_length = None  # its events do not say why the model stopped
    bodies = ("mistral-conversation.sse",)
    captures = ()
    check_error = ClientTests.check_error

    @staticmethod
    def ask(client: Any) -> Any:
        return client.beta.conversations.start_stream(model=MODEL, inputs="Triage order 1182.")

    @staticmethod
    def ask_async(client: Any) -> Any:
        return client.beta.conversations.start_stream_async(model=MODEL, inputs="Triage order 1182.")
