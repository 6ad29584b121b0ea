"""Markers for `Annotated`: what the schema says about showing a field while it streams.

    class Ticket(BaseModel):
        code: Annotated[str, Hold]           # shown only when it is closed
        tips: list[Tip]

    class Tip(BaseModel):
        title: Annotated[str, Required]      # a tip is shown only once its title is there
        text: str = ""

The class itself is the marker (an instance works too). They change neither validation nor the JSON Schema.
"""

from __future__ import annotations

from typing import Any, ClassVar

HOLD_KEY = "streamparse_hold"
REQUIRED_KEY = "streamparse_required"
ENSURE_KEY = "streamparse_ensure"


class _Marker:
    key: ClassVar[str]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        # A copy: the schema that the handler gives may be shared with other uses of the same type.
        schema: dict[str, Any] = dict(handler(source))
        schema["metadata"] = {**schema.get("metadata", {}), cls.key: True}
        return schema


class Hold(_Marker):
    """Show the field only when it is final: its deltas come as one, just before `done`."""

    key = HOLD_KEY


class Required(_Marker):
    """Do not show the object that has this field before the field itself can be shown."""

    key = REQUIRED_KEY


class Ensured:
    """What the third place of a `(type, description, ensure)` leaf says, carried in the core schema."""

    def __init__(self, ensure: str) -> None:
        self.ensure = ensure

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        schema: dict[str, Any] = dict(handler(source))
        schema["metadata"] = {**schema.get("metadata", {}), ENSURE_KEY: self.ensure}
        return schema
