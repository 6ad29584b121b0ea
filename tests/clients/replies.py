"""What the model says in these tests, and what must come of it. The wire modules put it in each provider's framing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

CARD: dict[str, Any] = {
    "status_summary": "Order 1182 is “late”:\n\tit waits in Zürich 🚚.",
    "risk_flags": ["refund", "churn \\ chargeback", ""],
    "score": 0.75,
    "steps": [{"who": "ops", "hours": 12, "done": False}, {"who": None, "hours": -1e-3, "done": True}],
    "empty": {},
}


@dataclass(frozen=True)
class Call:
    """One tool call. `pieces` are its arguments' text, in the pieces in which it is sent."""

    id: str
    name: str
    arguments: dict[str, Any]

    @property
    def text(self) -> str:
        return json.dumps(self.arguments, ensure_ascii=False)

    @property
    def pieces(self) -> list[str]:
        return pieces(self.text, 4)


@dataclass(frozen=True)
class Reply:
    """A turn of the model. `end`: as the provider says it, or it breaks off with an error event, or just breaks off."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    end: Literal["stop", "length", "error", "nothing"] = "stop"
    usage: dict[str, int] = field(default_factory=lambda: {"input": 12, "output": 34, "cached": 3, "reasoning": 5})


def pieces(text: str, size: int = 3) -> list[str]:
    """`text` in pieces of `size` characters: what a model calls tokens is no unit of JSON."""
    return [text[at : at + size] for at in range(0, len(text), size)]


ANSWER = Reply(text=json.dumps(CARD, ensure_ascii=False), reasoning="First: wo ist die Bestellung? Überlegen …")
FENCED = Reply(text=f"Here it is:\n```json\n{json.dumps(CARD, indent=1)}\n```\nAnything else?")
TOOLS = Reply(
    text="Let me book that.",
    calls=(
        Call("call_a", "book", {"city": "Zürich", "nights": [1, 2], "guest": {"vip": None}}),
        Call("call_b", "mail", {"to": 'ada "x"', "urgent": True}),
    ),
)
SHORT = Reply(text=json.dumps(CARD)[:60], end="length")
BROKEN = Reply(text=json.dumps(CARD)[:60], end="error")
CUT = Reply(text=json.dumps(CARD)[:60], end="nothing")

ERROR_TEXT = "The model is overloaded"


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Path and value of everything in `value`, itself last: the order in which values become final."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]")
    yield path, value
