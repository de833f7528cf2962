"""Running the command as another process, and reading what it prints."""

import copy
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

COMMAND = [sys.executable, "-m", "opendp_topk.apps.cli"]
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Result:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def flat(self) -> str:
        """Standard output with all white space as single blanks, so that line breaks do not matter."""
        return " ".join(self.out.split())

    def field(self, name: str) -> str:
        """The value of a row such as ``scale  5.0``."""
        lines = self.out.splitlines()
        start = next(at for at, line in enumerate(lines) if line.startswith(name + " "))
        value = [lines[start][len(name) :]]
        for line in lines[start + 1 :]:
            if not line.startswith("  "):
                break
            value.append(line)
        return " ".join(" ".join(value).split())

    def complains(self, code: int, *fragments: str) -> None:
        """One line on standard error, nothing on standard output, and this exit code."""
        assert (self.code, self.out) == (code, ""), self
        assert self.err.startswith("opendp-topk: ")
        assert self.err.count("\n") == 1
        assert self.err.endswith("\n")
        for fragment in fragments:
            assert fragment in self.err, self.err


def spawn(*arguments: object, **environment: str) -> Result:
    """Run the command as a process of its own, without a terminal."""
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    options: Any = {"stdin": subprocess.DEVNULL, "capture_output": True, "encoding": "utf-8", "timeout": 120}
    done = subprocess.run([*COMMAND, *map(str, arguments)], env={**plain, **environment}, **options)
    return Result(done.returncode, done.stdout, done.stderr)


def argv(text: str) -> list[str]:
    """The arguments of a command line."""
    return text.split()


def numbers(text: str) -> set[str]:
    """Every number that a text shows."""
    return set(_NUMBER.findall(text))


def record_of(text: str) -> dict[str, Any]:
    """A record; a number that JSON does not know, such as NaN, is refused."""

    def refuse(constant: str) -> Any:
        raise AssertionError(f"{constant} is not JSON")

    parsed = json.loads(text, parse_constant=refuse)
    assert isinstance(parsed, dict)
    return parsed


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a record."""
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


def edited(record: Any, path: tuple[Any, ...], value: Any, *, removed: bool = False) -> Any:
    """A copy of ``record`` with another value at ``path``, names and places from the outermost, or with none there."""
    if not path:
        return value
    found = copy.deepcopy(record)
    place = found
    for name in path[:-1]:
        place = place[name]
    if removed:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return found
