"""The characters that models write for JSON's own: quotes, commas, separators, white space."""

from __future__ import annotations

import unicodedata
from typing import Final

SPACE: Final = " \t\n\r"
QUOTES: Final = {
    "'": "'", '"': '"', "`": "`´", "´": "`´", "“": "“”", "”": "“”",
    "„": "“”", "‘": "‘’", "’": "‘’", "«": "»", "＂": "＂",
    "「": "」", "『": "』",
}  # fmt: skip
SEPARATORS: Final = ":=："
COMMAS: Final = ",;，；、"
ATOM: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-._"


def is_wide_space(char: str, allowed: frozenset[str]) -> bool:
    """White space beyond JSON's four: what JSON5 names, and the invisible characters that come with pasted text."""
    if "around" not in allowed:
        return char in "\v\f\ufeff\u2028\u2029" or unicodedata.category(char) == "Zs"
    return char in "\ufeff\u200b\u200c\u200d\u2060\u180e" or (char.isspace() and char not in SPACE)
