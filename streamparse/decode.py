"""Bytes to text: incremental UTF-8, cut at any byte.

Bytes that are no UTF-8 become a lone low surrogate (as in PEP 383), so that the stage that knows the place can say what
it means: an error in the strict dialect, U+FFFD with a diagnostic elsewhere. Halves of a surrogate pair that arrive in
two `str` chunks are joined here.
"""

from __future__ import annotations

import codecs
import re
from typing import Any

from .errors import UsageError

_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def _keep_invalid(error: UnicodeError) -> tuple[str, int]:
    """One surrogate for each run of bytes that U+FFFD stands for (the "maximal subpart" of the Unicode standard)."""
    assert isinstance(error, UnicodeDecodeError)
    return chr(0xDC00 + error.object[error.start]), error.end


INVALID = "streamparse.invalid"
"""The name of the error handler that keeps invalid bytes as surrogates, for `bytes.decode`."""
codecs.register_error(INVALID, _keep_invalid)


class Decoder:
    """`feed(chunk)` gives the text of a `str`, `bytes`, `bytearray` or `memoryview` chunk.

    `close()` gives what was held back: three bytes at most, or half a surrogate pair.
    """

    __slots__ = ("_bytes", "_half")

    def __init__(self) -> None:
        self._bytes: codecs.IncrementalDecoder | None = None
        self._half = ""

    @property
    def idle(self) -> bool:
        """True when nothing is held back, so that `str` chunks without surrogates may go past the decoder."""
        return self._bytes is None and not self._half

    def feed(self, chunk: object) -> str:
        """The text of `chunk` as far as it is whole. Raises `UsageError` for what is neither text nor bytes."""
        if isinstance(chunk, str):
            text = str.__str__(chunk)  # no subclass, whatever that one makes of itself
            if self._bytes is not None:
                text = self._rest() + text
        elif isinstance(chunk, (bytes, bytearray, memoryview)):
            if self._bytes is None:
                self._bytes = codecs.getincrementaldecoder("utf-8")(INVALID)
            half, self._half = self._half, ""  # the other half cannot come as bytes
            return half + self._bytes.decode(bytes(chunk))  # pyright: ignore[reportUnknownArgumentType]  # any format
        else:
            raise UsageError(
                f"feed() takes one piece of text, got {type(chunk).__name__}: {_short(chunk)}",
                expected="str or bytes",
                hint="Pass the chunks one by one; take the text out of an SDK's chunk, or give the stream to "
                "streamparse.wrap().",
            )
        if text.isascii() and not self._half:
            return text
        return self._join(text)

    def _join(self, text: str) -> str:
        text = self._half + text
        self._half = ""
        if not text or _SURROGATE.search(text) is None:
            return text
        text, self._half = join_halves(text, False)
        return text

    def _rest(self) -> str:
        """Bytes of a character that never became whole."""
        if self._bytes is None:
            return ""
        text = self._bytes.decode(b"", True)
        self._bytes = None
        return text

    def close(self) -> str:
        """What was held back, as surrogates: it never became whole."""
        text = self._rest() + self._half
        self._half = ""
        return text

    def __getstate__(self) -> tuple[Any, str]:
        return (self._bytes.getstate() if self._bytes is not None else None, self._half)

    def __setstate__(self, state: tuple[Any, str]) -> None:
        self._bytes = None
        if state[0] is not None:
            self._bytes = codecs.getincrementaldecoder("utf-8")(INVALID)
            self._bytes.setstate(state[0])
        self._half = state[1]


def repair_surrogates(text: str) -> str:
    """`text` with U+FFFD for every half of a surrogate pair, so that it encodes to UTF-8."""
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return _SURROGATE.sub("\ufffd", join_pairs(text))


def ends_in_half(text: str) -> bool:
    """Whether `text` ends with the first half of a surrogate pair, which may wait for the second."""
    return "\ud800" <= text[-1:] <= "\udbff"


def join_halves(text: str, final: bool) -> tuple[str, str]:
    """`text` with its surrogate pairs as characters, and a first half at its end, which waits for the second."""
    half = ""
    if ends_in_half(text) and not final:
        text, half = text[:-1], text[-1]
    return join_pairs(text), half


def join_pairs(text: str) -> str:
    """`text` with the two halves of each surrogate pair as the one character they stand for."""
    return _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
