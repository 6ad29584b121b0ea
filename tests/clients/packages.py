"""Which client packages are here, in which version."""

from __future__ import annotations

import sys
from importlib import metadata, util
from typing import Any

import pytest

# distribution -> module; the first two are in the extra `test`, the others in the extra `clients`
REQUIRED = {"openai": "openai", "anthropic": "anthropic"}
OTHERS = {
    "google-genai": "google.genai",
    "mistralai": "mistralai",
    "cohere": "cohere",
    "ollama": "ollama",
    "groq": "groq",
    "boto3": "boto3",
    "litellm": "litellm",
    "langchain-core": "langchain_core",
    "langchain-openai": "langchain_openai",
    "pydantic-ai-slim": "pydantic_ai",
    "httpx": "httpx",
    "requests": "requests",
    "aiohttp": "aiohttp",
}


def version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def header() -> str:
    """One line for the head of a test run: a newer client that breaks something is then seen at once."""
    known = {name: version(name) for name in (*REQUIRED, *OTHERS)}
    there = ", ".join(f"{name} {number}" for name, number in known.items() if number)
    missing = ", ".join(name for name, number in known.items() if not number)
    return f"clients: {there}" + (f"; NOT INSTALLED, their tests are skipped: {missing}" if missing else "")


def need(distribution: str) -> Any:
    """The module of a client package; skips the test module, with the reason, where it is not installed."""
    module = (REQUIRED | OTHERS)[distribution]
    if version(distribution) is None:
        python = ".".join(map(str, sys.version_info[:2]))
        pytest.skip(
            f"{distribution} is not installed on Python {python}: pip install 'streamparse-llm[clients]'",
            allow_module_level=True,
        )
    assert util.find_spec(module.split(".")[0]) is not None
    return pytest.importorskip(module)
