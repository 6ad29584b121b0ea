"""What a process does that lives long: memory, cycles, threads, event loops, subinterpreters (in small; the large
figures are those of `python -m benchmarks.endurance`).
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import streamparse
from streamparse import Limits, StreamParser

ROOT = Path(streamparse.__file__).resolve().parents[1]
VALUE = {"title": "a reply", "items": [{"text": "half of it", "n": index, "ok": None} for index in range(5)]}


class Item(BaseModel):
    text: str
    n: int
    ok: bool | None


class Reply(BaseModel):
    title: str
    items: list[Item]


TEXTS = [
    json.dumps(VALUE),
    "<think>Let me see.</think>Here it is:\n```json\n" + json.dumps(VALUE) + "\n```\nAnything else?",
    json.dumps(VALUE)[:60],  # cut
    '{"a": "he said "no" to it", b: [1, 2,], "c": tru',
    '{"a": [1, 2}',
    "no document at all",
]


def run(text: str, **options: Any) -> Any:
    parser = StreamParser(**options)
    for at in range(0, len(text), 4):
        parser.feed(text[at : at + 4])
    return parser.close()


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("output", [None, Reply])
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
@pytest.mark.usefixtures("no_collector")
def test_nothing_waits_for_the_garbage_collector(text: str, output: Any) -> None:
    run(text, output=output)  # what is made once
    gc.collect()
    run(text, output=output)
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        ours = [item for item in gc.garbage if type(item).__module__.startswith("streamparse")]
        assert ours == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
@pytest.mark.usefixtures("no_collector")
def test_documents_one_after_the_other_leave_nothing(text: str) -> None:
    grown: list[int] = []
    for _ in range(20):
        before = sys.getallocatedblocks()
        for _ in range(100):
            run(text)
        grown.append(sys.getallocatedblocks() - before)
    # Caches fill up in the first rounds; an object left behind by each document would show in all of them.
    assert min(grown) < 10, grown


@pytest.mark.parametrize("delta", ["x" * 64, '", "k": "', "1, 2, [true, null], "], ids=["string", "keys", "values"])
def test_memory_does_not_grow_with_the_text_without_data(delta: str) -> None:
    """A key that comes again is told by a `reset`, so the keys of the open object are what is kept."""
    parser = StreamParser(keep_data=False, limits=Limits(string=2**30), dialect="json5")
    parser.feed('{"k": "' if delta[0] != "1" else "[")
    for _ in range(200):
        parser.feed(delta)
    grown: list[int] = []
    tracemalloc.start()
    try:
        for _ in range(4):
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(2000):
                parser.feed(delta)
            grown.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
    # Another thread of the process may take memory meanwhile; what each delta left behind would show in all rounds.
    assert min(grown) < 4096, grown


def test_parsers_in_threads_know_nothing_of_each_other() -> None:
    wrong: list[Any] = []

    def work(number: int) -> None:
        value = {**VALUE, "title": f"reply {number}"}
        for _ in range(20):
            data = run(json.dumps(value)).data
            if data != value:
                wrong.append(data)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


async def test_streams_on_one_loop_take_turns() -> None:
    """Each turn of the loop reads one delta of each stream: none is ahead of another by more than that."""
    text = json.dumps(VALUE)
    positions = [0] * 200

    async def stream(number: int) -> Any:
        parser = StreamParser()
        for at in range(0, len(text), 4):
            parser.feed(text[at : at + 4])
            positions[number] = at
            assert max(positions) - min(positions) <= 4
            await asyncio.sleep(0)
        return parser.close().data

    assert await asyncio.gather(*map(stream, range(200))) == [VALUE] * 200


SUBINTERPRETER = """
import sys
sys.path[:0] = {path!r}
from streamparse import StreamParser, UsageError
parser = StreamParser(reasoning={reasoning})
try:
    parser.feed('{{"a": "x')
    parser.feed('y", "b": [1, 2.5]}}')
    assert parser.close().data == {{"a": "xy", "b": [1, 2.5]}}
    print("works", flush=True)
except UsageError as error:
    assert "regex" in str(error) and "reasoning=None" in str(error), error
    print("says so", flush=True)
"""
RUNNER = """
import sys
try:
    import _interpreters as interpreters
    create = lambda own: interpreters.create("isolated" if own else "legacy")
    execute = interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters
    create = lambda own: interpreters.create(isolated=own)
    execute = interpreters.run_string
for code in {codes!r}:
    for own in (False, True):
        failed = execute(create(own), code)
        if failed is not None:
            sys.exit(failed.formatted)
"""


def test_subinterpreters_work_or_say_that_they_do_not() -> None:
    """The compiled twin does not load there, so they run interpreted; reasoning needs `regex`, which may not load."""
    path = [str(ROOT), *[entry for entry in sys.path if "site-packages" in entry]]
    codes = [SUBINTERPRETER.format(path=path, reasoning=reasoning) for reasoning in ("'auto'", "None")]
    try:
        importlib.import_module("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
    except ImportError:  # pragma: no cover  # not CPython
        pytest.skip("this Python has no subinterpreters")
    done = subprocess.run(
        [sys.executable, "-c", RUNNER.format(codes=codes)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr + done.stdout
    shared, own, *plain = done.stdout.splitlines()
    assert shared == "works"
    assert own in ("works", "says so")
    assert plain == ["works", "works"]
