"""LangChain: a chat model's `stream` and `astream`, with `langchain-openai` behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any, ClassVar

from clients.checks import ClientTests, check_fields
from clients.packages import need
from clients.replies import ANSWER, CARD
from clients.server import Play, playing
from clients.wire import MODEL, OPENAI_CHAT, RESPONSES
from streamparse import wrap
from streamparse.response import Response

need("langchain-core")
langchain_openai = need("langchain-openai")


class TestChat(ClientTests):
    wire = replace(OPENAI_CHAT, reasoning=False)  # it drops reasoning that is not OpenAI's own
    interruptible = False
    kinds: ClassVar[dict[str, Any]] = {"stream_usage": True}

    def check_head(self, response: Response) -> None:
        """The id is LangChain's own, of its run: it does not tell the provider's."""
        assert response.id is not None
        assert response.id.startswith("lc_run-")
        assert response.model in (MODEL, None if response.end_state == "cut" else MODEL)  # told at the end

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
    kinds: ClassVar[dict[str, Any]] = {"use_responses_api": True}

    def check_head(self, response: Response) -> None:
        assert response.id == RESPONSES.id
        assert response.model == (None if response.end_state == "cut" else MODEL)  # told at the end


async def test_the_dicts_of_astream_events() -> None:
    with playing(Play(body=OPENAI_CHAT.body(ANSWER))) as provider:
        model = TestChat().model(provider.url)
        result = wrap(model.astream_events("Triage order 1182.", version="v2"))
        events = [event async for event in result.get_async_generator(type="instant")]
    check_fields(events, CARD)
    response = result.response
    assert response is not None
    assert (response.text, response.data, response.finish_reason) == (ANSWER.text, CARD, "stop")
    assert response.end_state == "complete"
