"""The project's own files agree with each other and with what was built."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import streamparse

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
TWIN = "streamparse._machine_c"


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_version_is_the_same_everywhere(project: dict[str, Any]) -> None:
    version = project["project"]["version"]
    assert streamparse.__version__ == version
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == version


@pytest.mark.parametrize("group", ["test", "dev"])
def test_dependency_group_equals_extra(project: dict[str, Any], group: str) -> None:
    assert project["dependency-groups"][group] == project["project"]["optional-dependencies"][group]


FOR_TESTS = {"clients", "frameworks", "apps", "browser"}


def test_extra_all_names_every_extra_for_users(project: dict[str, Any]) -> None:
    extras = set(project["project"]["optional-dependencies"]) - {"all", "test", "dev"} - FOR_TESTS
    (every,) = project["project"]["optional-dependencies"]["all"]
    named = re.fullmatch(r"streamparse-llm\[(.+)\]", every)
    assert named is not None
    assert set(named[1].split(",")) == extras


def test_twin_is_there_where_it_was_demanded() -> None:
    if os.environ.get("STREAMPARSE_BUILD") == "require":
        assert importlib.util.find_spec(TWIN) is not None, "STREAMPARSE_BUILD=require, but the compiled twin is missing"


def test_twin_was_built_from_this_source() -> None:
    if importlib.util.find_spec(TWIN) is None:
        pytest.skip("the compiled twin is not built")
    names = ("scan.py", "streaming_data.py", "machine.py", "intake.py", "machine_c.pxd", "states.py", "fields.py")
    sources = b"".join((ROOT / "streamparse" / name).read_bytes() for name in names)
    # In a process of its own: where the interpreted twin runs, the tests of both load this one with its own package.
    code = f"from importlib import import_module; print(import_module({TWIN!r}).SOURCE_SHA256)"
    built = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    message = f"the twin is older than one of {', '.join(names)}: run `pip install -e .` again"
    assert built == hashlib.sha256(sources).hexdigest(), message


def test_a_build_that_fails_leaves_no_older_twin(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", reason="builds the twin")
    shutil.copy(ROOT / "setup.py", tmp_path)  # without the rest of the project, which an old setuptools cannot read
    (tmp_path / "Cython.py").write_text("raise ImportError", encoding="ascii")
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    older = tmp_path / "lib" / "streamparse" / f"_machine_c{suffix}"
    older.parent.mkdir(parents=True)
    older.touch()
    done = subprocess.run(
        [sys.executable, "setup.py", "build_ext", f"--build-lib={tmp_path / 'lib'}", f"--build-temp={tmp_path}"],
        cwd=tmp_path,
        env={**os.environ, "STREAMPARSE_BUILD": "auto", "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "WITHOUT its compiled twin" in done.stderr
    assert not older.exists()


@pytest.mark.parametrize("pure", ["", "1"])
def test_implementation_is_the_one_that_was_asked_for(pure: str) -> None:
    code = "import streamparse; print(streamparse.IMPLEMENTATION)"
    environment = {**os.environ, "STREAMPARSE_PURE": pure}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    built = importlib.util.find_spec(TWIN) is not None
    assert run.stdout.strip() == ("compiled" if built and not pure else "interpreted")


def test_importing_the_package_imports_no_more_than_the_core() -> None:
    code = "import sys, streamparse; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(run.stdout.split())
    heavy = {"pydantic", "pydantic_core", "ijson", "openai", "anthropic", "botocore", "starlette", "rich", "typer"}
    assert "streamparse" in imported
    assert not imported & heavy


def test_the_laws_have_one_text() -> None:
    """README and docs say the same, and each law has tests with its number."""
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/laws.md")]
    readme, docs = (re.findall(r"^\d+\. \*\*.*$", text, re.MULTILINE) for text in texts)
    assert len(docs) == 12
    assert readme == docs
    tests = (ROOT / "tests" / "test_laws.py").read_text(encoding="utf-8")
    for number in range(1, 13):
        assert f"def test_law_{number}_" in tests
