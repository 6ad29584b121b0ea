"""SchemaStage: what the parser runs behind the machine where `output=` is given.

Events in, events out; it adds and takes away nothing but this:

* held values: a string that means something only as a whole (a date, a literal, ...) is sent as one delta just before
its `done`; a value
  marked `Hold`, and an object that waits for a `Required` field, is sent when it can be shown;
* double encoding: where only an object or array can be right and a string comes that holds one, the events of what is
inside take its
  place, and the value in the tree;
* `start` events, which the stage needs and the caller may not want.

Checks change no event: what does not fit is told in `invalid`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..dialect import Dialect
from ..errors import DIAGNOSTIC_CODES, Diagnostic
from ..fields import KEY, KIND, LIVE, ORIGIN, PARENT, Field
from ..implementation import Machine, make_event
from ..paths import Parts, format_path
from ..tolerance import tolerance_for
from .choice import may_begin
from .early import Watch, watch
from .nodes import Node
from .partial import HIDDEN
from .shape import ANYTHING, CONTAINERS, fits
from .typed import Invalid, TypedTree, field_of

if TYPE_CHECKING:
    from ..implementation import StreamingData
    from ..limits import Limits
    from .spec import Output

_SPACE = " \t\n\r"
_NO_ROOT = object()
_SCALARS: dict[str, tuple[type, ...]] = {"string": (str,), "number": (int, float), "boolean": (bool,)}
_INSIDE = Dialect("json5", also={"python_literal", "js_literal", "raw_line_end", "truncated"})


def offset_of(event: StreamingData) -> int:
    """Where the string of a `start` event begins in the text."""
    return event._value or 0  # type: ignore[attr-defined,no-any-return,unused-ignore]  # pyright: ignore[reportPrivateUsage]


class _Inner:
    """A string that may hold JSON, the machine that reads what is inside, and the machine (`owner`, from `base` on) it
    stands in.
    """

    __slots__ = ("base", "deltas", "field", "machine", "node", "offset", "owner", "started")

    def __init__(self, field: Field, node: Node, machine: Machine, owner: Machine, base: int, offset: int) -> None:
        self.field = field
        self.node = node
        self.machine = machine
        self.owner = owner
        self.base = base
        self.offset = offset
        self.deltas = 0
        self.started = False
        """The first character that is not white space was a bracket, and nothing since has shown that it is no JSON."""


class _Buffer:
    """Events kept back: until `node` is closed (`waits` None), or until all of `waits` (keys of its `Required` fields)
    can be shown.
    """

    __slots__ = ("events", "node", "waits")

    def __init__(self, node: Node, waits: list[tuple[str, ...]] | None) -> None:
        self.node = node
        self.waits = waits
        self.events: list[StreamingData] = []


class SchemaStage:
    """Follows the events of one parser. All parameters but `output` are those of the parser.

    `guided`: the machine was given the guide of the output (see `guide`), so that it does not tell of plain values.
    `choosing`: a document that does not fit may give way to a later one, so what is missing in it is told by `finish`.
    `documents_all`: the documents are items of one list. `machine` is the parser's: its tree is where an opened string
    is replaced.
    """

    def __init__(
        self,
        output: Output,
        machine: Machine,
        dialect: Dialect,
        limits: Limits,
        *,
        number: str = "int_float",
        surrogates: str = "replace",
        emit_starts: bool = False,
        documents_all: bool = False,
        choosing: bool = False,
        guided: bool = False,
    ) -> None:
        self.output = output
        self.tree = TypedTree(output.listed() if documents_all else output)
        self.invalid: list[Invalid] = []
        """What did not fit since the last `take_invalid`."""
        self.diagnostics: list[Diagnostic] = []
        """`double_encoded`, one a string that was opened, and what its text needed.

        Line and column are 0: who has the text fills them in.
        """
        self._machine = machine
        # What is inside a string was written by the same model, with the escapes of one level: raw line ends are to be
        # expected.
        self._inner_dialect = _INSIDE if dialect.tolerances else dialect
        self._limits = limits
        self._number = number
        self._surrogates = surrogates
        self._starts = emit_starts
        self._choosing = choosing
        self._guided = guided
        self._late: list[Invalid] = []
        self._base = 1 if documents_all else 0
        self._root: tuple[Any, Any] | None = None
        self._cuts: list[tuple[Machine, Parts, Any]] = []
        self._inners: list[_Inner] = []
        self._buffers: list[_Buffer] = []
        self._held = False
        """The open string is sent when it is closed."""
        self._watch: Watch | None = None
        self._exact: type | None = None
        """The type that makes the open value right without a check."""
        self.waiting = False
        """All events have to come here for now. If not, those that the machine was told to pass by need not."""
        self._out: list[StreamingData] = []
        self._batch: list[StreamingData] = []
        self._roots: dict[int, Any] | None = None
        if documents_all:
            self.tree.open("", "array")

    # ------------------------------------------------------------------------------------------------------------------
    # events

    def feed(self, events: list[StreamingData]) -> list[StreamingData]:
        """Take the machine's events; return those that are to be seen.

        Of the values that the guide of the output names neither `start` nor anything else has to come, but where
        `waiting` says so.
        """
        if not self.waiting and (not events or (len(events) == 1 and events[0].event_type == "delta")):
            return events  # text of a string that needs nothing
        out = self._out = []
        self._batch = events
        self._roots = None
        tree = self.tree
        for event in events:
            if self._inners or self._buffers or self._starts or not self._plain(event):
                self._take(event, 0)
                continue
            if event.event_type != "start":
                out.append(event)
            if tree.invalid:
                self._tell(event)
        self._out, self._batch, self._roots = [], [], None
        self.waiting = self._held or self._watch is not None or bool(self._inners or self._buffers)
        return out

    def feed_end(self, events: list[StreamingData]) -> list[StreamingData]:
        """`feed`, where the machine tells of nothing but the end of the document, which is the last event."""
        event: Any = events[-1]
        if self.tree.chain or self._inners or event._type != "done" or event._field[PARENT] is not None:
            return self.feed(events)
        self._out = events
        self.tree.close_unopened(event._field, event._value)
        if self.tree.invalid:
            self._tell(event)
        self._out = []
        return events

    def _plain(self, event: Any) -> bool:
        """Do what `_take` would do where that is little, but for showing the event: its value fits by its type, or all
        inside does, and its container is plain. False: it is to be done.
        """
        field: Any = event._field
        what = event._type
        kind = field[KIND]
        tree = self.tree
        if kind in CONTAINERS:
            if what != "done" or self._align(field):
                return False
            tree.close_unopened(field, event._value)
        elif what == "delta":
            return kind != "string" or not (self._held or self._watch is not None)
        elif what == "done":
            if self._exact is None:
                return tree.leaf is None
            fits = type(event._value) is self._exact
            self._exact = None
            if not fits:
                tree.open(field[KEY], kind, field)
                return False
            tree.leaf = None
            tree.chain[-1].keep(field[KEY], event._value)
        elif what == "start":
            chain = tree.chain
            if not chain or chain[-1].field is not field[PARENT] or not chain[-1].simple:
                return False
            shape = chain[-1].shape.child(field[KEY])
            if shape is None:
                return False
            if shape.options:
                shape = shape.resolve(kind)
            if shape.hold or shape.exact is None or kind not in _SCALARS or shape.exact not in _SCALARS[kind]:
                return False
            self._exact = shape.exact
            if kind == "string":
                tree.leaf = Node(chain[-1], field[KEY], "string", shape, True)
                tree.leaf.field = field
        else:
            return False
        return True

    def _align(self, field: Field) -> bool:
        """Make the chain of open values that of the containers round `field`; whether `field` is the last of it."""
        chain = self.tree.chain
        if chain:
            last = chain[-1].field
            if last is field:
                return True
            if last is not None and last is field[PARENT]:
                return False
        path: list[Field] = []
        at: Field | None = field
        while at is not None:
            path.append(at)
            at = at[PARENT]
        path.reverse()
        depth = 0
        for node, at in zip(chain, path, strict=False):
            # Not by identity: the machine makes its fields anew when it is copied.
            if node.kind != at[KIND] or (depth and node.part != at[KEY]):
                break
            node.field = at
            depth += 1
        del chain[depth:]
        if depth == len(path):
            return True
        for at in path[depth:-1]:
            self.tree.open(at[KEY] if chain else "", at[KIND], at)
        return False

    def _take(self, event: StreamingData, level: int) -> None:
        """An event of the parser's machine (level 0), or of the one that reads inside a string of the level above."""
        if level < len(self._inners):
            # That string is open, so the event is about it.
            self._inside(event, level)
        else:
            kind = event.event_type
            if kind == "delta":
                self._delta(event)
            elif kind == "start":
                self._start(event, level)
            elif kind == "done":
                self._done(event)
            elif kind == "reset":
                self._reset(event)
            else:
                self._cut(event)
        if self.tree.invalid:
            self._tell(event)

    def _tell(self, event: StreamingData) -> None:
        """Hand out what did not fit. `event` led to it."""
        found, self.tree.invalid = self.tree.invalid, []
        told = [replace(invalid, after=len(self._out)) for invalid in found]
        if told and self._choosing and event.is_complete and not self.tree.chain and not self.fits(event.value):
            # Another document may come that fits better: then this one never counted.
            self._late = told
        else:
            self.invalid.extend(told)

    def _start(self, event: StreamingData, level: int) -> None:
        field = field_of(event)
        tree = self.tree
        self._align(field)
        # Under no container the document itself begins: it has no part, whatever the machine calls its place.
        node = tree.open(field[KEY] if tree.chain else "", field[KIND], field)
        self._exact = None
        if node.kind == "string":
            if "string" not in node.shape.kinds and node.shape.kinds & CONTAINERS:
                self._inners.append(self._inner(event, node, level))
                return
            self._watch = watch(node.shape) if node.live and not node.failed else None
            self._held = node.hold
            if node.hold:
                return
        elif node.kind in CONTAINERS:
            if node.hold:
                self._buffers.append(_Buffer(node, None))
            elif node.kind == "object" and node.shape.members is not None and node.shape.members.get().must:
                self._buffers.append(_Buffer(node, [prop.keys for prop in node.shape.members.get().must]))
        if self._starts:
            self._emit(make_event(field, "start", None, None))

    def _delta(self, event: StreamingData) -> None:
        leaf = self.tree.leaf
        if leaf is not None and leaf.kind == "string":
            delta = event.delta or ""
            if self._watch is not None:
                leaf.pieces.append(delta)
                if self._watch.due(len(delta)):
                    self._look(leaf)
            if self._held:
                return
        self._emit(event)

    def _look(self, node: Node) -> None:
        """Is the string still one that can be right?"""
        assert self._watch is not None
        node.pieces[:] = ["".join(node.pieces)]
        prefix = self._watch.failed(node.pieces[0])
        if prefix is not None:
            self._watch = None
            errors = node.shape.facts(prefix).errors if node.shape.facts is not None else ()
            if errors:
                self.tree.fail(node, errors, prefix)

    def _done(self, event: StreamingData) -> None:
        tree = self.tree
        field = field_of(event)
        if field[KIND] in CONTAINERS:
            if not self._align(field):
                tree.close_unopened(field, event.value)
                self._emit(event)
                return
            node: Node = tree.chain[-1]
        elif tree.leaf is not None:
            node = tree.leaf
            node.field = field
        else:  # it fits, so it was left out
            self._emit(event)
            return
        if self._watch is not None:
            self._look(node)
            self._watch = None
        if self._held:
            # For the caller its pieces are one delta.
            self._held = False
            if self._starts:
                self._emit(make_event(field, "start", None, None))
            if event.value:
                self._emit(make_event(field, "delta", event.value, len(field[LIVE])))
        self._exact = None
        tree.close(node, event.value)
        self._emit(event)
        while self._buffers and self._buffers[-1].node is node:
            self._release()

    def _reset(self, event: StreamingData) -> None:
        parts = event.parts
        if parts:
            self._align(field_of(event))
        self.tree.reset(parts)
        self._forget()
        self._inners = [inner for inner in self._inners if inner.node.parts[: len(parts)] != parts]
        self._buffers = [buffer for buffer in self._buffers if buffer.node.parts[: len(parts)] != parts]
        if not parts:
            self._root = None
            self._late = []
        self._emit(event)

    def _cut(self, event: StreamingData) -> None:
        # What was kept back is not final, so it is not shown; that it was open is told.
        self._buffers = []
        self._forget()
        self._emit(event)

    def _forget(self) -> None:
        self._watch = self._exact = None
        self._held = False

    def finish(self) -> None:
        """No other document comes: what was found when the last one closed counts."""
        self.invalid.extend(self._late)
        self._late = []

    def partial(self) -> Any:
        """The partial instance of the output now. None: nothing can be shown yet."""
        tree = self.tree
        if tree.value is not HIDDEN:
            return tree.value
        leaf = tree.leaf
        if leaf is not None and leaf.field is None:  # a copy was made inside the string
            leaf.field = (self._inners[-1].machine if self._inners else self._machine).leaf
        if self._guided:
            tree.leaf = self._catch_up()
        shown = tree.snapshot()
        tree.leaf = leaf
        return None if shown is HIDDEN else shown

    def _catch_up(self) -> Node | None:
        """Give the tree the values that the machine left out. Returns the open leaf."""
        machine, tree = self._machine, self.tree
        leaf = tree.leaf
        if not self._inners:  # what is inside a string comes here as it is
            self._align(machine.next_field())
        if not machine.depth:
            return leaf
        opened = machine.opened()
        if machine.hole:
            opened[-1] = {key: value for key, value in opened[-1].items() if key != machine.key}
        if self._inners and machine.in_object:
            opened[-1] = {**opened[-1], machine.key: None}  # what is inside the open string may be whole already
        for node, raw in zip(tree.chain[self._base :], opened, strict=False):
            node.raw = raw
        if leaf is None and not self._inners and machine.string_is_open():
            parent, field = tree.chain[-1], machine.leaf
            leaf = Node(parent, field[KEY], "string", parent.shape.child(field[KEY]) or ANYTHING, True)
            leaf.field = field
        return leaf

    def take_invalid(self) -> list[Invalid]:
        """What did not fit since the last call."""
        found, self.invalid = self.invalid, []
        return found

    def fits(self, value: Any) -> bool:
        """Whether a document looks like what is wanted."""
        return fits(self.output.shape, value)

    def may_begin(self, text: str) -> bool | None:
        """Whether a document that begins like `text` may look like it. None: it is too early to say."""
        return may_begin(self.output.shape, text)

    # ------------------------------------------------------------------------------------------------------------------
    # holding

    def _emit(self, event: StreamingData) -> None:
        if not self._buffers:
            self._out.append(event)
            return
        buffer = self._buffers[-1]
        buffer.events.append(event)
        if buffer.waits is not None and event.event_type != "start":
            depth = len(buffer.node.parts)
            parts = event.parts
            if len(parts) > depth:
                buffer.waits = [keys for keys in buffer.waits if parts[depth] not in keys]
                if not buffer.waits:
                    self._release()

    def _release(self) -> None:
        """Show the innermost kept events (to the buffer below, if there is one)."""
        events = self._buffers.pop().events
        for event in events:
            self._emit(event)

    # ------------------------------------------------------------------------------------------------------------------
    # double encoding

    def _inner(self, event: StreamingData, node: Node, level: int) -> _Inner:
        field = field_of(event)
        dialect = self._inner_dialect
        machine = Machine(
            dialect,
            self._limits,
            tolerance=tolerance_for(dialect.tolerances),
            solo=True,
            number=self._number,
            surrogates=self._surrogates,
            starts=True,
            source=event.source,
            path_style=field[ORIGIN][1],
        )
        machine.begin(field[PARENT], field[KEY])
        if level == 0:
            return _Inner(field, node, machine, self._machine, self._base, offset_of(event))
        outer = self._inners[level - 1]
        return _Inner(field, node, machine, outer.machine, len(outer.node.parts), outer.offset)

    def _inside(self, event: StreamingData, level: int) -> None:
        """An event of a string that may hold JSON."""
        inner = self._inners[level]
        kind = event.event_type
        if kind == "delta":
            inner.deltas += 1
            delta = event.delta or ""
            if not inner.started:
                delta = delta.lstrip(_SPACE)
                if not delta:
                    return
                if not (
                    (delta[0] == "{" and "object" in inner.node.shape.kinds)
                    or (delta[0] == "[" and "array" in inner.node.shape.kinds)
                ):
                    self._give_up(level, event.value, early=True)
                    return
                inner.started = True
                self.tree.leaf = None
            self._pass_on(inner.machine.read(delta), level)
            if inner.machine.error is not None:
                self._give_up(level, event.value, early=True)
        elif kind == "done":
            if inner.started:
                self._pass_on(inner.machine.finish(), level)
            if inner.started and inner.machine.closed:
                self._replace(level, event)
            else:
                self._give_up(level, event.value)
                self._take(event, level)
        elif inner.started:
            self._pass_on(inner.machine.finish(), level)
            self._replace(level, None)
        else:
            del self._inners[level:]
            self._take(event, level)

    def _pass_on(self, events: list[StreamingData], level: int) -> None:
        for event in events:
            self._take(event, level + 1)

    def _give_up(self, level: int, text: str, *, early: bool = False) -> None:
        """It is no JSON: the string comes as it is; `text` is what was read of it so far. `early`: it is still open."""
        inner = self._inners[level]
        del self._inners[level:]
        parts = inner.node.parts
        if inner.started:
            # Some of it looked like JSON, and was sent.
            self._reset(make_event(inner.field, "reset", None, None))
        del self.tree.chain[len(parts) :]
        node = self.tree.open(inner.node.part, "string", inner.field)
        if self._starts:
            self._emit(make_event(inner.field, "start", None, None))
        if early and node.live:
            self.tree.refuse(node)
        if text:
            self._emit(make_event(inner.field, "delta", text, inner.deltas))

    def _root_at(self, event: StreamingData) -> Any:
        """The root of the document that `event`, of those that are taken now, belongs to.

        It may be closed already, and the machine in another document: one text may hold several.
        """
        if self._roots is None:
            self._roots = {}
            root: Any = _NO_ROOT
            for one in reversed(self._batch):
                if one.is_complete:
                    above = field_of(one)[PARENT]
                    if above is None or (self._base and above[PARENT] is None):
                        root = one.value
                    self._roots[id(one)] = root
        root = self._roots.get(id(event), _NO_ROOT)
        return self._machine.tree(None) if root is _NO_ROOT else root

    def _replace(self, level: int, event: StreamingData | None) -> None:
        """Put what was inside in the place of the string that `event` closed. None: the string was cut."""
        inner = self._inners[level]
        del self._inners[level:]
        value = self._patched(inner.machine, inner.machine.tree(None))
        steps = inner.node.parts[inner.base :]
        self._note(inner)
        if event is None:
            # The machine writes an open string anew each time its tree is asked for.
            self._cuts.append((inner.owner, steps, value))
        elif not steps:
            self._root = (event.value, value)
        else:
            text = event.value
            target = self.root(self._root_at(event) if inner.owner is self._machine else inner.owner.tree(None))
            for part in steps[:-1]:
                target = target[part]
            # A key that came again may have another value by now.
            if target[steps[-1]] is text or target[steps[-1]] == text:
                target[steps[-1]] = value

    def _patched(self, machine: Machine, value: Any) -> Any:
        for owner, steps, item in self._cuts:
            if owner is machine:
                value = _put(value, steps, item)
        return value

    def _note(self, inner: _Inner) -> None:
        path = format_path(inner.node.parts)
        at = inner.offset
        self.diagnostics.append(Diagnostic("double_encoded", DIAGNOSTIC_CODES["double_encoded"], at, 0, 0, path))
        # Places inside the string are of no use to a reader of the text: the string's own is given.
        self.diagnostics.extend(item._replace(offset=at, line=0, column=0) for item in inner.machine.diagnostics)

    # ------------------------------------------------------------------------------------------------------------------
    # the tree

    def root(self, value: Any) -> Any:
        """The data, of what the machine's `tree` gives: strings that were opened are replaced."""
        if self._root is not None and value is self._root[0]:
            return self._root[1]
        return self._patched(self._machine, value) if self._cuts else value

    def overlay(self, value: Any) -> Any:
        """`value` - a copy of the machine's tree that may be changed - with what is inside the string that is being
        read now.
        """
        found: Any = None
        steps: Parts = ()
        for inner in reversed(self._inners):
            if inner.started:
                opened = inner.machine.snapshot(None)
                found = opened if found is None else _put(opened, steps, found)
                steps = inner.node.parts[inner.base :]
        return self.root(value) if found is None else _put(value, steps, found)

    def open_paths(self, paths: list[str]) -> list[str]:
        """The machine's open paths, with those inside the string that is being read now, innermost first."""
        for inner in self._inners:
            if inner.started:
                paths = [*inner.machine.open_paths[:-1], *paths]
        return paths

    def __getstate__(self) -> dict[str, Any]:
        # Fields are found again by the machine, as other lists.
        return {**self.__dict__, "_out": []}


def _put(value: Any, steps: Parts, item: Any) -> Any:
    if not steps:
        return item
    target = value
    for part in steps[:-1]:
        target = target[part]
    target[steps[-1]] = item
    return value
