"""What the machine calls: which text goes to which tolerance."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ..states import (
    AFTER,
    BARE,
    BARE_KEY,
    BLOCK_COMMENT,
    CLOSER,
    COLON,
    DOUBLED,
    END,
    FIRST_KEY,
    FIRST_VALUE,
    GAP,
    JOIN,
    KEY_QUOTED,
    LINE_COMMENT,
    NEXT_KEY,
    OTHER_CLOSER,
    QUOTED,
    TRIPLE,
    VALUE,
    WORDS,
)
from . import strings, words
from .comments import in_comment, open_comment
from .keys import before_key, behind_key, in_bare_key
from .marks import is_wide_space
from .pending import behind_closer
from .strings import behind_plus, in_quotes
from .values import before_value, behind_doubled, behind_value
from .words import behind_atom, in_words

if TYPE_CHECKING:
    from ..machine import Machine
    from ..streaming_data import StreamingData

Inside = Callable[["Machine", int, str, bool, "list[StreamingData]"], bool]
Between = Callable[["Machine", str, str, bool, "list[StreamingData]"], bool]


class Tolerant:
    """The tolerances of a dialect, applied to a machine. It has no state of its own."""

    __slots__ = ()

    atom = staticmethod(words.atom)
    is_atom = staticmethod(words.is_atom)
    escape = staticmethod(strings.escape)
    finish = staticmethod(words.finish)

    def read(self, machine: Machine, state: int, text: str, final: bool, out: list[StreamingData]) -> bool:
        """Take the character at `machine.pos`, or fail. True: more text is needed to say what it is."""
        inside = _INSIDE.get(state)
        if inside is not None:
            return inside(machine, state, text, final, out)
        pos = machine.pos
        char = text[pos]
        allowed = machine.tolerances
        # Half a mark at the end of the text is cut off with the document, unless that is closed.
        ends = final and state == END
        if char == "/" and "comment" in allowed:
            if pos + 1 == len(text) and not ends:
                return True
            if text.startswith(("//", "/*"), pos):
                open_comment(machine, state, LINE_COMMENT if text[pos + 1] == "/" else BLOCK_COMMENT, 2)
                return False
        elif char == "#" and "shell_comment" in allowed:
            open_comment(machine, state, LINE_COMMENT, 1)
            return False
        elif "wide_space" in allowed and is_wide_space(char, allowed):
            machine.diagnose("bom", text, pos)
            machine.pos = pos + 1
            if state == COLON:
                machine.gap += char
            return False
        elif char == "`" and "around" in allowed:
            if text.startswith("```", pos):
                # The fence ends here, so the document does. What is open is cut.
                if machine.pending >= 0:
                    machine.state = machine.accept(out)
                else:
                    machine.stop()
                return False
            if len(text) - pos < 3 and text[pos:] in ("`", "``") and not ends:
                return True
        elif char in ".…" and "ellipsis" in allowed and state != COLON and state != END:
            if char == "…" or text.startswith("...", pos):
                if machine.pending >= 0:
                    machine.state = machine.accept(out)
                else:
                    machine.diagnose("ellipsis", text, pos)
                    machine.pos = pos + (1 if char == "…" else 3)
                return False
            if len(text) - pos < 3 and text[pos:] in (".", "..") and not ends:
                return True
        between = _BETWEEN.get(state)
        if between is not None:
            return between(machine, char, text, final, out)
        machine.unexpected()
        return False


_INSIDE: Final[dict[int, Inside]] = {
    BARE: behind_atom,
    GAP: behind_atom,
    WORDS: in_words,
    QUOTED: in_quotes,
    KEY_QUOTED: in_quotes,
    TRIPLE: in_quotes,
    BARE_KEY: in_bare_key,
    LINE_COMMENT: in_comment,
    BLOCK_COMMENT: in_comment,
}
_BETWEEN: Final[dict[int, Between]] = {
    VALUE: before_value,
    FIRST_VALUE: before_value,
    NEXT_KEY: before_key,
    FIRST_KEY: before_key,
    COLON: behind_key,
    AFTER: behind_value,
    CLOSER: behind_closer,
    OTHER_CLOSER: behind_closer,
    JOIN: behind_plus,
    DOUBLED: behind_doubled,
}
_TOLERANT: Final = Tolerant()


def tolerance_for(tolerances: frozenset[str]) -> Tolerant | None:
    """The tolerance of a dialect; None for one that tolerates nothing, so that it pays nothing."""
    return _TOLERANT if tolerances else None
