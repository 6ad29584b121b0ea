"""Break a valid document in one way that the catalogue of repairs knows, and say what the right value still is.

A document is a list of tokens. A mutation changes how some of them are *written*; what they *mean* stays in `right`,
and the right value is `json.loads` of that. Documents are made of plain words, so that the right value is beyond
dispute.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hypothesis import assume
from hypothesis import strategies as st

WORDS = ["alpha", "beta", "gamma delta", "é", "zeta, eta", "it is", "it's", "größe", "x1", "你好"]
KEYS = ["name", "note_1", "items", "größe", "b", "Total", "k2", "list", "sub"]

_text = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
_leaves = st.one_of(_text, _text, st.integers(-999, 999), st.booleans(), st.none(), st.sampled_from([0.5, -2.25, 1e20]))
_nested = st.recursive(
    _leaves,
    lambda items: st.one_of(
        st.lists(items, max_size=4), st.dictionaries(st.sampled_from(KEYS), items, max_size=4), st.just(""), st.just({})
    ),
    max_leaves=10,
)
objects = st.dictionaries(st.sampled_from(KEYS), _nested, min_size=1, max_size=5)
arrays = st.lists(st.one_of(_text, objects), min_size=1, max_size=4)
rich = st.builds(
    lambda first, members, last: {"first": first, **members, "all": ["alpha", None, 5, {"b": "x1"}, [True], last]},
    _leaves,
    objects,
    _text,
)
documents = st.one_of(rich, rich, objects, arrays)
"""Half of them hold a bit of everything, so that each mutation finds its place."""


@dataclass
class Token:
    """`kind`: one of `{ } [ ] , :`, or `key`, `string`, `number`, `literal`. `inside`: the brackets around it,
    outermost first."""

    kind: str
    written: str
    inside: str
    right: str = field(default="")

    def __post_init__(self) -> None:
        self.right = self.right or self.written

    @property
    def is_leaf(self) -> bool:
        return self.kind in ("string", "number", "literal")


class Broken(NamedTuple):
    """A broken text and the right value."""

    text: str
    data: Any


def tokens(value: Any, inside: str = "") -> list[Token]:
    """The tokens of a value."""
    if isinstance(value, dict):
        out = [Token("{", "{", inside)]
        for index, (key, member) in enumerate(value.items()):
            if index:
                out.append(Token(",", ",", inside + "{"))
            out += [Token("key", json.dumps(key, ensure_ascii=False), inside + "{"), Token(":", ":", inside + "{")]
            out += tokens(member, inside + "{")
        return [*out, Token("}", "}", inside)]
    if isinstance(value, list):
        out = [Token("[", "[", inside)]
        for index, item in enumerate(value):
            if index:
                out.append(Token(",", ",", inside + "["))
            out += tokens(item, inside + "[")
        return [*out, Token("]", "]", inside)]
    kind = "string" if isinstance(value, str) else "literal" if value is None or isinstance(value, bool) else "number"
    return [Token(kind, json.dumps(value, ensure_ascii=False), inside)]


Mutation = Callable[[st.DrawFn, list[Token]], None]


def _pick(draw: st.DrawFn, row: list[Token], fits: Callable[[int], bool]) -> int:
    """The index of some token that fits; without one, the example is given up."""
    indexes = [index for index in range(len(row)) if fits(index)]
    assume(indexes)
    return draw(st.sampled_from(indexes))


def _write(draw: st.DrawFn, row: list[Token], kind: str, written: Callable[[str], str]) -> None:
    """Write some token of `kind` in another way."""
    token = row[_pick(draw, row, lambda i: row[i].kind == kind)]
    token.written = written(token.right)


def drop_comma(draw: st.DrawFn, row: list[Token]) -> None:
    """In an array only where both neighbours have quotes or brackets; two bare numbers might be one bare text."""
    enclosed = {"string", "]", "}"}, {"string", "[", "{"}

    def fits(i: int) -> bool:
        if row[i].kind != ",":
            return False
        return row[i].inside[-1] == "{" or (row[i - 1].kind in enclosed[0] and row[i + 1].kind in enclosed[1])

    row[_pick(draw, row, fits)].written = draw(st.sampled_from([" ", "\n", "\n  "]))


def add_comma(draw: st.DrawFn, row: list[Token]) -> None:
    _write(draw, row, ",", lambda _: draw(st.sampled_from([",,", ", ,", ",\n,"])))


def leading_comma(draw: st.DrawFn, row: list[Token]) -> None:
    """Not at the start of a root array: `[,` at the start of an answer is no document yet."""
    opened = _pick(
        draw,
        row,
        lambda i: row[i].kind in ("{", "[") and row[i + 1].kind not in ("}", "]") and (i > 0 or row[i].kind == "{"),
    )
    row[opened].written += ","


def trailing_comma(draw: st.DrawFn, row: list[Token]) -> None:
    closed = _pick(draw, row, lambda i: row[i].kind in ("}", "]") and row[i - 1].kind not in ("{", "["))
    row[closed].written = draw(st.sampled_from([",", ", ", ",\n"])) + row[closed].written


def _quotes(left: str, right: str) -> Mutation:
    def change(draw: st.DrawFn, row: list[Token]) -> None:
        quoted = [token for token in row if token.kind in ("key", "string")]
        assume(quoted)
        everywhere = draw(st.booleans())
        for token in quoted if everywhere else [draw(st.sampled_from(quoted))]:
            token.written = left + json.loads(token.right).replace(right, "\\" + right) + right

    return change


def raw_control_character(draw: st.DrawFn, row: list[Token]) -> None:
    raw = draw(st.sampled_from(["\n", "\t", "\r", "\r\n", "\n\n", "\x01"]))
    _insert(draw, row, raw, json.dumps(raw)[1:-1])


def unescaped_quote(draw: st.DrawFn, row: list[Token]) -> None:
    """A quoted word inside a string, with text after it; before a comma too."""
    raw = draw(
        st.sampled_from(
            ['so "hi" said', 'the "b", then c', '"word" of', 'a "b" and "c d" too', '5" wide', 'say "x". Then']
        )
    )
    token = row[_pick(draw, row, lambda i: row[i].kind == "string")]
    content = json.loads(token.right)
    text = f"{content} {raw} end" if content else f"q {raw} end"
    token.written, token.right = f'"{text}"', json.dumps(text)


def _insert(draw: st.DrawFn, row: list[Token], written: str, right: str) -> None:
    """Put something into the middle of a string: written one way, meant the other."""
    token = row[_pick(draw, row, lambda i: row[i].kind == "string")]
    content = token.right[1:-1]
    place = draw(st.integers(0, len(content)))
    token.written = f'"{content[:place]}{written}{content[place:]}"'
    token.right = f'"{content[:place]}{right}{content[place:]}"'


def invalid_escape(draw: st.DrawFn, row: list[Token]) -> None:
    escape = draw(st.sampled_from(["\\_", "\\H", "\\(", "\\d", "\\*", "\\ "]))
    _insert(draw, row, escape, "\\" + escape)


def escaped_apostrophe(draw: st.DrawFn, row: list[Token]) -> None:
    _insert(draw, row, "\\'", "'")


def hex_escape(draw: st.DrawFn, row: list[Token]) -> None:
    _insert(draw, row, "\\x41", "A")


def broken_unicode_escape(draw: st.DrawFn, row: list[Token]) -> None:
    _insert(draw, row, "\\u00zz", "\\\\u00zz")


def line_continuation(draw: st.DrawFn, row: list[Token]) -> None:
    token = row[_pick(draw, row, lambda i: row[i].kind == "string")]
    place = draw(st.integers(1, len(token.right) - 1))
    token.written = token.right[:place] + "\\\n" + token.right[place:]


def string_concatenation(draw: st.DrawFn, row: list[Token]) -> None:
    token = row[_pick(draw, row, lambda i: row[i].kind == "string")]
    place = draw(st.integers(1, len(token.right) - 1))
    plus = draw(st.sampled_from([" + ", "+", " +\n  "]))
    token.written = f'{token.right[:place]}"{plus}"{token.right[place:]}'


def triple_quotes(draw: st.DrawFn, row: list[Token]) -> None:
    token = row[_pick(draw, row, lambda i: row[i].kind == "string" and len(row[i].right) > 2)]
    text = json.loads(token.right) + draw(st.sampled_from(["\nsay", ' "hi" there', "\n", ""]))
    token.written, token.right = f'"""{text}"""', json.dumps(text)


def python_literal(draw: st.DrawFn, row: list[Token]) -> None:
    names = {"true": "True", "false": "False", "null": "None"}
    _write(draw, row, "literal", lambda right: names[right])


def js_literal(draw: st.DrawFn, row: list[Token]) -> None:
    token = row[_pick(draw, row, lambda i: row[i].right == "null")]
    token.written = "undefined"


def non_finite(draw: st.DrawFn, row: list[Token]) -> None:
    _write(draw, row, "number", lambda _: draw(st.sampled_from(["NaN", "Infinity", "-Infinity"])))
    token = next(token for token in row if token.written != token.right)
    token.right = token.written


def number_form_of_json5(draw: st.DrawFn, row: list[Token]) -> None:
    token = row[_pick(draw, row, lambda i: row[i].kind == "number")]
    forms = {"+7": "7", ".5": "0.5", "5.": "5.0", "0x1F": "31", "-.25": "-0.25", "+0.5": "0.5", "-0xa": "-10"}
    token.written, token.right = draw(st.sampled_from(sorted(forms.items())))


def number_form_of_models(draw: st.DrawFn, row: list[Token]) -> None:
    token = row[_pick(draw, row, lambda i: row[i].kind == "number")]
    token.written, token.right = draw(
        st.sampled_from([("007", "7"), ("1_000", "1000"), ("-01", "-1"), ("1_000_000", "1000000")])
    )


def comment(draw: st.DrawFn, row: list[Token]) -> None:
    """After the first quote: what stands before is prose to a reader who does not know yet that a document comes."""
    written = draw(st.sampled_from([" // it's one\n", " /* two, {three} */ ", "/**/", "/* a\n b */"]))
    _between(draw, row, written)


def shell_comment(draw: st.DrawFn, row: list[Token]) -> None:
    _between(draw, row, "\n# three\n")


def _between(draw: st.DrawFn, row: list[Token], written: str) -> None:
    first = next(i for i, token in enumerate(row) if token.kind in ("key", "string"))
    token = row[_pick(draw, row, lambda i: first < i)]
    token.written = written + token.written


def wrong_colon(draw: st.DrawFn, row: list[Token]) -> None:
    _write(draw, row, ":", lambda _: draw(st.sampled_from(["=", " = ", "=>", " => "])))


def wrong_comma(draw: st.DrawFn, row: list[Token]) -> None:
    _write(draw, row, ",", lambda _: draw(st.sampled_from([";", "; "])))


def missing_colon(draw: st.DrawFn, row: list[Token]) -> None:
    """Before a number, a literal or a container: before a string the two quotes might as well be text."""
    colon = _pick(draw, row, lambda i: row[i].kind == ":" and row[i + 1].kind != "string")
    row[colon].written = " "


def unquoted_key(draw: st.DrawFn, row: list[Token]) -> None:
    _write(draw, row, "key", json.loads)


def missing_quote(draw: st.DrawFn, row: list[Token]) -> None:
    """The opening quote of a key, where no string stands before it whose end it might be."""
    key = _pick(draw, row, lambda i: row[i].kind == "key" and (row[i - 1].kind == "{" or row[i - 2].kind != "string"))
    row[key].written = row[key].right[1:]


def missing_value(draw: st.DrawFn, row: list[Token]) -> None:
    token = row[_pick(draw, row, lambda i: row[i].is_leaf and row[i - 1].kind == ":")]
    token.written, token.right = draw(st.sampled_from(["", "?"])), "null"


def unquoted_string(draw: st.DrawFn, row: list[Token]) -> None:
    """Not behind a string in an array: there a bare word does not end the string before it, says the catalogue."""
    bare = re.compile(r'"[^,\']+"')  # a comma would end it, an apostrophe might open a string
    at = _pick(
        draw,
        row,
        lambda i: (
            row[i].kind == "string" and bool(bare.fullmatch(row[i].right)) and row[max(i - 2, 0)].kind != "string"
        ),
    )
    token = row[at]
    token.written = json.loads(token.right)


def number_like_text(draw: st.DrawFn, row: list[Token]) -> None:
    """As with unquoted strings: not behind a string in an array."""
    token = row[_pick(draw, row, lambda i: row[i].is_leaf and row[max(i - 2, 0)].kind != "string")]
    token.written = draw(st.sampled_from(["2024-05-01", "1.2.3", "12:30", "3 apples", "10%"]))
    token.right = json.dumps(token.written)


def fullwidth_punctuation(draw: st.DrawFn, row: list[Token]) -> None:
    marks = {",": "，", ":": "："}
    token = row[_pick(draw, row, lambda i: row[i].kind in marks)]
    token.written = marks[token.kind]


def doubled_braces(draw: st.DrawFn, row: list[Token]) -> None:
    """All braces doubled, as a template language wants them; no two braces side by side, which could be read in two
    ways."""
    pairs = [a.kind + b.kind for a, b in itertools.pairwise(row)]
    assume(row[0].kind == "{" and not {"}}", "{}"} & set(pairs))
    for token in row:
        if token.kind in "{}":
            token.written = token.kind * 2


def escaped_document(draw: st.DrawFn, row: list[Token]) -> None:
    for token in row:
        token.written = token.written.replace("\\", "\\\\").replace('"', '\\"')
    assume(row[0].kind == "{")


def mismatched_bracket(draw: st.DrawFn, row: list[Token]) -> None:
    """A closer is left out, and the next one, of the other kind, closes both."""
    closer = _pick(draw, row, lambda i: i + 1 < len(row) and {row[i].kind, row[i + 1].kind} == {"}", "]"})
    row[closer].written = ""


def extra_bracket(draw: st.DrawFn, row: list[Token]) -> None:
    row[-1].written += draw(st.sampled_from(["}", "]", "}}", "\n}"]))


def ellipsis(draw: st.DrawFn, row: list[Token]) -> None:
    closer = _pick(draw, row, lambda i: row[i].kind in ("}", "]") and row[i - 1].kind not in ("{", "["))
    row[closer].written = draw(st.sampled_from([", ...", ",...", ",\n  ...\n"])) + row[closer].written


def duplicate_key(draw: st.DrawFn, row: list[Token]) -> None:
    """The key of some object comes once more at its end, with another value."""
    closer = _pick(draw, row, lambda i: row[i].kind == "}" and row[i - 1].kind != "{")
    depth = len(row[closer].inside)
    opener = max(i for i in range(closer) if row[i].kind == "{" and len(row[i].inside) == depth)
    names = [token.right for token in row[opener:closer] if token.kind == "key" and len(token.inside) == depth + 1]
    row.insert(closer, Token("key", f', {draw(st.sampled_from(names))}: "again"', row[closer].inside))


ANY_DIALECT: dict[str, tuple[Mutation, str]] = {"duplicate_key": (duplicate_key, "duplicate_key")}
"""Not wrong at all: name -> (mutation, the diagnostic's code)."""
JSON5: dict[str, tuple[Mutation, str]] = {
    "trailing_comma": (trailing_comma, "trailing_comma"),
    "single_quotes": (_quotes("'", "'"), "single_quotes"),
    "unquoted_key": (unquoted_key, "unquoted_key"),
    "non_finite": (non_finite, "non_finite"),
    "number_form_of_json5": (number_form_of_json5, "number_form"),
    "comment": (comment, "comment"),
    "hex_escape": (hex_escape, "hex_escape"),
    "line_continuation": (line_continuation, "line_continuation"),
}
"""Rows marked 5 in the catalogue: tolerated in json5 and llm."""
LLM: dict[str, tuple[Mutation, str]] = {
    "drop_comma": (drop_comma, "missing_comma"),
    "add_comma": (add_comma, "extra_comma"),
    "leading_comma": (leading_comma, "extra_comma"),
    "curly_quotes": (_quotes("“", "”"), "odd_quotes"),
    "backticks": (_quotes("`", "`"), "odd_quotes"),
    "raw_control_character": (raw_control_character, "control_character"),
    "unescaped_quote": (unescaped_quote, "unescaped_quote"),
    "invalid_escape": (invalid_escape, "invalid_escape"),
    "escaped_apostrophe": (escaped_apostrophe, "invalid_escape"),
    "broken_unicode_escape": (broken_unicode_escape, "broken_unicode_escape"),
    "string_concatenation": (string_concatenation, "string_concatenation"),
    "triple_quotes": (triple_quotes, "triple_quotes"),
    "python_literal": (python_literal, "python_literal"),
    "js_literal": (js_literal, "js_literal"),
    "number_form_of_models": (number_form_of_models, "number_form"),
    "shell_comment": (shell_comment, "comment"),
    "wrong_colon": (wrong_colon, "wrong_separator"),
    "wrong_comma": (wrong_comma, "wrong_separator"),
    "missing_colon": (missing_colon, "missing_colon"),
    "missing_quote": (missing_quote, "missing_quote"),
    "missing_value": (missing_value, "missing_value"),
    "unquoted_string": (unquoted_string, "unquoted_string"),
    "number_like_text": (number_like_text, "unquoted_string"),
    "fullwidth_punctuation": (fullwidth_punctuation, "fullwidth_punctuation"),
    "doubled_braces": (doubled_braces, "doubled_braces"),
    "escaped_document": (escaped_document, "escaped_document"),
    "mismatched_bracket": (mismatched_bracket, "mismatched_bracket"),
    "extra_bracket": (extra_bracket, "extra_bracket"),
    "ellipsis": (ellipsis, "ellipsis"),
}
"""Tolerated in llm alone."""
ALL = {**ANY_DIALECT, **JSON5, **LLM}


@st.composite
def broken(draw: st.DrawFn, mutate: Mutation, values: st.SearchStrategy[Any] = documents) -> Broken:
    """A document broken once by `mutate`, written compact, with spaces, or on many lines."""
    row = tokens(draw(values))
    mutate(draw, row)
    after = draw(st.sampled_from([{}, {",": " ", ":": " "}, {",": "\n  ", ":": " "}]))
    text = "".join(token.written + after.get(token.kind, "") for token in row)
    return Broken(text, json.loads("".join(token.right for token in row)))
