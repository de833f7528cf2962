"""The report as a folder of pages that any browser shows without a network."""

from __future__ import annotations

import importlib.metadata
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date
from pathlib import Path

from ....errors import ParameterError, ProofError, TableError, checks
from ....errors.files import write_atomically
from ....proof import latex
from ..registry import proofs
from ..report import FAILS, NOT_TESTED
from .claim import claim_page
from .document import document_page
from .index import index_page
from .page import Finding, ReportContent, collect_findings, load_documents

Progress = Callable[[str, int, int], None]
_JOBS = 2  # builds of LaTeX at a time: each uses a core


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

    Runtime:
        About two minutes, and twice as long with PDFs.
    """
    target = Path(folder)
    checks.require_positive_int("budget", budget)
    _require_empty_folder(target, force)
    claims = proofs(signoffs)
    known = load_documents()
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(_JOBS) as pool:
        wanted = known if pdf and not latex.missing_tex_message() else {}
        building = {name: pool.submit(latex.build_pdf, name, scratch) for name in wanted}
        try:
            found = collect_findings(budget, lambda done, total: progress("verifying", done, total))
            unbuilt = _wait_for_pdfs(building, progress)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        material = ReportContent(
            claims=tuple(claims),
            documents=known,
            findings=tuple(found),
            pdfs=frozenset(building.keys() - unbuilt.keys()),
            unbuilt=unbuilt,
            signed=signoffs is not None,
            budget=budget,
            version=importlib.metadata.version("opendp_topk"),
            date=(on or date.today()).isoformat(),
        )
        files: dict[str, bytes] = {name: text.encode() for name, text in render_pages(material).items()}
        for name in sorted(material.pdfs):
            stem = f"{name.replace('/', '-')}.pdf"
            files[f"pdf/{stem}"] = (Path(scratch) / stem).read_bytes()
    _write_files(target, files)
    return material


def render_pages(material: ReportContent) -> dict[str, str]:
    """Return every page by its path inside the folder."""
    made = {"index.html": index_page(material)}
    made |= {f"claims/{claim.constructor}.html": claim_page(claim, material) for claim in material.claims}
    return made | {
        f"documents/{one.name.replace('/', '-')}.html": document_page(one, material)
        for one in material.documents.values()
    }


def refuted_findings(material: ReportContent) -> list[Finding]:
    """Return the rows whose claim is refuted by a pair of neighbours."""
    return [one for one in material.findings if one.verdict == FAILS]


def untested_findings(material: ReportContent) -> list[Finding]:
    """Return the rows whose claim is not tested by any pair of neighbours."""
    return [one for one in material.findings if one.verdict == NOT_TESTED]


def _wait_for_pdfs(building: dict[str, Future[Path]], progress: Progress) -> dict[str, str]:
    """Wait for the PDFs; return those that did not build, and why."""
    failed = {}
    for done, (name, future) in enumerate(building.items(), start=1):
        try:
            future.result()
        except ProofError as error:
            failed[name] = str(error)
        progress("building PDFs", done, len(building))
    return failed


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
