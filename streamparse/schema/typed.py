"""TypedTree: the document's values as their types, built from the events as they come.

Rules. A value is checked once, when it closes, and never before. A container is made from its typed children; where
that is not possible (code of the model's runs first, a union that only the whole value decides) it is checked whole,
and its children are not checked on their own. Only the open values - one chain from the root - are kept as nodes: what
is closed is its typed value, so a snapshot costs what the open chain costs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from ..errors import SchemaError
from ..paths import Part, Parts, format_path
from .partial import HIDDEN, present, wrap_roots
from .shape import ANYTHING, CONTAINERS, Checked, ErrorDetails, Kind, Property, Shape, Tag, many

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
    """How many events of this document were given out before it: it belongs between that one and the next."""

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


_NOTHING: dict[str, Any] = {}


class Node:
    """One open value, at `part` of `parent`."""

    __slots__ = ("failed", "hold", "kind", "live", "parent", "part", "pieces", "shape", "whole")

    def __init__(self, parent: Container | None, part: Part, kind: Kind, shape: Shape, live: bool) -> None:
        self.parent = parent
        self.part = part
        self.kind: Kind = kind
        if shape.options:
            shape = shape.resolve(kind)
        self.shape = shape
        self.hold = shape.hold and kind in shape.kinds
        """It is shown only when it is closed."""
        self.live = live
        """This value is checked on its own."""
        self.pieces: list[str] = []
        self.failed = False
        """The value itself was reported before it closed."""
        self.whole = False
        """It turned out that only the whole value can be checked."""

    @property
    def parts(self) -> Parts:
        """The path."""
        found: list[Part] = []
        node = self
        while node.parent is not None:
            found.append(node.part)
            node = node.parent
        found.reverse()
        return tuple(found)

    def shown(self, inner: Any = HIDDEN, part: Part | None = None) -> Any:
        """The open value as it can be shown, with its open member `inner`."""
        if self.hold or self.kind != "string" or "string" not in self.shape.plain:
            return HIDDEN
        return wrap_roots(self.shape, self.text())

    def text(self) -> str:
        """The string so far."""
        if len(self.pieces) > 1:
            self.pieces[:] = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    def __getstate__(self) -> dict[str, Any]:
        # Shapes hold validators and do not pickle: `TypedTree` finds them again.
        names = [*Node.__slots__, *(Container.__slots__ if isinstance(self, Container) else ())]
        return {name: getattr(self, name) for name in names if name != "shape"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    def relink(self, shape: Shape | None) -> None:
        """Find the shape again after unpickling; `shape` is what the parent has at this part."""
        self.shape = (shape or ANYTHING).resolve(self.kind)


class Container(Node):
    """An open object or array."""

    __slots__ = ("bad", "candidate", "chosen", "defaults", "given", "settled", "simple", "values", "waiting")

    def __init__(self, parent: Container | None, part: Part, kind: Kind, shape: Shape, live: bool) -> None:
        Node.__init__(self, parent, part, kind, shape, live)
        self.values: Any = {} if kind == "object" else []
        """The closed members that can be shown: typed, or as they are."""
        self.bad = False
        """A member did not fit."""
        self.waiting: tuple[tuple[Node, Any], ...] = ()
        """Closed members whose check has to wait: for the discriminator, or for fields defined before them."""
        self.given: dict[str, Any] = _NOTHING
        self.settled: frozenset[str] = frozenset()
        """Of the fields that came: the typed values by name, and all their names."""
        self.defaults: dict[str, Any] | None = None
        self.candidate: int | None = None
        """Of a union that is not decided: the alternative it is shown as."""
        self.chosen: Any = None
        """The discriminator's value, once there is one."""
        self.simple = False
        """Nothing but the check of a member itself is to be done when it closes."""
        self.simplify()

    def simplify(self) -> None:
        """Find `simple`, after a change."""
        members = self.shape.members
        self.simple = self.composing and (members is None or not members.get().needs_context)

    @property
    def composing(self) -> bool:
        """Members are checked on their own."""
        return self.live and not self.whole and not self.failed and self.shape.compose is not None

    @property
    def undecided(self) -> Tag | None:
        """The discriminator that is waited for."""
        return self.shape.tag if self.live and not self.failed else None

    def property(self, part: Part) -> Property | None:
        """The field that a key fills."""
        if self.shape.members is None or not isinstance(part, str):
            return None
        return self.shape.members.get().by_key.get(part)

    def keep(self, part: Part, value: Any) -> None:
        """Add the next member, which fits."""
        if self.kind == "object":
            self.values[part] = value
        else:
            self.values.append(value)

    def store(self, part: Part, value: Any) -> None:
        """Keep a closed member. `HIDDEN`, it cannot be shown, is None: not a default, for something did come."""
        shown = None if value is HIDDEN else value
        if isinstance(part, str) or part < len(self.values):
            self.values[part] = shown
        else:
            self.values.append(shown)

    def shown(self, inner: Any = HIDDEN, part: Part | None = None) -> Any:
        """The open value as it can be shown, with its open member `inner`."""
        if self.hold:
            return HIDDEN
        if self.kind == "array":
            items = list(self.values)
            if inner is not HIDDEN:
                items.append(inner)
            return wrap_roots(self.shape, items)
        values: dict[Any, Any] = self.values
        if inner is not HIDDEN:
            values = {**values, part: inner}
        shape = self.shape
        if shape.options:
            fitting = _candidates(shape, values)
            if len(fitting) == 1:
                self.candidate = fitting[0]
            if self.candidate is None:
                return HIDDEN
            shape = shape.options[self.candidate]
        if self.defaults is None:
            self.defaults = {}
        shown = present(shape, values, self.defaults, part if inner is HIDDEN else None)
        return shown if shown is HIDDEN else wrap_roots(self.shape, shown)

    def relink(self, shape: Shape | None) -> None:
        """As for a node; a discriminator that was read counts again."""
        super().relink(shape)
        while self.chosen is not None and self.shape.tag is not None:
            self.shape = (self.shape.choose(self.chosen) or ANYTHING).resolve(self.kind)


def _candidates(shape: Shape, values: dict[str, Any]) -> list[int]:
    """The alternatives of a union that have all the keys so far."""
    return [
        index
        for index, option in enumerate(shape.options)
        if option.members is not None and all(option.members.get().knows(key) for key in values)
    ]


class TypedTree:
    """Follows the events of one document.

    `feed(event)` takes public events; one who has the `start` events too may call `open` and `close` instead. What did
    not fit is appended to `invalid`; the owner takes it from there. `check=False` builds without checking anything:
    values are shown as they are. `documents_all`: the root is a list of documents.
    """

    def __init__(self, output: Output, *, check: bool = True, documents_all: bool = False) -> None:
        self.output = output
        self.documents_all = documents_all
        self.shape = many(output.shape) if documents_all else output.shape
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
        self._path: str | None = None
        self._defaults: dict[str, Any] = {}

    def feed(self, event: StreamingData) -> None:
        """Take one event."""
        kind = event.event_type
        if kind == "delta":
            leaf = self.leaf
            path = event.path
            if leaf is None or path != self._path:
                leaf = self.reach(event.parts, event.kind)
                self._path = path
            if leaf.kind == "string":
                leaf.pieces.append(cast("str", event.delta))
        elif kind == "done":
            parts = event.parts
            if event.kind in CONTAINERS:
                node = self.reach(parts, event.kind) if len(self.chain) <= len(parts) else self.chain[-1]
            else:
                leaf = self.leaf
                node = leaf if leaf is not None and event.path == self._path else self.reach(parts, event.kind)
            self.close(node, event.value)
        elif kind == "start":
            self.reach(event.parts, event.kind)
            self._path = event.path
        elif kind == "reset":
            self.reset(event.parts)

    def reach(self, parts: Parts, kind: Kind) -> Node:
        """A value begins at `parts`. Containers round it that were not announced are opened too."""
        for depth in range(len(self.chain), len(parts)):
            self.open(parts[depth - 1] if depth else "", "array" if isinstance(parts[depth], int) else "object")
        return self.open(parts[-1] if parts else "", kind)

    def open(self, part: Part, kind: Kind) -> Node:
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
                parent.bad = True
                node.live = False
        if isinstance(node, Container):
            self.chain.append(node)
            self.leaf = None
        else:
            self.leaf = node
        # A string in a container's place may hold that container as text: only its end tells.
        if node.live and kind not in node.shape.kinds and not (kind == "string" and node.shape.kinds & CONTAINERS):
            self._wrong_kind(node)
        return node

    def _wrong_kind(self, node: Node) -> None:
        """A value of a kind that cannot be right. The check has the last word: it may take more than the shape says."""
        samples: dict[Kind, Any] = {"string": "", "number": 0, "boolean": True, "null": None, "object": {}, "array": []}
        sample = samples[node.kind]
        errors = node.shape.check(sample).errors
        if errors:
            self.fail(node, errors, sample)

    def fail(self, node: Node, errors: tuple[ErrorDetails, ...], value: Any) -> None:
        """Report an open value that can no longer be right."""
        node.failed = True
        if isinstance(node, Container):
            node.simplify()
        self.report(node.parts, errors, value, early=True)

    def close(self, node: Node, value: Any) -> None:
        """An open value (the leaf, else the innermost container) is final."""
        self.leaf = None
        self._path = None
        parent = node.parent
        if isinstance(node, Container):
            self.chain.pop()
        elif parent is not None and parent.simple and type(value) is node.shape.exact and node.live and not node.failed:
            parent.keep(node.part, value)
            return
        node.hold = False
        if parent is not None:
            self._settle(parent, node, value)
        else:
            self._close_root(node, value)

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
            parent.bad = True
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
            again.pieces = node.pieces
            if isinstance(node, Container) and isinstance(again, Container):
                again.values = node.values
            if again.live and parent.shape.forbids(node.part):
                again.live = False  # the parent's own check reports it
            self._settle(parent, again, raw)

    def _judge(self, node: Node, value: Any, context: tuple[str, dict[str, Any]] | None) -> Checked:
        if node.failed:
            return Checked(None, ({"type": "reported"},))
        shape = node.shape
        if not isinstance(node, Container) or node.waiting or node.whole or shape.compose is None:
            checked = shape.check(value, context)
        elif node.bad:
            # Its own validators must not see it. What is wrong with its keys can still be told.
            errors = shape.structure(value).errors if shape.structure is not None else ()
            self.report(node.parts, errors, value)
            return Checked(None, ({"type": "reported"},))
        else:
            checked = shape.compose(node.values, context)
            if checked.whole:
                checked = shape.check(value, context)
        if checked.errors:
            self.report(node.parts, checked.errors, value)
        return checked

    def _whole(self, node: Node, value: Any) -> Checked:
        return Checked(None, ({"type": "reported"},)) if node.failed else node.shape.check(value)

    def _as_it_is(self, node: Node, value: Any) -> Any:
        """How a closed value that has no typed value is shown."""
        if isinstance(node, Container):
            return node.shown()
        return value if node.kind in node.shape.plain and not node.shape.roots else HIDDEN

    def report(self, parts: Parts, errors: tuple[ErrorDetails, ...], value: Any, *, early: bool = False) -> None:
        """Add what is new in `errors` (their `loc` counted from `parts`) to `invalid`."""
        groups: dict[Parts, list[ErrorDetails]] = {}
        for error in errors:
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
        self._path = None
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
        # Whether another member did not fit is not known any more: check the container whole, then.
        parent.whole = parent.whole or parent.bad
        parent.bad = False
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
        return {name: value for name, value in self.__dict__.items() if name != "shape"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.shape = many(self.output.shape) if self.documents_all else self.output.shape
        above: Node | None = None
        for node in [*self.chain, *([self.leaf] if self.leaf is not None else [])]:
            node.relink(self.shape if above is None else above.shape.child(node.part))
            for waiting, _ in node.waiting if isinstance(node, Container) else ():
                waiting.relink(node.shape.child(waiting.part))
            above = node


def _before(fields: tuple[Property, ...], name: str, prop: Property) -> bool:
    return any(field.name == name and field.index < prop.index for field in fields)
