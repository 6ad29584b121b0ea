"""Programs from outside Python that some tests need: node, and Chromium driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def missing(what: str) -> NoReturn:
    """Skip, and say what is missing (with `STREAMPARSE_OUTSIDE=require` that is a failure: conftest.py)."""
    pytest.skip(what)


def node() -> str:
    """The path of node."""
    found = shutil.which("node") or shutil.which("nodejs")
    return found or missing("node is not installed (Debian: apt-get install nodejs)")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed (pip install playwright)")
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        missing("Chromium is not installed (Debian: apt-get install chromium)")
    sandbox = [] if not hasattr(os, "geteuid") or os.geteuid() else ["--no-sandbox"]  # root has none
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*sandbox, "--disable-dev-shm-usage"])
        try:
            yield browser
        finally:
            browser.close()


SCRIPTS = Path(__file__).resolve().parents[1] / "js"
CLIENT = Path(__file__).resolve().parents[2] / "streamparse" / "web" / "client.js"
