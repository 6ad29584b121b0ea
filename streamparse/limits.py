"""Limits: what one parser may spend on one text.

Text comes from a model, so from anyone who can talk to that model. Every amount that grows with the text has a bound,
and every bound is on by default. A limit that is reached gives `LimitExceeded` with its name, its value and the place;
what came before it is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one `StreamParser`. All are counts of characters unless they say otherwise.

    Raise one by naming it: `Limits(depth=100_000)`. A value must be a positive integer (`ValueError` otherwise).
    """

    depth: int = 1024
    """Containers inside one another. CPython's own `json` gives up near 1,000, jiter at 200, serde_json at 128."""
    string: int = 64 * 1024 * 1024
    """One string as written. A model's whole answer is under 1 MB; 64 MB leaves room for embedded files."""
    key: int = 64 * 1024
    """One object key as written. Keys are names; hpack and h11 bound a name at 16 to 64 KB."""
    number: int = 4300
    """One number as written. CPython refuses to turn longer digit strings into an int (CVE-2020-10735)."""
    document: int = 1_000_000_000
    """The whole text, reasoning and prose included."""
    held: int = 4096
    """Text held back because what comes next decides what it is: a quote, a bare word, a tag, space round a block."""
    diagnostics: int = 100
    """Diagnostics kept (their count stays exact beyond it)."""
    events: int = 1000
    """Provider events kept in a `Response` (the counts stay exact beyond it)."""
    event_bytes: int = 1024 * 1024
    """Size in bytes of the provider events kept in a `Response`."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"Limits.{field.name} must be a positive integer, got {value!r}")
