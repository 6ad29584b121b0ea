"""pydantic-ai: the events of an agent's run, and of a model request, with an OpenAI server behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any

import pytest

from clients.checks import ClientTests, check_fields
from clients.packages import need
from clients.replies import ANSWER, CARD
from clients.server import Play, playing
from clients.wire import MODEL, OPENAI_CHAT
from streamparse import wrap
from streamparse.response import Response

pydantic_ai = need("pydantic-ai-slim")

direct = pytest.importorskip("pydantic_ai.direct")
messages = pytest.importorskip("pydantic_ai.messages")
models = pytest.importorskip("pydantic_ai.models.openai")
providers = pytest.importorskip("pydantic_ai.providers.openai")

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.usefixtures("no_leftovers"),
]

USAGE = {name: count for name, count in OPENAI_CHAT.usage.items() if name != "total_tokens"}


class TestModelRequest(ClientTests):
    # It has words of its own for the end, and no total among its counts.
    wire = replace(OPENAI_CHAT, reasons={"stop": "stop", "length": "length", "calls": "tool_call"}, usage=USAGE)
    interruptible = False

    def check_cut(self, response: Response, how: str) -> None:
        """Where the body ends too early, this client makes up a `stop`, so that only the open document tells of it. Of
        a broken connection it tells, but then neither id nor model.
        """
        if how == "ended":
            assert (response.finish_reason, response.complete) == ("stop", False)
            assert response.incomplete == ["status_summary", ""]
        else:
            assert (response.end_state, response.finish_reason, response.complete) == ("cut", None, False)

    @staticmethod
    def model(url: str) -> Any:
        return models.OpenAIChatModel(MODEL, provider=providers.OpenAIProvider(base_url=f"{url}/v1", api_key="none"))

    @contextmanager
    def sync_call(self, url: str) -> Iterator[Callable[[], Any]]:
        model = self.model(url)
        yield lambda: direct.model_request_stream_sync(
            model, [messages.ModelRequest.user_text_prompt("Triage order 1182.")]
        )

    @asynccontextmanager
    async def async_call(self, url: str) -> AsyncIterator[Callable[[], Any]]:
        model = self.model(url)
        yield lambda: direct.model_request_stream(model, [messages.ModelRequest.user_text_prompt("Triage order 1182.")])


async def test_the_events_of_an_agents_run() -> None:
    play = Play(body=OPENAI_CHAT.body(ANSWER))
    with playing(play) as provider:
        agent = pydantic_ai.Agent(TestModelRequest.model(provider.url))
        result = wrap(agent.run_stream_events("Triage order 1182."))
        events = [event async for event in result.get_async_generator(type="instant")]
    check_fields(events, CARD)
    response = result.response
    assert response is not None
    assert (response.text, response.reasoning, response.data) == (ANSWER.text, ANSWER.reasoning, CARD)
    assert (response.end_state, response.finish_reason, response.model) == ("complete", "stop", MODEL)
