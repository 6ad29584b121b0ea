"""Ways to cut a text."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import TypeVar

from hypothesis import strategies as st

Text = TypeVar("Text", str, bytes)


def each(text: Text) -> list[Text]:
    """One character (or byte) at a time."""
    return [text[index : index + 1] for index in range(len(text))]


def two_way(text: Text) -> Iterator[list[Text]]:
    """Every split in two, the two with an empty half included."""
    for index in range(len(text) + 1):
        yield [text[:index], text[index:]]


def pieces(text: Text, cuts: list[int]) -> list[Text]:
    """`text` cut at the positions `cuts`; a position that comes twice gives an empty chunk."""
    edges = [0, *sorted(cuts), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(edges)]


def at_random(text: Text, seed: str, *, times: int = 20) -> Iterator[list[Text]]:
    """`times` splits with pieces of all sizes, the same ones at every run."""
    source = random.Random(seed)
    for _ in range(times):
        cuts: list[int] = []
        position = 0
        longest = source.choice([2, 5, 20, 100, 1000])
        while position < len(text):
            position += source.randint(1, longest)
            cuts.append(min(position, len(text)))
        yield pieces(text, cuts)


def cuts(most: int = 12) -> st.SearchStrategy[list[float]]:
    """Places to cut, as shares of the text's length; `chop` turns them into chunks. An empty list: the whole text."""
    return st.one_of(
        st.just([-1.0]),  # one character at a time
        st.lists(st.floats(0, 1, allow_nan=False, width=32), max_size=most),
    )


def chop(text: Text, places: list[float]) -> list[Text]:
    """`text` cut at `places` (see `cuts`)."""
    if places == [-1.0]:
        return each(text)
    return pieces(text, [round(place * len(text)) for place in places])
