"""Take the pictures of the demo page: `python docs/scripts/page_pictures.py` writes `docs/pictures/page-*.webp`.

They are the real page in headless Chromium while it plays its recording: stills, light and dark, wide and narrow, and
one that moves. Needs Chromium, `pip install playwright Pillow "streamparse-llm[web]"`, and to look the same everywhere
the fonts Inter and Noto Color Emoji (Debian: fonts-inter, fonts-noto-color-emoji).
"""

from __future__ import annotations

import io
import itertools
import shutil
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from streamparse.web.demo import application

TARGET = Path(__file__).parents[1] / "pictures"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDE = {"width": 1180, "height": 1150}
TALL = {"width": 1180, "height": 1430}
NARROW = {"width": 390, "height": 844}
COLOURS = 240
FRAME = 0.28
"""Seconds between two frames of the picture that moves, at least."""


@contextmanager
def served() -> Iterator[str]:
    """The address of the demo."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(application(), log_level="critical", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join()


def state_of(page: Page, path: str) -> str | None:
    """The state of a slot; None where it is not there."""
    state: str | None = page.evaluate(
        "(path) => document.querySelector(`.slot[data-path='${path}']`)?.dataset.state ?? null", path
    )
    return state


def still(browser: Browser, url: str, name: str, scheme: Any, size: Any, path: str, length: int) -> None:
    """The page as soon as the text at `path` is so long."""
    page = browser.new_page(viewport=size, color_scheme=scheme, device_scale_factor=1.5)
    page.goto(f"{url}?speed=1")
    text = f".slot[data-path='{path}'] > .body > .text"
    if size is NARROW:
        page.evaluate("scrollTo(0, document.getElementById('card').offsetTop - 14)")
    while len(page.locator(text).text_content() or "" if state_of(page, path) in ("growing", "done") else "") < length:
        page.wait_for_timeout(10)
    picture(page).save(TARGET / f"{name}.webp", quality=82, method=6)
    page.close()


def moving(browser: Browser, url: str) -> None:
    """The page while the card fills up."""
    page = browser.new_page(viewport=TALL, color_scheme="light", device_scale_factor=0.75)
    page.goto(f"{url}?play=0&speed=0.5")
    page.get_by_role("button", name="Play").click()
    frames: list[Image.Image] = []
    times: list[float] = []
    while page.get_attribute("#card", "data-state") in ("waiting", "growing"):
        times.append(time.monotonic())
        frames.append(picture(page))
        page.wait_for_timeout(max(0.0, times[-1] + 2 * FRAME - time.monotonic()) * 1000)
    times.append(time.monotonic())
    page.wait_for_timeout(1500)
    frames.append(picture(page))
    # It was played at half the speed, to have the time for the pictures.
    durations = [int((after - before) * 500) for before, after in itertools.pairwise(times)]
    frames = in_few_colours(frames)
    frames[0].save(
        TARGET / "page-filling.webp",
        save_all=True,
        append_images=frames[1:],
        duration=[*durations, 4000],
        lossless=True,
        quality=100,
        method=4,
        minimize_size=True,
    )
    page.close()


def in_few_colours(frames: list[Image.Image]) -> list[Image.Image]:
    """The frames in their commonest colours: flat ones stay as they are, and most of a frame is as it was before."""
    counts: Counter[tuple[int, int, int]] = Counter()
    for frame in (frames[len(frames) // 3], frames[2 * len(frames) // 3], frames[-1]):
        for count, colour in frame.getcolors(frame.width * frame.height) or []:
            counts[colour] += count * (1 + max(colour) - min(colour))  # the rare green and red ones count, too
    flat = [channel for colour, _ in counts.most_common(COLOURS) for channel in colour]
    palette = Image.new("P", (1, 1))
    palette.putpalette(flat + flat[-3:] * (256 - len(flat) // 3))
    return [frame.quantize(palette=palette, dither=Image.Dither.NONE).convert("RGB") for frame in frames]


def picture(page: Page) -> Image.Image:
    """What the page shows now."""
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def main() -> None:
    """Take all pictures."""
    TARGET.mkdir(exist_ok=True)
    path = next(found for name in BROWSERS if (found := shutil.which(name)))
    with served() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--hide-scrollbars"])
        for scheme in ("light", "dark"):
            still(browser, url, f"page-wide-{scheme}", scheme, WIDE, "next_steps[1].text", 20)
            still(browser, url, f"page-narrow-{scheme}", scheme, NARROW, "customer.tickets[0].topic", 5)
        moving(browser, url)
        browser.close()


if __name__ == "__main__":
    main()
