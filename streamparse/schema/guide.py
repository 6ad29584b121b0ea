"""Guide: what the machine may pass by without telling the schema stage.

Most values of an answer are plain: text where text is wanted, a number where a number is. Nothing has to be done for
them, so a guide says where they stand, and the machine looks there when a value begins:

    place  = {kind: entry}                 what may stand at one place, by JSON kind; what is not there is told
    entry  = the exact Python type         of a scalar: a value of this type fits as it is. True: any
           | (members, rest, sure, needed) of a container: the places of its keys (or indexes), the place of all others,
                                           whether it fits by all that, and the keys that must be there. A container
                                           that may not fit, and one with a member that was told, is told at its end

Nothing here is a class: the compiled machine reads it with one look into a dict.
"""

from __future__ import annotations

from typing import Any, Final

from ..paths import Part
from .shape import CONTAINERS, Kind, Shape, accept

Place = dict[str, Any]
Entry = tuple[dict[Part, Place], Place, bool, tuple[str, ...]]

_KIND_TYPES: Final[dict[type, str]] = {str: "string", int: "number", float: "number", bool: "boolean"}
_MOST: Final = 2000  # containers that one guide describes: what lies beyond is told

ANYWHERE: Final[Place] = {"string": True, "number": True, "boolean": True, "null": True}
"""The place where anything may stand."""
ANYWHERE["object"] = ANYWHERE["array"] = ({}, ANYWHERE, True, ())


def guide_of(shape: Shape) -> Place:
    """The place of a document of this shape."""
    made: dict[tuple[int, Kind], tuple[Entry, Shape]] = {}  # the shape is kept, so that its id stays its own
    work: list[tuple[Shape, Kind, Entry]] = []

    def place(shape: Shape) -> Place:
        found: Place = {}
        for kind in shape.kinds:
            one = shape.resolve(kind)
            if one.options or one.must or (one.hold and (kind == "string" or kind in CONTAINERS)):
                continue  # a number, a boolean and null come whole anyway
            if kind not in CONTAINERS:
                if one.check is accept:
                    found[kind] = True
                elif one.exact is not None and _KIND_TYPES[one.exact] == kind:
                    found[kind] = one.exact
            elif _is_plain(one):
                known = made.get((id(one), kind))
                if known is not None:
                    found[kind] = known[0]
                elif len(made) < _MOST:
                    needed = _needed(one) if kind == "object" else ()
                    entry: Entry = ({}, {}, one.sure and needed is not None, needed or ())
                    found[kind] = entry
                    made[id(one), kind] = (entry, one)
                    work.append((one, kind, entry))
        return found

    # A document that is no container is told: nothing round it tells of its end.
    root: Place = {kind: entry for kind, entry in place(shape).items() if kind in CONTAINERS}
    while work:
        one, kind, (members, rest, _, _) = work.pop()
        if kind == "object" and one.members is not None:
            inside = one.members.get()
            members.update({key: place(prop.shape) for key, prop in inside.by_key.items()})
            if not inside.patterns and not inside.forbid_extra:
                rest.update(ANYWHERE if inside.extra is None else place(inside.extra))
        elif kind == "array" and one.items is not None:
            items = one.items.get()
            members.update({index: place(item) for index, item in enumerate(items.prefix)})
            if not items.closed:
                rest.update(ANYWHERE if items.rest is None else place(items.rest))
        else:
            rest.update(ANYWHERE)
    return root


def _is_plain(shape: Shape) -> bool:
    """Whether the members of a container are checked on their own, and nothing else is to be done for it."""
    if shape.compose is None or shape.tag is not None:
        return False
    members = shape.members.get() if shape.members is not None else None
    return members is None or (not members.must and not members.needs_context)


def _needed(shape: Shape) -> tuple[str, ...] | None:
    """The keys that must be there, so that nothing but types is to be looked at. None: it is not that simple."""
    if shape.members is None:
        return ()
    needed = [prop for prop in shape.members.get().fields if prop.required or prop.default.factory is not None]
    return None if any(len(prop.keys) != 1 for prop in needed) else tuple(prop.keys[0] for prop in needed)
