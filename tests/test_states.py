"""The table of the machine's states: what it says is what the machine does, and what the docs show."""

from __future__ import annotations

import json
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_tolerance import ROWS

from streamparse import StreamParseError, StreamParser
from streamparse.states import BARE, BUFFERED, END, STATES, VALUE

ROOT = Path(__file__).resolve().parent.parent
# A token of JSON text, a piece of white space, or (what breaks them) one character.
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[-+.\w]+|\s|.', re.DOTALL)
VALID = [
    '{"a": {"b": "c", "d": [[], [1], {}, [2 , 3], "e", {"f": null}, true]}, "g": "h"}',
    "[[1], [[2]], {}, [{}], 3 , 4]",
    "{}",
    "[]",
    '"a"',
    "1 ",
    "true\n",
    "[true]",
    '["a", {"b": []}]',
]


def steps(chunks: list[str], **options: object) -> Iterator[tuple[int, int]]:
    """The states before and after each chunk, `BUFFERED` and all."""
    parser = StreamParser(**options)  # type: ignore[arg-type]
    for chunk in chunks:
        before = parser._machine.state
        try:
            parser.feed(chunk)
        except StreamParseError:
            return
        yield before, parser._machine.state


def allowed(before: int, after: int, arrows: int) -> bool:
    """Whether so many arrows lead there at most."""
    return before == after or (arrows > 0 and any(allowed(state, after, arrows - 1) for state in STATES[before].next))


def is_step(before: int, after: int) -> bool:
    """One character takes one arrow; the comma or bracket behind a number, which ends it, two."""
    return allowed(before, after, 2 if before == BARE else 1)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


@given(values, st.sampled_from([None, 1]), st.booleans())
def test_well_formed_text_takes_the_arrows_of_the_table(value: object, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    found = [state for _, state in steps(list(text), dialect="strict") if state != BUFFERED]
    for before, after in zip([VALUE, *found], found, strict=False):
        assert is_step(before, after), f"{STATES[before].name} -> {STATES[after].name}"


def test_every_arrow_of_the_table_is_taken() -> None:
    """By a single character, or by a token that comes in one piece."""
    taken = {pair for text in VALID for pair in steps(list(text), dialect="strict")}
    taken |= {pair for text in VALID for pair in steps(TOKEN.findall(text), dialect="strict")}
    arrows = {(before, after) for before, state in STATES.items() for after in state.next}
    assert [(STATES[a].name, STATES[b].name) for a, b in sorted(arrows - taken)] == []


def test_every_state_is_reached() -> None:
    texts = [*VALID, *(text for text, _ in ROWS), '{"a": "\\u00', '{"a": x}\n```\n', '{"a": 1, /* b */ "c" // d\n: 2}']
    reached = {VALUE}
    for text in texts:
        for chunks in (list(text), TOKEN.findall(text)):
            reached |= {state for _, state in steps(chunks)}
    reached |= {state for _, state in steps(list("[1}"), dialect="strict")}
    reached |= {state for _, state in steps(["plain ", "words"], output=str)}
    missing = {STATES[state].name for state in STATES.keys() - reached}
    assert not missing


def test_the_figures_are_what_their_script_draws(tmp_path: Path) -> None:
    main = runpy.run_path(str(ROOT / "docs" / "scripts" / "figures.py"))["main"]
    main.__globals__["TARGET"] = tmp_path
    main()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pipeline.svg", "states.svg"]
    for path in tmp_path.iterdir():
        assert path.read_text("utf-8") == (ROOT / "docs" / "pictures" / path.name).read_text("utf-8"), (
            f"run {Path(sys.executable).name} docs/scripts/figures.py"
        )


def test_the_picture_has_every_state_and_arrow_of_well_formed_text() -> None:
    picture = ElementTree.parse(ROOT / "docs" / "pictures" / "states.svg").getroot()
    svg = "{http://www.w3.org/2000/svg}"
    names = [text.text for text in picture.iter(f"{svg}text") if text.get("class") == "code"]
    linked = [state for state in STATES if STATES[state].next or state == END]
    assert sorted(names) == sorted(STATES[state].name for state in linked)
    arrows = [path for path in picture.iter(f"{svg}path") if path.get("marker-end")]
    assert len(arrows) == sum(len(state.next) for state in STATES.values()) + 1  # and the one where it begins


@pytest.mark.parametrize("name", ["pipeline", "states"])
def test_a_figure_fetches_nothing_and_knows_the_dark(name: str) -> None:
    text = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
    assert re.findall(r"https?://[^\"]+", text) == ["http://www.w3.org/2000/svg"]
    assert "prefers-color-scheme: dark" in text
    assert "@import" not in text


def test_the_page_lists_every_state() -> None:
    page = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Z_]+)` \| (.*?) \| (.*?) \|$", page, re.MULTILINE)
    assert rows == [(state.name, state.meaning, state.expected) for state in STATES.values()]
