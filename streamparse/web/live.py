"""Live models for the demo page: those whose key is in the environment and whose official client is installed."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

from .triage import prompt

_MAX_TOKENS: Final = 2000


class Provider(NamedTuple):
    """A provider. `ask` begins the stream of its answer to a prompt: `await ask(model, text)`."""

    id: str
    name: str
    key: str
    model_variable: str
    default_model: str
    ask: Callable[[str, str], Awaitable[Any]]

    @property
    def model(self) -> str:
        """The model that is asked: the environment may name another one."""
        return os.environ.get(self.model_variable) or self.default_model

    def __call__(self, ticket: str) -> Awaitable[Any]:
        """Begin the triage of this ticket."""
        return self.ask(self.model, prompt(ticket))


async def _openai(model: str, text: str) -> Any:
    client = import_module("openai").AsyncOpenAI()
    return await client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": text}], stream=True, stream_options={"include_usage": True}
    )


async def _anthropic(model: str, text: str) -> Any:
    client = import_module("anthropic").AsyncAnthropic()
    return await client.messages.create(
        model=model, messages=[{"role": "user", "content": text}], max_tokens=_MAX_TOKENS, stream=True
    )


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
