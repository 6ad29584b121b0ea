"""Both twins of the machine in one process."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from typing import Any

NAMES = ("compiled", "interpreted")


@functools.cache  # an extension module must not be imported twice
def load_twin(name: str) -> Any:
    """The `streamparse` package on the machine of that name; None where that twin is not built.

    The package that is imported already stays the one that `import streamparse` gives.
    """
    import streamparse

    if name == streamparse.IMPLEMENTATION:
        return streamparse
    mine = {
        key: module for key, module in sys.modules.items() if key == "streamparse" or key.startswith("streamparse.")
    }
    pure = os.environ.pop("STREAMPARSE_PURE", None)
    if name == "interpreted":
        os.environ["STREAMPARSE_PURE"] = "1"
    for key in mine:
        del sys.modules[key]
    try:
        other = importlib.import_module("streamparse")
    finally:
        for key in [key for key in sys.modules if key == "streamparse" or key.startswith("streamparse.")]:
            del sys.modules[key]
        sys.modules.update(mine)
        os.environ.pop("STREAMPARSE_PURE", None)
        if pure is not None:
            os.environ["STREAMPARSE_PURE"] = pure
    return other if name == other.IMPLEMENTATION else None
