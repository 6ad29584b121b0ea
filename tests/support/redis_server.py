"""A redis-server of the tests' own, on the loopback device, that keeps nothing."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

SERVER = shutil.which("redis-server")
PATIENCE = 60.0


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(OSError), closing(socket.create_connection(("127.0.0.1", port), 1)):
            return
        time.sleep(0.05)
    raise AssertionError(f"nothing listens on {port}")


@contextmanager
def redis_server(folder: Path) -> Iterator[int]:
    """Gives its port."""
    assert SERVER is not None
    port = free_port()
    args = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder)]
    process = subprocess.Popen([SERVER, *args], stdout=subprocess.DEVNULL)
    try:
        wait_for(port)
        yield port
    finally:
        process.kill()
        process.wait()
