"""24 frames that a table's engine may get wrong, each with the candidates to count in it."""

import random
from typing import Any

Rows = list[tuple[Any, Any]]

_draw = random.Random(12)
_INTEGERS: dict[str, Rows] = {
    "empty": [],
    "one row": [(1, 7)],
    "null users": [(None, 7), (None, 8)],
    "null items": [(1, None), (2, None)],
    "nulls": [(1, None), (None, 7), (None, None), (2, 7), (1, 7)],
    "duplicates": [(1, 7)] * 700 + [(2, 7), (1, 8)] * 50,
    "one huge user": [(5, item) for item in range(3000)] + [(6, 7), (7, 7)],
    "one huge item": [(user, 7) for user in range(3000)] + [(1, 8)],
    "ends of int64": [(u, i) for u in (-(2**63), 2**63 - 1, 0) for i in (-(2**63), 2**63 - 1, 7)],
    "negative": [(-u, -i) for u in range(20) for i in range(u)],
    "as strings no order": [(user, item) for user in range(12) for item in (9, 10, 100) if user % (item % 4 + 2)],
    "random integers": [(_draw.choice([None, *range(9)]), _draw.choice([None, *range(12)])) for _ in range(400)],
}
_STRINGS: dict[str, Rows] = {
    "empty strings": [("", "a"), ("", ""), ("u", "")],
    "no strings": [],
    "mixed case": [("u", "a"), ("U", "a"), ("u", "A"), ("v", "A"), ("V", "\u00e4"), ("v", "\u00c4")],
    "words for null": [
        (u, i) for u in ("null", "None", "nan", "NaN", None) for i in ("NULL", "None", "a", "nan", None)
    ],
    "spaces": [("u", "a"), ("u ", "a "), (" u", " a"), ("u\t", "a"), ("u\u00a0", "a")],
    "unicode": [("\u00e9", "\u00e9"), ("e\u0301", "e\u0301"), ("\U0001f600", "\U0001f600"), ("\uffee", "\U0001f600")],
    "numbers": [("7", "007"), ("07", "7"), ("7.0", "7"), ("1e1", "10"), ("10", "10")],
    "quotes": [("u'", "x'y"), ('u"', 'x"y'), ("u\\", "x\\y"), ("u`", "x`y"), ("u\n", "x\ny"), ("u,", "x,y")],
    "control": [("\x00", "\x00"), ("", "\x01"), ("\x01", "\x00"), ("\x7f", "\x7f")],
    "string duplicates": [("u", "a")] * 600 + [("v", "a"), ("u", "b")] * 40,
    "one huge string user": [("u", f"a{item}") for item in range(2500)] + [("v", "a7"), ("w", "a7")],
    "random strings": [(_draw.choice([None, *"uvwxyz"]), _draw.choice([None, *"abAB\u00e4"])) for _ in range(400)],
}
FRAMES: dict[str, tuple[Rows, bool]] = {name: (rows, True) for name, rows in _INTEGERS.items()} | {
    name: (rows, False) for name, rows in _STRINGS.items()
}


def columns(rows: Rows) -> dict[str, list[Any]]:
    return {"member": [row[0] for row in rows], "work": [row[1] for row in rows]}


def candidates(rows: Rows, integers: bool) -> list[Any]:
    """Half of the items that occur, and some that do not, in an order of their own."""
    found: list[Any] = sorted({item for _, item in rows if item is not None})[::2]
    others: list[Any] = [777_777, -1, 2**64 - 1] if integers else ["never", "A a", "\u00e4"]
    listed = list(dict.fromkeys(found + others))
    random.Random(len(rows)).shuffle(listed)
    return listed
