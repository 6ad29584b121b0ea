"""What a delta costs: `python -m benchmarks` (see benchmarks/README.md)."""

from __future__ import annotations
