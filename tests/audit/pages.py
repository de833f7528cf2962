"""Reading pages without a browser: elements, links, headings, tables."""

import functools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

_VOID = {"br", "input", "meta", "wbr"}


@dataclass
class Element:
    """An element with its attributes and what stands in it."""

    name: str
    attributes: dict[str, str]
    children: "list[Element | str]" = field(default_factory=list)

    def __iter__(self) -> "Iterator[Element]":
        waiting = [self]
        while waiting:
            yield (one := waiting.pop())
            waiting.extend(child for child in reversed(one.children) if isinstance(child, Element))

    @property
    def text(self) -> str:
        """All text in it."""
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self, *names: str) -> "list[Element]":
        """The elements in it with one of these names."""
        return [one for one in self if one.name in names]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, {key: value or "" for key, value in attrs})
        self.open[-1].children.append(made)
        if tag not in _VOID:
            self.open.append(made)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, f"<{self.open[-1].name}> ends with </{tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read(text: str) -> Element:
    """The elements of a page, all of which must be closed."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == [reader.root], f"{[one.name for one in reader.open[1:]]} stay open"
    return reader.root


def broken_links(folder: Path) -> list[str]:
    """Links of the pages in ``folder`` that lead nowhere, or away from it."""
    folder = folder.resolve()
    roots = {path: read(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    marks = {at: Counter(one.attributes["id"] for one in root if "id" in one.attributes) for at, root in roots.items()}
    found = [f"{path.name} has two elements #{m}" for path, all_ in marks.items() for m, n in all_.items() if n > 1]

    @functools.cache
    def led_to(place: Path, address: str) -> Path | None:
        target = (place / unquote(address)).resolve()
        return target if target.is_file() and folder in target.parents else None

    for path, root in roots.items():
        for element in root:
            for key in ("href", "src", "xlink:href", "action", "poster", "data"):
                if key not in element.attributes:
                    continue
                address, mark = urldefrag(element.attributes[key])
                target = led_to(path.parent, address) if address else path
                if target is None:
                    found.append(f"{path.name} leads to {element.attributes[key]}")
                elif mark and mark not in marks.get(target, ()):
                    found.append(f"{path.name} leads to {element.attributes[key]}, which has no such mark")
    return found
