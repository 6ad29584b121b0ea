"""Every case of `tests/cases`, at every way its text can arrive (see "How to run" in `tests/cases/README.md`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from support.cases import FOLDER, Case, load
from support.dotpath import read_dot
from support.runner import Outcome, Run, joined, run
from support.splits import at_random, each, two_way
from support.values import difference, is_json

CASES = load()
LONG = 300


def test_all_cases_were_found() -> None:
    """The counts are those of the table in the README of the cases."""
    table = (FOLDER / "README.md").read_text(encoding="utf-8").split("## Counts")[1]
    counts = {kind: int(count) for kind, count in re.findall(r"\| (\w+) \| (\d+) \|", table)}
    assert counts.pop("all") == len(CASES) >= 124
    assert {kind: sum(case.kind == kind for case in CASES) for kind in counts} == counts
    assert len({case.name for case in CASES}) == len(CASES)


def arrivals(case: Case) -> Iterator[tuple[str, list[str] | list[bytes]]]:
    """(name, chunks): every way the case's text is fed."""
    yield "as given", case.chunks
    raw = b"".join(chunk.encode() if isinstance(chunk, str) else chunk for chunk in case.chunks)
    yield "bytes as given", [chunk.encode() if isinstance(chunk, str) else chunk for chunk in case.chunks]
    texts: list[str | bytes] = [raw]
    if case.text is not None:
        texts.append(case.text)
    for text in texts:
        kind = "bytes" if isinstance(text, bytes) else "text"
        yield f"{kind}, whole", [text]
        yield f"{kind}, each", each(text)
        for number, halves in enumerate(two_way(text) if len(text) <= LONG else at_random(text, case.name)):
            yield f"{kind}, split {number}", halves


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_case(case: Case) -> None:
    """The wanted result, and the same one for every arrival of the text."""
    first = run(case.chunks, **case.arguments)
    check(case, first)
    for name, chunks in arrivals(case):
        assert run(chunks, **case.arguments) == first, f"{name}: {chunks!r}"


def check(case: Case, got: Outcome) -> None:
    """Everything that `want` of the case names."""
    want = case.want
    valid = case.text is not None and is_json(case.text)
    if want.get("error"):
        assert got.error is not None, f"no error, but data {got.data}"
        if want["error"] is not True:
            assert got.error.code == want["error"]
    else:
        assert got.error is None, got.error
        assert got.has_data is not want.get("no_data", False)
    if "complete" in want:
        assert got.complete is want["complete"]
    if "incomplete" in want:
        assert got.incomplete == want["incomplete"]
    if "text" in want:
        assert got.text == want["text"]
    check_reasoning(got.reasoning, want.get("reasoning", ""))
    texts = joined(got.events)
    for path, text in want.get("strings", {}).items():
        assert texts.get(read_dot(path)) == text
    if "done_order" in want:
        assert [row.parts for row in got.events if row.type == "done"] == [
            read_dot(path) for path in want["done_order"]
        ]
    assert set(want.get("diagnostics", [])) <= got.codes
    if valid:
        # A forced start of reasoning that did not come is remarked on even where the text itself is impeccable (design,
        # part 5).
        forced = {"no_reasoning"} if case.options.get("starts_in_reasoning") else set()
        assert got.codes <= {"duplicate_key", "lone_surrogate", "double_encoded"} | forced


@pytest.mark.parametrize(
    "case", [case for case in CASES if "data" in case.want], ids=[case.name for case in CASES if "data" in case.want]
)
def test_data_of_case(case: Case) -> None:
    """The value itself, with types; the order of keys where the text is valid JSON."""
    done = Run(case.chunks, **case.arguments)
    assert done.parsed is not None, done.error
    ordered = case.text is not None and is_json(case.text)
    assert difference(done.data, case.want["data"], ordered=ordered) is None


def check_reasoning(got: str, want: str | list[str]) -> None:
    """The reasoning text; several blocks may have any white space between them."""
    if isinstance(want, str):
        assert got.strip() == want
    else:
        assert re.fullmatch(r"\s*".join(re.escape(block) for block in want), got.strip()), got
