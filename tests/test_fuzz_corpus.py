"""The fuzzing targets over their seeds and over every input that once found a fault (`fuzz/regressions`)."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
# Last on the path: `fuzz` is found there, `streamparse` stays the installed one.
sys.path.append(str(ROOT))

from fuzz.seeds import seeds  # noqa: E402  # found only now
from fuzz.targets import TARGETS  # noqa: E402
from fuzz.twins import each_twin, load_twin  # noqa: E402

SAVED = sorted(path for path in (ROOT / "fuzz" / "regressions").glob("*/*") if path.is_file())


def test_saved_inputs_belong_to_targets() -> None:
    assert SAVED
    assert {path.parent.name for path in SAVED} <= set(TARGETS)


@pytest.mark.parametrize("path", SAVED, ids=[f"{path.parent.name}-{path.name}" for path in SAVED])
def test_saved_input(path: Path) -> None:
    TARGETS[path.parent.name](path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_seeds(name: str) -> None:
    found = 0
    for seed in seeds(name):
        TARGETS[name](seed)
        found += 1
    assert found > 30


def test_other_twin_is_loaded_beside_the_first() -> None:
    """The twins compared are two, and the package that was imported first is left as it was."""
    import streamparse

    loaded = [package for name in ("compiled", "interpreted") if (package := load_twin(name)) is not None]
    assert {package.IMPLEMENTATION for package in loaded} >= {"interpreted"}
    assert len({id(package) for package in loaded}) == len(loaded)
    assert sys.modules["streamparse"] is streamparse


def test_each_twin_imports_its_own_modules() -> None:
    """What a package imports only when it is asked for, and what a pickle names, is of the same twin."""
    import streamparse

    seen: list[str] = []

    def target(package: Any, data: bytes) -> None:
        assert sys.modules["streamparse"] is package
        assert package.wrap.__globals__["UsageError"] is package.UsageError
        assert type(pickle.loads(pickle.dumps(package.StreamParser()))) is package.StreamParser
        seen.append(package.IMPLEMENTATION)

    each_twin(target)(b"")
    assert seen == [name for name in ("compiled", "interpreted") if load_twin(name) is not None]
    assert sys.modules["streamparse"] is streamparse


class _Broken:
    """A parser that is wrong: what a target must notice."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **wrong: object) -> None:
        import streamparse

        real = streamparse.StreamParser

        class Parser(real):  # type: ignore[misc, valid-type]
            def feed(self, chunk: str | bytes) -> list[object]:
                if "drop" in wrong and chunk[:1] in ("x", b"x"):
                    chunk = chunk[1:]
                if "raise" in wrong:
                    raise KeyError("x")
                return super().feed(chunk)

        monkeypatch.setattr(streamparse, "StreamParser", Parser)


def test_targets_notice_a_lost_character(monkeypatch: pytest.MonkeyPatch) -> None:
    _Broken(monkeypatch, drop=True)
    with pytest.raises(AssertionError):
        TARGETS["chunk_invariance"](b'\0\0"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"')
    with pytest.raises(AssertionError):
        TARGETS["against_json"](b'\0"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"')


def test_targets_notice_a_foreign_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    _Broken(monkeypatch, **{"raise": True})
    with pytest.raises(KeyError):
        TARGETS["no_crash"](b'\0\0{"a": 1}')
    with pytest.raises(KeyError):
        TARGETS["twins"](b'\0\0{"a": 1}')


def test_targets_want_the_right_value_around_prose(monkeypatch: pytest.MonkeyPatch) -> None:
    _Broken(monkeypatch, drop=True)
    TARGETS["around"](b"\0\0\0\0\0\1")  # no `x` in it alone: nothing is lost
    with pytest.raises(AssertionError):
        TARGETS["chunk_invariance"](b'\0\0["x"]')


def test_bodies_decode_the_same_at_every_cut() -> None:
    TARGETS["captures"](b'\3data: {"a": 1}\n\ndata: [DONE]\n\n')
