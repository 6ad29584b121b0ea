"""The live view: a tree of fields that grows in place, drawn with Rich.

What is drawn is made from the end of the tree upwards and stops when the screen is full, so that a frame of a long
answer costs no more than one of a short answer. All text of the model goes through `printable`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from typing import Any, Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.filesize import decimal
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.segment import Segment
from rich.text import Text

from .output import printable
from .recorded import Recording
from .tree import Excerpt, Mark, Node, Tree

FRAMES_PER_SECOND = 12
LONG_FILE = 256 * 1024
"""Bytes of a file from which on a progress bar is shown."""
ALL = 300
"""Lines that are drawn at most, once the run is over."""
TEXT_LINES = 6
"""Lines that one text may take while the view moves, and once the run is over."""
FINAL_TEXT_LINES = 40
THOUGHT_LINES = 4
FINAL_THOUGHT_LINES = 12
SPINNER: Final = ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "-\\|/")  # with Unicode, without
MARKS: Final[dict[Mark, tuple[str, str, str]]] = {  # with Unicode, without, style; one that grows has a spinner
    "growing": ("●", "*", "yellow"),
    "done": ("✓", "+", "green"),
    "cut": ("✂", "x", "bold red"),
    "invalid": ("!", "!", "bold magenta"),
}
STATES: Final = {
    "complete": "green",
    "paused": "yellow",
    "truncated": "bold red",
    "cut": "bold red",
    "filtered": "bold red",
    "refused": "bold red",
    "cancelled": "bold red",
    "error": "bold red",
}


class View:
    """Draws a `Tree` for a terminal of some encoding. `feed` and drawing may happen in different threads."""

    def __init__(self, *, encoding: str = "utf-8", recording: Recording | None = None) -> None:
        self.tree = Tree()
        self.over = False
        self._encoding = encoding
        self._unicode = "utf" in encoding.lower()
        self._recording = recording
        self._frame = 0
        self._lock = threading.Lock()

    def feed(self, items: Iterable[tuple[str, Any]]) -> None:
        """Take the events of the run."""
        for event, data in items:
            with self._lock:
                self.tree.feed(event, data)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with self._lock:
            self._frame += 1
            lines = self._draw(console, options.max_width, ALL if self.over else max(console.size.height - 1, 4))
        for line in lines:
            yield from console.render(line, options.update(no_wrap=True, overflow="crop", height=None))
        yield from self._progress(console, options)

    # ---- the parts, from top to bottom

    def _draw(self, console: Console, width: int, height: int) -> list[Text]:
        tree = self.tree
        footer = self._footer(console, width)
        if self._size:
            height -= 1
        head: list[Text] = []
        if tree.reasoning.length:
            lines = FINAL_THOUGHT_LINES if self.over else THOUGHT_LINES if tree.thinking else 2
            lines = min(lines, max(height - 3, 1))
            head = self._block(console, tree.reasoning, width, lines, "dim italic", growing=tree.thinking)
        room = max(height - len(head) - len(footer), 1)
        body: list[Text] = []
        for line in self._body_upwards(console, width):
            if len(body) == room:
                body[-1] = Text("⋮" if self._unicode else ":", style="dim")
                break
            body.append(line)
        return [*head, *reversed(body), *footer]

    def _body_upwards(self, console: Console, width: int) -> Iterator[Text]:
        tree = self.tree
        if tree.refusal.length:
            yield from reversed(self._block(console, tree.refusal, width, self._lines, "red", growing=not self.over))
        for source, root in reversed(tree.roots.items()):
            label = tree.label(source)
            yield from self._node_upwards(console, root, label, 1 if label else 0, width)
        if tree.text.length and "content" not in tree.roots:
            lines = ALL if self.over else 2 * TEXT_LINES
            yield from reversed(self._block(console, tree.text, width, lines, "", growing=not self.over))

    def _node_upwards(self, console: Console, node: Node, label: str, depth: int, width: int) -> Iterator[Text]:
        stack: list[tuple[Node, str, int, Iterator[Node] | None]] = [(node, label, depth, None)]
        while stack:  # no recursion: answers may be nested deeper than Python's stack
            node, label, depth, children = stack.pop()
            if children is None:
                children = reversed(node.children.values())
            child = next(children, None)
            if child is not None:
                stack.append((node, label, depth, children))
                stack.append((child, f"[{child.name}]" if isinstance(child.name, int) else child.name, depth + 1, None))
                continue
            if depth or label or not node.children:
                yield from reversed(self._field(console, node, label, depth, width))

    def _field(self, console: Console, node: Node, label: str, depth: int, width: int) -> list[Text]:
        """The lines of one field."""
        step = 2 if width >= 60 else 1
        indent = " " * min(max(depth - 1, 0) * step, width // 3)
        line = Text(indent)
        line.append_text(self._mark(node.mark))
        line.append(" ")
        name = self._printable(label)
        if len(name) > width // 2:
            name = name[: max(width // 2 - 1, 1)] + self._more
        line.append(name, style="bold cyan")
        if node.kind in ("object", "array"):
            if not node.children and (node.mark != "growing" or not label):
                line.append((" " if label else "") + ("{}" if node.kind == "object" else "[]"), style="dim")
            return [line]
        if label:
            line.append(" ")
        start = line.cell_len
        if start > width // 2:  # the value goes below the name
            start = len(indent) + 2
        style = "" if node.kind == "string" else "magenta"
        growing = node.mark == "growing"
        value = self._wrap(console, node.text, max(width - start, 8), self._lines, from_end=growing)
        if growing:
            value[-1].append("▌" if self._unicode else "_", style="yellow")
        for text in value:
            text.stylize(style)
        if start == line.cell_len:
            line.append_text(value[0])
            return [line, *(Text(" " * start).append_text(text) for text in value[1:])]
        return [line, *(Text(" " * start).append_text(text) for text in value)]

    def _block(
        self, console: Console, text: Excerpt, width: int, lines: int, style: str, *, growing: bool
    ) -> list[Text]:
        found = self._wrap(console, text, max(width - 2, 8), lines, from_end=True)
        if growing:
            found[-1].append("▌" if self._unicode else "_")
        bar = "│ " if self._unicode else "| "
        for line in found:
            line.stylize(style)
        return [Text(bar, style="dim").append_text(line) for line in found]

    def _wrap(self, console: Console, text: Excerpt, width: int, limit: int, *, from_end: bool) -> list[Text]:
        """`text` in at most `limit` lines, from its end or its start, with a mark where there is more."""
        shown = text.end() if from_end else text.start()
        # One cell is left free: the cursor of a text that grows stands behind it.
        room = max(width - 1, 1)
        lines: list[Text] = []
        for line in shown.split("\n"):
            whole = Text(self._printable(line.expandtabs(4).rstrip("\r")))
            lines += whole.wrap(console, room, overflow="fold") or [Text()]
        more = len(lines) > limit or text.length > len(shown)
        lines = lines[-limit:] if from_end else lines[:limit]
        if more:
            mark = Text(self._more, style="dim")
            if from_end:
                edge = lines[0]
                while edge.cell_len >= room:
                    edge = edge[1:]
                lines[0] = mark.append_text(edge)
            else:
                lines[-1].truncate(max(room - 1, 1))
                lines[-1].append_text(mark)
        return lines or [Text()]

    def _printable(self, text: str) -> str:
        """What is written in the end, escapes and all: a line must not become longer once it is laid out."""
        text = printable(text)
        return text if self._unicode else text.encode(self._encoding, "backslashreplace").decode(self._encoding)

    @property
    def _lines(self) -> int:
        return FINAL_TEXT_LINES if self.over else TEXT_LINES

    @property
    def _more(self) -> str:
        return "…" if self._unicode else "~"

    def _mark(self, mark: Mark) -> Text:
        sign, plain, style = MARKS[mark]
        if mark == "growing" and not self.over:
            return Text(self._spinner, style=style)
        return Text(sign if self._unicode else plain, style=style)

    @property
    def _spinner(self) -> str:
        signs = SPINNER[0 if self._unicode else 1]
        return signs[self._frame % len(signs)]

    def _footer(self, console: Console, width: int) -> list[Text]:
        tree = self.tree
        count = f"{tree.fields} field{'s' if tree.fields != 1 else ''}"
        if not self.over:
            doing = "thinking" if tree.thinking else "streaming" if tree.roots or tree.text.length else "waiting"
            return [Text(f"{self._spinner} {doing}, {count}", style="dim")]
        state = tree.state or "cancelled"
        line = Text(state, style=STATES.get(state, "bold red"))
        line.append(f", {count}", style="dim")
        if tree.remarks:
            line.append(f", {len(tree.remarks)} remark{'s' if len(tree.remarks) != 1 else ''}", style="dim")
        lines = [line]
        for note in (*tree.invalid[:3], *([tree.error] if tree.error else [])):
            lines += Text(self._printable(note), style="red").wrap(console, width, overflow="fold")
        return lines

    @property
    def _size(self) -> int:
        """The bytes of a file that is so long that its progress is shown, else 0."""
        size = None if self.over or self._recording is None else self._recording.size
        return size if size is not None and size >= LONG_FILE else 0

    def _progress(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not self._size or self._recording is None:
            return
        read = min(self._recording.position / self._size, 1)
        label = f" {read:4.0%} of {decimal(self._size)}"
        bar = ProgressBar(total=1, completed=read)
        yield from console.render(bar, options.update(max_width=max(options.max_width - len(label), 1), height=None))
        yield Segment(label[: max(options.max_width - 1, 0)])
        yield Segment.line()


def is_live(stream: Any) -> bool:
    """Whether `stream` is a terminal on which lines can be drawn again."""
    return bool(stream.isatty()) and os.environ.get("TERM", "") not in ("dumb", "unknown")


def show(items: Iterable[tuple[str, Any]], recording: Recording | None = None) -> View:
    """Draw a run while it lasts. Returns the view, over."""
    console = Console(highlight=False)
    view = View(encoding=console.encoding, recording=recording)
    try:
        with Live(view, console=console, refresh_per_second=FRAMES_PER_SECOND, redirect_stdout=False):
            try:
                view.feed(items)
            finally:
                view.over = True
    finally:
        console.show_cursor()  # also where Ctrl-C came while the view was being set up
    return view
