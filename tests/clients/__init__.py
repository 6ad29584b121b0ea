"""The real client packages against a server on the loopback device, which plays wire bodies as the providers do."""

from __future__ import annotations
