"""Helpers of the core tests.

They know the contract (the laws, the case format, JSON) and `json.loads`; they take nothing from the parser under test
but its events.
"""

from __future__ import annotations
