"""Live models for the demo page: those whose key is in the environment and whose official client is installed."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

from .triage import prompt

_MAX_TOKENS: Final = 2000


class Provider(NamedTuple):
    """A provider. `ask(model, text)` streams the answer of a model to a prompt."""

    id: str
    name: str
    key: str
    model_variable: str
    default_model: str
    ask: Callable[[str, str], AsyncGenerator[Any, None]]

    @property
    def model(self) -> str:
        """The model that is asked: the environment may name another one."""
        return os.environ.get(self.model_variable) or self.default_model

    def triage(self, ticket: str) -> AsyncGenerator[Any, None]:
        """Stream the triage of this ticket."""
        return self.ask(self.model, prompt(ticket))


async def _openai(model: str, text: str) -> AsyncGenerator[Any, None]:
    async with import_module("openai").AsyncOpenAI() as client:
        stream = await client.chat.completions.create(
            model=model,
            messages=[{"role": "user", "content": text}],
            stream=True,
            stream_options={"include_usage": True},
        )
        async with stream:
            async for chunk in stream:
                yield chunk


async def _anthropic(model: str, text: str) -> AsyncGenerator[Any, None]:
    async with import_module("anthropic").AsyncAnthropic() as client:
        stream = await client.messages.create(
            model=model, messages=[{"role": "user", "content": text}], max_tokens=_MAX_TOKENS, stream=True
        )
        async with stream:
            async for event in stream:
                yield event


PROVIDERS: Final = (
    Provider("openai", "OpenAI", "OPENAI_API_KEY", "OPENAI_MODEL", "gpt-4.1-mini", _openai),
    Provider("anthropic", "Anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_MODEL", "claude-haiku-4-5", _anthropic),
)


def available() -> dict[str, Provider]:
    """The providers that can be asked now, by their id."""
    return {
        provider.id: provider
        for provider in PROVIDERS
        if os.environ.get(provider.key) and find_spec(provider.id) is not None
    }
