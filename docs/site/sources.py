"""The sources of the site: Markdown of the repository rewritten, and pages made from the package."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from opendp_topk import proof
from opendp_topk.apps.audit.registry import proofs as claims

from . import api, markdown, proofs
from . import audit as audit_pages

_ASSETS = (".png", ".svg", ".csv", ".json")
_USE = (
    "tutorials",
    "notebooks",
    "howto",
    "explanation",
    "reference",
    "gallery",
)  # folders of pages, in the order of the list
_RUN = ("tutorials/", "gallery/", "howto/")  # whose pages run
_STILL = ("howto/opendp", "howto/coming_from", "tutorials/airports", "tutorials/tuning")  # they need more than the site
_TITLES = {"howto": "How to"}
_PAPERS = ("CONTRIBUTING.md", "SECURITY.md")
_ORDER = {
    "explanation": ("neighbours", "measures", "composition"),
    "howto": (
        *(
            "analyst",
            "officer",
            "engineer",
            "researcher",
            "choose",
            "accuracy",
            "tables",
            "counts",
            "unlisted",
            "several",
            "groups",
            "coverage",
            "deadline",
            "ledger",
            "ledger_storage",
        ),
        *("command", "cheat_sheet", "own_parts", "parts_and_spark", "coming_from", "opendp", "audit"),
    ),
    "reference": ("command", "names", "../api/index"),
}  # what is read first; pages that are not listed come last
_WORDS = ("glossary",)
_EVIDENCE = (
    *("experiments", "benchmarks", "tightness", "audited", "machine_checked", "checked_race", "mutation"),
    *("threat_model", "assumptions", "timing", "nist_hazards"),
)


def write(room: Path, root: Path, pdf: bool = False, audit: bool = True) -> None:
    """All sources below ``room``; with ``audit``, the verifier runs for a page of its findings."""
    for folder in ("_static", "extra"):
        (room / folder).mkdir(parents=True, exist_ok=True)
    (room / "repository").symlink_to(root, target_is_directory=True)
    shutil.copyfile(root / "docs" / "site" / "conf.py", room / "conf.py")
    for name in ("site.css", "copy.js"):
        shutil.copyfile(root / "docs" / "site" / name, room / "_static" / name)
    pages = _pages(root)
    for file, name in pages.items():
        _copy(root, room, file, name, pages)
    for asset in _assets(root):
        target = room / Path(asset).relative_to("docs")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / asset, target)
    built = _pdfs(room / "extra" / "pdf") if pdf else []
    proofs.write(room, built)
    known, found = claims(), audit_pages.findings() if audit else []
    api.write(room, {one.constructor: audit_pages.evidence(one, found) for one in known if audit})
    _folders(room, pages)
    if audit:
        (room / "audit_report.md").write_text(audit_pages.report(known, found), encoding="utf-8")
    _landing(root, room, pages, ["audit_report"] * audit)


def _pages(root: Path) -> dict[str, str]:
    """The page of each notebook and Markdown file but the README, which is the landing page."""
    found = [path for ending in ("md", "ipynb") for path in sorted((root / "docs").rglob(f"*.{ending}"))]
    files = [*_PAPERS, *(path.relative_to(root).as_posix() for path in found)]
    return {file: markdown.docname(file) for file in files}


def _assets(root: Path) -> list[str]:
    folder = root / "docs"
    return [path.relative_to(root).as_posix() for path in sorted(folder.rglob("*")) if path.suffix in _ASSETS]


def _target(root: Path, pages: dict[str, str]) -> markdown.Target:
    assets = set(_assets(root))

    def target(file: str, anchor: str) -> str | None:
        ending = f"#{anchor}" if anchor else ""
        if file in pages:
            return f"{pages[file]}.md{ending}"
        if file in assets:
            return file.removeprefix("docs/")
        if file == "README.md":
            return "index.md"
        name = file.removeprefix("proofs/").removesuffix(".tex")
        return "proofs/index.md" if file == "proofs/README.md" else (
            f"proofs/{name}.md" if name in proof.document_names() + proof.note_names() else None
        )  # fmt: skip

    return target


def _copy(root: Path, room: Path, file: str, name: str, pages: dict[str, str]) -> None:
    text = (root / file).read_text("utf-8")
    text = markdown.notebook_page(text) if file.endswith(".ipynb") else text
    text = markdown.linked(text, file, name, _target(root, pages))
    path = room / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    runs = name.startswith(_RUN) and name not in _STILL
    path.write_text(markdown.notebook(text) if runs else text, encoding="utf-8")


def _pdfs(folder: Path) -> list[str]:
    from opendp_topk.proof.latex import build_pdf

    built = proof.document_names() + proof.note_names()
    for name in built:
        build_pdf(name, folder)
    return built


def _folders(room: Path, pages: dict[str, str]) -> None:
    """A page for each folder of pages that has none of its own."""
    for folder in {Path(name).parent.as_posix() for name in pages.values()} - {"."}:
        index = room / folder / "index.md"
        if not index.exists():
            here = {Path(name).name for name in pages.values() if Path(name).parent.as_posix() == folder}
            order = _ORDER.get(folder, ())
            listed = [*order, *sorted(here - set(order))]
            index.write_text(f"# {_TITLES.get(folder, folder.capitalize())}\n\n{_tree(listed)}", encoding="utf-8")


def _tree(names: Iterable[str], hidden: str = "", caption: str = "") -> str:
    options = f":caption: {caption}\n" * bool(caption) + f"{hidden}\n" * bool(hidden)
    return f"```{{toctree}}\n:maxdepth: 1\n{options}" + "\n".join(names) + "\n```\n"


def _landing(root: Path, room: Path, pages: dict[str, str], audit: list[str]) -> None:
    """The README up to what it lists to read on; in its place stand the lists that the pages make."""
    text = (root / "README.md").read_text("utf-8").partition("\n## Read on")[0]
    text = markdown.linked(text, "README.md", "index", _target(root, pages))
    folders = sorted({Path(name).parts[0] for name in pages.values() if "/" in name}, key=_USE.index)
    single = [name for name in pages.values() if "/" not in name]
    evidence, use = ([name for name in listed if name in single] for listed in (_EVIDENCE, _WORDS))
    trees = [
        _tree([*(f"{one}/index" for one in folders), *use], ":hidden:", "Use"),
        _tree(["proofs/index", *audit, *evidence], ":hidden:", "Evidence"),
        _tree([name for name in single if name not in (*evidence, *use)], ":hidden:", "Project"),
    ]
    (room / "index.md").write_text(text + "\n\n" + "\n".join(trees), encoding="utf-8")
