"""Differentially private selection and top-k: exact sampling, tight privacy maps, a proof for every claim."""

import importlib as _importlib
import typing as _typing

from .core.public_names import HOMES as _HOMES
from .core.public_names import NAMESPACES as _NAMESPACES
from .core.public_names import name_hint as _name_hint
from .errors.extras import LOADING as _LOADING

__all__ = sorted(_HOMES)


# proof-region: public_names
def __getattr__(name: str) -> _typing.Any:
    """Load a public name or a namespace when it is first used: a release does not need all of them."""
    with _LOADING:
        if name in _NAMESPACES:
            return _importlib.import_module(_NAMESPACES[name], __name__)
        if name == "__version__":
            return _importlib.import_module(".core.version", __name__).version()
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_name_hint(name)}")
        value = getattr(_importlib.import_module(_HOMES[name], __name__), name)  # [from-its-home]
        globals()[name] = value
        return value


# end-proof-region: public_names


def __dir__() -> list[str]:
    return sorted({*__all__, *_NAMESPACES, "__all__", "__doc__", "__file__", "__name__", "__path__", "__version__"})
