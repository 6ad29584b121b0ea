"""One implementation of the machine in a process of its own: reads `{"chunks": [...], "options": {...}}` lines, answers
with outcomes.

Run as `python -m support.worker`; `STREAMPARSE_PURE` decides which twin it is. Its first line names the module of the
events.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


class Worker:
    """A running worker. `implementation` is the module that its events come from."""

    def __init__(self, *, pure: bool) -> None:
        environment = {**os.environ, "STREAMPARSE_PURE": "1" if pure else "0", "PYTHONIOENCODING": "utf-8"}
        folder = str(Path(__file__).parents[1])
        environment["PYTHONPATH"] = os.pathsep.join([folder, *filter(None, [environment.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
            encoding="utf-8",
        )
        self.implementation = self._read()

    def run(self, chunks: list[str], options: dict[str, Any]) -> str:
        """The outcome, as text."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"chunks": chunks, "options": options}) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the worker died; its traceback is on stderr"
        answer = json.loads(line)
        assert isinstance(answer, str)
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def main() -> None:
    """Answer until the input ends."""
    from streamparse import StreamingData

    from .runner import run

    print(json.dumps(StreamingData.__module__), flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        print(json.dumps(repr(run(job["chunks"], **job["options"]))), flush=True)


if __name__ == "__main__":
    main()
