"""The proofs as pages: formulas as MathML, code with its lines, and links from one to the other."""

from __future__ import annotations

import hashlib
import html
import posixpath
import re
import subprocess
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from opendp_topk import proof
from opendp_topk.apps.audit.html.documents import PinnedRegion, ProofDocument, load_documents
from opendp_topk.apps.audit.registry import proofs as registered
from opendp_topk.proof import claim_digest

from . import latex

_TAGS = re.compile(r"\[([a-z][a-z0-9-]*)\]")
_CODE = re.compile(r"\\code\{([^{}]*)\}")
_CLAIM = re.compile(r"^\\claim\{(.+)\}$", re.MULTILINE)


def page(name: str) -> str:
    """Where the site has a document."""
    return f"proofs/{name}"


def digest(name: str) -> str:
    """The digest of a document, as the record of a release has it."""
    return f"sha256:{hashlib.sha256((proof.documents_folder() / f'{name}.tex').read_bytes()).hexdigest()}"


def claim(name: str) -> str:
    """What a document proves, as Markdown."""
    found = _CLAIM.search(proof.document_text(name))
    return _CODE.sub(r"`\1`", found[1]) if found else ""


def write(folder: Path, pdfs: Iterable[str]) -> None:
    """A page for each document below ``folder``, and one that lists them; ``pdfs`` names those that are built."""
    known = load_documents()
    built = frozenset(pdfs)
    makers: dict[str, list[str]] = defaultdict(list)
    for one in registered():
        makers[one.document].append(one.constructor)
    with ThreadPoolExecutor() as pool:
        bodies = dict(zip(known, pool.map(converted, known), strict=True))
    for name, document in known.items():
        path = folder / f"{page(name)}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            _page(document, bodies[name], _facts(document, known, makers[name], name in built)), encoding="utf-8"
        )
    for name in proof.note_names():
        (folder / f"{page(name)}.md").write_text(_note(name, name in built), encoding="utf-8")
    (folder / "proofs" / "index.md").write_text(_index(known), encoding="utf-8")


def converted(name: str) -> str:
    """The text of a document as HTML.

    Raises:
        ValueError: pandoc does not understand something in it.
    """
    import pypandoc  # of the extra site: what else is here is tested without it

    def address(target: str, label: str) -> str:
        relative = posixpath.relpath(page(target), posixpath.dirname(page(name)))
        return f"{relative}.html" + f"#{label}" * bool(label)

    text = latex.notation((proof.documents_folder() / "preamble.sty").read_text("utf-8"))
    text += latex.prepared(proof.document_text(name), address)
    bibliography = f"--bibliography={proof.documents_folder() / 'references.bib'}"
    command = [pypandoc.get_pandoc_path(), "-f", "latex", "-t", "html", "--mathml", "--citeproc", "--wrap=none"]
    done = subprocess.run([*command, bibliography], input=text, capture_output=True, encoding="utf-8", check=True)
    if done.stderr:
        raise ValueError(f"proofs/{name}.tex: {done.stderr.strip()}")
    return re.sub(r'<annotation encoding="application/x-tex">.*?</annotation>', "", done.stdout, flags=re.DOTALL)


def _page(document: ProofDocument, body: str, facts: str) -> str:
    parts = [f"# {document.title}", f"*{claim(document.name)}.*", facts]
    for heading, inner in _sections(body):
        parts += [f"## {heading}"] * bool(heading)
        parts.append(_raw(_listed(_lowered(inner), document)))
    return "\n\n".join(parts) + "\n"


def _sections(body: str) -> Iterator[tuple[str, str]]:
    """The sections of a text with their headings; the heading of what stands before them is empty."""
    for piece in re.split(r"(?=<h1)", body):
        heading = re.match(r"<h1[^>]*>(.*?)</h1>", piece)
        yield (heading[1], piece[heading.end() :]) if heading else ("", piece)


def _note(name: str, pdf: bool) -> str:
    title = re.search(r"\\proofdocument\{[^{}]*\}\{(.*)\}$", proof.document_text(name), re.MULTILINE)
    shown = re.sub(r"\\texorpdfstring\{[^{}]*\}\{([^{}]*)\}", r"\1", title[1] if title else name)
    link = f"- **PDF**: [{name}.pdf](../pdf/{name}.pdf)" * pdf
    parts = [f"# {shown}", f"*{claim(name)}.*", link]
    for number, (heading, inner) in enumerate(_sections(converted(name))):
        parts += [f"## {number} {heading}"] * bool(heading)
        parts.append(_raw(_lowered(inner)))
    return "\n\n".join(parts) + "\n"


def _raw(text: str) -> str:
    return f'``````{{raw}} html\n<div class="proof-text">{text.strip()}</div>\n``````' if text.strip() else ""


def _lowered(text: str) -> str:
    """Headings inside of a section."""
    return re.sub(r"<(/?)h2", r"<\1h3", text)


def _listed(text: str, document: ProofDocument) -> str:
    for number, region in enumerate(document.regions, start=1):
        text = text.replace(f"<p>PINNED-{number}</p>", _listing(region))
    return text


def _listing(region: PinnedRegion) -> str:
    """A region with the numbers of its lines; a cited line has the name of its tag."""
    lines = textwrap.dedent(region.code).splitlines()
    coloured = highlight("\n".join(lines), PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)).splitlines()
    shown = []
    for number, (plain, line) in enumerate(zip(lines, coloured, strict=False), start=region.first_line):
        tags = _TAGS.findall(plain.partition("#")[2])
        names = "".join(f'<span id="tag-{tag}"></span>' for tag in tags)
        shown.append(f'<span class="line">{names}<span class="linenos">{number}</span>{line}\n</span>')
    last = region.first_line + len(lines) - 1
    file = html.escape(f"opendp_topk/{region.source}")
    head = (
        f"<p><code>{file}</code>, lines {region.first_line}–{last}, {'current' if region.is_current else 'stale'}</p>"
    )
    return f'{head}<div class="highlight"><pre class="pinned">{"".join(shown)}</pre></div>'


def _facts(document: ProofDocument, known: dict[str, ProofDocument], makers: list[str], pdf: bool) -> str:
    here = posixpath.dirname(page(document.name))
    relied = sorted({one.target for one in document.relies_on})
    users = [one.name for one in known.values() if any(r.target == document.name for r in one.relies_on)]
    rows = [
        ("state", f"{document.status}; `proofs/{document.name}.tex`"),
        ("in records", f"document `{digest(document.name)}`, claim `{claim_digest(document.name)}`"),
        ("proves", ", ".join(f"[`{one}`]({posixpath.relpath(f'api/{one}', here)}.md)" for one in makers)),
        ("relies on", _links(relied, here)),
        ("relied on by", _links(users, here)),
        ("PDF", f"[{document.name.replace('/', '-')}.pdf]({posixpath.relpath('pdf', here)}/"
                f"{document.name.replace('/', '-')}.pdf)" if pdf else ""),
    ]  # fmt: skip
    return "\n".join(f"- **{key}**: {value}" for key, value in rows if value)


def _links(names: Iterable[str], here: str) -> str:
    return ", ".join(f"[{name}]({posixpath.relpath(page(name), here)}.md)" for name in names)


def _index(known: dict[str, ProofDocument]) -> str:
    rows = [f"| [{one.title}]({name}.md) | {claim(name)} | {one.status} |" for name, one in known.items()]
    listed = "\n".join([*proof.note_names(), *known])
    begin = " ".join(f"[Where to begin]({name}.md): {claim(name)}." for name in proof.note_names())
    return (
        "# Proofs\n\nEvery claim of privacy, exactness and accuracy, with the lines of code of which it speaks. A "
        "proof is current while these lines, and all on which it relies, are what they were when it was written.\n\n"
        f"{begin}\n\n"
        "| document | claim | state |\n|---|---|---|\n"
        + "\n".join(rows)
        + f"\n\n```{{toctree}}\n:hidden:\n{listed}\n```\n"
    )
