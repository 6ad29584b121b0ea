"""The push state machine: JSON text in, `StreamingData` events and a tree out.

Rules. Only this file changes the machine's state. It knows no schema, no I/O and no chunk: what it does depends on the characters alone.
It never recurses, and every pass of its loop consumes text or changes the state.

Theory of operation. `feed` runs one loop over integer states. Text that cannot be decided yet stays in a buffer (`_buffer`) that begins at
the undecided place: half an escape, a bare word, or a quote. A closing quote in the `llm` dialect is such a place: models forget to escape
quotes, so the text after it is read on as structure while the quote is *pending* (`_pending`). Where the structure leads to a point that
only a real end of a string leads to (the colon of the next key, a bracket followed by a comma, ...), the string is ended. Where the
structure breaks, the loop goes back to the quote, takes it as content and reads on. Nothing is sent while a quote is pending, so nothing
ever has to be taken back. Well-formed text never goes back.

The same file is compiled as `streamparse._machine_c` (types in machine_c.pxd), so: no closures, no generators, no module state.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

from .decode import repair_surrogates
from .dialect import Dialect
from .errors import DIAGNOSTIC_CODES, Diagnostic, IncompleteJSONError, JSONSyntaxError, LimitExceeded, StreamParseError
from .limits import Limits
from .paths import Parts, PathStyle, dot_key, format_path, wildcard

# A field is a list, made once per value and shared by all its events. Lists, not objects: CPython frees a long chain of lists without
# recursion, and a display is the cheapest thing to make.
#   [parent field | None, key or index, kind, (source, path style), path | None, wildcard path | None, pieces of the string | None]
Field = list[Any]
PARENT: Final = 0
KEY: Final = 1
KIND: Final = 2
ORIGIN: Final = 3
PATH: Final = 4
WILD: Final = 5
PIECES: Final = 6

# The states. EXPECTED says what each one waits for; the error texts, the docs' diagram and a test read it.
STRING: Final = 0  # inside a value in double quotes
KEY_STRING: Final = 1  # inside a key in double quotes
BARE: Final = 2  # inside a number, a literal or one bare word
VALUE: Final = 3  # a value is due; between VALUE and END white space is skipped
FIRST_VALUE: Final = 4  # an array was just opened
NEXT_KEY: Final = 5  # a comma in an object was read
FIRST_KEY: Final = 6  # an object was just opened
COLON: Final = 7  # a key was read
AFTER: Final = 8  # a value was read
GAP: Final = 9  # white space after a bare word (llm): more words may follow
CLOSER: Final = 10  # a bracket was read while a quote is pending
JOIN: Final = 11  # a plus sign was read after a string
DOUBLED: Final = 12  # the inner brace of a doubled pair was closed
END: Final = 13  # the document is closed
WORDS: Final = 14  # inside an unquoted string
QUOTED: Final = 15  # inside a value in other quotes
KEY_QUOTED: Final = 16  # inside a key in other quotes
TRIPLE: Final = 17  # inside a triple-quoted value
BARE_KEY: Final = 18  # inside an unquoted key
LINE_COMMENT: Final = 19  # inside a comment that ends with the line
BLOCK_COMMENT: Final = 20  # inside a comment that ends with */
DEAD: Final = 21  # an error, or a fence that ended the document
BUFFERED: Final = 22  # `_state` while `_buffer` holds text; the real state is in `_resume`

EXPECTED: Final[dict[int, tuple[str, str]]] = {
    STRING: ("STRING", "the rest of the string and its closing quote"),
    KEY_STRING: ("KEY_STRING", "the rest of the key and its closing quote"),
    BARE: ("BARE", "the rest of a number or literal"),
    VALUE: ("VALUE", "a value"),
    FIRST_VALUE: ("FIRST_VALUE", "a value or ]"),
    NEXT_KEY: ("NEXT_KEY", "a key in double quotes"),
    FIRST_KEY: ("FIRST_KEY", "a key in double quotes or }"),
    COLON: ("COLON", "a colon"),
    AFTER: ("AFTER", "a comma or the closing bracket"),
    GAP: ("GAP", "a comma or the closing bracket"),
    CLOSER: ("CLOSER", "a comma or a closing bracket"),
    JOIN: ("JOIN", "a string"),
    DOUBLED: ("DOUBLED", "the second closing brace"),
    END: ("END", "the end of the text"),
    WORDS: ("WORDS", "the rest of an unquoted string"),
    QUOTED: ("QUOTED", "the rest of the string and its closing quote"),
    KEY_QUOTED: ("KEY_QUOTED", "the rest of the key and its closing quote"),
    TRIPLE: ("TRIPLE", "the rest of the string and three closing quotes"),
    BARE_KEY: ("BARE_KEY", "the rest of the key and a colon"),
    LINE_COMMENT: ("LINE_COMMENT", "the end of the line"),
    BLOCK_COMMENT: ("BLOCK_COMMENT", "the end of the comment"),
    DEAD: ("DEAD", "nothing"),
}

_SIMPLE_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERALS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}
_PYTHON_LITERALS: Final[dict[str, Any]] = {"True": True, "False": False, "None": None, "TRUE": True, "FALSE": False, "NULL": None, "Null": None}
_NON_FINITE: Final = {"NaN": "nan", "Infinity": "inf", "nan": "nan", "inf": "inf", "Inf": "inf"}
_ALL_LITERALS: Final = (*_LITERALS, *_PYTHON_LITERALS, *_NON_FINITE, "undefined", "-Infinity")
_IN_VALUE: Final = frozenset((STRING, QUOTED, TRIPLE))
_ATOM: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-._"
_SPACE: Final = " \t\n\r"
_QUOTES: Final = {
    "'": "'", '"': '"', "`": "`´", "´": "`´", "“": "“”", "”": "“”", "„": "“”", "‘": "‘’", "’": "‘’", "«": "»", "＂": "＂",
}  # fmt: skip
_SEPARATORS: Final = ":=："
_COMMAS: Final = ",;，"

_CONTROL: Final = re.compile("[\x00-\x1f\ud800-\udfff]")
_HEX: Final = re.compile("[0-9a-fA-F]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_LOOSE_NUMBER: Final = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|([0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]+)?)")
_NUMBER_START: Final = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.(?:[0-9]+(?:[eE](?:[-+]?[0-9]*)?)?)?|[eE](?:[-+]?[0-9]*)?)?)?")
_UNDERSCORED: Final = re.compile(r"[0-9](?:_?[0-9])*(?:\.[0-9](?:_?[0-9])*)?(?:[eE][-+]?[0-9]+)?")
_IDENTIFIER: Final = re.compile(r"(?:[^\W\d]|[$_]|\\u[0-9a-fA-F]{4})(?:\w|[$\u200c\u200d]|\\u[0-9a-fA-F]{4})*")
_IDENTIFIER_PART: Final = re.compile(r"\w")
_WORD_AND_KEY: Final = re.compile(r"(.*?\S)(\s+)([^\W\d]\w*)", re.DOTALL)
_UNICODE_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
_KEY_AND_COLON: Final = re.compile(r'"(?:[^"\\]|\\.)*"\s*[:=：]', re.DOTALL)
_KEY_AND_COLON_START: Final = re.compile(r'"(?:[^"\\]|\\.)*(?:"\s*|\\)?', re.DOTALL)


def is_wide_space(char: str) -> bool:
    """White space beyond JSON's four: what JSON5 names, and the invisible characters that come with pasted text."""
    return char in "\v\f\u00a0\ufeff\u2028\u2029\u200b\u200c\u200d\u2060\u180e" or char.isspace()


def to_int(lexeme: str) -> int:
    """A whole number of any length: CPython's `int` refuses long ones, `Decimal` does not."""
    return int(lexeme) if len(lexeme) < 640 else int(Decimal(lexeme))


def _decode_escape(match: re.Match[str]) -> str:
    return chr(int(match[1], 16))


class NumberLexeme(str):
    """A number as the text has it, for `number="lexeme"`. `int()`, `float()` and `Decimal()` take it as it is."""

    __slots__ = ()


def path_of(field: Field) -> str:
    """The path of a field in its style. The path of a container is kept too, so that its children only add their own part."""
    text = field[PATH]
    if text is None:
        parent = field[PARENT]
        if parent is None:
            text = ""
        else:
            style = field[ORIGIN][1]
            base = parent[PATH]
            if base is None:
                base = parent[PATH] = format_path(parts_of(parent), style)
            text = _join(base, field[KEY], style)
        field[PATH] = text
    return text  # type: ignore[no-any-return]


def _join(base: str, key: str | int, style: PathStyle) -> str:
    if style == "dot":
        if isinstance(key, int):
            return f"{base}[{key}]"
        step = dot_key(key)
        return base + step if base or step[0] != "." else step[1:]
    step = format_path((key,), style)
    return base + step if style == "pointer" or not base else f"{base}/{step}"


def parts_of(field: Field) -> Parts:
    """The path of a field as a tuple of keys and indexes."""
    parts: list[str | int] = []
    while field[PARENT] is not None:
        parts.append(field[KEY])
        field = field[PARENT]
    parts.reverse()
    return tuple(parts)


def field_at(parts: Parts, kind: str, source: str, style: PathStyle, pieces: list[str] | None = None) -> Field:
    """A field that stands at `parts`, for events that come from elsewhere than a machine (a pickle, the wire)."""
    origin = (source, style)
    field: Field = [None, "", "object", origin, "", "", None]
    for part in parts:
        field = [field, part, "array" if isinstance(part, int) else "object", origin, None, None, None]
    field[KIND] = kind
    field[PIECES] = pieces
    return field


class StreamingData:
    """One event: a field grew, or is final. Immutable, compared by value.

    Made by the parser; `StreamingData.from_dict` makes one from `to_dict`.
    """

    __slots__ = ("_delta", "_field", "_type", "_value")

    @property
    def path(self) -> str:
        """Where: `tips[0].text`; the root is `""`."""
        return path_of(self._field)

    @property
    def wildcard_path(self) -> str:
        """The path with every list index as `[*]`: `tips[*].text`."""
        field = self._field
        text = field[WILD]
        if text is None:
            text = field[WILD] = wildcard(parts_of(field), field[ORIGIN][1])
        return text  # type: ignore[no-any-return]

    @property
    def parts(self) -> Parts:
        """The path as a tuple: keys are `str`, list indexes `int`."""
        return parts_of(self._field)

    @property
    def indexes(self) -> tuple[int, ...]:
        """The list indexes of the path, outermost first."""
        return tuple(part for part in parts_of(self._field) if isinstance(part, int))

    @property
    def pointer(self) -> str:
        """The path as a JSON Pointer (RFC 6901): `/tips/0/text`."""
        return format_path(parts_of(self._field), "pointer")

    @property
    def delta(self) -> str | None:
        """Text to append to the field's slot: a piece of a string, or the whole lexeme of a number or boolean. Else None."""
        return self._delta  # type: ignore[no-any-return]

    @property
    def value(self) -> Any:
        """On `delta` the value so far (a string is joined when asked for), on `done` the final one, on `cut` the partial one."""
        if self._type == "delta" and self._field[KIND] == "string":
            pieces = self._field[PIECES]
            return "".join(pieces[: self._value]) if pieces is not None else None
        return self._value

    @property
    def is_complete(self) -> bool:
        """True exactly on `done`: the value is final."""
        return self._type == "done"  # type: ignore[no-any-return]

    @property
    def event_type(self) -> str:
        """`delta`, `done`, `reset`, `cut` or `start`."""
        return self._type  # type: ignore[no-any-return]

    @property
    def kind(self) -> str:
        """The JSON type: `string`, `number`, `boolean`, `null`, `object` or `array`."""
        return self._field[KIND]  # type: ignore[no-any-return]

    @property
    def source(self) -> str:
        """`content`, or the id of the tool call whose arguments are parsed."""
        return self._field[ORIGIN][0]  # type: ignore[no-any-return]

    def to_dict(self) -> dict[str, Any]:
        """All public attributes as a plain dict, ready for `json.dumps`."""
        return {
            "path": self.path,
            "wildcard_path": self.wildcard_path,
            "parts": list(self.parts),
            "delta": self.delta,
            "value": self.value,
            "is_complete": self.is_complete,
            "event_type": self.event_type,
            "kind": self.kind,
            "source": self.source,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> StreamingData:
        """The event that `to_dict` wrote (in the dot style)."""
        return restore_event(
            tuple(data["parts"]), data["kind"], data.get("source", "content"), "dot", data["event_type"], data["delta"], data["value"]
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StreamingData):
            return NotImplemented
        return (
            self._type == other._type
            and self._delta == other._delta
            and self.parts == other.parts
            and self.kind == other.kind
            and self.source == other.source
            and same_value(self.value, other.value)
        )

    def __hash__(self) -> int:
        return hash((self._type, self._delta, self.path))

    def __repr__(self) -> str:
        return f"StreamingData({self.path!r}, {self._type}, {self.kind}, delta={self._delta!r}, value={self.value!r})"

    def __copy__(self) -> StreamingData:
        return self

    def __deepcopy__(self, memo: Any) -> StreamingData:
        return self

    def __reduce__(self) -> Any:
        field = self._field
        source, style = field[ORIGIN]
        return (restore_event, (parts_of(field), field[KIND], source, style, self._type, self._delta, self.value))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        # Imported here: the core must not need pydantic to be imported.
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(
            _validate_event, serialization=core_schema.plain_serializer_function_ser_schema(StreamingData.to_dict)
        )


def _validate_event(value: Any) -> StreamingData:
    if isinstance(value, StreamingData):
        return value
    if isinstance(value, dict):
        try:
            return StreamingData.from_dict(value)
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a StreamingData: {error}") from None
    raise ValueError(f"a StreamingData or its dict is wanted, got {type(value).__name__}")


def make_event(field: Field, event_type: str, delta: str | None, value: Any) -> StreamingData:
    """An event of `field`. For a string's `delta` the value is the number of pieces so far, not the text."""
    event = StreamingData.__new__(StreamingData)
    event._field = field
    event._type = event_type
    event._delta = delta
    event._value = value
    return event


def restore_event(
    parts: Parts, kind: str, source: str, style: PathStyle, event_type: str, delta: str | None, value: Any
) -> StreamingData:
    """An event from its attributes (pickle, `from_dict`)."""
    if event_type == "delta" and kind == "string":
        pieces = None if value is None else [value]
        return make_event(field_at(parts, kind, source, style, pieces), event_type, delta, 1)
    return make_event(field_at(parts, kind, source, style), event_type, delta, value)


def same_value(left: Any, right: Any) -> bool:
    """Equality of two JSON values by type and content, without recursion. Key order does not count; NaN equals NaN."""
    pairs = [(left, right)]
    while pairs:
        a, b = pairs.pop()
        if a is b:
            continue
        if type(a) is not type(b):
            return False
        if type(a) is dict:
            if a.keys() != b.keys():
                return False
            pairs.extend((value, b[key]) for key, value in a.items())
        elif type(a) is list:
            if len(a) != len(b):
                return False
            pairs.extend(zip(a, b, strict=True))
        elif a != b and (a == a or b == b):
            return False
    return True


def copy_value(value: Any) -> Any:
    """A deep copy of a JSON value, without recursion."""
    if type(value) is not dict and type(value) is not list:
        return value
    root: Any = {} if type(value) is dict else []
    work: list[tuple[Any, Any]] = [(value, root)]
    while work:
        source, target = work.pop()
        if type(source) is dict:
            for key, child in source.items():
                if type(child) is dict or type(child) is list:
                    target[key] = fresh = {} if type(child) is dict else []
                    work.append((child, fresh))
                else:
                    target[key] = child
        else:
            for child in source:
                if type(child) is dict or type(child) is list:
                    fresh = {} if type(child) is dict else []
                    target.append(fresh)
                    work.append((child, fresh))
                else:
                    target.append(child)
    return root


class Machine:
    """One JSON document, pushed in.

    `feed(text)` returns the events that are certain; `finish()` says that the text is over. When nothing more is read `stopped` is True and
    `rest` is the text that was not: the document is `closed`, a fence ended it, or there is an `error`.

    `solo` says that the text is this document alone (strict, json5): anything but white space after it is a fault. `begin(parent, key)`
    places a document inside a larger value (a list of documents, a string that holds JSON).
    """

    def __init__(
        self,
        dialect: Dialect,
        limits: Limits,
        *,
        solo: bool = True,
        number: str = "int_float",
        surrogates: str = "replace",
        starts: bool = False,
        keep_data: bool = True,
        source: str = "content",
        path_style: PathStyle = "dot",
    ) -> None:
        self._dialect = dialect
        self._tolerances = dialect.tolerances
        self.lenient = "unescaped_quote" in dialect.tolerances
        self._limits = limits
        self.solo = solo
        self._number = number
        self._surrogates = surrogates
        self._starts = starts
        self.keep_data = keep_data
        self._origin = (source, path_style)
        self._depth = limits.depth
        self.offset = 0
        self._line = 1
        self._line_start = 0
        self.diagnostics: list[Diagnostic] = []
        self.diagnostic_count = 0
        self.error: StreamParseError | None = None
        self._memo: dict[str, str] = {}
        self.begin(None, 0)

    def begin(self, parent: Field | None, key: str | int) -> None:
        """Expect a new document, at `key` of `parent`. Position and diagnostics go on."""
        self._state = VALUE
        self._resume = VALUE
        self._buffer = ""
        self._skip = 0
        self.rest = ""
        self.stopped = False
        # The document stands in a container of one, so that the root needs no code of its own.
        self._in_object = isinstance(key, str)
        self._holder: Any = {} if self._in_object else []
        self._container: Any = self._holder if self.keep_data else None
        self._node = parent
        self._key = key if isinstance(key, str) else ""
        self._count = 0 if isinstance(key, str) else key
        self._stack: list[tuple[Field | None, Any, bool, int]] = []
        self._objects = 0
        self._doubled: list[int] = []
        self._key_pieces: list[str] = []
        self._leaf: Field = [None, "", "string", self._origin, None, None, None]
        self._pieces: list[str] = []
        self._sent = 0
        self._tail = ""
        self._barrier = self._limits.document
        self._pos = 0
        self._pending = -1
        self._undo = 0
        self._closer = 0
        self._closers = '"'
        self._key_closers = '"'
        self._key_barrier = 0
        self._string = STRING
        self._comment = VALUE
        self._lex = 0
        self._gap = 0
        self._key_start = 0
        self._in_words = False
        self.incomplete: list[str] = []
        self._hole = False
        self._shown = False

    # ------------------------------------------------------------------------------------------------------------------ reading

    def feed(self, text: str) -> list[StreamingData]:
        """Read on; return the events that are certain now. Never raises on what the text says: see `error`."""
        if self._state == STRING:
            # Most deltas are the middle of a string: all there is to know is that nothing special is in them.
            end = self.offset + len(text)
            if text.isprintable() and '"' not in text and "\\" not in text and end <= self._barrier and text:
                self.offset = end
                pieces = self._pieces
                if self.keep_data:
                    pieces.append(text)
                event = StreamingData.__new__(StreamingData)
                event._field = self._leaf
                event._type = "delta"
                event._delta = text
                event._value = self._sent = len(pieces)
                return [event]
        out: list[StreamingData] = []
        if text:
            self._run(text, out, False)
        return out

    def _run(self, text: str, out: list[StreamingData], final: bool) -> None:
        """The loop. `final` says that the text ends here, so that what waits for more is decided."""
        state = self._state
        pos = 0
        if state == BUFFERED:
            text = self._buffer + text
            pos = self._skip
            state = self._resume
            self._buffer = ""
        n = len(text)
        over = self.offset + n - self._limits.document
        if over > 0:
            n = max(n - over, pos)
            text = text[:n]
        pending = self._pending
        in_object = self._in_object
        quote = -1  # where the next double quote is, as far as known: looked for once, not at every escape
        while pos < n:
            if state == STRING:
                if quote < pos:
                    quote = text.find('"', pos)
                    if quote < 0:
                        quote = n
                stop = quote
                back = text.find("\\", pos, quote)
                if back >= 0:
                    stop = back
                if self.offset + stop > self._barrier:
                    state = self._too_long(text, pos)
                    break
                if stop > pos:
                    piece = text[pos:stop]
                    if not piece.isprintable() and _CONTROL.search(piece) is not None:
                        pos = self._raw_controls(text, pos, stop, self._pieces)
                        if pos < stop:
                            state = DEAD
                            break
                    else:
                        self._pieces.append(piece)
                        pos = stop
                if pos == n:
                    break
                if back >= 0:
                    used = self._escape(text, pos, n, final, self._pieces)
                    if used <= 0:
                        if used < 0:
                            state = DEAD
                        break
                    pos += used
                    continue
                pos += 1  # the closing quote
                if self.lenient and self._stack:
                    pending = pos - 1
                    self._string = STRING
                    self._undo = self.diagnostic_count
                    state = AFTER
                    continue
                self._end_string(out)
                state = AFTER if self._stack else END
                if state == END and not self.solo:
                    break
                continue
            char = text[pos]
            if state == AFTER:
                if char == ",":
                    pos += 1
                    state = NEXT_KEY if in_object else VALUE
                    continue
                if char == "}" and in_object or char == "]" and not in_object:
                    if pending >= 0:
                        if len(self._stack) > 1:
                            self._closer = pos - pending
                            pos += 1
                            state = CLOSER
                            continue
                        pending = -1
                        self._end_string(out)
                    pos += 1
                    state = self._pop(out)
                    in_object = self._in_object
                    if state == END and not self.solo:
                        break
                    continue
            elif state == COLON:
                if char == ":":
                    pos += 1
                    if pending >= 0:
                        pending = -1
                        self._end_string(out)
                    self._take_key(text, pos, out)
                    state = VALUE
                    continue
            elif state == VALUE or state == FIRST_VALUE:
                if char == '"':
                    pos += 1
                    if pending >= 0:
                        pending = -1
                        self._end_string(out)
                    self._start_string(pos, out)
                    state = STRING
                    continue
                if char == "{" or char == "[":
                    if pending >= 0:
                        pending = -1
                        self._end_string(out)
                    if len(self._stack) >= self._depth:
                        self._limit("depth", self._depth, text, pos)
                        state = DEAD
                        break
                    pos += 1
                    in_object = char == "{"
                    self._push(in_object, out)
                    state = FIRST_KEY if in_object else FIRST_VALUE
                    continue
                if char in "-0123456789tfn":
                    self._lex = pos
                    pos += 1
                    state = BARE
                    continue
                if char == "]" and state == FIRST_VALUE:
                    pos += 1
                    state = self._pop(out)
                    in_object = self._in_object
                    if state == END and not self.solo:
                        break
                    continue
            elif state == NEXT_KEY or state == FIRST_KEY:
                if char == '"':
                    pos += 1
                    if quote < pos:
                        quote = text.find('"', pos)
                        if quote < 0:
                            quote = n
                    piece = text[pos:quote]
                    self._key_closers = '"'
                    if quote < n and "\\" not in piece and piece.isprintable() and len(piece) <= self._limits.key:
                        self._key = piece
                        pos = quote + 1
                        self._gap = pos
                        state = COLON
                    else:
                        self._start_key(pos)
                        state = KEY_STRING
                    continue
                if char == "}" and state == FIRST_KEY:
                    pos += 1
                    state = self._pop(out)
                    in_object = self._in_object
                    if state == END and not self.solo:
                        break
                    continue
            elif state == BARE:
                while char in _ATOM:
                    pos += 1
                    if pos == n:
                        break
                    char = text[pos]
                self._pending = pending
                if pos - self._lex > self._limits.number:
                    state = self._long_atom(text, pos, out)
                    pos = self._pos
                    pending = self._pending
                    if state == DEAD:
                        break
                    continue
                if pos == n:
                    break
                if char in ",}]" or char in _SPACE and not self.lenient:
                    self._pos = pos
                    state = self._end_atom(text, pos, out)
                    pos = self._pos
                    pending = self._pending
                    if state == DEAD or state == END and not self.solo:
                        break
                    continue
            elif state == KEY_STRING:
                if quote < pos:
                    quote = text.find('"', pos)
                    if quote < 0:
                        quote = n
                self._pos = pos
                state = self._read_key(text, quote, n, final)
                pos = self._pos
                if state == KEY_STRING or state == DEAD:
                    break
                continue
            # What the states between values share.
            if VALUE <= state <= END and char in _SPACE:
                pos += 1
                while pos < n and text[pos] in _SPACE:
                    pos += 1
                continue
            # RFC 8259 knows no more. The dialect may.
            self._state = state
            self._pos = pos
            self._pending = pending
            waits = self._tolerate(state, text, n, final, out)
            state = self._state
            pos = self._pos
            pending = self._pending
            in_object = self._in_object
            quote = -1
            if waits or state == DEAD or state == END and not self.solo:
                break
        self._settle(state, text, pos, n, pending, out)
        if over > 0 and self._state != DEAD and (self._state != END or self.solo):
            self._limit("document", self._limits.document, self._buffer, self._limits.document - self.offset)
            self._state = DEAD
            self.stopped = True

    def _settle(self, state: int, text: str, pos: int, n: int, pending: int, out: list[StreamingData]) -> None:
        """After the loop: send what is certain, keep what is not, move the position to the beginning of what is kept."""
        if self._sent < len(self._pieces):
            self._flush(out)
        if pending >= 0 and pos - pending > self._limits.held:
            self._pending = pending
            state = self._accept(out)
            pos, pending = self._pos, -1
        if state == END or state == DEAD:
            keep = pos
            self.stopped = state == DEAD or not self.solo
            self.rest = text[pos:] if self.stopped else ""
        elif pending >= 0:
            keep = self._lex if self._string == WORDS else pending
        elif state == BARE or state == GAP or state == WORDS:
            keep = self._lex
        elif state == BARE_KEY:
            keep = self._key_start
        elif state == COLON and self.lenient:
            keep = self._gap
        else:
            keep = pos
        if keep:
            self._move(text, keep)
            if pending >= 0:
                pending -= keep
        self._pending = pending
        if keep < n and state != END and state != DEAD:
            self._buffer = text[keep:]
            self._skip = pos - keep
            self._resume = state
            self._state = BUFFERED
        else:
            self._state = state

    # ------------------------------------------------------------------------------------------------------------------ the tree

    def _start_string(self, pos: int, out: list[StreamingData]) -> None:
        pieces: list[str] = []
        self._pieces = pieces
        self._sent = 0
        self._leaf = [self._node, self._key if self._in_object else self._count, "string", self._origin, None, None, pieces]
        self._barrier = min(self.offset + pos + self._limits.string, self._limits.document)
        if self._starts:
            out.append(make_event(self._leaf, "start", None, None))

    def _flush(self, out: list[StreamingData]) -> None:
        """Send the pieces that were read since the last event, as one delta."""
        pieces = self._pieces
        sent = self._sent
        if len(pieces) == sent + 1:
            delta = pieces[sent]
        else:
            delta = "".join(pieces[sent:])
            pieces[sent:] = [delta]
        if delta:
            if not self.keep_data:
                pieces.clear()
            self._sent = len(pieces)
            out.append(make_event(self._leaf, "delta", delta, self._sent))

    def _end_string(self, out: list[StreamingData]) -> None:
        pieces = self._pieces
        if self._tail:
            pieces.append(self._tail)
            self._tail = ""
        if self._sent < len(pieces):
            self._flush(out)
        value = pieces[0] if len(pieces) == 1 else "".join(pieces)
        self._put(self._leaf[KEY], value)
        out.append(make_event(self._leaf, "done", None, value if self.keep_data else None))
        self._pieces = []
        self._sent = 0
        self._in_words = False

    def _put(self, key: Any, value: Any) -> None:
        """Set `value` at `key` of the current container (in an array: at its end)."""
        if self.keep_data:
            if self._in_object:
                self._container[key] = value
                self._hole = False
            elif self._shown:
                self._container[-1] = value
            else:
                self._container.append(value)
            self._shown = False
        if not self._in_object:
            self._count += 1

    def _scalar(self, kind: str, lexeme: str | None, value: Any, out: list[StreamingData]) -> int:
        """A number, boolean or null, whole. Returns the state after it."""
        field: Field = [self._node, self._key if self._in_object else self._count, kind, self._origin, None, None, None]
        if self._starts:
            out.append(make_event(field, "start", None, None))
        self._put(self._key, value)
        if lexeme is not None:
            out.append(make_event(field, "delta", lexeme, value))
        out.append(make_event(field, "done", None, value))
        return AFTER if self._stack else END

    def _push(self, is_object: bool, out: list[StreamingData]) -> None:
        node = self._node
        container = self._container
        in_object = self._in_object
        field: Field = [
            node, self._key if in_object else self._count, "object" if is_object else "array", self._origin, None, None, None,
        ]  # fmt: skip
        value: Any = None
        if self.keep_data:
            value = {} if is_object else []
        self._put(self._key, value)
        self._stack.append((node, container, in_object, self._count))
        self._node = field
        self._container = value
        self._in_object = is_object
        self._count = 0
        if is_object:
            self._objects += 1
        if self._starts:
            out.append(make_event(field, "start", None, None))

    def _pop(self, out: list[StreamingData]) -> int:
        """Close the current container. Returns the state after it."""
        out.append(make_event(self._node, "done", None, self._container))  # type: ignore[arg-type]  # a container has a field
        if self._in_object:
            self._objects -= 1
        self._node, self._container, self._in_object, self._count = self._stack.pop()
        if self._doubled and self._doubled[-1] == len(self._stack):
            self._doubled.pop()
            return DOUBLED
        return AFTER if self._stack else END

    def _take_key(self, text: str, pos: int, out: list[StreamingData]) -> None:
        """The key is certain: its separator was read."""
        key = self._key
        if not self.keep_data:
            return
        self._key = key = self._memo.setdefault(key, key)
        if key in self._container:
            field: Field = [self._node, key, "null", self._origin, None, None, None]
            self._diagnose("duplicate_key", text, pos - 1, field=field)
            out.append(make_event(field, "reset", None, None))
            # The place in the order stays the first one, as in `json.loads`; the old value is gone.
            self._container[key] = None
            self._hole = True

    def _start_key(self, pos: int) -> None:
        self._key_pieces = []
        self._key_barrier = self.offset + pos + self._limits.key

    def _read_key(self, text: str, quote: int, n: int, final: bool) -> int:
        """Inside a key in double quotes. Returns the state; KEY_STRING means that more text is needed."""
        pos = self._pos
        while pos < n:
            stop = quote
            back = text.find("\\", pos, quote)
            if back >= 0:
                stop = back
            if self.offset + stop > self._key_barrier:
                return self._limit("key", self._limits.key, text, self._key_barrier - self.offset)
            if stop > pos:
                pos = self._raw_controls(text, pos, stop, self._key_pieces)
                if pos < stop:
                    return DEAD
            self._pos = pos
            if pos == n:
                break
            if back < 0:
                self._key = "".join(self._key_pieces)
                self._pos = self._gap = pos + 1
                return COLON
            used = self._escape(text, pos, n, final, self._key_pieces)
            if used <= 0:
                return KEY_STRING if used == 0 else DEAD
            pos += used
            self._pos = pos
            if quote < pos:
                quote = text.find('"', pos)
                if quote < 0:
                    quote = n
        return KEY_STRING

    # ------------------------------------------------------------------------------------------------------------------ strings

    def _raw_controls(self, text: str, pos: int, stop: int, pieces: list[str]) -> int:
        """Text of a string that may hold raw control characters. Returns where reading stopped: before `stop` after a fault."""
        match = _CONTROL.search(text, pos, stop)
        while match is not None:
            at = match.start()
            char = match[0]
            if char >= "\ud800":
                # The decoder writes a byte that is no UTF-8 as U+DC80 and up; any other half of a pair was in the text itself.
                code = "invalid_utf8" if "\udc80" <= char <= "\udcff" else "lone_surrogate"
                if code == "invalid_utf8" and code not in self._tolerances:
                    self._fail(code, text, at, "UTF-8")
                    break
                self._diagnose(code, text, at)
                if code == "invalid_utf8" or self._surrogates == "replace":
                    pieces.append(text[pos:at])
                    pieces.append("\ufffd")
                    pos = at + 1
            elif ("raw_line_end" if char in "\r\n" else "control_character") in self._tolerances:
                self._diagnose("control_character", text, at)
            else:
                self._fail("control_character", text, at, "an escape such as \\n instead of a raw control character")
                break
            match = _CONTROL.search(text, at + 1, stop)
        else:
            at = stop
        if at > pos:
            pieces.append(text[pos:at])
        return at

    def _escape(self, text: str, pos: int, n: int, final: bool, pieces: list[str]) -> int:
        """The escape at `pos`. Returns how many characters it took; 0: more text is needed; -1: a fault."""
        if pos + 1 >= n:
            return 0
        char = text[pos + 1]
        simple = _SIMPLE_ESCAPES.get(char)
        if simple is not None:
            pieces.append(simple)
            return 2
        if char == "u":
            return self._unicode_escape(text, pos, n, final, pieces)
        allowed = self._tolerances
        if char == "x" and "hex_escape" in allowed:
            end = _HEX.match(text, pos + 2, min(pos + 4, n)).end()  # type: ignore[union-attr]  # matches always, if nothing
            if end == pos + 4:
                self._diagnose("hex_escape", text, pos)
                pieces.append(chr(int(text[pos + 2 : end], 16)))
                return 4
            if end == n and not final:
                return 0
        elif char in "\n\r\u2028\u2029" and "line_continuation" in allowed:
            if char == "\r" and pos + 2 == n and not final:
                return 0
            self._diagnose("line_continuation", text, pos)
            return 3 if text.startswith("\r\n", pos + 1) else 2
        elif char == "v" and "hex_escape" in allowed:
            pieces.append("\v")
            self._diagnose("hex_escape", text, pos)
            return 2
        elif char == "0" and "hex_escape" in allowed:
            if pos + 2 == n and not final:
                return 0
            if not (pos + 2 < n and text[pos + 2] in "0123456789"):
                pieces.append("\0")
                self._diagnose("hex_escape", text, pos)
                return 2
        if "broken_unicode_escape" in allowed:
            # What starts no escape is text: models write Windows paths, LaTeX and regular expressions. A quote is the exception.
            self._diagnose("invalid_escape", text, pos)
            pieces.append(char if char == "'" else "\\" + char if char >= " " else "\\")
            return 2 if char >= " " else 1
        if "invalid_escape" in allowed and char not in "123456789x0" and char not in "\n\r":
            self._diagnose("invalid_escape", text, pos)
            pieces.append(char)
            return 2
        return self._fail("invalid_escape", text, pos, 'one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX')

    def _unicode_escape(self, text: str, pos: int, n: int, final: bool, pieces: list[str]) -> int:
        end = _HEX.match(text, pos + 2, min(pos + 6, n)).end()  # type: ignore[union-attr]  # matches always, if nothing
        if end < pos + 6:
            if end == n and not final:
                return 0
            if "broken_unicode_escape" in self._tolerances:
                self._diagnose("broken_unicode_escape", text, pos)
                pieces.append("\\u")
                return 2
            return self._fail("invalid_escape", text, pos, "four hexadecimal digits after \\u")
        code = int(text[pos + 2 : end], 16)
        if code < 0xD800 or code > 0xDFFF:
            pieces.append(chr(code))
            return 6
        if code < 0xDC00:
            # The first half of a pair: wait for the second as long as the text may still be one.
            low = _HEX.match(text, end + 2, min(end + 6, n)).end() if text.startswith("\\u", end) else end  # type: ignore[union-attr]
            if low == end + 6:
                second = int(text[end + 2 : low], 16)
                if 0xDC00 <= second <= 0xDFFF:
                    pieces.append(chr(0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00)))
                    return 12
            elif not final and (end == n or low == n or text[end:n] == "\\"):
                return 0
        self._diagnose("lone_surrogate", text, pos)
        pieces.append(chr(code) if self._surrogates == "keep" else "\ufffd")
        return 6

    def _too_long(self, text: str, pos: int) -> int:
        """The string goes on past its limit: take it up to there."""
        stop = self._barrier - self.offset
        if stop > pos:
            self._raw_controls(text, pos, stop, self._pieces)
        return self._limit("string", self._limits.string, text, stop) if self.error is None else DEAD

    # ------------------------------------------------------------------------------------------------------------------ numbers, literals

    def _end_atom(self, text: str, pos: int, out: list[StreamingData]) -> int:
        """A bare word is over, at `pos`. Returns the state after it."""
        lexeme = text[self._lex : pos]
        if self._pending >= 0:
            if not self._is_atom(lexeme):
                return self._reject(text, pos, out)
            self._pending = -1
            self._end_string(out)
        if lexeme in _LITERALS:
            return self._scalar("null" if lexeme == "null" else "boolean", None if lexeme == "null" else lexeme, _LITERALS[lexeme], out)
        match = _NUMBER.fullmatch(lexeme)
        if match is not None:
            value: Any
            if self._number == "lexeme":
                value = NumberLexeme(lexeme)
            elif match[1] is None and match[2] is None:
                value = to_int(lexeme)
            elif self._number == "decimal":
                value = Decimal(lexeme)
            else:
                value = float(lexeme)
            return self._scalar("number", lexeme, value, out)
        odd = self._read_odd_atom(lexeme)
        if odd is not None:
            self._diagnose(odd[0], text, self._lex)
            return self._scalar(odd[1], odd[2], odd[3], out)
        if "unquoted_string" in self._tolerances and self._stack:
            return WORDS
        return self._bad_atom(lexeme, text)

    def _is_atom(self, lexeme: str) -> bool:
        """True for a literal or number in any form that the dialect takes."""
        return lexeme in _LITERALS or _NUMBER.fullmatch(lexeme) is not None or self._read_odd_atom(lexeme) is not None

    def _read_odd_atom(self, lexeme: str) -> tuple[str, str, str | None, Any] | None:
        """(diagnostic code, kind, JSON lexeme, value) of a literal or number that JSON does not know, where the dialect takes it."""
        allowed = self._tolerances
        if lexeme in _PYTHON_LITERALS and "python_literal" in allowed:
            value = _PYTHON_LITERALS[lexeme]
            return ("python_literal", "null", None, None) if value is None else ("python_literal", "boolean", lexeme.lower(), value)
        if lexeme == "undefined" and "js_literal" in allowed:
            return ("js_literal", "null", None, None)
        sign = lexeme[:1] if lexeme[:1] in ("+", "-") else ""
        bare = lexeme[len(sign) :]
        if bare in _NON_FINITE and "non_finite" in allowed and (bare in ("NaN", "Infinity") or "python_literal" in allowed):
            value = float(sign + _NON_FINITE[bare])
            shown = "NaN" if value != value else "-Infinity" if value < 0 else "Infinity"
            return ("non_finite", "number", shown, self._as_number(shown, value))
        if "number_form" not in allowed:
            return None
        if "_" in lexeme and "loose_number" in allowed and _UNDERSCORED.fullmatch(bare) is not None:
            bare = bare.replace("_", "")
        match = _LOOSE_NUMBER.fullmatch(sign + bare)
        if match is None or len(bare) > self._limits.number:
            return None
        minus = "-" if sign == "-" else ""
        if match[2] is not None:
            whole = Decimal(int(match[2], 16))
            return ("number_form", "number", *self._both(f"{minus}{whole:f}"))
        digits, fraction = match[3], match[4]
        if not digits and (fraction is None or fraction == "."):
            return None
        if len(digits) > 1 and digits[0] == "0" and "loose_number" not in allowed:
            return None
        shown = minus + (digits.lstrip("0") or "0")
        if fraction is not None:
            shown += fraction if len(fraction) > 1 else ".0"
        return ("number_form", "number", *self._both(shown + (match[5] or "")))

    def _both(self, shown: str) -> tuple[str, Any]:
        """A lexeme in JSON form and its value."""
        value: Any = to_int(shown) if shown.lstrip("-").isdigit() else float(shown)
        return shown, self._as_number(shown, value)

    def _as_number(self, shown: str, value: Any) -> Any:
        if self._number == "lexeme":
            return NumberLexeme(shown)
        return Decimal(shown) if self._number == "decimal" and isinstance(value, float) else value

    def _bad_atom(self, lexeme: str, text: str) -> int:
        good = 0
        if lexeme[0] in "-+.0123456789":
            while good < len(lexeme) and _NUMBER_START.fullmatch(lexeme, 0, good + 1) is not None:
                good += 1
            return self._fail("invalid_number", text, self._lex + good, "a number as JSON writes it")
        while good < len(lexeme) and any([word.startswith(lexeme[: good + 1]) for word in _LITERALS]):
            good += 1
        return self._fail("invalid_literal", text, self._lex + good, "true, false, null or a quoted string")

    def _long_atom(self, text: str, pos: int, out: list[StreamingData]) -> int:
        """A bare word longer than any number may be."""
        self._pos = pos
        if self._pending >= 0:
            return self._reject(text, pos, out)
        start = text[self._lex : self._lex + self._limits.number + 1]
        if start[0] not in "-+.0123456789":
            if "unquoted_string" in self._tolerances and self._stack:
                return WORDS
            return self._bad_atom(start, text)
        return self._limit("number", self._limits.number, text, self._lex + self._limits.number)

    # ------------------------------------------------------------------------------------------------------------------ a pending quote

    def _accept(self, out: list[StreamingData]) -> int:
        """The pending end of the string is one. Reading goes on behind it."""
        self._forget(self._undo)
        self._pos = self._pending + (0 if self._string == WORDS else 1)
        self._pending = -1
        self._end_string(out)
        return AFTER

    def _reject(self, text: str, pos: int, out: list[StreamingData]) -> int:
        """The pending end of the string is none: what stands there belongs to the string. Reading goes on in it."""
        pending = self._pending
        if pos - pending > self._limits.held:
            return self._accept(out)
        self._forget(self._undo)
        self._pending = -1
        self._pos = pending + 1
        if self._string == WORDS:
            self._tail = ""
        else:
            self._diagnose("unescaped_quote", text, pending, field=self._leaf)
            self._pieces.append(text[pending])
        return self._string

    def _forget(self, count: int) -> None:
        """Take back the diagnostics beyond the first `count`."""
        self.diagnostic_count = count
        del self.diagnostics[count:]

    # ------------------------------------------------------------------------------------------------------------------ tolerances

    def _tolerate(self, state: int, text: str, n: int, final: bool, out: list[StreamingData]) -> bool:
        """The character at `_pos` is none that RFC 8259 knows in `state`. True: more text is needed to say what it is."""
        pos = self._pos
        char = text[pos]
        if state == QUOTED or state == KEY_QUOTED or state == TRIPLE:
            return self._read_quoted(state, text, n, final, out)
        if state == WORDS:
            return self._read_words(text, n, out)
        if state == BARE_KEY:
            return self._read_bare_key(text, n, out)
        if state == LINE_COMMENT or state == BLOCK_COMMENT:
            return self._read_comment(state, text, n)
        if state == BARE or state == GAP:
            self._after_atom(state, char, text, out)
            return False
        allowed = self._tolerances
        if char == "/" and "comment" in allowed:
            if pos + 1 == n and not final:
                return True
            if text.startswith(("//", "/*"), pos):
                self._open_comment(state, LINE_COMMENT if text[pos + 1] == "/" else BLOCK_COMMENT, text, 2)
                return False
        elif char == "#" and "shell_comment" in allowed:
            self._open_comment(state, LINE_COMMENT, text, 1)
            return False
        elif "wide_space" in allowed and is_wide_space(char):
            self._pos = pos + 1
            return False
        elif char == "`" and "around" in allowed:
            if text.startswith("```", pos):
                # The fence ends here, so the document does. What is open is cut.
                self._state = self._accept(out) if self._pending >= 0 else DEAD
                return False
            if text[pos:n] in ("`", "``") and not final:
                return True
        elif char == "." and "ellipsis" in allowed and state != COLON:
            if text.startswith("...", pos):
                if self._pending >= 0:
                    self._state = self._accept(out)
                    return False
                self._diagnose("ellipsis", text, pos)
                self._pos = pos + 3
                return False
            if text[pos:n] in (".", "..") and not final:
                return True
        if state == AFTER:
            self._after_value(char, text, out)
        elif state == COLON:
            return self._after_key(char, text, n, final, out)
        elif state == VALUE or state == FIRST_VALUE:
            self._before_value(char, text, out)
        elif state == NEXT_KEY or state == FIRST_KEY:
            self._before_key(char, text, out)
        elif state == CLOSER:
            return self._after_closer(char, text, n, final, out)
        elif state == JOIN:
            if char in _QUOTES:
                self._pending = -1
                self._diagnose("string_concatenation", text, pos, field=self._leaf)
                self._pos = pos + 1
                self._closers = _QUOTES[char]
                self._state = STRING if char == '"' else QUOTED
            else:
                self._state = self._reject(text, pos, out)
        elif state == DOUBLED:
            self._state = AFTER if self._stack else END
            if char == "}":
                self._pos = pos + 1
        else:
            self._unexpected(text, "trailing_text")
        return False

    def _unexpected(self, text: str, code: str = "unexpected_character") -> None:
        expected = EXPECTED[self._state][1]
        if self._state == AFTER:
            expected = "a comma or }" if self._in_object else "a comma or ]"
        self._state = self._fail(code, text, self._pos, expected)

    def _open_comment(self, state: int, comment: int, text: str, length: int) -> None:
        self._diagnose("comment", text, self._pos)
        self._comment = state
        self._state = comment
        self._pos += length

    def _read_comment(self, state: int, text: str, n: int) -> bool:
        if state == LINE_COMMENT:
            ends = [at for at in (text.find("\n", self._pos), text.find("\r", self._pos)) if at >= 0]
            if not ends:
                self._pos = n
                return True
            self._pos = min(ends)
        else:
            end = text.find("*/", self._pos)
            if end < 0:
                # A star at the very end may be half of the closing mark.
                self._pos = max(self._pos, n - 1 if text[n - 1] == "*" else n)
                return True
            self._pos = end + 2
        self._state = self._comment
        return False

    def _after_value(self, char: str, text: str, out: list[StreamingData]) -> None:
        pos = self._pos
        pending = self._pending >= 0
        allowed = self._tolerances
        if char in _COMMAS and self._comma_allowed(char):
            self._odd_comma(char, text)
            self._pos = pos + 1
            self._state = NEXT_KEY if self._in_object else VALUE
        elif char == "}" or char == "]":
            if pending:
                self._closer = pos - self._pending
                self._pos = pos + 1
                self._state = CLOSER
            else:
                self._mismatch(char, text, out)
        elif char == "+" and pending and self._string != WORDS and "string_concatenation" in allowed:
            self._pos = pos + 1
            self._state = JOIN
        elif pending and self._is_triple(char, text, pos):
            self._pending = -1
            self._diagnose("triple_quotes", text, pos - 2, field=self._leaf)
            self._closers = char
            self._pos = pos + 1
            self._state = TRIPLE
        elif "missing_comma" in allowed and (self._starts_key(char) if self._in_object else self._starts_value(char)):
            if pending and not self._in_object:
                # In an array white space and an opening are enough; a bare word is not.
                if char not in _QUOTES and char not in "{[" or text[pos - 1] not in _SPACE:
                    self._state = self._reject(text, pos, out)
                    return
                self._pending = -1
                self._end_string(out)
            elif pending and char not in _QUOTES:
                self._state = self._reject(text, pos, out)
                return
            self._diagnose("missing_comma", text, pos)
            self._state = NEXT_KEY if self._in_object else VALUE
        elif pending:
            self._state = self._reject(text, pos, out)
        else:
            self._unexpected(text)

    def _is_triple(self, char: str, text: str, pos: int) -> bool:
        return (
            "triple_quotes" in self._tolerances
            and self._string != WORDS
            and pos == self._pending + 1
            and char == text[self._pending]
            and not self._pieces
            and char in "\"'"
        )

    def _starts_key(self, char: str) -> bool:
        return char in _QUOTES and char != "`" or char.isalpha() or char in "_$"

    def _starts_value(self, char: str) -> bool:
        return char in _QUOTES or char in "{[-+" or char.isalnum()

    def _comma_allowed(self, char: str) -> bool:
        return ("wrong_separator" if char == ";" else "fullwidth_punctuation") in self._tolerances

    def _odd_comma(self, char: str, text: str) -> None:
        self._diagnose("wrong_separator" if char == ";" else "fullwidth_punctuation", text, self._pos)

    def _mismatch(self, char: str, text: str, out: list[StreamingData]) -> None:
        """A closing bracket that is not the one of the current container."""
        if "mismatched_bracket" not in self._tolerances:
            self._unexpected(text)
            return
        self._diagnose("mismatched_bracket", text, self._pos)
        opened = self._objects if char == "}" else len(self._stack) - self._objects
        if not opened:
            self._pos += 1  # it can only be meant for the current one
        # Otherwise the current container ends without a bracket of its own, and the next pass looks at this one again.
        self._state = self._pop(out)
        if self._state == DOUBLED and opened:
            self._state = AFTER

    def _before_value(self, char: str, text: str, out: list[StreamingData]) -> None:
        pos = self._pos
        allowed = self._tolerances
        if self._pending >= 0:
            # After a comma in an array. What is listed here ends the string; a bare word may be a literal, and then does too.
            if char in ",;，]" or char in _QUOTES:
                self._pending = -1
                self._end_string(out)
            elif char in _ATOM:
                self._start_atom(pos)
                return
            else:
                self._state = self._reject(text, pos, out)
                return
        if char == "'" and "single_quotes" in allowed or char in _QUOTES and "odd_quotes" in allowed:
            self._diagnose("single_quotes" if char == "'" else "odd_quotes", text, pos)
            self._pos = pos + 1
            self._start_string(pos + 1, out)
            self._closers = _QUOTES[char]
            self._state = QUOTED
        elif char == "]" and self._state == VALUE and not self._in_object and self._stack and "trailing_comma" in allowed:
            self._diagnose("trailing_comma", text, pos)
            self._state = AFTER
        elif char in ",;，]}" and self._in_object and self._stack:
            self._no_value(text, 0, out)
        elif char in _COMMAS and self._stack and "extra_comma" in allowed:
            self._diagnose("extra_comma", text, pos)
            self._pos = pos + 1
        elif char == "}" and self._stack and "mismatched_bracket" in allowed:
            if self._state == VALUE:
                self._diagnose("trailing_comma", text, pos)
            self._state = AFTER
        elif char == "?" and "missing_value" in allowed and self._stack:
            self._no_value(text, 1, out)
        elif char in _SEPARATORS and self._in_object and "wrong_separator" in allowed:
            self._diagnose("wrong_separator", text, pos)
            self._pos = pos + 1
        elif char in _ATOM and (char not in "+." or "number_form" in allowed):
            self._start_atom(pos)
        elif "unquoted_string" in allowed and self._stack and char not in "{}[]":
            self._lex = pos
            self._state = WORDS
        else:
            self._unexpected(text)

    def _start_atom(self, pos: int) -> None:
        self._lex = pos
        self._state = BARE

    def _no_value(self, text: str, length: int, out: list[StreamingData]) -> None:
        """A key, and nothing where its value should be."""
        if "missing_value" not in self._tolerances:
            self._unexpected(text)
            return
        self._diagnose("missing_value", text, self._pos)
        self._pos += length
        self._state = self._scalar("null", None, None, out)

    def _before_key(self, char: str, text: str, out: list[StreamingData]) -> None:
        pos = self._pos
        allowed = self._tolerances
        pending = self._pending >= 0
        if char == "}" or char in _COMMAS:
            if pending:
                self._pending = -1
                self._end_string(out)
            if char == "}" and "trailing_comma" in allowed:
                self._diagnose("trailing_comma", text, pos)
                self._state = AFTER
            elif char != "}" and "extra_comma" in allowed:
                self._diagnose("extra_comma", text, pos)
                self._pos = pos + 1
            else:
                self._unexpected(text)
        elif char == "'" and "single_quotes" in allowed or char in _QUOTES and "odd_quotes" in allowed:
            self._diagnose("single_quotes" if char == "'" else "odd_quotes", text, pos)
            self._pos = pos + 1
            self._start_key(pos + 1)
            self._key_closers = _QUOTES[char]
            self._state = KEY_QUOTED
        elif self._may_begin_key(char):
            self._key_start = pos
            self._state = BARE_KEY
        elif pending:
            self._state = self._reject(text, pos, out)
        elif char == "{" and self._state == FIRST_KEY and "doubled_braces" in allowed:
            depth = len(self._stack) - 1
            if self._doubled and self._doubled[-1] == depth:
                self._unexpected(text)
                return
            self._diagnose("doubled_braces", text, pos)
            self._doubled.append(depth)
            self._pos = pos + 1
        elif char == "]" and "mismatched_bracket" in allowed:
            if self._state == NEXT_KEY:
                self._diagnose("trailing_comma", text, pos)
            self._state = AFTER
        else:
            self._unexpected(text)

    def _may_begin_key(self, char: str) -> bool:
        if "unquoted_key" not in self._tolerances:
            return False
        if "loose_key" in self._tolerances:
            return char.isalnum() or char in "_$-@*"
        return char.isalpha() or char in "_$\\" or _IDENTIFIER.match(char) is not None

    def _after_key(self, char: str, text: str, n: int, final: bool, out: list[StreamingData]) -> bool:
        pos = self._pos
        allowed = self._tolerances
        pending = self._pending >= 0
        if char == "=" and "wrong_separator" in allowed or char == "：" and "fullwidth_punctuation" in allowed:
            if char == "=" and pos + 1 == n and not final:
                return True
            if pending:
                self._pending = -1
                self._end_string(out)
            self._diagnose("wrong_separator" if char == "=" else "fullwidth_punctuation", text, pos)
            self._pos = pos + (2 if text.startswith("=>", pos) else 1)
            self._take_key(text, pos, out)
            self._state = VALUE
            return False
        if pending:
            self._state = self._reject(text, pos, out)
            return False
        spaced = pos > self._gap
        if char in "{[" and "missing_colon" in allowed or spaced and "missing_colon" in allowed and self._starts_value(char):
            self._diagnose("missing_colon", text, pos)
            self._take_key(text, pos, out)
            self._state = VALUE
        elif char in ",;，}]" and "missing_value" in allowed:
            self._take_key(text, pos, out)
            self._state = VALUE
        elif self.lenient and self._key_closers:
            # The quote was not the end of the key.
            self._diagnose("unescaped_quote", text, self._gap - 1)
            self._start_key(pos)
            self._key_pieces = [self._key, self._key_closers[-1], text[self._gap : pos]]
            self._state = KEY_STRING if self._key_closers == '"' else KEY_QUOTED
        else:
            self._unexpected(text)
        return False

    def _after_closer(self, char: str, text: str, n: int, final: bool, out: list[StreamingData]) -> bool:
        """A bracket was read while a quote is pending: what follows it decides."""
        pos = self._pos
        parent_is_object = self._stack[-1][2]
        if char == '"' and parent_is_object:
            if _KEY_AND_COLON.match(text, pos, n) is None:
                if not final and _KEY_AND_COLON_START.fullmatch(text, pos, n) is not None:
                    return True
                self._state = self._reject(text, pos, out)
            else:
                self._state = self._accept(out)
        elif char in ",，}];" or char in "{[" and not parent_is_object:
            self._state = self._accept(out)
        else:
            self._state = self._reject(text, pos, out)
        return False

    # ------------------------------------------------------------------------------------------------------------------ odd strings

    def _read_quoted(self, state: int, text: str, n: int, final: bool, out: list[StreamingData]) -> bool:
        """Inside a string or key in other quotes, or in three."""
        key = state == KEY_QUOTED
        closers = self._key_closers if key else self._closers
        pieces = self._key_pieces if key else self._pieces
        barrier = self._key_barrier if key else self._barrier
        pos = self._pos
        while pos < n:
            stop = pos
            while stop < n and text[stop] != "\\" and text[stop] not in closers:
                stop += 1
            if self.offset + stop > barrier:
                self._pos = pos
                limit, value = ("key", self._limits.key) if key else ("string", self._limits.string)
                if barrier - self.offset > pos and not key:
                    pieces.append(text[pos : barrier - self.offset])
                self._state = self._limit(limit, value, text, barrier - self.offset)
                return False
            if stop > pos:
                if state == TRIPLE:
                    pieces.append(text[pos:stop])
                else:
                    reached = self._raw_controls(text, pos, stop, pieces)
                    if reached < stop:
                        self._state = DEAD
                        self._pos = reached
                        return False
                pos = stop
            self._pos = pos
            if pos == n:
                break
            if text[pos] == "\\":
                if pos + 1 < n and text[pos + 1] in closers and text[pos + 1] not in "\"'":
                    pieces.append(text[pos + 1])
                    self._pos = pos = pos + 2
                    continue
                used = self._escape(text, pos, n, final, pieces)
                if used < 0:
                    self._state = DEAD
                    return False
                if used == 0:
                    return True
                self._pos = pos = pos + used
                continue
            if state == TRIPLE:
                if text.startswith(closers * 3, pos):
                    self._pos = pos + 3
                    self._end_string(out)
                    self._state = AFTER if self._stack else END
                    return False
                if text[pos:n] in (closers, closers * 2) and not final:
                    return True
                pieces.append(closers)
                self._pos = pos = pos + 1
                continue
            self._pos = pos + 1
            if key:
                self._key = "".join(pieces)
                self._gap = pos + 1
                self._state = COLON
            elif self.lenient and self._stack:
                self._pending = pos
                self._string = QUOTED
                self._undo = self.diagnostic_count
                self._state = AFTER
            else:
                self._end_string(out)
                self._state = AFTER if self._stack else END
            return False
        return True

    def _after_atom(self, state: int, char: str, text: str, out: list[StreamingData]) -> None:
        """What follows a bare word: its end, or more of an unquoted string."""
        end = self._gap if state == GAP else self._pos
        if state == BARE and char in _SPACE:
            self._gap = self._pos
            self._pos += 1
            self._state = GAP
        elif char in ",;，}]/#:=：{[" or char in _QUOTES and (state == GAP or char == '"') or "unquoted_string" not in self._tolerances:
            before = self._pos
            self._state = self._end_atom(text, end, out)
            if self._state == WORDS:
                self._pos = before
            if self._state == AFTER and "unquoted_string" not in self._tolerances and is_wide_space(char) is False and char not in _SPACE:
                return
        elif self._pending >= 0:
            self._state = self._reject(text, self._pos, out)
        else:
            self._state = WORDS

    def _read_words(self, text: str, n: int, out: list[StreamingData]) -> bool:
        """Inside an unquoted string. It is sent when its end is read, or when it is longer than may be held."""
        pos = self._pos
        while pos < n:
            char = text[pos]
            if char in _COMMAS or char in "}]":
                break
            if char == '"' and pos > self._lex and text[pos - 1] in _SPACE:
                break
            if char in ":：" and self._in_object:
                match = _WORD_AND_KEY.fullmatch(text, self._lex, pos)
                if match is not None and ("\n" in match[2] or self._is_atom(match[1])):
                    # What looked like one more word is the next key.
                    self._pos = match.end(1)
                    self._finish_words(text, match.end(1), out)
                    return False
            pos += 1
        self._pos = pos
        if pos == n:
            if pos - self._lex > self._limits.held:
                self._begin_words(text, out)
                self._pieces.append(repair_surrogates(text[self._lex : pos]))
                self._lex = pos
            return True
        if text[pos] in _COMMAS and self._in_object and not self._is_atom(text[self._lex : pos].rstrip()):
            self._begin_words(text, out)
            self._tail = repair_surrogates(text[self._lex : pos].rstrip())
            self._pending = pos
            self._string = WORDS
            self._undo = self.diagnostic_count
            self._state = AFTER
            return False
        self._finish_words(text, pos, out)
        return False

    def _begin_words(self, text: str, out: list[StreamingData]) -> None:
        if not self._in_words:
            self._in_words = True
            self._diagnose("unquoted_string", text, self._lex)
            self._start_string(self._lex, out)

    def _finish_words(self, text: str, end: int, out: list[StreamingData]) -> None:
        words = text[self._lex : end].rstrip()
        if not self._in_words and self._is_atom(words):
            self._state = self._end_atom(text, self._lex + len(words), out)
            return
        self._begin_words(text, out)
        self._tail = repair_surrogates(words)
        self._end_string(out)
        self._state = AFTER

    def _read_bare_key(self, text: str, n: int, out: list[StreamingData]) -> bool:
        pos = self._pos
        start = self._key_start
        loose = "loose_key" in self._tolerances
        while pos < n:
            char = text[pos]
            if loose:
                if char in _SEPARATORS or char in ",;，{}[]\"“”" or char == "`":
                    break
            elif not (char.isalnum() or char in "_$\\\u200c\u200d" or _IDENTIFIER_PART.match(char) is not None):
                break
            pos += 1
        self._pos = pos
        if pos - start > self._limits.key:
            if self._pending >= 0:
                self._state = self._reject(text, pos, out)
            else:
                self._state = self._limit("key", self._limits.key, text, start + self._limits.key)
            return False
        if pos == n:
            return True
        char = text[pos]
        key = text[start:pos].rstrip()
        if not loose:
            if _IDENTIFIER.fullmatch(key) is None:
                self._pos = start
                self._unexpected(text)
                return False
            key = _UNICODE_ESCAPE.sub(_decode_escape, key)
        elif char in _SEPARATORS or char in ",;，}" and self._pending < 0 or char in "{[" and self._pending < 0:
            pass
        elif char in '"“”' and "missing_quote" in self._tolerances:
            self._diagnose("missing_quote", text, start)
            self._pos = pos + 1
        elif self._pending >= 0:
            self._state = self._reject(text, pos, out)
            return False
        else:
            self._unexpected(text)
            return False
        if self._pos == pos:
            self._diagnose("unquoted_key", text, start)
        self._key = repair_surrogates(key)
        self._key_closers = ""
        self._gap = self._pos
        self._state = COLON
        return False

    # ------------------------------------------------------------------------------------------------------------------ the end

    def finish(self) -> list[StreamingData]:
        """The text is over. Returns the last events: what can be decided now, then a `cut` for all that is still open.

        In a dialect without the `truncated` tolerance an open document sets `error` (IncompleteJSONError).
        """
        out: list[StreamingData] = []
        if self.error is not None or self.closed:
            return out
        self._run("", out, True)
        while self._pending >= 0 and self.error is None:
            # A string that has its quote is closed, whatever would have come.
            text = self._buffer
            self._accept(out)
            behind = self._pos
            self._buffer = ""
            self._state = AFTER
            self._move(text, behind)
            self._run(text[behind:], out, True)
        if self.error is not None:
            return out
        state = self._resume if self._state == BUFFERED else self._state
        raw = self._buffer
        path: Field | None = None
        if state == DOUBLED and not self._stack:
            self._state = END
        elif state == BARE or state == GAP or state == WORDS:
            path = self._finish_atom(state, raw, out)
        elif state in _IN_VALUE:
            path = self._leaf
            self._put_open()
            out.append(make_event(path, "cut", None, "".join(self._pieces) if self.keep_data else None))
        elif state == VALUE and self._in_object and self._stack:
            path = [self._node, self._key, "null", self._origin, None, None, None]
            out.append(make_event(path, "cut", None, None))
        if self._state == END or self.error is not None:
            return out
        if not self._stack and state == VALUE and self._holder_is_empty():
            if "truncated" not in self._tolerances:
                self._incomplete(out, None)
            return out
        self._cut(path, raw, out)
        return out

    def _finish_atom(self, state: int, raw: str, out: list[StreamingData]) -> Field | None:
        """The text ends in or after a bare word. Returns the field that stays open, or None where the word was whole."""
        words = raw.rstrip()
        if not self._in_words:
            # A number at the very end may go on, unless it is all there is; a literal may not.
            whole = state == GAP or not self._stack or words in _LITERALS or words in _PYTHON_LITERALS
            if whole and self._is_atom(words):
                self._buffer = ""
                self._state = self._end_atom(raw, len(words), out)
                return None
            if not self._stack and _NUMBER_START.fullmatch(words) is None and not any([w.startswith(words) for w in _LITERALS]):
                self._bad_atom(words, raw)
                return None
            if state == BARE and (self._is_atom(words) or self._is_half_atom(words)) or "unquoted_string" not in self._tolerances:
                kind = "number" if words[0] in "-+.0123456789" else "null" if words[0] in "nN" else "boolean"
                field: Field = [self._node, self._key if self._in_object else self._count, kind, self._origin, None, None, None]
                out.append(make_event(field, "cut", None, None))
                return field
        self._begin_words(raw, out)
        self._pieces.append(repair_surrogates(words))
        self._flush(out)
        self._put_open()
        out.append(make_event(self._leaf, "cut", None, "".join(self._pieces) if self.keep_data else None))
        return self._leaf

    def _is_half_atom(self, words: str) -> bool:
        return _NUMBER_START.fullmatch(words) is not None or any([w.startswith(words) for w in _ALL_LITERALS])

    def _cut(self, leaf: Field | None, raw: str, out: list[StreamingData]) -> None:
        """Close the books on a document that the text left open: containers innermost first."""
        if self._hole:
            del self._container[self._key]
            self._hole = False
        paths = self.open_paths if leaf is None else [path_of(leaf), *self._open_containers()]
        node, container = self._node, self._container
        stack = list(self._stack)
        while stack:
            out.append(make_event(node, "cut", None, container))  # type: ignore[arg-type]  # a container has a field
            node, container, _, _ = stack.pop()
        self.incomplete = paths
        if "truncated" in self._tolerances:
            self._diagnose("truncated", raw, len(raw), text_of=raw, path=paths[0] if paths else "")
        else:
            self._incomplete(out, leaf)
        self._state = DEAD

    def _incomplete(self, out: list[StreamingData], leaf: Field | None) -> None:
        state = self._resume if self._state == BUFFERED else self._state
        at = len(self._buffer)
        line, column = self._place(self._buffer, at)
        self.error = IncompleteJSONError(
            "the text ended before the document did",
            partial=copy_value(self.tree(None)),
            events=tuple(out),
            incomplete=tuple(self.incomplete),
            offset=self.offset + at,
            line=line,
            column=column,
            path=path_of(leaf) if leaf is not None else self._here(),
            expected=EXPECTED[state][1],
        )

    # ------------------------------------------------------------------------------------------------------------------ views

    @property
    def closed(self) -> bool:
        """True when the document is whole. At the root a doubled brace may still follow."""
        return self._state == END

    @property
    def started(self) -> bool:
        """True when the first character of the document was read."""
        return self._state != VALUE or bool(self._stack)

    def tree(self, default: Any) -> Any:
        """The value so far, live: an open string as far as it is known. `default` when there is none yet."""
        self._put_open()
        if not self.keep_data or self._holder_is_empty():
            return default
        return self._holder[self._key if isinstance(self._holder, dict) and not self._stack else self._root_key()]

    def snapshot(self, default: Any) -> Any:
        """A copy of `tree`. A key that came again has no value until its new one begins."""
        if not self._hole:
            return copy_value(self.tree(default))
        old = self._container.pop(self._key)
        items = list(self._container.items())
        value = copy_value(self.tree(default))
        self._container.clear()
        self._container.update(items)
        self._container[self._key] = old
        return value

    def _root_key(self) -> Any:
        return next(iter(self._holder)) if isinstance(self._holder, dict) else 0

    def _holder_is_empty(self) -> bool:
        return not self._holder

    def _put_open(self) -> None:
        """Put the open string into the tree, as far as it is known."""
        state = self._resume if self._state == BUFFERED else self._state
        if not self.keep_data or not (state in _IN_VALUE or self._pending >= 0 or state == WORDS and self._in_words):
            return
        value = "".join(self._pieces)
        if self._in_object:
            self._container[self._leaf[KEY]] = value
            self._hole = False
        elif self._shown:
            self._container[-1] = value
        else:
            self._container.append(value)
            self._shown = True

    @property
    def open_paths(self) -> list[str]:
        """The paths that are open now, innermost first, the root last."""
        state = self._resume if self._state == BUFFERED else self._state
        if state == END or state == DEAD or not self._stack and state == VALUE:
            return []
        paths = self._open_containers()
        if state in _IN_VALUE or self._pending >= 0 or state == WORDS and self._in_words:
            paths.insert(0, path_of(self._leaf))
        elif state in (BARE, GAP, WORDS) or state == VALUE and self._in_object:
            paths.insert(0, path_of([self._node, self._key if self._in_object else self._count, "null", self._origin, None, None, None]))
        return paths

    def _open_containers(self) -> list[str]:
        paths: list[str] = []
        node = self._node
        for _ in range(len(self._stack)):
            paths.append(path_of(node))  # type: ignore[arg-type]  # a container has a field
            node = node[PARENT]  # type: ignore[index]
        return paths

    def _here(self) -> str:
        """The path of the innermost open field."""
        if not self._stack:
            return "" if self._node is None else path_of([self._node, self._count, "null", self._origin, None, None, None])
        state = self._resume if self._state == BUFFERED else self._state
        if state in (NEXT_KEY, FIRST_KEY, COLON, KEY_STRING, KEY_QUOTED, BARE_KEY, AFTER, DOUBLED):
            return path_of(self._node)  # type: ignore[arg-type]  # a container has a field
        return path_of([self._node, self._key if self._in_object else self._count, "null", self._origin, None, None, None])

    # ------------------------------------------------------------------------------------------------------------------ places

    def _move(self, text: str, keep: int) -> None:
        """Count the first `keep` characters of `text` in the position; places kept inside it move along."""
        lines = text.count("\n", 0, keep)
        if lines:
            self._line += lines
            self._line_start = self.offset + text.rfind("\n", 0, keep) + 1
        self.offset += keep
        self._lex -= keep
        self._gap -= keep
        self._key_start -= keep

    def skip(self, text: str) -> None:
        """Count `text` in the position without reading it: it stands outside of the document."""
        self._move(text, len(text))
        if self.offset > self._limits.document and self.error is None:
            self._limit("document", self._limits.document, "", self._limits.document - self.offset)

    def rewind(self, text: str) -> None:
        """Go back before `text`, which was skipped, to read it after all."""
        self.offset -= len(text)
        self._line -= text.count("\n")
        self._line_start = self.offset

    def read_alone(self, text: str) -> list[StreamingData]:
        """Read `text` if it is one whole value; else skip it. Returns its events."""
        self.begin(self._node, self._key if self._in_object else self._count)
        tolerances, lenient, solo = self._tolerances, self.lenient, self.solo
        count = self.diagnostic_count
        self._tolerances = tolerances - {"truncated", "unquoted_string", "around"}
        self.lenient = False
        self.solo = True
        place = (self.offset, self._line, self._line_start)
        events = self.feed(text)
        events += self.finish()
        self._tolerances, self.lenient, self.solo = tolerances, lenient, solo
        if self.error is not None or not self.closed:
            self.error = None
            self._forget(count)
            self.begin(self._node, self._key if self._in_object else self._count)
            self.offset, self._line, self._line_start = place
            self.skip(text)
            return []
        return events

    def _place(self, text: str, pos: int) -> tuple[int, int]:
        """Line and column of `text[pos]`, both from 1."""
        before = text.rfind("\n", 0, pos)
        line = self._line + text.count("\n", 0, pos)
        return line, pos - before if before >= 0 else self.offset + pos - self._line_start + 1

    def _diagnose(
        self, code: str, text: str, pos: int, *, field: Field | None = None, path: str | None = None, text_of: str = ""
    ) -> None:
        if self.diagnostic_count < self._limits.diagnostics:
            line, column = self._place(text, pos)
            if path is None:
                path = self._here() if field is None else path_of(field)
            self.diagnostics.append(Diagnostic(code, DIAGNOSTIC_CODES[code], self.offset + pos, line, column, path, text_of))
        self.diagnostic_count += 1

    def note(self, code: str, *, text: str = "") -> None:
        """Record a diagnostic at the current position, for text outside of the document."""
        self._diagnose(code, "", 0, path="", text_of=text)

    def _fail(self, code: str, text: str, pos: int, expected: str) -> int:
        line, column = self._place(text, pos)
        found = f"{text[pos]!r} cannot stand here" if pos < len(text) else "the text ends here"
        self.error = JSONSyntaxError(
            found, code=code, offset=self.offset + pos, line=line, column=column, path=self._here(), expected=expected
        )
        return DEAD if code != "invalid_escape" else -1

    def _limit(self, limit: str, value: int, text: str, pos: int) -> int:
        line, column = self._place(text, pos)
        self.error = LimitExceeded(
            f"limit {limit!r} of {value} reached",
            limit=limit,
            limit_value=value,
            offset=self.offset + pos,
            line=line,
            column=column,
            path=self._here(),
            hint=f"Raise it with Limits({limit}=...) if the text is to be trusted.",
        )
        return DEAD
