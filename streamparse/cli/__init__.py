"""The command `streamparse`, also `python -m streamparse`. It needs the extra `cli` (typer and rich).

Modules: `app` (the commands), `recorded` (what is read), `output` (what is written), `tree` (the fields so far), `view`
(the tree, live), `plain` (the same as lines, for pipes), `check` (diagnostics with a caret).
"""

from __future__ import annotations

import platform
import sys

from .. import IMPLEMENTATION, __version__

_NEEDED = ("typer", "rich")


def version_line() -> str:
    """What `streamparse --version` says."""
    return f"streamparse {__version__} ({IMPLEMENTATION}, Python {platform.python_version()})"


def main() -> None:
    """Run the command with the arguments of the process. Always ends with `SystemExit`."""
    if sys.argv[1:] == ["--version"]:  # says it without the extra, too
        sys.stdout.write(version_line() + "\n")
        raise SystemExit(0)
    try:
        from .app import app

        # A document may be nested as deep as `Limits.depth`, and what writes JSON goes down with it.
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 20_000))
        app(prog_name="streamparse")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _NEEDED:
            raise
        sys.stderr.write(
            f"streamparse: the command line needs {missing}, which is not installed.\n"
            'Install it with:  python -m pip install "streamparse-llm[cli]"\n'
        )
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
