"""The browser client: what it makes of frames is what the reply's JSON is, wherever connections break."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.breaking import Breaking
from support.outside import CLIENT, SCRIPTS, node

import streamparse
from streamparse.wire import to_sse

pytestmark = pytest.mark.outside


class Folder:
    """A node process that folds frames with client.js."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, **question: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line)
        # JavaScript has one kind of number, and writes 3e16 as an int.
        answer["tree"] = json.loads(line, parse_int=float).get("tree")
        assert "error" not in answer, answer
        return answer

    def fold(self, items: Any, sizes: Iterator[int] | None = None, **options: Any) -> dict[str, Any]:
        return self(pieces=[*split("".join(to_sse(items, **options)), sizes or itertools.cycle([4096]))])


def split(text: str, sizes: Iterator[int]) -> Iterator[str]:
    at = 0
    while at < len(text):
        size = next(sizes)
        yield text[at : at + size]
        at += size


@contextmanager
def folding() -> Iterator[Folder]:
    # Proxies of this machine are not for its loopback device.
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    command = [node(), str(SCRIPTS / "fold.mjs"), str(CLIENT)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=environment
    ) as process:
        yield Folder(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(10) == 0


@pytest.fixture(scope="module")
def folder() -> Iterator[Folder]:
    with folding() as made:
        yield made


def items(text: str, size: int = 4, **options: Any) -> Any:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return streamparse.wrap(pieces, adapter="text", **options).get_generator("all")


def test_its_own_tests() -> None:
    """Those in tests/js, which need no server."""
    scripts = sorted(SCRIPTS.glob("*.test.mjs"))
    assert scripts
    run = subprocess.run(
        [node(), "--test", *map(str, scripts)], capture_output=True, text=True, timeout=120, check=False
    )
    passed, failed = (re.search(rf"^# {word} (\d+)$", run.stdout, re.MULTILINE) for word in ("pass", "fail"))
    assert run.returncode == 0, run.stdout[-20_000:]
    assert passed is not None
    assert failed is not None
    assert int(failed[1]) == 0
    assert int(passed[1]) >= sum(path.read_text("utf-8").count("\ntest(") for path in scripts) > 20


TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
KEYS = TEXT | st.sampled_from(
    ["__proto__", "constructor", "toString", "length", "a.b", '["', "x]", "", "0", "1", "一月", "²"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(
    value=VALUES | st.dictionaries(KEYS, VALUES), size=st.integers(1, 9), sizes=st.lists(st.integers(1, 60), min_size=1)
)
def test_the_tree_is_what_json_loads_reads(folder: Folder, value: Any, size: int, sizes: list[int]) -> None:
    """For every document, however the text and the frames are split; and a path leads to each value."""
    text = json.dumps(value, ensure_ascii=size % 2 == 0, indent=size % 3 or None)
    got = folder.fold(items(text, size, dialect="strict"), itertools.cycle(sizes))
    assert got["tree"] == json.loads(text)
    assert got["complete"]
    assert got["done"]
    assert not got["polluted"]
    assert not got["odd_prototypes"]
    for field in got["fields"]:
        at = value
        for part in field["parts"]:
            at = at[part]
        assert field["state"] == "done"
        assert streamparse.parse_path(field["path"]) == tuple(field["parts"])
        assert streamparse.format_path(field["parts"]) == field["path"]
        if isinstance(at, str):
            assert field["text"] == at
        elif isinstance(at, int | float):
            assert json.loads(field["text"]) == at


@given(value=st.dictionaries(KEYS, VALUES, min_size=1), data=st.data())
def test_a_cut_text_leaves_what_the_python_side_has(folder: Folder, value: Any, data: st.DataObject) -> None:
    """Law 6: nothing is lost, and what was open says that it was cut."""
    text = json.dumps(value)
    text = text[: data.draw(st.integers(1, len(text) - 1))]
    result = streamparse.wrap([text], adapter="text")
    got = folder.fold(result.get_generator("all"))
    parser = streamparse.StreamParser()
    parser.feed(text)
    parsed = parser.close()
    assert not got["complete"]
    if parsed.has_data:
        cut = {field["path"] for field in got["fields"] if field["state"] == "cut"}
        # A value of which nothing had come is open for the parser, but no field.
        assert cut == {path for path in parsed.incomplete if path in {field["path"] for field in got["fields"]}}
        assert got["tree"] == parsed.data


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ('{"a": 1, "b": 12', {"a": 1}),
        ('{"a": 1, "b": tru', {"a": 1}),
        ('{"a": [1, nul', {"a": [1]}),
        ('{"a": "b", "c": "', {"a": "b", "c": ""}),
    ],
)
def test_a_cut_number_or_word_is_told_and_has_no_place_in_the_tree(folder: Folder, text: str, tree: Any) -> None:
    got = folder.fold(items(text))
    assert got["tree"] == tree
    assert [field["state"] for field in got["fields"] if field["path"] == ""] == ["cut"]


def test_a_duplicate_key_takes_back_what_was_there(folder: Folder) -> None:
    text = '{"a": {"x": [1, 2], "y": "old"}, "b": 1, "a": {"y": "new"}, "b": [], "b": "last"}'
    assert folder.fold(items(text))["tree"] == json.loads(text)


def test_deep_documents(folder: Folder) -> None:
    text = '{"a":[' * 150 + "1" + "]}" * 150
    assert folder.fold(items(text))["tree"] == json.loads(text)


def test_reasoning_fences_and_tool_calls(folder: Folder) -> None:
    """What the model wrote round the document is not in it."""
    got = folder.fold(items('<think>First, I "think" {"a": 0}.</think>\n```json\n{"a": 1}\n```\nDone.'))
    assert got["tree"] == {"a": 1}
    assert got["reasoning"] == 'First, I "think" {"a": 0}.'

    def chunk(**delta: Any) -> dict[str, Any]:
        return {
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
        }

    def call(index: int, **function: Any) -> dict[str, Any]:
        return chunk(tool_calls=[{"index": index, "id": f"call_{index}", "type": "function", "function": function}])

    chunks = [
        call(0, name="weather", arguments='{"city": "Ul'),
        call(1, name="weather", arguments='{"city": "Bo'),
        call(0, arguments='m", "days": [1, 2]}'),
        call(1, arguments='nn"}'),
    ]
    got = folder.fold(streamparse.wrap(chunks, adapter="openai").get_generator("all"))
    assert got["calls"] == {"call_0": {"city": "Ulm", "days": [1, 2]}, "call_1": {"city": "Bonn"}}


def test_merged_deltas_and_starts_give_the_same(folder: Folder) -> None:
    value = {"title": "Rain in Späin 🌧" * 20, "tips": [{"text": "Take a coat."}, {"text": ""}], "n": -1.5, "e": []}
    text = json.dumps(value)
    for options in ({"max_rate": 0.001}, {}):
        for starts in (False, True):
            got = folder.fold(items(text, 1, emit_starts=starts), **options)
            assert got["tree"] == value
            assert {field["state"] for field in got["fields"]} == {"done"}


# ---- over real sockets


VALUE = {"title": "Rain in Späin 🌧", "tips": [{"text": f"Tip {n}. " * 20} for n in range(30)], "score": 0.9, "x": None}


async def slowly(text: str) -> AsyncIterator[str]:
    import anyio

    for at in range(0, len(text), 7):
        await anyio.sleep(0.0005)
        yield text[at : at + 7]


@pytest.mark.parametrize("limit", [10_000, 3], ids=["all frames are kept", "snapshots"])
def test_a_dropped_connection_resumes_without_a_gap(folder: Folder, limit: int) -> None:
    """The server breaks off in the middle of frames, again and again; the client's state is that of one read."""
    pytest.importorskip("uvicorn", reason="needs the extra `web`")
    from support.web import serving

    from streamparse.web import EventStream

    stream = EventStream(streamparse.wrap(slowly(json.dumps(VALUE)), adapter="text"), limit=limit, heartbeat=None)
    sizes = [0, 1, 40, 300, 2_000, 77, 5_000, 900, 1_500, 3, 10_000]
    app = Breaking(stream, sizes)
    with serving(app) as server:
        got = folder(url=server.url)
    assert got["tree"] == VALUE
    assert got["complete"]
    assert got["connections"] == len(app.asked) > len(sizes) / 2
    assert got["last"] == stream.last_event_id
    assert (got["snapshots"] > 0) == (limit == 3)
    ids = [int(one) for one in app.asked if one is not None]
    assert ids == sorted(ids)
    assert ids or limit == 3  # a client that never gets a whole snapshot has no id to ask with


def test_the_docs_name_what_there_is(tmp_path: Path) -> None:
    """The JavaScript of the page can be read, imports what the client exports, and uses members that it has."""
    text = (SCRIPTS.parents[1] / "docs" / "browser.md").read_text("utf-8")
    blocks = re.findall(r"^```js\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 3
    for index, block in enumerate(blocks):
        script = tmp_path / f"block{index}.mjs"
        script.write_text(block, "utf-8")
        subprocess.run([node(), "--check", str(script)], check=True, capture_output=True, timeout=60)
    used = {*re.findall(r"\breply\.(\w+)", text)}
    imported = {
        name for line in re.findall(r'import \{ (.+?) \} from "./client.js"', text) for name in line.split(", ")
    }
    probe = (
        f"import * as client from {CLIENT.as_uri()!r};"
        "const reply = client.connect('/', { fetch: async () => new Response(null, { status: 204 }) });"
        f"console.log({sorted(used)!r}.filter((name) => !(name in reply)), {sorted(imported)!r}"
        ".filter((name) => !(name in client)))"
    )
    command = [node(), "--input-type=module", "--eval", probe]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.split() == ["[]", "[]"]
    types = (CLIENT.parent / "client.d.ts").read_text("utf-8")
    for name in used:
        assert re.search(rf"^  (readonly )?{name}[(:]", types, re.MULTILINE), f"client.d.ts lacks {name}"
