"""The states of the machine, as one table: what each means, and what it waits for.

The error texts, the state diagram of the docs and a test that every state is reached read it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

# The order is that of the loop of the machine, which tells groups of states apart by it.
STRING: Final = 0
# The states of a key, up to its colon.
KEY_STRING: Final = 1
NEXT_KEY: Final = 2
FIRST_KEY: Final = 3
COLON: Final = 4
VALUE: Final = 5
FIRST_VALUE: Final = 6
# A value is read, or a bare word, which may be over with any character.
AFTER: Final = 7
BARE: Final = 8
GAP: Final = 9
CLOSER: Final = 10
OTHER_CLOSER: Final = 11
JOIN: Final = 12
DOUBLED: Final = 13
END: Final = 14
# From here on only the tolerances of a dialect lead in.
WORDS: Final = 15
QUOTED: Final = 16
KEY_QUOTED: Final = 17
TRIPLE: Final = 18
BARE_KEY: Final = 19
LINE_COMMENT: Final = 20
BLOCK_COMMENT: Final = 21
TEXT: Final = 22
DEAD: Final = 23
BUFFERED: Final = 24


class State(NamedTuple):
    """Name, meaning, what may come (for error texts), and the states that follow in RFC 8259 text."""

    name: str
    meaning: str
    expected: str
    next: tuple[int, ...] = ()


STATES: Final[dict[int, State]] = {
    STRING: State("STRING", "inside a value in double quotes", "the rest of the string and its quote", (AFTER, END)),
    KEY_STRING: State("KEY_STRING", "inside a key in double quotes", "the rest of the key and its quote", (COLON,)),
    BARE: State("BARE", "inside a number or literal", "the rest of a number or literal", (AFTER, END)),
    VALUE: State("VALUE", "a value is due", "a value", (STRING, BARE, FIRST_VALUE, FIRST_KEY)),
    FIRST_VALUE: State(
        "FIRST_VALUE", "an array was opened", "a value or ]", (STRING, BARE, FIRST_VALUE, FIRST_KEY, AFTER, END)
    ),
    NEXT_KEY: State("NEXT_KEY", "a comma in an object was read", "a key in double quotes", (KEY_STRING, COLON)),
    FIRST_KEY: State(
        "FIRST_KEY", "an object was opened", "a key in double quotes or }", (KEY_STRING, COLON, AFTER, END)
    ),
    COLON: State("COLON", "a key was read", "a colon", (VALUE,)),
    AFTER: State("AFTER", "a value was read", "a comma or the closing bracket", (NEXT_KEY, VALUE, AFTER, END)),
    GAP: State("GAP", "white space behind a bare word", "a comma or the closing bracket"),
    CLOSER: State("CLOSER", "the closing bracket was read while a quote is pending", "a comma or a closing bracket"),
    OTHER_CLOSER: State("OTHER_CLOSER", "one of the wrong kind was read there", "a comma or a closing bracket"),
    JOIN: State("JOIN", "a plus sign was read behind a string", "a string"),
    DOUBLED: State("DOUBLED", "the inner one of two closing braces was read", "the second brace"),
    END: State("END", "the document is closed", "the end of the text"),
    WORDS: State("WORDS", "inside an unquoted string", "the rest of an unquoted string"),
    QUOTED: State("QUOTED", "inside a value in other quotes", "the rest of the string and its quote"),
    KEY_QUOTED: State("KEY_QUOTED", "inside a key in other quotes", "the rest of the key and its quote"),
    TRIPLE: State("TRIPLE", "inside a value in three quotes", "the rest of the string and three quotes"),
    BARE_KEY: State("BARE_KEY", "inside an unquoted key", "the rest of the key and a colon"),
    LINE_COMMENT: State("LINE_COMMENT", "inside a comment up to the end of the line", "the end of the line"),
    BLOCK_COMMENT: State("BLOCK_COMMENT", "inside a comment up to */", "the end of the comment"),
    TEXT: State("TEXT", "inside an answer that is a string as it stands", "the end of the text"),
    DEAD: State("DEAD", "an error, or a fence that ended the document", "nothing"),
    BUFFERED: State("BUFFERED", "a few characters wait for the next ones", "more text"),
}
"""Every state. `BUFFERED` stands in front of another one while characters are held that cannot be decided yet."""
