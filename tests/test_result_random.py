"""Readers, threads, tasks and cancellations that come and go at random: nothing hangs, and all see the same story."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from typing import Any

import pytest
from support.streams import TEXT, AsyncStream, Stream, awaited, chat, generate, pieces

from streamparse import wrap

SECONDS = 30  # that a step may take before it counts as hanging


class Scene:
    """One run, and what its readers saw."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        chunks = chat(pieces(TEXT, self.random.randrange(1, 20)))
        source = self.random.choice(
            [
                lambda: Stream(chunks),
                lambda: AsyncStream(chunks),
                lambda: lambda: Stream(chunks),
                lambda: lambda: awaited(AsyncStream(chunks)),
                lambda: generate(chunks),
            ]
        )
        self.result = wrap(source(), idle_timeout=self.random.choice([None, SECONDS]))
        self.cancelled = self.random.random() < 0.3
        self.texts: list[str] = []
        self.streams: list[list[Any]] = []
        self.errors: list[BaseException] = []

    def limit(self) -> int | None:
        return self.random.choice([None, None, self.random.randrange(1, 30)])

    def read(self, whole: bool, limit: int | None) -> None:
        try:
            if whole:
                self.texts.append(self.result.get_text())
                return
            self.streams.append(seen := [])
            for message in self.result.get_generator("all"):
                seen.append(message)
                if len(seen) == limit:
                    break
        except Exception as error:  # noqa: BLE001  # judged at the end
            self.errors.append(error)

    async def aread(self, whole: bool, limit: int | None) -> None:
        try:
            if whole:
                self.texts.append(await self.result.async_get_text())
                return
            self.streams.append(seen := [])
            async for message in self.result.get_async_generator("all"):
                seen.append(message)
                if len(seen) == limit:
                    break
        except Exception as error:  # noqa: BLE001  # judged at the end
            self.errors.append(error)

    def threads(self, least: int) -> list[threading.Thread]:
        made = [
            threading.Thread(target=self.read, args=(self.random.random() < 0.3, self.limit()))
            for _ in range(self.random.randrange(least, 4))
        ]
        for thread in made:
            thread.start()
        return made

    def in_threads(self) -> None:
        threads = self.threads(1)
        if self.cancelled:
            time.sleep(self.random.random() * 0.01)
            self.result.cancel()
        for thread in threads:
            thread.join(SECONDS)
            assert not thread.is_alive()

    async def on_a_loop(self) -> None:
        tasks = [
            asyncio.create_task(self.aread(self.random.random() < 0.3, self.limit()))
            for _ in range(self.random.randrange(1, 5))
        ]
        threads = self.threads(0)
        if self.cancelled:
            await asyncio.sleep(self.random.random() * 0.01)
            if self.random.random() < 0.5:
                await self.result.aclose()
            else:
                await asyncio.to_thread(self.result.cancel)
        if self.random.random() < 0.2:
            self.cancelled = True
            tasks[0].cancel()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), SECONDS)
        for thread in threads:
            await asyncio.to_thread(thread.join, SECONDS)
            assert not thread.is_alive()

    def judge(self) -> None:
        longest = max(self.streams, key=len, default=[])
        assert all(seen == longest[: len(seen)] for seen in self.streams)
        assert self.errors == []
        if not self.cancelled:
            assert all(text == TEXT for text in self.texts)


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_random_scenes(first: int) -> None:
    for seed in range(first, first + 20):
        scene = Scene(seed)
        if scene.random.random() < 0.3:
            scene.in_threads()
        else:
            asyncio.run(scene.on_a_loop())
        scene.judge()
