"""Programs that tests start."""

from __future__ import annotations

import signal


def heed_ctrl_c() -> None:
    """For `preexec_fn`: a shell starts what runs in its background with SIGINT ignored, and programs pass that on."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
