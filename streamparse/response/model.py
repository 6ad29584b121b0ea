"""The value: `Response` and what it is made of. Frozen, no unknown fields, an exact JSON round trip."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeGuard

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    PlainSerializer,
    SerializationInfo,
    ValidationError,
)
from pydantic_core import PydanticSerializationError

from ..errors import Diagnostic
from ..limits import Limits
from ..provider import ProviderEvent, from_dict
from .json_text import read, whole_text, write

if TYPE_CHECKING:
    from typing_extensions import Self

FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "error", "other"]
"""Why the model stopped, one word for all providers. The provider's own word is `Response.raw_finish_reason`."""

EndState = Literal["complete", "truncated", "cut", "filtered", "refused", "paused", "cancelled", "error"]
"""How the run ended: `truncated` by a token limit, `cut` without a finish reason, `paused` for the caller to resume."""


def _is_dict(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _event(value: Any) -> Any:
    return from_dict(value) if _is_dict(value) else value


def _diagnostic(value: Any) -> Any:
    return Diagnostic(**value) if _is_dict(value) else value


def _encodable(value: Any) -> Any:
    """`value` with all its texts whole: what JSON is written of."""
    if isinstance(value, str):
        return whole_text(value)
    if _is_dict(value):
        return {_encodable(name): _encodable(item) for name, item in value.items()}
    return [_encodable(item) for item in value] if _is_list(value) else value


def _is_list(value: Any) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    return isinstance(value, list | tuple)


def _write(value: Any, info: SerializationInfo) -> dict[str, Any]:
    written: dict[str, Any] = value.to_dict()
    return _encodable(written) if info.mode_is_json() else written


Text = Annotated[str, AfterValidator(whole_text)]
Tree = Annotated[Any, PlainSerializer(_encodable, when_used="json")]
Fields = Annotated[dict[str, Any], PlainSerializer(_encodable, return_type=dict[str, Any], when_used="json")]
_to_dict = PlainSerializer(_write, return_type=dict[str, Any], when_used="unless-none")
EventField = Annotated[InstanceOf[ProviderEvent], BeforeValidator(_event), _to_dict]
DiagnosticField = Annotated[InstanceOf[Diagnostic], BeforeValidator(_diagnostic), _to_dict]


class _Data(BaseModel):
    # `constants`: NaN and Infinity are values that the tolerant dialects can give; they must survive the round trip.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants", use_attribute_docstrings=True)

    def model_dump(self, *, mode: str = "python", **options: Any) -> dict[str, Any]:
        """As a dict. In the mode `json` data may have any depth, as for `model_dump_json`."""
        try:
            return super().model_dump(mode=mode, **options)
        except ValueError:  # of pydantic, mostly its own kind of it
            if mode != "json":
                raise
            written: dict[str, Any] = read(write(super().model_dump(**options)))
            return written

    def model_dump_json(self, *, indent: int | None = None, **options: Any) -> str:
        """As JSON. Data of any depth: where pydantic gives up, another writer goes on."""
        try:
            return super().model_dump_json(indent=indent, **options)
        except PydanticSerializationError:
            return write(self.model_dump(**options), indent)

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """What `model_dump_json` wrote. Raises pydantic's `ValidationError`."""
        try:
            return super().model_validate_json(json_data, **options)
        except ValidationError as error:
            if "recursion limit exceeded" not in str(error):
                raise
        text = json_data if isinstance(json_data, str) else json_data.decode()
        return cls.model_validate(read(text), **options)


class Usage(_Data):
    """Tokens and money of one turn, as the provider counted them. None: it did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    input_cost: float | None = None
    output_cost: float | None = None
    total_cost: float | None = None
    tool_usage: Fields | None = None
    """How often the provider's own tools ran, as it reports it."""
    extra: Fields = Field(default_factory=dict)
    """Every usage key of the provider that has no field here, under the provider's name."""


class ToolCall(_Data):
    """One tool call that the caller has to run."""

    id: Text | None = None
    """The provider's id, or a stable one of ours (`metadata["generated_id"]`) where it sent none."""
    name: Text | None = None
    arguments: Tree = None
    """The parsed arguments; the partial value where they were cut; the text itself where the input is free text."""
    raw_arguments: Text = ""
    """The arguments' text as it came."""
    complete: bool = False
    """Whether `arguments` is whole: cut arguments are partial, and never `{}`."""
    index: int = 0
    """Position among the calls of the turn, from 0."""
    metadata: Fields = Field(default_factory=dict)
    """`error`: what is wrong with the arguments. `diagnostics`: what was tolerated in them, as dicts."""


class Message(_Data):
    """One message. `content` is its text, or a list of structured parts, or None."""

    role: str = "assistant"
    content: Text | list[Tree] | None = None
    refusal: Text | None = None
    metadata: Fields = Field(default_factory=dict)


class Omission(_Data):
    """Why the first event was not kept: the name of the limit, and the type of that event."""

    limit: Literal["events", "event_bytes"]
    event_kind: str


class EventCoverage(_Data):
    """How much of the run `Response.events` holds. `exact`: every event; `compact`: a prefix of them."""

    mode: Literal["exact", "compact"] = "exact"
    observed_events: int = 0
    retained_events: int = 0
    omitted_events: int = 0
    retained_bytes: int = 0
    """Size of the kept events as compact JSON in UTF-8."""
    first_omission: Omission | None = None


class Response(_Data):
    """What one run of a model came to.

    Every field has a default, so that one can be built by hand; an unknown field is an error.
    """

    id: Text | None = None
    """The provider's id of the response."""
    request_id: Text | None = None
    """The id to quote to the provider's support."""
    session_id: Text | None = None
    model: Text | None = None
    """The model that really answered."""
    prompt: Tree = None
    """What was really sent; None outside a run."""
    message: Message | None = None
    text: Text = Field(default="", validation_alias=AliasChoices("text", "output_text"))
    """The whole text of the answer. `output_text` is another name of it."""
    final_message: Text | None = None
    """The text given at the end, else the last message that a boundary started, else the whole text."""
    data: Tree = None
    """The document in the text, parsed; the partial value where it was cut."""
    reasoning: Text | None = None
    refusal: Text | None = None
    tool_calls: list[ToolCall] = Field(default_factory=list[ToolCall])
    finish_reason: FinishReason | None = None
    raw_finish_reason: Text | None = None
    end_state: EndState | None = None
    complete: bool = False
    """Whether nothing is missing: the run ended by itself, its document and its tool calls' arguments are whole."""
    incomplete: list[Text] = Field(default_factory=list)
    """Paths of `data` that were open at the end, innermost first."""
    diagnostics: list[DiagnosticField] = Field(default_factory=list[Diagnostic])
    """The tolerances that were used in the text, as many as `Limits.diagnostics` lets it keep."""
    omitted_diagnostics: int = 0
    """How many more there were: see `diagnostic_count`."""
    usage: Usage | None = None
    duration_ms: float = Field(default=0.0, ge=0)
    time_to_first_delta_ms: float | None = None
    events: list[EventField] = Field(default_factory=list[ProviderEvent])
    """The provider events that were kept, in order of arrival: see `event_coverage`."""
    event_coverage: EventCoverage = Field(default_factory=EventCoverage)
    terminal: EventField | None = None
    """The terminal event, kept even where `events` was cut before it."""
    raw: Tree = None
    """What ended the answer in the provider's own form, as plain data: its final object, or the chunk with the finish
    reason. None where the stream ended without one.
    """
    metadata: Fields = Field(default_factory=dict)
    """What has no field: `error`, `provider_tool_calls`, `tool_results`, what the caller adds."""

    @property
    def output_text(self) -> str:
        """The same as `text`."""
        return self.text

    @property
    def diagnostic_count(self) -> int:
        """How many tolerances were used, those that were not kept included."""
        return len(self.diagnostics) + self.omitted_diagnostics

    def text_or_none(self) -> str | None:
        """`text`, else the string content of `message`, else None. A list of structured parts is not flattened."""
        if self.text:
            return self.text
        if self.message is not None and isinstance(self.message.content, str):
            return self.message.content
        return None

    @classmethod
    def from_events(
        cls,
        events: Iterable[ProviderEvent | dict[str, Any]],
        *,
        duration_ms: float = 0,
        session_id: str | None = None,
        limits: Limits | None = None,
        lossless: bool = False,
    ) -> Response:
        """The Response of a finished run, from its events (objects, or the dicts that `to_dict` wrote).

        There must be exactly one terminal event (`Result` or `Error`): `UsageError` otherwise. `lossless` raises
        `LimitExceeded` at the first event that `limits` do not let it keep, instead of keeping a prefix. `text` is what
        the events say, inline reasoning included; `data` and the arguments of tool calls are parsed by the `llm`
        dialect.
        """
        from .fold import fold

        return fold(events, duration_ms=duration_ms, session_id=session_id, limits=limits, lossless=lossless)
