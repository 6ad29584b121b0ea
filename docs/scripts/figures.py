"""Draw the figures of "How it works": `python docs/scripts/figures.py` writes two SVG files in `docs/pictures`.

The states and their arrows are those of `streamparse/states.py`; only the places of the boxes are given here. Each
figure has a background of its own, light or dark as the reader's system is, so that it can be read on any page.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from pathlib import Path

from streamparse.states import (
    AFTER,
    BARE,
    COLON,
    END,
    FIRST_KEY,
    FIRST_VALUE,
    KEY_STRING,
    NEXT_KEY,
    STATES,
    STRING,
    VALUE,
)

TARGET = Path(__file__).parents[1] / "pictures"

STYLE = """
.page { fill: #ffffff; stroke: #d5d9e2 }
text { fill: #1f2430; font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; text-anchor: middle }
.name { font-weight: 600 }
.code { font: 600 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
.note { fill: #586074; font-size: 11.5px }
.left { text-anchor: start }
.box { fill: #eef2fb; stroke: #5b74b8; stroke-width: 1.2 }
.end { fill: #e7f4ea; stroke: #3f8a56; stroke-width: 1.2 }
.data { fill: #fdf4e3; stroke: #b3863a; stroke-width: 1.2 }
.line { fill: none; stroke: #5a6275; stroke-width: 1.3 }
.head { fill: #5a6275 }
.arrays { stroke: #2f6fd0 } .arrays-head { fill: #2f6fd0 }
.objects { stroke: #b0479a } .objects-head { fill: #b0479a }
.leaves { stroke: #2f8f57 } .leaves-head { fill: #2f8f57 }
@media (prefers-color-scheme: dark) {
  .page { fill: #1c1f2a; stroke: #3a4052 }
  text { fill: #e6e9f2 }
  .note { fill: #a5aec4 }
  .box { fill: #28304a; stroke: #8aa2e6 }
  .end { fill: #20382a; stroke: #72c08c }
  .data { fill: #3b3020; stroke: #d9ab5c }
  .line { stroke: #a0a8bd }
  .head { fill: #a0a8bd }
  .arrays { stroke: #7db0ff } .arrays-head { fill: #7db0ff }
  .objects { stroke: #ea92d5 } .objects-head { fill: #ea92d5 }
  .leaves { stroke: #7bd49d } .leaves-head { fill: #7bd49d }
}
"""


def svg(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    """A figure with its style and background; `title` is what a screen reader says."""
    heads = "".join(
        f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path class="{name}" d="M0 0L10 5L0 10z"/></marker>\n'
        for name in ("head", "arrays-head", "objects-head", "leaves-head")
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">\n'
        f"<title>{escape(title)}</title>\n"
        f"<style>{STYLE}</style>\n<defs>\n{heads}</defs>\n"
        f'<rect class="page" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def text(x: float, y: float, what: str, kind: str = "") -> str:
    """A line of text, its middle (or with the class `left` its beginning) at x."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(what)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str = "box") -> str:
    """A rectangle round the point x, y."""
    corner = f'x="{x - width / 2:g}" y="{y - height / 2:g}"'
    return f'<rect class="{kind}" {corner} width="{width:g}" height="{height:g}" rx="7"/>'


def arrow(path: str, kind: str = "") -> str:
    """A line with a head at its end."""
    return f'<path class="line {kind}" d="{path}" marker-end="url(#{f"{kind}-head" if kind else "head"})"/>'


# -- the pipeline

STAGES = [  # name, what it does, what it hands on
    ("adapters", ("any SDK, known by", "the shape it sends"), "provider events"),
    ("turn", ("folds answer, tool", "calls and usage"), "text"),
    ("decode", ("bytes to", "whole characters"), "characters"),
    ("reasoning", ("sets <think> and", "its like apart"), "answer"),
    ("locate", ("sets prose and", "fences apart"), "payload"),
    ("machine", ("JSON, and what", "is nearly JSON"), ""),
]
STEP, SIZE, LEFT, TOP, ROW = 162, 134, 24, 108, 262


def pipeline() -> str:
    """The path of a character from the model to a slot."""
    parts = [text(LEFT, 32, "One direction, one pass: nothing is read twice.", "left name")]
    middles = [LEFT + SIZE / 2 + number * STEP for number in range(len(STAGES))]
    for x, (name, note, hands_on) in zip(middles, STAGES, strict=True):
        parts += [box(x, TOP, SIZE, 70), text(x, TOP - 13, name, "code")]
        parts += [text(x, TOP + 7 + 15 * number, line, "note") for number, line in enumerate(note)]
        if hands_on:
            parts += [
                arrow(f"M{x + SIZE / 2:g} {TOP}h{STEP - SIZE - 2}"),
                text(x + STEP / 2, TOP + 56, hands_on, "note"),
            ]
    # What `StreamParser` is.
    start, end = middles[2] - SIZE / 2, middles[-1] + SIZE / 2
    parts += [
        f'<path class="line" d="M{start:g} 66v-8H{end:g}v8"/>',
        text((start + end) / 2, 50, "StreamParser", "code"),
    ]
    event, result, response, yours = middles[-1] - 33, middles[3] - 20, middles[1] + 20, middles[3] - 20
    for x, name, note, kind, size in (
        (event, "StreamingData", "which field grew, which is final", "data", 200),
        (result, "StreamResult", "run once, read many ways", "box", 190),
        (response, "Response", "one typed value at the end", "end", 190),
    ):
        parts += [box(x, ROW, size, 52, kind), text(x, ROW - 4, name, "code"), text(x, ROW + 15, note, "note")]
    parts += [
        arrow(f"M{middles[-1]:g} {TOP + 35}V{ROW - 28}"),
        arrow(f"M{event - 100:g} {ROW}H{result + 97:g}"),
        arrow(f"M{result - 95:g} {ROW}H{response + 97:g}"),
        arrow(f"M{result:g} {ROW + 26}v26"),
        box(yours, ROW + 72, 440, 36),
        text(yours, ROW + 77, "your page · your terminal · wire and web · streamparse watch"),
    ]
    return svg(1000, 372, "The path of a character, from the stream of an SDK to the slot of a field", parts)


# -- the states

WIDTH, HEIGHT = 1000, 680
CENTRE = (WIDTH / 2, 350)
RADII = (385, 268)
BOX = (196, 50)
ROUND = [VALUE, COLON, KEY_STRING, FIRST_KEY, NEXT_KEY, AFTER, END, STRING, BARE, FIRST_VALUE]
"""The states in RFC 8259 text, clockwise from the top."""
KINDS = {
    **dict.fromkeys((FIRST_VALUE,), "arrays"),
    **dict.fromkeys((FIRST_KEY, NEXT_KEY, KEY_STRING, COLON), "objects"),
    **dict.fromkeys((STRING, BARE), "leaves"),
}


def place(state: int) -> tuple[float, float]:
    """The middle of a state's box."""
    angle = 2 * math.pi * ROUND.index(state) / len(ROUND)
    return CENTRE[0] + RADII[0] * math.sin(angle), CENTRE[1] - RADII[1] * math.cos(angle)


def is_inside(point: tuple[float, float], state: int, margin: float) -> bool:
    """Whether the point is in the state's box, or so near to it."""
    x, y = place(state)
    return abs(point[0] - x) < BOX[0] / 2 + margin and abs(point[1] - y) < BOX[1] / 2 + margin


def edge(start: int, end: int) -> str:
    """An arrow between two states: a curve that bends towards the middle, from one box to the other."""
    kind = KINDS.get(start, "")
    (x1, y1), (x2, y2) = place(start), place(end)
    if start == end:
        side = 1 if x1 >= CENTRE[0] else -1
        x = x1 + side * BOX[0] / 2
        return arrow(f"M{x:.1f} {y1 - 12:.1f}c{side * 26} -14 {side * 26} 38 {side * 2} 26", kind)
    bend = 0.28
    control = tuple((a + b) / 2 * (1 - bend) + c * bend for a, b, c in zip((x1, y1), (x2, y2), CENTRE, strict=True))

    def at(t: float) -> tuple[float, float]:
        return (
            (1 - t) ** 2 * x1 + 2 * t * (1 - t) * control[0] + t**2 * x2,
            (1 - t) ** 2 * y1 + 2 * t * (1 - t) * control[1] + t**2 * y2,
        )

    points = [at(step / 200) for step in range(201)]
    drawn = [point for point in points if not is_inside(point, start, 0) and not is_inside(point, end, 2)]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in [*drawn[:-1:6], drawn[-1]])
    return arrow(f"M{path}", kind)


def states() -> str:
    """The states of the machine in well-formed text, and which may follow which."""
    parts = [edge(start, end) for start in ROUND for end in STATES[start].next]
    parts.append(arrow(f"M{CENTRE[0]} 20V{place(VALUE)[1] - BOX[1] / 2 - 2:g}"))
    for state in ROUND:
        x, y = place(state)
        kind = {VALUE: "data", END: "end"}.get(state, "box")
        parts += [
            box(x, y, *BOX, kind),
            text(x, y - 4, STATES[state].name, "code"),
            text(x, y + 14, STATES[state].meaning, "note"),
        ]
    return svg(WIDTH, HEIGHT, "The states of the machine in RFC 8259 text", parts)


def main() -> None:
    """Write the figures."""
    TARGET.mkdir(exist_ok=True)
    for name, figure in (("pipeline", pipeline()), ("states", states())):
        (TARGET / f"{name}.svg").write_text(figure, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
