"""Fuzzing: `python -m fuzz TARGET` (see fuzz/README.md)."""

from __future__ import annotations
