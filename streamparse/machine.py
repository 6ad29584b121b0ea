"""The push state machine: JSON text in, `StreamingData` events and a tree out.

Rules. Only this file, `intake` and the package `tolerance` change the machine's state. It knows no schema, no I/O and
no chunk: what it does depends on the characters alone. It never recurses, and every pass of its loop takes text or
changes the state.

Theory of operation. `feed` runs one loop over the integer states of `states.py`. A character that RFC 8259 does not
know in a state goes to the tolerance of the dialect, or is a fault. A few characters that cannot be decided yet (half
an escape) wait in a buffer for the next ones.

A closing quote may be none: models forget to escape quotes. In a lenient dialect the text behind a quote is read on as
structure while the quote is *pending*. Where the structure leads to a point that only a real end of a string leads to
(the colon of the next key, a bracket followed by a comma, ...), the string is ended. Where the structure breaks, the
machine goes back to the quote, takes it as content and reads on. Nothing is sent while a quote is pending, so nothing
ever has to be taken back. Well-formed text never goes back.

The same file is compiled as `streamparse._machine_c` (types in machine_c.pxd), in one piece with `scan`,
`streaming_data` and `intake`, so: no closures, no generators, and no name in two of them. The loop compares its state
with `is`: a state is always one of the objects of `states.py`, and CPython 3.11 takes far longer for `==` where the
block that is jumped over is long.
"""

# The machine fills in its events itself: a constructor would cost as much as all the rest of an event.
# pyright: reportPrivateUsage=false
# The circle of assignments in the loop of `feed` is beyond pyright, which calls its integers unknown; mypy follows it.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
import sys
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Protocol

from .copies import take_apart
from .decode import ends_in_half, join_halves, repair_surrogates
from .dialect import Dialect
from .errors import DIAGNOSTIC_CODES, Diagnostic, IncompleteJSONError, JSONSyntaxError, LimitExceeded, StreamParseError
from .fields import (
    KEY,
    LIVE,
    PARENT,
    Field,
    Kind,
    path_of,
)
from .limits import Limits
from .paths import PathStyle
from .scan import COMPILED, hex_end, is_whole, number_kind, plain_end, short_int
from .states import (
    AFTER,
    BARE,
    BUFFERED,
    CLOSER,
    COLON,
    DEAD,
    DOUBLED,
    END,
    FIRST_KEY,
    FIRST_VALUE,
    GAP,
    JOIN,
    KEY_STRING,
    LINE_COMMENT,
    NEXT_KEY,
    OTHER_CLOSER,
    QUOTED,
    STATES,
    STRING,
    TEXT,
    TRIPLE,
    VALUE,
    WORDS,
)
from .streaming_data import StreamingData, make_event
from .values import NumberLexeme, copy_value, to_int

_COPIED: Final = 64  # characters: it costs less to keep so many too much than to leave them out
_SIMPLE_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
LITERALS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}
Place = dict[Any, Any]
NOWHERE: Final[Place] = {}
UNGUIDED: Final[tuple[Place, Place, bool, tuple[str, ...]]] = (NOWHERE, NOWHERE, False, ())

_CONTROL: Final = re.compile("[\x00-\x1f\ud800-\udfff]")
_HALF: Final = re.compile("[\ud800-\udfff]")
NUMBER_START: Final = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.(?:[0-9]+(?:[eE][-+]?[0-9]*)?)?|[eE][-+]?[0-9]*)?)?")


def untrack(field: Field) -> None:
    """Tell the garbage collector that no cycle can go through `field`. For the compiled twin: setup.py fills it in."""


class Tolerance(Protocol):
    """What a dialect makes of text that RFC 8259 does not know. See the package `tolerance`."""

    def read(self, machine: Machine, state: int, text: str, final: bool, out: list[StreamingData]) -> bool:
        """Take the character at `machine.pos`, or call `machine.fail`. True: more text is needed to say what it is."""
        ...

    def atom(self, machine: Machine, lexeme: str, out: list[StreamingData]) -> int:
        """The state after a bare word that is neither a literal nor a number of JSON."""
        ...

    def is_atom(self, machine: Machine, lexeme: str) -> bool:
        """Whether a bare word is a literal or number in a form that the dialect takes."""
        ...

    def escape(self, machine: Machine, text: str, pos: int, pieces: list[str]) -> int:
        """The length of an escape that JSON does not know; 0: more text is needed; -1: a fault."""
        ...

    def finish(self, machine: Machine, state: int, out: list[StreamingData]) -> Field | None:
        """The text ends in or behind a bare word. Returns the field that stays open; None: it was whole."""
        ...


class Machine:
    """One JSON document, pushed in.

    `feed(text)` returns the events that are certain; `finish()` says that the text is over. When nothing more is read
    `stopped` is True and `rest` is the text that was not: the document is `closed`, a fence ended it, or there is an
    `error`.

    `solo` says that the text is this document alone (strict, json5): anything but white space behind it is a fault.
    `begin(parent, key)` places a document inside a larger value (a list of documents, a string that holds JSON).
    `starts` sends `start` events; with a `guide` (plain dicts, made by schema/guide.py) only of the values that it does
    not name, and `told` says whether there was anything that it does not name.
    """

    __slots__ = (
        "atom", "atom_at", "atom_place", "barrier", "buffer", "closers", "comment", "container", "depth",
        "diagnostic_count", "diagnostics", "doubled", "error", "final", "gap", "guide", "guides", "heeded", "held",
        "held_at", "held_line", "held_line_start", "holder", "hole", "in_object", "incomplete", "index", "keep_data",
        "key", "key_barrier", "key_closers", "key_pieces", "last", "leaf", "lenient", "limits", "line", "line_start",
        "max_depth", "max_document", "max_held", "max_key", "max_number", "max_short", "max_string", "members", "memo",
        "needed", "node", "number", "object_root", "objects", "offset", "origin", "others", "overrun", "pending",
        "pieces", "plain", "plain_numbers", "pos", "rest", "resume", "shown", "solo", "starts", "state", "stopped",
        "string", "surrogates", "tail", "text", "told", "tolerance", "tolerances", "triple", "undo", "unique", "words",
    )  # fmt: skip

    def __init__(
        self,
        dialect: Dialect,
        limits: Limits,
        *,
        tolerance: Tolerance | None = None,
        solo: bool = True,
        number: str = "int_float",
        surrogates: str = "replace",
        starts: bool = False,
        guide: Place | None = None,
        keep_data: bool = True,
        source: str = "content",
        path_style: PathStyle = "dot",
    ) -> None:
        self.tolerances: frozenset[str] = dialect.tolerances
        self.tolerance: Tolerance | None = tolerance
        self.lenient: bool = "unescaped_quote" in dialect.tolerances
        self.limits = limits
        self.solo: bool = solo
        self.number: str = number
        self.plain_numbers: bool = number != "lexeme"
        self.surrogates: str = surrogates
        self.starts: bool = starts
        self.guide: Place = guide or NOWHERE  # which values get no `start`, and are not told (see schema/guide.py)
        # Since it was last set to 0: 2: there was an event that the guide does not name, 1: the document was closed.
        self.told: int = 0
        self.keep_data: bool = keep_data
        self.origin: tuple[str, PathStyle] = (source, path_style)
        self.diagnostics: list[Diagnostic] = []
        self.diagnostic_count: int = 0
        self.error: StreamParseError | None = None
        self.incomplete: list[str] = []
        self.offset: int = 0
        self.line: int = 1
        self.line_start: int = 0
        self.memo: dict[str, str] = {}
        self.max_depth: int = limits.depth
        self.max_string: int = limits.string
        self.max_key: int = limits.key
        self.max_number: int = limits.number
        self.max_short: int = min(limits.number, 18)  # digits that are read in one go
        self.max_held: int = limits.held
        self.max_document: int = limits.document
        self.begin(None, 0)

    def begin(self, parent: Field | None, key: str | int) -> None:
        """Expect a new document, at `key` of `parent`. Position and diagnostics go on."""
        self.state: int = VALUE
        self.resume: int = VALUE  # the state that BUFFERED stands for
        self.buffer: str = ""
        self.stopped: bool = False
        self.overrun: bool = False  # the text went on past `Limits.document`, and was read up to there
        self.rest: str = ""
        self.last: list[StreamingData] = []
        # The document stands in a container of one, so that the root needs no code of its own.
        self.in_object: bool = isinstance(key, str)
        self.holder: Any = {} if self.in_object else []
        self.container: Any = self.holder
        self.node: Field | None = parent
        self.key: str = key if isinstance(key, str) else ""
        self.index: int = 0 if isinstance(key, str) else key  # of the next item of the current array
        self.depth: int = 0  # open containers
        self.object_root: bool = False  # the outermost of them is an object
        self.objects: int = 0  # open objects, the current one included
        # Down to this depth no key comes a second time. Without data none is kept.
        self.unique: int = (1 if parent is None else 0) if self.keep_data else sys.maxsize
        self.doubled: list[int] = []  # depths at which a second closing brace is due
        self.leaf: Field = [None, "", "string", self.origin, None, None, None]  # the current or last string
        # What the guide says of the current container, and of those round it; and whether the string is told.
        self.members: dict[Any, Place] = NOWHERE
        self.others: Place = self.guide
        self.plain: bool = True
        self.needed: tuple[str, ...] = ()
        self.guides: list[tuple[dict[Any, Place], Place, bool, tuple[str, ...]]] = []
        self.heeded: bool = False
        self.pieces: list[str] = []
        self.barrier: int = self.max_document  # the offset that the current string must not pass
        self.key_pieces: list[str] = []
        self.key_barrier: int = 0
        self.atom: str = ""  # the beginning of a bare word that goes on
        self.atom_at: int = 0
        # Offset, line and column of the bare word, once a line end was read since.
        self.atom_place: tuple[int, int, int] = (-1, 0, 0)
        self.hole: bool = False  # the current key came before: its old value is gone, its new one not there yet
        self.shown: bool = False  # the open string stands in the tree already, because somebody looked
        # The pending quote: its offset or -1, the texts since then, the place of the first of them, and the way back.
        self.pending: int = -1
        self.held: list[str] = []
        self.held_at: int = 0
        self.held_line: int = 1
        self.held_line_start: int = 0
        self.undo: int = 0  # diagnostics before the quote
        self.string: int = STRING  # the state to go back to
        # Of the tolerances.
        self.closers: str = '"'  # what closes the current value and key
        self.key_closers: str = '"'
        self.comment: int = VALUE  # the state behind a comment
        self.gap: str = ""  # white space behind a key
        self.tail: str = ""  # the end of an unquoted string, while it is pending
        self.words: bool = False  # an unquoted string was begun
        self.triple: bool = False
        self.final: bool = False  # the text ends with what was fed
        # Between the loop and the tolerances.
        self.pos: int = 0
        self.text: str = ""

    # ---------------------------------------------------------------------------------------------------------- reading

    def feed(self, text: str) -> list[StreamingData] | None:
        """Read on; return the events that are certain now. Never raises on what the text says: see `error`.

        None where the caller has to look: the machine has `stopped`, or there is something to tell (`told`); then
        `last` has the events. `read` does the same and always returns the events.
        """
        state = self.state
        base = self.offset  # of text[0]
        n = len(text)
        end = base + n
        # Nothing in a calm text needs a look wherever it stands: no line end, escape, control character or half of a
        # surrogate pair. The compiled twin, which reads by characters, meets most of these on its way.
        calm = is_whole(text) if COMPILED else text.isprintable() and "\\" not in text
        # The rest of this method is the loop, in one piece: a call costs as much as reading several characters.
        out: list[StreamingData] = []
        pending = self.pending
        half = ""
        over = False
        if not calm or end > self.max_document or state is BUFFERED:
            calm = False
            known = 0  # characters of this text that are held already
            if state is BUFFERED:
                state = self.resume
                known = len(self.buffer)
                if ends_in_half(self.buffer):
                    known -= 1
                text = self.buffer + text
                self.buffer = ""
            if not text.isascii() and _HALF.search(text) is not None:
                # Halves of surrogate pairs, from JSON that was decoded piece by piece: the second may come next.
                text, half = join_halves(text, self.final)
            n = len(text)
            end = base + n
            over = end > self.max_document
            if over:
                text = text[: max(self.max_document - base, 0)]
                n = len(text)
                half = ""
            if pending >= 0:
                self.held.append(text[known:])
        elif pending >= 0:
            self.held.append(text)
        pos = 0
        lex = 0  # where the bare word begins in this text
        quote = -1  # the next double quote, as far as known: looked for once, not at every escape
        key: str | int
        parts: list[str] | None
        in_object = self.in_object
        while True:
            # The blocks stand in the order in which a document passes through them, so that most text falls from one
            # into the next: the end of a value, a comma, a key, its colon, the beginning of a value.
            while True:
                if pos == n:
                    break
                if state is STRING:
                    parts = None  # what this text adds to the string, where that is more than one piece
                    used = 1
                    over_long = False
                    while True:
                        back = -1
                        if COMPILED:
                            stop = plain_end(text, pos)
                            plain = True
                            if stop < n:
                                char = text[stop]
                                if char == "\\":
                                    back = stop
                                elif char != '"':
                                    plain = False
                        else:
                            stop = text.find('"', pos) if calm else 0
                            if stop < 0:
                                stop = n
                            plain = calm
                        if not plain:
                            calm = False
                            if quote < pos:
                                quote = text.find('"', pos)
                                if quote < 0:
                                    quote = n
                            stop = quote
                            back = text.find("\\", pos, quote)
                            if back >= 0:
                                stop = back
                        piece = ""
                        if base + stop >= self.barrier and (base + stop > self.barrier or stop == back):
                            over_long = True
                            break
                        if pos < stop:
                            piece = text[pos:stop]
                            if not plain and not piece.isprintable() and _CONTROL.search(piece) is not None:
                                self.state, self.pending = state, pending
                                piece = self.raw_text(text, pos, stop)
                                if self.error is not None:
                                    used = -1
                                    break
                            pos = stop
                        if back < 0:
                            break
                        calm = False
                        if parts is None:
                            parts = []
                        if piece:
                            parts.append(piece)
                            piece = ""
                        simple = _SIMPLE_ESCAPES.get(text[pos + 1 : pos + 2])
                        if simple is not None:  # most escapes, which `escape` knows, too
                            parts.append(simple)
                            used = 2
                        else:
                            self.state, self.pending = state, pending
                            used = self.escape(text, pos, parts)
                            if used <= 0:
                                break
                        pos += used
                        if base + pos > self.barrier:
                            # An escape goes over the bound as a whole, also where the text ends behind it.
                            over_long = True
                            break
                    if parts is not None:
                        parts.append(piece)
                        piece = "".join(parts)
                    if piece:
                        pieces = self.pieces
                        if self.keep_data:
                            pieces.append(piece)
                        elif not pieces:
                            pieces.append("")  # the string is not empty
                        event = StreamingData()
                        event._field = self.leaf
                        event._type = "delta"
                        event._delta = piece
                        event._value = len(pieces)
                        out.append(event)
                    if over_long:
                        self.state, self.pending = state, pending
                        state = self.long_string(text, pos, out)
                        break
                    if used <= 0:
                        if used < 0:
                            state = DEAD
                        break
                    if pos == n:
                        break
                    pos += 1
                    if not self.depth:
                        self.end_string(out)
                        state = END
                        if self.solo:
                            continue
                        break
                    state = AFTER
                    if self.lenient:
                        pending = base + pos - 1
                        self.string = STRING
                        self.undo = self.diagnostic_count
                    else:
                        self.end_string(out)
                    if pos == n:
                        break
                char = text[pos]
                if state >= AFTER:
                    if state is BARE:
                        while char in "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-._":
                            pos += 1
                            if pos == n:
                                break
                            char = text[pos]
                        lexeme = self.atom + text[lex:pos] if self.atom else text[lex:pos]
                        if pos == n and len(lexeme) <= self.max_number:
                            self.atom = lexeme
                            break
                        common = False  # the commonest number, read here; end_atom knows the others
                        if pending < 0 and self.plain_numbers and len(lexeme) <= self.max_short:
                            common = number_kind(lexeme) == 1 if COMPILED else lexeme.isdigit() and lexeme[0] != "0"
                        if common and char in ",}]" and self.depth:
                            value = short_int(lexeme) if COMPILED else int(lexeme)
                            key = self.key if in_object else self.index
                            leaf: Field = [self.node, key, "number", self.origin, None, None, None]
                            if COMPILED:
                                untrack(leaf)
                            if self.starts:
                                place = self.members.get(key, self.others)
                                wanted = place.get("number")
                                if wanted is not int and wanted is not True:
                                    self.heed(leaf, None, out)
                            self.put(key, value)
                            event = StreamingData()
                            event._field = leaf
                            event._type = "delta"
                            event._delta = lexeme
                            event._value = value
                            out.append(event)
                            event = StreamingData()
                            event._field = leaf
                            event._type = "done"
                            event._delta = None
                            event._value = value
                            out.append(event)
                            state = AFTER
                        else:
                            self.atom = lexeme
                            self.atom_at = base + pos - len(lexeme)
                            over_long = len(lexeme) > self.max_number
                            white = not over_long and char in " \t\n\r"
                            if white and self.lenient:
                                self.gap = ""
                                state = GAP
                                continue
                            if over_long or white or char in ",}]" or self.tolerance is None:
                                self.state, self.pos, self.pending, self.text = state, pos, pending, text
                                state = self.long_atom(out) if over_long else self.end_atom(lexeme, out)
                                pos, pending = self.pos, self.pending
                                lex = pos
                                if self.text is not text:
                                    text = self.text
                                    base, quote, n, calm = self.offset, -1, len(text), False
                                if state is DEAD or (state is END and not self.solo):
                                    break
                                if state is not AFTER or pos == n:
                                    continue
                                char = text[pos]
                    if state is AFTER:
                        if char == ",":
                            state = NEXT_KEY if in_object else VALUE
                            pos += 1
                            if pos == n:
                                break
                            char = text[pos]
                            if char == " ":
                                pos += 1
                                if pos == n:
                                    break
                                char = text[pos]
                        elif (char == "}" and in_object) or (char == "]" and not in_object):
                            pos += 1
                            if pending >= 0:
                                if self.depth > 1:
                                    self.gap = ""
                                    state = CLOSER
                                    continue
                                pending = -1
                                self.end_string(out)
                            state = self.pop(out)
                            in_object = self.in_object
                            if state is END and not self.solo:
                                break
                            continue
                    elif state is CLOSER and char in ",}]" and self.diagnostic_count == self.undo:
                        # The bracket and one of these behind it: the pending quote was the end of its string. (What was
                        # noted in between is noted anew for the right place: that is up to the tolerance.)
                        pending = -1
                        self.end_string(out)
                        state = self.pop(out)
                        in_object = self.in_object
                        continue
                    elif state is GAP and char in ",}]":
                        self.state, self.pos, self.pending, self.text = state, pos, pending, text
                        state = self.end_atom(self.atom, out)
                        pos, pending, text = self.pos, self.pending, self.text
                        base, quote, n, calm = self.offset, -1, len(text), False
                        if state is DEAD or (state is END and not self.solo):
                            break
                        continue
                if state <= COLON:
                    if state is not KEY_STRING and state is not COLON:
                        if char == '"':
                            pos += 1
                            self.gap = ""
                            self.key_closers = '"'
                            self.key_barrier = base + pos + self.max_key
                            state = KEY_STRING
                            if pos == n:
                                break
                        elif char == "}" and state is FIRST_KEY:
                            pos += 1
                            state = self.pop(out)
                            in_object = self.in_object
                            if state is END and not self.solo:
                                break
                            continue
                    if state is KEY_STRING:
                        if COMPILED:
                            stop = plain_end(text, pos)
                            plain = True
                            if stop < n:
                                char = text[stop]
                                plain = char == '"'
                        else:
                            stop = text.find('"', pos) if calm else -1
                            plain = calm
                            if stop < 0:
                                stop = n
                        if not plain:
                            calm = False
                            if quote < pos:
                                quote = text.find('"', pos)
                                if quote < 0:
                                    quote = n
                            stop = quote
                        piece = text[pos:stop]
                        if not plain and not COMPILED:
                            plain = "\\" not in piece and piece.isprintable()
                        if not plain or base + stop > self.key_barrier:
                            self.state, self.pending = state, pending
                            state = self.odd_key(text, pos, stop)
                            pos = self.pos
                            if state is DEAD or state is BUFFERED:
                                break
                            continue
                        pos = stop
                        if pos == n:
                            self.key_pieces.append(piece)
                            break
                        if self.key_pieces:
                            piece = "".join(self.key_pieces) + piece
                            self.key_pieces = []
                        self.key = piece
                        state = COLON
                        pos += 1
                        if pos == n:
                            break
                        char = text[pos]
                    if state is COLON and char == ":":
                        pos += 1
                        if pending >= 0:
                            pending = -1
                            self.end_string(out)
                        key = self.key
                        if self.depth > self.unique:
                            self.key = key = self.memo.setdefault(key, key)
                        members = self.container
                        if key in members:
                            self.state, self.pending = state, pending
                            self.key_again(text, pos - 1, out)
                        state = VALUE
                        if pos == n:
                            break
                        char = text[pos]
                        if char == " ":
                            pos += 1
                            if pos == n:
                                break
                            char = text[pos]
                if state is VALUE or state is FIRST_VALUE:
                    if char == '"':
                        pos += 1
                        if pending >= 0:
                            pending = -1
                            self.end_string(out)
                        self.pieces = pieces = []
                        key = self.key if in_object else self.index
                        self.leaf = [
                            self.node, key, "string", self.origin, None, None, pieces if self.keep_data else None,
                        ]  # fmt: skip
                        self.barrier = base + pos + self.max_string
                        if self.barrier > self.max_document:
                            self.barrier = self.max_document
                        if self.starts:
                            place = self.members.get(key, self.others)
                            if "string" not in place:
                                self.heed(self.leaf, base + pos - 1, out)
                        if COMPILED:
                            untrack(self.leaf)
                            untrack(pieces)
                        state = STRING
                        continue
                    if char in "-0123456789" or (pending < 0 and char in "tfn"):
                        lex = pos
                        self.atom = ""
                        state = BARE
                        continue
                    if char == "{" or char == "[":
                        if pending >= 0:
                            pending = -1
                            self.end_string(out)
                        if self.depth >= self.max_depth:
                            self.state, self.pending = state, pending
                            state = self.limit("depth", self.max_depth, text, pos)
                            break
                        pos += 1
                        in_object = char == "{"
                        self.push(in_object, out)
                        state = FIRST_KEY if in_object else FIRST_VALUE
                        continue
                    if char == "]" and state is FIRST_VALUE:
                        pos += 1
                        state = self.pop(out)
                        in_object = self.in_object
                        if state is END and not self.solo:
                            break
                        continue
                # What the states between values share.
                if state <= END and char in " \t\n\r":
                    first = pos
                    calm = False  # a line end may be among them
                    while char in " \t\n\r":
                        pos += 1
                        if pos == n:
                            break
                        char = text[pos]
                    if state is COLON or state is GAP or state is CLOSER or state is OTHER_CLOSER:
                        self.gap += text[first:pos]
                    continue
                # RFC 8259 knows no more. The dialect may.
                self.state, self.pos, self.pending, self.text = state, pos, pending, text
                if self.tolerance is None:
                    self.unexpected()
                    state = DEAD
                    break
                waits = self.tolerance.read(self, state, text, self.final, out)
                state, pos, pending = self.state, self.pos, self.pending
                text, base, quote, calm = self.text, self.offset, -1, False
                n = len(text)
                lex = pos
                in_object = self.in_object
                if waits or state is DEAD or (state is END and not self.solo):
                    break
            if pending < 0 or base + pos - pending <= self.max_held or state is DEAD:
                break
            # More is held than may be: the quote ends the string.
            self.state, self.pos, self.pending, self.text = state, pos, pending, text
            if pending >= base:
                self.hold(text, base, pending)
            state = self.accept(out)
            pos, pending, text = self.pos, self.pending, self.text
            base, quote, n, calm = self.offset, -1, len(text), False
        if calm and state < END:  # all was read
            if pending >= base:
                self.hold(text, base, pending)
            self.pending = pending
            self.offset = end
            self.state = state
            if self.told:
                self.last = out
                return None
            return out
        if pending >= 0 and self.error is not None and (self.error.offset or 0) - pending > self.max_held:
            pending = -1  # the fault lies behind what may be held, so the quote was the end
            self.end_string(out)
        # What is read is done with; what waits stays in the buffer.
        if pending >= base and state is not DEAD and state is not END:
            self.hold(text, base, pending)
        if not calm and "\n" in text:
            lines = text.count("\n", 0, pos)
            if lines:
                if self.atom_place[0] != self.atom_at:
                    line, column = self.place(text, self.atom_at - base)
                    self.atom_place = (self.atom_at, line, column)
                self.line += lines
                self.line_start = base + text.rfind("\n", 0, pos) + 1
        self.pending = pending
        self.offset = base + pos
        if state >= END and (state is DEAD or state is END or state is BUFFERED):
            if state is BUFFERED:
                state = KEY_STRING  # half an escape in a key
            elif state is DEAD or not self.solo:
                self.stopped = True
                self.rest = text[pos:] + half
                pos = n
        if half and not self.stopped:
            text += half
            n += 1
        if pos < n:
            self.buffer = text[pos:]
            self.resume = state
            state = BUFFERED
        self.state = state
        if over and state is not DEAD:
            # A document that ended before the bound is whole; the reader of the rest tells of the bound.
            self.overrun = self.stopped
            if not self.stopped:
                self.limit("document", self.max_document, self.buffer, self.max_document - self.offset)
                self.stopped = True
        if self.stopped or self.told:
            self.last = out
            return None
        return out

    def hold(self, text: str, base: int, pending: int) -> None:
        """The quote at the offset `pending`, in `text`, is pending: keep the way back to it, and little before it."""
        at = pending - base
        self.held_line = self.line
        self.held_line_start = self.line_start
        if at < _COPIED:
            at = 0
        elif (lines := text.count("\n", 0, at)) > 0:
            self.held_line += lines
            self.held_line_start = base + text.rfind("\n", 0, at) + 1
        self.held = [text[at:]]
        self.held_at = base + at

    def accept(self, out: list[StreamingData]) -> int:
        """The pending end of the string is one: reading goes on behind it. Returns the state."""
        self.go_back(0 if self.string == WORDS else 1)
        self.end_string(out)
        return AFTER

    def reject(self, out: list[StreamingData]) -> int:
        """The pending end of the string is none: reading goes on inside the string. Returns the state."""
        if self.offset + self.pos - self.pending > self.limits.held:
            return self.accept(out)
        self.go_back(1)
        if self.string == WORDS:
            self.atom = self.tail + self.text[self.pos - 1]
            self.tail = ""
        else:
            self.diagnose("unescaped_quote", self.text, self.pos - 1, field=self.leaf)
            self.emit(self.text[self.pos - 1], out)
        return self.string

    def go_back(self, behind: int) -> None:
        """Set the position to `behind` characters after the pending quote, and forget what was noted since."""
        if self.pending < self.offset:
            self.text = "".join(self.held)
            self.offset = self.held_at
            self.line = self.held_line
            self.line_start = self.held_line_start
        self.held = []
        self.key_pieces = []
        self.forget(self.undo)
        self.pos = self.pending - self.offset + behind
        self.pending = -1

    def behind_quote(self) -> str:
        """What was read behind the pending quote."""
        if self.pending >= self.offset:
            return self.text[self.pending - self.offset + 1 : self.pos]
        return "".join(self.held)[self.pending - self.held_at + 1 : self.offset + self.pos - self.held_at]

    def forget(self, count: int) -> None:
        """Take back the diagnostics beyond the first `count`."""
        self.diagnostic_count = count
        del self.diagnostics[count:]

    # --------------------------------------------------------------------------------------------------------- the tree

    def long_string(self, text: str, pos: int, out: list[StreamingData]) -> int:
        """The string goes on past its limit: it is read up to there. Returns the state."""
        stop = self.barrier - self.offset
        if stop > pos:
            self.emit(self.raw_text(text, pos, stop), out)
        return DEAD if self.error is not None else self.limit("string", self.max_string, text, stop)

    def emit(self, piece: str, out: list[StreamingData]) -> None:
        """The open string grew by `piece`."""
        if not piece:
            return
        if self.keep_data:
            self.pieces.append(piece)
        elif not self.pieces:
            self.pieces.append("")  # the string is not empty
        out.append(make_event(self.leaf, "delta", piece, len(self.pieces)))

    def begin_string(self, at: int, out: list[StreamingData]) -> None:
        """A string value begins at the offset `at`."""
        self.pieces = []
        key = self.key if self.in_object else self.index
        self.leaf = [self.node, key, "string", self.origin, None, None, self.pieces if self.keep_data else None]
        self.barrier = min(at + self.max_string, self.max_document)
        if self.starts and "string" not in self.members.get(key, self.others):
            self.heed(self.leaf, at - 1, out)

    def heed(self, field: Field, at: int | None, out: list[StreamingData]) -> None:
        """A value begins that the guide does not name."""
        out.append(make_event(field, "start", None, at))
        self.told = 2
        self.plain = False
        self.heeded = field is self.leaf

    def end_string(self, out: list[StreamingData]) -> None:
        """The open string is whole."""
        if self.words:
            self.emit(self.tail, out)
            self.tail = ""
            self.words = False
        pieces = self.pieces
        value = None
        if self.keep_data:
            value = pieces[0] if len(pieces) == 1 else "".join(pieces)
        self.put(self.leaf[KEY], value)
        if self.heeded:
            self.told = 2
            self.heeded = False
        event = StreamingData()
        event._field = self.leaf
        event._type = "done"
        event._delta = None
        event._value = value
        out.append(event)

    def put(self, key: Any, value: Any) -> None:
        """Set `value` at `key` of the current container (in an array: at its end)."""
        if self.in_object:
            members: dict[str, Any] = self.container
            members[key] = value if self.keep_data else None
            self.hole = False
            return
        self.index += 1
        if self.keep_data:
            items: list[Any] = self.container
            if self.shown:
                items[-1] = value
                self.shown = False
            else:
                items.append(value)

    def scalar(self, kind: Kind, lexeme: str | None, value: Any, out: list[StreamingData]) -> int:
        """A number, boolean or null, whole. Returns the state behind it."""
        field: Field = [self.node, self.key if self.in_object else self.index, kind, self.origin, None, None, None]
        if COMPILED:
            untrack(field)
        if self.starts:
            place = self.members.get(field[KEY], self.others)
            wanted = place.get(kind)
            if wanted is not True and wanted is not type(value):
                self.heed(field, None, out)
        self.put(self.key, value)
        if lexeme is not None:
            out.append(make_event(field, "delta", lexeme, value))
        out.append(make_event(field, "done", None, value))
        return AFTER if self.depth else END

    def push(self, is_object: bool, out: list[StreamingData]) -> None:
        """Open a container."""
        kind = "object" if is_object else "array"
        field: Field = [self.node, self.key if self.in_object else self.index, kind, self.origin, None, None, None]
        if COMPILED:
            untrack(field)
        # Without data an object still remembers its keys while it is open: a key that comes again is told by a `reset`.
        value: Any = {} if is_object else [] if self.keep_data else None
        self.put(self.key, value if self.keep_data else None)
        field[LIVE] = value
        self.depth += 1
        if self.depth == 1:
            self.object_root = is_object
        self.node = field
        self.container = value
        self.in_object = is_object
        self.index = 0
        if is_object:
            self.objects += 1
        if self.starts:
            place = self.members.get(field[KEY], self.others)
            entry = place.get(kind)
            if entry is None:
                self.heed(field, None, out)
                entry = UNGUIDED
            self.guides.append((self.members, self.others, self.plain, self.needed))
            self.members, self.others, self.plain, self.needed = entry

    def pop(self, out: list[StreamingData]) -> int:
        """Close the current container. Returns the state behind it."""
        node = self.node
        assert node is not None
        value = self.container
        event = StreamingData()
        event._field = node
        event._type = "done"
        event._delta = None
        event._value = value if self.keep_data else None
        out.append(event)
        if self.in_object:
            self.objects -= 1
        node[LIVE] = None
        at = node[KEY]
        self.in_object = type(at) is str
        if not self.in_object:
            self.index = at + 1
        self.node = parent = node[PARENT]
        self.depth -= 1
        self.container = parent[LIVE] if self.depth else self.holder
        if self.starts:
            plain = self.plain
            if self.needed and plain:
                keys: dict[str, Any] = value
                for key in self.needed:
                    if key not in keys:
                        plain = False
            self.members, self.others, self.plain, self.needed = self.guides.pop()
            if not plain:
                self.told = 2
                self.plain = False
            elif not self.depth and not self.told:
                self.told = 1
        if self.doubled and self.doubled[-1] == self.depth:
            self.doubled.pop()
            return DOUBLED
        return AFTER if self.depth else END

    def key_again(self, text: str, pos: int, out: list[StreamingData]) -> None:
        """The key was there before: what was known of it is void."""
        field: Field = [self.node, self.key, "null", self.origin, None, None, None]
        self.diagnose("duplicate_key", text, pos, field=field)
        out.append(make_event(field, "reset", None, None))
        self.told = 2
        # The place in the order stays the first one, as in `json.loads`.
        self.container[self.key] = None
        self.hole = True

    # ------------------------------------------------------------------------------------------------ strings and atoms

    def raw_text(self, text: str, pos: int, stop: int) -> str:
        """`text[pos:stop]` of a string, which holds raw control characters or halves of surrogate pairs.

        After a fault `error` is set, and the text before it is returned.
        """
        pieces: list[str] = []
        match = _CONTROL.search(text, pos, stop)
        while match is not None:
            at = match.start()
            char = match[0]
            if char >= "\ud800":
                # The decoder writes a byte that is no UTF-8 as U+DC80 and up; other halves were in the text itself.
                code = "invalid_utf8" if "\udc80" <= char <= "\udcff" else "lone_surrogate"
                if code == "invalid_utf8" and code not in self.tolerances:
                    self.fail(code, text, at, "UTF-8")
                    stop = at
                    break
                self.diagnose(code, text, at)
                if code == "invalid_utf8" or self.surrogates == "replace":
                    pieces.append(text[pos:at] + "\ufffd")
                    pos = at + 1
            elif ("raw_line_end" if char in "\r\n" else "control_character") in self.tolerances:
                if not self.triple:
                    self.diagnose("control_character", text, at)
            else:
                self.fail("control_character", text, at, "an escape such as \\n instead of a raw control character")
                stop = at
                break
            match = _CONTROL.search(text, at + 1, stop)
        pieces.append(text[pos:stop])
        return "".join(pieces)

    def odd_key(self, text: str, pos: int, quote: int) -> int:
        """A key with escapes, control characters, or too long: one step on. BUFFERED: more text is needed."""
        back = text.find("\\", pos, quote)
        stop = quote if back < 0 else back
        barrier = self.key_barrier - self.offset
        if stop > pos:
            self.key_pieces.append(self.raw_text(text, pos, min(stop, max(barrier, pos))))
            if self.error is not None:
                return DEAD
        if stop > barrier:
            return self.limit("key", self.max_key, text, barrier)
        self.pos = stop
        if back >= 0:
            used = self.escape(text, back, self.key_pieces)
            if used < 0:
                return DEAD
            self.pos += used
            if self.pos > barrier:  # an escape goes over the bound as a whole
                return self.limit("key", self.max_key, text, barrier)
            return KEY_STRING if used else BUFFERED
        return KEY_STRING if stop < len(text) else BUFFERED

    def escape(self, text: str, pos: int, pieces: list[str]) -> int:
        """The escape at `pos`. Returns its length; 0: more text is needed; -1: a fault."""
        n = len(text)
        if pos + 1 >= n:
            return 0
        char = text[pos + 1]
        simple = _SIMPLE_ESCAPES.get(char)
        if simple is not None:
            pieces.append(simple)
            return 2
        if char != "u":
            if self.tolerance is not None:
                return self.tolerance.escape(self, text, pos, pieces)
            self.fail("invalid_escape", text, pos, 'one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX')
            return -1
        end = hex_end(text, pos + 2)
        if end < pos + 6:
            if end == n:
                return 0  # at the end of the text too: a half escape is dropped
            if self.tolerance is not None:
                return self.tolerance.escape(self, text, pos, pieces)
            self.fail("invalid_escape", text, pos, "four hexadecimal digits after \\u")
            return -1
        code = int(text[pos + 2 : end], 16)
        if code < 0xD800 or code > 0xDFFF:
            pieces.append(chr(code))
            return 6
        if code < 0xDC00:
            # The first half of a pair: wait for the second as long as the text may still be one.
            low = hex_end(text, end + 2) if text.startswith("\\u", end) else end
            if low == end + 6:
                second = int(text[end + 2 : low], 16)
                if 0xDC00 <= second <= 0xDFFF:
                    pieces.append(chr(0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00)))
                    return 12
            elif end == n or low == n or (end + 1 == n and text[end] == "\\"):
                return 0
        self.diagnose("lone_surrogate", text, pos)
        pieces.append(chr(code) if self.surrogates == "keep" else "\ufffd")
        return 6

    def end_atom(self, lexeme: str, out: list[StreamingData]) -> int:
        """A bare word is over. Returns the state behind it."""
        if self.pending >= 0:
            if not self.is_atom(lexeme):
                return self.reject(out)
            self.pending = -1
            self.end_string(out)
        if lexeme == "true":
            return self.scalar("boolean", lexeme, True, out)
        if lexeme == "false":
            return self.scalar("boolean", lexeme, False, out)
        if lexeme == "null":
            return self.scalar("null", None, None, out)
        kind = number_kind(lexeme)
        if kind == 0:
            if self.tolerance is not None:
                return self.tolerance.atom(self, lexeme, out)
            return self.bad_atom(lexeme)
        value: Any
        if self.number == "lexeme":
            value = NumberLexeme(lexeme)
        elif kind == 1:
            value = to_int(lexeme)
        elif self.number == "decimal":
            try:
                value = Decimal(lexeme)
            except InvalidOperation:
                return self.fail(
                    "invalid_number",
                    self.text,
                    self.atom_at - self.offset,
                    "an exponent that Decimal can hold",
                    found=lexeme[:40],
                )
        else:
            value = float(lexeme)
        return self.scalar("number", lexeme, value, out)

    def is_atom(self, lexeme: str) -> bool:
        """True for a literal or number in any form that the dialect takes."""
        if lexeme in LITERALS or number_kind(lexeme) > 0:
            return True
        return bool(lexeme) and self.tolerance is not None and self.tolerance.is_atom(self, lexeme)

    def bad_atom(self, lexeme: str) -> int:
        """A bare word that is no value: the fault is at the first character that no value has there."""
        good = 0
        if lexeme[0] in "-+.0123456789":
            while good < len(lexeme) and NUMBER_START.fullmatch(lexeme, 0, good + 1) is not None:
                good += 1
            code, expected = "invalid_number", "a number as JSON writes it"
        else:
            while good < len(lexeme) and any([word.startswith(lexeme[: good + 1]) for word in LITERALS]):
                good += 1
            code, expected = "invalid_literal", "true, false, null or a string in double quotes"
        at = self.atom_at - self.offset
        if self.atom_place[0] == self.atom_at:
            _, line, column = self.atom_place
        else:
            line, column = self.place(self.text, at)
        self.fail(code, self.text, at + good, expected, found=lexeme[:40], place=(line, column + good))
        return DEAD

    def long_atom(self, out: list[StreamingData]) -> int:
        """A bare word longer than any number may be."""
        # Its first character too many decides, as it does where it is the last one that came.
        self.pos -= len(self.atom) - self.max_number - 1
        self.atom = lexeme = self.atom[: self.max_number + 1]
        if self.pending >= 0:
            return self.reject(out)
        if lexeme[0] in "-+.0123456789":
            return self.limit("number", self.max_number, self.text, self.atom_at + self.max_number - self.offset)
        if self.tolerance is not None:
            return self.tolerance.atom(self, lexeme, out)
        return self.bad_atom(lexeme[: self.max_number])

    # ---------------------------------------------------------------------------------------------------------- the end

    def finish(self) -> list[StreamingData]:
        """The text is over. Returns the last events: what can be decided now, then a `cut` for all that is still open.

        In a dialect that does not tolerate truncation an open document sets `error` (IncompleteJSONError).
        """
        self.final = True
        out: list[StreamingData] = [] if self.stopped or self.state == TEXT else self.read("")
        while self.pending >= 0 and self.error is None:
            # A string that has its quote is closed, whatever would have come.
            self.text, self.pos = "", 0
            joins = self.real_state() == JOIN
            if self.buffer:
                self.state, self.buffer = self.resume, ""
            behind = "".join(self.held)[self.pending - self.held_at + 1 :].lstrip()
            # With no comma between them, the next quote would begin a key only if its colon came.
            ends = not (self.in_object and behind[:1] in ('"', "'") and self.string != WORDS)
            self.state = self.accept(out) if ends else self.reject(out)
            # A plus sign that no string follows is cut off with the rest.
            rest = "" if joins else self.text[self.pos :]
            self.skip(self.text[: len(self.text) if joins else self.pos])
            out += self.read(rest)
        if self.error is not None:
            return out
        state = self.real_state()
        leaf: Field | None = None
        if (state == DOUBLED and not self.depth) or (state == LINE_COMMENT and self.comment == END):
            self.state = state = END
        elif state == TEXT:
            self.end_string(out)
            self.state = END
        elif state == BARE or state == GAP or state == WORDS:
            leaf = self.finish_atom(state, out)
        elif state == STRING or state == QUOTED or state == TRIPLE:
            leaf = self.leaf
            self.put_open()
            out.append(make_event(leaf, "cut", None, "".join(self.pieces) if self.keep_data else None))
        elif state == VALUE and self.in_object and self.depth:
            leaf = [self.node, self.key, "null", self.origin, None, None, None]
            out.append(make_event(leaf, "cut", None, None))
        if (
            not self.closed
            and self.error is None  # type: ignore[redundant-expr]  # what was called since may have set it
            and (self.depth or leaf is not None or "truncated" not in self.tolerances)
        ):
            self.cut(leaf, out)
        self.stopped = True
        return out

    def finish_atom(self, state: int, out: list[StreamingData]) -> Field | None:
        """The text ends in or behind a bare word. Returns the field that stays open; None: it was whole."""
        if self.tolerance is not None:
            return self.tolerance.finish(self, state, out)
        lexeme = self.atom
        self.atom_at = self.offset - len(lexeme)
        # A number at the very end may go on, unless it is all there is; a literal may not.
        if lexeme in LITERALS or (not self.depth and number_kind(lexeme) > 0):
            self.state = self.end_atom(lexeme, out)
            return None
        if NUMBER_START.fullmatch(lexeme) is None and not any([word.startswith(lexeme) for word in LITERALS]):
            self.state = self.bad_atom(lexeme)
            return None
        return self.open_atom(lexeme, out)

    def open_atom(self, lexeme: str, out: list[StreamingData]) -> Field:
        """A number or literal that the end of the text cut: it has no value."""
        kind: Kind = "number" if lexeme[0] in "-+.0123456789" else "null" if lexeme[0] in "nN" else "boolean"
        field: Field = [self.node, self.key if self.in_object else self.index, kind, self.origin, None, None, None]
        out.append(make_event(field, "cut", None, None))
        return field

    def cut(self, leaf: Field | None, out: list[StreamingData]) -> None:
        """The document stays open: containers are cut, innermost first."""
        if self.hole:
            del self.container[self.key]
            self.hole = False
        self.incomplete = self.open_paths
        node = self.node
        for _ in range(self.depth):
            assert node is not None
            out.append(make_event(node, "cut", None, node[LIVE] if self.keep_data else None))
            node = node[PARENT]
        state = self.real_state()
        raw = self.atom + self.buffer if state == BARE or state == GAP else self.buffer
        where = path_of(leaf) if leaf is not None else self.here()
        if "truncated" in self.tolerances:
            self.diagnose("truncated", self.buffer, len(self.buffer), path=where, raw=raw)
        else:
            at = len(self.buffer)
            line, column = self.place(self.buffer, at)
            self.error = IncompleteJSONError(
                "the text ended before the document did",
                partial=copy_value(self.tree(None)),
                incomplete=tuple(self.incomplete),
                offset=self.offset + at,
                line=line,
                column=column,
                path=where,
                expected=STATES[state].expected,
            )
        self.stop()

    # ------------------------------------------------------------------------------------------------------------ views

    @property
    def closed(self) -> bool:
        """True when the document is whole."""
        return self.state == END

    @property
    def started(self) -> bool:
        """True when the first character of the document was read."""
        return self.state != VALUE or self.depth > 0

    def real_state(self) -> int:
        """The state, looking through BUFFERED and DEAD."""
        return self.resume if self.state == BUFFERED or self.state == DEAD else self.state

    def stop(self) -> None:
        """Read no more."""
        self.resume = self.real_state()
        self.state = DEAD

    def string_is_open(self) -> bool:
        """True while a string value has begun and its end is not certain."""
        state = self.real_state()
        return state in (STRING, QUOTED, TRIPLE, TEXT) or self.pending >= 0 or (state == WORDS and self.words)

    def put_open(self) -> None:
        """Put the open string into the tree, as far as it is known."""
        if not self.string_is_open():
            return
        if not self.keep_data:
            self.hole = False
            return
        value = "".join(self.pieces)
        if self.in_object:
            self.container[self.leaf[KEY]] = value
            self.hole = False
        elif self.shown:
            self.container[-1] = value
        else:
            self.container.append(value)
            self.shown = True

    def tree(self, default: Any) -> Any:
        """The value so far, live: an open string as far as it is known. `default` when there is none yet."""
        self.put_open()
        if not self.holder or not self.keep_data:
            return default
        return next(iter(self.holder.values())) if type(self.holder) is dict else self.holder[0]

    def snapshot(self, default: Any) -> Any:
        """A copy of `tree`. A key that came again has no value until its new one begins."""
        self.put_open()
        if not self.hole or not self.keep_data:
            return copy_value(self.tree(default))
        # Take the void key out for a moment; the order of the keys is put back with it.
        container = self.container
        items = list(container.items())
        del container[self.key]
        value = copy_value(self.tree(default))
        container.clear()
        container.update(items)
        return value

    @property
    def open_paths(self) -> list[str]:
        """The paths that are open now, innermost first, the root last."""
        state = self.real_state()
        if state == END or (not self.depth and state == VALUE):
            return []
        paths: list[str] = []
        node = self.node
        for _ in range(self.depth):
            assert node is not None
            paths.append(path_of(node))
            node = node[PARENT]
        if self.string_is_open():
            paths.insert(0, path_of(self.leaf))
        elif state in (BARE, GAP, WORDS) or (state == VALUE and self.in_object):
            # A word that is whole as it stands is as good as closed; a number may always go on.
            whole = state != VALUE and self.is_atom(self.atom) and (state == GAP or self.atom[:1].isalpha())
            if not whole:
                paths.insert(0, path_of(self.next_field()))
        return paths

    def opened(self) -> list[Any]:
        """The open lists and dicts, outermost first (without data the keys of the objects, None for the arrays)."""
        containers: list[Any] = []
        node = self.node
        for _ in range(self.depth):
            assert node is not None
            containers.append(node[LIVE])
            node = node[PARENT]
        return containers[::-1]

    def next_field(self) -> Field:
        """The place where the next value goes."""
        return [self.node, self.key if self.in_object else self.index, "null", self.origin, None, None, None]

    def here(self) -> str:
        """The path of the innermost field that has begun, or whose key was read."""
        state = self.real_state()
        if self.node is None and not self.depth:
            return ""
        if state in (STRING, QUOTED, TRIPLE, CLOSER, OTHER_CLOSER, JOIN):
            return path_of(self.leaf)
        if state == BARE or state == GAP or state == WORDS or (state == VALUE and self.in_object) or not self.depth:
            return path_of(self.next_field())
        return path_of(self.node) if self.node is not None else ""

    # ----------------------------------------------------------------------------------------------------------- places

    def skip(self, text: str) -> None:
        """Count `text` in the position without reading it: it stands outside of the document."""
        lines = text.count("\n")
        if lines:
            self.line += lines
            self.line_start = self.offset + text.rfind("\n") + 1
        self.offset += len(text)

    def read(self, text: str) -> list[StreamingData]:
        """`feed`, whose events are wanted in any case."""
        events = self.feed(text)
        return self.last if events is None else events

    def read_text(self, text: str) -> list[StreamingData]:
        """Read `text` as the content of the root string, as it is. White space round it does not belong to it."""
        out: list[StreamingData] = []
        self.skip(text)
        if self.state != TEXT:
            self.state = TEXT
            self.begin_string(self.offset - len(text), out)
        text = repair_surrogates(self.gap + text)
        if not self.pieces:
            text = text.lstrip()
        content = text.rstrip()
        if len(text) - len(content) > self.limits.held:
            content = text
        self.gap = text[len(content) :]
        self.emit(content, out)
        return out

    def position(self) -> tuple[int, int, int]:
        """Offset, line, and offset of the beginning of the line, of the next character."""
        return self.offset, self.line, self.line_start

    def seek(self, position: tuple[int, int, int]) -> None:
        """Go to a position that `position` gave, to read there after all."""
        self.offset, self.line, self.line_start = position

    def read_alone(self, text: str) -> list[StreamingData]:
        """Read `text` if it is one whole value, else nothing. Returns its events."""
        before = (self.tolerances, self.lenient, self.solo)
        place = self.position()
        count = self.diagnostic_count
        self.tolerances = self.tolerances - {"truncated", "unquoted_string", "around"}
        self.lenient = False
        self.solo = True
        events = self.read(text)
        if self.error is None:
            events += self.finish()
        self.tolerances, self.lenient, self.solo = before
        if self.error is None and self.state == END:
            return events
        self.error = None
        self.incomplete = []
        self.forget(count)
        self.begin(self.node, self.key if self.in_object else self.index)
        self.seek(place)
        return []

    def place(self, text: str, pos: int) -> tuple[int, int]:
        """Line and column of `text[pos]`, both from 1."""
        before = text.rfind("\n", 0, max(pos, 0))
        line = self.line + text.count("\n", 0, max(pos, 0))
        return line, pos - before if before >= 0 else self.offset + pos - self.line_start + 1

    def diagnose(
        self, code: str, text: str, pos: int, *, field: Field | None = None, path: str | None = None, raw: str = ""
    ) -> None:
        """Note a tolerance that was used, at `text[pos]`."""
        if self.diagnostic_count < self.limits.diagnostics:
            if pos < 0 and self.atom_place[0] == self.offset + pos:
                _, line, column = self.atom_place
            else:
                line, column = self.place(text, pos)
            if path is None:
                path = self.here() if field is None else path_of(field)
            self.diagnostics.append(
                Diagnostic(code, DIAGNOSTIC_CODES[code], self.offset + pos, line, column, path, raw)
            )
        self.diagnostic_count += 1

    def note(self, code: str, raw: str = "") -> None:
        """Note a tolerance that was used outside of the document, at the current position."""
        self.diagnose(code, "", 0, path="", raw=raw)

    def unexpected(self) -> None:
        """The character at the current position cannot stand there."""
        code = "unexpected_character"
        expected = STATES[self.state].expected
        if self.state == AFTER:
            expected = "a comma or }" if self.in_object else "a comma or ]"
        char = self.text[self.pos]
        if "\udc80" <= char <= "\udcff":
            code, expected = "invalid_utf8", "UTF-8"
        elif self.state == END:
            code = "trailing_text"
        path = None
        if self.state in (VALUE, FIRST_VALUE) and self.depth and char not in ",:]}":
            path = path_of(self.next_field())
        self.fail(code, self.text, self.pos, expected, path)

    def fail(
        self,
        code: str,
        text: str,
        pos: int,
        expected: str,
        path: str | None = None,
        found: str | None = None,
        place: tuple[int, int] | None = None,
    ) -> int:
        """The text is wrong beyond what the dialect tolerates: `found` (else the character) at `text[pos]`. Returns
        the state.
        """
        line, column = self.place(text, pos) if place is None else place
        self.error = JSONSyntaxError(
            f"{(text[pos] if found is None else found)!r} cannot stand here",
            code=code,
            offset=self.offset + pos,
            line=line,
            column=column,
            path=self.here() if path is None else path,
            expected=expected,
        )
        self.stop()
        return DEAD

    def limit(self, limit: str, value: int, text: str, pos: int) -> int:
        """A bound was reached. Returns the state."""
        line, column = self.place(text, pos)
        self.error = LimitExceeded(
            f"limit {limit!r} of {value} reached",
            limit=limit,
            limit_value=value,
            offset=self.offset + pos,
            line=line,
            column=column,
            path=self.here(),
            hint=f"Raise it with Limits({limit}=...) if the text is to be trusted.",
        )
        self.stop()
        return DEAD

    def __reduce__(self) -> Any:
        return take_apart(self)
