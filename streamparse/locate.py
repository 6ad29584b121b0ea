"""Locate: where in the answer the document begins.

The answer is Markdown, prose, wrappers and, somewhere, JSON. What counts as the beginning of a document depends on
where it stands: at the start of the answer or of a fence nearly everything does; in prose only what prose never writes.
Nothing that is not certain is sent on, and what is held back to become certain is bounded.
"""

from __future__ import annotations

import re
from typing import Any, Final

SKIP: Final = 0  # text outside of the document
NOTE: Final = 1  # a diagnostic, at this place
BEGIN: Final = 2  # a document begins with this text; what comes after it belongs to the reader, until `resume`
Step = tuple[int, str]

_START: Final = 0  # nothing but white space so far, or a wrapper that can only hold a document
_PROSE: Final = 1
_FENCE: Final = 2  # in the first line of a fence
_INSIDE: Final = 3  # the reader has the text
_BEHIND: Final = 4  # behind a document, nothing but closers and white space so far
_QUOTE: Final = 5  # in a string at the start of the answer: it may be all there is

_INVISIBLE: Final = "\ufeff\u200b\u200c\u200d\u2060\u00a0"
_QUOTES: Final = "\"'`´“”„‘’«＂「『"
_SEPARATORS: Final = ":=："

_WRAPPER: Final = re.compile(
    r"<\|[^<>|\s]{1,40}\|>(?:assistant)?"  # a special token of a chat template
    r"|<[A-Za-z][\w.-]{0,40}(?:\s[^<>]{0,100})?>"  # <json>, <output type="x">
    r"|(?:(?:const|let|var|return|export\s+default)\s+)?[A-Za-z_$][\w$.]{0,60}"
    r"(?:\s*=|\s*\(|\s*:(?=\s*[\[{`]))"  # result = · callback(
    r"|(?:json[5lc]?|javascript|js|python)(?=\s*[\[{`])",
    re.IGNORECASE,
)
_ROLE: Final = "assistant"
# Languages whose code models show beside the answer.
_CODE: Final = frozenset(
    (
        *(
            "bash",
            "c",
            "c#",
            "c++",
            "console",
            "cpp",
            "cs",
            "csharp",
            "css",
            "diff",
            "dockerfile",
            "go",
            "html",
            "java",
        ),
        *("kotlin", "lua", "makefile", "perl", "php", "powershell", "py", "python", "python3", "r", "rb", "rs", "ruby"),
        *("rust", "scala", "sh", "shell", "sql", "swift", "xml", "zsh"),
    )
)
# What may still become one of the above when more text comes.
_WRAPPER_START: Final = re.compile(
    r"<\|?[^<>]{0,160}"
    r"|(?:(?:const|let|var|return|export(?:\s+default)?)\s+)?[A-Za-z_$][\w$.]{0,60}\s*:?\s*",
    re.IGNORECASE,
)
_PROSE_KEY: Final = re.compile(
    r"\{\s*(?:(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|“[^”]*”|`[^`]*`|(?:\\[nrt]\s*)*\\\"[^\"\\]*\\\")\s*[:=：]"
    # Sets of mathematics have a blank before the colon: `{x : x > 0}`.
    r"|[^\W\d]\w*(?:[:：](?=\s)|\s*[:：]\s*(?=[\"'\d{\[-]|true|false|null|True|False|None)))",
    re.DOTALL,
)
_PROSE_KEY_START: Final = re.compile(
    r"\{\s*(?:(?:\"(?:[^\"\\]|\\.)*(?:\\|\"\s*)?|'(?:[^'\\]|\\.)*(?:\\|'\s*)?|“[^”]*(?:”\s*)?|`[^`]*(?:`\s*)?"
    r"|(?:\\[nrt]\s*)*(?:\\(?:\"[^\"\\]*(?:\\\"?\s*)?)?)?)?"
    r"|[^\W\d]\w*\s*(?:[:：]\s*(?:t|tr|tru|f|fa|fal|fals|n|nu|nul|T|Tr|Tru|F|Fa|Fal|Fals|N|No|Non)?)?)",
    re.DOTALL,
)
_PROSE_ARRAY: Final = re.compile(r"\[\s*[{\[\"]")
_NUMBER_ARRAY: Final = re.compile(r"\[\s*[-{\[\"\d]")
_ARRAY_START: Final = re.compile(r"\[\s*")
_EMPTY: Final = re.compile(r"\{\s*\}|\[\s*\]")
_SCALAR_START: Final = {
    "number": re.compile(r"[-+]?\.?[0-9]"),
    "boolean": re.compile(r"(?:[Tt]rue|[Ff]alse)\b"),
    "null": re.compile(r"(?:null|None)\b"),
}
# What the next character decides: `-5`, `-` and a word; `true`, `truely`.
_SCALAR_WAITS: Final = re.compile(r"[-+]?\.?|[Tt]rue|[Ff]alse|null|None")
# Brackets and white space at the start of a document: behind them `\"` says that it is escaped, at 64 of them at most.
_BRACKETS: Final = re.compile(r"(?:[{\[\s]|\\[nrt]){0,65}")
_NUMBER: Final = re.compile(r"[-+]?[.\d]+")
_JSON_START: Final = re.compile(
    r"[{\[]\s*|\[\s*(?:[-+.\deE]*|t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?)\s*"
)
_INTEREST: Final = re.compile(r"[{\[]|```|~~~|`{1,2}\Z|~{1,2}\Z")
_INTEREST_START: Final = re.compile(r"[{\[`~]")
_FENCE_INFO: Final = re.compile(r"[^\n{\[]*")
_BEHIND_SPACE: Final = re.compile(r"[\s;,)]+")
_CLOSING_TAG: Final = re.compile(r"</[A-Za-z][\w.-]{0,40}\s*>|```+|~~~+")
_CLOSING_TAG_START: Final = re.compile(r"<(?:/[\w.-]{0,40}\s*)?|`{1,2}|~{1,2}")


class Locator:
    """Finds documents in the text of the answer.

    `feed(text)` gives steps `(kind, text)`: `SKIP`, `NOTE`, `BEGIN`. After `BEGIN` the text belongs to the reader, who
    calls `resume(text)` with what is left when the document is closed. `kind` is the root kind that a schema asks for,
    or None.
    """

    __slots__ = (
        "_buffer", "_code", "_fenced", "_held", "_noted", "_prose", "_scanned", "_state", "_wrapped",
        "count", "empty", "kind",
    )  # fmt: skip

    def __init__(self, *, kind: str | None = None, held: int = 4096) -> None:
        self._buffer = ""
        # The head of a candidate is looked at again with each piece of text, so it is kept short: keys are names.
        self._held = min(held, 512)
        self.kind = kind
        self._state = _START
        self._fenced = ""
        self._code = False  # in a fence of code, where `x = {}` is no wrapper of the answer
        self._wrapped = False
        self._scanned = 0  # how far a string at the start was read
        self._prose = False  # text that is no document was seen
        self._noted: tuple[str, ...] = ()
        self.count = 0
        """How many documents were begun."""
        self.empty = ""
        """An empty document that was seen in prose: it counts if nothing better comes."""

    @property
    def held(self) -> str:
        """The text that was not decided yet."""
        return self._buffer

    def feed(self, text: str) -> list[Step]:
        """What is certain now."""
        # One character at a time, so that the splits cannot matter: what is decided depends on the buffer alone. Plain
        # prose is passed over at once; a document takes all that is left.
        steps: list[Step] = []
        at = 0
        while at < len(text):
            if self._state == _PROSE and not self._buffer:
                match = _INTEREST_START.search(text, at)
                end = len(text) if match is None else match.start()
                if end > at:
                    self._buffer = text[at:end]
                    self._say(steps, end - at)
                    at = end
                    continue
            self._buffer += text[at]
            at += 1
            steps += self._run(final=False)
            if self._state == _INSIDE:
                steps[-1] = (BEGIN, steps[-1][1] + text[at:])
                break
        return steps

    def resume(self, text: str) -> list[Step]:
        """The document is closed; `text` stands behind it."""
        self._state = _BEHIND
        self._buffer = ""
        return self.feed(text)

    def refuse(self, text: str) -> list[Step]:
        """What began is not wanted after all: it is text, and documents may stand behind its first character."""
        self.count -= 1
        self._state = _PROSE
        self._buffer = text[:1]
        steps: list[Step] = []
        self._say(steps, 1)
        return steps + self.feed(text[1:])

    def close(self) -> list[Step]:
        """The text is over."""
        steps = self._run(final=True)
        if self._buffer and self._state != _INSIDE:
            self._skip(steps, len(self._buffer))
        return steps

    # Every method below either takes text off the buffer, changes the state, or returns True: more text is needed.

    def _run(self, *, final: bool) -> list[Step]:
        steps: list[Step] = []
        while self._buffer and self._state != _INSIDE:
            if self._state == _START:
                waits = self._start(steps, final)
            elif self._state == _PROSE:
                waits = self._search(steps, final)
            elif self._state == _QUOTE:
                waits = self._string(steps, final)
            elif self._state == _FENCE:
                waits = self._fence_line(steps, final)
            else:
                waits = self._behind(steps, final)
            if waits:
                break
        return steps

    def _skip(self, steps: list[Step], length: int) -> None:
        if length:
            steps.append((SKIP, self._buffer[:length]))
            self._buffer = self._buffer[length:]

    def _note(self, steps: list[Step], code: str) -> None:
        if code not in self._noted:
            self._noted += (code,)
            steps.append((NOTE, code))

    def _begin(self, steps: list[Step]) -> None:
        if self.count:
            self._note(steps, "extra_document")
        elif self._prose:
            # Noted here, not when the prose was read: without a document the text is not "before" anything.
            steps.append((NOTE, "leading_text"))
        steps.append((BEGIN, self._buffer))
        self._buffer = ""
        self._state = _INSIDE
        self.count += 1

    def _space(self, steps: list[Step]) -> bool:
        """Drop white space; True when there was nothing else."""
        at = 0
        while at < len(self._buffer) and (self._buffer[at].isspace() or self._buffer[at] in _INVISIBLE):
            if self._buffer[at] in _INVISIBLE:
                self._skip(steps, at)
                at = 0
                self._note(steps, "bom")
            at += 1
        self._skip(steps, at)
        return not self._buffer

    def _start(self, steps: list[Step], final: bool) -> bool:
        if self._space(steps):
            return False
        buffer = self._buffer
        char = buffer[0]
        if char in "{[":
            opens = self._decide(final)
            if opens is None:
                return True
            if opens:
                # Of the wrong kind or not: what stands alone is the answer, and a better one may still come.
                self._begin(steps)
            else:
                self._state = _PROSE
            return False
        if buffer.startswith(("```", "~~~")):
            self._open_fence(steps)
            return False
        if buffer in ("`", "``", "~", "~~", "/") and not final:
            return True
        if char == "#" or buffer.startswith(("//", "/*")):
            return self._comment(steps, final)
        if self.kind in _SCALAR_START and not final and _SCALAR_WAITS.fullmatch(buffer):
            return True
        if self.kind == "string" or (self.kind in _SCALAR_START and _SCALAR_START[self.kind].match(buffer)):
            self._begin(steps)
            return False
        if char == '"':
            self._scanned = 1
            self._state = _QUOTE
            return False
        match = None if self._code else _WRAPPER.match(buffer)
        if match is not None and match.end() <= self._held:
            if not final and _ROLE.startswith(buffer[match.end() :].lower()) and match[0].endswith("|>"):
                return True
            behind = match.end()
            while behind < len(buffer) and buffer[behind].isspace():
                behind += 1
            if behind == len(buffer) and not final and len(buffer) <= self._held:
                return True
            if behind < len(buffer) and buffer[behind] in "{[`~<":
                self._note(steps, "wrapper")
                self._skip(steps, match.end())
                self._wrapped = True
                return False
        elif not final and not self._code and len(buffer) <= self._held and _WRAPPER_START.fullmatch(buffer):
            return True
        self._state = _PROSE
        return False

    def _string(self, steps: list[Step], final: bool) -> bool:
        """A string at the start. Where nothing but white space follows it is the answer, whatever stands inside it."""
        buffer = self._buffer
        at = self._scanned
        while at < len(buffer) and buffer[at] != '"':
            at += 2 if buffer[at] == "\\" else 1
        if at >= len(buffer):
            # Not closed yet. What is too long to be looked at again is passed on.
            keep = at - len(buffer)
            if len(buffer) > self._held:
                self._prose = True
                self._skip(steps, len(buffer))
                self._scanned = keep
            else:
                self._scanned = at
            return True
        behind = _after_space(buffer, at + 1)
        if behind == len(buffer) and not final:
            self._scanned = at
            return len(buffer) <= self._held or self._leave(steps, at + 1)
        if behind < len(buffer):
            # Something follows: then this was text, and documents may stand in it.
            self._state = _PROSE
            self._say(steps, 1)
        else:
            self._say(steps, len(buffer))
        return False

    def _leave(self, steps: list[Step], length: int) -> bool:
        self._say(steps, length)
        self._state = _PROSE
        return False

    def _comment(self, steps: list[Step], final: bool) -> bool:
        """A comment before the document. Where no document follows it was prose, and is text either way."""
        block = self._buffer.startswith("/*")
        end = self._buffer.find("*/", 2) if block else self._buffer.find("\n")
        if end < 0 and not final:
            if len(self._buffer) <= self._held:
                return True
            self._state = _PROSE
            return False
        self._note(steps, "comment")
        self._skip(steps, len(self._buffer))  # looked at with each character: it ends where the comment does
        return False

    def _goes_on(self, buffer: str, final: bool) -> bool | None:
        """Whether what begins with two brackets, or a bracket and an escape, goes on like a document; None: wait for
        the character behind the brackets, which shows whether it is escaped (`[{\\"a\\": 1}]`).
        """
        end = _BRACKETS.match(buffer).end()  # type: ignore[union-attr]  # matches always, if nothing
        if len(buffer) <= self._held and buffer[end:] in ("", "\\"):
            return "\\" not in buffer if final else None
        return "\\" not in buffer[: end + 1] or buffer.startswith('\\"', end)

    def _fits(self, char: str) -> bool:
        return self.kind is None or self.kind == ("object" if char == "{" else "array")

    def _decide(self, final: bool) -> bool | None:
        """Whether the bracket in front of the buffer, at the start of the answer, begins a document; None: wait."""
        head = self._buffer[: self._held + 1]
        long = len(self._buffer) > self._held
        opens = self._opens(head, 0, final and not long)
        if opens is None and long:
            # Too long to wait for: what could be JSON to the letter so far is taken for it.
            return _JSON_START.fullmatch(head) is not None
        return opens

    def _opens(self, buffer: str, at: int, final: bool) -> bool | None:
        """The same for the bracket at `at` of `buffer`."""
        opener = buffer[at]
        at = _after_space(buffer, at + 1)
        if at == len(buffer):
            return True if final else None
        char = buffer[at]
        if char in _QUOTES or char in ",/#" or char == "}]"[opener == "["]:
            return True
        if opener == "{" and char == "{":
            return self._opens(buffer, at, final) if buffer[at - 1] != "{" or at < 3 else False
        if char == "\\":
            return self._goes_on(buffer[at:], final)
        if opener == "[" and char in "{[":
            return self._goes_on(buffer, final)
        first = at
        stops = '{}[]"\n<>!?;' + (_SEPARATORS if opener == "{" else "")
        while at < len(buffer) and buffer[at] not in stops:
            if buffer[at] in ",，" or (buffer[at] == "、" and opener == "["):
                return opener == "["
            at += 1
        if at == len(buffer):
            return True if final else None
        char = buffer[at]
        if char == ";" and opener == "[" and _NUMBER.fullmatch(buffer[first:at].strip()) is not None:
            return True  # `[1; 2]`
        if char == '"' and opener == "{":
            # `{a": 1}`: the opening quote is missing.
            at = _after_space(buffer, at + 1)
            if at == len(buffer):
                return True if final else None
            char = buffer[at]
        if char in _SEPARATORS:
            return opener == "{"
        if char == "\n":
            # `[1\n,2]`: the separator may stand on the next line.
            at = _after_space(buffer, at)
            if at == len(buffer):
                return True if final else None
            char = buffer[at]
            if char in ",，" or (opener == "[" and (char in '-"{[' or char.isalnum())):
                return opener == "["  # a comma, or the next item without one
        if char in "}]":
            # A bracket with one bare word in it: a document only when nothing but the end of its envelope follows.
            at = _after_space(buffer, at + 1)
            if at == len(buffer) or (buffer[at] == "<" and at + 1 == len(buffer)):
                return buffer[-1] != "<" if final else None
            if buffer[at] == "<":
                return buffer[at + 1] == "|" or (buffer[at + 1] == "/" and self._wrapped)
            return bool(self._fenced) and buffer[at] in "`~"
        return False

    def _open_fence(self, steps: list[Step]) -> None:
        self._note(steps, "fence")
        self._fenced = self._buffer[:3]
        self._skip(steps, 3)
        self._state = _FENCE

    def _fence_line(self, steps: list[Step], final: bool) -> bool:
        """The info string: to the end of the line, or to a document that begins on it."""
        end = _FENCE_INFO.match(self._buffer).end()  # type: ignore[union-attr]  # matches always, if nothing
        if end == len(self._buffer) <= self._held and not final:
            return True
        info = self._buffer[:end].strip("`~ \t\r").lower().split(maxsplit=1)
        self._code = bool(info) and info[0] in _CODE
        self._skip(steps, end)
        self._state = _START
        return False

    def _search(self, steps: list[Step], final: bool) -> bool:
        """In prose: look for what prose never writes."""
        match = _INTEREST.search(self._buffer)
        if match is None:
            self._say(steps, len(self._buffer))
            return False
        self._say(steps, match.start())
        buffer = self._buffer
        if match[0] in ("```", "~~~"):
            if self._fenced == match[0]:
                self._fenced = ""
                self._skip(steps, 3)
            else:
                self._open_fence(steps)
            return False
        if match[0] not in "{[":
            if not final:
                return True
            self._say(steps, len(buffer))
            return False
        empty = _EMPTY.match(buffer)
        if empty is not None and self._fits(buffer[0]):
            self.empty = self.empty or empty[0]
        opens = self._opens_in_prose(buffer[: self._held + 1], final and len(buffer) <= self._held)
        if opens is None and len(buffer) <= self._held:
            return True
        if opens and self._fits(buffer[0]):
            self._begin(steps)
        else:
            self._say(steps, 1)
        return False

    def _say(self, steps: list[Step], length: int) -> None:
        if length and not self._buffer[:length].isspace():
            self._prose = True
            if self.count:
                self._note(steps, "trailing_text")
        self._skip(steps, length)

    def _opens_in_prose(self, buffer: str, final: bool) -> bool | None:
        if buffer[0] == "{":
            if _PROSE_KEY.match(buffer) is not None:
                return True
            return None if not final and _PROSE_KEY_START.fullmatch(buffer) is not None else False
        match = (_NUMBER_ARRAY if self.kind == "array" else _PROSE_ARRAY).match(buffer)
        if match is not None:
            return self._goes_on(buffer, final)
        return None if not final and _ARRAY_START.fullmatch(buffer) is not None else False

    def _behind(self, steps: list[Step], final: bool) -> bool:
        """Right behind a document: closers, or the next document."""
        if self._space(steps):
            return False
        buffer = self._buffer
        space = _BEHIND_SPACE.match(buffer)
        if space is not None:
            if not self._wrapped and space[0].strip():
                self._note(steps, "trailing_text")
            self._skip(steps, space.end())
            return False
        closing = _CLOSING_TAG.match(buffer)
        if closing is not None and (self._wrapped or buffer[0] != "<"):
            if closing[0][0] in "`~":
                if closing.end() == len(buffer) and not final and closing.end() <= self._held:
                    return True  # more of the same may follow
                if not self._fenced:
                    self._note(steps, "trailing_text")
                self._fenced = ""
            self._skip(steps, closing.end())
            return False
        if not final and _CLOSING_TAG_START.fullmatch(buffer) is not None:
            return True
        if buffer[0] in "}]":
            self._note(steps, "extra_bracket")
            self._skip(steps, 1)
            return False
        if buffer[0] in "{[":
            opens = self._decide(final)
            if opens is None:
                return True
            if opens and self._fits(buffer[0]):
                self._begin(steps)
                return False
        self._state = _PROSE
        return False

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)


def _after_space(text: str, at: int) -> int:
    while at < len(text) and (text[at].isspace() or text[at] in _INVISIBLE):
        at += 1
    return at
