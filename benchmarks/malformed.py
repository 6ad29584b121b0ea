"""Right answers on the same malformed texts, and what they cost while they stream."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz.twins import load_twin

from .measure import OverBudget, at_most, same, timed
from .workloads import deltas, nested

CASES = Path(__file__).parents[1] / "tests" / "cases"
KINDS = ("values", "envelope", "reasoning", "truncation", "chunking")
Parse = Callable[[str], Any]


def special(value: Any) -> Any:
    """The value of a case, with the floats JSON cannot write."""
    if isinstance(value, dict):
        if list(value) == ["$float"]:
            return float(value["$float"])
        return {key: special(one) for key, one in value.items()}
    return [special(one) for one in value] if isinstance(value, list) else value


def cases() -> list[tuple[str, str, str, Any]]:
    """(kind, name, text, right value): every case that needs no option, is no error and has a value."""
    out: list[tuple[str, str, str, Any]] = []
    for kind in KINDS:
        for line in (CASES / f"{kind}.jsonl").read_text(encoding="utf-8").split("\n"):
            if not line.strip():
                continue
            case = json.loads(line)
            want = case["want"]
            if case.get("options") or "chunks" not in case or "data" not in want or want.get("error"):
                continue
            out.append((kind, case["name"], "".join(case["chunks"]), special(want["data"])))
    return out


def ours(twin: str) -> Parse:
    parser_type = load_twin(twin).StreamParser

    def parse(text: str) -> Any:
        parser = parser_type()
        for delta in deltas(text):
            parser.feed(delta)
        return parser.close().data

    return parse


def jiter() -> Parse:
    from jiter import from_json

    return lambda text: from_json(text.encode(), partial_mode="trailing-strings")


def json_repair() -> Parse:
    from json_repair import repair_json

    return lambda text: repair_json(text, return_objects=True)


def partial_json_parser() -> Parse:
    from partial_json_parser import loads

    return loads


def langchain() -> Parse:
    from langchain_core.utils.json import parse_json_markdown, parse_partial_json

    return lambda text: parse_json_markdown(text, parser=parse_partial_json)


def jsonmend() -> Parse:
    from jsonmend import loads

    return loads


def stream_json_repair() -> Parse:
    from partial_json_stream import parse_partial_json

    return parse_partial_json


def partialjson() -> Parse:
    from partialjson import create_json5_parser

    return lambda text: create_json5_parser().parse(text)


PARSERS: dict[str, Callable[[], Parse]] = {
    "json_repair": json_repair,
    "jsonmend": jsonmend,
    "jiter": jiter,
    "partial-json-parser": partial_json_parser,
    "partialjson (JSON5)": partialjson,
    "LangChain parse_json_markdown": langchain,
    "stream-json-repair": stream_json_repair,
}


def broken(size: int) -> str:
    """A long answer of the usual faults: prose, a fence, comments, trailing commas, Python literals."""
    text = json.dumps(json.loads(nested(size)), indent=1)
    text = (
        text.replace('"id": 1,', '"id": 1, // the second')
        .replace("\n ]", ",\n ]")
        .replace('"score"', '"seen": True, "score"')
    )
    return f"Here is what I found:\n\n```json\n{text}\n```\nTell me if you need more."


def streaming_cost(name: str, parse: Parse, size: int, positions: int, seconds: float) -> float | None:
    """Microseconds per KB when the value is wanted after each delta; None when it takes too long."""
    text = broken(size)
    parts = deltas(text)
    if name.startswith("streamparse"):
        best = min(timed(lambda: parse(text)) for _ in range(3))
        return best * 1e6 / (len(text) / 1024)
    if name == "jsonmend":
        from jsonmend import Mender

        def stream() -> None:
            mender = Mender()
            for part in parts:
                mender.feed(part)
            mender.close()

        return min(timed(stream) for _ in range(3)) * 1e6 / (len(text) / 1024)
    total = 0.0
    try:
        with at_most(seconds):
            for k in range(positions):
                prefix = "".join(parts[: max(1, int((k + 0.5) / positions * len(parts)))])

                def step(prefix: str = prefix) -> None:
                    with contextlib.suppress(Exception):  # no value at this delta; the time is spent all the same
                        parse(prefix)

                total += timed(step)
    except OverBudget:
        return None
    return total / positions * len(parts) * 1e6 / (len(text) / 1024)


def compare() -> dict[str, Any]:
    """name -> kind -> [right, of], which were not, and the costs."""
    parsers: dict[str, Parse] = {}
    for twin in ("compiled", "interpreted"):
        if load_twin(twin) is not None:
            parsers[f"streamparse {twin}"] = ours(twin)
    for name, maker in PARSERS.items():
        try:
            parsers[name] = maker()
        except Exception as error:  # noqa: BLE001  # a peer may fail in any way when it is imported: it is named and left out
            print(f"{name}: left out ({type(error).__name__}: {error})", file=sys.stderr)
    chosen = cases()
    result: dict[str, Any] = {"right": {}, "failed": {}, "microseconds_per_kb": {}, "microseconds_per_kb_large": {}}
    for name, parse in parsers.items():
        right = {kind: [0, 0] for kind in KINDS}
        failed: list[str] = []
        for kind, case, text, want in chosen:
            right[kind][1] += 1
            try:
                with at_most(5), contextlib.redirect_stdout(io.StringIO()):
                    got = parse(text)
            except (Exception, RecursionError):  # noqa: BLE001  # no value is not the right value
                failed.append(case)
                continue
            if same(got, want):
                right[kind][0] += 1
            else:
                failed.append(case)
        result["right"][name] = right
        result["failed"][name] = failed
        result["microseconds_per_kb"][name] = streaming_cost(name, parse, 4_000, 16, 30)
        result["microseconds_per_kb_large"][name] = streaming_cost(name, parse, 32_000, 8, 60)
        print(f"  malformed: {name}: {sum(got for got, _ in right.values())} of {len(chosen)}", file=sys.stderr)
    return result
