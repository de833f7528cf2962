"""``python -m tests.mutation.operators FILE``: mistakes made up by chance, one edit of one module each.

A seeded choice among all places in a module where an operator applies: a comparison flipped, a number one larger or
smaller, a statement removed, the first two arguments swapped, a sum for a difference, ``and`` for ``or``, a condition
negated, a default replaced, one direction of rounding for the other, a check or a filter removed, an argument not
passed on, a copy or a lock left out. What is printed can stand in a list of faults; which of them to keep is for a
person to say, for many such edits only change how long something takes.
"""

import argparse
import ast
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .checkout import ROOT
from .fault import Fault

_COMPARISONS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
_SIGNS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.FloorDiv: "/"}
_WORDS = {"min": "max", "max": "min", "floor": "ceil", "ceil": "floor", "any": "all", "all": "any"}
_WORDS |= {f"{stem}_up": f"{stem}_down" for stem in ("round", "exp", "one_minus_exp")}
_WORDS |= {f"{stem}_down": f"{stem}_up" for stem in ("round", "exp", "one_minus_exp")}
_COPIES = frozenset(("copy", "deepcopy", "list", "dict"))
_SYMMETRIC = frozenset(("min", "max", "add", "mul", "multiply", "minimum", "maximum", "gcd", "hypot"))


@dataclass(frozen=True)
class Edit:
    """Other text for the characters from ``start`` to ``end`` of a module."""

    start: int
    end: int
    text: str
    what: str


class Module:
    """The source of a module, with its places counted in characters."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self.tree = ast.parse(text)
        lines = text.splitlines(keepends=True)
        self._starts = [sum(map(len, lines[:n])) for n in range(len(lines) + 1)]
        self._lines = lines

    def place(self, line: int, column: int) -> int:
        """Where a place of the parser is, which counts bytes in a line."""
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node begins and ends."""
        ends = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
        return self.place(node.lineno, node.col_offset), self.place(*ends)  # type: ignore[attr-defined]

    def source(self, node: ast.AST) -> str:
        """The text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def fault(self, name: str, edit: Edit) -> Fault:
        """``edit`` as a fault: as many whole lines around it as make its text occur once."""
        first, last = self._line_of(edit.start), self._line_of(max(edit.start, edit.end - 1))
        while True:
            start, end = self._starts[first], self._starts[last + 1]
            old = self.text[start:end]
            if self.text.count(old) == 1:
                new = self.text[start : edit.start] + edit.text + self.text[edit.end : end]
                return Fault(name, edit.what, self.file, old, new)
            first, last = max(first - 1, 0), min(last + 1, len(self._lines) - 1)

    def _line_of(self, place: int) -> int:
        return max(n for n, start in enumerate(self._starts[:-1]) if start <= place)


def edits(module: Module) -> Iterator[Edit]:
    """All edits that the operators can make of the bodies of a module's functions."""
    for function in ast.walk(module.tree):
        if isinstance(function, ast.FunctionDef):
            yield from _defaults(module, function)
            for statement in function.body:
                for node in ast.walk(statement):
                    yield from _edits(module, node, function.name)
                    yield from _omissions(module, node, function.name)


def _edits(module: Module, node: ast.AST, where: str) -> Iterator[Edit]:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            yield _between(module, left, right, _COMPARISONS[type(op)], where)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _SIGNS:
            yield _between(module, left, right, _SIGNS[type(sign)], where)
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            for other in (value + 1, value - 1):
                yield Edit(*module.span(node), str(other), f"{value} becomes {other} in {where}")
        case ast.BoolOp(op=op, values=[left, right, *_]):
            yield _between(module, left, right, "or" if isinstance(op, ast.And) else "and", where)
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            told = f"the condition {_short(module.source(test))} is negated in {where}"
            yield Edit(*module.span(test), f"(not ({module.source(test)}))", told)
        case ast.Name(id=name) if name in _WORDS:
            yield Edit(*module.span(node), _WORDS[name], f"{name} becomes {_WORDS[name]} in {where}")
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield Edit(*module.span(node), "pass", f"{_short(module.source(node))} is left out in {where}")
        case ast.Call(func=called, args=[first, second, *_]) if not (
            isinstance(first, ast.Starred)
            or module.source(first) == module.source(second)
            or _any_order(node, module.source(called))
        ):
            yield _swapped(module, called, first, second, where)


def _omissions(module: Module, node: ast.AST, where: str) -> Iterator[Edit]:
    """What is done no more: a check, a filter, a copy, a lock, an argument that is passed on by its name."""
    match node:
        case ast.If(test=test, body=[ast.Raise()]):
            yield Edit(*module.span(test), "False", f"the check {_short(module.source(test))} is removed in {where}")
        case ast.comprehension(ifs=[test]):
            yield Edit(*module.span(test), "True", f"the filter {_short(module.source(test))} is removed in {where}")
        case ast.With(items=[ast.withitem(context_expr=held, optional_vars=None)]):
            told = f"{_short(module.source(held))} is not entered in {where}"
            yield Edit(module.span(node)[0], module.span(held)[1], "if True", told)
        case ast.Call(func=ast.Attribute(value=copied, attr=name), args=[], keywords=[]) if name in _COPIES:
            yield Edit(*module.span(node), module.source(copied), f"no copy of {module.source(copied)} in {where}")
        case ast.Call(func=ast.Name(id=name), args=[copied], keywords=[]) if name in _COPIES:
            yield Edit(*module.span(node), f"({module.source(copied)})", f"{name} is left out in {where}")
        case ast.Call(args=args, keywords=[_, *_] as passed):
            for before, one in itertools.pairwise([*args, *passed]):
                start, end = module.span(before)[1], module.span(one)[1]
                if isinstance(one, ast.keyword) and module.text[start : module.span(one)[0]].strip() == ",":
                    yield Edit(start, end, "", f"{_short(module.source(one))} is not passed on in {where}")


def _defaults(module: Module, function: ast.FunctionDef) -> Iterator[Edit]:
    """The truth values and numbers that a function takes where its caller gives none, replaced."""
    for one in [*function.args.defaults, *filter(None, function.args.kw_defaults)]:
        if isinstance(one, ast.Constant) and isinstance(one.value, bool | int):
            other = repr(not one.value if isinstance(one.value, bool) else one.value + 1)
            yield Edit(*module.span(one), other, f"a default of {function.name} becomes {other}")


def _between(module: Module, left: ast.AST, right: ast.AST, new: str, where: str) -> Edit:
    """The operator between two operands, replaced; brackets around them stay."""
    start, end = module.span(left)[1], module.span(right)[0]
    gap = module.text[start:end]
    old = gap.strip(" ()\n")
    return Edit(
        start, end, gap.replace(old, new), f"{old} becomes {new} before {_short(module.source(right))} in {where}"
    )


def _any_order(call: ast.Call, called: str) -> bool:
    """Whether the value of a call is the same, whichever of its two arguments comes first."""
    return called.split(".")[-1] in _SYMMETRIC and len(call.args) == 2 and not call.keywords


def _swapped(module: Module, called: ast.AST, first: ast.AST, second: ast.AST, where: str) -> Edit:
    start, end = module.span(first)[0], module.span(second)[1]
    between = module.text[module.span(first)[1] : module.span(second)[0]]
    text = module.source(second) + between + module.source(first)
    return Edit(start, end, text, f"the first two arguments of {_short(module.source(called))} are swapped in {where}")


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 50 else f"{words[:47]}..."


def chosen(file: str, n: int, seed: int) -> list[Fault]:
    """``n`` faults of a module (fewer where there are not so many), by chance."""
    module = Module(file, (ROOT / "opendp_topk" / file).read_text(encoding="utf-8"))
    found = {(one.start, one.end, one.text): one for one in edits(module)}
    some = random.Random(f"{seed}/{file}").sample(sorted(found), min(n, len(found)))
    return [module.fault(f"{Path(file).stem.strip('_')}-{seed}-{place}", found[key]) for place, key in enumerate(some)]


def main() -> None:
    """Print the faults as Python."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation.operators", description=main.__doc__)
    parser.add_argument("files", nargs="+", help="modules, as paths below the package", metavar="FILE")
    parser.add_argument("-n", type=int, default=3, help="how many a module")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for file in options.files:
        for one in chosen(file, options.n, options.seed):
            values = ",\n        ".join(repr(value) for value in (one.name, one.what, one.file, one.old, one.new))
            print(f"    Fault(\n        {values},\n    ),")


if __name__ == "__main__":
    main()
