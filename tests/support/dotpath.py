"""A second reader of the dot style, written from the design's sentence and not from `streamparse.paths`."""

from __future__ import annotations

import json
import re
from functools import lru_cache

_STEP = re.compile(r'\[(?P<index>[0-9]+)\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]|\.?(?P<word>[^.\[\]"*\s]+)', re.DOTALL)


@lru_cache(maxsize=100_000)
def read_dot(path: str) -> tuple[str | int, ...]:
    """The parts of a dot path. Raises `ValueError`."""
    parts: list[str | int] = []
    position = 0
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            raise ValueError(f"{path!r} is no dot path at {position}")
        if step["index"] is not None:
            parts.append(int(step["index"]))
        elif step["quoted"] is not None:
            key = json.loads(step["quoted"])
            if is_word(key):
                raise ValueError(f"{path!r} quotes a plain word")
            parts.append(key)
        else:
            if not is_word(step["word"]) or step[0].startswith(".") != bool(parts):
                raise ValueError(f"{path!r} has a bare key that is no plain word, or a dot too many or too few")
            parts.append(step["word"])
        position = step.end()
    return tuple(parts)


def is_word(key: str) -> bool:
    """Letters of any script, digits and `_`, no digit first."""
    return bool(key) and all(c == "_" or c.isalnum() for c in key) and not key[0].isnumeric()
