"""Both twins of the machine in one process."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import sys
from collections.abc import Callable, Generator
from types import ModuleType
from typing import Any

NAMES = ("compiled", "interpreted")


def load_twin(name: str) -> Any:
    """The `streamparse` package on the machine of that name; None where that twin is not built.

    The package that is imported already stays the one that `import streamparse` gives.
    """
    return _loaded(name)[0]


def each_twin(target: Callable[[Any, bytes], None]) -> Callable[[bytes], None]:
    """The target on each twin that is there, one after the other.

    Meanwhile `import streamparse` gives that twin: the imports that the package leaves for later, and pickles, find its
    modules and not those of the other one.
    """

    @functools.wraps(target)
    def on_each(data: bytes) -> None:
        for name in NAMES:
            package, modules = _loaded(name)
            if package is not None:
                with _imported(modules):
                    target(package, data)

    return on_each


@functools.cache  # an extension module must not be imported twice
def _loaded(name: str) -> tuple[Any, dict[str, ModuleType]]:
    """A twin and its modules, which are nowhere else; no modules for the one that is imported anyway."""
    import streamparse

    if name == streamparse.IMPLEMENTATION:
        return streamparse, {}
    modules: dict[str, ModuleType] = {}
    pure = os.environ.pop("STREAMPARSE_PURE", None)
    if name == "interpreted":
        os.environ["STREAMPARSE_PURE"] = "1"
    try:
        with _imported(modules, instead=True):
            other = importlib.import_module("streamparse")
    finally:
        os.environ.pop("STREAMPARSE_PURE", None)
        if pure is not None:
            os.environ["STREAMPARSE_PURE"] = pure
    return (other if name == other.IMPLEMENTATION else None), modules


@contextlib.contextmanager
def _imported(modules: dict[str, ModuleType], instead: bool = False) -> Generator[None, None, None]:
    """`import streamparse` gives these modules, and adds to them; where there are none, those that are there stay."""
    if not modules and not instead:
        yield
        return
    mine = _taken()
    sys.modules.update(modules)
    try:
        yield
    finally:
        modules.update(_taken())
        sys.modules.update(mine)


def _taken() -> dict[str, ModuleType]:
    """The modules of streamparse, which are imported no more."""
    names = [name for name in sys.modules if name == "streamparse" or name.startswith("streamparse.")]
    return {name: sys.modules.pop(name) for name in names}
