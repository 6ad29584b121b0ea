"""The packages themselves: which must be here, and that the extras name them all."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from clients.packages import OTHERS, REQUIRED, header, version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXTRAS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]


def names(extra: str) -> set[str]:
    return {re.split(r"[\[<>=;]", requirement)[0] for requirement in EXTRAS[extra]}


@pytest.mark.parametrize("distribution", REQUIRED)
def test_the_official_clients_are_installed(distribution: str) -> None:
    assert version(distribution), f"pip install -e '.[test]' brings {distribution}: its tests are never skipped"


def test_the_extras_name_all_clients() -> None:
    assert set(REQUIRED) <= names("test")
    assert set(OTHERS) <= names("clients") | names("test")


def test_the_header_names_every_client() -> None:
    line = header()
    for distribution in (*REQUIRED, *OTHERS):
        number = version(distribution)
        assert (f"{distribution} {number}" if number else distribution) in line
        assert ("NOT INSTALLED" in line) >= (number is None)
