"""Node and Container: the values of a document that are open, with what is closed inside them.

Only the open values - one chain from the root - are nodes. What is closed is its typed value in its container.
"""

from __future__ import annotations

from typing import Any

from ..fields import LIVE, Field
from ..paths import Part, Parts
from .partial import HIDDEN, present, wrap_roots
from .shape import ANYTHING, Kind, Property, Shape, Tag, is_array, is_object

_NOTHING: dict[str, Any] = {}


class _Gap:
    """Stands for a member that was left out."""

    def __reduce__(self) -> str:
        return "_GAP"


_GAP = _Gap()


class Node:
    """One open value, at `part` of `parent`."""

    __slots__ = ("failed", "field", "hold", "kind", "live", "parent", "part", "pieces", "shape", "whole")

    def __init__(self, parent: Container | None, part: Part, kind: Kind, shape: Shape, live: bool) -> None:
        self.parent = parent
        self.part = part
        self.field: Field | None = None
        """The field of its events, where it is known."""
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
        if self.field is not None and self.field[LIVE] is not None:
            return "".join(self.field[LIVE])
        if len(self.pieces) > 1:
            self.pieces[:] = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    def __getstate__(self) -> dict[str, Any]:
        # Shapes hold validators and do not pickle: `TypedTree` finds them again.
        # Fields and raw values are the machine's, which makes them anew.
        names = [*Node.__slots__, *(Container.__slots__ if isinstance(self, Container) else ())]
        return {name: getattr(self, name) for name in names if name not in ("shape", "field", "raw")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.field = None
        if isinstance(self, Container):
            self.raw = None
        for name, value in state.items():
            setattr(self, name, value)

    def relink(self, shape: Shape | None) -> None:
        """Find the shape again after unpickling; `shape` is what the parent has at this part."""
        self.shape = (shape or ANYTHING).resolve(self.kind)


class Container(Node):
    """An open object or array."""

    __slots__ = (
        "bad", "candidate", "chosen", "defaults", "gaps", "given", "mixed", "raw", "settled", "simple", "values",
        "waiting",
    )  # fmt: skip

    def __init__(self, parent: Container | None, part: Part, kind: Kind, shape: Shape, live: bool) -> None:
        Node.__init__(self, parent, part, kind, shape, live)
        self.values: Any = {} if kind == "object" else []
        """The closed members that can be shown: typed, or as they are. Members may be left out."""
        self.mixed = False
        """There are members in `values` that another check of the whole must not see again."""
        self.gaps = False
        """Members of an array that were left out stand before others that were not."""
        self.raw: Any = None
        """The container as it is read now, for a snapshot, where members are left out."""
        self.bad: set[Part] | None = None
        """The members that did not fit."""
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

    def spoil(self, part: Part) -> None:
        """Note that a member did not fit."""
        if self.bad is None:
            self.bad = set()
        self.bad.add(part)

    def keep(self, part: Part, value: Any) -> None:
        """Add the next member, which fits."""
        values = self.values
        if isinstance(part, str) or part < len(values):
            values[part] = value
            return
        if part > len(values):
            values.extend([_GAP] * (part - len(values)))
            self.gaps = True
        values.append(value)

    def store(self, part: Part, value: Any) -> None:
        """Keep a closed member. `HIDDEN`, it cannot be shown, is None: not a default, for something did come."""
        self.keep(part, None if value is HIDDEN else value)

    def made(self, part: Part, raw: Any) -> Any:
        """A member that was left out, as its type."""
        kind: Kind | None = "object" if is_object(raw) else "array" if is_array(raw) else None
        shape = self.shape.child(part) if kind is not None else None
        at_once = shape.resolve(kind).at_once if shape is not None and kind is not None else None
        try:
            return raw if at_once is None else at_once.validate(raw)
        except Exception:  # noqa: BLE001  # it fits, but lies too deep for pydantic
            return raw

    def filled(self, raw: Any) -> Any:
        """`values`, with those members of the closed container `raw` that were left out."""
        if raw is not None:
            self.fill(raw, None, len(raw))
        return self.values

    def fill(self, raw: Any, part: Part | None, end: int) -> None:
        """Add what was left out of `raw`: of an array the first `end` items, of an object all but the open `part`."""
        values = self.values
        if self.kind == "array":
            if self.gaps:
                values[:] = [self.made(at, raw[at]) if value is _GAP else value for at, value in enumerate(values)]
                self.gaps = False
            for at in range(len(values), end):
                values.append(self.made(at, raw[at]))
        elif len(values) < end:
            for key, value in raw.items():
                if key != part and key not in values:
                    values[key] = self.made(key, value)

    def shown(self, inner: Any = HIDDEN, part: Part | None = None) -> Any:
        """The open value as it can be shown, with its open member `inner` at `part`."""
        if self.hold:
            return HIDDEN
        if self.raw is not None:
            self.fill(self.raw, part, part if isinstance(part, int) else len(self.raw))
        if self.kind == "array":
            items = list(self.values)
            if inner is not HIDDEN:
                items.append(inner)
            return wrap_roots(self.shape, items) if self.shape.roots else items
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
        return wrap_roots(self.shape, shown) if self.shape.roots and shown is not HIDDEN else shown

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
