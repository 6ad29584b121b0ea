"""`litellm`: `completion` and `acompletion`, in front of an OpenAI and of an Anthropic server."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from clients.packages import need

# no list of prices from the network, no .env file; both are read at the first import
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_MODE", "PRODUCTION")

from clients.checks import ClientTests
from clients.wire import ANTHROPIC, MODEL, OPENAI_CHAT

litellm = need("litellm")

pytestmark = pytest.mark.filterwarnings("ignore")  # its imports come late, and warn in many ways

PROMPT: Any = [{"role": "user", "content": "Triage order 1182."}]


class TestOpenAI(ClientTests):
    wire = OPENAI_CHAT
    provider = "openai"

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
    wire = ANTHROPIC
    provider = "anthropic"
