"""Hypothesis strategies: JSON values, the many ways to write one, text of models, and noise."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

# Text that has once broken a parser of this kind, as the content of a string.
TRICKY = [
    "",
    "```json\n{}\n```",
    "<think>x</think>",
    '{"a":1}',
    '","b":"',
    'say "hi", he said',
    "C:\\new\\\\x",
    "\\u0041",
    "a/b",
    "\u2028\u2029\u0000\u001f\u007f\ufeff",
    "é你😀👩‍👩‍👧",
    "true",
    "12",
    "...",
    "// no comment /* */ #",
    "}],",
    "'`“”",
]
TRICKY_KEYS = ["", "*", "a.b", "0", "a b", "[0]", '"', "é", "$ref", "__proto__", "a", "b"]

characters = st.characters(exclude_categories=["Cs"])
strings = st.one_of(st.sampled_from(TRICKY), st.text(characters, max_size=20), st.text('ab"\\{}[]:,\n', max_size=12))
keys = st.one_of(st.sampled_from(TRICKY_KEYS), st.text(characters, max_size=6))
floats = st.floats(allow_nan=False, allow_infinity=False)
integers = st.one_of(st.integers(-100, 100), st.integers(-(10**60), 10**60))
leaves = st.one_of(st.none(), st.booleans(), integers, floats, strings)


def _containers(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.lists(children, max_size=5), st.dictionaries(keys, children, max_size=5))


values = st.recursive(leaves, _containers, max_leaves=20)
"""Any JSON value."""
containers = _containers(values)
"""An object or an array."""

STYLES: list[dict[str, Any]] = [
    {"separators": (",", ":")},
    {},
    {"indent": 2},
    {"indent": "\t", "separators": (" , ", " :\t")},
]
styles = st.builds(lambda style, ascii_: {**style, "ensure_ascii": ascii_}, st.sampled_from(STYLES), st.booleans())
"""Keyword arguments of `json.dumps`: separators, indentation and escapes."""

_SPACE = st.sampled_from(["", "", "", " ", "\n", "\t", "\r\n", "  "])
_NUMBERS = st.from_regex(r"\A-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,3})?\Z")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@st.composite
def spelled_string(draw: st.DrawFn) -> str:
    """A JSON string in which each character is raw, a short escape or `\\u`, as chance will have it."""
    out = []
    for character in draw(strings):
        units = character.encode("utf-16-be")
        escape = "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
        raw_is_allowed = character >= " " and character not in '"\\'
        how = draw(st.integers(0, 3))
        if how == 0:
            out.append(escape if draw(st.booleans()) else escape.upper().replace("\\U", "\\u"))
        elif how == 1 or not raw_is_allowed:
            out.append(_ESCAPES.get(character, character if raw_is_allowed else escape))
        else:
            out.append(character)
    return '"' + "".join(out) + '"'


@st.composite
def _spelled_array(draw: st.DrawFn, items: st.SearchStrategy[str]) -> str:
    inside = ",".join(draw(_SPACE) + item + draw(_SPACE) for item in draw(st.lists(items, max_size=4)))
    return "[" + (inside or draw(_SPACE)) + "]"


@st.composite
def _spelled_object(draw: st.DrawFn, items: st.SearchStrategy[str]) -> str:
    names = st.one_of(st.sampled_from([json.dumps(key) for key in TRICKY_KEYS]), spelled_string())
    members = draw(st.lists(st.tuples(names, items), max_size=4))
    spaced = [draw(_SPACE) + name + draw(_SPACE) + ":" + draw(_SPACE) + item + draw(_SPACE) for name, item in members]
    return "{" + (",".join(spaced) or draw(_SPACE)) + "}"


spelled = st.builds(
    lambda before, text, after: before + text + after,
    _SPACE,
    st.recursive(
        st.one_of(_NUMBERS, spelled_string(), st.sampled_from(["true", "false", "null"])),
        lambda items: st.one_of(_spelled_array(items), _spelled_object(items)),
        max_leaves=12,
    ),
    _SPACE,
)
"""RFC 8259 text in any spelling: white space, escapes, number forms, duplicate keys."""

json_texts = st.one_of(spelled, st.builds(lambda value, style: json.dumps(value, **style), values, styles))
"""RFC 8259 text."""

_TOKENS = [
    *"{}[]:,\"'\\ \n\t-01.eab`=;+()<>#é😀",
    *[
        "true",
        "fals",
        "null",
        "None",
        "NaN",
        "```",
        "```json\n",
        "~~~\n",
        "json",
        "<think>",
        "</think>",
        "</thi",
        "//",
        "/*",
    ],
    *[
        "*/",
        "...",
        "\\u",
        "d83d",
        "\\ude00",
        '\\"',
        '"a":',
        '{"a":1}',
        '["x"',
        "“",
        "”",
        "\ufeff",
        "1e400",
        "--",
        '","',
        '":"',
    ],
]
noise = st.lists(st.sampled_from(_TOKENS), max_size=25).map("".join)
"""Text made of the pieces that mean something to the parser."""


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """RFC 8259 text with a few characters taken out, doubled or replaced."""
    text = draw(json_texts)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(text)))
        put = draw(st.sampled_from(["", *_TOKENS]))
        text = text[:place] + put + text[place + draw(st.integers(0, 2)) :]
    return text


@st.composite
def enveloped(draw: st.DrawFn) -> str:
    """A document as a model hands it over: reasoning, prose, a fence, an end token; some of it cut off."""
    text = draw(st.one_of(json_texts, damaged()))
    if draw(st.booleans()):
        text = (
            draw(st.sampled_from(["```json\n", "```\n", "~~~\n"]))
            + text
            + draw(st.sampled_from(["\n```", "\n~~~", ""]))
        )
    before = [
        "",
        "",
        "Sure! Here's the {name} [1]:\n",
        '<think>why {"a":0}?</think>\n\n',
        "<think>open ",
        "<thin",
        "\ufeff",
    ]
    after = ["", "", "\nHope that helps! {x}", "<|im_end|>", '\n{"b":2}', "}", ";"]
    text = draw(st.sampled_from(before)) + text + draw(st.sampled_from(after))
    return text[: draw(st.integers(0, len(text)))] if draw(st.integers(0, 3)) == 0 else text


any_texts = st.one_of(json_texts, damaged(), enveloped(), noise)
"""Whatever may come out of a model."""
dialects = st.sampled_from(["llm", "strict", "json5"])

spoiled_bytes = st.one_of(
    st.binary(max_size=30),
    st.builds(
        lambda text, bad, share: (
            text.encode()[: int(share * len(text))] + bad + text.encode()[int(share * len(text)) :]
        ),
        any_texts,
        st.binary(min_size=1, max_size=3),
        st.floats(0, 1),
    ),
)
"""Bytes, most of them no UTF-8."""
