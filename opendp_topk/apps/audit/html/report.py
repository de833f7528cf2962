"""The report as a folder of pages that any browser shows without a network."""

from __future__ import annotations

import importlib.metadata
import inspect
import os
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from ....errors import ParameterError, ProofError, TableError, checks
from ....errors.files import write_atomically
from ....proof import latex
from ..registry import Claim, proofs, tests_are_here
from ..report import FAILS, NOT_TESTED
from .documents import ProofDocument, load_documents
from .findings import NO_DISTRIBUTION, Finding, collect_findings
from .pages import render_page, template_environment

Progress = Callable[[str, int, int], None]
_JOBS = 2  # builds of LaTeX at a time: each uses a core


@dataclass(frozen=True)
class ReportContent:
    """The content of all pages; ``pdfs`` are built PDFs by document, ``unbuilt`` why the others did not build."""

    claims: tuple[Claim, ...]
    documents: dict[str, ProofDocument]
    findings: tuple[Finding, ...]
    signed: bool
    budget: int
    date: str
    pdfs: dict[str, bytes] = field(default_factory=dict)
    unbuilt: dict[str, str] = field(default_factory=dict)
    version: str = field(default_factory=lambda: importlib.metadata.version("opendp_topk"))
    tests_are_here: bool = field(default_factory=tests_are_here)

    @property
    def refuted(self) -> list[Finding]:
        """The rows whose claim is refuted by a pair of neighbours."""
        return [one for one in self.findings if one.verdict == FAILS]

    @property
    def verified_text(self) -> str:
        """Return how many maps were verified, and with which results."""
        maps = sum(one.verdict != NO_DISTRIBUTION for one in self.findings)
        untested = sum(one.verdict == NOT_TESTED for one in self.findings)
        return f"{maps} maps, of which {len(self.refuted)} fail and {untested} not tested"

    def stale_parts(self, names: Iterable[str]) -> list[tuple[str, str]]:
        """Return the stale parts of these documents: pairs of a document and a sentence."""
        known = self.documents
        return [(name, fault) for name in names if name in known for fault in known[name].stale_parts]


def write_report(
    folder: str | os.PathLike[str],
    *,
    signoffs: str | os.PathLike[str] | None = None,
    pdf: bool = False,
    force: bool = False,
    budget: int = 12,
    on: date | None = None,
    progress: Progress = lambda what, done, total: None,
) -> ReportContent:
    """Verify all shipped mechanisms, and write the foundations of every claim as pages, starting at ``index.html``.

    Args:
        folder: Created if it does not exist. Nothing is written before everything is computed.
        signoffs: A file of sign-offs. Default: None.
        pdf: Also build the documents as PDFs, if TeX is installed. The pages contain their LaTeX in any case.
            Default: False.
        force: Write into a folder that is not empty: files of the report are replaced, others are left as they are.
            Default: False.
        budget: The largest number of pairs of neighbours that the verifier tries for each row; the two likeliest are
            always tried. Default: 12.
        on: The date on the pages. Default: today. All else depends only on the installed versions.
        progress: Called with the current task, the number of its finished parts, and the number of all its parts.

    Returns:
        The content of the pages.

    Raises:
        ParameterError: The folder is not empty, and ``force`` is not given.
        TableError: ``signoffs`` cannot be read, or the folder cannot be written.
        MissingExtraError: Jinja2 is not installed.

    Runtime:
        About a minute, and a few more with PDFs.
    """
    target = Path(folder)
    checks.require_positive_int("budget", budget)
    _require_empty_folder(target, force)
    template_environment()  # raises before the verifier runs
    content = ReportContent(
        claims=tuple(proofs(signoffs)),
        documents=load_documents(),
        findings=tuple(collect_findings(budget, lambda done, total: progress("verifying", done, total))),
        signed=signoffs is not None,
        budget=budget,
        date=(on or date.today()).isoformat(),
    )
    if pdf and not latex.missing_tex_message():
        _build_pdfs(content, progress)
    files = {name: text.encode() for name, text in render_pages(content).items()}
    _write_files(target, files | {f"pdf/{page_stem(name)}.pdf": made for name, made in content.pdfs.items()})
    return content


def render_pages(content: ReportContent) -> dict[str, str]:
    """Return every page by its path inside the folder."""
    import opendp_topk

    same = {"content": content, "stem": page_stem}
    docs = {one.constructor: inspect.getdoc(getattr(opendp_topk, one.constructor)) or "" for one in content.claims}
    return (
        {"index.html": render_page("index.html", up="", docs=docs, **same)}
        | {
            f"claims/{one.constructor}.html": render_page(
                "claim.html", up="../", claim=one, doc=docs[one.constructor], **same
            )
            for one in content.claims
        }
        | {
            f"documents/{page_stem(one.name)}.html": render_page("document.html", up="../", document=one, **same)
            for one in content.documents.values()
        }
    )


def page_stem(name: str) -> str:
    """Return the name of a document's files without their endings."""
    return name.replace("/", "-")


def _build_pdfs(content: ReportContent, progress: Progress) -> None:
    """Build all documents; those that fail are listed with the reason."""

    def build(name: str) -> bytes | ProofError:
        try:
            return latex.build_pdf(name, scratch).read_bytes()
        except ProofError as error:
            return error

    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(_JOBS) as pool:
        for done, (name, made) in enumerate(
            zip(content.documents, pool.map(build, content.documents), strict=True), start=1
        ):
            if isinstance(made, bytes):
                content.pdfs[name] = made
            else:
                content.unbuilt[name] = str(made)
            progress("building PDFs", done, len(content.documents))


def _require_empty_folder(target: Path, force: bool) -> None:
    if target.exists() and not target.is_dir():
        raise ParameterError(f"target must be a folder, but {os.fspath(target)!r} is a file")
    if target.is_dir() and any(target.iterdir()) and not force:
        raise ParameterError(f"the folder {os.fspath(target)!r} is not empty: choose another, or add --force")


def _write_files(target: Path, files: dict[str, bytes]) -> None:
    reason = ""
    try:
        for name, content in files.items():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content, replace=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    if reason:
        raise TableError(f"the report could not be written to {os.fspath(target)!r}: {reason}")
