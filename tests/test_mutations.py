"""Valid documents, broken once in each way that models break them: the right value, while streaming, at any split
(`support.mutate`)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.model import CutModel, predict
from support.mutate import ALL, JSON5, KEYS, LLM, Broken, broken, documents, objects, tokens
from support.runner import Outcome, final_rows, run
from support.splits import chop, cuts
from support.values import at, is_json, show

EXAMPLES = max(settings.default.max_examples // 2, 20) if settings.default else 20


def check(got: Outcome, data: Any, code: str) -> None:
    """The right value, complete, with its diagnostic, and every `done` of it in the data."""
    assert got.error is None, got.error
    assert got.data == show(data)
    assert got.complete
    assert got.incomplete == []
    assert code in got.codes
    for parts, row in final_rows(got.events).items():
        assert show(at(data, parts)) == row.value


@pytest.mark.parametrize("name", ALL)
def test_right_value(name: str) -> None:
    mutate, code = ALL[name]

    @settings(max_examples=EXAMPLES)
    @given(case=broken(mutate), places=cuts())
    def right_value(case: Broken, places: list[float]) -> None:
        whole = run([case.text])
        check(whole, case.data, code)
        assert run(chop(case.text, places)) == whole

    right_value()


@pytest.mark.parametrize("name", JSON5)
def test_json5_takes_its_rows(name: str) -> None:
    mutate, code = JSON5[name]

    @settings(max_examples=EXAMPLES)
    @given(case=broken(mutate), places=cuts())
    def right_value(case: Broken, places: list[float]) -> None:
        check(run(chop(case.text, places), dialect="json5"), case.data, code)

    right_value()


@pytest.mark.parametrize("name", {**JSON5, **LLM})
def test_strict_takes_none(name: str) -> None:
    """Strict ends in its own error; the events before it are those of the valid beginning."""
    mutate, _ = ALL[name]

    @settings(max_examples=EXAMPLES)
    @given(case=broken(mutate), places=cuts())
    def rejected(case: Broken, places: list[float]) -> None:
        assert not is_json(case.text)
        got = run(chop(case.text, places), dialect="strict")
        assert got.error is not None
        assert got.error.type in ("JSONSyntaxError", "IncompleteJSONError")

    rejected()


@pytest.mark.parametrize(
    "name", [name for name in {**JSON5, **LLM} if name not in ("extra_bracket", "escaped_document")]
)
def test_right_value_inside_an_envelope(name: str) -> None:
    """The same inside a fence, after reasoning, with prose around."""
    mutate, code = ALL[name]

    @settings(max_examples=EXAMPLES)
    @given(case=broken(mutate, objects), envelope=st.sampled_from(ENVELOPES), places=cuts())
    def right_value(case: Broken, envelope: tuple[str, str], places: list[float]) -> None:
        before, after = envelope
        got = run(chop(before + case.text + after, places))
        check(got, case.data, code)
        assert got.reasoning == ("Let me see: {draft}" if "<think>" in before else "")

    right_value()


BEFORE = [
    "",
    "<think>Let me see: {draft}</think>\n\n",
    "Sure!\n\n",
    "<think>\nLet me see: {draft}\n</think>Here's the result [1]:\n",
]
FENCES = [("```json\n", "\n```"), ("```\n", "\n```"), ("~~~json\n", "\n~~~"), ("  ```JSON\n", "\n  ```")]
ENVELOPES = [(before + opened, closed + "\nHope that helps!") for before in BEFORE for opened, closed in FENCES] + [
    (BEFORE[1], "")
]


@given(
    value=documents,
    indent=st.sampled_from([None, 2]),
    before=st.sampled_from(BEFORE),
    fence=st.sampled_from(FENCES),
    after=st.sampled_from(["", "\n", "\n\nHope that helps! {not json} [2]", "<|im_end|>"]),
    places=cuts(),
)
def test_wrapped_in_fence_and_prose(
    value: Any, indent: int | None, before: str, fence: tuple[str, str], after: str, places: list[float]
) -> None:
    """The events are those of the bare document."""
    text = json.dumps(value, indent=indent)
    whole = before + fence[0] + text + fence[1] + after
    got = run(chop(whole, places))
    check(got, value, "fence")
    assert got.events == predict(text)
    assert got.reasoning == ("Let me see: {draft}" if "<think>" in before else "")
    if "<think>" not in before:
        assert got.text.strip() == whole.strip()


PROSE = [
    "Here's the JSON you asked for: ",
    "Use {name} here. ",
    "See [1] first: ",
    "Set {x, y} = 2: ",
    'As `code` says, it\'s "so":\n',
    "I'd say {it's} 'fine' [a, b]: ",
    "1. First: {}, then [] and {\n}: ",
    "Math like a < b and b > c, f(x) = {1, 2}: ",
]


@given(
    value=objects, prose=st.sampled_from(PROSE), after=st.sampled_from(["", " OK?", "\n\n{and} [so] on"]), places=cuts()
)
def test_in_prose(value: dict[str, Any], prose: str, after: str, places: list[float]) -> None:
    """An object in prose, once its first key and separator are seen; what stands before starts nothing."""
    text = json.dumps(value)
    got = run(chop(prose + text + after, places))
    check(got, value, "leading_text")
    assert got.events == predict(text)
    assert got.text.strip() == (prose + text + after).strip()


@given(value=st.lists(objects, min_size=1, max_size=3), prose=st.sampled_from(PROSE), places=cuts())
def test_array_of_objects_in_prose(value: list[Any], prose: str, places: list[float]) -> None:
    """An array that begins `[{`."""
    text = json.dumps(value)
    got = run(chop(prose + text, places))
    check(got, value, "leading_text")
    assert got.events == predict(text)


@given(value=objects, prose=st.sampled_from(PROSE), places=cuts())
def test_in_prose_nothing_is_shown_before_it_is_sure(value: dict[str, Any], prose: str, places: list[float]) -> None:
    """No reset is ever needed for prose: what is not the document gives no event."""
    got = run(chop(prose + json.dumps(value), places))
    assert not [row for row in got.events if row.type == "reset"]


REASONINGS = [
    "abc",
    'draft {"a":0}',
    "is a < b?\n\n```json\n{}\n```",
    "</thin",
    "[1] {x}",
    "é😀",
    "<b>x</b>",
    "a\n\n\nb",
]


@given(
    value=documents,
    thought=st.sampled_from(REASONINGS),
    gap=st.sampled_from(["", "\n", "\n\n", " \t\n"]),
    places=cuts(),
)
def test_reasoning_before(value: Any, thought: str, gap: str, places: list[float]) -> None:
    """A leading block is reasoning and nothing else; the document is untouched."""
    text = json.dumps(value)
    got = run(chop(f"{gap}<think>{gap}{thought}{gap}</think>{gap}{text}", places))
    assert (got.reasoning, got.data, got.complete, got.text) == (thought, show(value), True, text)
    assert got.events == predict(text)


@given(value=documents, thought=st.sampled_from(REASONINGS), places=cuts())
def test_reasoning_of_a_custom_pair(value: Any, thought: str, places: list[float]) -> None:
    """The same with delimiters of the user's own."""
    text = json.dumps(value)
    got = run(chop(f"[[PLAN]]{thought}[[/PLAN]]{text}", places), reasoning=("[[PLAN]]", "[[/PLAN]]"))
    assert (got.reasoning, got.data, got.text) == (thought, show(value), text)


@given(value=documents, thought=st.sampled_from(REASONINGS), share=st.floats(0, 1), places=cuts())
def test_reasoning_cut_off(value: Any, thought: str, share: float, places: list[float]) -> None:
    """Unclosed: all of it is reasoning, nothing is parsed out of it."""
    body = f"{thought} {json.dumps(value)}"
    body = body[: round(share * len(body))]
    got = run(chop(f"<think>{body}", places))
    assert (got.reasoning.strip(), got.text, got.has_data, got.complete, got.events) == (
        body.strip(),
        "",
        False,
        False,
        [],
    )


@given(
    value=documents, thought=st.sampled_from([*REASONINGS[:3], ""]), gap=st.sampled_from(["", "\n\n"]), places=cuts()
)
def test_reasoning_that_the_template_opened(value: Any, thought: str, gap: str, places: list[float]) -> None:
    """Only the closer appears; or, when the model did not reason, not even that: the answer is never swallowed."""
    text = json.dumps(value)
    got = run(chop(f"{thought}{gap}</think>{gap}{text}", places), starts_in_reasoning=True)
    assert (got.reasoning, got.data, got.text) == (thought, show(value), text)
    got = run(chop(text, places), starts_in_reasoning=True)
    assert (got.reasoning, got.data, got.text) == ("", show(value), text)
    assert "no_reasoning" in got.codes


@given(
    value=objects,
    indent=st.sampled_from([None, 2]),
    share=st.floats(0, 1),
    before=st.sampled_from(BEFORE),
    places=cuts(),
)
def test_cut_anywhere_inside_a_fence(
    value: Any, indent: int | None, share: float, before: str, places: list[float]
) -> None:
    """A stream that stops early: what was there, and nothing that was not."""
    text = json.dumps(value, indent=indent)
    least = text.index('"') + 1
    beginning = text[: least + round(share * (len(text) - 1 - least))]
    model = CutModel(beginning)
    got = run(chop(f"{before}```json\n{beginning}", places))
    assert (got.error, got.data, got.complete) == (None, show(model.value), False)
    assert [row.parts for row in got.events if row.type == "cut"] == model.incomplete
    assert [row for row in got.events if row.type == "done"] == [row for row in model.rows if row.type == "done"]
    assert "truncated" in got.codes


@given(first=objects, second=objects, gap=st.sampled_from(["", "\n", "\n\nand:\n", ",\n"]), places=cuts())
def test_several_documents(first: Any, second: Any, gap: str, places: list[float]) -> None:
    """The first, the last, or all, as asked."""
    chunks = chop(json.dumps(first) + gap + json.dumps(second), places)
    for which, want in (("first", first), ("last", second), ("all", [first, second])):
        got = run(chunks, documents=which)
        assert (got.error, got.data, got.complete) == (None, show(want), True), which
        if which == "all":
            inner = [row for i, one in enumerate((first, second)) for row in under(i, json.dumps(one))]
            assert got.events == inner
        else:
            assert "extra_document" in got.codes


def under(index: int, text: str) -> list[Any]:
    """The events of one document of several."""
    return [row._replace(parts=(index, *row.parts)) for row in predict(text)]


def test_the_kinds_of_mutations() -> None:
    """None got lost, and the tokens they work on are those of the document."""
    assert len(ALL) == 38
    assert [token.kind for token in tokens({KEYS[0]: [1, "x"]})] == [
        "{",
        "key",
        ":",
        "[",
        "number",
        ",",
        "string",
        "]",
        "}",
    ]
