"""Write the recorded stream of `streamparse demo`: `python docs/scripts/demo_stream.py`.

The answer below was written by hand for this purpose. It shows what a real one may hold: a block of reasoning, a
sentence before and after the document, a Markdown fence, nested lists, numbers, escapes and characters of several
bytes. The file is an event stream of Chat Completions chunks, cut into pieces about as a model's tokens are.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

TARGET = Path(__file__).parents[2] / "streamparse" / "demo" / "triage.sse"

ANSWER = r"""<think>
The customer writes for the third time about order 1182. The parcel left Lyon on the 3rd and was last seen in Metz; that is nine days ago.
She asks for a refund and says she will not order again, so this is both a refund and a churn risk.
The second item, the lamp, did arrive, but the box was open. I should not promise a date.
</think>

Here is the triage of the ticket:

```json
{
  "status_summary": "Order 1182 is nine days late; the lamp arrived in a box that was \"already open\".",
  "priority": 2,
  "sentiment": -0.65,
  "escalate": true,
  "assignee": null,
  "risk_flags": ["refund", "churn", "damaged goods"],
  "customer": {
    "name": "Zo\u00eb M\u00fcller",
    "since": 2019,
    "tickets": [
      {"id": 40711, "topic": "late delivery", "tags": ["carrier", "Metz"]},
      {"id": 40802, "topic": "open box", "tags": []}
    ]
  },
  "next_steps": [
    {"who": "support", "text": "Apologise, and name no date that cannot be kept.", "minutes": 10},
    {"who": "warehouse", "text": "Ask the carrier for the last scan:\n\"Metz, dock 4\".", "minutes": 25},
    {"who": "billing", "text": "Prepare a refund of 48.90 \u20ac, but wait for the scan.", "minutes": 5.5}
  ],
  "reply_draft": "Dear Zo\u00eb,\n\nI am sorry: your parcel should have been with you last week. We are looking for it now. The lamp we replace at once \ud83d\udca1 \u2013 please keep the box.\n\nKind regards"
}
```

Shall I send the draft?"""  # noqa: E501  # its lines are as long as a model would write them

# Longer than a model's tokens in words, shorter in escapes, so that both are cut in awkward places.
_PIECE = re.compile(r"\\u[0-9a-f]{2}|[0-9a-f]{2}(?=[\\ ])| ?\w{1,6}|\s+|[^\w\s]{1,3}")


def chunks() -> list[dict[str, object]]:
    """The chunks of the stream."""
    head = {"id": "chatcmpl-demo", "object": "chat.completion.chunk", "created": 1767225600, "model": "demo-model"}
    pieces = _PIECE.findall(ANSWER)
    assert "".join(pieces) == ANSWER
    deltas: list[dict[str, str]] = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces)]
    found: list[dict[str, object]] = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    found.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    usage = {"prompt_tokens": 412, "completion_tokens": len(pieces), "total_tokens": 412 + len(pieces)}
    found.append({**head, "choices": [], "usage": usage})
    return found


def main() -> None:
    """Write the file."""
    events = [f"data: {json.dumps(chunk, ensure_ascii=False, separators=(',', ':'))}\n\n" for chunk in chunks()]
    TARGET.write_text("".join([*events, "data: [DONE]\n\n"]), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
