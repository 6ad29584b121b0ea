"""Output specifications: what the answer is to be, and what that means while it streams.

Layers, each on those before it: `markers`, `shape` (the tree that is walked), `json_check`, `json_schema`, `core_check`
and `core` (JSON Schema and pydantic to shapes), `guide` (what needs no look), `spec` (any specification to an
`Output`), `partial` (instances with holes), `nodes` and `typed` (values as their types), `early` (strings that can no
longer be right), `stage` (what the parser runs), `readers` and `describe` (for the caller).
"""

from __future__ import annotations

from .describe import Description, describe
from .json_schema import JsonSchema
from .markers import Hold, Required
from .partial import Partial, PartialModel, as_partial
from .readers import Item, ItemsReader, PartialBuilder, partial_of
from .shape import Shape, fits
from .spec import Output, compile_output
from .typed import Invalid, TypedTree

__all__ = [
    "Description",
    "Hold",
    "Invalid",
    "Item",
    "ItemsReader",
    "JsonSchema",
    "Output",
    "Partial",
    "PartialBuilder",
    "PartialModel",
    "Required",
    "Shape",
    "TypedTree",
    "as_partial",
    "compile_output",
    "describe",
    "fits",
    "partial_of",
]
