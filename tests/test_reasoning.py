"""Reasoning in the text: every model family, every split, and what trackers of inference servers report."""

from __future__ import annotations

import copy
import json
import pickle
import random
from collections.abc import Iterator
from typing import Any

import pytest
from support.runner import Outcome, run
from support.splits import at_random, each, pieces, two_way
from support.values import show

from streamparse import LimitExceeded, Limits, StreamParser, UsageError
from streamparse.provider import Finish, ReasoningDelta, TextDelta
from streamparse.reasoning import FAMILIES, Family, Splitter, as_family, call_name
from streamparse.turn import ParserOptions, Turn

THOUGHT = 'Okay: a < b?\n\n1. A draft: {"city": "Rome"}\nWait — that\'s wrong… </ thin <|x|> so \'Paris\'.'
ANSWER = '{"city": "Paris", "html": "<think>x</think>", "n": [1]}'
VALUE = json.loads(ANSWER)

# family -> opener, closer, what stands round the answer. Written from the model cards and the parsers of servers, not
# from `FAMILIES`.
WRITTEN: dict[str, list[tuple[str, str, str, str]]] = {
    "deepseek": [("<think>\n", "\n</think>\n\n", "", "")],
    "qwen": [("<think>\n", "\n</think>\n\n", "", "")],
    "glm": [("\n<think>", "</think>\n", "", "")],
    "kimi": [("◁think▷", "◁/think▷", "", ""), ("<think>", "</think>", "", "")],
    "kimi-k3": [
        ("<|open|>think<|sep|>", "<|close|>think<|sep|>", "<|open|>response<|sep|>", "<|close|>response<|sep|>")
    ],
    "minimax": [("<think>\n", "\n</think>\n\n", "", ""), ("<mm:think>", "</mm:think>", "", "")],
    "magistral": [("[THINK]", "[/THINK]", "", "")],
    "gpt-oss": [
        (
            "<|channel|>analysis<|message|>",
            "<|end|><|start|>assistant",
            "<|channel|>final<|message|>",
            "<|return|>",
        ),
        (
            "<|start|>assistant<|channel|>analysis<|message|>",
            "<|end|><|start|>assistant",
            "<|channel|>final <|constrain|>json<|message|>",
            "<|end|>",
        ),
        ("<|channel|>analysis<|message|>", "<|start|>assistant", "<|channel|>final json<|message|>", ""),
    ],
    "gemma": [("<|channel>thought\n", "<channel|>", "", "")],
    "granite": [
        ("Here is my thought process:\n", "\nHere is my response:\n", "", ""),
        ("Here's my thought process: ", " Here's my response: ", "", ""),
        ("<think>", "</think>", "<response>", "</response>"),
    ],
    "ernie": [("<think>\n", "\n</think>\n\n", "<response>\n", "\n</response>\n"), ("<think>", "\n</think>\n", "", "")],
    "seed": [("<seed:think>\n", "\n</seed:think>\n", "", "")],
    "hunyuan": [("<think>\n", "\n</think>\n", "<answer>\n", "\n</answer>")],
    "cohere": [
        ("<|START_THINKING|>", "<|END_THINKING|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>"),
        ("<|START_THINKING|>", "<|END_THINKING|>", "<|START_TEXT|>", "<|END_TEXT|>"),
    ],
    "apertus": [("<|inner_prefix|>", "<|inner_suffix|>", "", "")],
    "inkling": [("<|content_thinking|>", "<|end_message|>", "<|content_text|>", "<|end_message|>")],
    "apriel": [("<thinking>\n", "\n</thinking>\n\n", "", "")],
    "claude": [("<thinking>\n", "\n</thinking>\n\n", "", ""), ("<antThinking>", "</antThinking>", "", "")],
    "nemotron": [("<think>\n", "\n</think>\n\n", "", "")],
    "olmo": [("<think>", "</think>", "", "")],
    "phi": [("<think>", "</think>", "", "")],
    "step": [("<think>\n", "\n</think>\n\n", "", "")],
    "intern": [("<think>", "</think>\n\n", "", "")],
    "mimo": [("<think>\n", "\n</think>\n", "", "")],
    "holo": [("<think>\n", "\n</think>\n", "", "")],
    "poolside": [("<think>", "</think>", "", "")],
    "prompted": [
        *(
            (f"<{tag}>", f"</{tag}>", "", "")
            for tag in ("reasoning", "thought", "reflection", "analysis", "scratchpad")
        ),
        ("<|begin_of_thought|>", "<|end_of_thought|>", "<|begin_of_solution|>", "<|end_of_solution|>"),
    ],
}
NOT_IN_AUTO = {"Here is my thought process:\n", "Here's my thought process: ", "<analysis>"}
ROWS = [(family, *row) for family, rows in WRITTEN.items() for row in rows]
IDS = [f"{family}-{index}" for family, rows in WRITTEN.items() for index in range(len(rows))]


def wanted_family(value: Any) -> Family:
    family = as_family(value)
    assert family is not None
    return family


def everywhere(text: str, **options: Any) -> Outcome:
    """The outcome of `text`, the same one whole, at every split in two, and one character at a time."""
    first = run([text], **options)
    ways: Iterator[list[str]] = two_way(text) if len(text) < 600 else at_random(text, "reasoning")
    for chunks in (each(text), *ways):
        assert run(chunks, **options) == first, chunks
    assert run(each(text.encode()), **options) == first
    return first


def check(
    text: str, thought: str, data: Any, *, answer: str | None = None, complete: bool = True, **options: Any
) -> Outcome:
    """`text` gives this reasoning and data (`...`: none), and this text of the answer."""
    got = everywhere(text, **options)
    assert got.reasoning == thought
    assert got.has_data is (data is not ...)
    assert got.data == show(None if data is ... else data)
    assert got.complete is (complete and data is not ...)
    if answer is not None:
        assert got.text == answer
    return got


# ---- the families


def test_every_family_has_a_text() -> None:
    assert set(WRITTEN) == set(FAMILIES)


@pytest.mark.parametrize(("family", "opener", "closer", "before", "behind"), ROWS, ids=IDS)
class TestFamily:
    def test_by_name(self, family: str, opener: str, closer: str, before: str, behind: str) -> None:
        text = opener + THOUGHT + closer + before + ANSWER + behind
        got = check(text, THOUGHT, VALUE, reasoning=family)
        assert got.text.strip() == ANSWER
        assert not got.diagnostics

    def test_auto(self, family: str, opener: str, closer: str, before: str, behind: str) -> None:
        text = opener + THOUGHT + closer + before + ANSWER + behind
        if opener in NOT_IN_AUTO:
            assert run([text]).reasoning == ""
        else:
            assert check(text, THOUGHT, VALUE).text.strip() == ANSWER

    def test_empty_block(self, family: str, opener: str, closer: str, before: str, behind: str) -> None:
        text = opener + closer + before + ANSWER + behind
        assert check(text, "", VALUE, reasoning=family).text.strip() == ANSWER

    def test_opened_by_the_template(self, family: str, opener: str, closer: str, before: str, behind: str) -> None:
        text = THOUGHT + closer + before + ANSWER + behind
        got = check(text, THOUGHT, VALUE, reasoning=family, starts_in_reasoning=True)
        assert got.text.strip() == ANSWER

    def test_opened_by_template_and_model(
        self, family: str, opener: str, closer: str, before: str, behind: str
    ) -> None:
        text = opener + THOUGHT + closer + before + ANSWER + behind
        assert not check(text, THOUGHT, VALUE, reasoning=family, starts_in_reasoning=True).codes

    def test_no_thinking(self, family: str, opener: str, closer: str, before: str, behind: str) -> None:
        assert check(ANSWER, "", VALUE, reasoning=family).text == ANSWER
        got = check(ANSWER, "", VALUE, reasoning=family, starts_in_reasoning=True)
        assert got.text == ANSWER
        assert "no_reasoning" in got.codes

    def test_cut_in_the_block(self, family: str, opener: str, closer: str, before: str, behind: str) -> None:
        for end in range(1, len(THOUGHT) + 1):
            text = opener + THOUGHT[:end]
            got = run([text], reasoning=family)
            assert got == run(each(text), reasoning=family)
            assert (got.reasoning, got.text, got.has_data) == (THOUGHT[:end].rstrip(), "", False)
            assert "unclosed_reasoning" in got.codes


# ---- edge cases, each seen in a tracker

DATA = {"a": 1}
THINK = ["auto", "deepseek", ("<think>", "</think>"), ("re:<think>", "re:</think>")]


@pytest.mark.parametrize("family", THINK, ids=str)
@pytest.mark.parametrize(
    ("text", "thought", "data"),
    [
        ('<think>abc</think>{"a":1}', "abc", DATA),
        ('\ufeff\n <think>\nabc\n</think>\n\n{"a":1}', "abc", DATA),
        ('<think>abc</think>\n\n\n```json\n{"a":1}\n```', "abc", DATA),
        ('<think>abc</think>```json\n{"a":1}\n```', "abc", DATA),
        ('<think>\n\n</think>\n\n{"a":1}', "", DATA),
        ('<think><think>abc</think>{"a":1}', "abc", DATA),
        ('<think>\n<think>\nabc\n</think>{"a":1}', "abc", DATA),
        ('<think>abc</think></think>{"a":1}', "abc", DATA),
        ('<think>a</think>\n<think>b</think>\n\n<think>c</think>{"a":1}', "a\n\nb\n\nc", DATA),
        ('<think>a {"a":0} [1]</think>{"a":1}', 'a {"a":0} [1]', DATA),
        ('<think>a < b </thinker></thi</think>{"a":1}', "a < b </thinker></thi", DATA),
        ('</think>{"a":1}', "", DATA),
        ('</think>\n\n{"a":1}', "", DATA),
        ("<think>abc", "abc", ...),
        ("<think>abc</th", "abc</th", ...),
        ("<think>abc\n\n", "abc", ...),
        ("<think>", "", ...),
        ("<think>abc</think>", "abc", ...),
        ("<think>abc</think>\n\n", "abc", ...),
        ('{"a":1}<think>abc</think>', "", DATA),
        ('{"a":"<think>x</think>"}', "", {"a": "<think>x</think>"}),
        ('{"a":"x</think>y"}', "", {"a": "x</think>y"}),
        ('Use `<think>` tags. {"a":1}', "", DATA),
        ('```json\n{"a":"<think>"}\n```', "", {"a": "<think>"}),
        ('<think>abc</think>{"a":"<think>b</think>"}', "abc", {"a": "<think>b</think>"}),
    ],
)
def test_think(family: Any, text: str, thought: str, data: Any) -> None:
    check(text, thought, data, reasoning=family)


@pytest.mark.parametrize("space", ["", "\n", "\n\n"])
def test_white_space_behind_a_block_is_no_answer(space: str) -> None:
    check(f"<think>abc</think>{space}", "abc", ..., answer="")


@pytest.mark.parametrize("text", ["<", "<thi", "<think", "</thin", " <think ", "<|channel|>analy", "◁thi"])
def test_half_an_opener_at_the_end_is_text(text: str) -> None:
    check(text, "", ..., answer=text)


@pytest.mark.parametrize(
    "opener", ["<THINK>", "<Think>", '<think lang="en">', "< think >", "<think a='1' b = 2 >", '<think\nx="y">']
)
@pytest.mark.parametrize("closer", ["</think>", "</THINK>", "</think >", "</ think>", "</think\n>"])
def test_forms_of_a_tag(opener: str, closer: str) -> None:
    check(f'{opener}abc{closer}{{"a":1}}', "abc", DATA, answer='{"a":1}')


@pytest.mark.parametrize(
    "text",
    [
        "<thinker>abc</thinker>",
        "<thought experiment> ",
        "<think about it> ",
        "<this is not a tag> ",
        "<analysis>",
        "<response><!-- XML is the answer -->",
        "<answer>",
        "Here is my thought process: ",
        "[THINKING] ",
        "&lt;think&gt;",
        "< ",
    ],
)
def test_not_an_opener(text: str) -> None:
    check(text + '{"a":1}', "", DATA, answer=text + '{"a":1}')


def test_an_xml_answer_stays_whole() -> None:
    text = "<response><item>1</item></response>"
    check(text, "", ..., answer=text)
    check(f"<think>x</think>{text}", "x", ..., answer="<item>1</item>")  # behind a block it is the wrapper


@pytest.mark.parametrize("marker", ["<tool_call>", "<|tool_calls_section_begin|>", "<|tool_call>", "<|START_ACTION|>"])
def test_tool_marker_ends_reasoning(marker: str) -> None:
    got = check(f'<think>abc\n{marker}{{"a":1}}', "abc", DATA, answer=f'{marker}{{"a":1}}')
    assert "unclosed_reasoning" not in got.codes


def test_stray_closer_of_a_family() -> None:
    for closer, family in (("</mm:think>", "minimax"), ("[/THINK]", "magistral"), ("</think>", "qwen")):
        got = check(f'{closer}{{"a":1}}', "", DATA, answer='{"a":1}', reasoning=family)
        assert "no_reasoning" in got.codes
    assert not check('<think>abc</think></think>{"a":1}', "abc", DATA, reasoning="qwen").codes


def test_gemma_label_is_no_thought() -> None:
    check('<|channel>thought\n\nabc<channel|>{"a":1}', "abc", DATA, reasoning="gemma")
    check('<|channel>thought<channel|>{"a":1}', "", DATA, reasoning="gemma")
    check('<|channel>thought\nabc<|tool_call>{"a":1}', "abc", DATA, reasoning="gemma")


def test_apertus_several_blocks_with_a_tool_call_inside() -> None:
    text = "<|inner_prefix|>a<|tools_prefix|>[{}]<|tools_suffix|><|inner_suffix|><|inner_prefix|>b<|inner_suffix|>"
    check(text + '{"a":1}', "a<|tools_prefix|>[{}]<|tools_suffix|>\n\nb", DATA, reasoning="apertus")


def test_six_blocks_of_phi() -> None:
    text = "".join(f"<think>{number}</think>\n" for number in range(6)) + '{"a":1}'
    check(text, "\n\n".join("012345"), DATA, reasoning="phi")


@pytest.mark.parametrize("family", ["ernie", "granite", "hunyuan", "cohere", "kimi-k3", "inkling", "gpt-oss"])
def test_wrapper_of_the_answer_alone(family: str) -> None:
    """Thinking was off, or the server has taken the reasoning out."""
    for _, _, before, behind in WRITTEN[family]:
        if before:
            assert check(before + ANSWER + behind, "", VALUE, reasoning=family).text.strip() == ANSWER


def test_wrapper_of_the_answer_where_reasoning_was_to_be() -> None:
    text = f"<|START_RESPONSE|>{ANSWER}<|END_RESPONSE|>"
    got = check(text, "", VALUE, answer=ANSWER, reasoning="cohere", starts_in_reasoning=True)
    assert "no_reasoning" in got.codes


def test_next_message_without_the_closer_of_the_one_before() -> None:
    """Only where both are closed alike by a special token; a plain tag inside of a block is text."""
    check('<|content_thinking|>abc<|content_text|>{"a":1}<|end_message|>', "abc", DATA, reasoning="inkling")
    check('<a>abc <b> d</x>{"a":1}', "abc <b> d", DATA, reasoning=[("<a>", "</x>"), ("<b>", "</x>")])


@pytest.mark.parametrize("family", ["ernie", "hunyuan", "cohere", "kimi-k3", "inkling", "gpt-oss"])
def test_closer_of_the_wrapper_inside_a_string(family: str) -> None:
    opener, closer, before, behind = WRITTEN[family][0]
    answer = json.dumps({"a": f"x {behind.strip()} y{behind}", "b": behind})
    text = opener + "abc" + closer + before + answer + behind
    assert check(text, "abc", json.loads(answer), reasoning=family).text.strip() == answer


@pytest.mark.parametrize("family", ["inkling", "gpt-oss", "auto"])
def test_opener_of_a_message_inside_of_a_string_of_the_answer(family: str) -> None:
    messages = {
        "gpt-oss": ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant", "<|channel|>final<|message|>"),
        "inkling": ("<|content_thinking|>", "<|end_message|>", "<|content_text|>"),
    }
    for thought, closer, answers in messages.values() if family == "auto" else [messages[family]]:
        for inner in (f"x {thought} y", f"{thought}x{answers}", answers):
            answer = json.dumps({"a": inner})
            check(f"{thought}abc{closer}{answers}{answer}", "abc", json.loads(answer), answer=answer, reasoning=family)


def test_special_tokens_behind_the_wrapper() -> None:
    text = (
        "<|START_THINKING|>abc<|END_THINKING|><|START_RESPONSE|>" + ANSWER + "<|END_RESPONSE|><|END_OF_TURN_TOKEN|>\n"
    )
    check(text, "abc", VALUE, answer=ANSWER, reasoning="cohere")


def test_special_token_behind_the_wrapper_that_is_cut() -> None:
    token = "<|END_OF_TURN_TOKEN|>"
    for end in range(len(token) + 1):
        check(f"<|START_RESPONSE|>{ANSWER}<|END_RESPONSE|>{token[:end]}", "", VALUE, answer=ANSWER, reasoning="cohere")
    check(f"<|START_RESPONSE|>{ANSWER}<|END_RESPONSE|>\n{token}\n{token}", "", VALUE, answer=ANSWER, reasoning="cohere")


def test_half_a_closer_of_the_wrapper_is_text() -> None:
    check("<|START_RESPONSE|>abc<|END_RESP", "", ..., answer="abc<|END_RESP", reasoning="cohere")


@pytest.mark.parametrize("spaces", [30, 600])
def test_closer_with_white_space_and_text_behind_it(spaces: int) -> None:
    """It is no closer, however far away the text is."""
    answer = json.dumps({"a": "x<|END_RESPONSE|>" + " " * spaces + "y"})
    text = f"<|START_RESPONSE|>{answer}<|END_RESPONSE|>"
    check(text, "", json.loads(answer), answer=answer, reasoning="cohere")


@pytest.mark.parametrize("half", ["<resp", "<|END_THI", "< "])
def test_half_a_delimiter_behind_a_block_is_text(half: str) -> None:
    for space in ("", "\n"):
        text = f"<|START_THINKING|>abc<|END_THINKING|>{space}{half}"
        assert check(text, "abc", ..., reasoning="auto").text.strip() == half.strip()


def test_reasoning_of_cohere_that_is_not_closed() -> None:
    check(f"<|START_THINKING|>abc<|START_RESPONSE|>{ANSWER}<|END_RESPONSE|>", "abc", VALUE, answer=ANSWER)


# ---- the template has opened the block


def test_forced_start() -> None:
    on: dict[str, Any] = {"starts_in_reasoning": True}
    check('abc</think>{"a":1}', "abc", DATA, answer='{"a":1}', **on)
    assert not check('</think>{"a":1}', "", DATA, answer='{"a":1}', **on).codes  # the block is empty
    check('\n\n</think>\n\n{"a":1}', "", DATA, answer='{"a":1}', **on)
    check('abc {"a":0}</think>{"a":1}', 'abc {"a":0}', DATA, answer='{"a":1}', **on)
    check("abc", "abc", ..., answer="", **on)
    check('abc\n<tool_call>{"a":1}</tool_call>', "abc", DATA, **on)
    for text in ('{"a":1}', '\n [{"a":1}]', '```json\n{"a":1}\n```', '~~~\n{"a":1}\n~~~'):
        got = check(text, "", [DATA] if "[" in text else DATA, answer=text, **on)
        assert "no_reasoning" in got.codes


def test_forced_start_with_prose_and_no_closer_does_not_swallow_the_answer() -> None:
    got = check('Here it is: {"a":1} Bye.', 'Here it is: {"a":1} Bye.', DATA, starts_in_reasoning=True)
    assert "no_reasoning" in got.codes
    check('Sure:\n```json\n{"a":1}\n```', 'Sure:\n```json\n{"a":1}\n```', DATA, starts_in_reasoning=True)


@pytest.mark.parametrize(
    "thought", ["[1] First, the city.", "{x} is what they want.", "[Note] see", "`x` is it", "[a b"]
)
def test_forced_start_with_a_thought_that_begins_with_a_bracket(thought: str) -> None:
    check(f'{thought}</think>{{"a":1}}', thought, DATA, answer='{"a":1}', starts_in_reasoning=True)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("[1]", [1]),
        ("[1, 2]", [1, 2]),
        ("{}", {}),
        ("[]\n", []),
        ("{a: 1}", DATA),
        ("{'a': 1}", DATA),
        ("[[1]]", [[1]]),
    ],
)
def test_forced_start_with_a_document_alone(text: str, data: Any) -> None:
    check(text, "", data, answer=text, starts_in_reasoning=True)


def test_forced_start_with_an_escaped_document_in_a_thought_that_is_not_closed() -> None:
    """The document in the thought is the answer, also where it is escaped as if inside a string."""
    got = everywhere('Hm, so {\\"a\\": [1]}', starts_in_reasoning=True)
    assert (got.data, got.complete, got.text) == (show({"a": [1]}), True, '{\\"a\\": [1]}')
    assert {"escaped_document", "no_reasoning"} <= got.codes


def test_forced_start_streams_the_answer_at_once() -> None:
    parser = StreamParser(starts_in_reasoning=True)
    assert [event.delta for event in parser.feed('{"a":"x')] == ["x"]


# ---- gpt-oss

START = "<|start|>assistant"
CALL = '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"Paris"}<|call|>'


def calls_of(chunks: list[str], **options: Any) -> list[tuple[str, str, bool]]:
    """(name, arguments, done) of every call in the text."""
    parser = StreamParser(**options)
    found: dict[int, tuple[str, str, bool]] = {}
    for chunk in (*chunks, None):
        if chunk is None:
            parser.close()
        else:
            parser.feed(chunk)
        for piece in parser.take_tool_calls():
            name, arguments, done = found.get(piece.number, (piece.name, "", False))
            assert name == piece.name
            assert not done
            found[piece.number] = (name, arguments + piece.arguments, piece.done)
    return [found[number] for number in range(len(found))]


@pytest.mark.parametrize("family", ["auto", "gpt-oss"])
@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("<|channel|>commentary to=functions.f <|constrain|>json<|message|>", "f"),
        ("<|channel|>commentary to=functions.f<|constrain|>json<|message|>", "f"),
        ("<|channel|>commentary to=functions.f json<|message|>", "f"),
        ("<|channel|>commentary to=functions.f<|message|>", "f"),
        ("<|channel|>analysis to=browser.search code<|message|>", "browser.search"),
        (START + " to=functions.f<|channel|>commentary<|message|>", "f"),
        (START + " to=functions.f<|channel|>commentary json<|message|>", "f"),
    ],
)
def test_tool_call_of_gpt_oss(family: str, header: str, name: str) -> None:
    header = header if START in header else START + header
    text = f'<|channel|>analysis<|message|>abc<|end|>{header}{{"a":"<|call|> b"}}<|call|>'
    wanted = [(name, '{"a":"<|call|> b"}', True)]
    for chunks in ([text], each(text), *two_way(text)):
        assert calls_of(chunks, reasoning=family) == wanted
    got = check(text, "abc", ..., answer="", reasoning=family)
    assert not got.codes


def test_two_tool_calls_with_thought_between() -> None:
    text = (
        f"<|channel|>analysis<|message|>one<|end|>{START}{CALL}"
        f"{START}<|channel|>analysis<|message|>two<|end|>{START}{CALL.replace('Paris', 'Rome')}"
        f'{START}<|channel|>analysis<|message|>three<|end|>{START}<|channel|>final<|message|>{{"a":1}}<|return|>'
    )
    wanted = [("get_weather", '{"city":"Paris"}', True), ("get_weather", '{"city":"Rome"}', True)]
    for chunks in ([text], each(text), *two_way(text)):
        assert calls_of(chunks) == wanted
    check(text, "one\n\ntwo\n\nthree", DATA, answer='{"a":1}')


def test_tool_call_that_is_cut() -> None:
    text = f"{START}{CALL}"[:-12]
    assert calls_of([text]) == calls_of(each(text)) == [("get_weather", '{"city":"Par', False)]


def test_preamble_is_visible_and_not_the_answer() -> None:
    preamble = '<|channel|>commentary<|message|>I try {"a": 0} first.<|end|>'
    final = f'{START}<|channel|>final<|message|>{{"a":1}}<|return|>'
    check(preamble + final, "", DATA, answer='I try {"a": 0} first.\n\n{"a":1}')
    check(preamble + START + CALL, "", ..., answer='I try {"a": 0} first.')
    check(preamble + preamble.replace("0", "2") + final, "", DATA)
    check(preamble + "\n" + final, "", DATA, answer='I try {"a": 0} first.\n\n{"a":1}')


def test_answer_that_was_put_into_the_commentary() -> None:
    check('<|channel|>commentary<|message|>{"a":1}<|end|>', "", DATA, answer='{"a":1}')
    check("<|channel|>commentary<|message|>42<|end|>", "", 42, answer="42")


@pytest.mark.parametrize(
    "end",
    [
        "",
        "<|return|>",
        "<|end|>",
        "<|call|>",
        "<|return|>\n",
        "<|end|><|start|>assist",
        "<|end|><|start|>",
        "<|end|><|im_end|>",
    ],
)
def test_special_tokens_of_gpt_oss_never_reach_the_answer(end: str) -> None:
    for head in ("<|channel|>analysis<|message|>abc<|end|>" + START, "", START):
        text = f'{head}<|channel|>final<|message|>{{"a":1}}{end}'
        check(text, "abc" if "abc" in head else "", DATA, answer='{"a":1}')


def test_gpt_oss_cut_behind_its_thought() -> None:
    header = START + "<|channel|>final<|message|>"
    for end in (0, *range(2, len(header))):
        check("<|channel|>analysis<|message|>abc<|end|>" + header[:end], "abc", ..., answer="")
    check("<|channel|>analysis<|message|>abc<|end|>\n" + header[:-3], "abc", ..., answer="")


def test_plain_answer_of_gpt_oss() -> None:
    check(f'{START}<|message|>{{"a":1}}<|end|>', "", DATA, answer='{"a":1}', reasoning="gpt-oss")


def test_name_of_a_call() -> None:
    """The protocol writes `to=functions.NAME` for the caller's tools, and other namespaces for built-in ones."""
    assert call_name(" to=functions.get_weather<|message|>") == "get_weather"
    assert call_name("<|start|>assistant to=browser.search <|message|>") == "browser.search"
    assert call_name("<|tool|>") == ""


def test_kinds_of_a_preamble() -> None:
    """The first piece of a text beside the answer is told from those that go on with it."""
    splitter = Splitter(wanted_family("gpt-oss"))
    opener = "<|channel|>commentary<|message|>"
    found = [piece for chunk in (opener, "ab", "cd", "ef<|end|>") for piece in splitter.feed(chunk)]
    assert found + splitter.close() == [(0, opener), (5, "ab"), (4, "cd"), (4, "ef"), (0, "<|end|>")]


# ---- the turn


def turn_of(chunks: list[str], *before: Any, **options: Any) -> Turn:
    turn = Turn(ParserOptions(**options))
    told: list[Any] = []
    for event in (*before, *(TextDelta(text=chunk) for chunk in chunks), Finish(reason="stop", mapped="stop")):
        told += turn.feed(event)
    told += turn.close()
    calls = [message.data for message in told if message.event == "tool_calls"]
    assert turn.response is not None
    assert [call.name for call in calls] == [call.name for call in turn.response.tool_calls]
    return turn


def test_inline_tool_calls_are_those_of_the_response() -> None:
    preamble = f"<|channel|>commentary<|message|>I look.<|end|>{START}"
    text = f"<|channel|>analysis<|message|>abc<|end|>{START}{preamble}{CALL}"
    for chunks in ([text], each(text)):
        response = turn_of(chunks).response
        assert response is not None
        (call,) = response.tool_calls
        assert (call.name, call.arguments, call.raw_arguments, call.complete) == (
            "get_weather",
            {"city": "Paris"},
            '{"city":"Paris"}',
            True,
        )
        assert (response.reasoning, response.text, response.finish_reason) == ("abc", "I look.", "tool_calls")
        assert response.complete
        assert response.data is None


def test_inline_tool_call_streams_its_fields() -> None:
    turn = Turn()
    told = [message for piece in each(CALL) for message in turn.feed(TextDelta(text=piece))]
    fields = [message.data for message in told if message.event == "instant"]
    assert "".join(event.delta for event in fields if event.path == "city" and event.delta) == "Paris"
    assert {event.source for event in fields} == {"call_0"}


def test_cut_inline_tool_call_is_not_complete() -> None:
    turn = Turn()
    turn.feed(TextDelta(text=CALL[:-12]))
    turn.close()
    assert turn.response is not None
    (call,) = turn.response.tool_calls
    assert (call.arguments, call.complete) == ({"city": "Par"}, False)


def test_reasoning_from_a_field_and_inline() -> None:
    for chunks in (['<think>inline</think>{"a":1}'], each('<think>inline</think>{"a":1}')):
        response = turn_of(chunks, ReasoningDelta(text="native")).response
        assert response is not None
        assert (response.reasoning, response.text, response.data) == ("native\n\ninline", '{"a":1}', {"a": 1})


# ---- custom delimiters


def test_none_is_looked_for() -> None:
    """The tags are text round the document."""
    text = '<think>a</think>{"b": 1}</think>'
    parser = StreamParser(reasoning=None)
    assert (parser.reasoning_done, parser.has_reasoning) == (True, False)
    for chunk in each(text):
        parser.feed(chunk)
    parsed = parser.close()
    assert (parsed.reasoning, parsed.text, parsed.data) == ("", text, {"b": 1})
    assert everywhere(text, reasoning=None).data == show({"b": 1})


@pytest.mark.parametrize("opener", ["{", '{"think":', "re:[{]"])
def test_opener_like_the_beginning_of_a_document(opener: str) -> None:
    text = '{"think":1}[2]'
    begin = 9 if "think" in opener else 1
    assert everywhere(text, reasoning=(opener, "}")).data == show([2])
    parser = StreamParser(reasoning=(opener, "}"))
    parser.feed(text)
    assert (parser.close().reasoning, parser.has_reasoning) == (text[begin:10], True)


@pytest.mark.parametrize("chunk", ['{"a', '{"a": 1}', '{"a": 1} x'])
def test_no_reasoning_can_come_any_more(chunk: str) -> None:
    """Once the answer has begun."""
    parser = StreamParser()
    assert (parser.reasoning_done, parser.status) == (False, "waiting")
    parser.feed(chunk)
    assert (parser.reasoning_done, parser.has_reasoning) == (True, False)
    assert parser.status == ("closed" if "}" in chunk else "streaming")


def test_custom_pairs() -> None:
    check('<<abc>>{"a":1}', "abc", DATA, reasoning=("<<", ">>"))
    check('[[abc]]{"a":1}', "abc", DATA, reasoning=[("<<", ">>"), ("[[", "]]")])
    check('(((abc)))(((def))){"a":1}', "abc\n\ndef", DATA, reasoning=("(((", ")))"))


def test_custom_expressions() -> None:
    pair = (r"re:(?P<x>#{2,3}) (T|t)hought(s)?\n", r"re:(#{2,3}) (?:answer|result)\n")
    check('## thoughts\nabc # d ## e\n### result\n{"a":1}', "abc # d ## e", DATA, reasoning=pair)
    check('# thought\n{"a":1}', "", DATA, reasoning=pair)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ("no-such-family", "no-such-family"),
        (("<a>",), "<a>"),
        (("", "x"), "'', 'x'"),
        ((" ", "x"), "' ', 'x'"),
        ([("a", "b"), "c"], "'c'"),
        ([("a", "b", "c")], "'c'"),
        (5, "5"),
        (("re:(", "x"), "re:("),
        (("re:x*", "y"), "re:x*"),
        (("y", "re:x*"), "re:x*"),
        ([], "no delimiters"),
        ([("a", 1)], "1"),
    ],
)
def test_wrong_delimiters(wrong: Any, named: str) -> None:
    with pytest.raises(UsageError) as caught:
        StreamParser(reasoning=wrong)
    assert named in caught.value.message
    assert caught.value.expected or caught.value.hint


def test_wrong_family_names_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        as_family("no-such-family")
    assert set(str(caught.value.expected).split(", ")) == {"auto", *WRITTEN}
    assert "(opener, closer)" in str(caught.value.hint)


@pytest.mark.parametrize("wrong", [5, []])
def test_wrong_delimiters_say_what_is_expected(wrong: Any) -> None:
    with pytest.raises(UsageError, match=r'expected "auto" or \("<think>", "</think>"\)'):
        as_family(wrong)


def test_an_expression_that_matches_some_text_is_taken() -> None:
    check('xxxabcyy{"a":1}', "abc", DATA, reasoning=("re:x{3}", "re:y+"))


# ---- the splitter itself


def soup(seed: int) -> str:
    parts = [
        *(
            "<think>",
            "</think>",
            "<",
            "</",
            "think",
            ">",
            " ",
            "\n",
            "x",
            '{"a":1}',
            "<|",
            "|>",
            "<response>",
            "</response>",
        ),
        *(
            "<|channel|>",
            "analysis",
            "final",
            "commentary",
            "<|message|>",
            "<|end|>",
            START,
            " to=functions.f",
            "<|call|>",
        ),
        *("[THINK]", "[/THINK]", "<tool_call>", "<|START_RESPONSE|>", "<|END_RESPONSE|>", "```", "\ufeff"),
    ]
    source = random.Random(seed)
    return "".join(source.choice(parts) for _ in range(source.randint(1, 24)))


def split(text: str, chunks: list[str], **options: Any) -> list[tuple[int, str]]:
    """The pieces, neighbours of one kind joined, the first of a block told by its kind."""
    splitter = Splitter(wanted_family("auto"), **options)
    found = [piece for chunk in chunks for piece in splitter.feed(chunk)] + splitter.close()
    assert "".join(piece for _, piece in found) == text, "the pieces are not the text"
    assert splitter.held == ""
    merged: list[tuple[int, str]] = []
    going_on = {1: (1, 3), 4: (4, 5)}
    for kind, piece in found:
        if merged and merged[-1][0] in going_on.get(kind, (kind,)):
            merged[-1] = (merged[-1][0], merged[-1][1] + piece)
        else:
            merged.append((kind, piece))
    return merged


@pytest.mark.parametrize("seed", range(300))
def test_pieces_are_the_text_and_the_same_for_every_split(seed: int) -> None:
    text = soup(seed)
    options = {"starts_inside": seed % 3 == 0, "held": (4096, 20, 3)[seed % 5 % 3]}
    whole = split(text, [text], **options)
    for chunks in (each(text), *two_way(text), *at_random(text, str(seed), times=5)):
        assert split(text, chunks, **options) == whole, (text, chunks)


HEAD = "<|channel|>analysis<|message|>"
FINAL = "<|channel|>final<|message|>"
PREAMBLE = "<|channel|>commentary<|message|>"
TO = "<|channel|>commentary␣to=functions.f<|message|>"
KINDS = {"skip": 0, "answer": 2, "thought": 3, "aside": 5, "call": 6, "arguments": 7, "end": 8}


@pytest.mark.parametrize(
    ("family", "inside", "wanted_pieces", "found", "blocks"),
    [
        ("auto", False, "skip:<think> thought:a skip:</think> answer:b", "closed", 1),
        ("auto", False, "skip:␣<think>␣ thought:a␣a skip:␣</think>␣ answer:b␣", "closed", 1),
        ("auto", False, "skip:<think>␣<think>␣ thought:a", "unclosed", 1),
        ("auto", False, "skip:<think><think><think> thought:a skip:␣", "unclosed", 1),
        ("auto", False, "skip:<think> thought:a skip:</think><think> thought:b skip:</think> answer:c", "closed", 2),
        ("auto", False, "skip:<think></think></think> answer:c", "closed", 1),
        ("auto", False, "skip:␣</think>␣ answer:a", "missing", 0),
        ("auto", False, "answer:␣a<think>b</think>", "", 0),
        ("auto", False, "answer:␣", "", 0),
        ("auto", False, "answer:<answer>a</answer>", "", 0),
        ("hunyuan", False, "skip:<answer> answer:a skip:</answer>", "", 0),
        ("hunyuan", False, "skip:<answer> answer:a</answer>b", "", 0),
        ("qwen", False, "skip:<think> thought:a answer:<tool_call>b", "closed", 1),
        ("qwen", False, "skip:<think> thought:a skip:␣ answer:<tool_call>b", "closed", 1),
        ("auto", True, "thought:a skip:</think> answer:b", "closed", 1),
        ("auto", True, "skip:␣ thought:a skip:␣", "unclosed", 1),
        ("auto", True, "skip:␣</think>␣ answer:b", "closed", 1),
        ("auto", True, "skip:<think> thought:a skip:</think> answer:b", "closed", 1),
        ("auto", True, "skip:<think></think><think> thought:a skip:</think> answer:b", "closed", 2),
        ("auto", True, 'answer:{"a":1}</think>', "missing", 0),
        ("auto", True, "answer:[1]", "missing", 0),
        ("auto", True, "answer:␣[1]␣", "missing", 0),
        ("auto", True, "thought:[1]x", "unclosed", 1),
        ("auto", True, "thought:a answer:<tool_call>b", "closed", 1),
        ("cohere", True, "skip:<|START_RESPONSE|> answer:a skip:<|END_RESPONSE|>", "missing", 0),
        ("cohere", True, "skip:␣<|START_TEXT|> answer:a", "missing", 0),
        ("cohere", True, "thought:a skip:<|START_RESPONSE|> answer:b skip:<|END_RESPONSE|>", "closed", 1),
        ("cohere", False, "skip:<|START_RESPONSE|> answer:a<|END_RESPONSE|>b skip:<|END_RESPONSE|>␣<|x|>␣", "", 0),
        ("cohere", False, "skip:<|START_RESPONSE|> answer:a skip:<|END_RESPONSE|><|y|><|END_OF_T", "", 0),
        ("cohere", False, "skip:<|START_RESPONSE|> answer:a<|END_RESPONSE|><|y|>b", "", 0),
        ("cohere", False, "skip:<|START_THINKING|> thought:a skip:<|START_TEXT|> answer:b", "closed", 1),
        ("cohere", False, "skip:<|START_THINKING|> thought:a<|START_THINKING|>b", "unclosed", 1),
        ("ernie", False, "skip:<response> answer:a<tool_call>b skip:</response>", "", 0),
        ("inkling", True, "thought:a skip:<|content_text|> answer:b skip:<|end_message|>", "closed", 1),
        ("inkling", False, "skip:<|content_text|> answer:b<|content_thinking|>", "", 0),
        ("gpt-oss", False, f"skip:{HEAD} thought:a skip:<|end|>", "closed", 1),
        ("gpt-oss", False, f"skip:{HEAD} thought:a skip:<|end|>␣<|start|>assis", "closed", 1),
        ("gpt-oss", False, f"skip:{HEAD} thought:a skip:<|end|>␣ answer:<", "closed", 1),
        ("gpt-oss", False, f"skip:{HEAD} thought:a skip:{FINAL} answer:b skip:<|return|>", "closed", 1),
        ("gpt-oss", False, f"skip:{PREAMBLE} aside:a skip:{FINAL} answer:b", "", 0),
        ("gpt-oss", False, f"skip:{PREAMBLE} aside:a skip:<|end|>{PREAMBLE} aside:b skip:<|end|>", "", 0),
        ("gpt-oss", False, f"skip:{PREAMBLE} aside:a<|end|>b skip:<|end|>{FINAL} answer:c", "", 0),
        ("gpt-oss", False, f"skip:{PREAMBLE} aside:<b skip:<|end|>␣{FINAL} answer:c", "", 0),
        ("gpt-oss", False, f"call:{TO} arguments:{{}} end:<|call|>", "", 0),
        ("gpt-oss", False, f"call:{TO} end:<|call|> skip:{FINAL} answer:a", "", 0),
        ("gpt-oss", False, f"call:{TO} arguments:{{}}{HEAD}x", "", 0),
        ("gpt-oss", False, f"skip:{HEAD} thought:a call:{TO} arguments:{{}} end:<|call|>", "closed", 1),
        ("gpt-oss", True, f"call:{TO} arguments:{{}} end:<|call|>", "missing", 0),
        ("gpt-oss", True, f"thought:a skip:{FINAL} answer:b", "closed", 1),
    ],
)
def test_pieces(family: str, inside: bool, wanted_pieces: str, found: str, blocks: int) -> None:
    """A closer, an opener and the white space round them (`␣`) are no text of either side."""
    rows = [part.split(":", 1) for part in wanted_pieces.split()]
    wanted = [(KINDS[kind], text.replace("␣", " ")) for kind, text in rows]
    text = "".join(piece for _, piece in wanted)
    for chunks in ([text], each(text), *two_way(text)):
        splitter = Splitter(wanted_family(family), starts_inside=inside)
        assert (splitter.found, splitter.blocks, splitter.guessed) == ("", 0, inside)
        told = [piece for chunk in chunks for piece in splitter.feed(chunk)] + splitter.close()
        merged: list[tuple[int, str]] = []
        for kind, piece in told:
            if merged and (merged[-1][0] == kind or (merged[-1][0], kind) in ((3, 1), (5, 4))):
                merged[-1] = (merged[-1][0], merged[-1][1] + piece)
            else:
                merged.append((kind, piece))
        assert merged == wanted, chunks
        assert (splitter.found, splitter.blocks, splitter.held) == (found, blocks, "")
        assert splitter.guessed is (inside and found == "unclosed" and "skip:<" not in wanted_pieces)


def test_copies_of_a_splitter_go_on_alike() -> None:
    text = f" <think> <think>a</think>{HEAD}b<|end|>{PREAMBLE}c<|end|>{TO}{{}}<|call|>{FINAL}d<|return|><|x|> ".replace(
        "␣", " "
    )
    whole = split(text, [text])
    for cut in range(len(text)):
        for fresh in (lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy):
            splitter = Splitter(wanted_family("auto"))
            told = splitter.feed(text[:cut])
            state = {name: getattr(splitter, name) for name in Splitter.__slots__}
            other = fresh(splitter)
            assert {name: getattr(other, name) for name in Splitter.__slots__} == state
            told += other.feed(text[cut:]) + other.close()
            assert "".join(piece for _, piece in told) == text
            kinds = {1: 3, 4: 5}
            assert [(kinds.get(kind, kind), piece) for kind, piece in told if kind != 0][-1] == whole[-2]


@pytest.mark.parametrize("spaces", range(495, 514))
def test_what_confirms_a_closer_is_looked_for_in_a_window(spaces: int) -> None:
    """What is cut by its end confirms nothing, and may be a closer itself."""
    opener, closer = "<|START_RESPONSE|>", "<|END_RESPONSE|>"
    for behind in ("", "<|x|>"):
        text = f"{opener}a{closer}{' ' * spaces}<|b {closer}{behind}"
        for chunks in ([text], each(text)):
            assert split(text, chunks)[-1] == (0, closer + behind)
        text = f"{opener}a{closer}{' ' * spaces}{closer}{behind}"
        whole = split(text, [text])
        assert whole == split(text, each(text))
        assert whole[-1] == (0, f"{closer}{' ' * spaces}{closer}{behind}"[-len(whole[-1][1]) :])
        assert whole[1][1] in ("a", f"a{closer}{' ' * spaces}")


def test_wrong_delimiters_say_what_would_be_right() -> None:
    for wrong, expected, hint in (
        ([], '"auto" or ("<think>", "</think>")', "None looks for no reasoning."),
        (("re:x*", "y"), "some text", None),
        (("re:(", "y"), None, "Without re: in front it is taken as it is written."),
    ):
        with pytest.raises(UsageError) as caught:
            as_family(wrong)
        assert (caught.value.expected, caught.value.hint) == (expected, hint)


@pytest.mark.parametrize("spaces", [0, 1, 7, 8, 9, 10, 19, 27, 28])
def test_held_white_space_is_bounded_and_the_same_for_every_split(spaces: int) -> None:
    """What is not too long to be held is dropped; what is, is kept (in part behind a thought)."""
    space = " " * spaces
    kept = space if spaces > 8 else ""

    def texts_of(text: str) -> tuple[str, str]:
        """Thought and answer."""
        whole = split(text, [text], held=8)
        for chunks in (each(text), *two_way(text)):
            assert split(text, chunks, held=8) == whole
        thought = "".join(piece for kind, piece in whole if kind in (1, 3))
        return thought, "".join(piece for kind, piece in whole if kind == 2)

    before = f"{space}<think>a</think>{{}}"
    assert texts_of(before) == (("", before) if kept else ("a", "{}"))
    assert texts_of(f"<think>{space}a</think>{{}}") == (f"{kept}a", "{}")
    assert texts_of(f"<think>a</think>{space}{{}}") == ("a", f"{kept}{{}}")
    thought, answer = texts_of(f"<think>a{space}</think>{{}}")
    assert (thought.rstrip(), answer) == ("a", "{}")
    assert (thought != "a") == bool(kept)


def test_openers_far_apart() -> None:
    check(f'<think>{" " * 4000}<think>abc</think>{{"a":1}}', "abc", DATA)


def test_a_delimiter_that_is_too_long_does_not_count() -> None:
    """The first one that fits into what may be held does."""
    text = "<a>.xxxxxy"
    for chunks in ([text], each(text), *two_way(text)):
        splitter = Splitter(wanted_family(("<a>", "re:x{1,20}y")), held=3)
        found = [piece for chunk in chunks for piece in splitter.feed(chunk)] + splitter.close()
        assert "".join(piece for kind, piece in found if kind in (1, 3)) == ".xxx"


@pytest.mark.parametrize("held", [4, 5, 4096])
def test_a_delimiter_that_is_just_short_enough_counts(held: int) -> None:
    text = "<aa><aa>x<bb>y"
    for chunks in ([text], each(text), *two_way(text)):
        splitter = Splitter(wanted_family(("<aa>", "<bb>")), held=held)
        found = [piece for chunk in chunks for piece in splitter.feed(chunk)] + splitter.close()
        assert "".join(piece for kind, piece in found if kind in (1, 3)) == "x"
        assert "".join(piece for kind, piece in found if kind == 2) == "y"


def test_blocks_are_counted() -> None:
    for text, inside, count in (
        ("<think>a</think><think>b</think>x", False, 2),
        ("a</think>x", True, 1),
        ("<think>a</think>x", True, 1),
        ("</think>x", True, 1),
        ("</think>x", False, 0),
        ("x", False, 0),
    ):
        splitter = Splitter(wanted_family("auto"), starts_inside=inside)
        splitter.feed(text)
        assert splitter.blocks == count


def test_parser_in_the_middle_of_a_delimiter_pickles_and_copies() -> None:
    text = f"<|channel|>analysis<|message|>abc<|end|>{START}{CALL}{START}<|channel|>final<|message|>{ANSWER}<|return|>"
    for cut in range(0, len(text), 3):
        parser = StreamParser()
        parser.feed(text[:cut])
        for other in (pickle.loads(pickle.dumps(parser)), copy.deepcopy(parser)):
            other.feed(text[cut:])
            parsed = other.close()
            assert (parsed.data, parsed.reasoning, parsed.text) == (VALUE, "abc", ANSWER)


def test_plain_answer_goes_straight_to_the_machine() -> None:
    for text in (ANSWER, "<think>abc</think>" + ANSWER, "Here: " + ANSWER):
        parser = StreamParser()
        parser.feed(text[: text.index("Paris")])
        assert parser._direct


def test_status_and_reasoning_done() -> None:
    parser = StreamParser()
    assert (parser.status, parser.has_reasoning, parser.reasoning_done) == ("waiting", False, False)
    parser.feed("<think>a")
    assert (parser.status, parser.has_reasoning, parser.reasoning_done) == ("reasoning", True, False)
    assert parser.take_reasoning() == "a"
    parser.feed("b</think>")
    assert (parser.take_reasoning(), parser.take_reasoning()) == ("b", "")
    parser.feed("{")
    assert parser.reasoning_done


def test_reasoning_counts_to_the_size_of_the_document() -> None:
    parser = StreamParser(limits=Limits(document=100))
    parser.feed("<think>" + "x" * 200)
    assert isinstance(parser.error, LimitExceeded)


# ---- linear: the bound of 30 s only tells it from quadratic, which would take hours

MANY = 200_000
LONG = {
    "openers": "<" * MANY,
    "reasoning with near-closers": "<think>" + "</thin </think </ think" * (MANY // 23),
    "reasoning of openers": "<think>" + "<" * MANY,
    "harmony near-closers": "<|channel|>analysis<|message|>" + "<|en<|end" * (MANY // 9),
    "final with closers": "<|channel|>final<|message|>" + "<|end|>" * (MANY // 7),
    "final with closers and spaces": "<|channel|>final<|message|>" + "<|end|> x" * (MANY // 9),
    "blocks": "<think>a</think>" * (MANY // 16),
    "spaces before": " " * MANY,
    "spaces inside": "<think>a" + " " * MANY,
    "spaces in a tag": "<think" + " " * MANY,
    "attributes": "<think" + ' a="b"' * (MANY // 6),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_long_reasoning_is_linear(name: str) -> None:
    """What is held is bounded, and the test ends: quadratic work would take hours."""
    for text, size in ((LONG[name], MANY + 100), (LONG[name], 1000), (LONG[name][: MANY // 5], 7)):
        splitter = Splitter(wanted_family("auto"))
        most = total = 0
        for chunk in pieces(text, list(range(size, len(text), size))):
            total += sum(len(piece) for _, piece in splitter.feed(chunk))
            most = max(most, len(splitter._buffer))
        total += sum(len(piece) for _, piece in splitter.close())
        assert total == len(text)
        assert most <= 4096
