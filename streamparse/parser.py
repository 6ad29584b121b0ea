"""StreamParser: decode, reasoning, locate and machine in a row.

    parser = StreamParser()
    for chunk in chunks:
        for event in parser.feed(chunk):
            ...
    parsed = parser.close()

The laws it keeps are numbered in docs/laws.md; the tests carry the same numbers.
"""

from __future__ import annotations

import copy
import functools
import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from .decode import Decoder, ends_in_half, repair_surrogates
from .dialect import Dialect, DialectName, as_dialect
from .errors import Diagnostic, IncompleteJSONError, StreamParseError, UsageError
from .fields import field_at
from .implementation import Intake, Machine, StreamingData, make_event
from .limits import Limits
from .locate import BEGIN, NOTE, Locator, Step
from .parsed import Parsed
from .paths import STYLES, PathStyle
from .reasoning import (
    ANSWER,
    ARGUMENTS,
    CALL,
    CALL_END,
    FIRST_ASIDE,
    FIRST_THOUGHT,
    SKIP,
    THOUGHT,
    Family,
    InlineCall,
    Pair,
    Piece,
    Splitter,
    as_family,
    call_name,
)
from .stage import Stage
from .text_log import TextLog
from .tolerance import tolerance_for
from .unescape import ESCAPED_START, Unescaper
from .values import copy_value

if TYPE_CHECKING:
    from .schema.typed import Invalid

Place = tuple[int, int, int]
Documents = Literal["first", "last", "all"]
NumberMode = Literal["int_float", "decimal", "lexeme"]
SurrogateMode = Literal["replace", "keep"]
Status = Literal["waiting", "reasoning", "streaming", "closed", "error"]

_LIMITS: Final = Limits()
_PART: Final = 8192  # characters of a text that may hold many documents: behind each the rest is looked at anew
_DOCUMENTS: Final = ("first", "last", "all")
_NUMBERS: Final = ("int_float", "decimal", "lexeme")
_SURROGATES: Final = ("replace", "keep")
_NO_CALL: Final = InlineCall(-1, "", "", True)
_STRING_STARTS: Final = "\"'“„«`"
_WORDS: Final = frozenset(
    ["true", "false", "null", "True", "False", "None", "NaN", "Infinity", "-Infinity", "undefined"]
)
_LONE: Final = re.compile(
    r"[\s\ufeff\u200b\u2060]*(?:(?P<fence>```|~~~)[^\n]*\n\s*)?(?P<text>\S(?:.*\S)?)"
    r"(?(fence)\s*(?P=fence))[\s\ufeff\u200b\u2060]*",
    re.DOTALL,
)


MISSING: Final = object()
"""The value of no value: `None` is a value."""


class Default:
    """The type of `DEFAULT`: a parameter that was not given."""

    def __repr__(self) -> str:
        return "DEFAULT"


DEFAULT: Final = Default()


class StreamParser(Intake):
    """Push text in, get events out. All parameters are keyword-only.

    dialect: `"llm"`, `"json5"`, `"strict"` or a `Dialect`.
    output: what the answer is to be: a pydantic model, an annotation, a dict spec or `JsonSchema` (see docs/schema).
    reasoning: `"auto"`, a family of `reasoning.FAMILIES`, `(opener, closer)` or None. The default is `"auto"`, in the
        strict dialect None.
    starts_in_reasoning: the prompt has opened the block already, so that only its closer comes.
    documents: which of several documents counts: `"first"`, `"last"` or `"all"` (then `data` is a list).
    limits: see `Limits`. path_style: `"dot"`, `"slash"` or `"pointer"`.
    number: `"int_float"`, `"decimal"` (fractions as `Decimal`) or `"lexeme"` (the text, as `NumberLexeme`).
    surrogates: half a pair becomes U+FFFD (`"replace"`) or stays (`"keep"`). emit_starts: send `start` events too.
    keep_data: False sends events and builds no tree, so that memory does not grow with the text.
    source: the `source` of the events.

    Raises `UsageError` on a value that does not exist. The object pickles and copies at any moment.
    """

    __slots__ = (
        "_answer", "_aside", "_call", "_calls", "_candidate", "_decoder", "_ended", "_error", "_escapes", "_family",
        "_fresh", "_incomplete", "_kind", "_list", "_locator", "_longest", "_parsed", "_path_style", "_places",
        "_reading", "_root", "_source", "_splitter", "_starts_inside", "_text", "_thoughts", "_unescaper", "dialect",
        "documents", "keep_data", "limits",
    )  # fmt: skip

    def __init__(
        self,
        *,
        dialect: DialectName | Dialect = "llm",
        output: Any = None,
        reasoning: str | Pair | Family | Default | None = DEFAULT,
        starts_in_reasoning: bool = False,
        documents: Documents = "first",
        limits: Limits | None = None,
        path_style: PathStyle = "dot",
        number: NumberMode = "int_float",
        surrogates: SurrogateMode = "replace",
        emit_starts: bool = False,
        keep_data: bool = True,
        source: str = "content",
    ) -> None:
        if documents not in _DOCUMENTS:
            raise _unknown("documents", documents, _DOCUMENTS)
        if path_style not in STYLES:
            raise _unknown("path_style", path_style, STYLES)
        if number not in _NUMBERS:
            raise _unknown("number", number, _NUMBERS)
        if surrogates not in _SURROGATES:
            raise _unknown("surrogates", surrogates, _SURROGATES)
        self.dialect = as_dialect(dialect)
        self.limits = _LIMITS if limits is None else limits
        if not isinstance(self.limits, Limits):  # pyright: ignore[reportUnnecessaryIsInstance]  # untyped callers
            raise UsageError(f"limits must be a Limits, got {limits!r}", hint="Write Limits(depth=100).")
        if output is not None and not keep_data:
            raise UsageError("output= needs the data", hint="Leave keep_data=False out, or check the events yourself.")
        self.documents = documents
        self._longest = sys.maxsize if documents == "first" else _PART
        self.keep_data = keep_data
        around = "around" in self.dialect.tolerances
        if isinstance(reasoning, Default):
            reasoning = None if self.dialect.name == "strict" else "auto"
        self._decoder = Decoder()
        self._family = as_family(reasoning)
        self._starts_inside = starts_in_reasoning
        self._kind: str | None = None  # that the root has to be of
        if output is not None:
            self._kind, output = _compile(output)
        # Between the decoder and the machine. Both are made when they are needed: most answers begin at once.
        self._splitter: Splitter | None = None
        self._locator: Locator | None = None
        machine = Machine(
            self.dialect,
            self.limits,
            tolerance=tolerance_for(self.dialect.tolerances),
            solo=not around,
            number=number,
            surrogates=surrogates,
            starts=emit_starts or output is not None,
            guide=None if emit_starts or output is None else output.guide,
            keep_data=keep_data,
            source=source,
            path_style=path_style,
        )
        stage: Stage | None = None
        if output is not None:
            stage = _schema()[2](
                output,
                machine,
                self.dialect,
                self.limits,
                number=number,
                surrogates=surrogates,
                emit_starts=emit_starts,
                documents_all=documents == "all",
                choosing=documents != "all",
                guided=not emit_starts,
            )
        self._answer = TextLog()
        super().__init__(machine, stage, self._answer.recent)
        self._candidate = ""  # the beginning of another document, which may fit the output better
        self._text = False  # the answer is a string without quotes
        self._thoughts: TextLog | None = None
        self._aside: list[str] = []  # text for the user beside the answer (gpt-oss: a preamble)
        self._call = _NO_CALL  # the last piece of a tool call in the text
        self._calls: list[InlineCall] = []  # the pieces that were not taken yet
        self._reading = not around  # the machine has the text
        self._fresh = around or self._family is not None  # nothing came yet of what may stand before the document
        if not self._fresh:
            self._direct = self._longest
        self._ended = False  # the document that counts is over: the rest is only skipped
        self._unescaper: Unescaper | None = None  # the document is escaped as if inside a string
        self._escapes = 0  # characters that the machine does not count, since they were escapes
        self._places: dict[int, Place] = {}  # where the answer and the reasoning begin
        self._list: list[Any] = []  # the closed documents, with documents="all"
        self._root = field_at((), "array", source, path_style) if documents == "all" else None
        if self._root is not None:
            self._machine.begin(self._root, 0)
        self._source = source
        self._path_style: PathStyle = path_style
        self._incomplete: Sequence[str] = ()
        self._error: StreamParseError | None = None
        self._parsed: Parsed | None = None

    # --------------------------------------------------------------------------------------------------------------- in

    def _feed(self, chunk: str | bytes) -> list[StreamingData]:
        if self._parsed is not None:
            raise UsageError("feed() after close()", hint="Make a new StreamParser for a new text.")
        if self._error is not None:
            raise self._error
        if self._fresh:
            if type(chunk) is str and self._begins_at_once(chunk):
                self._fresh = False
                self._reading = True
                self._places[ANSWER] = self._machine.position()
                self._direct = self._longest
                return Intake.feed(self, chunk)
            self._prepare()
        out: list[StreamingData] = []
        self._push(self._decoder.feed(chunk), out)
        self._machine.told = 2  # there may be events that are not the machine's
        return self._tell(out)

    def _begins_at_once(self, chunk: str) -> bool:
        """Whether the text that `chunk` begins is the document from its first character on: the machine may have it."""
        return (
            chunk.startswith('{"')
            and len(chunk) <= min(self._longest, self.limits.document)
            and not self._starts_inside
            and self._kind != "string"
            and (self._family is None or not self._family.may_begin("{"))
        )

    def _prepare(self) -> None:
        """Make what stands between the decoder and the machine: the text may not be the document alone."""
        self._fresh = False
        if self._family is not None:
            self._splitter = Splitter(self._family, starts_inside=self._starts_inside, held=self.limits.held)
        if not self._reading:
            self._locator = Locator(kind=self._kind, held=self.limits.held)

    def _look(self, events: list[StreamingData]) -> list[StreamingData]:
        if self._machine.stopped:
            rest = self._machine.rest
            if ends_in_half(rest):
                # It came by the short way, past the decoder, who keeps the half until the other one comes.
                self._answer.drop_half()
                self._machine.rest = self._decoder.feed(rest)
            over = self._machine.overrun  # asked for now: the machine forgets it where another document begins
            self._follow(self._stopped(events), events)
            if over and self._error is None:
                self._reach_limit(events)
            self._machine.told = 2
        return self._tell(events)

    def _join(self) -> None:
        self._answer.join()

    def _push(self, text: str, out: list[StreamingData]) -> None:
        if len(text) > self._longest:
            for at in range(0, len(text), self._longest):
                if self._error is None:
                    self._push(text[at : at + self._longest], out)
            return
        # The bound is on the text as it came, so that what is held back somewhere does not change the place.
        room = self.limits.document - self._machine.offset - self._escapes - len(self._undecided())
        over = len(text) > room
        if over:
            text = text[: max(room, 0)]
        if self._splitter is None or self._splitter.done:
            if text:
                self._read(text, out)
        else:
            for piece in self._splitter.feed(text):
                self._sort(piece, out)
                if self._error is not None:
                    break
        if over and self._error is None:
            self._reach_limit(out)
        direct = (
            self._reading
            and (self._splitter is None or self._splitter.done)
            and self._error is None
            and self._decoder.idle
            and self._unescaper is None
            and not self._text
        )
        self._direct = self._longest if direct else -1

    def _undecided(self) -> str:
        """What the stages hold back."""
        located = "" if self._locator is None else self._locator.held
        split = "" if self._splitter is None else self._splitter.held
        escaped = "" if self._unescaper is None else self._unescaper.held
        return self._machine.buffer + escaped + self._candidate + located + split

    def _reach_limit(self, out: list[StreamingData]) -> None:
        """The text is longer than it may be. Everything up to the bound was read."""
        machine = self._machine
        if ends_in_half(machine.buffer):  # the other half would be too much
            machine.final = True
            out.extend(machine.read(""))
        if machine.error is None:
            held = self._undecided()
            machine.limit("document", self.limits.document, held, len(held))
        if self._reading:
            self._stopped([])
        self._error = machine.error
        self._direct = -1

    def _sort(self, piece: Piece, out: list[StreamingData]) -> None:
        kind, text = piece
        if kind == ANSWER:
            if self._aside and ANSWER not in self._places:
                self._keep_text("\n\n")
            self._read(text, out)
            return
        if kind != SKIP:
            self._places.setdefault(FIRST_THOUGHT if kind == THOUGHT else kind, self._machine.position())
        self._machine.skip(text)
        if kind in (THOUGHT, FIRST_THOUGHT):
            if self._thoughts is None:
                self._thoughts = TextLog()
            elif kind == FIRST_THOUGHT:
                self._thoughts.append("\n\n")
            self._thoughts.append(repair_surrogates(text))
        elif kind in (CALL, ARGUMENTS, CALL_END):
            self._sort_call(kind, repair_surrogates(text))
        elif kind != SKIP:
            if kind == FIRST_ASIDE and not self._answer.empty:
                self._keep_text("\n\n")
            self._keep_text(text)
            self._aside.append(text)

    def _sort_call(self, kind: int, text: str) -> None:
        """A piece of a tool call."""
        if kind == CALL:
            self._call = InlineCall(self._call.number + 1, call_name(text), "", False)
        else:
            self._call = self._call._replace(arguments=text if kind == ARGUMENTS else "", done=kind == CALL_END)
        self._calls.append(self._call)

    def _read(self, text: str, out: list[StreamingData]) -> None:
        """Text of the answer: to the machine while it is in a document, else to the locator."""
        self._keep_text(text)
        if self._unescaper is not None:
            self._follow(self._read_escaped(text, out), out)
            return
        if self._text:
            out.extend(self._machine.read_text(text))
            return
        if self._candidate:
            self._follow(self._weigh(text, out), out)
            return
        if self._reading:
            out.extend(self._machine.read(text))
            if self._machine.stopped:
                self._follow(self._stopped(out), out)
            return
        self._places.setdefault(ANSWER, self._machine.position())
        if self._ended:
            self._machine.skip(text)
        elif self._locator is None:
            self._follow(self._behind(text), out)
        else:
            self._follow(self._locator.feed(text), out)

    def _keep_text(self, text: str) -> None:
        """Add to the text of the answer. Without `keep_data` only its beginning is kept."""
        if self.keep_data or not self._answer.blocks:
            self._answer.append(text)

    def _read_escaped(self, text: str, out: list[StreamingData]) -> list[Step]:
        """Text of an escaped document, piece by piece: the machine stops behind any of them. Returns what follows."""
        assert self._unescaper is not None
        machine = self._machine
        read = -len(self._unescaper.held)
        for piece, used in self._unescaper.feed(text):
            self._escapes += used - read - len(piece)
            read = used
            out.extend(machine.read(piece))
            if machine.stopped:
                self._unescaper = None
                machine.rest += text[used:]
                return self._stopped(out)
        return []

    def _stopped(self, out: list[StreamingData]) -> list[Step]:
        """The machine reads no more: the document is closed, a fence ended it, or there is a fault.

        Returns what the locator makes of the text behind it.
        """
        machine = self._machine
        self._direct = -1
        self._reading = False
        if machine.error is not None:
            self._error = machine.error
            if self.documents == "all" and machine.started:
                self._list.append(machine.tree(None))
            return []
        if not machine.closed:
            out.extend(machine.finish())
            self._incomplete = machine.incomplete
        if self.documents == "all" and machine.started:
            self._list.append(machine.tree(None))
        return self._behind(machine.rest)

    def _behind(self, text: str) -> list[Step]:
        """What the locator makes of text behind a document."""
        if self._locator is None:
            if not text or self._machine.solo:
                return []
            self._locator = Locator(kind=self._kind, held=self.limits.held)
            self._locator.count = 1
        return self._locator.resume(text)

    def _follow(self, steps: list[Step], out: list[StreamingData], *, keep: bool = True) -> None:
        """Do what the locator found. A document that begins goes to the machine, which logs it unless `keep`.

        A document that ends in the same text gives new steps: one text may hold any number of documents.
        """
        machine = self._machine
        while steps:
            found, steps = steps, []
            for kind, text in found:
                if kind == NOTE:
                    machine.note(text)
                elif kind != BEGIN or self._ended:
                    machine.skip(text)
                elif self._locator is not None and self._locator.count > 1 and self.documents == "first":
                    if self._stage is not None and not self._stage.fits(machine.tree(None)):
                        steps = self._weigh(text, out)
                    else:
                        self._ended = True
                        machine.skip(text)
                else:
                    steps = self._begin(text, out, keep)

    def _weigh(self, text: str, out: list[StreamingData]) -> list[Step]:
        """Another document begins, and the one before does not fit the output: the first key says whether this may.

        Returns what follows in the text.
        """
        assert self._stage is not None
        assert self._locator is not None
        self._candidate += text
        text = self._candidate
        better = self._stage.may_begin(text)
        if better is None and len(text) <= self.limits.held:
            return []
        self._candidate = ""
        return self._begin(text, out, True) if better else self._locator.refuse(text)

    def _is_escaped(self, text: str) -> bool:
        """Whether the document that begins with `text` is escaped as if inside a string."""
        end = self.limits.held + 1
        if text.find("\\", 0, end) < 0:  # most are not, and the expression takes longer to say so
            return False
        return "escaped_document" in self.dialect and ESCAPED_START.match(text, 0, end) is not None

    def _begin(self, text: str, out: list[StreamingData], keep: bool) -> list[Step]:
        """A document begins with `text`. Returns what follows it, if it ends there."""
        machine = self._machine
        assert self._locator is not None
        if self.documents == "all":
            machine.begin(self._root, len(self._list))
        elif self._locator.count > 1:
            out.append(make_event(field_at((), "object", self._source, self._path_style), "reset", None, None))
            machine.begin(None, 0)
        self._incomplete = ()
        self._reading = True
        if self._kind == "string" and text[0] not in _STRING_STARTS:
            self._text = True
            self._direct = -1
            if not keep:
                self._keep_text(text)
            out.extend(machine.read_text(text))
            return []
        if self._is_escaped(text):
            machine.note("escaped_document")
            self._unescaper = Unescaper()
            if not keep:
                self._keep_text(text)
            return self._read_escaped(text, out)
        if not keep:
            self._keep_text(text)
        out.extend(machine.read(text))
        return self._stopped(out) if machine.stopped else []

    # -------------------------------------------------------------------------------------------------------------- out

    def take_reasoning(self) -> str:
        """The reasoning text that was decided since the last call."""
        return "" if self._thoughts is None else self._thoughts.take()

    def take_tool_calls(self) -> list[InlineCall]:
        """The pieces of tool calls that the model wrote into its text (gpt-oss) and that came since the last call.

        The first piece of a call has its name and no arguments yet, the last one has `done`, unless the text was cut.
        The arguments are text: each call's may be fed to a parser of its own.
        """
        calls, self._calls = self._calls, []
        return calls

    def take_text(self) -> str:
        """The answer's text that was decided since the last call (empty with `keep_data=False`)."""
        if not self.keep_data:
            return ""
        return self._answer.take(final=self._parsed is not None or self._error is not None)

    @property
    def reasoning_done(self) -> bool:
        """True when no reasoning can come any more (there may have been none)."""
        if self._splitter is None:
            return self._family is None or not self._fresh
        return self._splitter.done or self._parsed is not None

    @property
    def has_reasoning(self) -> bool:
        """True when a block of reasoning was opened."""
        return self._splitter is not None and self._splitter.blocks > 0

    @property
    def error(self) -> StreamParseError | None:
        """The fault that ended the reading, if there was one."""
        return self._error

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The tolerances used so far, in the order of the text (bounded by `Limits.diagnostics`)."""
        found = self._machine.diagnostics
        if self._stage is not None and self._stage.diagnostics:
            found = sorted([*found, *map(self._placed, self._stage.diagnostics)], key=lambda item: item.offset)
        return tuple(found[: self.limits.diagnostics])

    @property
    def diagnostic_count(self) -> int:
        """How many tolerances were used so far."""
        return self._machine.diagnostic_count + (0 if self._stage is None else len(self._stage.diagnostics))

    def _placed(self, item: Diagnostic) -> Diagnostic:
        """A diagnostic of the schema stage, with its line and column: the stage knows the offset alone."""
        offset, line, line_start = self._places.get(ANSWER, (0, 1, 0))
        before = self._answer.text()[: max(item.offset - offset, 0)]
        newline = before.rfind("\n")
        column = item.offset - (line_start if newline < 0 else offset + newline + 1) + 1
        return item._replace(line=line + before.count("\n"), column=column)

    def partial(self) -> Any:
        """The output as far as it is there: an instance with holes; None without `output=`, or before anything came."""
        return None if self._stage is None else self._stage.partial()

    def take_invalid(self) -> list[Invalid]:
        """What did not fit the output since the last call (empty without `output=`)."""
        return [] if self._stage is None else self._stage.take_invalid()

    @property
    def data(self) -> Any:
        """The value so far, live: read it, do not change it. None while there is none."""
        if self.documents == "all":
            return [*self._list, self._machine.tree(None)] if self._reading and self._machine.started else self._list
        tree = self._machine.tree(None)
        return tree if self._stage is None else self._stage.root(tree)

    def snapshot(self) -> Any:
        """A copy of the value so far: everything that has come, open strings as far as they are known."""
        if self.documents == "all":
            docs = [copy_value(value) for value in self._list]
            return [*docs, self._overlaid()] if self._reading and self._machine.started else docs
        return self._overlaid()

    def _overlaid(self) -> Any:
        """A copy of the current document, with what a string that holds JSON is known to hold."""
        value = self._machine.snapshot(None)
        return value if self._stage is None else self._stage.overlay(value)

    @property
    def open_paths(self) -> list[str]:
        """The paths that are open now, innermost first, the root (`""`) last."""
        paths = self._machine.open_paths if self._reading else list(self._incomplete)
        return paths if self._stage is None else self._stage.open_paths(paths)

    @property
    def status(self) -> Status:
        """`waiting`, `reasoning`, `streaming`, `closed` or `error`."""
        if self._error is not None:
            return "error"
        if self._parsed is not None:
            return "closed"
        if self._splitter is not None and self._splitter.inside:
            return "reasoning"
        if self._reading:
            return "streaming" if self._machine.started else "waiting"
        if self._locator is None:
            return "waiting" if self._fresh else "closed"
        return "closed" if self._locator.count else "waiting"

    # ---------------------------------------------------------------------------------------------------------- the end

    def close(self) -> Parsed:
        """The text is over: decide what waits, and return the `Parsed` (the same one each time).

        Raises the fault, if there was one; in the strict and json5 dialects an open document raises
        `IncompleteJSONError`.
        """
        if self._parsed is not None:
            return self._parsed
        if self.error is not None:
            raise self.error
        if self._fresh:
            self._prepare()
        out: list[StreamingData] = []
        rest = self._decoder.close()
        if rest:
            self._push(rest, out)
        self._direct = -1
        guessed = False
        if self._splitter is not None:
            guessed = self._splitter.guessed and self._splitter.inside
            for piece in self._splitter.close():
                self._sort(piece, out)
                if self._error is not None:
                    break
        if self._locator is not None and not self._reading and self._error is None:
            self._follow(self._locator.close(), out)
        if self._reading and self._error is None:
            self._finish(out)
        if self._candidate:
            self._candidate, text = "", self._candidate
            self._machine.skip(text)
        if self._error is None and self._locator is not None and not self._locator.count:
            self._without_document(guessed, out)
        if self._stage is not None:
            # What is inside a string that stays open belongs to the open paths too.
            inner = self._stage.open_paths([])
            out = self._stage.feed(out)
            self._stage.finish()
            self._incomplete = [*inner, *self._incomplete]
        if self._error is not None:
            if isinstance(self._error, IncompleteJSONError):
                self._error.events = (*out,)
            raise self._error
        self._parsed = self._result(out)
        return self._parsed

    def _finish(self, out: list[StreamingData]) -> None:
        """The text ends while the machine has it."""
        machine = self._machine
        out.extend(machine.finish())
        self._reading = False
        self._error = machine.error
        self._incomplete = machine.incomplete
        if self.documents == "all" and machine.started:
            self._list.append(machine.tree(None))

    def _without_document(self, guessed: bool, out: list[StreamingData]) -> None:
        """No document came so far: the text may be one value alone, an empty document, or reasoning that was none."""
        assert self._locator is not None
        machine = self._machine
        if guessed:
            # The block was only said to be open, and never closed: a document in it is the answer after all.
            thought = "" if self._thoughts is None else self._thoughts.text()
            if self._look_into(thought, FIRST_THOUGHT, out):
                machine.note("no_reasoning")
                return
            self._locator.empty = ""  # an empty document in the reasoning
        if self._call.number >= 0 and ANSWER not in self._places:
            return  # a turn of tool calls lacks no document
        if self._aside and ANSWER not in self._places:
            # Some models put the answer where only remarks belong.
            if self._look_into("".join(self._aside), FIRST_ASIDE, out):
                return
            self._places[ANSWER] = self._places[FIRST_ASIDE]
        answer = self._answer.text()
        scalar = lone_scalar(answer)
        if scalar or self._locator.empty:
            text = scalar or self._locator.empty
            at = answer.index(text)
            end = machine.position()
            machine.seek(self._places.get(ANSWER, end))
            machine.skip(answer[:at])
            events = machine.read_alone(text)
            machine.seek(end)
            if events:
                if not scalar:
                    machine.note("leading_text")
                out.extend(events)
                if self.documents == "all":
                    self._list.append(machine.tree(None))
                return
        if self._splitter is not None and self._splitter.found == "unclosed":
            machine.note("unclosed_reasoning")
        else:
            machine.note("no_document")

    def _look_into(self, text: str, kind: int, out: list[StreamingData]) -> bool:
        """Read the document in text that was told as `kind` already; whether there is one."""
        assert self._locator is not None
        machine = self._machine
        end = machine.position()
        machine.seek(self._places.get(kind, end))
        keep = kind != FIRST_THOUGHT
        self._follow(self._locator.feed(text), out, keep=keep)
        self._follow(self._locator.close(), out, keep=keep)
        if self._reading:
            self._finish(out)
        if not self._locator.count:
            machine.seek(end)
        return self._locator.count > 0

    def _result(self, out: list[StreamingData]) -> Parsed:
        machine = self._machine
        if self._splitter is not None and self._splitter.found == "missing":
            machine.note("no_reasoning")
        if self.documents == "all":
            has_data = bool(self._list)
            data: Any = self._list if has_data else None
        else:
            tree = machine.tree(MISSING)
            has_data = tree is not MISSING
            data = tree if has_data else None
        if self._stage is not None and has_data:
            if self.documents == "all":
                data = [*data[:-1], self._stage.root(data[-1])]
            else:
                data = self._stage.root(data)
        found = has_data or (not self.keep_data and machine.started)
        return Parsed(
            data=data,
            has_data=has_data,
            complete=found and not self._incomplete and (machine.closed or self.documents == "all"),
            incomplete=tuple(self._incomplete),
            diagnostics=self.diagnostics,
            diagnostic_count=self.diagnostic_count,
            thoughts=self._thoughts,
            answer=self._answer if self.keep_data else TextLog(),
            events=tuple(out),
        )

    # ----------------------------------------------------------------------------------------------------------- copies

    def __getstate__(self) -> dict[str, Any]:
        # A subclass may have slots, or a dictionary, of its own.
        slots = [name for one in type(self).__mro__ for name in one.__dict__.get("__slots__", ())]
        state = {name: getattr(self, name) for name in slots if name[:2] != "__" and hasattr(self, name)}
        del state["_log"]
        return {**state, **getattr(self, "__dict__", {})}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self._log = self._answer.recent

    def __copy__(self) -> StreamParser:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> StreamParser:
        other = type(self).__new__(type(self))
        other.__setstate__({name: copy.deepcopy(value, memo) for name, value in self.__getstate__().items()})
        return other


def _compile(output: Any) -> tuple[str | None, Any]:
    """Root kind and compiled form of an output specification."""
    root_kind, compile_output, _ = _schema()
    compiled = compile_output(output)
    return root_kind(compiled.shape), compiled


@functools.cache
def _schema() -> tuple[Callable[[Any], str | None], Callable[[Any], Any], Callable[..., Stage]]:
    # Not at the top: without an output nothing needs pydantic, whose import takes longer than all of this.
    from .schema.choice import root_kind
    from .schema.spec import compile_output
    from .schema.stage import SchemaStage

    return root_kind, compile_output, SchemaStage


def lone_scalar(answer: str) -> str:
    """The answer without white space and fence, where it may be one scalar alone; else the empty string."""
    match = _LONE.fullmatch(answer)
    text = match["text"] if match is not None else ""
    return text if text and (text[0] in "\"'-+.0123456789" or text in _WORDS) else ""


def _unknown(name: str, value: object, allowed: tuple[str, ...]) -> UsageError:
    return UsageError(f"unknown {name} {value!r}", expected=", ".join(allowed))
