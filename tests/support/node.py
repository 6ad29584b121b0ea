"""Programs for Node.js: the front ends' own readers, driven by tests.

They need `node`, and the packages of tests/node/package.json: `npm install --no-package-lock --prefix tests/node`, or
`STREAMPARSE_NODE_MODULES` naming a folder that has them. Without them the tests are skipped, with the reason; with
`STREAMPARSE_OUTSIDE=require` that is a failure (conftest.py).
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

MANY_AT_ONCE = settings(
    # Each example is a process that reads many streams. To shrink one would take minutes.
    max_examples=max(2, settings().max_examples // 20),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
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
        pytest.skip(missing)


def read_bodies(program: str, bodies: Sequence[str], *arguments: str) -> list[Any]:
    """What a program of tests/node makes of each body, in one process."""
    need_node()
    with _placed() as folder:
        command = ["node", str(folder / program), *arguments]
        stdin = json.dumps(bodies).encode()
        done = subprocess.run(command, input=stdin, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    results: list[Any] = json.loads(done.stdout)
    assert len(results) == len(bodies)
    return results


@contextmanager
def _placed() -> Iterator[Path]:
    """The folder of the programs, where node finds their packages: if need be a copy beside them."""
    if _modules().parent == FOLDER:
        yield FOLDER
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "node_modules").symlink_to(_modules().resolve(), target_is_directory=True)
        for program in FOLDER.glob("*.mjs"):
            shutil.copy(program, folder)
        yield folder


def as_doubles(value: Any) -> Any:
    """`value` with numbers as JavaScript has them: doubles; what is not finite is null in its JSON."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value) if abs(value) < 2**1023 else float("inf")
        return number if math.isfinite(number) else None
    if isinstance(value, dict):
        return {key: as_doubles(item) for key, item in value.items()}
    return [as_doubles(item) for item in value] if isinstance(value, list) else value
