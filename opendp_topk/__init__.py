"""Differentially private selection and top-k: exact sampling, tight privacy maps, a proof for every claim."""

import importlib as _importlib
import typing as _typing

from .core.public_names import HOMES as _HOMES
from .errors.extras import LOADING as _LOADING

__all__ = sorted(_HOMES)


# proof-region: public_names
def __getattr__(name: str) -> _typing.Any:
    """A public name is loaded when it is first asked for, and the audit with it: a release does not need all."""
    with _LOADING:
        if name == "audit":
            return _importlib.import_module(".apps.audit", __name__)
        if name == "__version__":
            return _importlib.import_module(".core.version", __name__).version()
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(_importlib.import_module(_HOMES[name], __name__), name)  # [from-its-home]
        globals()[name] = value
        return value


# end-proof-region: public_names


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__", "audit"})
