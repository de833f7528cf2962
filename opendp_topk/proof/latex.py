"""PDFs of the proof documents, with the code that they pin listed from the installed source, and of the notes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import textwrap
from pathlib import Path

from .. import proof
from ..errors import MissingExtraError, ProofError
from .note_rows import Row, rows
from .regions import TAG, TAGS

PACKAGES = "texlive-latex-extra latexmk lmodern"
_BROKEN = re.compile(
    r"^(?:LaTeX Warning: .*(?:undefined|multiply.defined).*"
    r"|Package (?:natbib|hyperref|cleveref) Warning: .*(?:undefined|referenced but does not exist).*"
    r"|pdfTeX warning \(dest\).*|Missing character: .*|! .*|l\.\d+ .*)$",
    re.MULTILINE,
)


def tex_is_missing() -> str:
    """What to install before a document can be built; the empty string where nothing is missing."""
    absent = [program for program in ("pdflatex", "latexmk", "bibtex") if shutil.which(program) is None]
    if not absent:
        return ""
    return f"building a proof needs {', '.join(absent)}: install the Debian packages {PACKAGES} or another TeX Live"


def build(name: str, folder: str | os.PathLike[str] = ".") -> Path:
    """Build the document or note ``name`` as a PDF.

    Args:
        name: The document or note below ``proofs/`` without its ending, such as ``core/chaining``.
        folder: Where the PDF is written; made if it does not exist.

    Returns:
        The path of the PDF, ``core-chaining.pdf`` for ``core/chaining``.

    Raises:
        ProofError: There is no such document, a region that it pins is missing, or LaTeX reports an error, an
            undefined reference or an undefined citation.
        MissingExtraError: TeX is not installed; the message names the packages.

    Runtime: two or three seconds.
    """
    pinned = proof.pins(name)
    missing = tex_is_missing()
    if missing:
        raise MissingExtraError(missing)
    target = Path(folder) / f"{name.replace('/', '-')}.pdf"
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        room = Path(scratch)
        (room / "document.tex").write_bytes((proof.folder() / f"{name}.tex").read_bytes())
        for number, pin in enumerate(pinned, start=1):
            (room / f"pin-{number}.py").write_text(_listing(proof.region(pin.region)), encoding="ascii")
            (room / f"pin-{number}.tex").write_text(
                rf"\def\pinactual{{{pin.actual}}}\def\pinsource{{\detokenize{{{pin.source}}}}}\endinput",
                encoding="ascii",
            )
        (room / "regions.tex").write_text("".join(map(_place, rows(name))), encoding="ascii")
        _run_latex(name, room)
        shutil.copyfile(room / "document.pdf", target)
    return target


def _run_latex(name: str, room: Path) -> None:
    """Run latexmk in ``room``; the proofs' folder is searched for the style and the bibliography."""
    search = f".{os.pathsep}{proof.folder()}{os.pathsep}"
    environment = os.environ | {
        "TEXINPUTS": search + os.environ.get("TEXINPUTS", ""),
        "BIBINPUTS": search + os.environ.get("BIBINPUTS", ""),
        "max_print_line": "10000",
    }
    command = ["latexmk", "-norc", "-pdf", "-silent", "-pdflatex=pdflatex -no-shell-escape %O %S"]
    command += ["-interaction=nonstopmode", "-halt-on-error", "document.tex"]
    done = subprocess.run(
        command, cwd=room, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
    )
    log = room / "document.log"
    report = log.read_text(encoding="latin-1") if log.is_file() else done.stdout + done.stderr
    found = _BROKEN.findall(report)
    if found or done.returncode != 0:
        raise ProofError(
            f"proofs/{name}.tex does not build: " + ("; ".join(found) or (done.stdout + done.stderr)[-800:])
        )


def _place(row: Row) -> str:
    """Where the code of a note's row is, for its table."""
    return rf"\expandafter\def\csname region@{row.key}\endcsname{{\nolinkurl{{{row.place}}}}}" + "\n"


def _listing(code: str) -> str:
    """``code`` in ASCII, with its tags and its characters beyond ASCII as commands of preamble.sty."""
    inner = textwrap.dedent(code)
    tagged = TAGS.sub(lambda found: "# " + TAG.sub(r"(*@\\pintag{\1}@*)", found[1].strip()), inner)
    return "".join(c if c.isascii() else rf"(*@\pinchar{{{ord(c):04X}}}@*)" for c in tagged)
