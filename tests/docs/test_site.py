"""The site: what is made of Markdown, LaTeX and docstrings, and the whole of it in a real browser.

The tests of the whole use the folder that ``OPENDP_TOPK_SITE`` names, or build one without the audit report.
"""

import functools
import hashlib
import html
import importlib.util
import json
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

import opendp_topk as tk
from docs.site import finish, latex, markdown, sources
from opendp_topk import proof
from opendp_topk.apps.audit.registry import proofs as claims
from opendp_topk.core.public_names import NAMESPACES
from opendp_topk.proof import claim_digest
from opendp_topk.proof.latex import parse_note_rows

from ..audit.browser import run

ROOT = Path(__file__).resolve().parents[2]
WIDTHS, THEMES = (390, 1280), ("light", "dark")
# One page of each kind; what all pages share is the same on these.
GUIDES = "explanation/measures", "howto/analyst", "tutorials/budget", "gallery/release", "tightness", "experiments"
REFERENCE = "api/index", "api/make_report_noisy_top_k", "proofs/index", "proofs/distributions/joint"
KINDS = "index", *GUIDES, *REFERENCE, "search", "genindex"


def test_the_lists_of_the_site_name_pages_that_exist() -> None:
    pages = set(sources._pages(ROOT).values())
    listed = {f"{folder}/{name}" for folder, names in sources._ORDER.items() for name in names if "/" not in name}
    assert listed | set(sources._STILL) | set(sources._WORDS) | set(sources._EVIDENCE) <= pages


def test_links_lead_to_pages_and_code_is_left_alone() -> None:
    known = {"docs/a.md": "a.md", "docs/b/c.md": "b/c.md#x"}
    text = "[one](../a.md), [gone](../../pyproject.toml), [out](https://a.b/c.md)\n```python\n[x](../a.md)\n```\n"
    made = markdown.linked(text, "docs/b/c.md", "b/c", lambda file, anchor: known.get(file))
    assert made == "[one](../a.md), gone, [out](https://a.b/c.md)\n```python\n[x](../a.md)\n```\n"


def test_a_notebook_drops_what_was_printed() -> None:
    made = markdown.notebook('# Title\n\n## It "works"\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\nend\n')
    assert made.startswith(markdown.NOTEBOOK)
    assert made.count("{code-cell}") == 1
    assert """alt: "It 'works'\"""" in made
    assert "```text" not in made
    assert made.endswith("end\n")


def test_latex_has_numbers_names_and_links() -> None:
    source = r"""\begin{document}
\proofdocument{a/b}{A \emph{title}}
\claim{It holds}
\begin{enumerate}[label=(\roman*)]\item\label{h} first \item second\end{enumerate}
\begin{lemma}\label{l}x\end{lemma}\begin{theorem}[T]\label{t}by \Cref{l,h} and \eqref{e}\end{theorem}
\begin{equation}\label{e}\code{a_b}=1\end{equation}
\checked{t}{File.a_theorem}{0}{in part}
\pin{r}{0}\relieson[m]{c/d} \codetag{line}
See \see{row}.
\coderow{other}{o}{c/d}{l}{r}{}
\coderow{row}{what $x$}{c/d}{m}{a_region}{one two}
\end{document}"""
    made = latex.prepared(source, lambda document, label: f"{document}.html#{label}")
    assert r"\hyperlink{l}{Lemma 1} and \hyperlink{h}{(i)} and \hyperlink{e}{(1)}" in made
    assert r"\item[{\hypertarget{h}{(i)}}]" in made
    assert r"\texttt{a\_b}=1\qquad\text{(1)}" in made
    assert r"\href{c/d.html#m}{c/d, m}" in made
    assert r"\href{#tag-line}{\texttt{[line]}}" in made
    assert r"Checked by machine: \texttt{File.a\_theorem} (in part)." in made
    assert "PINNED-1" in made
    assert r"See \hyperlink{code-row}{[C2]}." in made
    assert r"\hypertarget{code-row}{C2} & what $x$ & \href{c/d.html#m}{c/d, m} & \texttt{a\_region}" in made
    assert r"\href{c/d.html#tag-one}{\texttt{[one]}} \href{c/d.html#tag-two}{\texttt{[two]}} \\" in made
    assert "proofdocument" not in made


def test_what_scrolls_can_be_reached_by_keyboard() -> None:
    made = finish.page('<pre>x</pre><div class="table-wrapper docutils"><p class="caption" role="heading">')
    assert made.count('tabindex="0"') == 2
    assert 'aria-level="2"' in made
    assert finish.page(made) == made


class _Page(HTMLParser):
    """The names, the links, and all that a browser loads by itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.names |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in ("script", "img", "iframe", "source") and "src" in given:
            self.loaded.append(given["src"])
        if tag == "link" and given.get("rel") not in ("canonical", "prev", "next", "index", "search"):
            self.loaded.append(given.get("href", ""))


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = os.environ.get("OPENDP_TOPK_SITE")
    if given:
        return Path(given).resolve()
    for module in ("sphinx", "furo", "myst_nb", "pypandoc", "matplotlib"):
        pytest.importorskip(module, reason="the site comes with the extra site")
    made = tmp_path_factory.mktemp("site") / "pages"
    command = [sys.executable, "-m", "docs.site", str(made), "--without-audit"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return made


def pages_of(site: Path) -> dict[str, _Page]:
    return _read(site)


@functools.cache
def _read(site: Path) -> dict[str, _Page]:
    return {path.relative_to(site).as_posix(): _Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}


@pytest.mark.browser
def test_every_link_resolves_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = pages_of(site)

    @functools.cache
    def led_to(folder: Path, path: str) -> tuple[bool, _Page | None]:
        """Whether there is a file, and the page that it is."""
        target = folder / unquote(path.partition("?")[0])
        return target.exists(), pages.get(os.path.relpath(target.resolve(), site))

    broken = []
    for name, page in pages.items():
        for link in {*page.links, *page.loaded}:
            if urlsplit(link).scheme in ("http", "https", "mailto", "data"):
                continue
            path, anchor = urldefrag(link)
            there, led = led_to((site / name).parent, path) if path else (True, page)
            if not there or (anchor and led is not None and unquote(anchor) not in led.names):
                broken.append((name, link))
    assert broken == []
    assert [(name, one) for name, page in pages.items() for one in page.loaded if urlsplit(one).scheme == "https"] == []
    styles = "".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert not re.search(r"(?:url\(|@import )[\"']?(?:https?:)?//", styles)


@pytest.mark.browser
def test_every_public_name_and_every_proof_has_its_place(site: Path) -> None:
    listed = zlib.decompress((site / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode()
    names = {line.split(" ", 1)[0] for line in listed.splitlines()}
    spaces = {f"{space}.{name}" for space in NAMESPACES for name in getattr(tk, space).__all__}
    assert {f"opendp_topk.{name}" for name in spaces.union(tk.__all__)} - names == set()
    pages = pages_of(site)
    for name in proof.document_names():
        page = pages[f"proofs/{name}.html"]
        tags = {link[1:] for link in page.links if link.startswith("#tag-")}
        assert tags <= page.names
        text = (site / f"proofs/{name}.html").read_text("utf-8")
        digest = hashlib.sha256((proof.documents_folder() / f"{name}.tex").read_bytes()).hexdigest()
        assert {digest, claim_digest(name)} <= set(re.findall("[0-9a-f]{16,}", text)), "records name proofs by them"
    for name in proof.note_names():
        assert {f"{row.document}.html#{row.label}" for row in parse_note_rows(name)} <= set(
            pages[f"proofs/{name}.html"].links
        )
        assert f"{name}.html" in pages["proofs/index.html"].links
    for claim in claims():
        api = pages[f"api/{claim.constructor}.html"]
        assert f"../proofs/{claim.document}.html" in api.links
        assert {f"../proofs/{name}.html" for name in proof.supporting_documents(claim.document)} <= set(api.links)
        depth = "../" * (1 + claim.document.count("/"))
        assert f"{depth}api/{claim.constructor}.html" in pages[f"proofs/{claim.document}.html"].links


def axe_script() -> str:
    """The program that finds barriers; skip where there is none, or fail if OPENDP_TOPK_REQUIRE_BROWSER=1."""
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        if os.environ.get("OPENDP_TOPK_REQUIRE_BROWSER") == "1":
            pytest.fail("axe-core is missing: pip install --no-deps axe-playwright-python")
        pytest.skip("axe-core comes with axe-playwright-python")
    return (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")


def visited(site: Path, room: Path, visits: list[tuple[str, int, str]], axe: str = "") -> Iterator[dict[str, Any]]:
    """What the browser finds on pages at widths and themes; with ``axe``, what that script objects to."""
    listed = [[(site / page).as_uri(), width, theme, bool(axe)] for page, width, theme in visits]
    plan = json.dumps({"visits": listed, "axe": axe}).replace("</", "<\\/")
    script = (Path(__file__).parent / "visits.js").read_text(encoding="utf-8")
    driver = room / "driver.html"
    text = f"<!doctype html><meta charset=utf-8><body><script>{script}</script><script>visit({plan})</script>"
    driver.write_text(text, encoding="utf-8")
    flags = ("--allow-file-access-from-files", "--disable-web-security", "--virtual-time-budget=100000000")
    printed = run(driver, room / "profile", *flags, "--dump-dom", width=1400)
    (answer,) = re.findall(r'<pre id="answer">(.*?)</pre>', printed, re.DOTALL)
    yield from json.loads(html.unescape(answer))


@pytest.mark.browser
@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_scrolls_sideways(width: int, site: Path, tmp_path: Path) -> None:
    """All pages in the narrow window, and each fourth in the wide one, in which a page has more room."""
    names = [name for name in pages_of(site) if not name.startswith("_modules/")]
    assert len(names) > len(proof.document_names())
    names = names if width == WIDTHS[0] else names[::4]
    found = list(visited(site, tmp_path, [(name, width, "light") for name in names]))
    assert len(found) == len(names)
    assert [(one["page"], one["over"]) for one in found if one["over"] > 0] == []


@pytest.mark.browser
@pytest.mark.parametrize(("theme", "width"), list(zip(THEMES, WIDTHS, strict=True)))
def test_no_page_has_a_barrier_of_level_a_or_aa(theme: str, width: int, site: Path, tmp_path: Path) -> None:
    """Colours are those of the theme whatever the width."""
    visits = [(f"{kind}.html", width, theme) for kind in KINDS]
    rows = list(visited(site, tmp_path, visits, axe_script()))
    assert len(rows) == len(visits)
    assert [(one["page"], one["width"], one["violations"]) for one in rows if one["violations"]] == []


@pytest.mark.browser
def test_a_barrier_would_be_noticed(site: Path, tmp_path: Path) -> None:
    """The driver on a page with faults: too wide, and a picture without words."""
    (tmp_path / "bad.html").write_text("<html lang=en><title>x</title><body><img src=x width=900>", encoding="utf-8")
    (row,) = visited(tmp_path, tmp_path, [("bad.html", 390, "light")])
    assert row["over"] > 0


@pytest.mark.browser
def test_the_search_works_from_the_disk(site: Path, tmp_path: Path) -> None:
    page = tmp_path / "driver.html"
    address = (site / "search.html").as_uri() + "?q=odometer"
    page.write_text(f"<!doctype html><script>location.href = {address!r}</script>", encoding="utf-8")
    flags = ("--allow-file-access-from-files", "--virtual-time-budget=20000", "--dump-dom")
    printed = run(page, tmp_path / "profile", *flags)
    hits = re.findall(r'<li[^>]*>\s*<a href="([^"]+)"', printed.partition('id="search-results"')[2])
    assert any("api/" in hit for hit in hits), printed[-2000:]
    assert any("howto/" in hit for hit in hits)
