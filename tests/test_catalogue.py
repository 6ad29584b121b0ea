"""The page of the catalogue says what the library does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_page_is_up_to_date() -> None:
    """`python docs/make_catalogue.py` writes it."""
    command = [sys.executable, str(ROOT / "docs" / "make_catalogue.py"), "--check"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr or "docs/catalogue.md is old: run docs/make_catalogue.py"
