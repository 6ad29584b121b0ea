"""What one run measures and prints. Started by `python -m benchmarks` in its environment."""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from . import contenders as who
from . import report
from .measure import Cell, exponent, final_value, growth, measure, timed
from .workloads import (
    AROUND,
    AROUND_SIZES,
    DEPTHS,
    RECORD_SIZES,
    STRING_SIZES,
    deep,
    documents,
    one_string,
    records,
    shapes,
)

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent


def figures(table: dict[str, dict[str, Cell]]) -> dict[str, dict[str, tuple[float | None, float | None, str]]]:
    """text -> contender -> microseconds per delta, ratio to the floor, fault."""
    return {
        text: {name: (cell.microseconds, cell.ratio, cell.fault) for name, cell in cells.items()}
        for text, cells in table.items()
    }


def whole_feed(packages: dict[str, Any], text: str, rounds: int) -> dict[str, float]:
    """twin -> time of one feed of the whole text, in units of `json.loads`."""
    ratios: dict[str, list[float]] = {name: [] for name in packages}
    gc.collect()
    gc.freeze()  # what the peers have imported is not to be searched for garbage again and again
    for _ in range(rounds):
        base = timed(lambda: json.loads(text))
        for name, package in packages.items():

            def one_feed(package: Any = package) -> None:
                parser = package.StreamParser()
                parser.feed(text)
                parser.close()

            ratios[name].append(timed(one_feed) / base)
    gc.unfreeze()
    return {name: statistics.median(values) for name, values in ratios.items()}


def in_own_process(code: str, *arguments: str, pure: bool = False) -> Any:
    """Run `code` in a fresh interpreter that finds what this one finds; what it prints is JSON."""
    environment = {key: value for key, value in os.environ.items() if key != "STREAMPARSE_PURE"}
    environment["PYTHONPATH"] = os.pathsep.join(one for one in sys.path if one)
    if pure:
        environment["STREAMPARSE_PURE"] = "1"
    # Not in this folder, which would be looked at first: the checkout has no cache of its bytecode, perhaps.
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environment,
        cwd=Path(sys.executable).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return json.loads(done.stdout) if done.returncode == 0 and done.stdout.strip() else None


IMPORT_TIME = (
    "import sys, time; start = time.process_time(); __import__(sys.argv[1]); print((time.process_time() - start) * 1e3)"
)

# The text is cut as it is fed, so that the measured memory is the parser's and not that of the deltas.
MEMORY = """
import gc, json, resource, sys, tracemalloc
from benchmarks.workloads import records
import streamparse
what = sys.argv[1]
text = records(1_000_000)
streamparse.StreamParser().feed('[{"a": 1}]')  # what is imported or cached once, is no memory of one text
gc.collect()
tracemalloc.start()
base = tracemalloc.get_traced_memory()[0]
parser = streamparse.StreamParser(keep_data=what != "no_data")
for at in range(0, len(text), 4):
    parser.feed(text[at:at + 4])
peak = tracemalloc.get_traced_memory()[1] - base
tracemalloc.reset_peak()
parsed = parser.close()
closed = tracemalloc.get_traced_memory()[1] - base
data = parsed.data
del parser, parsed
tree = tracemalloc.get_traced_memory()[0] - base if what != "no_data" else 0
uncollected = tracemalloc.get_traced_memory()[0]
gc.collect()
uncollected -= tracemalloc.get_traced_memory()[0]
del data
base = tracemalloc.get_traced_memory()[0]
data = json.loads(text)
loads_tree = tracemalloc.get_traced_memory()[0] - base
print(json.dumps({"text": len(text), "json_loads_tree": loads_tree, "tree": tree, "peak": peak, "peak_at_close": closed,
                  "cycles": uncollected, "implementation": streamparse.IMPLEMENTATION}))
"""


def memory() -> dict[str, Any]:
    out: dict[str, Any] = {}
    for pure in (False, True):
        for what in ("data", "no_data"):
            got = in_own_process(MEMORY, what, pure=pure)
            if got is not None and (pure or got["implementation"] == "compiled"):
                out[f"{got['implementation']}, {what}"] = got
    return out


def import_times(names: tuple[str, ...], rounds: int) -> dict[str, float]:
    out: dict[str, float] = {}
    for name in names:
        times = [got for _ in range(rounds) if (got := in_own_process(IMPORT_TIME, name)) is not None]
        if times:
            out[name] = statistics.median(times)
    return out


def schema_cost(packages: dict[str, Any], rounds: int) -> dict[str, dict[str, float]]:
    """twin -> milliseconds of nested4k without a schema, with one, and of pydantic alone on the whole text."""
    from pydantic import BaseModel

    from .workloads import deltas, nested

    class Item(BaseModel):
        id: int
        name: str
        text: str
        tags: list[str]
        score: float

    class Page(BaseModel):
        title: str
        items: list[Item]

    text = nested(4_450)
    parts = deltas(text)
    out: dict[str, dict[str, float]] = {}
    for name, package in packages.items():

        def run(output: Any, package: Any = package) -> None:
            parser = package.StreamParser(output=output)
            for part in parts:
                parser.feed(part)
            parser.close()

        try:
            run(Page)
        except Exception as error:  # noqa: BLE001  # the figure is left out, and why is said
            print(f"  schema: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        found: dict[str, list[float]] = {"without": [], "with": [], "pydantic": []}
        for _ in range(rounds):
            found["without"].append(timed(lambda run=run: run(None)))
            found["with"].append(timed(lambda run=run: run(Page)))
            found["pydantic"].append(timed(lambda: Page.model_validate_json(text)))
        out[name] = {key: statistics.median(values) * 1e3 for key, values in found.items()}
    return out


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Cost per delta beside the peers: see benchmarks/README.md.",
        epilog="With --here as the first option: by the running interpreter, in the checkout as it lies there.",
    )
    parser.add_argument("--quick", action="store_true", help="only the yardsticks and streamparse; under a minute")
    parser.add_argument("--only", metavar="NAME", action="append", help="only this document (may be repeated)")
    parser.add_argument("--ours", action="store_true", help="leave the peers out")
    parser.add_argument("--write", action="store_true", help="write the tables and plots even of a quick run")
    parser.add_argument("--rounds", type=int, default=0, help="rounds per document")
    parser.add_argument("--no-write", action="store_true", help="print only")
    parser.add_argument("--malformed", action="store_true", help="only the comparison on malformed answers")
    chosen = parser.parse_args(arguments)
    if chosen.only and not documents().keys() >= set(chosen.only):
        parser.error(f"there are only: {', '.join(documents())}")
    started = time.perf_counter()

    result: dict[str, Any] = {
        "mode": "quick" if chosen.quick else "full",
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "date": time.strftime("%Y-%m-%d"),
        "streamparse": who.load_twin("interpreted").__version__,
    }
    write = (chosen.write or not chosen.quick) and not chosen.no_write and not chosen.ours and not chosen.only
    if chosen.malformed or not chosen.quick:
        from . import malformed

        result["malformed"] = malformed.compare()
        if chosen.malformed:
            print(report.malformed_table(result["malformed"]))
            if not chosen.no_write:
                report.write_malformed(FOLDER, ROOT, result["malformed"])
            return 0

    ours = list(who.twins())
    peers = [] if chosen.ours else who.importable(who.YARDSTICKS if chosen.quick else who.PEERS)
    field = [who.floor(), who.empty_call(), who.idle_parser(), *ours, who.loads_once(), *peers]
    texts = {name: text for name, text in documents().items() if not chosen.only or name in chosen.only}
    packages = {twin: package for twin in ("compiled", "interpreted") if (package := who.load_twin(twin)) is not None}
    rounds = chosen.rounds or (5 if chosen.quick else 11)
    budget = 0.8 if chosen.quick else 6.0
    positions = 6 if chosen.quick else 16
    print(
        f"streamparse {result['streamparse']}, CPython {result['python']}, {result['mode']}: {len(field)} contenders",
        file=sys.stderr,
    )
    table = measure(field, texts, rounds=rounds, budget=budget, positions=positions)
    result["cells"] = figures(table)
    result["gives"] = {
        one.name: [
            *one.gives.marks(),
            final_value(one, texts["nested4k"] if "nested4k" in texts else next(iter(texts.values()))),
            one.note,
        ]
        for one in field
    }

    if not chosen.only:
        yardsticks = [one for one in peers if one.name == report.IJSON]
        others = [who.floor(), *ours, who.loads_once(), *yardsticks]
        result["shapes"] = figures(measure(others, shapes(), rounds=rounds, budget=budget, positions=positions))
        if not chosen.quick:
            racers = [*who.twins(("llm",)), who.loads_once(), *peers]
            grown = {"rounds": 2, "budget": 2.0, "positions": 6}
        else:
            racers = list(who.twins(("llm",)))
            grown = {"rounds": 3, "budget": 0.6, "positions": 4}
        result["growth"] = {
            "records": growth(racers, records, RECORD_SIZES if not chosen.quick else RECORD_SIZES[:4], **grown),
            "string": growth(racers, one_string, STRING_SIZES if not chosen.quick else STRING_SIZES[:4], **grown),
            "depth": growth(racers, deep, DEPTHS, **grown),
        }
        result["exponents"] = {
            kind: {name: exponent([(size, seconds) for size, seconds, _ in points]) for name, points in lines.items()}
            for kind, lines in result["growth"].items()
        }
        result["around"] = {
            kind: {
                name: exponent([(size, seconds) for size, seconds, _ in points])
                for name, points in growth(
                    list(who.twins(("llm",))), make, AROUND_SIZES if not chosen.quick else AROUND_SIZES[:3], **grown
                ).items()
            }
            for kind, make in AROUND.items()
        }
        result["whole"] = whole_feed(packages, documents()["arr1m"], 3)
        result["memory"] = memory()
        names = (
            ("streamparse",)
            if chosen.quick
            else (
                "streamparse",
                "jiter",
                "ijson",
                "jsonmend",
                "json_repair",
                "jsonriver",
                "streaming_json_parser",
                "langchain_core.utils.json",
                "instructor",
                "agently",
            )
        )
        result["import"] = import_times(names, 5)
        result["schema"] = schema_cost(packages, 15)
    result["seconds"] = round(time.perf_counter() - started)

    print(report.markdown(result))
    if write:
        report.write(FOLDER, ROOT, result)
        print(
            f"written: {FOLDER / 'README.md'}, results.json, growth.svg, per_delta.svg, ../docs/performance.md",
            file=sys.stderr,
        )
    return 0
