"""The strict dialect: RFC 8259 to the letter.

JSONTestSuite is read from `../shared/jsontestsuite/test_parsing` where that is there. `tests/data` holds a smaller set
of our own, written by hand along the grammar of the RFC, so that a checkout alone tests strictness too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.model import predict
from support.runner import Fault, Outcome, run
from support.splits import at_random, each
from support.values import loads, show

from streamparse import Limits

SUITE = Path(__file__).parents[2] / "shared" / "jsontestsuite" / "test_parsing"
FILES = sorted(SUITE.glob("*.json"))
needs_suite = pytest.mark.skipif(not FILES, reason=f"JSONTestSuite is not at {SUITE}; tests/data stands in for it")

# Either outcome is allowed by the RFC for these; this is ours. Numbers are Python's own, as `json.loads` has them: too
# big a float is inf, too small a one 0.0, an int has any size. Half a surrogate pair is U+FFFD (law 5). Bytes are UTF-8
# or an error: no UTF-16, no overlong forms, no surrogates, and no byte order mark, which RFC 8259 forbids to send.
# Depth 500 is far from the limit.
ACCEPTED: dict[str, Any] = {
    "i_number_double_huge_neg_exp.json": [0.0],
    "i_number_huge_exp.json": [float("inf")],
    "i_number_neg_int_huge_exp.json": [float("-inf")],
    "i_number_pos_double_huge_exp.json": [float("inf")],
    "i_number_real_neg_overflow.json": [float("-inf")],
    "i_number_real_pos_overflow.json": [float("inf")],
    "i_number_real_underflow.json": [0.0],
    "i_number_too_big_neg_int.json": [-123123123123123123123123123123],
    "i_number_too_big_pos_int.json": [100000000000000000000],
    "i_number_very_big_negative_int.json": [-237462374673276894279832749832423479823246327846],
    "i_object_key_lone_2nd_surrogate.json": {"\ufffd": 0},
    "i_string_1st_surrogate_but_2nd_missing.json": ["\ufffd"],
    "i_string_1st_valid_surrogate_2nd_invalid.json": ["\ufffd\u1234"],
    "i_string_incomplete_surrogate_and_escape_valid.json": ["\ufffd\n"],
    "i_string_incomplete_surrogate_pair.json": ["\ufffda"],
    "i_string_incomplete_surrogates_escape_valid.json": ["\ufffd\ufffd\n"],
    "i_string_invalid_lonely_surrogate.json": ["\ufffd"],
    "i_string_invalid_surrogate.json": ["\ufffdabc"],
    "i_string_inverted_surrogates_U+1D11E.json": ["\ufffd\ufffd"],
    "i_string_lone_second_surrogate.json": ["\ufffd"],
    "i_structure_500_nested_arrays.json": "500 arrays, each in the next",
}
REJECTED: dict[str, str] = {
    "i_string_UTF-16LE_with_BOM.json": "invalid_utf8",
    "i_string_UTF-8_invalid_sequence.json": "invalid_utf8",
    "i_string_UTF8_surrogate_U+D800.json": "invalid_utf8",
    "i_string_invalid_utf-8.json": "invalid_utf8",
    "i_string_iso_latin_1.json": "invalid_utf8",
    "i_string_lone_utf8_continuation_byte.json": "invalid_utf8",
    "i_string_not_in_unicode_range.json": "invalid_utf8",
    "i_string_overlong_sequence_2_bytes.json": "invalid_utf8",
    "i_string_overlong_sequence_6_bytes.json": "invalid_utf8",
    "i_string_overlong_sequence_6_bytes_null.json": "invalid_utf8",
    "i_string_truncated-utf-8.json": "invalid_utf8",
    "i_string_utf16BE_no_BOM.json": "unexpected_character",
    "i_string_utf16LE_no_BOM.json": "unexpected_character",
    "i_structure_UTF-8_BOM_empty_object.json": "unexpected_character",
}


def outcome(raw: bytes, name: str) -> Outcome:
    """What strict makes of the bytes, the same for every split; as text too where they are UTF-8."""
    whole = run([raw], dialect="strict")
    for chunks in arrivals(raw, name):
        assert run(chunks, dialect="strict") == whole
    return whole


def arrivals(raw: bytes, name: str) -> Iterator[list[str] | list[bytes]]:
    yield each(raw)
    yield from at_random(raw, name, times=6)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return
    yield [text]
    yield each(text)
    yield from at_random(text, name, times=3)


def assert_rejected(got: Outcome) -> Fault:
    assert got.error is not None, f"accepted, with the value {got.data}"
    assert got.error.type in ("JSONSyntaxError", "IncompleteJSONError", "LimitExceeded")
    assert got.error.offset is not None
    return got.error


@needs_suite
def test_the_suite_is_whole() -> None:
    """95 to accept, 188 to reject, 35 that are ours to decide, and each of those is decided."""
    names = [file.name for file in FILES]
    assert [sum(name.startswith(kind) for name in names) for kind in ("y_", "n_", "i_")] == [95, 188, 35]
    assert {name for name in names if name.startswith("i_")} == set(ACCEPTED) | set(REJECTED)
    assert not set(ACCEPTED) & set(REJECTED)


def of_kind(kind: str) -> list[Any]:
    return [pytest.param(file, id=file.name) for file in FILES if file.name.startswith(kind)]


@pytest.mark.parametrize("file", of_kind("y_"))
def test_accepts(file: Path) -> None:
    raw = file.read_bytes()
    got = outcome(raw, file.name)
    assert got.error is None
    assert got.data == show(loads(raw.decode()))
    assert got.events == predict(raw.decode())
    assert got.complete


@pytest.mark.parametrize("file", of_kind("y_"))
@pytest.mark.parametrize("dialect", ["llm", "json5"])
def test_other_dialects_accept_the_same(file: Path, dialect: str) -> None:
    """Law 5 on the same files."""
    text = file.read_text(encoding="utf-8")
    got = run([text], dialect=dialect)
    assert (got.error, got.data, got.events) == (None, show(loads(text)), predict(text))
    assert run(each(text), dialect=dialect) == got


@pytest.mark.parametrize("file", of_kind("n_"))
def test_rejects(file: Path) -> None:
    assert_rejected(outcome(file.read_bytes(), file.name))


@pytest.mark.parametrize("file", of_kind("n_"))
@pytest.mark.parametrize("dialect", ["llm", "json5"])
def test_other_dialects_survive(file: Path, dialect: str) -> None:
    """Law 9 and law 1 on the same files: whatever the tolerant dialects make of them, it is the same for every
    split."""
    raw = file.read_bytes()
    assert run(each(raw), dialect=dialect) == run([raw], dialect=dialect)


@pytest.mark.parametrize("file", of_kind("i_"))
def test_decided(file: Path) -> None:
    got = outcome(file.read_bytes(), file.name)
    if file.name in REJECTED:
        assert assert_rejected(got).code == REJECTED[file.name]
        return
    assert got.error is None
    if file.name == "i_structure_500_nested_arrays.json":
        assert got.data == "[" * 500 + "]" * 500
    else:
        assert got.data == show(ACCEPTED[file.name])


DATA = Path(__file__).parent / "data"


def own(name: str) -> list[Any]:
    lines = (DATA / name).read_text(encoding="utf-8").split("\n")
    return [pytest.param(raw, id=raw["name"]) for raw in map(json.loads, filter(None, lines))]


def test_own_data_was_found() -> None:
    assert len(own("accept.jsonl")) >= 60
    assert len(own("reject.jsonl")) >= 180


@pytest.mark.parametrize("one", own("accept.jsonl"))
@pytest.mark.parametrize("dialect", ["strict", "json5", "llm"])
def test_own_accepted(one: dict[str, str], dialect: str) -> None:
    text = one["text"]
    got = run([text], dialect=dialect)
    assert got.error is None
    assert got.data == show(loads(text))
    assert got.events == predict(text)
    for chunks in (each(text), each(text.encode()), *at_random(text, one["name"], times=3)):
        assert run(chunks, dialect=dialect) == got


@pytest.mark.parametrize("one", own("reject.jsonl"))
def test_own_rejected(one: dict[str, str]) -> None:
    raw = bytes.fromhex(one["hex"]) if "hex" in one else one["text"].encode()
    assert_rejected(outcome(raw, one["name"]))


@pytest.mark.parametrize("digits", [1, 20, 4300])
def test_integers_of_any_allowed_length(digits: int) -> None:
    """The default limit is CPython's own for turning text into an int."""
    text = "9" * digits
    got = run([f"[{text}]"], dialect="strict", limits=Limits())
    assert got.error is None
    assert got.events[0].delta == text
    assert got.data == show([int(text)])
