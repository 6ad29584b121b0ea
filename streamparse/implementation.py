"""Which twin of the machine runs: the compiled one where it is there, unless `STREAMPARSE_PURE` is set."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING or os.environ.get("STREAMPARSE_PURE", "0") not in ("", "0"):
    from .intake import Intake
    from .machine import Machine
    from .streaming_data import StreamingData, make_event, restore_event

    IMPLEMENTATION: Literal["interpreted", "compiled"] = "interpreted"
else:
    try:
        from ._machine_c import Intake, Machine, StreamingData, make_event, restore_event

        IMPLEMENTATION = "compiled"
    except ImportError:
        from .intake import Intake
        from .machine import Machine
        from .streaming_data import StreamingData, make_event, restore_event

        IMPLEMENTATION = "interpreted"

__all__ = ["IMPLEMENTATION", "Intake", "Machine", "StreamingData", "make_event", "restore_event"]
