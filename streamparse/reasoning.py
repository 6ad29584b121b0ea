"""Reasoning: split thought, answer and inline tool calls by the delimiters that a model writes round them.

`<think>` opens a block only before the first character of the answer; anywhere later it is ordinary text, so that
`{"html": "<think>x</think>"}` stays whole. What may still become a delimiter is held back, and no more.

The delimiters of the model families are data (`FAMILIES`): to add a family, add a line. docs/reasoning.md says which
one to choose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from .errors import UsageError

if TYPE_CHECKING:
    import regex

# The kinds of pieces that a `Splitter` gives.
SKIP: Final = 0  # delimiters, and white space round them
THOUGHT: Final = 1
ANSWER: Final = 2
FIRST_THOUGHT: Final = 3  # the thought with which a block begins
ASIDE: Final = 4  # text for the user that is not the answer
FIRST_ASIDE: Final = 5
CALL: Final = 6  # the header of a tool call
ARGUMENTS: Final = 7
CALL_END: Final = 8  # the closer of a tool call, which may be empty
Piece = tuple[int, str]
Pair = tuple[str, str]


class InlineCall(NamedTuple):
    """A piece of a tool call that the model wrote into its text.

    `number` counts the calls of the text from 0. `name` is that of the tool, `arguments` the next piece of their text
    (it may be empty), `done` is True for the last piece of a call that was closed.
    """

    number: int
    name: str
    arguments: str
    done: bool


@dataclass(frozen=True)
class Family:
    """Delimiters of one model family.

    `blocks`: (opener, closer) of reasoning. `answers`: (opener, closer) that some models put round the answer.
    `asides`: the same round text that the user sees beside the answer. `calls`: the same round the arguments of a tool
    call, whose name stands in the opener as `to=NAME`. `ends`: markers that end the reasoning without its closer and
    belong to what follows. `cautious`: plain tags round the answer count only behind a block, since an answer may be
    XML.

    A delimiter written `<name>` or `</name>` also matches in other cases, with attributes and inner spaces; any other
    matches as it is written, in any case. `re:` in front makes it a regular expression (of the `regex` module). It must
    not match the empty text, and should not go on where a shorter match would do: what has come is matched at once.
    """

    blocks: tuple[Pair, ...]
    answers: tuple[Pair, ...] = field(default=())
    ends: tuple[str, ...] = field(default=())
    asides: tuple[Pair, ...] = field(default=())
    calls: tuple[Pair, ...] = field(default=())
    cautious: bool = False

    @cached_property
    def roles(self) -> tuple[tuple[int, Pair], ...]:
        """What may stand before the answer: the openers with what they open, and stray closers (`SKIP`)."""
        messages = ((THOUGHT, self.blocks), (ANSWER, self.answers), (ASIDE, self.asides), (ARGUMENTS, self.calls))
        closers = tuple(dict.fromkeys(closer for _, closer in self.blocks))
        return (*((kind, pair) for kind, pairs in messages for pair in pairs), *((SKIP, (one, "")) for one in closers))

    @cached_property
    def pattern(self) -> regex.Pattern[str]:
        """The delimiters of `roles`, one group each."""
        return compile_delimiters(tuple(opener for _, (opener, _) in self.roles))

    @cached_property
    def following(self) -> regex.Pattern[str]:
        """What says that a closer before it was one: openers and markers that are special tokens."""
        openers = (opener for kind, (opener, _) in self.roles if kind != SKIP)
        return compile_delimiters(tuple(one for one in (*openers, *self.ends) if _is_special(one)) or (_NOTHING,))

    def siblings(self, closer: str) -> tuple[str, ...]:
        """Openers of the messages that are closed alike: in such a protocol the next one may come without a closer."""
        if not _is_special(closer):
            return ()
        found = tuple(pair[0] for kind, pair in self.roles if kind != SKIP and pair[1] == closer)
        return found if len(found) > 1 else ()

    @cached_property
    def _first(self) -> dict[str, bool]:
        return {}

    def may_begin(self, char: str) -> bool:
        """Whether one of the delimiters of `roles` may begin with `char`."""
        found = self._first.get(char)
        if found is None:
            found = self._first[char] = self.pattern.match(char, partial=True) is not None
        return found


def _tags(*names: str) -> tuple[Pair, ...]:
    return tuple((f"<{name}>", f"</{name}>") for name in names)


def _harmony() -> Family:
    """The messages of gpt-oss: `<|start|>assistant<|channel|>NAME to=TOOL <|constrain|>json<|message|>…<|end|>`.

    The first one comes without `<|start|>assistant`, the receiver may stand before the channel too, and a type may
    stand without `<|constrain|>`.
    """

    def header(channel: str, role_to: str = "", channel_to: str = "") -> str:
        role = rf"(?:<\|start\|>\s{{0,4}}assistant{role_to})"
        kind = r"(?:\s{0,4}(?:<\|constrain\|>\s{0,4})?[\w.-]{1,40})?"
        optional = "" if role_to else "?"
        return rf"re:{role}{optional}\s{{0,4}}<\|channel\|>\s{{0,4}}{channel}{channel_to}{kind}\s{{0,4}}<\|message\|>"

    to = r"\s{1,4}to=[^\s<]{1,128}"
    end = r"re:<\|(?:end|return|call)\|>"
    return Family(
        blocks=((header("analysis"), end),),
        answers=((header("final"), end), (r"re:<\|start\|>\s{0,4}assistant\s{0,4}<\|message\|>", end)),
        asides=((header("commentary"), end),),
        calls=((header(r"\w{1,40}", channel_to=to), end), (header(r"\w{1,40}", role_to=to), end)),
    )


_THINK: Final = _tags("think")
_TOOL_MARKERS: Final = ("<tool_call>", "<|tool_calls_section_begin|>", "<|tool_call>", "<|START_ACTION|>")
_THINKING_MODEL: Final = Family(_THINK, ends=_TOOL_MARKERS)

FAMILIES: Final[dict[str, Family]] = {
    "deepseek": _THINKING_MODEL,
    "qwen": _THINKING_MODEL,
    "glm": _THINKING_MODEL,
    "kimi": Family((*_THINK, ("◁think▷", "◁/think▷")), ends=_TOOL_MARKERS),
    "kimi-k3": Family(
        (("<|open|>think<|sep|>", "<|close|>think<|sep|>"),),
        (("<|open|>response<|sep|>", "<|close|>response<|sep|>"),),
    ),
    "minimax": Family(_tags("think", "mm:think"), ends=_TOOL_MARKERS),
    "magistral": Family((("[THINK]", "[/THINK]"),), ends=("[TOOL_CALLS]",)),
    "gpt-oss": _harmony(),
    "gemma": Family(((r"re:<\|channel>\s{0,4}thought", "<channel|>"),), ends=("<|tool_call>",)),
    "granite": Family(
        (("re:Here(?:['’]s| is) my thought process:", "re:Here(?:['’]s| is) my response:"), *_THINK), _tags("response")
    ),
    "ernie": Family(_THINK, _tags("response"), _TOOL_MARKERS),
    "seed": Family(_tags("seed:think"), ends=("<seed:tool_call>",)),
    "hunyuan": Family(_THINK, _tags("answer"), ("<tool_calls>",)),
    "cohere": Family(
        (("<|START_THINKING|>", "<|END_THINKING|>"),),
        (("<|START_RESPONSE|>", "<|END_RESPONSE|>"), ("<|START_TEXT|>", "<|END_TEXT|>")),
        ("<|START_ACTION|>", "<|START_RESPONSE|>", "<|START_TEXT|>"),
    ),
    "apertus": Family((("<|inner_prefix|>", "<|inner_suffix|>"),)),
    "inkling": Family((("<|content_thinking|>", "<|end_message|>"),), (("<|content_text|>", "<|end_message|>"),)),
    "apriel": Family(_tags("thinking")),
    "claude": Family(_tags("thinking", "antThinking")),
    "nemotron": _THINKING_MODEL,
    "olmo": Family(_THINK),
    "phi": Family(_THINK),
    "step": _THINKING_MODEL,
    "intern": _THINKING_MODEL,
    "mimo": _THINKING_MODEL,
    "holo": Family(_THINK),
    "poolside": Family(_THINK),
    "prompted": Family(
        (
            *_tags("reasoning", "thought", "reflection", "analysis", "scratchpad", "antThinking", "thinking", "think"),
            ("<|begin_of_thought|>", "<|end_of_thought|>"),
        ),
        (("<|begin_of_solution|>", "<|end_of_solution|>"),),
    ),
}
"""Delimiters by family name."""

# `auto` knows every delimiter that cannot be mistaken for the beginning of an answer: not Granite's prose, and not
# `<analysis>`, which people ask for as a wrapper of the answer itself.
_AUTO_SKIPS: Final = {"<analysis>"}


@lru_cache(maxsize=1)
def _auto() -> Family:
    families = [family for name, family in FAMILIES.items() if name != "granite"]
    return Family(
        blocks=tuple(dict.fromkeys(pair for f in families for pair in f.blocks if pair[0] not in _AUTO_SKIPS)),
        answers=tuple(dict.fromkeys(pair for f in families for pair in f.answers)),
        ends=tuple(dict.fromkeys(end for f in families for end in f.ends)),
        asides=tuple(dict.fromkeys(pair for f in families for pair in f.asides)),
        calls=tuple(dict.fromkeys(pair for f in families for pair in f.calls)),
        cautious=True,
    )


def as_family(value: str | Pair | Family | Iterable[Pair] | None) -> Family | None:
    """The delimiters that `value` names: `"auto"`, a family, `(opener, closer)`, several pairs, or None.

    Raises `UsageError`.
    """
    if value is None or isinstance(value, Family):
        return value
    if isinstance(value, str):
        if value == "auto":
            return _auto()
        if value in FAMILIES:
            return FAMILIES[value]
        known = ", ".join(("auto", *FAMILIES))
        raise UsageError(f"unknown reasoning family {value!r}", expected=known, hint="Or pass (opener, closer).")
    example = '"auto" or ("<think>", "</think>")'
    if not isinstance(cast("object", value), Iterable):
        raise UsageError(f"reasoning must be a family, delimiters or None, got {value!r}", expected=example)
    parts = tuple(cast("Iterable[Any]", value))
    if len(parts) == 2 and all(isinstance(part, str) for part in parts):
        parts = (parts,)
    pairs = tuple(_checked(pair) for pair in parts)
    if not pairs:
        raise UsageError("reasoning has no delimiters", expected=example, hint="None looks for no reasoning.")
    return Family(blocks=pairs)


def _checked(pair: Any) -> Pair:
    parts = tuple(cast("Iterable[Any]", pair)) if isinstance(pair, tuple | list) else ()
    if len(parts) != 2 or not all(isinstance(part, str) and part.strip() for part in parts):
        message = f"reasoning delimiters are pairs of non-empty strings, got {pair!r}"
        raise UsageError(message, expected='("<think>", "</think>")')
    import regex

    for part in parts:
        try:
            empty = compile_delimiters((part,)).match("") is not None
        except regex.error as error:
            message = f"the reasoning delimiter {part!r} is no regular expression: {error}"
            raise UsageError(message, hint="Without re: in front it is taken as it is written.") from None
        if empty:
            raise UsageError(f"the reasoning delimiter {part!r} matches the empty text", expected="some text")
    return (parts[0], parts[1])


_NOTHING: Final = "re:(?!)"
_ATTRIBUTE: Final = r"""\s{1,8}[\w:.-]{1,40}\s?=\s?(?:"[^"<>]{0,100}"|'[^'<>]{0,100}'|[^\s"'<>]{1,100})"""


def _is_special(delimiter: str) -> bool:
    """Whether it is a special token of a chat template, which a model does not write by accident."""
    return "<|" in delimiter or r"<\|" in delimiter


def _source(delimiter: str) -> str:
    # Every repetition has a bound: what may become a delimiter is held back.
    if delimiter.startswith("re:"):
        return delimiter[3:]
    tag = re.fullmatch(r"<(/?)([^<>/|]+)>", delimiter)
    if tag is None:
        return re.escape(delimiter)
    name = re.escape(tag[2])
    if tag[1]:
        return rf"<\s{{0,8}}/\s{{0,8}}{name}\s{{0,8}}>"
    return rf"<\s{{0,8}}{name}(?:{_ATTRIBUTE}){{0,4}}\s{{0,8}}>"


@lru_cache(maxsize=256)
def compile_delimiters(delimiters: tuple[str, ...]) -> regex.Pattern[str]:
    """One pattern of them all: `which(match)` says which one it was."""
    # Not at the top: it takes longer to import than all of this, and plain answers do without.
    try:
        import regex
    except ImportError as error:  # a subinterpreter with a GIL of its own
        message = f"the delimiters of reasoning need the package regex, which does not load here: {error}"
        raise UsageError(message, hint="Pass reasoning=None if the answers hold no reasoning.") from error

    # The names are ours, so that groups inside of a user's expression do not count.
    groups = (f"(?P<_{index}>{_source(one)})" for index, one in enumerate(delimiters))
    return regex.compile("|".join(groups), regex.IGNORECASE)


def which(match: regex.Match[str]) -> int:
    """The position of the delimiter that was found."""
    found = match.groupdict()
    return next(index for index in range(len(found)) if found[f"_{index}"] is not None)


_BEFORE: Final = 0  # nothing but white space so far
_INSIDE: Final = 1  # in a block
_BETWEEN: Final = 2  # behind a block or another message: white space, the next one, or the answer
_WRAPPED: Final = 3  # in a message with an opener: its closer is looked for
_DONE: Final = 4  # in the answer: everything passes

_INVISIBLE: Final = "\ufeff\u200b\u200c\u200d\u2060"
_SPACE: Final = re.compile(rf"[\s{_INVISIBLE}]*")
_TOKEN: Final = r"re:<\|[^<>|\s]{1,40}\|>"
_DOCUMENT: Final = (
    r"""re:\{\s*(?:["'“`{},/\#\\]|[\w$-]{1,64}\s*[:=：])|\[\s*(?:["'“`{\[\],/\#]|[-+\w.]{1,64}\s*,)|```|~~~"""
)
_ALONE: Final = re.compile(r"[{\[]\s*[^\s{}\[\]]{0,64}\s*(?:[}\]]\s*)?")
_WINDOW: Final = 512  # how far behind a closer is looked for what confirms it


class Splitter:
    """`feed(text)` gives pieces `(kind, text)`, `close()` the rest.

    The texts of all pieces joined are the text that was fed. `done` says that everything from here on is the answer as
    it is.
    """

    __slots__ = (
        "_at", "_buffer", "_closers", "_confirming", "_delimiters", "_family", "_forced", "_held", "_kind", "_opener",
        "_searched", "_state", "_thought", "blocks", "found",
    )  # fmt: skip

    def __init__(self, family: Family, *, starts_inside: bool = False, held: int = 4096) -> None:
        self._family = family
        self._held = held
        self._buffer = ""
        self._at = 0  # how far the buffer was given out
        self._searched = 0  # how far no delimiter begins
        self._confirming = 0  # how far behind a closer that waits there is nothing but white space and special tokens
        self._opener = ""
        self._closers: tuple[str, ...] = ()
        self._delimiters: tuple[str, ...] = ()  # the closers, and what else ends the message that is open
        self._kind = ANSWER  # of the message that is open
        self._forced = starts_inside
        self._thought = False  # the block has text already
        self.blocks = 0
        """How many blocks were opened."""
        self.found = ""
        """How the block ended, for diagnostics: `closed`, `unclosed`, `missing` (it was to be there and was not)."""
        self._state = _BEFORE

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

    @property
    def held(self) -> str:
        """What is held back."""
        return self._buffer

    def feed(self, text: str) -> list[Piece]:
        """The pieces that are certain now."""
        if self._state == _BEFORE and not self._buffer and not self._forced and text and self._is_answer(text[0]):
            self._state = _DONE  # most answers begin at once
        if self._state == _DONE:
            return [(ANSWER, text)] if text else []
        self._buffer += text
        return self._run(final=False)

    def close(self) -> list[Piece]:
        """The pieces that were held back."""
        pieces = self._run(final=True) if self._buffer else []
        if self._buffer:  # only white space can be left
            pieces.append((ANSWER if self._state == _BEFORE else SKIP, self._buffer))
            self._buffer = ""
        if self._state == _INSIDE:
            self.found = "unclosed"
        return pieces

    def _is_answer(self, char: str) -> bool:
        """Whether a text that begins with `char` is the answer from there on."""
        return not (self._family.may_begin(char) or char.isspace() or char in _INVISIBLE)

    # Every method below either gives text out, changes the state, or leaves both as they are: then more text is needed.

    def _run(self, *, final: bool) -> list[Piece]:
        pieces: list[Piece] = []
        state = at = -1
        while (state, at) != (self._state, self._at) and self._at < len(self._buffer):
            state, at = self._state, self._at
            if state == _INSIDE:
                self._inside(pieces, final)
            elif state == _WRAPPED:
                self._wrapped(pieces, final)
            elif state == _DONE:
                self._take(pieces, ANSWER, len(self._buffer))
            else:
                self._outside(pieces, final)
        self._buffer = self._buffer[self._at :]
        self._searched = max(self._searched - self._at, 0)
        self._at = 0
        return pieces

    def _take(self, pieces: list[Piece], kind: int, end: int) -> None:
        if end > self._at:
            pieces.append((kind, self._buffer[self._at : end]))
            self._at = end

    def _outside(self, pieces: list[Piece], final: bool) -> None:
        """Before the answer: an opener, or the answer itself."""
        family = self._family
        start = _space_end(self._buffer, self._at)
        if start - self._at > self._held:
            self._begin_answer(pieces, self._at)
            return
        if start == len(self._buffer):
            return
        match = None
        if family.may_begin(self._buffer[start]):
            match = family.pattern.match(self._buffer, start, partial=not final)
        if match is not None and match.end() - start > self._held:
            match = None
        if match is not None and match.partial:
            return
        kind, (opener, closer) = (ANSWER, ("", "")) if match is None else family.roles[which(match)]
        if kind == SKIP and self._forced and not self.blocks:
            match = None  # the closer that was to come: the block is empty
        elif kind == ANSWER and family.cautious and self._state == _BEFORE and not _is_special(opener):
            match = None
        if match is not None:
            self._open(pieces, kind, opener, closer, match.end())
            return
        if final and self._state == _BETWEEN and self._is_cut_header(start):
            self._take(pieces, SKIP, len(self._buffer))
            return
        document = not self._forced or self._begins_document(start, final)
        if document:
            self._begin_answer(pieces, start)
        elif document is not None:
            self._forced_start(pieces, start)

    def _open(self, pieces: list[Piece], kind: int, opener: str, closer: str, end: int) -> None:
        """A delimiter ends at `end`."""
        self._take(pieces, CALL if kind == ARGUMENTS else SKIP, end)
        if kind == SKIP:
            # A closer with nothing before it: a server that dropped the opener, or a model that did not think.
            self.found = self.found or "missing"
            self._state = _BETWEEN
            return
        if self._forced and kind != THOUGHT:
            self.found = "missing"
        self._forced = False
        self._opener = opener
        self._closers = (closer,)
        ends = self._family.ends if kind == THOUGHT else ()
        # An answer and the arguments of a call are JSON, which may hold an opener as text.
        siblings = self._family.siblings(closer) if kind in (THOUGHT, ASIDE) else ()
        self._delimiters = (closer, *ends, *siblings)
        self._kind = FIRST_ASIDE if kind == ASIDE else kind
        self._state = _INSIDE if kind == THOUGHT else _WRAPPED
        if kind == THOUGHT:
            self.blocks += 1
            self._thought = False

    def _is_cut_header(self, start: int) -> bool:
        """Whether the text ends in the header of a next message."""
        if not self._buffer.startswith("<|", start):
            return False
        match = self._family.following.match(self._buffer, start, partial=True)
        return match is not None and match.partial

    def _begins_document(self, start: int, final: bool) -> bool | None:
        """Whether the text begins like a JSON document; None where it is too early to say."""
        head = self._buffer[start : start + self._held]
        match = compile_delimiters((_DOCUMENT,)).match(head, partial=True)
        if match is not None and not match.partial:
            return True
        # `[1]` and `{name}` are documents only where they stand alone.
        if len(head) == self._held or (match is None and _ALONE.fullmatch(head) is None):
            return False
        return True if final else None

    def _forced_start(self, pieces: list[Piece], start: int) -> None:
        self._take(pieces, SKIP, start)
        self.blocks += 1
        family = self._family
        self._closers = tuple(dict.fromkeys(pair[1] for pair in family.blocks))
        siblings = tuple(one for closer in self._closers for one in family.siblings(closer))
        self._delimiters = (*self._closers, *family.ends, *siblings)
        self._state = _INSIDE

    def _begin_answer(self, pieces: list[Piece], start: int) -> None:
        if self._forced:
            self.found = "missing"
        self._forced = False
        if self._state == _BETWEEN:
            self._take(pieces, SKIP, start)
        self._state = _DONE

    def _find(self, final: bool) -> regex.Match[str] | None:
        """The next of the delimiters, or its beginning at the end of the buffer."""
        pattern = compile_delimiters(self._delimiters)
        at = max(self._at, self._searched)
        while True:
            match = pattern.search(self._buffer, at, partial=not final)
            if match is None or match.end() - match.start() <= self._held:
                self._searched = len(self._buffer) if match is None else match.start()
                return match
            at = match.start() + 1  # too long to be waited for, so it does not count where it came whole either

    def _inside(self, pieces: list[Piece], final: bool) -> None:
        if not self._thought and not self._block_start(pieces, final):
            return
        match = self._find(final)
        stop = match.start() if match is not None else len(self._buffer)
        text = self._buffer[self._at : stop]
        # White space waits for what follows it, up to a bound. What is beyond does not depend on how the text came.
        space = (len(text) - len(text.rstrip())) % (self._held + 1)
        if len(text) > space:
            self._take(pieces, THOUGHT if self._thought else FIRST_THOUGHT, stop - space)
            self._thought = True
        if match is not None and not match.partial:
            self._take(pieces, SKIP, match.end() if which(match) < len(self._closers) else stop)
            self._forced = False
            self.found = self.found or "closed"
            self._state = _BETWEEN

    def _block_start(self, pieces: list[Piece], final: bool) -> bool:
        """Drop white space at the start of a block, and an opener that came twice; False: more text is needed."""
        while True:
            start = _space_end(self._buffer, self._at)
            if start - self._at > self._held:
                return True
            if start == len(self._buffer):
                return False
            self._take(pieces, SKIP, start)
            again = None
            if self._opener:
                again = compile_delimiters((self._opener,)).match(self._buffer, start, partial=not final)
            if again is None or again.end() - start > self._held:
                return True
            if again.partial:
                return False
            self._take(pieces, SKIP, again.end())

    def _wrapped(self, pieces: list[Piece], final: bool) -> None:
        """In a message with an opener. Its closer counts only where the text ends or the next message begins: inside a
        string it is ordinary text.
        """
        while self._at < len(self._buffer):
            match = self._find(final)
            self._give(pieces, match.start() if match is not None else len(self._buffer))
            if match is None or match.partial:
                return
            ends, end = (True, self._at) if which(match) else self._confirmed(match.end(), final)
            if ends is None:
                return
            if ends:
                if self._kind == ARGUMENTS:
                    pieces.append((CALL_END, self._buffer[self._at : end]))
                    self._at = end
                self._take(pieces, SKIP, end)
                self._state = _BETWEEN
                return
            self._give(pieces, end)

    def _give(self, pieces: list[Piece], end: int) -> None:
        """Give out text of the message that is open."""
        if end > self._at:
            self._take(pieces, self._kind, end)
            if self._kind == FIRST_ASIDE:
                self._kind = ASIDE

    def _confirmed(self, at: int, final: bool) -> tuple[bool | None, int]:
        """Whether a closer that ends at `at` is followed by the next message or the end of the text, which makes it
        one; None: more text is needed. And where that is, or how far there is none.

        Special tokens in between are skipped.
        """
        window = self._buffer[at : at + _WINDOW]
        undecided = (True if final else None) if len(window) < _WINDOW else False
        token = compile_delimiters((_TOKEN,))
        here, self._confirming = self._confirming, 0
        while True:
            here = _space_end(window, here)
            if here == len(window):
                if undecided is None:
                    self._confirming = here
                    return None, at
                return undecided, at + (here if undecided else self._before_closer(window, here))
            for pattern in (self._family.following, token):
                match = pattern.match(window, here, partial=True)
                if match is not None:
                    break
            else:
                return False, at + here
            if match.partial:
                if undecided is None:
                    self._confirming = here
                    return None, at
                return undecided, at + (len(window) if undecided else self._before_closer(window, here))
            if pattern is not token:
                return True, at + here
            here = match.end()

    def _before_closer(self, window: str, end: int) -> int:
        """How much of a window whose end confirms nothing is text: the last closer in it has a window of its own."""
        starts = [match.start() for match in compile_delimiters(self._closers).finditer(window, 0, end)]
        return starts[-1] if starts else end

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)


_CALL_NAME: Final = re.compile(r"\bto=(?:functions\.)?([^\s<]+)")


def call_name(header: str) -> str:
    """The tool that a header (`CALL`) names; `functions.`, the namespace of the caller's own tools, is left out."""
    match = _CALL_NAME.search(header)
    return match[1] if match is not None else ""


def _space_end(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None  # it matches the empty text too
    return match.end()
