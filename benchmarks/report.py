"""The figures as Markdown and SVG."""

from __future__ import annotations

import json
import math
from html import escape
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
WRONG_BEGIN, WRONG_END = "<!-- malformed: begin -->", "<!-- malformed: end -->"

# What the project set itself to reach, in units of F (the floor): at most, aim.
GOALS = {
    "interpreted": {
        "obj500": (3.2, 2.4),
        "nested4k": (3.2, 2.4),
        "obj64k": (4.5, 3.3),
        "arr1m": (4.5, 3.3),
        "deep500": (6, 4),
        "str256k": (1.8, 1.5),
    },
    "compiled": {
        "obj500": (0.9, 0.7),
        "nested4k": (0.9, 0.7),
        "obj64k": (1.0, 0.8),
        "arr1m": (1.0, 0.8),
        "deep500": (1.3, 1.0),
        "str256k": (0.75, 0.6),
    },
}
FLOOR, EMPTY, IDLE, IJSON, JITER = (
    "F: append + one event object",
    "C: an empty method call",
    "P: F in a method that returns the event",
    "ijson C, parse_coro pushed",
    "J: jiter, re-parse at each delta",
)
Result = dict[str, Any]


def number(value: float | None) -> str:
    if value is None:
        return "–"
    if value < 10:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def per_delta(result: Result, what: str = "cells") -> str:
    texts = list(result[what])
    names = list(next(iter(result[what].values())))
    exponents = result.get("exponents", {}) if what == "cells" else {}
    rows = []
    for name in names:
        row = [f"**{name}**" if name.startswith("streamparse") else name]
        for text in texts:
            micro, ratio, fault = result[what][text][name]
            row.append(
                fault
                or (
                    number(micro)
                    if ratio is None
                    else f"{number(micro)} ({number(ratio)} F)"
                    if name.startswith("streamparse")
                    else number(micro)
                )
            )
        if exponents:
            row.append(" / ".join(number(exponents[kind].get(name)) for kind in exponents))
        rows.append(row)
    return table(["µs per delta", *texts, *(["growth: records / string / depth"] if exponents else [])], rows)


def goals(result: Result) -> str:
    """streamparse against what it set itself to reach."""
    rows = []
    for twin, targets in GOALS.items():
        for text, (most, aim) in targets.items():
            if text not in result["cells"]:
                continue
            cell = result["cells"][text].get(f"streamparse {twin}, llm")
            strict = result["cells"][text].get(f"streamparse {twin}, strict")
            if not cell or cell[1] is None:
                continue
            ratio = cell[1]
            # All in units of the floor of their rounds: the machine is not as fast in each of them.
            idle, ijson, jiter = (result["cells"][text].get(name) for name in (IDLE, IJSON, JITER))
            rows.append(
                [
                    f"{twin}, {text}",
                    str(most),
                    str(aim),
                    *_against(ratio, most, aim),
                    *(_against(ratio / idle[1], most, aim) if idle and idle[1] else ("–", "–")),
                    number(ratio / ijson[1]) if ijson and ijson[1] else "–",
                    number(jiter[1] / ratio) if jiter and jiter[1] else "–",
                    number(ratio / strict[1]) if strict and strict[1] else "–",
                ]
            )
    return table(
        [
            "llm dialect",
            "at most",
            "aim",
            "in F",
            "",
            "in P",
            "",
            "times ijson C",
            "times faster than jiter re-parsing",
            "llm / strict",
        ],
        rows,
    )


def in_calls(result: Result) -> str:
    """What F and P cost in empty calls: where the text is short, since a long one does not stay near the processor."""
    cells = result["cells"].get("obj500", {})
    if EMPTY not in cells or IDLE not in cells:
        return ""
    empty, idle, floor = (cells[name][0] for name in (EMPTY, IDLE, FLOOR))
    return (
        f"F costs {floor / empty:.1f} empty calls on obj500, P {idle / empty:.1f}; "
        "it cost 11 to 13 of them where the targets were set."
    )


def _against(cost: float, most: float, aim: float) -> tuple[str, str]:
    """A cost, and what it says of a goal."""
    return number(cost), "aim" if cost <= aim else "met" if cost <= most else "**missed**"


def gives(result: Result) -> str:
    head = [
        "",
        "open string",
        "path",
        "piece",
        "done",
        "value",
        "tolerant",
        "same for every split",
        "final = json.loads",
        "",
    ]
    rows = [
        [name, *marks]
        for name, marks in result["gives"].items()
        if not name.startswith(("F:", "C:", "P:", "L:")) and not name.endswith("strict")
    ]
    return table(head, rows).replace("---:", ":---:")


def beside(result: Result) -> str:
    """Beside ijson and jiter, the whole text at once, memory, import time, schema."""
    lines = []
    for text, twin, peer, most, faster in (
        ("nested4k", "compiled", IJSON, 0.8, False),
        ("nested4k", "interpreted", IJSON, 3, False),
        ("nested4k", "compiled", JITER, 30, True),
        ("nested4k", "interpreted", JITER, 7, True),
        ("obj500", "compiled", JITER, 5, True),
        ("obj500", "interpreted", JITER, 1, True),
    ):
        cells = result["cells"].get(text, {})
        ours, theirs = (cells[name][1] if name in cells else None for name in (f"streamparse {twin}, llm", peer))
        if ours and theirs:
            name = peer.partition(",")[0].removeprefix("J: ")
            said = (
                f"{number(theirs / ours)} times faster than {name} re-parsing (at least {most})"
                if faster
                else f"{number(ours / theirs)} times {name} (at most {most})"
            )
            lines.append(f"* {text}, {twin}: {said}.")
    for twin, ratio in result.get("whole", {}).items():
        most = 4 if twin == "compiled" else 40
        lines.append(f"* One feed of the whole of arr1m, {twin}: {number(ratio)} times `json.loads` (at most {most}).")
    for kind, lines_of in result.get("around", {}).items():
        slopes = ", ".join(f"{name.removeprefix('streamparse ')} {number(slope)}" for name, slope in lines_of.items())
        lines.append(f"* Growth on {kind}, to 1 MB: {slopes}.")
    for name, got in result.get("memory", {}).items():
        twin, what = name.split(", ")
        above = (got["peak"] - got["tree"]) / 1e6
        close = (got["peak_at_close"] - got["tree"]) / 1e6
        tree = (
            f"above the tree of {got['tree'] / 1e6:.2f} MB (json.loads: {got['json_loads_tree'] / 1e6:.2f} MB)"
            if what == "data"
            else "with `keep_data=False`"
        )
        lines.append(
            f"* Peak memory on arr1m ({got['text'] / 1e6:.1f} MB of text, kept as `Parsed.text`), {twin}, {tree}: "
            f"{above:.2f} MB while feeding, {close:.2f} MB at the close (tracemalloc)."
        )
    imports = result.get("import", {})
    if imports:
        lines.append(
            "* Import time: " + ", ".join(f"{name} {number(value)} ms" for name, value in imports.items()) + "."
        )
    for twin, got in result.get("schema", {}).items():
        without, given, pydantic = (number(got[key]) for key in ("without", "with", "pydantic"))
        beside_it = (got["with"] - got["pydantic"]) / got["without"] - 1
        lines.append(
            f"* Schema on nested4k, {twin}: {without} ms without, {given} ms with a pydantic model, of which pydantic "
            f"alone needs {pydantic} ms: {beside_it * 100:+.0f} % beside that."
        )
    return "\n".join(lines)


def markdown(result: Result) -> str:
    where = (
        f"streamparse {result['streamparse']}, CPython {result['python']}, {result['machine']}, {result['date']}, "
        f"{result['mode']} run, {result.get('seconds', 0)} s."
    )
    parts = [where, per_delta(result), goals(result), in_calls(result)]
    if "exponents" in result:
        parts += [
            "Other shapes of text: indented, full of escapes, in other scripts (64 KB each):",
            per_delta(result, "shapes"),
            beside(result),
        ]
    if result["mode"] == "full":
        parts += ["What each gives at each delta, without work of the caller:", gives(result)]
    return "\n\n".join(part for part in parts if part)


def malformed_table(result: dict[str, Any]) -> str:
    kinds = list(next(iter(result["right"].values())))
    rows = []
    for name, right in result["right"].items():
        row = [f"**{name}**" if name.startswith("streamparse") else name]
        row += [f"{got} / {of}" for got, of in right.values()]
        row.append(f"{sum(got for got, _ in right.values())} / {sum(of for _, of in right.values())}")
        row.append(number(result["microseconds_per_kb"].get(name)))
        row.append(number(result["microseconds_per_kb_large"].get(name)))
        rows.append(row)
    head = ["right values", *kinds, "all", "µs per KB, 4 KB answer", "µs per KB, 32 KB answer"]
    lines = [table(head, rows)]
    if result["failed"]:
        lines.append(
            "Not right: "
            + "; ".join(
                f"{name}: {', '.join(cases)}"
                for name, cases in result["failed"].items()
                if name.startswith("streamparse") and cases
            )
            + "."
            if any(cases for name, cases in result["failed"].items() if name.startswith("streamparse"))
            else ""
        )
    return "\n\n".join(line for line in lines if line)


# ---------------------------------------------------------------------------------------------------------------- plots

INK, GRID, OURS, OTHERS = "#3b4252", "#d8dee9", "#c0392b", "#7f8c9b"
WIDTH, HEIGHT = 820, 520


def plot_growth(result: Result) -> str:
    """Cost of a delta over the size of the text, both logarithmic: level lines are linear, rising ones quadratic."""
    lines = {
        name: [(size, micro) for size, _, micro in points]
        for name, points in result["growth"]["records"].items()
        if len(points) > 1 and not name.startswith("L:")
    }
    if not lines:
        return ""
    left, right, top, bottom = 80, 270, 50, 40
    low = math.log10(min(micro for points in lines.values() for _, micro in points)) - 0.1
    high = math.log10(max(micro for points in lines.values() for _, micro in points)) + 0.1
    start = math.log10(min(size for points in lines.values() for size, _ in points))
    stop = math.log10(max(size for points in lines.values() for size, _ in points))

    def x(size: float) -> float:
        return left + (math.log10(size) - start) / (stop - start) * (WIDTH - left - right)

    def y(micro: float) -> float:
        return HEIGHT - bottom - (math.log10(micro) - low) / (high - low) * (HEIGHT - top - bottom)

    out = [_svg_head("Microseconds per delta of 4 characters, by size of the text (array of records)")]
    for power in range(math.ceil(low), math.floor(high) + 1):
        out.append(
            f'<line x1="{left}" x2="{WIDTH - right}" y1="{y(10**power):.1f}" y2="{y(10**power):.1f}" stroke="{GRID}"/>'
        )
        out.append(f'<text x="{left - 8}" y="{y(10**power) + 4:.1f}" text-anchor="end">{10**power:,.6g} µs</text>')
    for size, label in ((500, "500 B"), (4_000, "4 KB"), (32_000, "32 KB"), (256_000, "256 KB"), (1_000_000, "1 MB")):
        if math.log10(size) <= stop + 0.01:
            out.append(f'<text x="{x(max(size, 10**start)):.1f}" y="{HEIGHT - 16}" text-anchor="middle">{label}</text>')
    labels: list[tuple[float, float, str, str]] = []
    for name, points in lines.items():
        ours = name.startswith("streamparse")
        colour, width = (OURS, 2.5) if ours else (OTHERS, 1.2)
        dash = ' stroke-dasharray="6 3"' if "interpreted" in name else ""
        path = " ".join(f"{x(size):.1f},{y(micro):.1f}" for size, micro in points)
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="{width}"{dash} points="{path}"/>')
        last = points[-1]
        out.append(f'<circle cx="{x(last[0]):.1f}" cy="{y(last[1]):.1f}" r="2.5" fill="{colour}"/>')
        labels.append((y(last[1]), x(last[0]), name, colour))
    for (height, end, name, colour), at in zip(
        sorted(labels), spread([one[0] for one in sorted(labels)], top), strict=True
    ):
        short = name.replace(", re-parse at each delta", "").replace("J: ", "").replace(", re-parse", "")
        edge = WIDTH - right
        out.append(f'<path d="M{end:.1f},{height:.1f} H{edge:.1f} L{edge + 14},{at:.1f}" fill="none" stroke="{GRID}"/>')
        out.append(f'<text x="{edge + 18}" y="{at + 4:.1f}" fill="{colour}">{escape(short)}</text>')
    return "\n".join([*out, "</svg>\n"])


def spread(heights: list[float], top: float, step: float = 13.0) -> list[float]:
    """Sorted heights moved apart so that labels there do not cover one another, and none leaves the picture."""
    places: list[float] = []
    for height in heights:
        places.append(max(height, places[-1] + step if places else top))
    limit = HEIGHT - 8.0
    for index in range(len(places) - 1, -1, -1):
        places[index] = min(places[index], limit)
        limit = places[index] - step
    return places


def plot_per_delta(result: Result, text: str = "nested4k") -> str:
    """Bars of the cost of a delta on one document, logarithmic."""
    cells = [
        (name, micro)
        for name, (micro, _, _) in result["cells"].get(text, {}).items()
        if micro and not name.startswith(("C:", "L:"))
    ]
    if not cells:
        return ""
    cells.sort(key=lambda one: one[1])
    left, right, top, step = 290, 80, 50, 18
    height = top + step * len(cells) + 20
    low = math.log10(cells[0][1]) - 0.3
    high = math.log10(cells[-1][1])
    out = [_svg_head(f"Microseconds per delta of 4 characters, {text} (logarithmic)", height)]
    for row, (name, micro) in enumerate(cells):
        y = top + row * step
        colour = OURS if name.startswith("streamparse") else OTHERS
        width = (math.log10(micro) - low) / (high - low) * (WIDTH - left - right)
        out.append(f'<text x="{left - 8}" y="{y + 11}" text-anchor="end">{escape(name)}</text>')
        out.append(f'<rect x="{left}" y="{y + 1}" width="{width:.1f}" height="{step - 5}" fill="{colour}"/>')
        out.append(f'<text x="{left + width + 6:.1f}" y="{y + 11}">{number(micro)}</text>')
    return "\n".join([*out, "</svg>\n"])


def _svg_head(title: str, height: int = HEIGHT) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="system-ui, sans-serif" '
        f'font-size="11" fill="{INK}">\n<rect width="{WIDTH}" height="{height}" fill="white"/>\n'
        f'<text x="16" y="26" font-size="15" font-weight="600">{escape(title)}</text>'
    )


# ---------------------------------------------------------------------------------------------------------------- files


def between(path: Path, begin: str, end: str, text: str) -> None:
    """Put `text` between the two marks of the file."""
    old = path.read_text(encoding="utf-8")
    head, rest = old.split(begin, 1)
    tail = rest.split(end, 1)[1]
    path.write_text(f"{head}{begin}\n\n{text}\n\n{end}{tail}", encoding="utf-8")


def write(folder: Path, root: Path, result: Result) -> None:
    (folder / "results.json").write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "growth.svg").write_text(plot_growth(result), encoding="utf-8")
    (folder / "per_delta.svg").write_text(plot_per_delta(result), encoding="utf-8")
    for name in ("growth.svg", "per_delta.svg"):
        (root / "docs" / name).write_text((folder / name).read_text(encoding="utf-8"), encoding="utf-8")
    between(folder / "README.md", BEGIN, END, markdown(result))
    between(root / "docs" / "performance.md", BEGIN, END, markdown(result))
    if "malformed" in result:
        write_malformed(folder, root, result["malformed"])


def write_malformed(folder: Path, root: Path, result: dict[str, Any]) -> None:
    between(folder / "README.md", WRONG_BEGIN, WRONG_END, malformed_table(result))
    between(root / "docs" / "comparison.md", WRONG_BEGIN, WRONG_END, malformed_table(result))
