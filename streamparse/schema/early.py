"""Early failure: strings that can no longer be right, found while they grow.

A `Watch` looks at one open string. What it finds is the shortest prefix that nothing can follow to make it right, so it
does not depend on how the text was cut. The work is linear: a pattern is tried at each piece while the string is short,
then each time its length has doubled.
"""

from __future__ import annotations

from typing import Any

import regex

from .shape import Shape

_SHORT = 256
_SECONDS = 0.1
"""A pattern that takes longer than this on one string is given up: the check at the close judges it."""


def watch(shape: Shape) -> Watch | None:
    """A watch for a string of this shape. None: nothing can be found early."""
    if shape.facts is None:
        return None
    pattern = _usable(shape.pattern) if shape.pattern is not None else None
    if shape.choices is None and shape.max_length is None and pattern is None:
        return None
    return Watch(shape.choices, shape.max_length, pattern)


def _usable(pattern: str) -> Any:
    # Without an anchor a match may always begin later, so nothing is ever too late. Set operations mean other things in
    # other engines.
    if (
        ("^" not in pattern and "\\A" not in pattern)
        or "&&" in pattern
        or "--" in pattern
        or "~~" in pattern
        or "[[" in pattern
    ):
        return None
    try:
        return regex.compile(pattern)
    except regex.error:
        return None


class Watch:
    """Follows one string. `pattern` is a compiled `regex` pattern."""

    __slots__ = ("_choices", "_length", "_maximum", "_next", "_pattern")

    def __init__(self, choices: frozenset[str] | None, maximum: int | None, pattern: Any) -> None:
        self._choices = choices
        self._maximum = maximum
        self._pattern: Any = pattern
        self._length = 0
        self._next = 0

    def due(self, added: int) -> bool:
        """Count `added` characters; True where `failed` should be asked."""
        self._length += added
        length = self._length
        if self._choices is not None or (self._maximum is not None and length > self._maximum):
            return True
        if self._pattern is None or length < self._next:
            return False
        if length > _SHORT:
            self._next = 2 * length
        return True

    def failed(self, text: str) -> str | None:
        """The shortest prefix of `text` that cannot become right. None: it still can."""
        lengths: list[int] = []
        if self._choices is not None and not any(choice.startswith(text) for choice in self._choices):
            lengths.append(1 + max((_common(choice, text) for choice in self._choices), default=0))
        if self._maximum is not None and len(text) > self._maximum:
            lengths.append(self._maximum + 1)
        if self._pattern is not None:
            length = self._hopeless(text)
            if length is not None:
                lengths.append(length)
        return text[: min(lengths)] if lengths else None

    def _hopeless(self, text: str) -> int | None:
        try:
            if self._may_match(text):
                return None
            low, high = -1, len(text)  # hopeful up to `low`, hopeless from `high` on
            while high - low > 1:
                middle = (low + high) // 2
                if self._may_match(text[:middle]):
                    low = middle
                else:
                    high = middle
        except TimeoutError:
            self._pattern = None
            return None
        return high

    def _may_match(self, text: str) -> bool:
        return self._pattern.search(text, partial=True, timeout=_SECONDS) is not None


def _common(left: str, right: str) -> int:
    """How many characters two strings begin with alike."""
    for at, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return at
    return min(len(left), len(right))
