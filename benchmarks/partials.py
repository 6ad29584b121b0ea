"""What a partial answer looks like in several libraries, and what it costs.

    pip install instructor langchain-core openai pydantic-ai-slim baml-py
    python -m benchmarks.partials

Prints the table of docs/schema/comparison.md: for each half text what each library gives (one that is not installed is
left out). Then the processor time per delta for one answer of about 64 KB in 2,000 pieces, a snapshot after each, all
in this run; libraries that read the whole text each time and are slow are asked at some of the places only.
"""

from __future__ import annotations

import gc
import json
import random
import time
import types
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, Literal

from pydantic import BaseModel, TypeAdapter
from typing_extensions import TypedDict

from streamparse import StreamParser, wrap
from streamparse.implementation import IMPLEMENTATION
from streamparse.schema import PartialBuilder


class Tip(BaseModel):
    text: str
    rank: int


class Ticket(BaseModel):
    title: str
    due: date | None = None
    mood: Literal["glad", "gloomy"] = "glad"
    price: float = 1.5
    tips: list[Tip]


class TipDict(TypedDict, total=False):
    text: str
    rank: int


class TicketDict(TypedDict, total=False):
    title: str
    due: date | None
    mood: Literal["glad", "gloomy"]
    price: float
    tips: list[TipDict]


TEXTS = (
    '{"title": "Brok',
    '{"title": "a", "due": "2024-01-0',
    '{"title": "a", "mood": "glo',
    '{"title": "a", "price": 12',
    '{"title": "a", "due": "tomorrow", "tips": [',
    '{"title": "a", "tips": [{"text": "b", "rank": 1}, {"text": "Or',
)

BAML = """
class Tip { text string
  rank int }
class Ticket { title string
  due string?
  mood "glad" | "gloomy"
  price float
  tips Tip[] }
client<llm> C { provider openai
  options { model "none"
    api_key "none" } }
function Ask(x: string) -> Ticket { client C
  prompt #"{{ x }} {{ ctx.output_format }}"# }
"""

Parse = Callable[[str], Any]


def streamparse(text: str) -> Any:
    builder: PartialBuilder[Ticket] = PartialBuilder(Ticket)
    return builder.update(StreamParser().feed(text))


def instructor() -> Parse:
    from instructor.v2.dsl.partial import Partial, process_potential_object

    model = Partial[Ticket].get_partial_model()
    return lambda text: process_potential_object(text, "trailing-strings", model)


def pydantic_models() -> Parse:
    adapter = TypeAdapter(Ticket)
    return lambda text: adapter.validate_json(text, experimental_allow_partial="trailing-strings")


def pydantic_typed_dicts() -> Parse:
    adapter = TypeAdapter(TicketDict)
    return lambda text: adapter.validate_json(text, experimental_allow_partial="trailing-strings")


def langchain() -> Parse:
    from langchain_core.utils.json import parse_partial_json

    return parse_partial_json


def openai() -> Parse:
    from jiter import from_json

    return lambda text: from_json(text.encode(), partial_mode=True)


def baml() -> Parse:
    from baml_py import BamlRuntime

    runtime = BamlRuntime.from_files("baml_src", {"baml_src/main.baml": BAML}, {})
    context = runtime.create_context_manager()

    class PartialTip(BaseModel):
        text: str | None = None
        rank: int | None = None

    class PartialTicket(BaseModel):
        title: str | None = None
        due: str | None = None
        mood: str | None = None
        price: float | None = None
        tips: list[PartialTip] = []

    partial = types.SimpleNamespace(Tip=PartialTip, Ticket=PartialTicket)
    modules = []
    for name, members in (("enums", {}), ("full", {"Tip": Tip, "Ticket": Ticket}), ("partial", vars(partial))):
        module = types.ModuleType(name)
        module.__dict__.update(members)
        modules.append(module)
    return lambda text: runtime.parse_llm_response("Ask", text, *modules, True, context, None, None, {})


LIBRARIES: dict[str, Callable[[], Parse]] = {
    "streamparse": lambda: streamparse,
    "instructor `Partial`": instructor,
    "pydantic-ai, `TypedDict`": pydantic_typed_dicts,
    "pydantic-ai, model": pydantic_models,
    "BAML": baml,
    "LangChain": langchain,
    "OpenAI helper": openai,
}


def shown(value: Any) -> str:
    fields = value.model_dump() if isinstance(value, BaseModel) else value
    return ", ".join(f"{name}={item!r}" for name, item in fields.items() if item is not None and item not in ([], {}))


def main() -> None:
    made: dict[str, Parse] = {}
    for name, make in LIBRARIES.items():
        try:
            made[name] = make()
        except ImportError as error:
            print(f"{name}: not installed ({error})")
    for text in TEXTS:
        print(f"\n{text}")
        for name, parse in made.items():
            try:
                print(f"    {name:26} {shown(parse(text))}")
            except Exception as error:  # noqa: BLE001  # what a library raises is its answer
                print(f"    {name:26} raises {type(error).__name__}")
    print(cost(made))


def by_parser(pieces: Sequence[str]) -> None:
    parser = StreamParser(output=Ticket)
    for piece in pieces:
        parser.feed(piece)
        parser.partial()


def by_generator(pieces: Sequence[str]) -> None:
    for _ in wrap(iter(pieces), output=Ticket).get_generator(type="partial"):
        pass


def by_builder(pieces: Sequence[str]) -> None:
    parser, builder = StreamParser(), PartialBuilder[Ticket](Ticket)
    for piece in pieces:
        builder.update(parser.feed(piece))


STREAMING: dict[str, Callable[[Sequence[str]], None]] = {
    "parser.partial()": by_parser,
    'get_generator(type="partial")': by_generator,
    "PartialBuilder": by_builder,
}
ROUNDS = 5


def answer(tips: int) -> str:
    """An answer of about `tips` times 260 characters."""
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda"]
    pick = random.Random(1).choice
    listed = [{"text": " ".join(pick(words) for _ in range(40)), "rank": at} for at in range(tips)]
    return json.dumps({"title": "x", "due": "2024-01-02", "mood": "glad", "price": 1, "tips": listed})


def timed(work: Callable[[], object]) -> float:
    """Processor seconds, the least of some rounds."""
    found: list[float] = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def cost(made: dict[str, Parse]) -> str:
    """What a piece costs, as lines of text."""
    gc.collect()
    gc.freeze()  # the modules of all the libraries are nobody's cost
    text = answer(250)
    step = len(text) // 2000 + 1
    pieces = [text[at : at + step] for at in range(0, len(text), step)]
    lines = [f"\n{len(text)} characters in {len(pieces)} pieces, microseconds a piece (streamparse {IMPLEMENTATION})"]
    # The same pieces of an answer four times as long: what grows with the document shows.
    longer = answer(1000)
    more = [longer[at : at + step] for at in range(0, len(longer), step)]
    slowest = 0.0
    for name, run in STREAMING.items():
        each = timed(lambda run=run: run(pieces)) / len(pieces) * 1e6
        each_longer = timed(lambda run=run: run(more)) / len(more) * 1e6
        slowest = max(slowest, each)
        lines.append(f"    {name:30} {each:10.1f}    of four times the text {each_longer:10.1f}")
    for name, parse in list(made.items())[1:]:
        ends = range(step, len(text) + step, step * (1 if name.startswith(("instructor", "OpenAI")) else 40))
        start = time.process_time()
        try:
            for end in ends:
                parse(text[:end])
        except Exception as error:  # noqa: BLE001  # as above
            lines.append(f"    {name:30} raises {type(error).__name__}")
            continue
        each = (time.process_time() - start) / len(ends) * 1e6
        lines.append(f"    {name:30} {each:10.1f}    {each / slowest:6.0f} times the slowest of streamparse's")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
