"""Set-up of all tests: where helpers are found, and how hard Hypothesis works.

`HYPOTHESIS_PROFILE=quick|ci|thorough` says how many examples each property is tried on.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Tests import `support`; the checkout itself stays off the path, so that the installed package is the one that is
# tested.
sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("support")

_SLOW = [
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
]  # how fast a machine is, is no property
settings.register_profile("ci", max_examples=60, deadline=None, suppress_health_check=_SLOW, print_blob=True)
settings.register_profile("quick", max_examples=12, deadline=None, suppress_health_check=_SLOW, print_blob=True)
settings.register_profile("thorough", max_examples=3000, deadline=None, suppress_health_check=_SLOW, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

SHARED = Path(__file__).parents[2] / "shared"
OUTSIDE = os.environ.get("STREAMPARSE_OUTSIDE", "")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """With `STREAMPARSE_OUTSIDE=require` a test marked `outside` that would be skipped fails."""
    outcome = yield
    report = outcome.get_result()
    if report.skipped and OUTSIDE == "require" and item.get_closest_marker("outside") is not None:
        report.outcome = "failed"
        report.longrepr = f"STREAMPARSE_OUTSIDE=require, but this was skipped: {report.longrepr[2]}"


def pytest_report_header() -> list[str]:
    """Say which optional data this run can see."""
    suite = SHARED / "jsontestsuite" / "test_parsing"
    where = str(suite) if suite.is_dir() else f"not found ({suite}); only tests/data stands in for it"
    from clients.packages import header  # found by the path that is set above

    return [f"JSONTestSuite: {where}", f"Hypothesis profile: {os.environ.get('HYPOTHESIS_PROFILE', 'ci')}", header()]
