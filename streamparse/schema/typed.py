"""TypedTree: the document's values as their types, built from the events as they come.

Rules. A value is checked once, when it closes, and never before. A container is made from its typed children; where
that is not possible (code of the model's runs first, a union that only the whole value decides) it is checked whole,
and its children are not checked on their own. Only the open values - one chain from the root - are kept as nodes: what
is closed is its typed value, so a snapshot costs what the open chain costs.

Who leads the tree by `open` and `close` may leave out members that are sure to fit (see `guide`): their values are
taken from the container itself, when somebody looks or when it closes. What a check gave is noted on the field of its
event, so that another tree that follows the same events does not run it again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from ..errors import SchemaError
from ..fields import KEY, KIND, Field, path_of
from ..paths import Part, Parts, format_path
from .nodes import Container, Node
from .partial import HIDDEN, make_default, present, wrap_roots
from .shape import ANYTHING, CONTAINERS, Checked, ErrorDetails, Kind, Property

if TYPE_CHECKING:
    from ..implementation import StreamingData
    from .spec import Output


@dataclass(frozen=True, slots=True)
class Invalid:
    """A value that does not fit the output specification.

    `errors` are pydantic's error details (`type`, `loc`, `msg`, `input`, `ctx`), `loc` counted from the root of the
    document. `value` is what did not fit: of an `early` report the text so far, up to the character that made it wrong.
    """

    path: str
    parts: Parts
    errors: tuple[ErrorDetails, ...]
    value: Any
    early: bool = False
    after: int = field(default=0, compare=False)
    """How many of the events that the same `feed` returned come before it."""

    @property
    def message(self) -> str:
        """What is wrong, in words."""
        return "; ".join(error["msg"] for error in self.errors)

    def to_error(self) -> SchemaError:
        """The error to raise for it (code `invalid_value`)."""
        return SchemaError(
            f"{self.path or 'the answer'}: {self.message}", code="invalid_value", path=self.path, errors=self.errors
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for `json.dumps` as far as the document's own values are."""
        errors = [
            {
                **error,
                "loc": list(error["loc"]),
                **({"ctx": {k: str(v) for k, v in error["ctx"].items()}} if "ctx" in error else {}),
            }
            for error in self.errors
        ]
        return {
            "path": self.path,
            "parts": list(self.parts),
            "errors": errors,
            "value": self.value,
            "early": self.early,
        }


_NOTED = 7
"""Where a field has what its check gave: the output specification, then the typed value, or a `Checked` with errors."""


def noted(field: Field | None, output: Output) -> Checked | None:
    """What the check of the value at `field` gave, as `output`, where it ran already."""
    if field is None or len(field) <= _NOTED or field[_NOTED] is not output:
        return None
    found = field[_NOTED + 1]
    return found if isinstance(found, Checked) else Checked(found)


def field_of(event: StreamingData) -> Field:
    """The field of an event: what the events of one value share."""
    return event._field  # type: ignore[attr-defined,no-any-return,unused-ignore]  # pyright: ignore[reportPrivateUsage]


_REPORTED: ErrorDetails = {"type": "reported", "loc": ()}
"""Stands for errors that were told already."""


class TypedTree:
    """Follows the events of one document.

    `feed(event)` takes public events; one who has the `start` events too may call `open` and `close` instead. What did
    not fit is appended to `invalid`; the owner takes it from there. `check=False` builds without checking anything:
    values are shown as they are.
    """

    def __init__(self, output: Output, *, check: bool = True) -> None:
        self.output = output
        self.shape = output.shape
        self.checking = check
        self.chain: list[Container] = []
        """The open containers, outermost first."""
        self.leaf: Node | None = None
        """The open value that is no container."""
        self.invalid: list[Invalid] = []
        self.value: Any = HIDDEN
        """The root's value once it is closed."""
        self.valid = False
        """True once the root is closed and everything fitted."""
        self._reported: set[Parts] = set()
        self._last: Field | None = None  # the field of the open leaf, where it came by `feed`
        self._defaults: dict[str, Any] = {}

    def feed(self, event: StreamingData) -> None:
        """Take one event."""
        kind = event.event_type
        field = field_of(event)
        leaf = self.leaf
        if kind == "delta":
            if leaf is None or not self._is_last(field, event):
                leaf = self.reach(event.parts, field[KIND])
                self._last = field
            if leaf.kind == "string":
                leaf.pieces.append(cast("str", event.delta))
        elif kind == "done":
            if field[KIND] not in CONTAINERS:
                node = (
                    leaf if leaf is not None and self._is_last(field, event) else self.reach(event.parts, field[KIND])
                )
            else:
                parts = event.parts
                node = self.reach(parts, field[KIND]) if len(self.chain) <= len(parts) else self.chain[-1]
            node.field = field
            self.close(node, event.value)
        elif kind == "start":
            self.reach(event.parts, field[KIND])
            self._last = field
        elif kind == "reset":
            self.reset(event.parts)

    def _is_last(self, field: Field, event: StreamingData) -> bool:
        """Whether the open leaf is the one of this event."""
        # Events that come over a wire have a field each.
        return field is self._last or (self._last is not None and path_of(self._last) == event.path)

    def reach(self, parts: Parts, kind: Kind) -> Node:
        """A value begins at `parts`. Containers round it that were not announced are opened too."""
        for depth in range(len(self.chain), len(parts)):
            self.open(parts[depth - 1] if depth else "", "array" if isinstance(parts[depth], int) else "object")
        return self.open(parts[-1] if parts else "", kind)

    def open(self, part: Part, kind: Kind, field: Field | None = None) -> Node:
        """A value begins, at `part` of the innermost open container (of a document: at its root)."""
        make = Container if kind in CONTAINERS else Node
        if not self.chain:
            node = make(None, part, kind, self.shape, self.checking)
            if isinstance(node, Container):
                node.defaults = self._defaults
        else:
            parent = self.chain[-1]
            shape = parent.shape.child(part)
            live = parent.simple
            if not live and parent.live:
                tag = parent.undecided
                live = parent.composing or (tag is not None and part in tag.keys)
            node = make(parent, part, kind, shape or ANYTHING, live)
            if shape is None and live and isinstance(part, str) and parent.shape.forbids(part):
                details = {"type": "extra_forbidden", "loc": (), "msg": "Extra inputs are not permitted", "input": None}
                self.report(node.parts, (details,), None, early=True)
                parent.spoil(part)
                node.live = False
        node.field = field
        if isinstance(node, Container):
            self.chain.append(node)
            self.leaf = None
        else:
            self.leaf = node
        # A string in a container's place may hold that container as text: only its end tells.
        if node.live and kind not in node.shape.kinds and not (kind == "string" and node.shape.kinds & CONTAINERS):
            self.refuse(node)
        return node

    def refuse(self, node: Node) -> None:
        """A value of a kind that cannot be right begins. The check has the last word: it may take more than that."""
        samples: dict[Kind, Any] = {"string": "", "number": 0, "boolean": True, "null": None, "object": {}, "array": []}
        sample = samples[node.kind]
        errors = node.shape.check(sample).errors
        if errors:
            self.fail(node, errors, sample)

    def fail(self, node: Node, errors: tuple[ErrorDetails, ...], value: Any) -> None:
        """Report an open value that can no longer be right."""
        node.failed = True
        if node.field is not None:
            node.field += (self.output, Checked(None, errors))
        if isinstance(node, Container):
            node.simplify()
        self.report(node.parts, errors, value, early=True)

    def close(self, node: Node, value: Any) -> None:
        """An open value (the leaf, else the innermost container) is final."""
        self.leaf = None
        self._last = None
        parent = node.parent
        if isinstance(node, Container):
            self.chain.pop()
            node.raw = value
        elif parent is not None and parent.simple and type(value) is node.shape.exact and node.live and not node.failed:
            parent.keep(node.part, value)
            return
        node.hold = False
        if parent is not None:
            parent.mixed = True
            self._settle(parent, node, value)
        else:
            self._close_root(node, value)

    def close_unopened(self, field: Field, value: Any) -> None:
        """A container that was never opened closes: all its members were left out."""
        part: Part = field[KEY]
        kind: Kind = field[KIND]
        parent = self.chain[-1] if self.chain else None
        shape = self.shape if parent is None else parent.shape.child(part) or ANYTHING
        if shape.options:
            shape = shape.resolve(kind)
        at_once = shape.at_once
        if at_once is None:
            checked = shape.check(value) if shape.compose is None else shape.compose(value)
        else:
            try:
                typed = at_once.validate(value)
            except Exception as error:  # noqa: BLE001  # a validator of the user's may raise anything
                checked = at_once.failed(error, value)
            else:
                if parent is None or parent.simple:
                    field += (self.output, typed)
                    if parent is None:
                        self.value, self.valid = typed, True
                    else:
                        parent.keep(part, typed)
                        parent.mixed = parent.mixed or not shape.sure
                    return
                checked = Checked(typed)
        field += (self.output, checked if checked.errors or checked.whole else checked.value)
        self.close(self.open(part if parent is not None else "", kind, field), value)

    def _close_root(self, node: Node, value: Any) -> None:
        checked = self._judge(node, value, None) if node.live else None
        if checked is not None and checked.whole:
            checked = self._whole(node, value)
        self.valid = checked is not None and not checked.errors
        self.value = checked.value if checked is not None and self.valid else self._as_it_is(node, value)

    def _settle(self, parent: Container, node: Node, value: Any) -> None:
        """`node` closed inside `parent`: check it, now or when it can be checked."""
        if parent.simple and node.live:
            self._finish(parent, node, value, None, None)
            return
        part = node.part
        tag = parent.undecided
        if tag is not None:
            parent.store(part, self._as_it_is(node, value))
            parent.waiting += ((node, value),)
            if node.failed:
                parent.failed = True  # its discriminator was reported
            elif part in tag.keys:
                self._decide(parent, part, value)
            return
        if not node.live:
            parent.store(part, self._as_it_is(node, value))
            return
        prop = parent.property(part)
        if prop is not None and prop.needs_context:
            parent.store(part, self._as_it_is(node, value))
            parent.waiting += ((node, value),)
        else:
            self._finish(parent, node, value, prop, None)
        if parent.waiting:
            self._resume(parent)

    def _finish(
        self, parent: Container, node: Node, value: Any, prop: Property | None, context: dict[str, Any] | None
    ) -> None:
        checked = self._judge(node, value, None if context is None or prop is None else (prop.name, context))
        if checked.whole:
            parent.whole = True
            parent.simplify()
        fits = not checked.errors and not checked.whole
        if not fits and not checked.whole:
            parent.spoil(node.part)
        parent.store(node.part, checked.value if fits else self._as_it_is(node, value))
        if prop is not None and parent.shape.members is not None and parent.shape.members.get().needs_context:
            parent.settled |= {prop.name}
            if fits:
                parent.given = {**parent.given, prop.name: checked.value}

    def _resume(self, parent: Container) -> None:
        """Check the waiting members before which, in the order of definition, everything has come."""
        members = parent.shape.members
        if members is None:
            return
        fields = members.get().fields
        ready = True
        while ready and parent.waiting:
            ready = False
            for entry in parent.waiting:
                prop = parent.property(entry[0].part)
                if prop is None or all(field.name in parent.settled for field in fields if field.index < prop.index):
                    parent.waiting = tuple(other for other in parent.waiting if other is not entry)
                    context = {field.name: parent.given[field.name] for field in fields if field.name in parent.given}
                    earlier = {
                        name: item for name, item in context.items() if prop is not None and _before(fields, name, prop)
                    }
                    self._finish(parent, *entry, prop, earlier)
                    ready = True
                    break

    def _resume_all(self, parent: Container) -> None:
        """`parent` closes: the waiting members are checked with the defaults of the fields that did not come.

        Where a default is made by a factory they go on waiting, for it is to run once, when the whole is checked.
        """
        fields = parent.shape.members.get().fields if parent.shape.members is not None else ()
        absent = [field for field in fields if field.name not in parent.settled]
        entries = [(parent.property(node.part), node, value) for node, value in parent.waiting]
        came = {prop.name for prop, _, _ in entries if prop is not None}
        absent = [field for field in absent if field.name not in came]
        if any(not field.required and (not field.default.known or field.default.factory) for field in absent):
            return
        parent.waiting = ()
        parent.given = {
            **parent.given,
            **{field.name: make_default(field.default) for field in absent if field.default.known},
        }
        for prop, node, value in sorted(entries, key=lambda entry: entry[0].index if entry[0] is not None else -1):
            earlier = {
                name: item for name, item in parent.given.items() if prop is not None and _before(fields, name, prop)
            }
            self._finish(parent, node, value, prop, earlier)

    def _decide(self, parent: Container, part: Part, value: Any) -> None:
        """The discriminator is there: from now on `parent` is one alternative, and what came before can be checked."""
        chosen = parent.shape.choose(value)
        if chosen is None:
            checked = parent.shape.check({part: value})
            if checked.errors:
                self.fail(parent, checked.errors, {part: value})
            else:
                parent.whole = True
                parent.shape = parent.shape.but(tag=None)
                parent.simplify()
            return
        parent.shape = chosen.resolve("object")
        parent.chosen = value
        parent.simplify()
        waiting, parent.waiting = parent.waiting, ()
        for node, raw in waiting:
            shape = parent.shape.child(node.part)
            make = Container if isinstance(node, Container) else Node
            again = make(parent, node.part, node.kind, shape or ANYTHING, parent.composing)
            again.whole = True
            again.field = node.field
            again.pieces = node.pieces
            if isinstance(node, Container) and isinstance(again, Container):
                again.values = node.values
            if again.live and parent.shape.forbids(node.part):
                again.live = False  # the parent's own check reports it
            self._settle(parent, again, raw)

    def _judge(self, node: Node, value: Any, context: tuple[str, dict[str, Any]] | None) -> Checked:
        if node.failed:
            return Checked(None, (_REPORTED,))
        checked = noted(node.field, self.output)
        if checked is None:
            checked = self._check(node, value, context)
            if node.field is not None:
                node.field += (self.output, checked if checked.errors or checked.whole else checked.value)
        if checked.errors:
            self.report(node.parts, checked.errors, value)
        return checked

    def _check(self, node: Node, value: Any, context: tuple[str, dict[str, Any]] | None) -> Checked:
        shape = node.shape
        if isinstance(node, Container) and node.waiting and node.composing:
            self._resume_all(node)
        if not isinstance(node, Container) or node.waiting or node.whole or shape.compose is None:
            return shape.check(value, context)
        if node.bad:
            # Its own validators must not see it. What is wrong with its keys can still be told.
            errors = shape.structure(value).errors if shape.structure is not None else ()
            return Checked(None, (*errors, _REPORTED))
        if not node.mixed and shape.at_once is not None and 2 * len(node.values) < len(value):
            return shape.check(value, context)  # nearly all was left out
        checked = shape.compose(node.filled(value), context)
        if checked.whole:
            return shape.check(value, context)
        if checked.errors:
            # As pydantic says it of the data: what was put in is not what was made of it.
            about = ((error, not error["loc"] or error["type"] == "missing") for error in checked.errors)
            return Checked(None, tuple({**error, "input": value} if own else error for error, own in about))
        return checked

    def _whole(self, node: Node, value: Any) -> Checked:
        return Checked(None, (_REPORTED,)) if node.failed else node.shape.check(value)

    def _as_it_is(self, node: Node, value: Any) -> Any:
        """How a closed value that has no typed value is shown."""
        if isinstance(node, Container):
            return node.shown()
        return value if node.kind in node.shape.plain and not node.shape.roots else HIDDEN

    def report(self, parts: Parts, errors: tuple[ErrorDetails, ...], value: Any, *, early: bool = False) -> None:
        """Add what is new in `errors` (their `loc` counted from `parts`) to `invalid`."""
        groups: dict[Parts, list[ErrorDetails]] = {}
        for error in errors:
            if error["type"] == "reported":
                continue
            loc: Parts = (*parts, *error["loc"])
            if any(loc[:length] in self._reported for length in range(len(loc) + 1)):
                continue
            place = loc if error["type"] in ("missing", "extra_forbidden") and len(loc) == len(parts) + 1 else parts
            groups.setdefault(place, []).append({**error, "loc": loc})
        for place, found in groups.items():
            self._reported.add(place)
            self.invalid.append(Invalid(format_path(place), place, tuple(found), value, early))

    def reset(self, parts: Parts) -> None:
        """Forget the value at `parts` and all below it."""
        self.leaf = None
        self._last = None
        self._reported = {place for place in self._reported if place[: len(parts)] != parts}
        if not parts:
            self.chain = []
            self._defaults = {}
            self.value, self.valid = HIDDEN, False
            return
        del self.chain[len(parts) :]
        parent = self.chain[-1]
        part = parts[-1]
        if isinstance(part, str):
            parent.values.pop(part, None)
        else:
            del parent.values[part:]
        parent.waiting = tuple(entry for entry in parent.waiting if entry[0].part != part)
        prop = parent.property(part)
        if prop is not None:
            parent.settled -= {prop.name}
            parent.given = {name: item for name, item in parent.given.items() if name != prop.name}
        if parent.bad is not None:
            parent.bad.discard(part)
        base = (self.shape if parent.parent is None else parent.parent.shape.child(parent.part) or ANYTHING).resolve(
            parent.kind
        )
        if base.tag is not None and part in base.tag.keys:
            # What it was taken for counts no more: the whole decides.
            parent.shape = base.but(tag=None)
            parent.chosen = None
            parent.failed = False
            parent.whole = True
        parent.simplify()

    def snapshot(self) -> Any:
        """The document as it can be shown now; `HIDDEN` where nothing can."""
        if self.value is not HIDDEN:
            return self.value
        shown: Any = HIDDEN
        part: Part | None = None
        if self.leaf is not None:
            shown = self.leaf.shown()
            part = self.leaf.part
        for node in reversed(self.chain):
            shown = node.shown(shown, part)
            part = node.part
        if not self.chain and self.leaf is None and "object" in self.shape.kinds:
            # Nothing came yet: of a model, the instance with its defaults.
            root = self.shape.resolve("object")
            if root.members is not None and root.members.get().model is not None and not root.hold:
                return wrap_roots(root, present(root, {}, self._defaults))
        return shown

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "shape"}
        if self._last is not None:  # a field holds all those round it, and may be deep: its path will do
            state["_last"] = [None, "", self._last[KIND], None, path_of(self._last), None, None]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.shape = self.output.shape
        above: Node | None = None
        for node in [*self.chain, *([self.leaf] if self.leaf is not None else [])]:
            node.relink(self.shape if above is None else above.shape.child(node.part))
            for waiting, _ in node.waiting if isinstance(node, Container) else ():
                waiting.relink(node.shape.child(waiting.part))
            above = node


def _before(fields: tuple[Property, ...], name: str, prop: Property) -> bool:
    return any(field.name == name and field.index < prop.index for field in fields)
