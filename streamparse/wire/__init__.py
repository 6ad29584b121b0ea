"""Events on the wire."""

from __future__ import annotations

from .coalesce import Coalescer
from .frame import Encoder, Frame, FrameEncoder

__all__ = ["Coalescer", "Encoder", "Frame", "FrameEncoder"]
