"""Write docs/catalogue.md from the cases of the tests: every input is run, and what comes out is what the page says.

python docs/make_catalogue.py           write the page
python docs/make_catalogue.py --check   exit status 1 where the page is not up to date
"""

from __future__ import annotations

import html
import json
import sys
from pathlib import Path
from typing import Any

from streamparse import JsonSchema, StreamParseError, StreamParser
from streamparse.errors import DIAGNOSTIC_CODES

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "catalogue.md"
CASES = ROOT / "tests" / "cases"
LONG = 200
KINDS = {
    "values": "Values",
    "envelope": "Around the JSON",
    "reasoning": "Reasoning",
    "truncation": "Cut texts",
    "schema": "With a schema",
    "strict": "In the strict dialect",
}
HEAD = """# What models write, and what comes out

This page is made from the cases of the tests: each input was run, and the columns show what came out. A raw line
break is shown as ⏎, a tab as ⇥. The codes are those of `Diagnostic`, explained [at the end](#codes); an input without
a code is read as it stands. Every case gives the same however its text is cut into chunks.
"""


def run(case: dict[str, Any]) -> tuple[str, str, list[str]]:
    """Data, reasoning and codes of a case, as the page shows them."""
    options = dict(case.get("options", {}))
    if "schema" in options:
        options["output"] = JsonSchema(options.pop("schema"))
    if isinstance(options.get("reasoning"), list):
        options["reasoning"] = tuple(options["reasoning"])
    parser = StreamParser(**options)
    try:
        for chunk in chunks_of(case):
            parser.feed(chunk)
        parsed = parser.close()
    except StreamParseError as error:
        return f"error `{error.code}`", "", []
    data = code(json.dumps(parsed.data, ensure_ascii=False, default=str)) if parsed.has_data else "none"
    if not parsed.complete and parsed.has_data:
        data += ", not complete"
    return data, parsed.reasoning, list(dict.fromkeys(one.code for one in parsed.diagnostics))


def chunks_of(case: dict[str, Any]) -> list[Any]:
    """The chunks, bytes where the case gives bytes."""
    hexes = case.get("chunks_hex")
    return case["chunks"] if hexes is None else [bytes.fromhex(one) for one in hexes]


def code(text: str) -> str:
    """`text` as code inside a cell of a table."""
    text = html.escape(text, quote=False)
    for char, sign in (("\r", "␍"), ("\n", "⏎"), ("\t", "⇥"), ("\0", "␀"), ("\ufeff", "[BOM]"), ("\u200b", "[ZWSP]")):
        text = text.replace(char, sign)
    # As HTML: a code span cannot hold every mixture of backticks and bars.
    for char in "|`*_[]{}\\~":
        text = text.replace(char, f"&#{ord(char)};")
    return f"<code>{text}</code>"


def row(case: dict[str, Any]) -> str:
    """The line of one case."""
    joined = "".join(one if isinstance(one, str) else one.decode("utf-8", "replace") for one in chunks_of(case))
    data, reasoning, codes = run(case)
    options = ", ".join(f"{name}={json.dumps(value)}" for name, value in case.get("options", {}).items())
    given = code(joined) + (f"<br>{code(options)}" if options else "")
    thought = f"<br>reasoning {code(reasoning)}" if reasoning else ""
    return f"| {given} | {data}{thought} | {' '.join(f'`{one}`' for one in codes)} |"


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for kind, title in KINDS.items():
        lines = (CASES / f"{kind}.jsonl").read_text(encoding="utf-8").split("\n")
        cases = [json.loads(line) for line in lines if line.strip()]
        short = [case for case in cases if sum(map(len, chunks_of(case))) <= LONG]
        parts.append(f"\n## {title}\n\n| text | data | codes |\n|---|---|---|\n" + "\n".join(map(row, short)) + "\n")
    codes = "\n".join(f"| `{name}` | {prose(message)} |" for name, message in DIAGNOSTIC_CODES.items())
    parts.append(f"\n## Codes\n\n| code | meaning |\n|---|---|\n{codes}\n")
    return "".join(parts)


def prose(text: str) -> str:
    """`text` as prose inside a cell."""
    return html.escape(text, quote=False).replace("|", "&#124;").replace("\\", "&#92;")


def main() -> int:
    """Write or check the page; the exit status."""
    text = page()
    if "--check" in sys.argv[1:]:
        return 0 if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
