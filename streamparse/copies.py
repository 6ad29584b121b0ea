"""Copies: a machine taken apart for pickle and copy, and put together again.

Most of its state is plain. What is not are the open containers and the open string, which are parts of the tree and
must be found there again; and the tree may be deeper than pickle can follow, so it travels flat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .fields import KEY, KIND, PARENT, Field, field_at, parts_of
from .values import flatten, unflatten

if TYPE_CHECKING:
    from .machine import Machine

_IN_TREE: Final = frozenset(("container", "holder", "leaf", "node"))


def take_apart(machine: Machine) -> tuple[Any, ...]:
    """What `__reduce__` of a machine returns."""
    state = {name: getattr(machine, name) for name in machine.__slots__ if name not in _IN_TREE}
    spine: list[tuple[Any, Any]] = []
    node = machine.node
    for _ in range(machine.depth):
        assert node is not None
        spine.append((node[KEY], node[KIND]))
        node = node[PARENT]
    places: dict[str, Any] = {
        "spine": spine[::-1],
        "base": None if node is None else (parts_of(node), node[KIND]),
        "flat": flatten(machine.holder),
        "leaf": machine.leaf[KEY],
    }
    if not machine.keep_data:
        places["opened"] = machine.opened()
    return (put_together, (type(machine), state, places))


def put_together(machine_type: type[Machine], state: dict[str, Any], places: dict[str, Any]) -> Machine:
    """The machine that `take_apart` took apart: the open containers are found again along the spine of the tree."""
    machine = machine_type.__new__(machine_type)
    for name, value in state.items():
        setattr(machine, name, value)
    machine.holder = unflatten(places["flat"])
    origin = machine.origin
    node: Field | None = None
    if places["base"] is not None:
        node = field_at(places["base"][0], places["base"][1], origin[0], origin[1])
    container: Any = machine.holder
    for depth, (key, kind) in enumerate(places["spine"]):
        if machine.keep_data:
            container = container[key] if isinstance(key, str) else container[-1]
        else:
            container = places["opened"][depth]
        node = [node, key, kind, origin, None, None, container]
    machine.node = node
    machine.container = container
    pieces = machine.pieces if machine.keep_data else None
    machine.leaf = [node, places["leaf"], "string", origin, None, None, pieces]
    return machine
