"""The seed corpus: the project's own cases and recorded bodies, and tokens worth trying."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
TOKENS = (
    '{"', '":', '",', "[{", "}]", "```json\n", "```", "<think>", "</think>", "\\u", "\\ud83d\\ude00", "\\n",
    '\\"', "true", "false", "null", "None", "NaN", "-1.5e3", "0x1F", "//", "/*", "*/", "'", '"""', "“", "”",
    "\\x", "data: ", "\n\n", "event: ", '{"choices":[{"delta":{"content":"', "[DONE]",
)  # fmt: skip
BODY_TARGETS = ("captures", "adapters")
HEADS = {
    "against_json": b"\1",
    "against_ijson": b"\1",
    "schema": b"\0\0\4",
    "captures": b"\1",
    "adapters": b"\1",
}  # option bytes; the others have two


def texts() -> Iterator[bytes]:
    """The joined chunks of every case."""
    for file in sorted((TESTS / "cases").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").split("\n"):
            if line.strip():
                case = json.loads(line)
                raw = (
                    b"".join(map(bytes.fromhex, case["chunks_hex"]))
                    if "chunks_hex" in case
                    else "".join(case["chunks"]).encode()
                )
                if len(raw) <= 2000:
                    yield raw


def bodies() -> Iterator[bytes]:
    """The recorded bodies, cut to their first 6,000 bytes: a fuzzer gets nowhere with long inputs."""
    for file in sorted((TESTS / "bodies").iterdir()):
        if file.suffix in (".sse", ".ndjson", ".jsonl", ".aws") or file.name.endswith(
            (".array.json", ".eventstream.json")
        ):
            yield file.read_bytes()[:6000]


def seeds(target: str) -> Iterator[bytes]:
    """The seeds of a target, each with its option bytes in front."""
    head = HEADS.get(target, b"\0\0")
    for raw in bodies() if target in BODY_TARGETS else texts():
        yield head + raw


def dictionary() -> str:
    """The tokens in libFuzzer's form."""
    return "\n".join('"' + "".join(f"\\x{byte:02x}" for byte in token.encode()) + '"' for token in TOKENS) + "\n"
