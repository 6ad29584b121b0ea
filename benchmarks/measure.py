"""The measuring: interleaved rounds in one process, medians, ratios within a round."""

from __future__ import annotations

import gc
import json
import math
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from .contenders import Contender
from .workloads import deltas

FLOOR = "F"
TIMED = 20_000  # deltas of one measurement: a shorter one tells of the clock and of cold caches
LONG = 0.5  # seconds after which it is long enough with fewer


class OverBudget(Exception):
    """A run took longer than it may."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `OverBudget` in the block when it takes longer. (A single call into C is not interrupted.)"""

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise OverBudget

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass
class Cell:
    """One contender on one document."""

    seconds: list[float] = field(default_factory=list)  # per delta, one of each round
    ratios: list[float] = field(default_factory=list)  # to the floor of the same round
    fault: str = ""
    spent: float = 0.0

    @property
    def microseconds(self) -> float | None:
        return statistics.median(self.seconds) * 1e6 if self.seconds else None

    @property
    def ratio(self) -> float | None:
        return statistics.median(self.ratios) if self.ratios else None


def timed(call: Callable[[], Any]) -> float:
    """Seconds of processor time: what other programs do meanwhile does not count."""
    start = time.process_time()
    call()
    return time.process_time() - start


def pushed(contender: Contender, parts: list[str]) -> float:
    """Seconds per delta of a whole run; a short document is read again and again."""
    assert contender.run is not None
    run = contender.run
    first = timed(lambda: run(parts))
    times = min(TIMED // len(parts), int(LONG / max(first, 1e-6)))
    if times < 2:
        return first / len(parts)

    def call() -> None:
        for _ in range(times):
            run(parts)

    return timed(call) / times / len(parts)


def reparsed(contender: Contender, parts: list[str], positions: int) -> float:
    """Seconds per delta: the mean of one step at evenly spaced positions of the text."""
    assert contender.prime is not None
    positions = min(positions, len(parts))
    total = 0.0
    for k in range(positions):
        count = max(1, int((k + 0.5) / positions * len(parts)))
        step = contender.prime("".join(parts[:count]))
        first = timed(step)
        total += min(first, timed(step), timed(step)) if first < 0.05 else first
    return total / positions


def measure(
    contenders: list[Contender],
    texts: dict[str, str],
    *,
    rounds: int,
    budget: float,
    positions: int,
    verbose: bool = True,
) -> dict[str, dict[str, Cell]]:
    """text -> contender -> cell. The first contender is the floor. Who has used up `budget` seconds sits out."""
    table: dict[str, dict[str, Cell]] = {}
    for name, text in texts.items():
        parts = deltas(text)
        root = list if text.startswith("[") else dict
        cells = {one.name: Cell() for one in contenders}
        table[name] = cells
        for _ in range(rounds):
            floor = None
            for contender in contenders:
                cell = cells[contender.name]
                if root not in contender.roots:
                    cell.fault = "n/a"
                if cell.fault or (cell.spent > budget and cell.seconds):
                    continue
                gc.collect()
                start = time.process_time()
                try:
                    with at_most(budget * 3):  # of the clock: other programs may run, too
                        seconds = pushed(contender, parts) if contender.run else reparsed(contender, parts, positions)
                except OverBudget:
                    spent = (time.process_time() - start) / len(parts) * 1e6
                    cell.fault = f"> {spent:,.0f}" if contender.run else "too slow"
                except (Exception, RecursionError) as error:  # noqa: BLE001  # a peer may fail in any way: its cell says so
                    cell.fault = "fails"
                    if verbose:
                        print(
                            f"  {contender.name} on {name}: {type(error).__name__}: {str(error)[:100]}", file=sys.stderr
                        )
                else:
                    cell.seconds.append(seconds)
                    if floor is None:
                        floor = seconds
                    cell.ratios.append(seconds / floor)
                cell.spent += time.process_time() - start
        if verbose:
            print(f"  {name}: {len(text):,} characters, {len(parts):,} deltas", file=sys.stderr)
    return table


def exponent(points: list[tuple[int, float]]) -> float | None:
    """The slope of log(time) over log(size), by least squares; None with fewer than three points."""
    if len(points) < 3:
        return None
    logs = [(math.log(size), math.log(seconds)) for size, seconds in points if seconds > 0]
    return statistics.linear_regression([x for x, _ in logs], [y for _, y in logs]).slope


def growth(
    contenders: list[Contender],
    make: Callable[[int], str],
    sizes: tuple[int, ...],
    *,
    rounds: int,
    budget: float,
    positions: int,
) -> dict[str, list[tuple[int, float, float]]]:
    """contender -> (characters, seconds of the whole text, microseconds per delta) of each size it could read."""
    texts = {str(size): make(size) for size in sizes}
    table = measure(contenders, texts, rounds=rounds, budget=budget, positions=positions, verbose=False)
    out: dict[str, list[tuple[int, float, float]]] = {one.name: [] for one in contenders}
    for key, text in texts.items():
        count = len(deltas(text))
        for name, cell in table[key].items():
            if cell.seconds and not cell.fault:
                per_delta = statistics.median(cell.seconds)
                out[name].append((len(text), per_delta * count, per_delta * 1e6))
    return out


def same(one: Any, two: Any) -> bool:
    """Equal, types and key order included (NaN equals NaN)."""
    if type(one) is not type(two):
        return False
    if isinstance(one, dict):
        return list(one) == list(two) and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(two) and all(map(same, one, two))
    return repr(one) == repr(two)


def final_value(contender: Contender, text: str) -> str:
    """Whether the last value is `json.loads`'s: `yes`, `types` (equal, other types), `no`, `–` (it gives none)."""
    if not contender.gives.value:
        return "–"
    try:
        got = contender.run(deltas(text)) if contender.run else contender.prime(text)() if contender.prime else None
    except Exception as error:  # noqa: BLE001  # as above
        return f"fails ({type(error).__name__})"
    if contender.name.startswith(("agently", "instructor")):
        return "–"
    want = json.loads(text)
    return "yes" if same(got, want) else "types" if got == want else "no"
