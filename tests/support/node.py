"""Programs for Node.js: the front ends' own readers, driven by tests.

They need `node`, and the packages of tests/node/package.json: `npm install --no-package-lock --prefix tests/node`, or
`STREAMPARSE_NODE_MODULES` naming a folder that has them. Without them the tests are skipped, with the reason; with
`STREAMPARSE_NODE=require` that is a failure.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "node"


@lru_cache
def _missing() -> str | None:
    """What is not there, if anything."""
    if shutil.which("node") is None:
        return "node is not installed"
    modules = _modules()
    names = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))["dependencies"]
    lacking = [name for name in names if not (modules / name / "package.json").is_file()]
    if lacking:
        return f"{modules} lacks {', '.join(lacking)}: npm install --no-package-lock --prefix tests/node"
    return None


def _modules() -> Path:
    given = os.environ.get("STREAMPARSE_NODE_MODULES")
    return Path(given) if given else FOLDER / "node_modules"


def version(package: str) -> str:
    """The version of a package that is there."""
    told: str = json.loads((_modules() / package / "package.json").read_text(encoding="utf-8"))["version"]
    return told


def need_node() -> None:
    """Skip the test where its programs cannot run."""
    missing = _missing()
    if missing is not None:
        if os.environ.get("STREAMPARSE_NODE") == "require":
            pytest.fail(f"STREAMPARSE_NODE=require, but {missing}")
        pytest.skip(missing)


def run_node(program: str, *arguments: str, stdin: str) -> Any:
    """What a program of tests/node makes of `stdin`, which is its only input: the JSON that it writes."""
    need_node()
    with _placed(program) as path:
        done = subprocess.run(
            ["node", str(path), *arguments], input=stdin.encode(), capture_output=True, timeout=60, check=False
        )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@contextmanager
def _placed(program: str) -> Iterator[Path]:
    """The program where node finds its packages: beside `node_modules`, if need be in a folder of its own."""
    if _modules().parent == FOLDER:
        yield FOLDER / program
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "node_modules").symlink_to(_modules().resolve(), target_is_directory=True)
        yield Path(shutil.copy(FOLDER / program, folder))
