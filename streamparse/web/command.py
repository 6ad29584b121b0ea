"""What `streamparse serve` and `streamparse demo --web` run."""

from __future__ import annotations

import logging
import socket
import sys
import threading
import webbrowser
from typing import Final

import uvicorn

from ..errors import UsageError
from . import live
from .demo import application

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_EVERYWHERE: Final = ("", "0.0.0.0", "::")
_GRACE: Final = 1  # seconds that open streams may keep the server from ending


def serve(*, host: str = "127.0.0.1", port: int = 8000, demo: bool = False) -> None:
    """Serve the demo page until the command is interrupted. `demo` opens it in the browser; port 0 is any free one.

    Models whose key is in the environment can be asked only where the server listens on this machine alone.
    Raises `UsageError` where it cannot listen.
    """
    try:
        host.encode("idna")
    except UnicodeError:  # what the socket would say of a name with an empty part, say, or one that is too long
        hint = "Choose another one with --host."
        raise UsageError(f"cannot listen on {host!r}, which is no name of a host", hint=hint) from None
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        hint = "Choose another one with --port; 0 takes a free one."
        raise UsageError(f"cannot listen on {host}, port {port}: {error.strerror or error}", hint=hint) from None
    with listener:
        is_local = host in _LOOPBACK
        app = application(
            names=None if host in _EVERYWHERE else {*_LOOPBACK, host.lower()},
            providers=live.available() if is_local else {},
        )
        shown = "127.0.0.1" if host in _EVERYWHERE else host
        address = f"http://{f'[{shown}]' if ':' in shown else shown}:{listener.getsockname()[1]}/"
        sys.stdout.write(f"The page is at {address} (Ctrl-C ends it)\n")
        sys.stdout.flush()
        if demo:
            # In a thread of its own: a browser in the terminal returns only when it is closed.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        # Ctrl-C ends streams in the middle, which is nothing to report.
        logging.getLogger("uvicorn.error").addFilter(lambda record: "without completing" not in record.getMessage())
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=_GRACE)
        uvicorn.Server(config).run(sockets=[listener])
