"""What is public: names, signatures, sections of docstrings, fields, and which error is a kind of which."""

import inspect
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from ..case import Case, named
from ..names import tk
from ..shown import signature, text

_SECTION = re.compile(r"^([A-Z][a-z]+(?: [a-z]+)?):", re.MULTILINE)


def cases() -> Iterator[Case]:
    yield "names", lambda: " ".join(sorted(tk.all()))
    for name, found in tk.all().items():
        yield named("signature", name), partial(signature, found)
        yield named("sections", name), partial(_sections, found)
        if inspect.isclass(found):
            yield named("members", name), partial(_members, found)
            for member in _members(found):
                one = getattr(found, member, None)
                if callable(one) and not issubclass(found, Exception):
                    yield named("signature", f"{name}.{member}"), partial(signature, one)
            if issubclass(found, Exception):
                yield named("kinds", name), lambda found=found: [kind.__name__ for kind in found.__mro__]
                yield named("said", name), lambda found=found: _first_line(found)
        elif callable(found):
            yield named("said", name), lambda found=found: _first_line(found)


def _sections(found: Any) -> list[str]:
    return _SECTION.findall(inspect.getdoc(found) or "")


def _first_line(found: Any) -> str:
    return text((inspect.getdoc(found) or "").split("\n")[0])


def _members(found: Any) -> list[str]:
    """Public members, but for those of the built-in classes."""
    common = {name for kind in (list, tuple, Exception, OSError) for name in dir(kind)}
    own = {name for name in dir(found) if not name.startswith("_")} | set(getattr(found, "__dataclass_fields__", {}))
    return sorted(own - common | set(getattr(found, "_fields", ())))
