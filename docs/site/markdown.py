"""The repository's Markdown as pages of the site: links that lead to pages, code that runs."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s#]*)(#[^()\s]*)?\)")
_HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_CELL = re.compile(r"^```python\n(?P<code>.*?)^```$(?:\n+```text[^\n]*\n.*?^```$)?", re.MULTILINE | re.DOTALL)
NOTEBOOK = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n---\n\n"

Target = Callable[[str, str], str | None]


def prose(text: str) -> Iterator[tuple[str, bool]]:
    """Pieces of a page, and whether each is prose; what is not is a block of code."""
    for place, piece in enumerate(_FENCE.split(text)):
        yield piece, place % 2 == 0


def headings(text: str) -> list[tuple[int, str]]:
    """Level and words of each."""
    return [(len(marks), words) for piece, plain in prose(text) if plain for marks, words in _HEADING.findall(piece)]


def linked(text: str, here: str, page: str, target: Target) -> str:
    """The text of the file ``here`` on ``page``: links to files lead to their pages, and those to no page are words.

    ``target`` gives the page (or asset) for a file of the repository and an anchor, with the anchor if it has one.
    """

    def relinked(found: re.Match[str]) -> str:
        image, words, path, anchor = found[1], found[2], found[3], (found[4] or "")[1:]
        if "://" in path or path.startswith("mailto:"):
            return found[0]
        file = posixpath.normpath(posixpath.join(posixpath.dirname(here), path)) if path else here
        led = target(file, anchor)
        if led is None:
            return words
        there, _, rest = led.partition("#")
        relative = posixpath.relpath(there, posixpath.dirname(page) or ".")
        return f"{image}[{words}]({relative}{'#' * bool(rest)}{rest})"

    return "".join(_LINK.sub(relinked, piece) if plain else piece for piece, plain in prose(text))


def notebook(text: str) -> str:
    """A page whose Python runs when the site is built; what it printed then stands in place of what was written."""
    under = {"": ""}

    def cell(found: re.Match[str]) -> str:
        above = [words for _, words in headings(text[: found.start()])]
        under[""] = above[-1].replace('"', "'") if above else "Output"
        options = f'---\nmystnb:\n  image:\n    alt: "{under[""]}"\n---\n'
        return f"```{{code-cell}} python3\n{options}{found['code']}```"

    return NOTEBOOK + _CELL.sub(cell, text)


def notebook_page(text: str) -> str:
    """Return the page of a Jupyter notebook: its text, its code, and what the cells printed when they were stored."""
    pieces = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        pieces.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        pieces += [f"```text\n{''.join(output['text'])}```" for output in cell.get("outputs", ())]
    return "\n\n".join(pieces) + "\n"


def docname(path: str) -> str:
    """Where the site has a Markdown file of the repository: docs/x.md as x, CONTRIBUTING.md as contributing."""
    pure = PurePosixPath(path)
    inner = pure.relative_to("docs") if pure.parts[0] == "docs" else PurePosixPath(pure.name.lower())
    return inner.with_suffix("").as_posix()
