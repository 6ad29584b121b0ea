"""JSON that can always be written and read again: whole characters, and any depth.

pydantic writes 255 levels and reads 200; a document may have as many as `Limits.depth` says. What is deeper goes
through `write` and `read`, which have a stack of their own.
"""

from __future__ import annotations

import re
from json.encoder import encode_basestring
from typing import Any

from pydantic_core import to_jsonable_python

from .. import json_text

_SURROGATE = re.compile("[\ud800-\udfff]")


def whole_text(text: str) -> str:
    """`text` with surrogate halves that belong together joined, and U+FFFD for the others, so that it encodes to UTF-8.

    JSON may escape one character as two halves, and providers cut between them: the pieces of a stream hold halves.
    """
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def write(value: Any, indent: int | None = None) -> str:
    """`value` as JSON, as pydantic would write it; NaN and the infinities under these names."""
    return json_text.write(value, _scalar, indent)


def _scalar(value: Any) -> Any:
    if isinstance(value, str):
        return json_text.Written(encode_basestring(whole_text(value)))
    if value is None or isinstance(value, bool):
        return json_text.Written("null" if value is None else "true" if value else "false")
    if isinstance(value, int):
        return json_text.Written(json_text.write_int(value))
    if isinstance(value, float):
        text = float.__repr__(value)
        return json_text.Written({"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text, text))
    return to_jsonable_python(value)


def read(text: str) -> Any:
    """The value of a JSON text."""
    return json_text.read(text, "json5")  # strict JSON has no NaN
