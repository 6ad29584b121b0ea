"""Errors and diagnostics.

    Exception
    └── StreamParseError                 everything this library raises on purpose
        ├── JSONSyntaxError(ValueError)  the text is wrong beyond what the dialect tolerates
        ├── IncompleteJSONError          the text ended too early (strict and json5); `partial` is what was there
        ├── LimitExceeded                a bound of `Limits` was reached; `limit` and `limit_value` name it
        ├── SchemaError                  an output specification, or a value that does not fit it
        ├── ProviderError                the model's service or its stream failed
        └── UsageError(TypeError)        the call was wrong: nothing was parsed

An error ends a run; a `Diagnostic` is a remark about something that was tolerated. Both name the place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

ERROR_CODES: dict[str, str] = {
    "unexpected_character": "a character that cannot stand here",
    "unexpected_end": "the text ended before the document did",
    "invalid_escape": "a backslash that starts no escape",
    "invalid_number": "not a number as JSON writes it",
    "invalid_literal": "not true, false or null",
    "control_character": "a raw control character inside a string",
    "invalid_utf8": "bytes that are not UTF-8",
    "lone_surrogate": "half a surrogate pair in the text itself",
    "trailing_text": "text after the document",
    "limit_depth": "containers nested too deep",
    "limit_string": "a string too long",
    "limit_key": "a key too long",
    "limit_number": "a number too long",
    "limit_document": "a text too long",
    "limit_events": "more events than a lossless Response may keep",
    "limit_event_bytes": "larger events than a lossless Response may keep",
    "schema": "an output specification that cannot be used",
    "invalid_value": "a value that does not fit the output specification",
    "provider": "the provider or its stream failed",
    "usage": "a call that cannot work",
}
"""Every `code` an error can carry (a closed list)."""

DIAGNOSTIC_CODES: dict[str, str] = {
    "bom": "a byte order mark or invisible space around the document was dropped",
    "broken_unicode_escape": "a \\u escape without four hexadecimal digits was kept as written",
    "comment": "a comment was skipped",
    "control_character": "a raw control character inside a string was kept",
    "double_encoded": "a string that holds JSON was opened, because the output asks for a container",
    "doubled_braces": "doubled braces were read as single ones",
    "duplicate_key": "a key came twice; the last value counts",
    "ellipsis": "an ellipsis was skipped",
    "escaped_document": "the whole document was escaped as if inside a string",
    "extra_bracket": "a closing bracket without an opening one was skipped",
    "extra_comma": "a comma without a value was skipped",
    "extra_document": "another document stands beside the one that was used",
    "fence": "a Markdown code fence round the document was dropped",
    "fullwidth_punctuation": "full-width punctuation was read as JSON punctuation",
    "hex_escape": "a \\x escape was decoded",
    "invalid_escape": "a backslash that starts no escape was kept",
    "invalid_utf8": "bytes that are not UTF-8 became U+FFFD",
    "js_literal": "a JavaScript literal was read as its JSON value",
    "leading_text": "text before the document was set aside",
    "line_continuation": "an escaped line end inside a string was dropped",
    "lone_surrogate": "half a surrogate pair, which is no character",
    "mismatched_bracket": "a closing bracket of the wrong kind was read as the right one",
    "missing_colon": "a missing colon was put in",
    "missing_comma": "a missing comma was put in",
    "missing_quote": "a missing quote was put in",
    "missing_value": "a missing value became null",
    "no_document": "the text holds no JSON document",
    "no_reasoning": "the text was to begin with reasoning, but there was none",
    "non_finite": "a number that is not finite was read as a float",
    "number_form": "a number was not written as JSON writes it",
    "odd_quotes": "typographic quotes or backticks were read as quotes",
    "python_literal": "a Python literal was read as its JSON value",
    "single_quotes": "single quotes were read as double quotes",
    "string_concatenation": "strings joined by + were read as one",
    "trailing_comma": "a comma before a closing bracket was skipped",
    "trailing_text": "text after the document was set aside",
    "triple_quotes": "a triple-quoted string was read as one string",
    "truncated": "the text ended before the document did",
    "unclosed_reasoning": "the reasoning block was never closed",
    "unescaped_quote": "a quote inside a string was not escaped",
    "unquoted_key": "a key without quotes",
    "unquoted_string": "a string without quotes",
    "wrapper": "a wrapper round the document was dropped",
    "wrong_separator": "another separator was read as : or ,",
}
"""Every `code` a `Diagnostic` can carry (a closed list) and what it means."""


class Diagnostic(NamedTuple):
    """One tolerance that was used (law 10).

    `code` is a key of `DIAGNOSTIC_CODES`; `offset` counts characters of the whole text from 0, `line` and `column` from
    1; `path` is the dot path of the innermost field concerned (`""` for the document); `text` is the raw text concerned
    where that helps, else `""`.
    """

    code: str
    message: str
    offset: int
    line: int
    column: int
    path: str
    text: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The diagnostic as a plain dict, ready for `json.dumps`."""
        return self._asdict()


class StreamParseError(Exception):
    """Root of every error of this library.

    `code` is a key of `ERROR_CODES`. `offset` (characters from 0), `line`, `column` (from 1) and `path` (dot style) say
    where in the text; they are None where there is no text. `expected` names what could have stood there, `hint` what
    to do.
    """

    default_code = "usage"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        offset: int | None = None,
        line: int | None = None,
        column: int | None = None,
        path: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.offset = offset
        self.line = line
        self.column = column
        self.path = path
        self.expected = expected
        self.hint = hint

    def __str__(self) -> str:
        text = self.message
        if self.expected:
            text += f"; expected {self.expected}"
        if self.line is not None:
            text += f" (line {self.line}, column {self.column}, offset {self.offset}"
            text += f", at {self.path!r})" if self.path else ")"
        if self.hint:
            text += f". {self.hint}"
        return text

    def __reduce__(self) -> Any:
        # Keyword-only details live in __dict__; the default reduce would call __init__ with `args` alone.
        return (_rebuild, (type(self), self.message, dict(self.__dict__)))

    def to_dict(self) -> dict[str, Any]:
        """Type, code, message and place as a plain dict, ready for `json.dumps`."""
        details = {
            name: getattr(self, name)
            for name in ("code", "message", "offset", "line", "column", "path", "expected", "hint")
        }
        return {"type": type(self).__name__, **{name: value for name, value in details.items() if value is not None}}


def _rebuild(kind: type[StreamParseError], message: str, details: dict[str, Any]) -> StreamParseError:
    error = kind.__new__(kind, message)
    error.__dict__.update(details)
    return error


class JSONSyntaxError(StreamParseError, ValueError):
    """The text is wrong beyond what the dialect tolerates."""

    default_code = "unexpected_character"


class IncompleteJSONError(StreamParseError):
    """The text ended too early, in a dialect that does not tolerate it.

    `partial` is the value so far, `events` the last events (the `cut` ones), `incomplete` the paths that were open.
    """

    default_code = "unexpected_end"

    def __init__(
        self,
        message: str,
        *,
        partial: Any = None,
        events: tuple[Any, ...] = (),
        incomplete: tuple[str, ...] = (),
        **place: Any,
    ) -> None:
        super().__init__(message, **place)
        self.partial = partial
        self.events = events
        self.incomplete = incomplete


class LimitExceeded(StreamParseError):
    """A bound of `Limits` was reached: `limit` is its name, `limit_value` its value."""

    default_code = "limit_document"

    def __init__(self, message: str, *, limit: str, limit_value: int, **place: Any) -> None:
        super().__init__(message, code=f"limit_{limit}", **place)
        self.limit = limit
        self.limit_value = limit_value


class SchemaError(StreamParseError):
    """An output specification cannot be used, or a value does not fit it. `errors` holds pydantic's details, if any."""

    default_code = "schema"

    def __init__(self, message: str, *, errors: tuple[Any, ...] = (), **place: Any) -> None:
        super().__init__(message, **place)
        self.errors = errors


class ProviderError(StreamParseError):
    """The model's service or its stream failed. `details` holds what the provider sent, as plain data."""

    default_code = "provider"

    def __init__(self, message: str, *, details: Any = None, **place: Any) -> None:
        super().__init__(message, **place)
        self.details = details


class UsageError(StreamParseError, TypeError):
    """The call cannot work; nothing was parsed. The message names what was given and what is wanted."""

    default_code = "usage"
