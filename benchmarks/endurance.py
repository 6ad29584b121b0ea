"""`python -m benchmarks.endurance [NAME...]`: what a process does that lives long, with the twin that runs.

A gigabyte in one string and in many small values, a hundred thousand parsers alive at once, a million documents one
after the other, a thousand streams on one event loop. Each runs in a process of its own; the memory is that of the
process as the system counts it (resident set), so that nothing escapes it.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from streamparse import IMPLEMENTATION, Limits, StreamParser

MB = 1024 * 1024
STATUS = Path("/proc/self/statm")


def resident() -> float:
    """Memory of the process now, in MB (Linux; elsewhere the highest so far)."""
    if STATUS.exists():
        return int(STATUS.read_text().split()[1]) * resource.getpagesize() / MB
    return highest()


def highest() -> float:
    """The highest memory of the process so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MB if sys.platform == "darwin" else peak / 1024


def one_string(size: int = 1024 * MB) -> str:
    """One string of a gigabyte, 64 characters a delta."""
    parser = StreamParser(keep_data=False, limits=Limits(string=2 * size, document=2 * size))
    delta = "the quick brown fox jumps over the lazy dog while it is awake..."
    parser.feed('{"text": "')
    before = resident()
    start = time.perf_counter()
    seen = sum(len(parser.feed(delta)[0].delta or "") for _ in range(size // len(delta)))
    took = time.perf_counter() - start
    parser.feed('"}')
    assert parser.close().complete
    assert seen == size
    return f"{size / MB:.0f} MB in {took:.1f} s, {resident() - before:+.1f} MB of memory"


def small_values(size: int = 1024 * MB) -> str:
    """A gigabyte of small records in one array, 512 characters a delta."""
    parser = StreamParser(keep_data=False, limits=Limits(document=2 * size))
    delta = ('{"id": 17, "name": "ab", "ok": true, "score": 0.5},' * 11)[:-1]
    parser.feed("[")
    before = resident()
    events = 0
    start = time.perf_counter()
    for _ in range(size // len(delta)):
        events += len(parser.feed(delta)) + len(parser.feed(","))
    took = time.perf_counter() - start
    parser.feed("0]")
    assert parser.close().complete
    return f"{size / MB:.0f} MB in {took:.1f} s, {events:,} events, {resident() - before:+.1f} MB of memory"


def many_parsers(count: int = 100_000) -> str:
    """Parsers alive at once, each in the middle of a string of its answer."""
    before = resident()
    start = time.perf_counter()
    parsers = [StreamParser() for _ in range(count)]
    for parser in parsers:
        parser.feed('{"title": "a reply", "items": [{"text": "half of i')
    took = time.perf_counter() - start
    used = resident() - before
    for parser in parsers:
        parser.feed('t"}]}')
        assert parser.close().complete
    return f"{count:,} parsers, {used * 1024 / count:.1f} KB each, {took / count * 1e6:.1f} µs to make and feed one"


def million_documents(count: int = 1_000_000) -> str:
    """Documents one after the other, a parser each; the memory after the first tenth and after the last."""
    text = '{"id": 1, "name": "x", "tags": ["a", "b"], "score": 0.25}'
    gc.disable()  # what only the collector would free would stay, and show
    start = time.perf_counter()
    early = 0.0
    for index in range(count):
        parser = StreamParser()
        parser.feed(text)
        assert parser.close().complete
        if index == count // 10:
            early = resident()
    took = time.perf_counter() - start
    grown = resident() - early
    return f"{count:,} documents in {took:.0f} s without the garbage collector, {grown:+.1f} MB from the first tenth on"


def event_loop(streams: int = 1000, deltas: int = 200) -> str:
    """Streams on one asyncio loop: the longest time that the loop did not come round, against the longest `feed`."""
    longest = 0.0

    async def stream(number: int) -> None:
        nonlocal longest
        parser = StreamParser()
        value = {"id": number, "items": [f"item {index} of the list" for index in range(deltas // 6)]}
        text = json.dumps(value)
        for at in range(0, len(text), 4):
            start = time.perf_counter()
            parser.feed(text[at : at + 4])
            longest = max(longest, time.perf_counter() - start)
            await asyncio.sleep(0)
        assert parser.close().data == value

    async def run() -> tuple[float, float]:
        lags: list[float] = []
        tasks = [asyncio.ensure_future(stream(number)) for number in range(streams)]
        start = time.perf_counter()
        while not all(task.done() for task in tasks):
            before = time.perf_counter()
            await asyncio.sleep(0)
            lags.append((time.perf_counter() - before) / streams)  # one round is a delta of each stream
        await asyncio.gather(*tasks)
        return time.perf_counter() - start, max(lags)

    gc.freeze()
    took, lag = asyncio.run(run())
    return (
        f"{streams:,} streams in {took:.1f} s; slowest round {lag * 1e6:.1f} µs a stream; "
        f"longest feed {longest * 1e3:.2f} ms"
    )


MEASURES: dict[str, Callable[[], str]] = {
    "one_string": one_string,
    "small_values": small_values,
    "many_parsers": many_parsers,
    "million_documents": million_documents,
    "event_loop": event_loop,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.endurance", description="Long texts, many parsers.")
    parser.add_argument("measure", nargs="*", help=f"all without one: {', '.join(MEASURES)}")
    names = parser.parse_args().measure or list(MEASURES)
    if not MEASURES.keys() >= set(names):
        parser.error(f"there are only: {', '.join(MEASURES)}")
    if len(names) == 1:
        print(f"{names[0]}, {IMPLEMENTATION}: {MEASURES[names[0]]()}; highest {highest():.0f} MB", flush=True)
        return
    for name in names:
        subprocess.run([sys.executable, "-m", "benchmarks.endurance", name], check=True)


if __name__ == "__main__":
    main()
