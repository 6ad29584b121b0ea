"""The `python { .app }` blocks of the docs run, with the real package, and show what the page says they show."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
import types
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from test_docs_code import PAGES, ROOT, blocks_of, name_of

DATA = {"title": "Rain in Spain", "tips": ["Take a coat.", "Wait."], "score": 0.9}
HOSTILE = '{"title": "a\\u001b]0;owned\\u0007b\\u009b31m [red]c[/]", "k\\u001b": "<b>d</b>"}'
CUT = '{"title": "Rain in Sp'

# page -> the package that it needs
NEEDS = {
    "docs/how-to/gradio.md": "gradio",
    "docs/how-to/streamlit.md": "streamlit",
    "docs/how-to/textual.md": "textual",
}


def code_of(page: str) -> str:
    """All `.app` blocks of a page, one after the other."""
    return "\n".join(
        block.text for block in blocks_of((ROOT / page).read_text(encoding="utf-8")) if ".app" in block.info
    )


def program(page: str, *, reply: str | None = None) -> Any:
    """The program of a page as a module that is not the main one. `reply`: what the model answers instead."""
    pytest.importorskip(NEEDS[page], reason=f"needs the package {NEEDS[page]}")
    module = types.ModuleType("app")
    exec(compile(changed(code_of(page), reply), page, "exec"), module.__dict__)  # the docs' own code
    return module


def changed(code: str, reply: str | None) -> str:
    if reply is None:
        return code
    before, rest = code.split("    text = ", 1)
    return f"{before}    text = {reply!r}\n{rest.split(chr(10), 1)[1]}"


def test_every_page_with_an_application_is_run() -> None:
    found = {
        name_of(page) for page in PAGES if any(".app" in b.info for b in blocks_of(page.read_text(encoding="utf-8")))
    }
    assert found == NEEDS.keys()


def run_streamlit(tmp_path: Path, reply: str | None = None) -> Any:
    pytest.importorskip("streamlit", reason="needs the package streamlit")
    from streamlit.testing.v1 import AppTest

    script = tmp_path / "app.py"
    script.write_text(changed(code_of("docs/how-to/streamlit.md"), reply), encoding="utf-8")
    app = AppTest.from_file(str(script), default_timeout=60).run()
    assert not app.text
    app.button[0].click().run()
    assert not app.exception
    return app


def test_streamlit_shows_each_field(tmp_path: Path) -> None:
    app = run_streamlit(tmp_path)
    texts = [text.value for text in app.text]
    assert texts == ["title: Rain in Spain", "tips[0]: Take a coat.", "tips[1]: Wait.", "score: 0.9"]
    assert json.loads(app.json[0].value) == DATA
    app.run()  # what is kept outlives the next run of the script
    assert json.loads(app.json[0].value) == DATA


def test_streamlit_shows_what_was_cut(tmp_path: Path) -> None:
    assert [text.value for text in run_streamlit(tmp_path, CUT).text] == ["title: Rain in Sp (cut)"]


def test_streamlit_writes_a_slot_only_so_often() -> None:
    import streamparse

    at_most = program("docs/how-to/streamlit.md").at_most

    def items() -> Any:
        return streamparse.wrap(list(CUT + 'ain"}'), adapter="text").get_generator("instant")

    some = list(at_most(items(), 1e-3))  # one in 1,000 seconds: the first delta, and all that is final
    assert [(item.event_type, item.value) for item in some] == [
        ("delta", "R"),
        ("done", "Rain in Spain"),
        ("done", {"title": "Rain in Spain"}),
    ]
    assert list(at_most(items(), 1e9)) == list(items())


# A program of its own: Gradio leaves sockets and loops open.
GRADIO = """
import asyncio, json, time
from gradio_client import Client

steps = [list(step) for step in answer("Will it rain?")]
closed = []

def ask(question, whole=ask):
    try:
        yield from whole(question)
        if question == "forever":
            while True:
                time.sleep(0.05)
                yield ""
    finally:
        closed.append(question)

half = answer("half")
next(half)
half.close()
demo.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True)
served = [list(step) for step in Client(demo.local_url, verbose=False).submit("Rain?", api_name="/answer")]
job = Client(demo.local_url, verbose=False).submit("forever", api_name="/answer")
while not job.outputs():
    time.sleep(0.05)
job.cancel()
end = time.monotonic() + 30
while "forever" not in closed and time.monotonic() < end:
    time.sleep(0.05)
print("told", json.dumps([steps, served, closed]), flush=True)
demo.close()
"""


def test_gradio_yields_each_field(tmp_path: Path) -> None:
    code = code_of("docs/how-to/gradio.md")
    if find_spec("gradio") is None:
        pytest.skip("needs the package gradio")
    code = code.replace("if __name__", "if not __name__")  # it is launched below
    script = tmp_path / "app.py"
    script.write_text(code + GRADIO, encoding="utf-8")
    environment = {**os.environ, "GRADIO_ANALYTICS_ENABLED": "False", "NO_PROXY": "127.0.0.1,localhost"}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=120)
    told = [line for line in done.stdout.splitlines() if line.startswith("told ")]
    assert told, done.stderr
    steps, served, closed = json.loads(told[0].removeprefix("told "))
    for found in (steps, served):
        assert found[-1] == [DATA["title"], "Take a coat.\nWait.\n", "0.9"]
        assert len({tuple(step) for step in found}) > 3, "the fields grow"
        for before, after in itertools.pairwise(found):
            assert all(new.startswith(old) for old, new in zip(before, after, strict=True))
    assert closed == ["half", "Rain?", "forever"], "a handler that is given up closes the stream"


async def shown_by_textual(module: Any) -> list[str]:
    from textual.widgets import Static

    app = module.Card()
    async with app.run_test() as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        return [str(slot.render()) for slot in app.query(Static)]


async def test_textual_shows_each_field() -> None:
    found = await shown_by_textual(program("docs/how-to/textual.md"))
    assert found == ["✓ title: Rain in Spain", "✓ tips[0]: Take a coat.", "✓ tips[1]: Wait.", "✓ score: 0.9"]


async def test_textual_shows_what_was_cut() -> None:
    assert await shown_by_textual(program("docs/how-to/textual.md", reply=CUT)) == ["✂ title: Rain in Sp"]


async def test_textual_shows_what_the_model_wrote_and_nothing_acts_on_it() -> None:
    found = await shown_by_textual(program("docs/how-to/textual.md", reply=HOSTILE))
    assert found[0] == "✓ title: a�]0;owned�b�31m [red]c[/]"
    assert "".join(found).isprintable()


async def test_the_end_of_textual_ends_the_stream() -> None:
    module = program("docs/how-to/textual.md")
    ended = asyncio.Event()

    async def ask() -> Any:
        try:
            yield '{"title": "Rain'
            await asyncio.sleep(3600)
        finally:
            ended.set()

    module.ask = ask
    app = module.Card()
    async with app.run_test() as pilot:
        while not app.query("Static"):
            await pilot.pause()
        app.exit()
    await asyncio.wait_for(ended.wait(), 30)
