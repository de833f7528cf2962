"""The kinds of questions, each of which is one class in a file of its own, found by its name.

A file ``question_top_k.py`` has the question of the kind ``top-k``.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import ParameterError, TableError, checks
from ...errors.files import quote_path
from .options import options_of

WRAPPED = "in-groups"  # the kind of the question that wraps another one
_PREFIX = "question_"


def question_kinds() -> list[str]:
    """Return the kinds of all questions, the one about listed candidates first; nothing is loaded."""
    names = (one.name for one in pkgutil.iter_modules([str(Path(__file__).parent)]))
    kinds = (name.removeprefix(_PREFIX).replace("_", "-") for name in names if name.startswith(_PREFIX))
    return sorted(kinds, key=lambda kind: (kind != "top-k", kind))


def question_class(kind: str) -> Any:
    """Return the class of a kind of question, a subclass of ``Question``, loading its file on the first call.

    Raises:
        ParameterError: There is no such kind.
    """
    if kind not in question_kinds():
        raise ParameterError(f"question must be one of {', '.join(question_kinds())}")
    module = importlib.import_module(f".{_PREFIX}{kind.replace('-', '_')}", __package__)
    return next(one for _, one in inspect.getmembers(module, inspect.isclass) if one.__dict__.get("kind") == kind)


def record_question(question: Mapping[str, Any] | None, known: Mapping[str, Any]) -> Any:
    """Return the class of the question of a record, by its field ``question``.

    If that is None, the question is the first that owns ``known``, the parameters of the mechanism: only this loads
    other questions.

    Raises:
        TableError: The question or its version is unknown, or it is not the question of the mechanism.
    """
    if question is None:
        question = {"kind": next((one for one in reversed(question_kinds()) if question_class(one).owns(known)), None)}
    kind = question["kind"]
    found = question_class(kind) if kind in question_kinds() else None
    if found is None or question.get("version", found.version) != found.version:
        named = "" if kind is None else f", {quote_path(kind)} in version {question.get('version')},"
        raise TableError(f"its question{named} is unknown: open it with the version of opendp_topk that wrote it")
    if not found.owns(known):
        raise TableError(f"its mechanism does not answer its question, {kind}: fields were removed or changed")
    return found


def question_from_dict(found: Mapping[str, Any]) -> Any:
    """Return the question that :meth:`TopK.to_dict`, or that of another question, returned.

    Args:
        found: The kind of the question as ``question``, and the options that are not the default, by name.

    Returns:
        The question.

    Raises:
        ParameterError: The kind or an option is unknown.
        ParameterTypeError: ``found`` is not a mapping.

    Example:
        >>> import opendp_topk as tk
        >>> kept = {"question": "top-k", "k": 3, "candidates": 50, "epsilon": 1}
        >>> tk.planning.question_from_dict(kept).plan().claim.d_out
        1.0
    """
    checks.require_instance("found", found, Mapping, "a dictionary, as to_dict returns it")
    kind = question_class(str(found.get("question", "")))
    names = {name for group in kind.option_groups() for name in options_of(group)}
    unknown = [name for name in found if name not in {*names, "question"}]
    if unknown:
        raise ParameterError(
            f"{kind.kind} has no option {unknown[0]}: omit it, or use one of {', '.join(sorted(names))}"
        )
    return kind.build(found)
