"""Pages of audits (Jinja2), which any browser shows without a network: of one audit, and the report as a folder."""

from __future__ import annotations

import importlib.metadata
import inspect
import math
import os
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from ....errors import ParameterError, ProofError, TableError, checks
from ....errors.extras import import_extra
from ....errors.files import write_atomically
from ....markup.pages import template_environment
from ....proof import latex
from ..audited import Audited
from ..registry import Claim, proofs, tests_are_here
from ..report import FAILS, NOT_TESTED
from .documents import ProofDocument, load_documents
from .findings import NO_DISTRIBUTION, Finding, collect_findings

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
        return [one for one in self.findings if one.verdict == FAILS]

    @property
    def verified_text(self) -> str:
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

    The options are those of ``opendp-topk audit --html``. Nothing is written before everything is computed. PDFs are
    built only if TeX is installed. ``on`` is the date on the pages, by default today; all else depends only on the
    installed versions. ``progress`` is called with the current task, and the numbers of its finished and of all parts.
    """
    target = Path(folder)
    checks.require_positive_int("budget", budget)
    _require_empty_folder(target, force)
    audit_templates()  # raises before the verifier runs
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
    claims = {one.constructor: one for one in content.claims}
    docs = {name: inspect.getdoc(getattr(opendp_topk, name)) or "" for name in claims}
    pages = {"index.html": render_page("index.html", up="", docs=docs, **same)}
    for name, doc in docs.items():
        pages[f"claims/{name}.html"] = render_page("claim.html", up="../", claim=claims[name], doc=doc, **same)
    for name, document in content.documents.items():
        page = render_page("document.html", up="../", document=document, **same)
        pages[f"documents/{page_stem(name)}.html"] = page
    return pages


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
        built = zip(content.documents, pool.map(build, content.documents), strict=True)
        for done, (name, made) in enumerate(built, start=1):
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
    try:
        for name, content in files.items():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content, replace=True)
        return
    except OSError as error:
        reason = error.strerror or type(error).__name__
    raise TableError(f"the report could not be written to {os.fspath(target)!r}: {reason}")


def render_audit(name: str, found: Audited, again: str | None = None) -> str:
    """Return the page of an audit of the function ``name`` by samples; ``again`` is the command that repeats it."""
    verdict, *facts = (line.split(": ", 1) for line in found.lines)
    outcomes = [
        (one.event.removeprefix("the release is "), (one.first, one.second), _log_ratio_text(one.first, one.second))
        for one in found.found.estimate.outcomes
    ]
    of = found.found.estimate.outcomes[0].of
    return render_page("audited.html", name=name, verdict=verdict, facts=facts, again=again, outcomes=outcomes, of=of)


def _log_ratio_text(first: int, second: int) -> str:
    if not first or not second:
        return "∞" if first else "-∞"
    return f"{math.log(first / second):.2f}"


def render_page(template: str, **values: Any) -> str:
    """Return a page; every value that is put into it is escaped."""
    return str(audit_templates().get_template(template).render(values))


def audit_templates() -> Any:
    """Return the environment of the templates. Raise MissingExtraError if Jinja2 is not installed."""
    import_extra("jinja2", "HTML pages of audits require jinja2", "opendp_topk[cli]")
    return template_environment(Path(__file__).with_name("templates"))
