"""What `output=` adds to the parser, beside the time that pydantic itself needs.

    python -m benchmarks.schemas

For each document of `workloads.py` (but `deep500`, which is deeper than pydantic goes) and each twin that is there: the
processor time per delta without and with a fitting model, of pydantic on the whole value, and of pydantic on each
scalar field. Each figure is the least of interleaved rounds. At most 15 % may be left beside pydantic.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel, TypeAdapter, create_model

from streamparse import StreamParser
from streamparse.implementation import IMPLEMENTATION
from streamparse.schema import compile_output

from .workloads import deltas, documents

ROUNDS = 9
GATE = 15


class Item(BaseModel):
    id: int
    name: str
    text: str
    tags: list[str]
    score: float


class Nested(BaseModel):
    title: str
    items: list[Item]


class Row(BaseModel):
    id: int
    name: str
    note: str
    ok: bool
    value: float


class Record(BaseModel):
    id: int
    name: str
    email: str
    age: int
    active: bool
    score: float


class Text(BaseModel):
    text: str


def models(texts: dict[str, str]) -> dict[str, Any]:
    """name of a document -> a model that fits it."""
    flat: dict[str, Any] = {key: (type(value), ...) for key, value in json.loads(texts["obj500"]).items()}
    return {
        "obj500": create_model("Flat", **flat),
        "nested4k": Nested,
        "obj64k": dict[str, Row],
        "arr1m": list[Record],
        "str256k": Text,
    }


def parse(pieces: Sequence[str], output: Any) -> None:
    parser = StreamParser(output=output)
    for piece in pieces:
        parser.feed(piece)
    parser.close()


def scalars(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [found for item in value.values() for found in scalars(item)]
    if isinstance(value, list):
        return [found for item in value for found in scalars(item)]
    return [value]


def measure(works: Sequence[Callable[[], object]], per: int) -> list[float]:
    """Microseconds of each work, divided by `per`."""
    best = [float("inf")] * len(works)
    repeats = max(1, 20_000 // per)
    for _ in range(ROUNDS):
        for at, work in enumerate(works):
            gc.collect()
            start = time.process_time()
            for _ in range(repeats):
                work()
            best[at] = min(best[at], (time.process_time() - start) / repeats / per * 1e6)
    return best


def main() -> None:
    gc.collect()
    gc.freeze()
    texts = documents()
    validators = {kind: TypeAdapter(kind).validator.validate_python for kind in (str, int, float, bool)}
    print(f"\n{IMPLEMENTATION}, microseconds a delta")
    print("| | without | with | pydantic, whole | pydantic, each field | left, of `without` |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, model in models(texts).items():
        text = texts[name]
        value = json.loads(text)
        pieces = deltas(text)
        output = compile_output(model)
        whole = TypeAdapter(model).validate_python
        each = [(validators[type(scalar)], scalar) for scalar in scalars(value)]

        def check(each: list[tuple[Any, Any]] = each) -> None:
            for validate, scalar in each:
                validate(scalar)

        bare, full, one, many = measure(
            [
                lambda pieces=pieces: parse(pieces, None),
                lambda pieces=pieces, output=output: parse(pieces, output),
                lambda whole=whole, value=value: whole(value),
                check,
            ],
            len(pieces),
        )
        # The fields, and the models round them: what pydantic does on the whole value is both in one.
        left = (full - bare - max(one, many)) / bare * 100
        mark = " **" if left > GATE else ""
        print(f"| {name} | {bare:.3f} | {full:.3f} | {one:.3f} | {many:.3f} | {left:+.0f} %{mark} |")
    if "--one" not in sys.argv and IMPLEMENTATION == "compiled":
        environment = {**os.environ, "STREAMPARSE_PURE": "1"}
        subprocess.run([sys.executable, "-m", "benchmarks.schemas", "--one"], check=True, env=environment)


if __name__ == "__main__":
    main()
