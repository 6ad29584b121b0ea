"""The commands."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.resources import as_file, files
from io import TextIOWrapper
from typing import Annotated, Any, cast

import typer

from ..result import StreamResult
from ..views import TYPES
from . import check as checking
from . import plain, version_line, view
from .output import INCOMPLETE, complain, fail, quiet_end, to_json, usage_errors, write_line
from .recorded import Recording, parser_options

app = typer.Typer(
    help="Streamed text of language models: field events, live views, checks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_File = Annotated[str, typer.Argument(metavar="FILE", help="A recorded stream or plain text; - is standard input.")]
_Output = Annotated[
    str, typer.Option(metavar="SCHEMA", help="What the answer is to be: a JSON Schema file, or module:Model.")
]
_Dialect = Annotated[str, typer.Option(help="What is tolerated: llm, json5 or strict.")]
_Reasoning = Annotated[str, typer.Option(help='Reasoning block: auto, none, a model family, or "OPENER CLOSER".')]
_Documents = Annotated[str, typer.Option(help="Which of several documents counts: first, last or all.")]
_Adapter = Annotated[str, typer.Option(help="The shape of the stream (openai, anthropic, ...), if not found.")]
_Format = Annotated[str, typer.Option("--format", help="The format of the file (sse, text, ...), if not found.")]
_Speed = Annotated[float, typer.Option(min=0, help="1 is about as fast as a model writes, 0 as fast as possible.")]


def _version(wanted: bool) -> None:
    if wanted:
        write_line(version_line())
        raise typer.Exit


@app.callback()
def _main(  # pyright: ignore[reportUnusedFunction]  # typer calls it
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="The version; compiled or interpreted.")
    ] = False,
) -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without Unicode shows the rest as escapes


@app.command()
def demo(
    speed: _Speed = 1,
    web: Annotated[bool, typer.Option("--web", help="Show it as a page in the browser.")] = False,
) -> None:
    """Play a recorded reply back and watch its fields fill up.

    In a pipe it writes one line for each field, at once.
    """
    if web:
        _serve(demo=True, port=0)  # any free one: the browser is sent there
        return
    triage = files("streamparse") / "demo" / "triage.sse"
    with quiet_end(), as_file(triage) as path, Recording(str(path)) as recording:
        live = view.is_live(sys.stdout)
        _show(recording, recording.wrap(speed=speed if live else 0, emit_starts=live))


@app.command()
def events(
    file: _File = "-",
    type_: Annotated[str, typer.Option("--type", help=f"One of: {', '.join(TYPES)}.")] = "instant",
    path: Annotated[list[str], typer.Option(help="Only these fields: 'tips[*].text'; may be repeated.")] = [],  # noqa: B006  # typer reads it
    output: _Output = "",
    dialect: _Dialect = "llm",
    reasoning: _Reasoning = "",
    documents: _Documents = "first",
    adapter: _Adapter = "",
    format_: _Format = "",
) -> None:
    """Write the events as NDJSON, each as soon as it is known."""
    with quiet_end(), Recording(file, format=format_ or None) as recording:
        result = _wrap(recording, adapter, 0, output, dialect, reasoning, documents)
        with usage_errors():
            items = result.get_generator(cast("Any", type_), paths=path or None)
        named = type_ in ("specific", "all")
        for item in _until_error(items):
            write_line(to_json({"event": item[0], "data": item[1]} if named else item))
        _exit(result)


@app.command()
def response(
    file: _File = "-",
    output: _Output = "",
    dialect: _Dialect = "llm",
    reasoning: _Reasoning = "",
    documents: _Documents = "first",
    adapter: _Adapter = "",
    format_: _Format = "",
) -> None:
    """Write the whole Response as JSON, also of a stream that failed."""
    with quiet_end(), Recording(file, format=format_ or None) as recording:
        result = _wrap(recording, adapter, 0, output, dialect, reasoning, documents)
        for _ in _until_error(result.get_generator("original")):
            pass
        if result.response is not None:
            write_line(to_json(result.response, indent=2))
        _exit(result)


@app.command()
def watch(
    file: _File = "-",
    speed: _Speed = 0,
    output: _Output = "",
    dialect: _Dialect = "llm",
    reasoning: _Reasoning = "",
    documents: _Documents = "first",
    adapter: _Adapter = "",
    format_: _Format = "",
) -> None:
    """Show a stream as a tree that grows; in a pipe as one line for each field."""
    with quiet_end(), Recording(file, format=format_ or None) as recording:
        live = view.is_live(sys.stdout)  # where a field is shown as soon as it is open
        _show(recording, _wrap(recording, adapter, speed, output, dialect, reasoning, documents, emit_starts=live))


@app.command()
def check(
    file: _File = "-",
    output: _Output = "",
    dialect: _Dialect = "llm",
    reasoning: _Reasoning = "",
    documents: _Documents = "first",
    adapter: _Adapter = "",
    format_: _Format = "",
) -> None:
    """Say what had to be tolerated and what is wrong, with the line and a caret.

    Exit status: 0 the document is complete; 1 it is not, or there is an error; 2 the command cannot be run like this.
    """
    with quiet_end(), Recording(file, format=format_ or None) as recording:
        result = _wrap(recording, adapter, 0, output, dialect, reasoning, documents)
        report = checking.Report(recording.name)
        error = report.read(result.get_generator("all"))
        raise typer.Exit(report.show(result, error, has_output=output != ""))


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
) -> None:
    """Serve the demo page: a stream as server-sent events for each field, resumable."""
    _serve(host=host, port=port)


def _serve(**options: Any) -> None:
    """Hand over to the web part: `streamparse.web.command.serve(*, host, port, demo)`, each optional."""
    try:
        command = import_module("streamparse.web.command")
    except ModuleNotFoundError as error:
        fail(f'the web page needs {error.name}; install it with: python -m pip install "streamparse-llm[web]"')
    with quiet_end(), usage_errors():
        command.serve(**options)


def _wrap(
    recording: Recording,
    adapter: str,
    speed: float,
    output: str,
    dialect: str,
    reasoning: str,
    documents: str,
    *,
    emit_starts: bool = False,
) -> StreamResult[Any]:
    with usage_errors():
        options = parser_options(output=output or None, dialect=dialect, reasoning=reasoning, documents=documents)
        return recording.wrap(adapter=adapter or None, speed=speed, emit_starts=emit_starts, **options)


def _until_error(items: Iterator[Any]) -> Iterator[Any]:
    """`items` without the error at their end, which `_exit` tells."""
    try:
        yield from items
    except BrokenPipeError:
        raise
    except Exception:  # noqa: BLE001  # the run keeps it: `result.error`
        return


def _exit(result: StreamResult[Any]) -> None:
    """Tell what the run ended in, if anything."""
    error = result.error
    if error is not None:
        complain(str(error) or type(error).__name__)
        raise typer.Exit(INCOMPLETE)


def _show(recording: Recording, result: StreamResult[Any]) -> None:
    items = _until_error(result.get_generator("all"))
    if view.is_live(sys.stdout):
        view.show(items, recording)  # which shows an error, too
        if result.error is not None:
            raise typer.Exit(INCOMPLETE)
    else:
        plain.show(items)
    _exit(result)


__all__ = ["app"]
