"""Reasoning: split a leading outer block of thought from the answer.

`<think>` opens a block only before the first character of the answer; anywhere later it is ordinary text, so that
`{"html": "<think>x</think>"}` stays whole. What may still become a delimiter is held back, and no more.

The delimiters of the model families are data (`FAMILIES`): to add a family, add a line.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final

from .errors import UsageError

if TYPE_CHECKING:
    import regex

Pair = tuple[str, str]


@dataclass(frozen=True)
class Family:
    """Delimiters of one model family.

    `blocks`: (opener, closer) of reasoning. `answers`: (opener, closer) that some models put round the answer. `ends`: markers that end the
    reasoning without its closer and belong to what follows. A delimiter written `<name>` also matches in other cases, with attributes and
    inner spaces; any other matches as it is written, in any case. `re:` in front makes it a regular expression.
    """

    blocks: tuple[Pair, ...]
    answers: tuple[Pair, ...] = field(default=())
    ends: tuple[str, ...] = field(default=())

    @cached_property
    def starts(self) -> tuple[str, ...]:
        """What may stand before the answer: openers of blocks, openers of answers, stray closers."""
        return (*(pair[0] for pair in self.blocks), *(pair[0] for pair in self.answers), *(pair[1] for pair in self.blocks))

    @cached_property
    def pattern(self) -> regex.Pattern[str]:
        """`starts`, one group each."""
        return _compile(self.starts)

    @cached_property
    def _first(self) -> dict[str, bool]:
        return {}

    def may_begin(self, char: str) -> bool:
        """Whether one of `starts` may begin with `char`."""
        found = self._first.get(char)
        if found is None:
            found = self._first[char] = self.pattern.match(char, partial=True) is not None
        return found


def _tags(*names: str) -> tuple[Pair, ...]:
    return tuple((f"<{name}>", f"</{name}>") for name in names)


_TOOL_MARKERS: Final = ("<tool_call>", "<|tool_calls_section_begin|>", "<|tool_call>", "<|START_ACTION|>")
_HARMONY: Final = Family(
    blocks=((r"re:(?:<\|start\|>assistant)?\s*<\|channel\|>analysis\s*<\|message\|>", "re:<\\|end\\|>"),),
    answers=((r"re:(?:<\|start\|>assistant)?\s*<\|channel\|>(?:final|commentary)\s*(?:<\|constrain\|>\w+)?<\|message\|>", r"re:<\|(?:return|end)\|>"),),
)

FAMILIES: Final[dict[str, Family]] = {
    "deepseek": Family(_tags("think"), ends=_TOOL_MARKERS),
    "qwen": Family(_tags("think"), ends=_TOOL_MARKERS),
    "glm": Family(_tags("think"), ends=_TOOL_MARKERS),
    "kimi": Family((*_tags("think"), ("◁think▷", "◁/think▷")), ends=_TOOL_MARKERS),
    "kimi-k3": Family((("<|open|>think<|sep|>", "<|close|>think<|sep|>"),), (("<|open|>response<|sep|>", "<|close|>response<|sep|>"),)),
    "minimax": Family(_tags("think", "mm:think")),
    "magistral": Family((("[THINK]", "[/THINK]"),)),
    "gpt-oss": _HARMONY,
    "gemma": Family((("re:<\\|channel>thought\\s*\n", "<channel|>"),), ends=("<|tool_call>",)),
    "granite": Family((("re:Here(?:'s| is) my thought process:", "re:Here(?:'s| is) my response:"), *_tags("think")), _tags("response")),
    "ernie": Family(_tags("think"), _tags("response")),
    "seed": Family(_tags("seed:think")),
    "hunyuan": Family(_tags("think"), _tags("answer")),
    "cohere": Family(
        (("<|START_THINKING|>", "<|END_THINKING|>"),),
        (("<|START_RESPONSE|>", "<|END_RESPONSE|>"), ("<|START_TEXT|>", "<|END_TEXT|>")),
        ("<|START_ACTION|>",),
    ),
    "apertus": Family((("<|inner_prefix|>", "<|inner_suffix|>"),)),
    "inkling": Family((("<|content_thinking|>", "<|end_message|>"),), (("<|content_text|>", "<|end_message|>"),)),
    "apriel": Family(_tags("thinking")),
    "claude": Family(_tags("thinking", "antThinking")),
    "nemotron": Family(_tags("think")),
    "olmo": Family(_tags("think")),
    "phi": Family(_tags("think")),
    "prompted": Family(
        (
            *_tags("reasoning", "thought", "reflection", "analysis", "scratchpad", "antThinking", "thinking", "think"),
            ("<|begin_of_thought|>", "<|end_of_thought|>"),
        ),
        (("<|begin_of_solution|>", "<|end_of_solution|>"),),
    ),
}
"""Delimiters by family name."""

# `auto` knows every delimiter that cannot be mistaken for the beginning of an answer: not Granite's prose, and not `<analysis>`, which
# people ask for as a wrapper of the answer itself.
_AUTO_SKIPS: Final = {"<analysis>"}


@lru_cache(maxsize=1)
def _auto() -> Family:
    families = [family for name, family in FAMILIES.items() if name != "granite"]
    return Family(
        blocks=tuple(dict.fromkeys(pair for f in families for pair in f.blocks if pair[0] not in _AUTO_SKIPS)),
        answers=tuple(dict.fromkeys(pair for f in families for pair in f.answers)),
        ends=tuple(dict.fromkeys(end for f in families for end in f.ends)),
    )


def as_family(value: str | Pair | Family | Iterable[Pair] | None) -> Family | None:
    """The delimiters that `value` names: `"auto"`, a family, `(opener, closer)`, several pairs, or None. Raises `UsageError`."""
    if value is None or isinstance(value, Family):
        return value
    if isinstance(value, str):
        if value == "auto":
            return _auto()
        if value in FAMILIES:
            return FAMILIES[value]
        raise UsageError(f"unknown reasoning family {value!r}", expected=", ".join(("auto", *FAMILIES)), hint="Or pass (opener, closer).")
    if not isinstance(value, Iterable):
        raise UsageError(f"reasoning must be a family, delimiters or None, got {value!r}", expected='"auto" or ("<think>", "</think>")')
    pairs = tuple(value)
    if len(pairs) == 2 and all(isinstance(part, str) for part in pairs):
        pairs = ((pairs[0], pairs[1]),)  # type: ignore[assignment]
    for pair in pairs:
        if not (isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(part, str) and part for part in pair)):
            raise UsageError(f"reasoning delimiters are pairs of non-empty strings, got {pair!r}", expected='("<think>", "</think>")')
    return Family(blocks=pairs)  # type: ignore[arg-type]


def _source(delimiter: str) -> str:
    import re

    if delimiter.startswith("re:"):
        return delimiter[3:]
    if delimiter.startswith("</") and delimiter.endswith(">") and "|" not in delimiter:
        return rf"<\s*/\s*{re.escape(delimiter[2:-1])}\s*>"
    if delimiter.startswith("<") and delimiter.endswith(">") and "|" not in delimiter:
        return rf"<\s*{re.escape(delimiter[1:-1])}(?:\s[^<>]{{0,200}})?>"
    return re.escape(delimiter)


@lru_cache(maxsize=64)
def _compile(delimiters: tuple[str, ...]) -> regex.Pattern[str]:
    import regex

    # One group per delimiter, so that a match says which one it was.
    return regex.compile("|".join(f"({_source(one)})" for one in delimiters), regex.IGNORECASE)


SKIP: Final = 0
THOUGHT: Final = 1
ANSWER: Final = 2
FIRST_THOUGHT: Final = 3
Piece = tuple[int, str]

_BEFORE: Final = 0  # nothing but white space so far
_INSIDE: Final = 1  # in a block
_BETWEEN: Final = 2  # behind a block: white space, another block, or the answer
_WRAPPED: Final = 3  # in an answer that has an opener: its closer is looked for
_DONE: Final = 4  # in the answer: everything passes

_INVISIBLE: Final = "\ufeff\u200b\u200c\u200d\u2060"


def _leading_space(text: str) -> int:
    at = 0
    while at < len(text) and (text[at].isspace() or text[at] in _INVISIBLE):
        at += 1
    return at


class Splitter:
    """`feed(text)` gives pieces `(kind, text)`: `SKIP` for delimiters and white space round them, `THOUGHT` (`FIRST_THOUGHT` where a block
    begins) and `ANSWER`; `close()` gives the rest.

    The texts of all pieces joined are the text that was fed. `done` says that everything from here on is the answer as it is.
    """

    __slots__ = ("_buffer", "_closer", "_family", "_forced", "_held", "_state", "_thought", "blocks", "found")

    def __init__(self, family: Family | None, *, starts_inside: bool = False, held: int = 4096) -> None:
        self._family = family
        self._held = held
        self._buffer = ""
        self._closer: tuple[str, ...] = ()
        self._forced = starts_inside and family is not None
        self._thought = False  # the block has text already
        self.blocks = 0
        """How many blocks were opened."""
        self.found = ""
        """How the block ended, for diagnostics: `closed`, `unclosed`, `missing` (it was to be there and was not) or empty."""
        self._state = _DONE if family is None else _BEFORE

    @property
    def done(self) -> bool:
        """True when everything from here on is the answer as it is."""
        return self._state == _DONE

    @property
    def inside(self) -> bool:
        """True while in a block of reasoning."""
        return self._state == _INSIDE

    @property
    def guessed(self) -> bool:
        """True when a block was begun only because it was said to be open, and no delimiter has confirmed it."""
        return self._forced

    def feed(self, text: str) -> list[Piece]:
        """The pieces that are certain now."""
        if self._state == _DONE:
            return [(ANSWER, text)] if text else []
        self._buffer += text
        return self._run(final=False)

    def close(self) -> list[Piece]:
        """The pieces that were held back."""
        pieces = self._run(final=True)
        if self._buffer:
            # Inside a block only white space is left; before the answer an opener that never became whole.
            blank = not self._buffer.strip()
            kind = SKIP if self._state == _INSIDE or self._state == _BETWEEN and blank else ANSWER
            pieces.append((kind, self._buffer))
            self._buffer = ""
        if self._state == _INSIDE:
            self.found = "unclosed"
        return pieces

    def _run(self, *, final: bool) -> list[Piece]:
        pieces: list[Piece] = []
        state = -1
        while state != self._state and self._buffer:
            state = self._state
            if state == _INSIDE:
                self._inside(pieces, final)
            elif state == _WRAPPED:
                self._wrapped(pieces, final)
            elif state == _DONE:
                pieces.append((ANSWER, self._buffer))
                self._buffer = ""
            else:
                self._outside(pieces, final)
        return pieces

    def _take(self, pieces: list[Piece], kind: int, end: int) -> None:
        if end:
            pieces.append((kind, self._buffer[:end]))
            self._buffer = self._buffer[end:]

    def _outside(self, pieces: list[Piece], final: bool) -> None:
        """Before the answer: an opener, or the answer itself."""
        family = self._family
        assert family is not None
        start = _leading_space(self._buffer)
        if start == len(self._buffer):
            if start > self._held:
                self._begin_answer(pieces, 0)
            return
        openers, answers = len(family.blocks), len(family.answers)
        match = None
        if family.may_begin(self._buffer[start]):
            match = family.pattern.match(self._buffer, start, partial=not final)
        stray = match is not None and not match.partial and (match.lastindex or 1) > openers + answers
        if stray and (self.blocks or self._forced):
            match = None
        if match is None or (match.partial and len(self._buffer) - start > self._held):
            if self._forced and not self._begins_document(start, final):
                if self._begins_document(start, final) is None:
                    return
                self._forced_start(pieces, start)
            else:
                self._begin_answer(pieces, start)
            return
        if match.partial:
            return
        which = match.lastindex or 1
        self._take(pieces, SKIP, match.end())
        if which <= openers:
            self.blocks += 1
            self._thought = False
            self._forced = False
            # Any block's closer ends the block: models mix them, and a family's own comes first.
            self._closer = (family.blocks[which - 1][1],)
            self._state = _INSIDE
        elif which <= openers + answers:
            self._closer = (family.answers[which - openers - 1][1],)
            self._state = _WRAPPED
            self._end_block()
        else:
            # A closer with nothing before it: a server that dropped the opener, or a model that did not think.
            self.found = "missing"
            self.blocks += 1
            self._state = _BETWEEN

    def _begins_document(self, start: int, final: bool) -> bool | None:
        """Whether the text begins like a JSON document; None where it is too early to say."""
        head = self._buffer[start : start + 3]
        if head[0] in "{[":
            return True
        if head in ("```", "~~~"):
            return True
        return None if not final and head in ("`", "``", "~", "~~") else False

    def _forced_start(self, pieces: list[Piece], start: int) -> None:
        family = self._family
        assert family is not None
        self._take(pieces, SKIP, start)
        self.blocks += 1
        self._thought = False
        self._closer = tuple(pair[1] for pair in family.blocks)
        self._state = _INSIDE

    def _begin_answer(self, pieces: list[Piece], start: int) -> None:
        if self._forced and not self.blocks:
            self.found = "missing"
        self._forced = False
        if self.blocks:
            self._take(pieces, SKIP, start)
        self._state = _DONE

    def _end_block(self) -> None:
        if self.blocks and not self.found:
            self.found = "closed"

    def _inside(self, pieces: list[Piece], final: bool) -> None:
        family = self._family
        assert family is not None
        if not self._thought:
            space = _leading_space(self._buffer)
            if space <= self._held:
                if space == len(self._buffer):
                    return
                self._take(pieces, SKIP, space)
        match = _compile((*self._closer, *family.ends)).search(self._buffer, partial=not final)
        stop = match.start() if match is not None else len(self._buffer)
        text = self._buffer[:stop]
        rest = text.rstrip()
        ended = match is not None and not match.partial
        if not ended and len(text) - len(rest) > self._held:
            rest = text
        if rest:
            self._take(pieces, THOUGHT if self._thought else FIRST_THOUGHT, len(rest))
            self._thought = True
            stop -= len(rest)
        if ended:
            assert match is not None
            closer = (match.lastindex or 1) <= len(self._closer)
            self._take(pieces, SKIP, stop + (len(match[0]) if closer else 0))
            self._forced = False
            self._end_block()
            self._state = _BETWEEN if closer else _DONE

    def _wrapped(self, pieces: list[Piece], final: bool) -> None:
        """In an answer with an opener. Its closer counts only at the end of the text: inside a string it is ordinary text."""
        while self._buffer:
            match = _compile(self._closer).search(self._buffer, partial=not final)
            self._take(pieces, ANSWER, match.start() if match is not None else len(self._buffer))
            if match is None or match.partial:
                return
            length = len(match[0])
            behind = self._buffer[length:].lstrip()
            if not behind and len(self._buffer) - length <= self._held:
                if final:
                    self._take(pieces, SKIP, len(self._buffer))
                return
            # Special tokens behind the closer (the next channel, the end of the turn) are no answer either.
            self._take(pieces, SKIP if behind.startswith("<|") else ANSWER, length)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
