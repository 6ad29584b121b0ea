"""The files of `tests/cases` (format: `tests/cases/README.md`)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamparse import JsonSchema

FOLDER = Path(__file__).parents[1] / "cases"


@dataclass(frozen=True)
class Case:
    """One line of a case file."""

    name: str
    kind: str
    chunks: list[str] | list[bytes]
    options: dict[str, Any]
    want: dict[str, Any]

    @property
    def text(self) -> str | None:
        """The joined text, None where the bytes are not UTF-8."""
        if self.chunks and isinstance(self.chunks[0], bytes):
            try:
                return b"".join(self.chunks).decode()  # type: ignore[arg-type]
            except UnicodeDecodeError:
                return None
        return "".join(self.chunks)  # type: ignore[arg-type]

    @property
    def arguments(self) -> dict[str, Any]:
        """The options as keyword arguments of `StreamParser`."""
        arguments = dict(self.options)
        if "schema" in arguments:
            arguments["output"] = JsonSchema(arguments.pop("schema"))
        if isinstance(arguments.get("reasoning"), list):
            arguments["reasoning"] = tuple(arguments["reasoning"])
        return arguments


def load(folder: Path = FOLDER) -> list[Case]:
    """Every case of the folder."""
    cases: list[Case] = []
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").split("\n"):
            if line.strip():
                raw = json.loads(line)
                assert raw["kind"] == file.stem, f"{raw['name']} stands in the wrong file"
                hexes = raw.get("chunks_hex")
                chunks = [bytes.fromhex(one) for one in hexes] if hexes is not None else raw["chunks"]
                cases.append(Case(raw["name"], raw["kind"], chunks, raw.get("options", {}), raw["want"]))
    return cases
