"""What every client must pass. A test module says how a call is made and which wire format answers it."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from support.bodies import FOLDER, Body, differences

from clients import replies
from clients.replies import ANSWER, BROKEN, CARD, CUT, FENCED, SHORT, TOOLS, Reply, leaves
from clients.server import Play, Provider, playing
from clients.wire import Wire, ending
from streamparse import StreamingData, wrap
from streamparse.response import Response

SHARED = Path(__file__).parents[3] / "shared" / "captures"
TYPES = {
    ".sse": "text/event-stream; charset=utf-8",
    ".ndjson": "application/x-ndjson",
    ".array": "application/json",
    ".aws": "application/vnd.amazon.eventstream",
    ".eventstream": "application/vnd.amazon.eventstream",
}


@dataclass
class Seen:
    """What one reading of a stream gave."""

    events: list[StreamingData]
    error: BaseException | None
    response: Response
    provider: Provider


def check_fields(events: Iterable[StreamingData], value: Any, source: str = "content") -> None:
    """The events of `source` are those of `value`, whole."""
    slots: dict[str, str] = {}
    final: list[tuple[str, Any]] = []
    for event in events:
        if event.source == source:
            if event.event_type == "delta":
                assert event.delta
                slots[event.path] = slots.get(event.path, "") + event.delta
            else:
                assert event.event_type == "done"
                final.append((event.path, event.value))
    assert final == list(leaves(value))
    for path, leaf in final:
        if isinstance(leaf, str):
            assert slots.get(path, "") == leaf
        elif isinstance(leaf, bool | int | float):
            assert json.loads(slots[path]) == leaf
        else:
            assert path not in slots


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # what the clients do is not ours to change
class ClientTests:
    """The tests. A subclass gives `wire`, and `sync_call` and `async_call`: context managers that open a client for
    a server's address, and yield a function that gives what is wrapped.
    """

    wire: ClassVar[Wire]
    bodies: ClassVar[tuple[str, ...]] = ()
    captures: ClassVar[tuple[str, ...]] = ()
    error_text: ClassVar[str] = replies.ERROR_TEXT
    interruptible: ClassVar[bool] = True
    """Whether a stream can be closed while a thread waits for its next chunk; else the next chunk ends it."""
    needs_gc: ClassVar[bool] = False
    """Whether the async client keeps the connection, after its stream was closed between two chunks, until the garbage
    collector runs.
    """

    def __init_subclass__(cls) -> None:
        if not cls.bodies:
            cls.test_bodies = None  # a test that could not fail

    def sync_call(self, url: str) -> AbstractContextManager[Callable[[], Any]]:
        raise NotImplementedError

    def async_call(self, url: str) -> AbstractAsyncContextManager[Callable[[], Any]]:
        raise NotImplementedError

    # -- reading -----------------------------------------------------------------------------------------------------

    def play(self, reply: Reply, **options: Any) -> Play:
        return Play(body=self.wire.body(reply), content_type=self.wire.content_type, **options)

    def read(self, mode: str, play: Play, **options: Any) -> Seen:
        """All of a stream, by the sync or the async client."""
        with playing(play) as provider:
            if mode == "async":
                return asyncio.run(self._read_async(provider, options))
            events: list[StreamingData] = []
            error = None
            with self.sync_call(provider.url) as call:
                result = wrap(call(), **options)
                try:
                    events.extend(result.get_generator(type="instant"))
                except Exception as raised:  # noqa: BLE001  # whatever a client raises
                    error = raised
                assert result.response is not None
                return Seen(events, error, result.response, provider)

    async def _read_async(self, provider: Provider, options: dict[str, Any]) -> Seen:
        events: list[StreamingData] = []
        error = None
        async with self.async_call(provider.url) as call:
            result = wrap(call(), **options)
            try:
                async for event in result.get_async_generator(type="instant"):
                    events.append(event)  # noqa: PERF401  # what came before an error counts
            except Exception as raised:  # noqa: BLE001  # whatever a client raises
                error = raised
            assert result.response is not None
            return Seen(events, error, result.response, provider)

    # -- what must come ------------------------------------------------------------------------------------------------

    def reason(self, reply: Reply) -> tuple[str | None, str | None]:
        """Our word and the provider's own for the end of a reply."""
        return self.wire.mapped[ending(reply)], self.wire.reasons[ending(reply)]

    def check_head(self, response: Response) -> None:
        assert response.id == self.wire.id
        assert response.model == self.wire.model
        assert response.session_id == self.wire.session_id

    def check_usage(self, response: Response) -> None:
        assert response.usage is not None
        assert response.usage.model_dump(exclude_none=True, exclude={"extra"}) == self.wire.usage

    def check_whole(self, seen: Seen, reply: Reply) -> None:
        response = seen.response
        assert seen.error is None
        assert response.text == reply.text
        assert (response.reasoning or "") == (reply.reasoning if self.wire.reasoning else "")
        assert (response.finish_reason, response.raw_finish_reason) == self.reason(reply)
        assert response.event_coverage.omitted_events == 0
        self.check_head(response)
        self.check_usage(response)
        assert Response.model_validate_json(response.model_dump_json()) == response

    # -- the tests ---------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("mode", ["sync", "async"])
    def test_answer(self, mode: str) -> None:
        seen = self.read(mode, self.play(ANSWER))
        self.check_whole(seen, ANSWER)
        check_fields(seen.events, CARD)
        assert seen.response.data == CARD
        assert seen.response.tool_calls == []
        assert (seen.response.end_state, seen.response.complete) == ("complete", True)

    @pytest.mark.parametrize("mode", ["sync", "async"])
    def test_fenced_answer(self, mode: str) -> None:
        seen = self.read(mode, self.play(FENCED))
        self.check_whole(seen, FENCED)
        check_fields(seen.events, CARD)
        assert seen.response.data == CARD
        assert seen.response.complete

    @pytest.mark.parametrize("mode", ["sync", "async"])
    def test_tool_calls(self, mode: str) -> None:
        seen = self.read(mode, self.play(TOOLS))
        self.check_whole(seen, TOOLS)
        assert len(seen.response.tool_calls) == len(TOOLS.calls)
        for index, (given, wanted) in enumerate(zip(seen.response.tool_calls, TOOLS.calls, strict=True)):
            assert (given.name, given.arguments, given.complete, given.index) == (
                wanted.name,
                wanted.arguments,
                True,
                index,
            )
            assert json.loads(given.raw_arguments) == wanted.arguments
            assert given.metadata.get("generated_id", False) == (not self.wire.call_ids)
            if self.wire.call_ids:
                assert given.id == wanted.id
            assert given.id is not None
            check_fields(seen.events, wanted.arguments, given.id)
        assert (seen.response.end_state, seen.response.complete) == ("complete", True)

    @pytest.mark.parametrize("mode", ["sync", "async"])
    def test_length(self, mode: str) -> None:
        seen = self.read(mode, self.play(SHORT))
        self.check_whole(seen, SHORT)
        assert seen.response.data == json.loads(SHORT.text + '"}')
        assert seen.response.incomplete == ["status_summary", ""]
        assert (seen.response.end_state, seen.response.complete) == ("truncated", False)

    @pytest.mark.parametrize("how", ["ended", "broken"])
    @pytest.mark.parametrize("mode", ["sync", "async"])
    def test_cut_in_the_middle(self, mode: str, how: str) -> None:
        """The body ends before the reply does; or the connection breaks, inside a frame."""
        play = self.play(CUT)
        text = CUT.text
        if how == "broken":
            play, text = self.play(CUT, cut=len(play.body) - 5), CUT.text[:-3]
        seen = self.read(mode, play)
        assert seen.response.text == text
        assert seen.response.data == json.loads(text + '"}')
        assert [event.event_type for event in seen.events[-2:]] == ["cut", "cut"]
        assert "".join(event.delta or "" for event in seen.events) == seen.response.data["status_summary"]
        self.check_cut(seen.response, how)

    def check_cut(self, response: Response, how: str) -> None:
        assert (response.end_state, response.complete) == ("cut", False)
        assert (response.finish_reason, response.raw_finish_reason) == (None, None)
        self.check_head(response)

    @pytest.mark.parametrize("mode", ["sync", "async"])
    def test_error_in_the_middle(self, mode: str) -> None:
        seen = self.read(mode, self.play(BROKEN))
        self.check_error(seen)

    def check_error(self, seen: Seen) -> None:
        assert seen.error is not None
        assert seen.response.text == BROKEN.text
        assert seen.response.data == json.loads(BROKEN.text + '"}')
        assert (seen.response.end_state, seen.response.finish_reason) == ("error", "error")
        assert self.error_text in seen.response.metadata["error"]
        assert self.error_text in str(seen.error)

    # -- breaking off --------------------------------------------------------------------------------------------------

    def held(self) -> Play:
        """More than half of the answer, then silence."""
        hold = len(self.wire.body(ANSWER)) * 3 // 4
        return self.play(ANSWER, hold=hold, splits=(1024,), nudge=None if self.interruptible else 0.6)

    @pytest.mark.parametrize("how", ["break", "close"])
    def test_breaking_off(self, how: str) -> None:
        """Leaving the `with` block; or `close()` from another thread, while the reader waits for the next chunk."""
        with playing(self.held()) as provider, self.sync_call(provider.url) as call:
            with wrap(call()) as result:
                timer = threading.Timer(0.2, result.close)
                for item in result.get_generator(type="instant"):
                    if how == "break":
                        break
                    if not timer.is_alive() and not timer.finished.is_set():
                        timer.start()
                    assert item.source == "content"
            timer.cancel()
            assert provider.saw_the_client_leave()
            self.check_cancelled(result.response)

    @pytest.mark.parametrize("how", ["break", "close", "cancel"])
    def test_breaking_off_async(self, how: str) -> None:
        """Leaving the `async with` block; `aclose()` from another task; cancelling the task that reads."""

        async def main(provider: Provider) -> Response | None:
            async with self.async_call(provider.url) as call:
                result = wrap(call())
                if how == "break":
                    async with result:
                        async for _ in result.get_async_generator(type="instant"):
                            break
                else:
                    began = asyncio.Event()
                    reading = asyncio.create_task(self._read_all(result, began))
                    await asyncio.wait_for(began.wait(), 30)
                    await asyncio.sleep(0.1)
                    if how == "close":
                        await result.aclose()
                        await reading
                    else:
                        reading.cancel()
                        with pytest.raises(asyncio.CancelledError):
                            await reading
                for _ in range(50 if self.needs_gc else 0):
                    if provider.hung_up.is_set():
                        break
                    gc.collect()  # one generator inside the other: each lets go of the next one
                    await asyncio.sleep(0.02)
                assert await asyncio.to_thread(provider.saw_the_client_leave)
                return result.response

        with playing(self.held()) as provider:
            self.check_cancelled(asyncio.run(main(provider)))

    @staticmethod
    async def _read_all(result: Any, began: asyncio.Event) -> None:
        async for _ in result.get_async_generator(type="instant"):
            began.set()

    @staticmethod
    def check_cancelled(response: Response | None) -> None:
        assert response is not None
        assert (response.end_state, response.complete) == ("cancelled", False)
        assert ANSWER.text.startswith(response.text)
        assert CARD["status_summary"].startswith(response.data["status_summary"])

    # -- recorded and hand-made bodies ---------------------------------------------------------------------------------

    @pytest.mark.parametrize("mode", ["sync", "async"])
    def test_bodies(self, mode: str) -> None:
        """The hand-made bodies of this provider, and its recordings where they are there."""
        wrong: dict[str, list[str]] = {}
        for body in self._bodies():
            raw = body.raw
            if body.path.suffixes[0] == ".eventstream":  # recorded
                raw = base64.b64decode(json.loads(raw)["body_base64"])
            play = Play(body=raw, content_type=TYPES[body.path.suffixes[0]], splits=(3, 1, 97, 1009))
            seen = self.read(mode, play, reasoning=None)  # what is written of a body, counts inline reasoning as text
            found = differences(seen.response, self.adjusted(body))
            if found:
                wrong[body.name] = found
        assert wrong == {}

    def adjusted(self, body: Body) -> dict[str, Any]:
        """What is expected of a body, less what the client hides."""
        return body.expect

    def _bodies(self) -> Iterator[Body]:
        for folder, names in ((FOLDER, self.bodies), (SHARED, self.captures)):
            for pattern in names:
                paths = sorted(path for path in folder.glob(pattern) if not path.name.endswith(".expect.json"))
                assert paths or not folder.is_dir(), f"no body {pattern}"
                for path in paths:
                    expect = json.loads((folder / f"{path.name.split('.')[0]}.expect.json").read_text(encoding="utf-8"))
                    yield Body(path, expect if folder is FOLDER else _recorded(expect))


def _recorded(expect: dict[str, Any]) -> dict[str, Any]:
    """What the description of a recording says, by the names of the Response's fields."""
    names = ("reasoning", "tool_calls", "model", "id", "refusal", "error")
    wanted = {name: expect[name] for name in names}
    wanted |= {"text": expect["text"] or "", "raw_finish_reason": expect["finish_reason_raw"]}
    if expect["json_where"] not in (None, "cut"):
        wanted["data"] = expect["json"]
    return wanted
