"""Adapters: what an SDK's stream yields, turned into provider events. One module per shape; none imports an SDK.

    adapter = detect(first_chunks)          # by shape, or named("anthropic")
    events = adapter.feed(chunk)            # for each chunk
    events = adapter.close()                # the stream ended by itself; adapter.failed(exception) where it raised

To read a stream that is not listed, write an object with `feed(chunk)` and `close()` that return lists of provider
events (see `AdapterProtocol`; the class `Adapter` has a default for everything but the reading), and pass it as
`adapter=`, or `register` its class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from ..errors import UsageError
from ..provider import Error, ProviderEvent
from .anthropic import AnthropicAdapter
from .base import Adapter, get, is_data, is_dict
from .bedrock import BedrockAdapter
from .cohere import CohereAdapter, CohereV1Adapter
from .gemini import GeminiAdapter
from .interactions import InteractionsAdapter
from .langchain import LangChainAdapter
from .mistral import MistralChatAdapter, MistralConversationAdapter
from .ollama import OllamaAdapter
from .openai_chat import OpenAIChatAdapter
from .openai_responses import OpenAIResponsesAdapter
from .pydantic_ai import PydanticAIAdapter
from .text import EventsAdapter, TextAdapter

__all__ = ["LOOK_AHEAD", "Adapter", "AdapterProtocol", "detect", "named", "names", "recognises", "register"]

LOOK_AHEAD = 8
"""How many chunks `detect` wants to see at most before it must decide."""


@runtime_checkable
class AdapterProtocol(Protocol):
    """What the runner needs of an adapter. One adapter serves one run."""

    def feed(self, chunk: Any) -> list[ProviderEvent]:
        """The events of one chunk, in order; must not raise on what the provider sent."""
        ...

    def close(self) -> list[ProviderEvent]:
        """The last events, once the stream ended by itself. The runner adds `Result()` where none is terminal."""
        ...

    def opened(self, source: Any) -> list[ProviderEvent]:
        """What the object that is iterated tells before its first chunk."""
        ...

    def failed(self, error: BaseException) -> Error:
        """The terminal event for an exception that the iteration raised."""
        ...


# In the order in which `detect` asks; the shapes exclude one another, the cheap and frequent ones come first.
_ADAPTERS: list[type[Adapter]] = [
    TextAdapter,
    OpenAIChatAdapter,
    AnthropicAdapter,
    OpenAIResponsesAdapter,
    GeminiAdapter,
    BedrockAdapter,
    OllamaAdapter,
    CohereAdapter,
    MistralChatAdapter,
    MistralConversationAdapter,
    InteractionsAdapter,
    CohereV1Adapter,
    PydanticAIAdapter,
    LangChainAdapter,
    EventsAdapter,
]

# Services that speak the shape of another one.
_ALIASES: dict[str, str] = {
    "azure": "openai",
    "deepseek": "openai",
    "google": "gemini",
    "google-genai": "gemini",
    "groq": "openai",
    "litellm": "openai",
    "llamacpp": "openai",
    "openai-chat": "openai",
    "openrouter": "openai",
    "perplexity": "openai",
    "responses": "openai-responses",
    "vertex": "gemini",
    "vllm": "openai",
    "xai": "openai",
}


def names() -> list[str]:
    """The names that `named` knows, sorted."""
    return sorted({kind.name for kind in _ADAPTERS} | _ALIASES.keys())


def named(name: str) -> Adapter:
    """A new adapter by name. Raises `UsageError` that lists the known ones."""
    wanted = _ALIASES.get(name, name)
    for kind in _ADAPTERS:
        if kind.name == wanted:
            return kind()
    raise UsageError(f"unknown adapter {name!r}", expected=", ".join(names()))


def register(kind: type[Adapter]) -> None:
    """Let `detect` and `named` know an adapter class: it is asked first, and replaces one of the same name."""
    _ADAPTERS[:] = [kind, *(known for known in _ADAPTERS if known.name != kind.name)]


def recognises(chunk: Any) -> bool:
    """Whether `chunk` is a structured chunk (a dict or an SDK object, no text) of a known shape."""
    return is_data(chunk) and any(kind.matches(chunk) for kind in _ADAPTERS)


def detect(chunks: Sequence[Any], *, last: bool = False) -> Adapter | None:
    """The adapter for a stream that begins with `chunks`, decided by the shape of the first chunk that tells.

    None: these do not tell yet (empty dicts, a bare error), give more. With `last`, or at `LOOK_AHEAD` chunks, the
    answer is final: an adapter that keeps unknown chunks and reads errors, for a stream that held nothing else, or
    nothing at all (its end is no end mark, so that it counts as cut). Raises `UsageError` for an object of no known
    shape: it names its type, its fields, and what to do.
    """
    for chunk in chunks:
        for kind in _ADAPTERS:
            if kind.matches(chunk):
                return kind()
        if not _is_silent(chunk):
            raise _unknown(chunk)
    return OpenAIChatAdapter() if last or len(chunks) >= LOOK_AHEAD else None


def _is_silent(chunk: Any) -> bool:
    """Whether a chunk belongs to no shape because it says nothing of its own: an empty one, or a bare error."""
    return isinstance(chunk, dict) and (
        not chunk or "error" in chunk or "error" in (get(chunk, "type"), get(chunk, "object"))
    )


def _unknown(chunk: Any) -> UsageError:
    shown = f"{type(chunk).__module__}.{type(chunk).__qualname__}".removeprefix("builtins.")
    if is_dict(chunk):
        fields = "keys: " + ", ".join(repr(str(key)) for key in list(chunk)[:12])
    else:
        public = [name for name in dir(chunk) if not name.startswith("_") and not name.startswith("model_")]
        fields = "attributes: " + (", ".join(public[:24]) or "none")
    wanted = "str or bytes, a provider event, or a chunk of " + ", ".join(sorted({kind.name for kind in _ADAPTERS}))
    return UsageError(
        f"cannot read a stream of {shown} ({fields})",
        expected=wanted,
        hint=(
            'Name the shape with adapter="openai" (or another name), or pass an adapter of your own: an object with '
            "feed(chunk) and close() that return lists of provider events, see streamparse.adapters.Adapter."
        ),
    )
