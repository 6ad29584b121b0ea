"""What all client tests share: no proxy, no retry delays, and nothing of the caller's own keys."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

pytest.register_assert_rewrite("clients.checks")


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)

    def look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        assert host in ("127.0.0.1", "localhost", None), f"a client wants to talk to {host!r}"
        return real(host, *args, **kwargs)

    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", look_up)


_TLS = ssl.create_default_context()


@pytest.fixture(autouse=True)
def one_tls_context(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loopback device needs no TLS, but every new client would read all certificates of the machine again."""

    def create(*args: Any, **kwargs: Any) -> ssl.SSLContext:
        return _TLS

    monkeypatch.setattr(ssl, "create_default_context", create)


@pytest.fixture(scope="module")
def no_leftovers() -> Iterator[None]:
    """Some clients keep event loops and sockets until the garbage collector finds them: that warns here, not later."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asyncio.set_event_loop(None)
        gc.collect()
