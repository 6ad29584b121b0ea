"""Comments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..states import LINE_COMMENT

if TYPE_CHECKING:
    from ..machine import Machine
    from ..streaming_data import StreamingData

_LINE_END: Final = re.compile("[\n\r\u2028\u2029]")


def open_comment(machine: Machine, state: int, comment: int, length: int) -> None:
    """A comment begins, in whose place `state` goes on."""
    machine.diagnose("comment", machine.text, machine.pos)
    machine.comment = state
    machine.state = comment
    machine.pos += length


def in_comment(machine: Machine, state: int, text: str, final: bool, out: list[StreamingData]) -> bool:
    """Inside a comment, of either form."""
    pos = machine.pos
    if state == LINE_COMMENT:
        line_end = _LINE_END.search(text, pos)
        machine.pos = len(text) if line_end is None else line_end.start()
        if line_end is not None:
            machine.state = machine.comment
        return False
    end = text.find("*/", pos)
    if end >= 0:
        machine.pos = end + 2
        machine.state = machine.comment
        return False
    # A star at the very end may be half of the closing mark.
    star = text.endswith("*") and not final
    machine.pos = max(pos, len(text) - 1) if star else len(text)
    return star
