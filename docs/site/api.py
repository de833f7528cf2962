"""The API reference: every public name, from its docstring."""

from __future__ import annotations

import functools
import inspect
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import opendp_topk as tk
from opendp_topk import proof
from opendp_topk.apps.audit.registry import proofs as claims
from opendp_topk.core import public_names

_GROUPS = {
    "spaces": "Domains, metrics, measures and curves",
    "transformations": "Transformations",
    "measurements": "Measurements",
    "combinators": "Combinators",
    "core": "Measurements and searches",
    "ledger": "Ledger: tk.ledger",
    "planning": "Planning: tk.planning",
    "tables": "Files: tk.tables",
    "noise": "Noises: tk.noise",
    "audit": "Audit: tk.audit",
    "opendp": "OpenDP: tk.opendp",
    "errors": "Errors: tk.errors",
}
_HEADING = re.compile(r"^ *([A-Z][a-z]+(?: [a-z]+)*):$", re.MULTILINE)


def sections() -> list[str]:
    """The headings that docstrings have besides those that everybody knows."""
    folder = Path(tk.__file__).parent
    return sorted({one for file in folder.rglob("*.py") for one in _HEADING.findall(file.read_text("utf-8"))})


def pages() -> dict[str, list[str]]:
    """The names on each page: a constructor with its ``then_``, and other names by the page that their room has."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(public_names.HOMES):
        stem = name.removeprefix("then_") if name.startswith("then_") else name.removeprefix("make_")
        if f"make_{stem}" in public_names.HOMES and name != stem:
            found[f"make_{stem}"].append(f"opendp_topk.{name}")
        else:
            found[_room(name)].append(f"opendp_topk.{name}")
    for space in public_names.NAMESPACES:
        found[space] += [f"opendp_topk.{space}.{name}" for name in getattr(tk, space).__all__]
    return dict(found)


def _room(name: str) -> str:
    return public_names.HOMES[name].lstrip(".").split(".")[0]


def titles() -> list[str]:
    """The headings below which pages are listed, in their order."""
    return list(_GROUPS.values())


def group(page: str) -> str:
    """The heading below which a page is listed."""
    return _GROUPS[_room(page) if page.startswith("make_") else page]


def write(folder: Path, evidence: dict[str, str]) -> None:
    """A page for each constructor and each room, and the list of them; ``evidence`` ends the page of a constructor."""
    target = folder / "api"
    target.mkdir(parents=True, exist_ok=True)
    proofs = {one.constructor: one.document for one in claims()}
    groups: dict[str, list[str]] = defaultdict(list)
    for page, names in pages().items():
        groups[group(page)].append(page)
        (target / f"{page}.md").write_text(_page(page, names, proofs.get(page)) + evidence.get(page, ""), "utf-8")
    (target / "index.md").write_text(
        _index({name: groups[name] for name in titles() if groups[name]}), encoding="utf-8"
    )


def _page(page: str, names: list[str], document: str | None) -> str:
    heading = f"`{page}`" if page.startswith("make_") else _GROUPS.get(page, page.capitalize())
    return f"# {heading}\n\n{_proved(document) if document else ''}" + "\n".join(map(_entry, names))


def _proved(document: str) -> str:
    """Where the claim of a constructor is proved, and which documents carry its privacy."""
    carriers, others = proof.supporting_documents(document), proof.other_foundations(document)
    parts = [f"Proved in {_linked([document])}."]
    parts += [f"Its privacy relies on {len(carriers)} documents: {_linked(carriers)}."] * bool(carriers)
    parts += [
        f"Its output distribution, accuracy, success probability and batches also rely on {_linked(others)}."
    ] * bool(others)
    return "\n\n".join(parts) + "\n\n"


def _linked(documents: Iterable[str]) -> str:
    return ", ".join(f"[{name}](../proofs/{name}.md)" for name in documents)


def _value(name: str) -> Any:
    return functools.reduce(getattr, name.split(".")[1:], tk)


def _entry(name: str) -> str:
    value = _value(name)
    kind = "autoexception" if _is_error(value) else "autoclass" if isinstance(value, type) else "autofunction"
    options = "   :members:\n   :show-inheritance:\n" if isinstance(value, type) else ""
    return f"```{{eval-rst}}\n.. {kind}:: {name}\n{options}```\n"


def _is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def _index(groups: dict[str, list[str]]) -> str:
    """The list of all names but ``then_`` constructors, with a sentence each, in the order of the field."""
    text = "# API reference\n\nAll public names, from their docstrings. `import opendp_topk as tk`.\n"
    named = pages()
    for group, listed in groups.items():
        text += f"\n## {group}\n\n"
        text += "".join(_line(page, name) for page in listed for name in named[page] if ".then_" not in name)
        text += "\n```{toctree}\n:hidden:\n" + "\n".join(listed) + "\n```\n"
    return text


def _line(page: str, name: str) -> str:
    summary = " ".join((inspect.getdoc(_value(name)) or "").partition("\n\n")[0].split())
    sentence = re.split(r"(?<=[.])\s(?=[A-Z])", re.sub(r":\w+:(?=`)", "", summary).replace("``", "`"))[0]
    return f"- [`{name.removeprefix('opendp_topk.')}`]({page}.md): {sentence}\n"
