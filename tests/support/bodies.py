"""The hand-made bodies of `tests/bodies`, and what each must come to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from streamparse import adapters, captures
from streamparse.provider import TERMINAL, ProviderEvent, Result
from streamparse.response import Response

FOLDER = Path(__file__).parents[1] / "bodies"


@dataclass(frozen=True)
class Body:
    path: Path
    expect: dict[str, Any]

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def raw(self) -> bytes:
        return self.path.read_bytes()

    def chunks(self) -> list[Any]:
        return list(captures.open(self.path))


def load() -> list[Body]:
    """Every body with its expectation; fails where one has none."""
    paths = sorted(path for path in FOLDER.iterdir() if not path.name.endswith((".expect.json", ".md")))
    expects = {path: FOLDER / f"{path.name.split('.')[0]}.expect.json" for path in paths}
    return [Body(path, json.loads(expect.read_text(encoding="utf-8"))) for path, expect in expects.items()]


def events(chunks: Sequence[Any], adapter: Any = None) -> list[ProviderEvent]:
    """What an adapter makes of `chunks`, with the terminal event that a runner adds."""
    adapter = adapter or adapters.detect(chunks[: adapters.LOOK_AHEAD], last=True)
    found: list[ProviderEvent] = [event for chunk in chunks for event in adapter.feed(chunk)]
    found += adapter.close()
    if not any(isinstance(event, TERMINAL) for event in found):
        found.append(Result())
    return found


def response(chunks: Sequence[Any], adapter: Any = None) -> Response:
    return Response.from_events(events(chunks, adapter), duration_ms=1)


def merged(found: Iterable[ProviderEvent]) -> list[dict[str, Any]]:
    """Events as dicts, for comparing."""
    return [event.to_dict() for event in found]


def as_object(value: Any) -> Any:
    """`value` with every dict as an object with attributes, as SDKs give them."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: as_object(item) for key, item in value.items()})
    return [as_object(item) for item in value] if isinstance(value, list) else value


def differences(response: Response, expect: dict[str, Any]) -> list[str]:
    """Where `response` is not what an `.expect.json` says."""
    found: list[str] = []

    def compare(name: str, given: Any, wanted: Any) -> None:
        if given != wanted or type(given) is not type(wanted):
            found.append(f"{name}: {given!r}, expected {wanted!r}")

    for name, wanted in expect.items():
        if name == "tool_calls":
            compare("number of tool calls", len(response.tool_calls), len(wanted))
            for call, want in zip(response.tool_calls, wanted, strict=False):
                compare(f"{want['name']}: generated id", call.metadata.get("generated_id", False), want["id"] is None)
                for field, value in want.items():
                    if field != "id" or value is not None:
                        compare(f"{want['name']}.{field}", getattr(call, field), value)
                compare(f"{want['name']}.complete", call.complete, want.get("complete", True))
        elif name == "usage":
            given = None if response.usage is None else response.usage.model_dump(exclude_none=True)
            if given is not None and "extra" not in (wanted or {}):
                given.pop("extra")
            compare("usage", given, wanted)
        elif name == "metadata":
            compare("metadata", {key: response.metadata.get(key) for key in wanted}, wanted)
        elif name == "error":
            compare("error", response.metadata.get("error"), wanted)
        elif name != "adapter":
            compare(name, getattr(response, name), wanted)
    return found
