"""The documents and their deltas: generated, the same on every machine."""

from __future__ import annotations

import json
import random
import string

DELTA_SIZES = (2, 3, 4, 4, 4, 5, 5, 6)  # characters: tokens of JSON text are about 4 long
SEED = 7


def words(rng: random.Random, count: int) -> str:
    return " ".join("".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 9))) for _ in range(count))


def deltas(text: str, seed: int = 3) -> list[str]:
    """The text in pieces of about 4 characters."""
    rng = random.Random(seed)
    out: list[str] = []
    at = 0
    while at < len(text):
        size = rng.choice(DELTA_SIZES)
        out.append(text[at : at + size])
        at += size
    return out


def flat(size: int) -> str:
    """A flat object: sentences and numbers."""
    rng = random.Random(SEED)
    value: dict[str, object] = {}
    while len(json.dumps(value)) < size:
        i = len(value)
        value[f"field_{i}"] = rng.randint(0, 9999) if i % 3 == 0 else words(rng, 5)
    return json.dumps(value)


def nested(size: int) -> str:
    """An object with a list of objects that hold long strings, short lists and numbers."""
    rng = random.Random(SEED)
    items: list[object] = []
    used = 60
    while used < size:
        i = len(items)
        item = {
            "id": i,
            "name": words(rng, 2),
            "text": words(rng, 18),
            "tags": [words(rng, 1) for _ in range(3)],
            "score": round(rng.random(), 3),
        }
        used += len(json.dumps(item)) + 2
        items.append(item)
    return json.dumps({"title": words(rng, 6), "items": items})


def table(size: int) -> str:
    """An object of small objects: numbers, booleans, short strings."""
    rng = random.Random(SEED)
    value: dict[str, object] = {}
    used = 2
    while used < size:
        i = len(value)
        value[f"row_{i}"] = {
            "id": i,
            "name": words(rng, 3),
            "note": words(rng, 6),
            "ok": bool(i % 2),
            "value": rng.random(),
        }
        used += len(json.dumps(value[f"row_{i}"])) + 12
    return json.dumps(value)


def records(size: int) -> str:
    """An array of small records."""
    rng = random.Random(SEED)
    value: list[object] = []
    used = 2
    while used < size:
        i = len(value)
        record = {
            "id": i,
            "name": words(rng, 2),
            "email": f"user{i}@example.org",
            "age": rng.randint(1, 99),
            "active": bool(i % 2),
            "score": round(rng.random(), 4),
        }
        used += len(json.dumps(record)) + 2
        value.append(record)
    return json.dumps(value)


def deep(depth: int) -> str:
    """`depth` containers inside one another, objects and arrays in turn, with a number beside each."""
    pairs = depth // 2
    return '{"id": 17, "children": [' * pairs + "1" + "]}" * pairs


def one_string(size: int) -> str:
    """An object with one long string."""
    rng = random.Random(SEED)
    text = words(rng, size // 6)[: size - 10]
    return json.dumps({"text": text})


def documents() -> dict[str, str]:
    """name -> text: what the tables name."""
    return {
        "obj500": flat(490),
        "nested4k": nested(4_450),
        "obj64k": table(66_000),
        "arr1m": records(1_000_000),
        "deep500": deep(500),
        "str256k": one_string(262_144),
    }


def quoted(size: int) -> str:
    """Files of source code: line ends, quotes, tabs, backslashes, and `\\u` for what is not ASCII in some lines."""
    rng = random.Random(SEED)
    value: list[object] = []
    used = 2
    while used < size:
        lines = [f'\t{words(rng, 1)}("{words(rng, 2)}", r"C:\\{words(rng, 1)}")\n' for _ in range(7)]
        value.append({"path": words(rng, 1), "code": "".join(("# é → \U0001f600\n", *lines, "# Größe\n"))})
        used += len(json.dumps(value[-1])) + 2
    return json.dumps(value)


def international(size: int) -> str:
    """Records of text in other scripts, not escaped."""
    rng = random.Random(SEED)
    scripts = ((0x400, 0x44F), (0x4E00, 0x9FA5), (0x61, 0x7A))  # Cyrillic, Chinese, Latin
    value: list[object] = []
    used = 2
    while used < size:
        text = "".join(chr(rng.randint(*rng.choice(scripts))) for _ in range(40))
        value.append({"id": len(value), "имя": text, "emoji": "🙂"})
        used += len(json.dumps(value[-1], ensure_ascii=False)) + 2
    return json.dumps(value, ensure_ascii=False)


def shapes() -> dict[str, str]:
    """name -> text: what else a text can be like, 64 KB each."""
    return {
        "pretty": json.dumps(json.loads(table(48_000)), indent=2),
        "escaped": quoted(66_000),
        "international": international(66_000),
    }


def prose(size: int) -> str:
    """Text without any document: it has to be read to its end."""
    rng = random.Random(SEED)
    return ". ".join(words(rng, 12).capitalize() for _ in range(size // 80))[:size]


def open_fence(size: int) -> str:
    """A document in a fence that is never closed, with prose behind it."""
    return '```json\n{"key": 1}\n' + prose(size - 20)


def noise(size: int) -> str:
    """Braces and brackets that open nothing."""
    rng = random.Random(SEED)
    return "".join(rng.choices(("{ ", "{x, y} ", "[1] ", "{ {", "} ", "it's ", "{name} "), k=size // 3))[:size]


AROUND = {"prose without a document": prose, "a fence that never closes": open_fence, "noise of braces": noise}
AROUND_SIZES = (4_000, 32_000, 256_000, 1_000_000)
RECORD_SIZES = (500, 4_000, 32_000, 256_000, 1_000_000)
STRING_SIZES = (500, 4_000, 32_000, 256_000, 1_000_000)
DEPTHS = (16, 62, 250, 900)
