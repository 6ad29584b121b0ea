"""`litellm`: `completion` and `acompletion`, in front of an OpenAI and of an Anthropic server."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any

import pytest

from clients.packages import need

# no list of prices from the network, no .env file; both are read at the first import
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_MODE", "PRODUCTION")

from clients.checks import ClientTests
from clients.wire import ANTHROPIC, MODEL, OPENAI_CHAT
from streamparse.response import Response

litellm = need("litellm")

# its imports come late, and warn in many ways
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("no_leftovers")]

PROMPT: Any = [{"role": "user", "content": "Triage order 1182."}]


class TestOpenAI(ClientTests):
    wire = OPENAI_CHAT
    interruptible = False
    provider = "openai"

    def check_cut(self, response: Response, how: str) -> None:
        """This client notices itself that the finish reason is missing, and raises."""
        assert (response.end_state, response.complete) == ("error", False)
        assert (response.finish_reason, response.raw_finish_reason) == ("error", None)
        assert "finish_reason" in response.metadata["error"] or how == "broken"
        self.check_head(response)

    def options(self, url: str) -> dict[str, Any]:
        return {
            "model": f"{self.provider}/{MODEL}",
            "messages": PROMPT,
            "api_base": url,
            "api_key": "none",
            "stream": True,
            "stream_options": {"include_usage": True},
            "num_retries": 0,
        }

    @contextmanager
    def sync_call(self, url: str) -> Iterator[Callable[[], Any]]:
        yield lambda: litellm.completion(**self.options(url))

    @asynccontextmanager
    async def async_call(self, url: str) -> AsyncIterator[Callable[[], Any]]:
        yield lambda: litellm.acompletion(**self.options(url))


class TestAnthropic(TestOpenAI):
    # It translates everything to OpenAI's shape, reasons included.
    wire = replace(ANTHROPIC, reasons=OPENAI_CHAT.reasons)

    def check_head(self, response: Response) -> None:
        """The id is its own."""
        assert response.id is not None
        assert response.id.startswith("chatcmpl-")
        assert response.model == MODEL

    def check_usage(self, response: Response) -> None:
        """It counts cached tokens among those of the prompt, and guesses those of the reasoning."""
        assert response.usage is not None
        given = response.usage.model_dump(exclude_none=True, exclude={"extra", "reasoning_tokens"})
        assert given == {"input_tokens": 12 + 3, "cached_input_tokens": 3, "output_tokens": 34, "total_tokens": 15 + 34}

    provider = "anthropic"
