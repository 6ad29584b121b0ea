"""Intake: the short way of a chunk to the machine.

Part of the compiled twin: see `machine.py`.
"""

# It fills in its events itself.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from .machine import Machine
from .scan import COMPILED, plain_end
from .stage import Stage
from .states import KEY_STRING, STRING
from .streaming_data import StreamingData
from .text_log import BLOCK


class Intake:
    """The short way in, on which the parser is built: a chunk goes to the machine while nothing stands between them.

    It is compiled with the machine: for most chunks another Python call would cost as much as all the rest.
    """

    __slots__ = ("_direct", "_log", "_machine", "_stage")

    def __init__(self, machine: Machine, stage: Stage | None, log: list[str]) -> None:
        self._machine = machine
        self._stage = stage
        self._log = log  # the newest pieces of the text as it came
        # The longest chunk between which and the machine nothing stands; -1: there is none.
        self._direct: int = -1

    def feed(self, chunk: str | bytes, /) -> list[StreamingData]:
        """Read `chunk` (any size, cut anywhere); return the events that are certain now.

        Never raises on what the model wrote: after a fault all events before it are returned, `error` is set, and the
        next `feed` or `close` raises it. Raises `UsageError` when `chunk` is neither str nor bytes, or after `close`.
        """
        if type(chunk) is not str:
            return self._feed(chunk)
        n = len(chunk)
        if n > self._direct:
            return self._feed(chunk)
        machine = self._machine
        state = machine.state
        if state <= KEY_STRING:
            # Most chunks are the middle of a string: all there is to know is that nothing special is in them.
            if COMPILED:
                plain = plain_end(chunk, 0) == n
            else:
                plain = '"' not in chunk and chunk.isprintable() and "\\" not in chunk
            if plain:
                end = machine.offset + n
                if state == STRING:
                    if end <= machine.barrier and n and not machine.told:
                        machine.offset = end
                        pieces = machine.pieces
                        if machine.keep_data:
                            pieces.append(chunk)
                            self._log.append(chunk)
                        elif not pieces:
                            pieces.append("")  # the string is not empty
                        event = StreamingData()
                        event._field = machine.leaf
                        event._type = "delta"
                        event._delta = chunk
                        event._value = len(pieces)
                        return [event]
                elif (
                    end <= machine.key_barrier
                    and end <= machine.max_document
                    and (machine.pending < 0 or end - machine.pending <= machine.max_held)
                ):
                    machine.offset = end
                    machine.key_pieces.append(chunk)
                    if machine.pending >= 0:
                        machine.held.append(chunk)
                    if machine.keep_data:
                        self._log.append(chunk)
                    return []
        if machine.keep_data:
            self._log.append(chunk)
            if len(self._log) > BLOCK:
                self._join()
        events = machine.feed(chunk)
        return self._look(machine.last) if events is None else events

    def _tell(self, events: list[StreamingData]) -> list[StreamingData]:
        """Show the stage events that it has to see. Returns what is left of them for the user."""
        stage = self._stage
        if stage is None:
            self._machine.told = 0
            return events
        events = stage.feed_end(events) if self._machine.told == 1 else stage.feed(events)
        self._machine.told = 2 if stage.waiting else 0
        return events

    def _feed(self, chunk: str | bytes) -> list[StreamingData]:
        """`feed`, where something stands between the chunk and the machine."""
        raise NotImplementedError

    def _look(self, events: list[StreamingData]) -> list[StreamingData]:
        """The machine has `stopped` in a chunk, or has something to tell. Returns the events for the user."""
        raise NotImplementedError

    def _join(self) -> None:
        """Join the newest pieces of the text."""
        raise NotImplementedError
