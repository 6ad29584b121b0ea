"""`python -m benchmarks.adapters`: what reading an SDK's stream through streamparse adds to what the SDK needs itself.

Every client that can be imported (`pip install -e '.[test,clients]'`) asks a server in a process of its own, which
answers with the same text in the provider's wire format. What is timed is processor time of this process, per chunk, in
interleaved rounds:

    SDK            `for chunk in stream: pass`
    with wrap      `for event in wrap(stream).get_generator("instant"): pass`
    adapter        the same chunks, kept, through the adapter alone
    streamparse    the same chunks, kept, through `wrap`: adapter, parser, events, result
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import statistics
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path
from typing import Any

import streamparse
from streamparse import adapters

from . import report
from .measure import timed
from .workloads import deltas, nested

FOLDER = Path(__file__).parent
BEGIN, END = "<!-- adapters: begin -->", "<!-- adapters: end -->"
MODEL = "model-1"
PROMPT = [{"role": "user", "content": "Answer in JSON."}]
KEY = "none"


# ------------------------------------------------------------------------------------------------------- wire formats


def sse(value: Any, event: str = "") -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(value)}\n\n".encode()


def chat(parts: list[str]) -> Iterator[bytes]:
    def chunk(delta: Any, finish: str | None = None) -> Any:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
        return {**head, "system_fingerprint": "fp_1", "choices": [choice], "usage": None}

    yield sse(chunk({"role": "assistant", "content": "", "refusal": None}))
    yield from (sse(chunk({"content": part})) for part in parts)
    yield sse(chunk({}, "stop"))
    yield b"data: [DONE]\n\n"


def responses(parts: list[str]) -> Iterator[bytes]:
    def event(kind: str, number: int, **fields: Any) -> bytes:
        return sse({"type": kind, "sequence_number": number, **fields}, kind)

    whole = {
        "id": "resp_1", "object": "response", "created_at": 1, "model": MODEL, "status": "in_progress", "output": [],
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    }  # fmt: skip
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    yield event("response.created", 0, response=whole)
    for number, part in enumerate(parts, 1):
        yield event("response.output_text.delta", number, **place, delta=part, logprobs=[])
    yield event("response.completed", len(parts) + 1, response={**whole, "status": "completed"})


def messages(parts: list[str]) -> Iterator[bytes]:
    def event(kind: str, **fields: Any) -> bytes:
        return sse({"type": kind, **fields}, kind)

    usage = {"input_tokens": 12, "output_tokens": 1}
    about = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": [], "usage": usage}
    yield event("message_start", message={**about, "stop_reason": None, "stop_sequence": None})
    yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    for part in parts:
        yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": part})
    yield event("content_block_stop", index=0)
    yield event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 9})
    yield event("message_stop")


def gemini(parts: list[str]) -> Iterator[bytes]:
    usage = {"promptTokenCount": 12, "candidatesTokenCount": 9, "totalTokenCount": 21}
    for at, part in enumerate(parts):
        finish = {"finishReason": "STOP"} if at == len(parts) - 1 else {}
        candidate = {"content": {"parts": [{"text": part}], "role": "model"}, "index": 0, **finish}
        yield sse({"candidates": [candidate], "usageMetadata": usage, "modelVersion": MODEL, "responseId": "r_1"})


def cohere(parts: list[str]) -> Iterator[bytes]:
    yield sse({"type": "message-start", "id": "co_1", "delta": {"message": {"role": "assistant"}}})
    for part in parts:
        yield sse({"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": part}}}})
    usage = {"tokens": {"input_tokens": 12, "output_tokens": 9}}
    yield sse({"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": usage}})


def ollama(parts: list[str]) -> Iterator[bytes]:
    head = {"model": MODEL, "created_at": "2026-12-01T00:00:00Z"}
    for part in [*parts, ""]:
        done = {"done": False} if part else {"done": True, "done_reason": "stop", "eval_count": 9}
        yield json.dumps({**head, "message": {"role": "assistant", "content": part}, **done}).encode() + b"\n"


def bedrock(parts: list[str]) -> Iterator[bytes]:
    def frame(kind: str, payload: Any) -> bytes:
        names = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
        pairs = [(name.encode(), value.encode()) for name, value in names.items()]
        headers = b"".join(struct.pack("!B", len(n)) + n + struct.pack("!BH", 7, len(v)) + v for n, v in pairs)
        body = json.dumps(payload).encode()
        head = struct.pack("!II", 16 + len(headers) + len(body), len(headers))
        whole = head + struct.pack("!I", zlib.crc32(head)) + headers + body
        return whole + struct.pack("!I", zlib.crc32(whole))

    yield frame("messageStart", {"role": "assistant"})
    for part in parts:
        yield frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": part}})
    yield frame("contentBlockStop", {"contentBlockIndex": 0})
    yield frame("messageStop", {"stopReason": "end_turn"})


# ------------------------------------------------------------------------------------------------------------- clients

Call = Callable[[], Any]


@contextmanager
def ask_openai(url: str, module: Any) -> Iterator[Call]:
    with module.OpenAI(base_url=f"{url}/v1", api_key=KEY) as client:
        yield lambda: client.chat.completions.create(model=MODEL, messages=PROMPT, stream=True)


@contextmanager
def ask_responses(url: str, module: Any) -> Iterator[Call]:
    with module.OpenAI(base_url=f"{url}/v1", api_key=KEY) as client:
        yield lambda: client.responses.create(model=MODEL, input=PROMPT, stream=True)


@contextmanager
def ask_anthropic(url: str, module: Any) -> Iterator[Call]:
    with module.Anthropic(base_url=url, api_key=KEY) as client:
        yield lambda: client.messages.create(model=MODEL, max_tokens=9, messages=PROMPT, stream=True)


@contextmanager
def ask_gemini(url: str, module: Any) -> Iterator[Call]:
    with module.Client(api_key=KEY, http_options={"base_url": url}) as client:
        yield lambda: client.models.generate_content_stream(model=MODEL, contents="Answer in JSON.")


@contextmanager
def ask_mistral(url: str, module: Any) -> Iterator[Call]:
    kind = getattr(module, "Mistral", None) or importlib.import_module("mistralai.client").Mistral
    with kind(api_key=KEY, server_url=url) as client:
        yield lambda: client.chat.stream(model=MODEL, messages=PROMPT)


@contextmanager
def ask_cohere(url: str, module: Any) -> Iterator[Call]:
    client = module.ClientV2(api_key=KEY, base_url=url)
    yield lambda: client.chat_stream(model=MODEL, messages=PROMPT)


@contextmanager
def ask_ollama(url: str, module: Any) -> Iterator[Call]:
    client = module.Client(host=url)
    yield lambda: client.chat(model=MODEL, messages=PROMPT, stream=True)


@contextmanager
def ask_groq(url: str, module: Any) -> Iterator[Call]:
    with module.Groq(base_url=url, api_key=KEY) as client:
        yield lambda: client.chat.completions.create(model=MODEL, messages=PROMPT, stream=True)


@contextmanager
def ask_bedrock(url: str, module: Any) -> Iterator[Call]:
    client = module.client(
        "bedrock-runtime", endpoint_url=url, region_name="eu-central-1", aws_access_key_id=KEY,
        aws_secret_access_key=KEY,
    )  # fmt: skip
    said = [{"role": "user", "content": [{"text": "Answer in JSON."}]}]
    yield lambda: client.converse_stream(modelId=MODEL, messages=said)
    client.close()


@contextmanager
def ask_litellm(url: str, module: Any) -> Iterator[Call]:
    about = {"model": f"openai/{MODEL}", "api_base": f"{url}/v1", "api_key": KEY, "num_retries": 0}
    yield lambda: module.completion(messages=PROMPT, stream=True, **about)


@dataclass(frozen=True)
class Shape:
    name: str
    distribution: str
    module: str
    body: Callable[[list[str]], Iterator[bytes]]
    ask: Callable[[str, Any], Any]
    content_type: str = "text/event-stream"


SHAPES = (
    Shape("openai, chat", "openai", "openai", chat, ask_openai),
    Shape("openai, responses", "openai", "openai", responses, ask_responses),
    Shape("anthropic", "anthropic", "anthropic", messages, ask_anthropic),
    Shape("google-genai", "google-genai", "google.genai", gemini, ask_gemini),
    Shape("mistralai", "mistralai", "mistralai", chat, ask_mistral),
    Shape("cohere", "cohere", "cohere", cohere, ask_cohere),
    Shape("ollama", "ollama", "ollama", ollama, ask_ollama, "application/x-ndjson"),
    Shape("groq", "groq", "groq", chat, ask_groq),
    Shape("boto3, converse", "boto3", "boto3", bedrock, ask_bedrock, "application/vnd.amazon.eventstream"),
    Shape("litellm", "litellm", "litellm", chat, ask_litellm),
)


# -------------------------------------------------------------------------------------------------------------- server


def serve(name: str) -> None:
    """Answer every request with the body of one shape; the port is the first line that is printed."""
    shape = next(one for one in SHAPES if one.name == name)
    body = b"".join(shape.body(text_parts()))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(200)
            self.send_header("Content-Type", shape.content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


@contextmanager
def serving(name: str) -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.adapters", "--serve", name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=FOLDER.parent) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


# ------------------------------------------------------------------------------------------------------------ measuring


def text_parts() -> list[str]:
    """The answer: nested4k, in the pieces that a model sends."""
    return deltas(nested(4_450))


def chunks_of(stream: Any) -> Iterator[Any]:
    """What is iterated: the SDKs hand out streams, context managers, and dicts that hold one."""
    with ExitStack() as stack:
        if isinstance(stream, dict):
            stream = stream["stream"]
        elif hasattr(stream, "__enter__"):
            stream = stack.enter_context(stream)
        yield from stream


@dataclass
class Cost:
    """Microseconds per chunk."""

    version: str
    chunks: int
    sdk: float
    both: float
    adapter: float
    streamparse: float


def measure(shape: Shape, rounds: int) -> Cost:
    module = importlib.import_module(shape.module)
    found: dict[str, list[float]] = {"sdk": [], "both": [], "adapter": [], "streamparse": []}
    with serving(shape.name) as url, shape.ask(url, module) as call:
        kept = list(chunks_of(call()))
        wanted = json.loads("".join(text_parts()))
        if streamparse.wrap(call()).get_data() != wanted:
            raise ValueError("the answer did not come through")

        def alone() -> None:
            for _ in chunks_of(call()):
                pass

        def adapter() -> None:
            reader = adapters.detect(kept[: adapters.LOOK_AHEAD], last=True)
            assert reader is not None
            for chunk in kept:
                reader.feed(chunk)
            reader.close()

        def wrapped(source: Any) -> None:
            for _ in streamparse.wrap(source).get_generator("instant"):
                pass

        for _ in range(rounds):
            found["sdk"].append(timed(alone))
            found["both"].append(timed(lambda: wrapped(call())))
            found["adapter"].append(timed(adapter))
            found["streamparse"].append(timed(lambda: wrapped(kept)))
    micro = {name: statistics.median(values) / len(kept) * 1e6 for name, values in found.items()}
    return Cost(metadata.version(shape.distribution), len(kept), **micro)


def table(costs: dict[str, Cost]) -> str:
    rows = [
        [
            f"{name} {cost.version}",
            f"{cost.chunks}",
            f"{cost.sdk:.1f}",
            f"{cost.both:.1f}",
            f"{cost.adapter:.1f} ({cost.adapter / cost.sdk:.0%})",
            f"{cost.streamparse:.1f} ({cost.streamparse / cost.sdk:.0%})",
        ]
        for name, cost in costs.items()
    ]
    head = ["µs per chunk", "chunks", "SDK", "SDK with wrap", "adapter alone", "streamparse alone"]
    about = (
        f"streamparse {streamparse.__version__}, {streamparse.IMPLEMENTATION}, CPython {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}. In brackets: the share of the SDK's own cost."
    )
    return f"{about}\n\n{report.table(head, rows)}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adapters", description="Cost per chunk beside the SDK.")
    parser.add_argument("--rounds", type=int, default=15, help="rounds per client")
    parser.add_argument("--only", metavar="CLIENT", action="append", help="only this client (may be repeated)")
    parser.add_argument("--no-write", action="store_true", help="print only")
    parser.add_argument("--serve", metavar="CLIENT", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.serve:
        serve(chosen.serve)
        return 0
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would fetch its prices when it is imported
    costs: dict[str, Cost] = {}
    for shape in SHAPES:
        if chosen.only and shape.name not in chosen.only:
            continue
        try:
            costs[shape.name] = measure(shape, chosen.rounds)
        except ImportError as error:
            print(f"  left out: {shape.name} ({error})", file=sys.stderr)
            continue
        print(f"  {shape.name}: {costs[shape.name]}", file=sys.stderr)
    print(table(costs))
    if not chosen.no_write and not chosen.only:
        for path in (FOLDER / "README.md", FOLDER.parent / "docs" / "performance.md"):
            report.between(path, BEGIN, END, table(costs))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
