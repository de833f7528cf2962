"""The public names by which the cases reach the library: the one place to change when a name changes.

Cases are written, and named, with the names that stand on the left. The right side says what the library calls them
now; what is not listed has one name on both sides. So a renamed function changes no case but that of its signature.
"""

import functools
from typing import Any

import opendp_topk
from opendp_topk.core.public_names import NAMESPACES

TODAY: dict[str, str] = {}
"""Names of functions and classes."""

MERGED = {f"{verb}_lipschitz_top_k": f"{verb}_report_noisy_top_k" for verb in ("make", "then")}
"""Names of functions whose work another one does now, which has a name of its own on the left."""

OPTIONS: dict[tuple[str, str], str] = {}
"""Names of arguments, by the function that takes them, as it stands on the left; ``then_`` takes those of ``make_``."""


class Public:
    """``Public().name`` is what the library offers under the name that ``name`` has today."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(opendp_topk, (TODAY | MERGED).get(name, name))
        maker = name.replace("then_", "make_", 1)
        renamed = {old: new for (function, old), new in OPTIONS.items() if function == maker}
        return _called(found, renamed) if renamed else found

    def all(self) -> dict[str, Any]:
        """Every public name, as the cases call it, and what it stands for."""
        left = {today: name for name, today in TODAY.items()}
        spaces = [opendp_topk, *(getattr(opendp_topk, space) for space in NAMESPACES if space != "audit")]
        return {left.get(name, name): getattr(space, name) for space in spaces for name in space.__all__}


def _called(found: Any, renamed: dict[str, str]) -> Any:
    @functools.wraps(found)
    def call(*arguments: Any, **options: Any) -> Any:
        return found(*arguments, **{renamed.get(name, name): value for name, value in options.items()})

    return call


tk = Public()


def command() -> Any:
    """The function behind the command ``opendp-topk``."""
    from opendp_topk.apps.cli import main

    return main


def new_ledger(address: Any, **given: Any) -> Any:
    """A new ledger at an address."""
    return tk.ledger.Ledger.create(address, **given)


def source() -> Any:
    """The class from which all digits come."""
    from opendp_topk.sampling.samplers.entropy import Entropy

    return Entropy
