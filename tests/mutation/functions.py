"""The functions of a module, and the lines that run where each is called."""

import ast
from collections.abc import Iterator


def functions(text: str) -> dict[str, range]:
    """The lines of each function's body by its qualified name, outer functions before those inside."""
    return dict(_functions(ast.parse(text), ""))


def at(text: str, line: int) -> str | None:
    """The innermost function to whose body a line belongs; None for what runs when the module is loaded."""
    found = [name for name, lines in functions(text).items() if line in lines]
    return found[-1] if found else None


def _functions(node: ast.AST, above: str) -> Iterator[tuple[str, range]]:
    for one in ast.iter_child_nodes(node):
        inside = above
        if isinstance(one, ast.FunctionDef | ast.ClassDef):
            inside = f"{above}{one.name}."
        if isinstance(one, ast.FunctionDef):
            yield f"{above}{one.name}", range(one.body[0].lineno, (one.end_lineno or one.lineno) + 1)
        yield from _functions(one, inside)
