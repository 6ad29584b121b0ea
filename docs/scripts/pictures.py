"""Draw the pictures of the terminal: `python docs/scripts/pictures.py` writes `docs/pictures/*.svg`.

They are the view's own frames of the demo's recording, once while it runs and once at its end.
"""

from __future__ import annotations

import io
import re
from itertools import takewhile
from pathlib import Path
from typing import Any

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

import streamparse
from streamparse import captures
from streamparse.cli.view import View

TARGET = Path(__file__).parents[1] / "pictures"
STREAM = Path(__file__).parents[2] / "streamparse" / "demo" / "triage.sse"
WIDTH, HEIGHT = 84, 40
# No fonts from elsewhere: a page fetches nothing from other hosts.
FORMAT = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def frame(items: Any, *, over: bool) -> str:
    """The picture of the view after `items`."""
    view = View()
    view.feed(items)
    view.over = over
    console = Console(width=WIDTH, height=HEIGHT, record=True, file=io.StringIO(), force_terminal=True)
    console.print(view, end="")
    return console.export_svg(title="streamparse demo", code_format=FORMAT, unique_id="demo")


def events() -> Any:
    """All events of the recording."""
    chunks = list(captures.open(STREAM))  # all of them: who stops in the middle leaves no file open
    return streamparse.wrap(chunks).get_generator("all")


def is_before(item: Any) -> bool:
    """Whether the moment of the picture is still to come: the second step's text is growing."""
    event, data = item
    return not (event == "instant" and data.path == "next_steps[1].text" and str(data.value).endswith("last"))


def main() -> None:
    """Write the pictures."""
    TARGET.mkdir(exist_ok=True)
    for name, items, over in (
        ("demo-running", takewhile(is_before, events()), False),
        ("demo-done", events(), True),
    ):
        svg = frame(items, over=over)
        (TARGET / f"{name}.svg").write_text(re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE), "utf-8", newline="\n")


if __name__ == "__main__":
    main()
