"""A proof document as LaTeX that pandoc understands: no macros of its own, numbers and links for references."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from opendp_topk.proof.latex import ROW, SEE
from opendp_topk.proof.library import CHECKED

KINDS = "theorem|lemma|corollary|proposition|definition|remark|example"
_PARTS = {
    "precondition": "Precondition",
    "pseudocode": "Code",
    "postcondition": "Postcondition",
    "proofs": "Proof",
    "runtimeerrors": "Run-time errors",
}
_COMMENT = re.compile(r"(?<!\\)%.*")
_BEGUN = re.compile(rf"\\begin\{{({KINDS})\}}(\[[^\[\]]*\])?\s*(?:\\label\{{([^{{}}]*)\}})?")
_EQUATION = re.compile(r"\\begin\{equation\}\s*(?:\\label\{([^{}]*)\})?(.*?)\\end\{equation\}", re.DOTALL)
_LIST = re.compile(
    r"\\begin\{enumerate\}(?:\[([^\[\]]*)\])?|\\item(?![a-z])|\\end\{enumerate\}|\\(?:begin|end)\{itemize\}"
)
_LABEL = re.compile(r"\s*\\label\{([^{}]*)\}")
_STYLE = re.compile(r"label=(.*?)\\(roman|arabic|alph)\*(\)?)")
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv")
_ESCAPED = {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"} | {sign: f"\\{sign}" for sign in "_#%&${}"}


# What pandoc's formulas lack, and what comes nearest.
_NEAREST = (
    (r"\\qedhere\b", ""),
    (r"\\tbinom\b", r"\\binom"),
    (r"\\([bB]ig)m\b", r"\\\1"),
    (r"\\(abs|norm|ceil|floor|set)(?:\*|\[[^\[\]]*\])", r"\\\1"),
)
# Long tables have columns of the text's own width.
_TABLES = ((r"\\begin\{longtable\}.*", r"\begin{longtable}{llll}\toprule"), (r"\\bottomrule\\endfoot", ""))
_PAIRED = re.compile(r"\\DeclarePairedDelimiter\{(\\\w+)\}\{(.*?)\}\{(\\[a-zA-Z]+|\\\})\}")


def notation(preamble: str) -> str:
    """The macros of preamble.sty for formulas."""
    own = preamble[preamble.index("% Notation") :].replace(r"\endinput", "")
    return _PAIRED.sub(r"\\newcommand{\1}[1]{\2 #1\3}", own)


@dataclass
class Source:
    """A document being rewritten; ``names`` says what each label is called."""

    text: str
    names: dict[str, str] = field(default_factory=dict)


def prepared(text: str, address: Callable[[str, str], str]) -> str:
    """The document for pandoc; ``address`` gives the page of a document and a label in it.

    Where the n-th region of code is listed, the result has the paragraph ``PINNED-n``.
    """
    rows = [found[1] for found in ROW.finditer(text)]
    source = Source("\n".join(_COMMENT.sub("", line) for line in text.splitlines()))
    source.text = CHECKED.sub(_checked, _without_title(source.text))
    for number in range(1, source.text.count(r"\pin{") + 1):
        source.text = re.sub(r"\\pin(\{[^{}]*\}){2}", f"\n\nPINNED-{number}\n\n", source.text, count=1)
    _lists(source)
    _statements(source)
    _equations(source)
    result = _referred(source)
    result = SEE.sub(lambda found: _seen(found[1], rows), ROW.sub(lambda found: _row(found, rows, address), result))
    result = re.sub(r"\\bound(\{[^{}]*\})(\{[^{}]*\})(\{[^{}]*\})(\{[^{}]*\})", _bound, result)
    result = _coded(result)
    result = re.sub(r"\\codetag\{([^{}]*)\}", r"\\href{#tag-\1}{\\texttt{[\1]}}", result)
    result = re.sub(r"\\relieson(?:\[([^\[\]]*)\])?\{([^{}]*)\}", lambda found: _relied(found, address), result)
    for old, new in _TABLES:
        result = re.sub(old, lambda _, new=new: new, result)
    for macro, title in _PARTS.items():
        result = re.sub(rf"\\{macro}\b", rf"\\section{{{title}}}", result)
    result = re.sub(r"\\text\{([^{}]*)(\\texttt\{[^{}]*\})([^{}]*)\}", r"\\text{\1}\2\\text{\3}", result)
    for pattern, nearest in _NEAREST:
        result = re.sub(pattern, nearest, result)
    return result.replace(r"\references", "")


def _checked(found: re.Match[str]) -> str:
    """That a machine has checked the statement above, and in which part."""
    theorem, remark = found[2].replace("_", r"\_"), f" ({found[4]})" if found[4] else ""
    return rf"\par Checked by machine: \texttt{{{theorem}}}{remark}.\par"


def _without_title(text: str) -> str:
    head, _, body = text.partition(r"\begin{document}")
    definitions = re.findall(r"^\\(?:newcommand|renewcommand|DeclareMathOperator).*$", head, re.MULTILINE)
    for macro, count in (("proofdocument", 2), ("claim", 1)):
        at = body.find(f"\\{macro}")
        end = at + 1 + len(macro)
        for _ in range(count):
            end = _closing(body, end)
        body = body[:at] + body[end:] if at >= 0 else body
    kinds = "".join(rf"\newtheorem{{{kind}}}[theorem]{{{kind.capitalize()}}}" + "\n" for kind in KINDS.split("|")[1:])
    start = [r"\newtheorem{theorem}{Theorem}", kinds, *definitions, r"\begin{document}"]
    return "\n".join([*start, body])


def _closing(text: str, start: int) -> int:
    """The place after the brace that closes the one at ``start``."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return at + 1
    raise ValueError("a brace is not closed")


def _statements(source: Source) -> None:
    """Theorems are counted together, as preamble.sty has it."""
    number = 0

    def named(found: re.Match[str]) -> str:
        nonlocal number
        number += 1
        if found[3]:
            source.names[found[3]] = f"{found[1].capitalize()} {number}"
        label = rf"\label{{{found[3]}}}" if found[3] else ""
        return rf"\begin{{{found[1]}}}{found[2] or ''}{label}"

    source.text = _BEGUN.sub(named, source.text)


def _equations(source: Source) -> None:
    number = 0

    def named(found: re.Match[str]) -> str:
        nonlocal number
        number += 1
        tag = re.search(r"\\tag\{([^{}]*)\}", found[2])
        body = re.sub(r"\\tag\{[^{}]*\}", "", found[2]).strip()
        shown = tag[1] if tag else str(number)
        anchor = rf"\hypertarget{{{found[1]}}}{{}}" if found[1] else ""
        if found[1]:
            source.names[found[1]] = f"({shown})"
        return rf"{anchor}\[{body}\qquad\text{{({shown})}}\]"

    source.text = _EQUATION.sub(named, source.text)


def _lists(source: Source) -> None:
    """Numbered items as a list of names, so that a reference and its item show the same."""
    made, at, open_lists = [], 0, []
    last: dict[str, int] = {}
    for found in _LIST.finditer(source.text):
        made.append(source.text[at : found.start()])
        at = found.end()
        word = found[0]
        if word.startswith(r"\begin{enumerate}"):
            style = _STYLE.search(found[1] or "")
            options = style.groups() if style else ("", "arabic", ".")
            open_lists.append((options, last.get(options[0], 0) if "resume" in (found[1] or "") else 0))
            made.append(r"\begin{description}")
        elif word == r"\begin{itemize}":
            open_lists.append(None)
            made.append(word)
        elif word.startswith(r"\end"):
            closed = open_lists.pop()
            if closed:
                last[closed[0][0]] = closed[1]
            made.append(r"\end{description}" if closed else word)
        elif open_lists and open_lists[-1]:
            options, number = open_lists[-1]
            open_lists[-1] = options, number + 1
            name = _counted(number + 1, *options)
            label = _LABEL.match(source.text, at)
            if label:
                source.names[label[1]] = name
                at = label.end()
                name = rf"\hypertarget{{{label[1]}}}{{{name}}}"
            made.append(rf"\item[{{{name}}}] ")
        else:
            made.append(word)
    source.text = "".join([*made, source.text[at:]])


def _counted(number: int, before: str, style: str, after: str) -> str:
    shown = {"roman": _ROMAN[number - 1], "alph": chr(96 + number)}.get(style, str(number))
    return f"{before}{shown}{after}"


def _referred(source: Source) -> str:
    def link(found: re.Match[str]) -> str:
        return " and ".join(rf"\hyperlink{{{one}}}{{{source.names[one]}}}" for one in _labels(found[1]))

    return re.sub(r"\\(?:Cref|cref|ref|eqref)\{([^{}]*)\}", link, source.text)


def _labels(listed: str) -> Iterator[str]:
    return (one.strip() for one in listed.split(","))


def _relied(found: re.Match[str], address: Callable[[str, str], str]) -> str:
    label, target = found[1] or "", found[2]
    shown = f"{target}, {label}" if label else target
    return rf"\href{{{address(target, label)}}}{{{_escaped(shown)}}}"


def _row(found: re.Match[str], rows: list[str], address: Callable[[str, str], str]) -> str:
    """A row of a note's table: a link to the statement, and the tags, which are links there."""
    key, claim, target, label, region, tags = found.groups()
    number = rf"\hypertarget{{code-{key}}}{{C{rows.index(key) + 1}}}"
    statement = rf"\href{{{address(target, label)}}}{{{_escaped(f'{target}, {label}')}}}"
    cited = "".join(rf" \href{{{address(target, f'tag-{tag}')}}}{{\texttt{{[{tag}]}}}}" for tag in tags.split())
    return rf"{number} & {claim} & {statement} & \texttt{{{_escaped(region)}}}{cited} \\"


def _seen(key: str, rows: list[str]) -> str:
    return rf"\hyperlink{{code-{key}}}{{[C{rows.index(key) + 1}]}}"


def _bound(found: re.Match[str]) -> str:
    constructor, case, measure, formula = (group[1:-1] for group in found.groups())
    of = f" ({case})" if case else ""
    return rf"\par\noindent\code{{{constructor}}}{of}, \code{{{measure}}}: \code{{{formula}}}\par "


def _coded(text: str) -> str:
    """Names of code are set as they stand, underscores and all."""
    made, at = [], 0
    for found in re.finditer(r"\\code(?=\{)", text):
        if found.start() < at:
            continue
        end = _closing(text, found.end())
        made += [text[at : found.start()], rf"\texttt{{{_escaped(text[found.end() + 1 : end - 1])}}}"]
        at = end
    return "".join([*made, text[at:]])


def _escaped(plain: str) -> str:
    return "".join(_ESCAPED.get(sign, sign) for sign in plain)
