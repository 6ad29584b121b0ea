"""A quote that may not be one: what was read behind it decides."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..fields import KEY
from .marks import QUOTES

if TYPE_CHECKING:
    from ..machine import Machine
    from ..streaming_data import StreamingData

_KEY_AND_COLON: Final = re.compile(r'"(?:[^"\\]|\\.)*"\s*[:=：]', re.DOTALL)
_KEY_AND_COLON_START: Final = re.compile(r'"(?:[^"\\]|\\.)*(?:"\s*|\\)?', re.DOTALL)


def behind_closer(machine: Machine, char: str, text: str, final: bool, out: list[StreamingData]) -> bool:
    """A bracket was read while a quote is pending: what follows it decides."""
    pos = machine.pos
    assert machine.node is not None
    in_object = type(machine.node[KEY]) is str  # where the closed container stands
    ends: bool | None
    item = not in_object and machine.depth > 1 and (char in "{[" or (char in QUOTES and machine.gap))
    if char in ",}];，；、" or item:
        ends = True
    elif char == '"' and in_object:
        ends = ahead(machine, _KEY_AND_COLON, _KEY_AND_COLON_START, pos, final)
    elif char == "<" and pos + 1 == len(text) and not final:
        ends = None
    else:
        # So begins the text behind a document. What a string goes on with looks more like `dict["key"] = 1`.
        prose = "\n" in machine.gap or (machine.gap and char.isalpha()) or text.startswith(("<|", "</"), pos)
        ends = bool(prose) and closes_root(machine, _bracket(machine))
    if ends is not None:
        machine.state = machine.accept(out) if ends else machine.reject(out)
    return ends is None


def _bracket(machine: Machine) -> str:
    """The bracket that was read behind the pending quote."""
    return machine.behind_quote().rstrip()[-1:]


def closes_root(machine: Machine, char: str) -> bool:
    """Whether a closing bracket of the wrong kind closes everything: the root is the nearest container of its kind."""
    if machine.depth == 1:
        return True
    opened = machine.objects if char == "}" else machine.depth - machine.objects
    return opened == 1 and machine.object_root == (char == "}")


def ahead(machine: Machine, whole: re.Pattern[str], start: re.Pattern[str], pos: int, final: bool) -> bool | None:
    """Whether `whole` stands at `pos`, as far as text may be held; None where it began and more text is needed."""
    text = machine.text
    end = pos + machine.limits.held
    if whole.match(text, pos, end) is not None:
        return True
    return None if not final and len(text) <= end and start.fullmatch(text, pos) is not None else False


def end_pending(machine: Machine, out: list[StreamingData]) -> None:
    """The pending quote ended its string, and what was read behind it stands."""
    machine.pending = -1
    machine.held = []
    machine.end_string(out)
