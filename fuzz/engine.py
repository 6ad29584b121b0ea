"""One run of atheris over one target, started by `python -m fuzz`.

    python -m fuzz.engine TARGET FAULTS-FOLDER LIBFUZZER-OPTIONS...

The engine would end at the first fault, and find the same one again. So each *kind* of fault (where it was raised, and
what differed) is saved once, as small as its input can be made, and the run goes on. A crash of the process or a
time-out still ends it.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from .targets import TARGETS, Target
from .twins import load_twin

atheris: Any = importlib.import_module("atheris")  # has no types

# The coverage of the interpreted twin guides: it is the one that is imported, all of it now. The compiled machine gives
# no coverage, and the Python round it is the same: that twin is only run.
os.environ["STREAMPARSE_PURE"] = "1"
with atheris.instrument_imports(include=["streamparse"]):
    for module in ("streamparse.captures", "streamparse.result"):
        importlib.import_module(module)
load_twin("compiled")

SHRINK_SECONDS = 10


def kind_of(target: Target, data: bytes) -> str | None:
    """What is wrong with the input, without what is particular to it; None when nothing is."""
    try:
        target(data)
    except Exception as error:  # noqa: BLE001  # whatever escapes is a fault
        frames = traceback.extract_tb(error.__traceback__)
        places = [
            f"{Path(frame.filename).name}:{frame.name}"
            for frame in frames
            if "streamparse" in frame.filename or "targets" in frame.filename
        ]
        return f"{type(error).__name__} at {' > '.join(places[-3:])} {getattr(error, 'kind', '')}"
    return None


def shrunk(target: Target, data: bytes, kind: str) -> bytes:
    """The input without what it can do without, in a bounded time."""
    end = time.monotonic() + SHRINK_SECONDS
    size = len(data) // 2
    while size and time.monotonic() < end:
        at = 0
        while at < len(data) and time.monotonic() < end:
            shorter = data[:at] + data[at + size :]
            if kind_of(target, shorter) == kind:
                data = shorter
            else:
                at += size
        size //= 2
    return data


class Saver:
    """The target for the engine: saves the faults, and lets nothing through."""

    def __init__(self, target: Target, folder: Path) -> None:
        self.target = target
        self.folder = folder
        self.seen: dict[str, int] = {}

    def __call__(self, data: bytes) -> None:
        kind = kind_of(self.target, data)
        if kind is None:
            return
        self.seen[kind] = self.seen.get(kind, 0) + 1
        if self.seen[kind] > 1:
            return
        data = shrunk(self.target, data, kind)
        name = hashlib.sha256(kind.encode()).hexdigest()[:12]
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(data)
        print(f"FAULT {name}: {kind}\n  input {data!r}", flush=True)
        try:
            self.target(data)
        except Exception as error:  # noqa: BLE001  # as above
            print("  " + str(error)[:1500].replace("\n", "\n  "), flush=True)


if __name__ == "__main__":
    atheris.Setup([sys.argv[0], *sys.argv[3:]], Saver(TARGETS[sys.argv[1]], Path(sys.argv[2])))
    atheris.Fuzz()
