"""Where the document begins: envelopes that models write round JSON, at every split."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from typing import Any

import pytest
from support.runner import Outcome, run
from support.splits import at_random, each, pieces, two_way
from support.values import show

from streamparse import JsonSchema, StreamParser
from streamparse.locate import BEGIN, NOTE, Locator

DATA = {"a": 1}
JSON = '{"a":1}'


def everywhere(text: str, **options: Any) -> Outcome:
    """The outcome of `text`, the same one whole, at every split in two (short ones), and each character alone."""
    first = run([text], **options)
    for chunks in (each(text), *(two_way(text) if len(text) <= 300 else at_random(text, "locate"))):
        assert run(chunks, **options) == first, chunks
    return first


def check(text: str, data: Any, *codes: str, **options: Any) -> Outcome:
    """`text` holds this (`...`: nothing), and these remarks are among those made. No text is lost."""
    got = everywhere(text, **options)
    assert got.error is None
    assert got.has_data is (data is not ...)
    assert got.data == show(None if data is ... else data)
    assert got.complete is (data is not ...)
    assert got.text == text
    assert set(codes) <= got.codes
    return got


# ---- fences


@pytest.mark.parametrize(
    ("opener", "closer"),
    [
        ("```json\n", "\n```"),
        ("```JSON\n", "\n```"),
        ("```Json5\n", "\n```"),
        ('```jsonc title="x.json"\n', "\n```"),
        ("``` json \n", "\n``` "),
        ("```\n", "\n```"),
        ("```\r\n", "\r\n```\r\n"),
        ("```javascript\n", "\n```"),
        ("~~~\n", "\n~~~"),
        ("~~~json\n", "\n~~~"),
        ("   ```json\n   ", "\n   ```"),
        ("\t```json\n\t", "\n\t```"),
        ("> ```json\n> ", "\n> ```"),
        ("- ```json\n  ", "\n  ```"),
        ("````json\n", "\n````"),
        ("``````\n", "\n``````"),
        ("~~~~~\n", "\n~~~~~"),
        ("```json\n\n\n", "\n\n\n```\n\n"),
        ("```json ", " ```"),
        ("```json", "```"),
        ("```", "```"),
        ("`", "`"),
        ("``", "``"),
        ("```json\n", ""),
        ("```json\n", "\n"),
        ("```json\n", "\n`"),
        ("```json\n", "\n``"),
    ],
)
@pytest.mark.parametrize(("before", "behind"), [("", ""), ("Here's it:\n\n", "\n\nThat's {all}."), ("\n", "\n")])
def test_fence(opener: str, closer: str, before: str, behind: str) -> None:
    check(before + opener + JSON + closer + behind, DATA)


@pytest.mark.parametrize("ticks", ["```", "````", "~~~"])
def test_fence_is_remarked_on(ticks: str) -> None:
    got = check(f"{ticks}json\n{JSON}\n{ticks}", DATA, "fence")
    assert "trailing_text" not in got.codes
    assert "leading_text" not in got.codes


def test_fence_inside_a_string_inside_a_fence() -> None:
    for text in ('{"md":"```py\\nx = {}\\n```"}', '{"md":"```"}', '{"md":"~~~ ``` `"}'):
        wanted = {"md": text[7:-2].replace("\\n", "\n")}
        check(f"```json\n{text}\n```", wanted, "fence")
        check(f"````\n{text}\n````", wanted, "fence")


@pytest.mark.parametrize(
    "code",
    [
        "```python\nd = dict(a=1)\nprint(f'{d}')\n```",
        "```python\nfor x in [1, 2]:\n    print({x})\n```",
        "```\nplain text\n```",
        "```sh\ncurl ${HOST}/v1 | jq .[0]\n```",
        "```c\nint main(void) { return x[0]; }\n```",
        "```html\n<p>{{ name }}</p>\n```",
        "~~~\ntext\n~~~",
        "`d[0]` and `{x}`",
        "```\n```",
        "````python\nx = {}\n````",
        "``` PYTHON\nx = {}\n```",
        "```python of mine\nx = {}\n```",
        "~~~~py\nf([])\n~~~~",
        '```python title="x.py"\nx = {}\n```',
    ],
)
def test_code_before_the_fence_with_the_document(code: str) -> None:
    check(f"First:\n{code}\nThen:\n```json\n{JSON}\n```\n", DATA)
    check(f"{code}\n```json\n{JSON}\n```\n", DATA)


def test_several_fences() -> None:
    text = '```json\n{"a":1}\n```\nor\n```json\n{"b":[2]}\n```'
    check(text, DATA, "extra_document")
    check(text, {"b": [2]}, documents="last")
    check(text, [DATA, {"b": [2]}], documents="all")


# ---- prose


@pytest.mark.parametrize(
    "prose",
    [
        "Here's the JSON you asked for: ",
        "Use {name} here. ",
        "See [1] and [2, 3] first: ",
        "Set {x, y} = 2, {} and []: ",
        "It's 'quoted' and \"quoted\" and `code`: ",
        "f(x) = {x | x > 0}; a[0] = b[i]; ",
        "[Note] this: ",
        "[1] Smith et al. ",
        "{name}, hello: ",
        "Call obj.method({opts}) or arr[idx]:\n",
        "| a | b |\n|---|---|\n| {x} | [y] |\n\n",
        "# Title\n\n* item [link](http://x.y/{id}?a=[b])\n\n",
        "$\\frac{a}{b} \\in [0, 1)$. ",
        "{{ template }} and {% tag %} and ${var}: ",
        "<p class='x'>Text</p> ",
        "1. First: {a}\n2. Second: [b]\n",
        "5 < 6 and 7 > 3: ",
        "Ich heiße „Jörg“ {ü}: ",
        'See { "unclosed quote } then ',
        "[unclosed and {unclosed then ",
        "See {",
    ],
)
def test_prose_before(prose: str) -> None:
    check(prose + JSON, DATA, "leading_text")
    check(prose + f"\n```json\n{JSON}\n```", DATA, "leading_text", "fence")
    check(prose + JSON + "\n" + prose, DATA, "leading_text", "trailing_text")


@pytest.mark.parametrize(
    "prose", ["I cannot help with that.", "Use {name} or [x] here.", "", " \n", "{x", "`", "It's {"]
)
def test_prose_alone(prose: str) -> None:
    got = everywhere(prose)
    assert not got.has_data or not prose.strip() or prose == "{x"
    assert got.text == prose
    assert not got.complete


def test_arrays_in_prose() -> None:
    for array, value in (('[{"a":1}]', [DATA]), ("[[1],[2]]", [[1], [2]]), ('["a","b"]', ["a", "b"])):
        check(f"The list: {array} is it.", value, "leading_text")
    check("The list [1, 2] is not it.", ...)
    check("The list [1, 2] is it.", [1, 2], output=JsonSchema({"type": "array"}))


@pytest.mark.parametrize("before", ["", "Here: ", "```json\n"])
@pytest.mark.parametrize("data", [DATA, [DATA], [[DATA]], {"a": [DATA]}, [[[[[["x"]]]]]]])
@pytest.mark.parametrize("indent", [None, 2])
def test_escaped_documents(before: str, data: Any, indent: int | None) -> None:
    """A document that was written as if it stood in a string: its brackets do not show it, what follows them does."""
    text = json.dumps(data, indent=indent).replace('"', '\\"')
    if before == "Here: " and "{" not in text:
        return  # nested arrays of strings in prose
    check(before + text, data, "escaped_document")


@pytest.mark.parametrize("depth", [16, 17, 63, 64, 65])
@pytest.mark.parametrize("before", ["", "Here: "])
def test_many_brackets(before: str, depth: int) -> None:
    """What says that a document is escaped is waited for at 64 brackets; at any split the same."""
    text = "[" * depth + '{"a":1}' + "]" * depth
    for written, right in ((text, True), (text.replace('"', '\\"'), depth < 64)):
        got = run([before + written])
        assert run(each(before + written)) == got
        assert (got.error is None) is right
        if right:
            assert got.data == text.replace(":", ": ")


def test_empty_documents_in_prose_count_if_nothing_better_comes() -> None:
    check("Nothing found: {}", {}, "leading_text")
    check("Nothing found: []", [], "leading_text")
    check(f"Not {{}} but {JSON}", DATA)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("{name: 1}", {"name": 1}),
        ("{'a': 1}", DATA),
        ("[1, 2]", [1, 2]),
        ("[]", []),
        ("{}", {}),
        ("[red, green]", ["red", "green"]),
        ("[red]", ["red"]),
        ("{ }", {}),
        ("[1\n,2]", [1, 2]),
        ("[true]", [True]),
        ("[-1]", [-1]),
    ],
)
def test_at_the_start_nearly_everything_is_a_document(text: str, data: Any) -> None:
    for before, behind in (
        ("", ""),
        ("\n ", "\n"),
        ("```\n", "\n```"),
        ("```json\n", "\n```\n"),
        ("<json>", "</json>"),
        ("", "\n<|im_end|>"),
        ("```js\nconst x = ", "\n```"),
    ):
        check(before + text + behind, data)


@pytest.mark.parametrize("text", ["[red] <", "[red] < 5", "[red]</b>", "<b>[red]<i>", "[red] `x`", "{red}</b>"])
def test_one_word_in_brackets_with_text_behind_it_is_none(text: str) -> None:
    check(text, ...)


# ---- wrappers and tokens


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("<json>", "</json>"),
        ("<output>\n", "\n</output>\n"),
        ('<output type="json">', "</output>"),
        ("<result><json>", "</json></result>"),
        ("<json>\n```json\n", "\n```\n</json>"),
        ("```json\n<json>", "</json>\n```"),
        ("json\n", ""),
        ("JSON: ", ""),
        ("json ", ""),
        ("result = ", ";"),
        ("const result = ", ";"),
        ("let x=", ";\n"),
        ("return ", ";"),
        ("export default ", ";"),
        ("module.exports = ", ";"),
        ("callback(", ");"),
        ("JSON.parse(", ")"),
        ("Output: ", ""),
        ("<|im_start|>assistant\n", "<|im_end|>"),
        ("", "<|im_end|>"),
        ("", "<|eot_id|>"),
        ("", "</s>"),
        ("", "<|endoftext|>"),
        ("", "<end_of_turn>"),
        ("// the answer\n", ""),
        ("/* the answer */ ", " // done"),
        ("# the answer\n", ""),
        ("\ufeff", ""),
        ("\u200b\u00a0", "\u00a0\u200b"),
        ("\u2060", "\ufeff"),
    ],
)
def test_wrapper(before: str, behind: str) -> None:
    check(before + JSON + behind, DATA)
    if "`" not in before:
        check(f"{before}```json\n{JSON}\n```{behind}", DATA)


def test_wrapper_is_remarked_on() -> None:
    for text in (f"<json>{JSON}</json>", f"result = {JSON};", f"callback({JSON});", f"json\n{JSON}"):
        got = check(text, DATA, "wrapper")
        assert "trailing_text" not in got.codes
    check(f"{JSON}</json>", DATA, "trailing_text")  # the closer of nothing
    check(f"{JSON};", DATA, "trailing_text")
    check(f"{JSON}\n```", DATA, "trailing_text")
    check(f"```json\n{JSON}\n```\n\n```", DATA, "fence", "trailing_text")
    got = check(f"```json\n{JSON}\n```\n", DATA, "fence")
    assert "trailing_text" not in got.codes


# ---- several documents


SEPARATORS = ["", "\n", " ", ", ", "\n---\n", "\nand then\n", "\n```\n```json\n"]


@pytest.mark.parametrize("separator", SEPARATORS)
def test_documents(separator: str) -> None:
    text = separator.join(['{"a":1}', '{"b":"x"}', '{"c":[2]}'])
    check(text, {"a": 1}, "extra_document")
    check(text, {"c": [2]}, documents="last")
    got = check(text, [{"a": 1}, {"b": "x"}, {"c": [2]}], documents="all")
    assert [row.parts for row in got.events if row.type == "done"] == [
        (0, "a"),
        (0,),
        (1, "b"),
        (1,),
        (2, "c", 0),
        (2, "c"),
        (2,),
    ]


def test_trailing_braces_are_no_document() -> None:
    for trailing in ("\nHope that helps! {not json}", "\n{x} is it.", "\n[1] Smith", " Use [a] or {b: }."):
        check(JSON + trailing, DATA, "trailing_text")
    check(JSON + "}", DATA, "extra_bracket")
    check(JSON + "\n}]", DATA, "extra_bracket")


# ---- with a schema


@pytest.mark.parametrize(
    ("kind", "text", "data"),
    [
        ("integer", "42", 42),
        ("number", "The answer:\n4.5"[-3:], 4.5),
        ("boolean", "true", True),
        ("null", "null", None),
        ("string", "hello", "hello"),
        ("string", '"hello"', "hello"),
        ("object", '[1] {"a":1}', DATA),
        ("object", 'See ["x"]: {"a":1}', DATA),
        ("array", 'See {"x": 1}: ["a"]', ["a"]),
        ("array", "Values: [1, 2]", [1, 2]),
    ],
)
def test_root_kind(kind: str, text: str, data: Any) -> None:
    check(text, data, output=JsonSchema({"type": kind}))


@pytest.mark.parametrize("text", ["42", "-1.5", "true", "null", '"hi"', "  42 \n", "```json\n42\n```", '"a \\" b"'])
def test_a_lone_scalar_counts(text: str) -> None:
    value = {"42": 42, "-1.5": -1.5, "true": True, "null": None, '"hi"': "hi", '"a \\" b"': 'a " b'}
    check(text, value[text.strip("`json \n")] if "`" in text else value[text.strip()])


@pytest.mark.parametrize(
    "inside", ["[[1]]", "a[[1]]", 'ab{"x":1}', '"[[1]]', 'a"[[1]]"', "\\[[1]]\\", '\n{"a":1}\t', "```json\n[[1]]\n```"]
)
@pytest.mark.parametrize("space", ["", " ", "\n\n", " " * 600])
def test_a_lone_string_is_the_answer_whatever_stands_inside(inside: str, space: str) -> None:
    check(json.dumps(inside) + space, inside)


@pytest.mark.parametrize("size", [505, *range(508, 516), 1100])
def test_a_long_lone_string(size: int) -> None:
    """It is too long to be looked at again; an escape may stand where it is cut."""
    for tail in ('"[[1]]', "\\[[1]]", '\\"[[1]]"'):
        value = "x" * size + tail
        text = json.dumps(value)
        got = run([text])
        assert got == run(each(text))
        assert got.data == show(value)


@pytest.mark.parametrize("string", ['"hi"', '"' + "x" * 600 + '"', '"a\\"b"'])
def test_a_string_and_text_is_prose(string: str) -> None:
    for between in (" she said: ", "x", "  ", " " * 600):
        check(f"{string}{between}{JSON}", DATA, "leading_text")
    check('"[[1]]"x', [[1]], "leading_text", "trailing_text")


def test_a_scalar_with_something_beside_it_does_not_count() -> None:
    for text in ("42 apples", "true story", '"hi" she said', "null and void"):
        check(text, ...)


def test_the_document_whose_keys_fit_wins() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}
    for between in ("\n", " and ", "\n```\n```json\n"):
        check('{"other":1}' + between + '{"a":"x","b":"z"}', {"a": "x", "b": "z"}, output=JsonSchema(schema))


def test_documents_that_do_not_fit_are_passed_over() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    output = JsonSchema(schema)
    for between in ("\n", " and ", ", "):
        three = between.join(['{"other":1}', '{"else":{"b":2}}', '{"a":"x"}'])
        check(three, {"a": "x"}, "extra_document", output=output)
    check('{"other":1}\n{"else":2}', {"other": 1}, "trailing_text", output=output)
    before = '{"other":1}\n{"else":2}\n'
    places: list[int | None] = []
    for text in ('{"a":"x",}', before + '{"a":"x",}'):
        parser = StreamParser(output=output)
        parser.feed(text)
        places += [row.offset for row in parser.close().diagnostics if row.code == "trailing_comma"]
    alone, behind = places
    assert alone is not None
    assert behind == alone + len(before)  # nothing that was passed over is counted twice or left out


@pytest.mark.parametrize(
    "text",
    [
        f"Here's {{it}}:\n```json\n{JSON}\n```\nBye {{x}}.",
        f"/* a */ <json>{JSON}</json>",
        '"a [[1]] b"',
        f"```sh\nx\n```\n{JSON}",
    ],
)
def test_copies_go_on_alike(text: str) -> None:
    """Pickled or copied in the middle of an envelope."""
    whole = StreamParser()
    whole.feed(text)
    want = whole.close()
    for cut in range(len(text)):
        parser = StreamParser()
        parser.feed(text[:cut])
        for other in (pickle.loads(pickle.dumps(parser)), copy.deepcopy(parser)):
            other.feed(text[cut:])
            got = other.close()
            assert (got.data, got.text) == (want.data, want.text)
            assert [row.code for row in got.diagnostics] == [row.code for row in want.diagnostics]


# ---- the locator itself: where a document begins (`▸`; `◂`: the reader is done with it), and what is remarked on


def located(marked: str, chunks: list[str], **options: Any) -> tuple[str, list[str]]:
    """The text with marks where the locator begins a document, and its remarks in their order."""
    locator = Locator(**options)
    lengths = [len(part.split("◂")[0]) for part in marked.split("▸")[1:]]
    found, codes = "", []
    open_ = ""  # the document that the reader has

    def follow(steps: list[tuple[int, str]]) -> None:
        nonlocal found, open_
        for kind, text in steps:
            if kind == NOTE:
                codes.append(text)
            elif kind == BEGIN:
                found += "▸"
                open_ = "▸"
                read(text)
            else:
                found += text

    def read(text: str) -> None:
        nonlocal found, open_
        number = found.count("▸") - 1
        left = lengths[number] + 1 - len(open_) if number < len(lengths) and "◂" in marked else len(text) + 1
        found += text[:left]
        open_ += text[:left]
        if len(text) >= left:
            open_ = ""
            found += "◂"
            follow(locator.resume(text[left:]))

    for chunk in chunks:
        if open_:
            read(chunk)
        else:
            follow(locator.feed(chunk))
    if not open_:
        follow(locator.close())
        assert locator.held == ""
    return found, codes


def begins(marked: str, *codes: str, **options: Any) -> None:
    """Where the marks are the documents begin, and these are all the remarks, at every split."""
    text = marked.replace("▸", "").replace("◂", "")
    for chunks in ([text], each(text), *(two_way(text) if len(text) < 300 else ())):
        assert located(marked, chunks, **options) == (marked, list(codes)), chunks


@pytest.mark.parametrize(
    "document",
    [
        '{"a": 1}',
        "{'a': 1}",
        "{`a`: 1}",
        "{“a”: 1}",
        "{,'a': 1}",
        "{ \u200b'a': 1}",
        "[/* one */ 1]",
        "[# one\n 1]",
        "{}",
        "[]",
        "{ }",
        "[ ]",
        "[,]",
        '{{"a": 1}}',
        '{{{"a": 1}}}',
        '{ {"a": 1}}',
        "{{a: 1}}",
        "{a: 1}",
        "{a = 1}",
        "{a：1}",
        "{a b: 1}",
        '{a": 1}',
        '{a" : 1}',
        "[a, b]",
        "[a，b]",
        "[a、b]",
        "[a b, c]",
        "[X, Y]",
        "[1; 2]",
        "[ -1.5 ; 2]",
        "[1\n,2]",
        "[1\n，2]",
        "[1\n2]",
        "[1\n-2]",
        '[a\n"b"]',
        "[a\n{}]",
        "[a\n[]]",
        "[[1]]",
        "[{a: 1}]",
        '[{\\"a\\": 1}]',
        '{\\"a\\": 1}',
        '{\\n \\"a\\": 1}',
    ],
)
def test_a_document_at_the_start_with_text_behind_it(document: str) -> None:
    """There it needs no more than its own first characters: it was not left to prose, which comes second."""
    begins(f"▸{document}◂ is it.", "trailing_text")
    begins(f" \n▸{document}◂")
    begins(f"<json>▸{document}◂</json>", "wrapper")
    begins(f"```\n▸{document}◂\n```", "fence")
    begins(f"```▸{document}◂```", "fence")


@pytest.mark.parametrize(
    "text",
    [
        "[X] marks it",
        "[x] is it",
        "{x} is it",
        "{x, y} is it",
        "{x，y} is it",
        "{x、y} is it",
        "{x\n, y} is it",
        "{x\ny} is it",
        "{1; 2} is it",
        "[a; b] is it",
        "[x: y] is it",
        "[x = y] is it",
        '[a": 1] is it',
        '{a" b} is it',
        '{a"} is it',
        "[a\n] is it",
        "[a\n! b] is it",
        "{a\nX",
        "[a! b, c] is it",
        "[a? b, c] is it",
        "[<b>, c] is it",
        "[a> b, c] is it",
        "{x [a]} is it",
        "{{{{x}}}} is it",
        "{\\frac}",
        "[\\alpha]",
        "[a] < b",
        "[a] <",
        "[a]<",
        "[a]<b>",
        "[a]</b>",
        "[a]`",
        "[a] ~",
        "<b>[a]<i>",
        "<b~~~\nx\n~~~ [b, c] is it",
        "<b~~~python\nx = [1, 2]",
        "X, y",
        "```\n[red] X",
        '"}" is it',
        "`[a]`",
    ],
)
def test_what_looks_like_a_document_at_the_start_and_is_none(text: str) -> None:
    assert not any("▸" in located(text, chunks)[0] for chunks in ([text], each(text), *two_way(text)))


@pytest.mark.parametrize("document", ["[red]", "{red}", "[ red ]", "[true]", "[-1]", "[a\n]"])
def test_one_word_in_brackets_is_a_document_where_it_stands_alone(document: str) -> None:
    begins(f"▸{document}◂")
    begins(f" ▸{document}◂ \n")
    begins(f"▸{document}◂<|im_end|>", "trailing_text")
    begins(f"▸{document}◂ <|im_end|>", "trailing_text")
    begins(f"<json>▸{document}◂</json>", "wrapper")
    begins(f"<json> ▸{document}◂ </json>", "wrapper")
    begins(f"~~~\n▸{document}◂\n~~~", "fence")
    begins(f"```▸{document}◂```", "fence")


@pytest.mark.parametrize("text", ["{", "[", "{ ", "{a", "[a b", "[1", "[true", '{a"', "[a\n", "{{", "[[", '{"', "[1;"])
def test_a_document_that_is_cut_in_its_first_word(text: str) -> None:
    begins(f"▸{text}")
    begins(f"```json\n▸{text}", "fence")


@pytest.mark.parametrize(
    "document",
    [
        '{"a": 1}',
        "{'a': 1}",
        "{ “a” : 1}",
        "{`a` = 1}",
        "{a: 1}",
        "{a:1}",
        "{a : true}",
        "{a: b}",
        '{\\"a\\": 1}',
        '{\\n\\"a\\": 1}',
        '["a"]',
        "[[1]]",
        "[ {a: 1}]",
        '[{\\"a\\": 1}]',
    ],
)
def test_a_document_in_prose(document: str) -> None:
    begins(f"It's ▸{document}◂", "leading_text")
    begins(f"It's [1] or {{x}}: ▸{document}◂ (or not)", "leading_text", "trailing_text")
    begins(f"▸{document}◂\nand\n▸{document}◂\n", "trailing_text", "extra_document")


@pytest.mark.parametrize(
    "prose",
    [
        "{x : x > 0}",
        "{}",
        "[]",
        "[1, 2]",
        "[a, b]",
        "{a, b}",
        "[",
        "{",
        "{ ",
        "[ ",
        '{"a',
        '{"a"',
        "{a",
        "`",
        "~~",
        "[[\\alpha]]",
        "[{\\x}]",
    ],
)
def test_brackets_of_prose(prose: str) -> None:
    begins(f"It's {prose}")
    begins(f"It's {prose} then ▸{JSON}◂", "leading_text")


@pytest.mark.parametrize(
    ("marked", "codes"),
    [
        ("It's ▸[[", ["leading_text"]),
        ("It's ▸[{", ["leading_text"]),
        ("It's ▸[\"", ["leading_text"]),
        ('<a ▸[["\\n"]]', ["leading_text"]),
        (f"<a~~~\n \ufeff▸{JSON}", ["fence", "bom", "leading_text"]),
        ('<a~~~\nx\n~~~▸["a"]', ["fence", "leading_text"]),
        (f'"; " and ▸{JSON}◂', ["leading_text"]),
        (f'"}}" and ▸{JSON}◂', ["leading_text"]),
        ('{{{▸{"a": 1}◂}}}', ["leading_text", "extra_bracket"]),
    ],
)
def test_a_document_at_the_end_of_prose(marked: str, codes: list[str]) -> None:
    begins(marked, *codes)


def test_an_empty_document_in_prose_is_told() -> None:
    for text, kind, empty in (
        ("x {} or []", None, "{}"),
        ("x [ ] or {}", None, "[ ]"),
        ("x {} or []", "array", "[]"),
        ("x [] or { }", "object", "{ }"),
        ("x []", "object", ""),
        ("x {y}", None, ""),
    ):
        for chunks in ([text], each(text)):
            locator = Locator(kind=kind)
            for chunk in chunks:
                locator.feed(chunk)
            locator.close()
            assert locator.empty == empty


@pytest.mark.parametrize(
    ("marked", "codes"),
    [
        (f"<json>▸{JSON}◂</json>", ["wrapper"]),
        (f"<json> ▸{JSON}◂ </json > \n", ["wrapper"]),
        (f"<|im_start|>assistant\n▸{JSON}◂", ["wrapper"]),
        (f"<|im_start|>assistant<json>▸{JSON}◂</json>", ["wrapper"]),
        (f"<|im_start|>\n▸{JSON}◂", ["wrapper"]),
        (f"<|im_start|>▸{JSON}◂<|im_end|>", ["wrapper", "trailing_text"]),
        (f"<|im_start|>user\n▸{JSON}◂", ["leading_text"]),
        (f"<p>assistant ▸{JSON}◂", ["leading_text"]),
        (f"result = ▸{JSON}◂;", ["wrapper"]),
        (f"callback(▸{JSON}◂);", ["wrapper"]),
        (f"json\n▸{JSON}◂", ["wrapper"]),
        (f"x = y = ▸{JSON}◂", ["leading_text"]),
        (f"Output:\n```json\n▸{JSON}◂\n```", ["wrapper", "fence"]),
        (f"```js\nconst x = ▸{JSON}◂;\n```", ["fence", "wrapper"]),
        (f"```python\nx = ▸{JSON}◂\n```", ["fence", "leading_text"]),
        (f"``` python \nx = ▸{JSON}◂\n```", ["fence", "leading_text"]),
        (f"~~~ python 3\nx = ▸{JSON}◂\n~~~", ["fence", "leading_text"]),
        (f"```json python\nx = ▸{JSON}◂\n```", ["fence", "wrapper"]),
        (f"```pyX\nx = ▸{JSON}◂\n```", ["fence", "wrapper"]),
        (f"```python\nx = 1\n```\n```json\n▸{JSON}◂\n```", ["fence", "leading_text"]),
        (f"// the answer\n▸{JSON}◂", ["comment"]),
        (f"# the answer\n▸{JSON}◂", ["comment"]),
        (f"/* the\nanswer */▸{JSON}◂", ["comment"]),
        (f"/ ▸{JSON}◂", ["leading_text"]),
        (f"\ufeff▸{JSON}◂", ["bom"]),
        (f" \u200b \u00a0▸{JSON}◂\u2060\n", ["bom"]),
        (f"▸{JSON}◂\u2060", ["bom"]),
        (f"▸{JSON}◂ \n\t", []),
        (f"▸{JSON}◂;", ["trailing_text"]),
        (f"▸{JSON}◂)", ["trailing_text"]),
        (f"▸{JSON}◂,", ["trailing_text"]),
        (f"▸{JSON}◂X", ["trailing_text"]),
        (f"▸{JSON}◂</json>", ["trailing_text"]),
        (f"▸{JSON}◂```", ["trailing_text"]),
        (f"▸{JSON}◂~", ["trailing_text"]),
        (f"▸{JSON}◂<", ["trailing_text"]),
        (f"▸{JSON}◂}}", ["extra_bracket"]),
        (f"▸{JSON}◂ ]}}", ["extra_bracket"]),
        (f"▸{JSON}◂}}.", ["extra_bracket", "trailing_text"]),
        (f"▸{JSON}◂▸{JSON}◂", ["extra_document"]),
        (f"▸{JSON}◂, ▸[red, green]◂", ["trailing_text", "extra_document"]),
        (f"▸{JSON}◂\n▸[red]◂", ["extra_document"]),
        (f"▸{JSON}◂\n[red] is it", ["trailing_text"]),
        (f"Text ▸{JSON}◂ text ▸{JSON}◂ text", ["leading_text", "trailing_text", "extra_document"]),
        (f"```\n▸{JSON}◂\n```\n\n```", ["fence", "trailing_text"]),
        (f"````\n▸{JSON}◂\n````", ["fence"]),
        (f"```\nx\n```\n▸{JSON}◂\n```", ["fence", "leading_text", "trailing_text"]),
        (f"~~~\nx\n```\n▸{JSON}◂\n```", ["fence", "leading_text"]),
        (f"It's `x` and ``y`` and ▸{JSON}◂", ["leading_text"]),
        (f'"a" ▸{JSON}◂', ["leading_text"]),
        (f'"a ▸{JSON}◂', ["leading_text"]),
    ],
)
def test_remarks(marked: str, codes: list[str]) -> None:
    begins(marked, *codes)


@pytest.mark.parametrize(
    "text", [f"<a> {JSON} </b", f"x {JSON} ```", f'"{JSON}"', '"x', "// x\n", "<json>", "`", "/* x"]
)
def test_nothing_is_lost(text: str) -> None:
    """Whatever is a document, and however the text comes."""
    for chunks in ([text], each(text), *two_way(text)):
        assert located(text + "▸", chunks)[0].replace("▸", "") == text


def test_a_document_that_was_refused() -> None:
    """It is text, and a document may stand behind its first character."""
    for text in ('{"a": {"b": 1}} x', '{"a": 1} {"b": 1}'):
        locator = Locator()
        ((kind, found),) = locator.feed(text)
        assert (kind, found, locator.count) == (BEGIN, text, 1)
        steps = locator.refuse(text)
        assert steps == [(0, "{"), (0, '"a": ' if "x" in text else '"a": 1} '), (NOTE, "leading_text"), steps[-1]]
        assert steps[-1] == (BEGIN, '{"b": 1}} x' if "x" in text else '{"b": 1}')
        assert locator.count == 1


@pytest.mark.parametrize(
    ("kind", "marked", "codes"),
    [
        ("string", "▸hello", []),
        ("string", "▸<b>", []),
        ("string", "```\n▸hello", ["fence"]),
        ("string", "~~~\n▸hello", ["fence"]),
        ("number", "▸-1.5", []),
        ("number", "▸.5", []),
        ("number", "about 5", []),
        ("boolean", "▸True", []),
        ("number", "▸-5 degrees", []),
        ("number", "- five", []),
        ("boolean", "▸true◂", []),
        ("boolean", "▸false◂ it is", ["trailing_text"]),
        ("boolean", "truely", []),
        ("null", "▸None◂.", ["trailing_text"]),
        ("null", "nullify", []),
        ("null", "▸null", []),
        ("null", "▸None", []),
        ("object", f"See ['x'] and ▸{JSON}◂", ["leading_text"]),
        ("array", f'See {JSON} and ▸["x"]◂', ["leading_text"]),
        ("array", "See ▸[1, 2]◂", ["leading_text"]),
        ("array", "See ▸[-1]◂", ["leading_text"]),
        ("object", f"▸[1, 2]◂\n▸{JSON}◂", ["extra_document"]),
        ("object", f"▸{JSON}◂\n[1]", ["trailing_text"]),
        ("object", "▸[[1]]◂", []),
        ("object", "▸[{a: 1}]◂", []),
        ("array", f"▸[1]◂\n{JSON}", ["trailing_text"]),
        ("array", f"▸[1]◂\n{JSON} ▸[1]◂", ["trailing_text", "extra_document"]),
    ],
)
def test_kind_of_the_root(kind: str, marked: str, codes: list[str]) -> None:
    begins(marked, *codes, kind=kind)


@pytest.mark.parametrize("size", range(507, 516))
def test_what_is_held_is_bounded_and_the_bound_is_the_same_for_every_split(size: int) -> None:
    """At most 512 characters wait for the one that decides; with that one the text may have 513."""
    begins_within = "▸" if size + 1 <= 512 else ""
    for text in (f"[{'x' * size}, b]", f"{{{'x' * size}: b}}"):
        got = located(text + "▸", [text])
        assert got == located(text + "▸", each(text))
        assert got[0].startswith("▸") == bool(begins_within)
    text = f'x {{"{"x" * size}": 1}}'
    assert located(text + "▸", [text])[0].startswith("x ▸") == (size + 3 <= 512)
    assert located(text + "▸", each(text)) == located(text + "▸", [text])
    for marked, code in (
        (f"//{'x' * (size - 2)}\n▸{JSON}◂", "comment"),
        (f"/*{'x' * (size - 3)}*/▸{JSON}◂", "comment"),
    ):
        begins(marked, code if size <= 512 else "leading_text")


def test_a_head_that_is_too_long_begins_a_document_where_it_may_be_json() -> None:
    for head in ("[" + " " * 600 + "1", "{" + "\n" * 600 + '"a": 1', "[" + "1" * 600, "[[" + " " * 600 + "1"):
        closers = head.replace(" ", "")[:2].replace("[", "]").replace("{", "}").rstrip('1\n"')
        begins(f"▸{head}{closers}◂")
        assert located(f"{head} text", [f"{head} text"])[0][0] == "▸"
    for text in (f"[{'x' * 600}]", f"{{{'1' * 600}}}", f"[-{'x' * 600}]", "{" + "x" * 600):
        begins(text)
    begins("json▸[1]", "wrapper", held=4)
    begins("json▸[1]", "leading_text", held=3, kind="array")


def test_a_document_in_a_string_that_is_too_long() -> None:
    """The string was passed on: what follows is behind text."""
    begins(f'"{"x" * 512} ▸{JSON}◂', "leading_text")


# ---- comments


@pytest.mark.parametrize(
    "comment",
    [
        '/*/ {"b":2} */',
        '/* {"b":2} */',
        "/***/",
        '// {"b":2}\n',
        '# {"b":2}\n',
        "/* " + "x" * 400 + " */",
        "// one\n/* two */\n# three\n",
    ],
)
def test_a_document_in_a_comment_is_none(comment: str) -> None:
    check(comment + JSON, DATA, "comment")


@pytest.mark.parametrize("comment", ["// the answer", "# Title", "/* open", "/"])
def test_a_comment_alone(comment: str) -> None:
    check(comment, ...)
    check("# Title\n\nSome text: " + JSON, DATA)


# ---- it streams, and it stays small


@pytest.mark.parametrize(
    "before",
    ["", "Here's {it}: ", "```json\n", "<json>", "result = ", "Text\n\n```python\nx={}\n```\n", '"hi" she said: '],
)
def test_streaming_begins_at_the_first_key(before: str) -> None:
    parser = StreamParser()
    for char in before + '{"key": ':
        assert parser.feed(char) == []
    assert [event.delta for event in parser.feed('"v')] == ["v"]
    assert parser._direct


MANY = 200_000
LONG = {
    "prose": "The quick brown fox, it's {quick} and [brown], jumps over the lazy dog.\n" * (MANY // 72),
    "prose of one word": "a" * MANY,
    "unclosed fence": "```text\n" + "nothing to see here\n" * (MANY // 20),
    "fences": "```\nx\n```\n" * (MANY // 10),
    "unclosed fence and string": "```json\n" + '{"a":"' + "x" * MANY,
    "braces": "{" * MANY,
    "braces in prose": "x" + "{" * MANY,
    "brackets in prose": "x" + "[ " * (MANY // 2),
    "keys in prose": "x" + '{"' * (MANY // 2),
    "bare keys in prose": "x" + "{a" * (MANY // 2),
    "long key in prose": 'x{"' + "k" * MANY,
    "ticks": "`" * MANY,
    "ticks in prose": "x `" * (MANY // 3),
    "quote": '"' + "x" * MANY,
    "tags": "<a>" * (MANY // 3),
    "comment": "/* " + "x" * MANY,
    "behind": JSON + " </a" * (MANY // 4),
    "documents": JSON * (MANY // 7),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_long_text_is_linear(name: str) -> None:
    """What is held is bounded, and the test ends: quadratic work would take hours."""
    for text, size in ((LONG[name], MANY + 10), (LONG[name], 1000), (LONG[name][: MANY // 5], 7)):
        parser = StreamParser()
        most = 0
        for chunk in pieces(text, list(range(size, len(text), size))):
            if parser.error is not None:
                break
            parser.feed(chunk)
            if parser._locator is not None:  # there is none before there is something to locate
                most = max(most, len(parser._locator._buffer))
        if parser.error is None:
            parser.close()
        assert most <= 1024


def test_noise_never_begins_a_document_that_is_not_there() -> None:
    for parts in itertools.product(["{", "[", "x", " ", '"', "`", ":"], repeat=4):
        text = "x " + "".join(parts)
        assert run([text]) == run(each(text))
