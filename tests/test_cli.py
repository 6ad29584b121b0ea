"""The command line: what it writes, where it stops, and what never reaches a terminal."""

from __future__ import annotations

import io
import json
import os
import re
import runpy
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from support.bodies import Body, differences, load
from support.processes import heed_ctrl_c
from typer.testing import CliRunner

import streamparse
from streamparse.cli.app import app
from streamparse.cli.output import printable, to_json
from streamparse.cli.plain import Lines
from streamparse.cli.recorded import Recording
from streamparse.cli.tree import KEPT, Excerpt
from streamparse.cli.view import View
from streamparse.response import Response

if sys.platform == "win32":
    pytest.skip("the pipes and terminals of these tests are POSIX ones", allow_module_level=True)

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "captures"
COMMAND = [sys.executable, "-m", "streamparse"]
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
HOSTILE = "a\x1b[2J\x1b]0;owned\x07b\x9b31mc\x08\rd\u202ee\x7f"
DATA = {
    "title": "Rain in Spain",
    "tags": ["weather", "geo"],
    "score": 0.9,
    "none": None,
    "empty": [],
    "deep": {"x": True},
}


def invoke(*arguments: str, given: str | bytes = "") -> tuple[int, str]:
    """Exit status and everything that was written."""
    result = CliRunner().invoke(app, list(arguments), input=given)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def lines_of(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def run(*arguments: str, given: str | bytes = b"", **options: Any) -> subprocess.CompletedProcess[bytes]:
    raw = given.encode() if isinstance(given, str) else given
    return subprocess.run([*COMMAND, *arguments], input=raw, capture_output=True, timeout=60, check=False, **options)


# -- events -----------------------------------------------------------------------------------------------------------


def test_events_rebuild_the_data() -> None:
    """Deltas add up to the slots, and the `done` of the root holds what json.loads reads."""
    status, output = invoke("events", given=json.dumps(DATA))
    assert status == 0
    events = lines_of(output)
    slots: dict[str, str] = {}
    for event in events:
        if event["event_type"] == "delta":
            assert "value" not in event, "the string so far would make the output grow with the square of the text"
            slots[event["path"]] = slots.get(event["path"], "") + event["delta"]
    assert slots == {"title": "Rain in Spain", "tags[0]": "weather", "tags[1]": "geo", "score": "0.9", "deep.x": "true"}
    assert events[-1]["path"] == ""
    assert events[-1]["value"] == DATA
    finals = {event["path"]: event["value"] for event in events if event["is_complete"]}
    assert finals["tags"] == ["weather", "geo"]
    assert finals["none"] is None


def test_events_filter_by_path() -> None:
    status, output = invoke("events", "--path", "tags[*]", "--path", "score", "-", given=json.dumps(DATA))
    assert status == 0
    assert {event["path"] for event in lines_of(output)} == {"tags[0]", "tags[1]", "score"}


@pytest.mark.parametrize("kind", ["delta", "specific", "all", "original"])
def test_events_of_other_types(kind: str) -> None:
    text = f"<think>Hm.</think>\n{json.dumps(DATA)}"
    status, output = invoke("events", "--type", kind, given=text)
    assert status == 0
    found = lines_of(output)
    if kind in ("delta", "original"):
        assert "".join(found) == (json.dumps(DATA) if kind == "delta" else text)
        return
    assert all(set(item) == {"event", "data"} for item in found)
    by_name = {item["event"]: item["data"] for item in found}
    assert by_name["reasoning_done"] == "Hm."
    assert by_name["done"] == json.dumps(DATA)
    if kind == "all":
        assert by_name["status"] == {"state": "complete"}
        assert by_name["meta"]["end_state"] == "complete"
        instants = [item["data"] for item in found if item["event"] == "instant"]
        assert instants[-1]["value"] == DATA


def test_events_of_a_schema_file_and_of_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = tmp_path / "tip.json"
    schema.write_text(json.dumps({"type": "object", "properties": {"day": {"type": "string"}}}), encoding="utf-8")
    (tmp_path / "my_models.py").write_text(
        "from datetime import date\nfrom pydantic import BaseModel\nclass Tip(BaseModel):\n    day: date\n", "utf-8"
    )
    monkeypatch.chdir(tmp_path)
    given = '{"day": "2024-02-29"}'
    for output in (str(schema), "my_models:Tip"):
        status, written = invoke("events", "--output", output, given=given)
        assert status == 0
        assert lines_of(written)[-1]["value"] == {"day": "2024-02-29"}
        status, written = invoke("events", "--output", output, "--type", "partial", given=given)
        assert status == 0
        assert lines_of(written)[-1] == {"day": "2024-02-29"}


def test_documents_dialect_reasoning_and_adapter_are_handed_on() -> None:
    two = '{"a": 1} {"a": 2}'
    assert lines_of(invoke("events", "--documents", "last", given=two)[1])[-1]["value"] == {"a": 2}
    status, output = invoke("events", "--dialect", "strict", given='{"a": 1,}')
    assert status == 1
    assert "streamparse: " in output
    assert "line 1" in output
    thought = '[THINK]{"a": 1}[/THINK]{"a": 2}'
    assert lines_of(invoke("events", "--reasoning", "magistral", given=thought)[1])[-1]["value"] == {"a": 2}
    own = '((hm {"a": 1}))  {"a": 2}'
    assert lines_of(invoke("events", "--reasoning", "(( ))", given=own)[1])[-1]["value"] == {"a": 2}
    # read as text, an event stream is no event stream
    body = 'data: {"choices": [{"index": 0, "delta": {"content": "{}"}}]}\n\n'
    status, output = invoke("events", "--adapter", "text", "--format", "text", given=body)
    assert "choices[0].delta.content" in output


def test_a_fault_comes_after_the_events_before_it() -> None:
    status, output = invoke("events", "--dialect", "strict", given='{"a": 1, "b": x}')
    *events, complaint = output.splitlines()
    assert status == 1
    assert [json.loads(line)["path"] for line in events] == ["a", "a"]
    assert complaint.startswith("streamparse: 'x' cannot stand here")
    assert "column 15" in complaint


def test_deep_documents_are_written(tmp_path: Path) -> None:
    depth = 1000
    text = '{"a":' * depth + "1" + "}" * depth
    result = run("response", given=text)
    assert result.returncode == 0, result.stderr[-500:]
    assert re.sub(rb"\s", b"", result.stdout).count(b'{"a":') >= depth
    assert run("events", given=text).returncode == 0
    assert run("watch", given=text).returncode == 0


# -- response ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", load(), ids=lambda body: body.name)
def test_response_of_a_recorded_body(body: Body) -> None:
    status, output = invoke("response", str(body.path))
    start, end = output.index("{"), output.rindex("}") + 1
    response = Response.model_validate_json(output[start:end])
    assert differences(response, body.expect) == []
    assert status == (1 if response.end_state == "error" else 0)


def test_response_of_the_shared_captures() -> None:
    if not SHARED.is_dir():
        pytest.skip(f"no recorded streams at {SHARED}")
    wrong: dict[str, Any] = {}
    expects = sorted(SHARED.glob("*.expect.json"))
    assert len(expects) >= 70
    for path in expects:
        expect = json.loads(path.read_text(encoding="utf-8"))
        stem = path.name.removesuffix(".expect.json")
        (body,) = [file for file in SHARED.glob(f"{stem}.*") if file != path and file.name.split(".")[0] == stem]
        status, output = invoke("response", str(body))
        response = Response.model_validate_json(output[output.index("{") : output.rindex("}") + 1])
        wanted = {
            "tool_calls": expect["tool_calls"],
            "raw_finish_reason": expect["finish_reason_raw"],
            "model": expect["model"],
            "id": expect["id"],
            "refusal": expect["refusal"],
            "error": expect["error"],
        }
        found = differences(response, wanted)
        # Thinking that stands inside the text is `text` there, and has been told apart here.
        inline = response.reasoning is not None and expect["reasoning"] is None
        if not inline and (response.text, response.reasoning) != (expect["text"] or "", expect["reasoning"]):
            found.append("text or reasoning")
        if inline and (response.reasoning or "").strip() not in expect["text"]:
            found.append("inline reasoning")
        if (response.usage is None) != (expect["usage"] is None):
            found.append("usage")
        if expect["json_where"] not in (None, "cut") and response.data != expect["json"]:
            found.append("data")
        if status != (0 if expect["error"] is None else 1):
            found.append(f"exit status {status}")
        if found:
            wrong[stem] = found
    assert wrong == {}


def test_response_of_a_broken_recording_keeps_what_came() -> None:
    body = (files("streamparse") / "demo" / "triage.sse").read_bytes()
    status, output = invoke("response", given=body[: len(body) // 2])
    response = Response.model_validate_json(output[output.index("{") : output.rindex("}") + 1])
    assert response.data["status_summary"].startswith("Order 1182 is nine days late")
    assert not response.complete
    assert response.incomplete[-1] == ""
    assert status in (0, 1)


# -- check ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "under", "status"),
    [
        ('{\n  "a": [1, 2,],\n  "b": 1\n}', "trailing_comma", "],", 0),
        ('{"a": 1}\n\nThat is all.', "trailing_text", "That", 0),
        ('{"日本語": 1,\n "🌧️ Regen": tru', "truncated", "", 1),
        ('{"a": "x",\n\t"b": \'y\'}', "single_quotes", "'y'", 0),
        ('{"a": True}', "python_literal", "True", 0),
        ("Hello, world", "no_document", "", 1),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isidentifier() else "",
)
def test_check_points_at_the_place(text: str, code: str, under: str, status: int) -> None:
    found, output = invoke("check", given=text)
    assert found == status, output
    lines = output.splitlines()
    heads = [number for number, line in enumerate(lines) if f": {code}: " in line]
    assert len(heads) == 1, output
    head, source, caret = lines[heads[0] : heads[0] + 3]
    place = re.match(r"standard input:(\d+):(\d+): ", head)
    assert place is not None
    line = int(place[1])
    assert source.startswith(f"{line:>4} | ")
    assert source[7:].rstrip() == text.split("\n")[line - 1].replace("\t", " ").rstrip()
    # the caret stands below the character, however wide those before it are
    cells = 0
    for position, character in enumerate(source):
        if cells >= caret.index("^"):
            assert source[position:].startswith(under)
            break
        cells += cell_len(character)
    else:
        assert under == ""
    assert caret.strip(" |") == "^"


@pytest.mark.parametrize(
    ("text", "status", "verdict"),
    [
        ('{"a": [1, {"b": "x"}]}', 0, "complete; 0 remarks"),
        ("[" + "1,," * 300 + "1]", 0, "complete; 300 remarks, the first 100 shown"),
        ('{"a": [1, {"b": "x', 1, "not complete; open at the end: a[1].b, a[1], a, (root)"),
        ("", 1, "no document"),
        ("plain words", 1, "no document"),
        ("<think>never", 1, ""),
    ],
)
def test_check_sums_up(text: str, status: int, verdict: str) -> None:
    found, output = invoke("check", given=text)
    assert found == status, output
    assert verdict in output.splitlines()[-1]


def test_check_strict_shows_the_fault() -> None:
    status, output = invoke("check", "--dialect", "strict", given='{"a": [1,\n  2,,]}')
    assert status == 1
    head, source, caret, verdict = output.splitlines()
    assert head.startswith("standard input:2:5: unexpected_character: ")
    assert source == "   2 |   2,,]}"
    assert source[caret.index("^")] == ","
    assert caret.index("^") == source.rindex(",")
    assert "error" in verdict


def test_check_against_a_schema(tmp_path: Path) -> None:
    schema = tmp_path / "s.json"
    wanted = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n", "m"]}
    schema.write_text(json.dumps(wanted), encoding="utf-8")
    status, output = invoke("check", "--output", str(schema), given='{"n": "many", "m": 1}')
    assert status == 1
    assert "(at n)" in output
    assert "does not fit" in output
    status, output = invoke("check", "--output", str(schema), given='{"n": 1}')
    assert status == 1, output
    status, output = invoke("check", "--output", str(schema), given='{"n": 1, "m": 2}')
    assert status == 0, output


def test_check_fits_long_lines_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    text = '{"a": "' + "x" * 300 + '", "b": True, "c": "' + "é" * 300 + '"}'
    _, output = invoke("check", given=text)
    _, source, caret, _ = output.splitlines()
    assert cell_len(source) <= 50
    assert source[caret.index("^") :].startswith("True")


fragments = st.sampled_from(
    [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '"',
        '"a"',
        "1",
        "tru",
        "\\",
        "\n",
        "\r",
        "```json\n",
        "<think>",
        "</think>",
        "data: ",
        "\x1b[2J",
        "é",
        "😀",
    ]
)


@given(
    st.lists(fragments, max_size=12).map("".join) | st.text(max_size=40), st.sampled_from(["llm", "json5", "strict"])
)
def test_any_input_ends_in_a_status_and_printable_text(text: str, dialect: str) -> None:
    given = text.encode("utf-8", "replace")
    for command in ("check", "events", "response", "watch"):
        status, output = invoke(command, "--dialect", dialect, given=given)
        assert status in (0, 1)
        assert not CONTROL.search(output.replace("\n", "")), output


# -- bad usage --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["events", "--type", "nothing"], "streaming_parse"),
        (["events", "--path", "a["], "a["),
        (["events", "--dialect", "loose"], "json5"),
        (["events", "--reasoning", "unheard"], "magistral"),
        (["events", "--documents", "some"], "first"),
        (["events", "--adapter", "unheard"], "openai"),
        (["events", "--format", "xml"], "ndjson"),
        (["events", "--output", "no_such_module:Name"], "no_such_module"),
        (["events", "--output", "json:NoSuchName"], "NoSuchName"),
        (["events", "--output", "no/such/file.json"], "no/such/file.json"),
        (["events", "--type", "items"], "--output"),
        (["check", "no/such/file"], "no/such/file"),
        (["check", "--no-such-option"], "no-such-option"),
        (["watch", "--speed", "-1"], "speed"),
        (["no-such-command"], "no-such-command"),
        (["response", "."], "."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_usage_is_status_2_and_says_what_is_wanted(arguments: list[str], named: str) -> None:
    status, output = invoke(*arguments, given="{}")
    assert status == 2, output
    assert named in output.replace("output=", "--output")
    assert "Traceback" not in output


def test_no_arguments_shows_the_commands() -> None:
    _, output = invoke()
    for command in ("demo", "events", "response", "watch", "check"):
        assert command in output


@pytest.mark.parametrize("pure", ["", "1"])
def test_version_says_which_twin_runs(pure: str) -> None:
    environment = {**os.environ, "STREAMPARSE_PURE": pure}
    code = "import streamparse; print(streamparse.IMPLEMENTATION)"
    twin = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    said = run("--version", env=environment).stdout.decode()
    assert said.startswith(f"streamparse {streamparse.__version__} ({twin.stdout.strip()}, Python ")


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra_it_says_how_to_install_it(missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; from streamparse.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert 'pip install "streamparse-llm[cli]"' in result.stderr
    assert "Traceback" not in result.stderr
    code = code.replace("import sys;", "import sys; sys.argv[1:] = ['--version'];")
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith(f"streamparse {streamparse.__version__} (")


# -- pipes ------------------------------------------------------------------------------------------------------------


def read_until(process: subprocess.Popen[bytes], enough: Callable[[bytes], bool], seconds: float = 60) -> bytes:
    """What the process has written once that is `enough`; fails after `seconds`."""
    assert process.stdout is not None
    got = b""
    end = time.monotonic() + seconds
    while not enough(got):
        ready, _, _ = select.select([process.stdout], [], [], max(end - time.monotonic(), 0))
        assert ready, f"nothing more came after {got!r}"
        piece = os.read(process.stdout.fileno(), 65536)
        assert piece, f"it ended after {got!r}"
        got += piece
    return got


def start(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=heed_ctrl_c,
    )


def openai_chunk(text: str) -> bytes:
    chunk = {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": text}}]}
    return f"data: {json.dumps(chunk)}\n\n".encode()


@pytest.mark.parametrize("write", [str.encode, openai_chunk], ids=["text", "sse"])
def test_events_come_out_while_input_comes_in(write: Callable[[str], bytes]) -> None:
    with start("events") as process:
        assert process.stdin is not None
        seen: list[Any] = []
        for piece, path in (('{"name": "Ad', "name"), ('a", "ids": [1, ', "ids[0]"), ("2,", "ids[1]")):
            process.stdin.write(write(piece))
            process.stdin.flush()
            wanted = f'"path": "{path}"'.encode()
            seen += lines_of(read_until(process, lambda got, wanted=wanted: wanted in got).decode())
        process.stdin.write(write("3]}"))
        output, complaint = process.communicate(timeout=60)
        seen += lines_of(output.decode())
        assert (process.returncode, complaint) == (0, b"")
        assert seen[-1]["value"] == {"name": "Ada", "ids": [1, 2, 3]}


def test_watch_in_a_pipe_writes_each_field_when_it_is_final() -> None:
    with start("watch") as process:
        assert process.stdin is not None
        process.stdin.write(b'{"name": "Ada", "born": 18')
        process.stdin.flush()
        assert read_until(process, lambda got: b"\n" in got).decode() == '✓ name: "Ada"\n'
        output, _ = process.communicate(b'15, "died": 18', timeout=60)
        assert output.decode().splitlines()[:3] == ["✓ born: 1815", "✂ died", "✂ (root)"]


@pytest.mark.parametrize("command", ["demo", "events", "watch"])
def test_a_closed_pipe_ends_it_quietly(command: str) -> None:
    with start(command) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        if command != "demo":
            # no more than a pipe holds, so that this test need not wait for the reader
            process.stdin.write(b'{"a": "' + b'x", "b": "' * 3000)
            process.stdin.close()
        assert process.wait(20) == 141
        assert process.stderr.read() == b""


@pytest.mark.parametrize("command", ["events", "response", "watch", "check"])
def test_ctrl_c_ends_it_quietly(command: str) -> None:
    # a marker on stderr would be noise for users, so the test sees that the input was taken by its being read
    with start(command) as process:
        assert process.stdin is not None
        process.stdin.write(b'{"a": ["' + b"x" * 70_000)  # more than a pipe holds: written once it is being read
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=60)
        assert process.returncode == 130
        assert complaint == b""


def test_output_is_ascii_where_the_terminal_is() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    text = '{"name": "Zoë 💡", "x": nul'
    for command in ("events", "response", "watch", "check"):
        result = run(command, given=text, env=environment)
        assert result.stdout.isascii(), command
        assert b"Traceback" not in result.stderr
    last = lines_of(run("events", given=text, env=environment).stdout.decode())[-1]
    assert last["value"]["name"] == "Zoë 💡"


# -- what a terminal gets ---------------------------------------------------------------------------------------------


@given(st.text())
def test_printable_text_has_nothing_a_terminal_acts_on(text: str) -> None:
    assert not CONTROL.search(printable(text))
    if text.isascii() and text.isprintable():
        assert printable(text) == text


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_for_terminals_is_the_same_json(value: Any) -> None:
    text = to_json(value)
    assert not CONTROL.search(text)
    assert json.loads(text) == value


@pytest.mark.parametrize("command", ["events", "response", "watch", "check"])
def test_no_command_writes_escape_codes_of_the_model(command: str) -> None:
    text = json.dumps({HOSTILE: [HOSTILE, HOSTILE]}, ensure_ascii=False) + HOSTILE
    result = run(command, given=text)
    assert not CONTROL.search(result.stdout.decode().replace("\n", ""))
    result = run(command, "--dialect", "strict", given="{" + HOSTILE)
    assert not CONTROL.search((result.stdout + result.stderr).decode().replace("\n", ""))


def on_a_terminal(
    *arguments: str, width: int, height: int = 24, stop: float = 0, **environment: str
) -> tuple[int, str]:
    """Exit status, and what the command writes to a terminal. With `stop`, Ctrl-C comes after so many seconds, but not
    before the view says that the model thinks.
    """
    import fcntl
    import pty
    import struct
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    variables = {**os.environ, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **environment}
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        if name not in environment:
            variables.pop(name, None)
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=variables,
        start_new_session=True,
        preexec_fn=heed_ctrl_c,
    )
    os.close(follower)
    got = b""
    end = time.monotonic() + 60
    interrupt = time.monotonic() + stop if stop else None
    while time.monotonic() < end:
        if interrupt is not None and time.monotonic() > interrupt and b"thinking" in got:
            process.send_signal(signal.SIGINT)
            interrupt = None
        if select.select([leader], [], [], 0.1)[0]:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # how Linux says that nobody holds the other side any more
                break
            if not piece:
                break
            got += piece
    os.close(leader)
    return process.wait(10), got.decode()


OWN = re.compile(r"\x1b\[(\?25[lh]|[0-9;]*m|\d*[AK])")


def shown(raw: str) -> str:
    """What is written to a terminal, without the codes that draw it; fails on any other code."""
    text = OWN.sub("", raw).replace("\r", "\n")
    assert not CONTROL.search(text.replace("\n", "")), repr(text)
    return text


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_the_live_view_on_a_terminal(width: int, tmp_path: Path) -> None:
    path = tmp_path / "reply.txt"
    data = {"title": "Rain", HOSTILE: {"text": HOSTILE, "list": [1, None, True, []]}, "wide": "日本語" * 40}
    path.write_text(f"<think>{HOSTILE}</think>\n{json.dumps(data, ensure_ascii=True)}", encoding="utf-8")
    status, raw = on_a_terminal("watch", str(path), "--speed", "4", width=width)
    assert status == 0, raw
    assert raw.index("\x1b[?25l") < raw.index("\x1b[?25h"), "the cursor is hidden, then shown again"
    text = shown(raw)
    assert "title Rain" in text
    assert "\\x1b[2J"[: width // 3] in text
    assert "complete," in text.strip().splitlines()[-1]
    assert "owned" in text
    for line in text.splitlines():
        assert cell_len(line) <= width, line


def test_no_color_has_no_colors(tmp_path: Path) -> None:
    path = tmp_path / "reply.json"
    path.write_text(json.dumps(DATA), encoding="utf-8")
    colors = re.compile(r"\x1b\[[0-9;]*(3\d|4\d|9\d)[0-9;]*m")
    status, raw = on_a_terminal("watch", str(path), width=80)
    assert status == 0, raw
    assert colors.search(raw)
    status, raw = on_a_terminal("watch", str(path), width=80, NO_COLOR="1")
    assert status == 0, raw
    assert not colors.search(raw)
    assert "✓" in raw
    status, raw = on_a_terminal("watch", str(path), width=80, TERM="dumb")
    assert status == 0, raw
    assert "\x1b" not in raw


def test_ctrl_c_in_the_live_view_leaves_a_whole_terminal() -> None:
    status, raw = on_a_terminal("demo", "--speed", "0.2", width=60, stop=1)
    assert status == 130
    assert raw.rindex("\x1b[?25h") > raw.rindex("\x1b[?25l")
    assert "Traceback" not in raw
    assert "Abort" not in raw
    assert "cancelled" in raw


# -- the views --------------------------------------------------------------------------------------------------------


def drawn(view: View, width: int, height: int = 24) -> list[str]:
    console = Console(width=width, height=height, file=io.StringIO(), force_terminal=False, legacy_windows=False)
    console.print(view)
    written = console.file
    assert isinstance(written, io.StringIO)
    return written.getvalue().splitlines()


def played(text: str | bytes, pieces: int = 1) -> Iterator[Any]:
    size = max(len(text) // pieces, 1)
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    return streamparse.wrap(chunks, adapter="text").get_generator("all")


def test_marks_tell_growing_done_and_cut() -> None:
    parser = streamparse.StreamParser()
    view = View()
    view.feed(("instant", event) for event in parser.feed('{"a": "whole", "b": {"c": "gro'))
    for spin in "⠙⠹⠸":  # what is open spins, all of it together
        assert drawn(view, 60)[:3] == ["✓ a whole", f"{spin} b", f"  {spin} c gro▌"]
    view.feed(("instant", event) for event in parser.close().events)
    view.over = True
    assert drawn(view, 60)[:3] == ["✓ a whole", "✂ b", "  ✂ c gro"]


def test_a_document_that_was_cut_is_never_called_complete() -> None:
    """Plain text has no mark of its end, so its stream is complete wherever it stops."""
    view, lines = View(), Lines()
    for event, data in played('{"a": "whole", "b": {"c": "gro'):
        view.feed([(event, data)])
        last = lines.feed(event, data)
    view.over = True
    assert drawn(view, 60)[-1].startswith("cut, 1 field")
    assert last == ["cut, 1 field"]
    view = View()
    view.feed(played('{"a": "whole"}'))
    view.over = True
    assert drawn(view, 60)[-1] == "complete, 1 field"


def test_what_was_never_closed_stands_still_at_the_end() -> None:
    """A run that is given up, as with Ctrl-C, ends without events for what was open."""
    view = View()
    view.feed(("instant", event) for event in streamparse.StreamParser().feed('{"a": {"b": "gro'))
    view.over = True
    assert drawn(view, 60) == ["● a", "  ● b gro▌", "cancelled, 0 fields"]


def test_a_field_is_shown_as_soon_as_it_is_open() -> None:
    view = View()
    chunks = ['{"a": {"b": [', '{"c": "', "x", '"}]}}']
    items = streamparse.wrap(chunks, adapter="text", emit_starts=True).get_generator("all")
    frames = []
    for event, data in items:
        view.feed([(event, data)])
        if event == "instant" and data.event_type == "start":
            frames.append([re.sub("[⠋-⠿]", "*", line) for line in drawn(view, 60)[:-1]])
    assert frames[1:] == [
        ["* a"],
        ["* a", "  * b"],
        ["* a", "  * b", "    * [0]"],
        ["* a", "  * b", "    * [0]", "      * c ▌"],
    ]


@pytest.mark.parametrize("given", ["file", "redirected", "fifo"])
def test_the_size_of_a_file_is_known_and_that_of_a_pipe_is_not(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "reply.json"
    text = json.dumps(DATA).encode()
    writer = None
    if given == "fifo":
        os.mkfifo(path)
        writer = threading.Thread(target=path.write_bytes, args=(text,))
        writer.start()
    else:
        path.write_bytes(text)
    with path.open(encoding="utf-8") if given == "redirected" else nullcontext() as stdin:
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", stdin)
        with Recording("-" if given == "redirected" else str(path)) as recording:
            assert recording.wrap().get_data() == DATA
            assert recording.size == (None if given == "fifo" else len(text))
            assert recording.position == len(text)
    if writer is not None:
        writer.join()


def test_no_events_are_kept_of_what_may_be_large(tmp_path: Path) -> None:
    path = tmp_path / "reply.json"
    path.write_text(json.dumps(DATA), encoding="utf-8")
    with Recording(str(path)) as recording:
        result = recording.wrap()
        assert len(list(result.get_generator("all"))) > 10
        assert list(result.get_generator("all")) == []
        assert result.get_data() == DATA


class Half(Recording):
    """A recording of which a part has been read."""

    def __init__(self, size: int, position: int) -> None:
        super().__init__("-")
        self.size, self.position = size, position


@pytest.mark.parametrize("width", [10, 40, 120])
def test_a_long_file_has_a_progress_bar(width: int) -> None:
    view = View(recording=Half(20_000_000, 5_000_000))
    view.feed(played(json.dumps(list(range(100)))[:-1]))
    lines = drawn(view, width, 12)
    assert len(lines) <= 12
    assert all(cell_len(line) <= width for line in lines)
    if width >= 40:
        assert lines[-1].endswith(" 25% of 20.0 MB")
        bar = lines[-1].removesuffix(" 25% of 20.0 MB").rstrip()
        room = width - len("  25% of 20.0 MB")
        assert set(bar) <= set("━╸╺")
        assert room // 4 - 1 <= len(bar) <= room // 4 + 1 or len(bar) == room
    view.over = True
    assert "MB" not in "".join(drawn(view, width, 12))
    short = View(recording=Half(1000, 500))
    assert "%" not in "".join(drawn(short, width, 12))


def test_without_unicode_marks_are_ascii() -> None:
    parser = streamparse.StreamParser()
    view = View(encoding="ascii")
    view.feed(
        [("reasoning_delta", "hm"), *(("instant", event) for event in parser.feed('{"a": "x", "b": "' + "y" * 400))]
    )
    assert all(line.isascii() for line in drawn(view, 40))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437"])
def test_what_a_terminal_cannot_show_is_laid_out_as_its_escape(encoding: str) -> None:
    view = View(encoding=encoding)
    view.feed(played(json.dumps({"prix €": "48,90 € pour Zoë, le 3 – ça va 💡. " * 5}, ensure_ascii=False)))
    text = "".join(line.strip() for line in drawn(view, 40))
    assert "\\u20ac" in text
    assert "\\U0001f4a1" in text
    assert ("ë" in text) == (encoding != "ascii")
    for line in drawn(view, 40):
        assert len(line.encode(encoding, "backslashreplace")) <= 40


def test_a_reset_takes_back_what_was_shown() -> None:
    view = View()
    view.feed(played('{"a": {"x": 1}, "b": 1, "a": 2}'))
    view.over = True
    lines = drawn(view, 60)
    assert sorted(lines[:-1]) == ["✓ a 2", "✓ b 1"]


def test_tool_calls_are_named() -> None:
    call = {"index": 0, "id": "call_7", "function": {"name": "get_weather", "arguments": '{"city": "Metz"}'}}
    chunk = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
    view, lines = View(), Lines()
    view.feed(streamparse.wrap([chunk]).get_generator("all"))
    view.over = True
    assert drawn(view, 60)[:2] == ["✓ get_weather()", "  ✓ city Metz"]
    told = [line for item in streamparse.wrap([chunk]).get_generator("all") for line in lines.feed(*item)]
    assert '✓ get_weather() city: "Metz"' in told


def test_plain_text_and_refusals_are_shown() -> None:
    view = View()
    view.feed(played("Only words.\nTwo lines."))
    view.over = True
    assert drawn(view, 60)[:2] == ["│ Only words.", "│ Two lines."]
    lines = Lines()
    told = [line for item in played("Only words.\nTwo lines.") for line in lines.feed(*item)]
    assert told[:2] == ["| Only words.", "| Two lines."]
    deltas = ["I can", "not.\n\nI do", " not want to.", "\nSorry"]
    chunks = [
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"refusal": one}}]} for one in deltas
    ]
    lines = Lines()
    told = [line for item in streamparse.wrap(chunks).get_generator("all") for line in lines.feed(*item)]
    assert told[:3] == ["| I cannot.", "| I do not want to.", "| Sorry"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=60),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=30), inner, max_size=4),
    max_leaves=12,
)


@given(values, st.integers(20, 120), st.integers(4, 30), st.integers(1, 20), st.booleans())
def test_a_frame_fits_its_screen(value: Any, width: int, height: int, pieces: int, cut: bool) -> None:
    """At every moment: no line wider than the terminal, no more lines than it has, and nothing that it would act on."""
    text = json.dumps({"root": value}, ensure_ascii=False).encode("utf-8", "replace").decode()
    if cut:
        text = text[: len(text) // 2]
    view = View()
    for item in played(text, pieces):
        view.feed([item])
        lines = drawn(view, width, height)
        assert len(lines) <= height
        for line in lines:
            assert cell_len(line) <= width
            assert not CONTROL.search(line)


def test_a_frame_of_a_long_answer_costs_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only as many fields are drawn as there are lines, however many there are."""
    view = View()
    view.feed(played(json.dumps([{"id": number} for number in range(5000)])[:-1], 50))
    fields = 0
    draw = View._field

    def counted(*arguments: Any) -> Any:
        nonlocal fields
        fields += 1
        return draw(*arguments)

    monkeypatch.setattr(View, "_field", counted)
    assert len(drawn(view, 80, 24)) <= 24
    assert fields <= 30


@given(st.lists(st.text(alphabet="ab\n", max_size=KEPT), max_size=12))
def test_an_excerpt_keeps_both_ends(pieces: list[str]) -> None:
    excerpt = Excerpt()
    for piece in pieces:
        excerpt.add(piece)
    whole = "".join(pieces)
    assert excerpt.length == len(whole)
    assert whole.startswith(excerpt.start())
    assert whole.endswith(excerpt.end())
    assert len(excerpt.start()) >= min(len(whole), KEPT)
    assert len(excerpt.end()) >= min(len(whole), KEPT)


# -- the demo and the docs --------------------------------------------------------------------------------------------


def test_the_demo_shows_what_it_promises() -> None:
    result = run("demo")
    assert result.returncode == 0
    output = result.stdout.decode()
    assert output.startswith("~ The customer writes")
    assert '✓ customer.name: "Zoë Müller"' in output
    assert "✓ sentiment: -0.65" in output
    assert "💡" in output
    assert re.search(r"complete, \d+ fields\n$", output)


def test_the_demo_stream_is_what_its_script_writes(tmp_path: Path) -> None:
    script = ROOT / "docs" / "scripts" / "demo_stream.py"
    main = runpy.run_path(str(script))["main"]
    main.__globals__["TARGET"] = tmp_path / "x"
    main()
    assert (tmp_path / "x").read_bytes() == (ROOT / "streamparse" / "demo" / "triage.sse").read_bytes()


def test_the_pictures_are_of_this_demo(tmp_path: Path) -> None:
    """They show what the view shows now; the SVG around it is Rich's, and changes with its version."""
    main = runpy.run_path(str(ROOT / "docs" / "scripts" / "pictures.py"))["main"]
    main.__globals__["TARGET"] = tmp_path
    main()
    drawn = sorted(path.name for path in tmp_path.iterdir())
    assert drawn == ["demo-done.svg", "demo-running.svg"]
    for name in drawn:
        now, kept = ((folder / name).read_text(encoding="utf-8") for folder in (tmp_path, ROOT / "docs" / "pictures"))
        texts = ["".join(re.findall(r"<text[^>]*>([^<]*)", svg)).replace("&#160;", "") for svg in (now, kept)]
        assert texts[0] == texts[1]
        assert "@font-face" not in kept


def consoles(page: Path) -> list[tuple[str, str]]:
    """The commands of the `console` blocks of a page, each with the output below it."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"^```console\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            while command.endswith("\\"):
                more, _, output = output.partition("\n")
                command = command[:-1] + more.removeprefix(">")
            found.append((command, output))
    return found


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", [page for page in PAGES if consoles(page)], ids=lambda page: page.name)
def test_the_commands_of_the_docs_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    name = 'streamparse() { "$PYTHON" -m streamparse "$@"; }\n'
    environment = {**os.environ, "PYTHON": sys.executable, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    text = page.read_text(encoding="utf-8")
    for file, content in re.findall(r'^```\w+ title="([\w.]+)"\n(.*?)^```$', text, re.MULTILINE | re.DOTALL):
        (tmp_path / file).write_text(content, encoding="utf-8")
    for command, output in consoles(page):
        done = subprocess.run(
            ["bash", "-c", name + command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.stdout + done.stderr == output, command


def test_the_command_page_has_commands() -> None:
    assert len(consoles(ROOT / "docs" / "cli.md")) >= 5
