"""Tolerance: what a dialect makes of text that RFC 8259 does not know.

The machine hands over at a character that JSON does not have in its state. Each tolerance is a state of the machine
too, so that it streams and does not depend on the splits; each leaves a diagnostic. What a dialect does not tolerate is
a fault.

`tolerant` is what the machine calls, and says which text goes where: `comments`, `words`, `strings`, `values`, `keys`,
and `pending` for a quote that may not be one. `marks` has the characters.
"""

from __future__ import annotations

from .tolerant import Tolerant, tolerance_for

__all__ = ["Tolerant", "tolerance_for"]
