"""PDFs of the proof documents and notes; the code that a document proves is listed from the sources."""

from __future__ import annotations

import atexit
import functools
import os
import re
import shutil
import subprocess
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

from ..errors import MissingExtraError, ProofError
from . import library
from .closures import CodeHash, code_hashes
from .regions import TAG, TAGS, first_region_line, read_region, region_tags

ROW = re.compile(r"\\coderow\{([^{}]*)\}\{([^{}]*)\}\{([^{}]*)\}\{([^{}]*)\}\{([^{}]*)\}\{([^{}]*)\}")
SEE = re.compile(r"\\see\{([^{}]*)\}")


@dataclass(frozen=True)
class NoteRow:
    """A row of a note's table: a claim in LaTeX, the statement of a document that proves it, and its code."""

    key: str
    claim: str
    document: str
    label: str
    region: str
    tags: tuple[str, ...]

    @property
    def code_hash(self) -> CodeHash:
        found = [pin for pin in code_hashes(self.document) if pin.region == self.region]
        if len(found) != 1:
            raise ProofError(f"{self.document}.tex must pin the region {self.region} once")
        return found[0]

    @property
    def code_location(self) -> str:
        """The file and the lines of the tags, or of the whole region if there are none: ``spaces/costs.py:44,68``."""
        lines = list(enumerate(read_region(self.code_hash.region).splitlines(), first_region_line(self.region)))
        tagged = [str(number) for number, line in lines if region_tags(line) & set(self.tags)]
        return f"{self.code_hash.source_file}:" + (",".join(tagged) or f"{lines[0][0]}-{lines[-1][0]}")


def parse_note_rows(name: str) -> list[NoteRow]:
    return [
        NoteRow(key, claim, document, label, held, tuple(tags.split()))
        for key, claim, document, label, held, tags in ROW.findall(library.document_text(name))
    ]


PACKAGES = "texlive-latex-extra lmodern"
_HEAD = "\\documentclass[11pt]{article}\n\\usepackage{preamble}\n"
_MOST = 6  # runs of LaTeX: labels settle after three, or never if six do not suffice
_CITED = re.compile(r"\\cite(?:\[[^]]*\])?\{([^}]*)\}")
_BIBLIOGRAPHY = re.compile(r"\\bibliographystyle(\{\w+\})\\bibliography(\{\w+\})")
_BROKEN = re.compile(
    r"^(?:LaTeX Warning: .*(?:undefined|multiply.defined).*"
    r"|Package (?:natbib|hyperref|cleveref) Warning: .*(?:undefined|referenced but does not exist).*"
    r"|pdfTeX warning \(dest\).*|Missing character: .*|! .*|l\.\d+ .*)$",
    re.MULTILINE,
)


def missing_tex_message() -> str:
    """Return what to install before a document can be built; the empty string if nothing is missing."""
    absent = [program for program in ("pdflatex", "bibtex") if shutil.which(program) is None]
    if not absent:
        return ""
    return f"building a proof requires {', '.join(absent)}: install the Debian packages {PACKAGES} or another TeX Live"


def build_pdf(name: str, folder: str | os.PathLike[str] = ".") -> Path:
    """Build the document or note ``name``; return the path of its PDF, ``core-chaining.pdf`` for ``core/chaining``."""
    pinned = code_hashes(name)
    if missing := missing_tex_message():
        raise MissingExtraError(missing)
    target = Path(folder) / f"{name.replace('/', '-')}.pdf"
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        room = Path(scratch)
        text = (library.documents_folder() / f"{name}.tex").read_text(encoding="utf-8")
        if not text.startswith(_HEAD):
            raise ProofError(f"proofs/{name}.tex must begin with {_HEAD!r}")
        (room / "document.tex").write_text(text.replace(_HEAD, "%\n%\n", 1), encoding="utf-8")
        for number, pin in enumerate(pinned, start=1):
            (room / f"pin-{number}.py").write_text(_escape_listing(read_region(pin.region)), encoding="ascii")
            (room / f"pin-{number}.tex").write_text(
                rf"\def\pinactual{{{pin.current_digest}}}\def\pinsource{{\detokenize{{{pin.source_file}}}}}\endinput",
                encoding="ascii",
            )
        (room / "regions.tex").write_text("".join(map(_row_location_macro, parse_note_rows(name))), encoding="ascii")
        _run_latex(name, room)
        shutil.copyfile(room / "document.pdf", target)
    return target


def _run_latex(name: str, room: Path) -> None:
    """Run pdfTeX in ``room``, after BibTeX if something is cited, until labels and citations no longer change.

    The first run only collects them and does not write a PDF.
    """
    style = (library.documents_folder() / "preamble.sty").read_text(encoding="utf-8")
    command = [f"-fmt={_dump_preloaded_format(style)}", "-halt-on-error"]
    done = _run_bibtex(room, style)
    if done is None or done.returncode == 0:
        done = _run_pdftex(room, "-draftmode", *command)
    for _ in range(_MOST):
        before = _read_auxiliary_files(room)
        if done.returncode == 0:
            done = _run_pdftex(room, *command)
        if done.returncode != 0 or _read_auxiliary_files(room) == before:
            break
    else:
        raise ProofError(f"proofs/{name}.tex does not build: its labels still change after {_MOST} runs")
    log = room / "document.log"
    report = log.read_text(encoding="latin-1") if log.is_file() else done.stdout
    found = _BROKEN.findall(report)
    if found or done.returncode != 0:
        raise ProofError(f"proofs/{name}.tex does not build: " + ("; ".join(found) or done.stdout[-800:]))


def _run_bibtex(room: Path, style: str) -> subprocess.CompletedProcess[str] | None:
    """Run BibTeX for the citations in the text, with the bibliography of ``style``; None if there are none."""
    cited = _CITED.findall((room / "document.tex").read_text(encoding="utf-8"))
    if not cited:
        return None
    ((named, file),) = _BIBLIOGRAPHY.findall(style)
    lines = [*(rf"\citation{{{keys}}}" for keys in cited), rf"\bibstyle{named}", rf"\bibdata{file}", ""]
    (room / "document.aux").write_text("\n".join(lines), encoding="utf-8")
    return _run_tex_command(room, "bibtex", "document")


@functools.cache
def _dump_preloaded_format(style: str) -> Path:
    """Return a LaTeX format that has loaded ``style``, which takes most of a run, and the head of every document."""
    room = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, room, ignore_errors=True)
    (room / "preamble.sty").write_text(style, encoding="utf-8")
    (room / "document.tex").write_text(_HEAD + "\\dump\n", encoding="utf-8")
    done = _run_pdftex(room, "-ini", "&pdflatex", jobname="preloaded")
    if done.returncode != 0:
        raise ProofError(f"proofs/preamble.sty cannot be loaded: {done.stdout[-800:]}")
    return room / "preloaded"


def _read_auxiliary_files(room: Path) -> str:
    """Return the labels, citations and bookmarks that the last run wrote."""
    names = ("document.aux", "document.out")
    return "".join((room / name).read_text(encoding="latin-1") for name in names if (room / name).is_file())


def _run_pdftex(room: Path, *options: str, jobname: str = "document") -> subprocess.CompletedProcess[str]:
    fixed = ("-no-shell-escape", "-interaction=nonstopmode", f"-jobname={jobname}")
    return _run_tex_command(room, "pdflatex", *fixed, *options, "document.tex")


def _run_tex_command(room: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run ``command`` in ``room``; the folder of the proofs is searched for inputs and for the bibliography."""
    search = f".{os.pathsep}{library.documents_folder()}{os.pathsep}"
    environment = os.environ | {
        "TEXINPUTS": search + os.environ.get("TEXINPUTS", ""),
        "BIBINPUTS": search + os.environ.get("BIBINPUTS", ""),
        "max_print_line": "10000",
    }
    return subprocess.run(
        command,
        cwd=room,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def _row_location_macro(row: NoteRow) -> str:
    return rf"\expandafter\def\csname region@{row.key}\endcsname{{\nolinkurl{{{row.code_location}}}}}" + "\n"


def _escape_listing(code: str) -> str:
    """Return ``code`` in ASCII: its tags and other characters become commands of preamble.sty."""
    inner = textwrap.dedent(code)
    tagged = TAGS.sub(lambda found: "# " + TAG.sub(r"(*@\\pintag{\1}@*)", found[1].strip()), inner)
    return "".join(c if c.isascii() else rf"(*@\pinchar{{{ord(c):04X}}}@*)" for c in tagged)
