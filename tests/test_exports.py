"""The public names: sorted, importable, documented, and cheap to import."""

from __future__ import annotations

import ast
import importlib
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import streamparse

ROOT = Path(__file__).parent.parent
# What `import streamparse` must not pull in: it is imported when a name that needs it is asked for.
HEAVY = (
    "pydantic",
    "pydantic_core",
    "ijson",
    "regex",
    "asyncio",
    "openai",
    "anthropic",
    "botocore",
    "starlette",
    "typer",
)


def fresh(code: str) -> str:
    """The output of `code` in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    return done.stdout.strip()


def documented() -> set[str]:
    """What the reference pages show: `::: module` shows its public names, `::: module.Name` one of them."""
    found: set[str] = set()
    for page in (ROOT / "docs").rglob("*.md"):
        for target in re.findall(r"^::: ([\w.]+)", page.read_text(encoding="utf-8"), re.MULTILINE):
            module, _, name = target.rpartition(".")
            owner = importlib.import_module(module)
            shown = getattr(owner, name)
            if not isinstance(shown, ModuleType):
                found.add(name)
                continue
            names = getattr(shown, "__all__", None)
            if names is None:
                names = [one for one in vars(shown) if not one.startswith("_")]
            found.update(names)
    return found


def test_all_is_sorted_and_has_no_doubles() -> None:
    """By kind, as the linter sorts it: constants, then classes, then the rest."""

    def order(name: str) -> tuple[int, str]:
        return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)

    assert streamparse.__all__ == sorted(set(streamparse.__all__), key=order)


@pytest.mark.parametrize("name", streamparse.__all__)
def test_each_name_is_there(name: str) -> None:
    assert getattr(streamparse, name) is not None
    assert name in dir(streamparse)


def test_star_import_gives_all() -> None:
    names = fresh("from streamparse import *; print(*sorted(name for name in dir() if name != '__builtins__'))")
    assert set(streamparse.__all__) <= set(names.split()) | {"__version__"}


def test_each_name_is_documented() -> None:
    found = documented()
    assert "StreamParser" in found, "the reference pages were not read"
    assert set(streamparse.__all__) - {"__version__"} <= found


def test_type_checkers_see_all() -> None:
    """A name that is imported later is imported for type checkers too."""
    tree = ast.parse(Path(streamparse.__file__).read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(streamparse.__all__) - {"__version__"} <= imported


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="module 'streamparse' has no attribute 'Parser'"):
        getattr(streamparse, "Parser")  # noqa: B009  # type checkers know that it is not there


def test_import_is_light() -> None:
    loaded = fresh("import streamparse, sys; print(*sys.modules)").split()
    assert "streamparse.parser" in loaded
    assert not {name.partition(".")[0] for name in loaded} & set(HEAVY)
    assert "streamparse.schema" not in loaded


def test_the_parser_needs_nothing_heavy_either() -> None:
    code = """
import sys
from streamparse import StreamParser
parser = StreamParser()
parser.feed('<think>a</think>{"a": [1')
print(parser.close().data, *set(sys.modules) & {"pydantic", "ijson", "asyncio"})
"""
    assert fresh(code) == "{'a': []}"


def test_public_classes_pickle_by_their_own_name() -> None:
    for kind in (streamparse.StreamParser, streamparse.Limits, streamparse.Response, streamparse.StreamingData):
        assert pickle.loads(pickle.dumps(kind)) is kind
