"""The specimens of every constructor, as the tests of the concepts keep them: shown, costed, enumerated and drawn."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from tests.concepts.tried import specimens_of

from ..case import Case, named
from ..digits import scripted
from ..names import TODAY, tk
from ..shown import law

DISTANCES = (0, 1, 2, 3, Fraction(1, 3))


def cases() -> Iterator[Case]:
    for role in tk.all():
        if role.startswith("make_"):
            for number, specimen in enumerate(specimens_of(TODAY.get(role, role)), 1):
                for word, compute in _views(specimen):
                    yield named(role, number, word), partial(compute, specimen)
                yield named(role, number, "drawn"), partial(_drawn, specimen, named(role, number))


def _views(specimen: Any) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    yield "shown", lambda one: one.link
    yield "documents", lambda one: _documents(one.released.proof)
    if isinstance(specimen.released, tk.Measurement):
        yield "map", lambda one: [_at(one.released, d_in) for d_in in DISTANCES]
        yield "law", lambda one: [law(one.released.distribution(x)) for x in one.pair]
        yield "accuracy", lambda one: [one.released.accuracy(n, 0.1) for n in (1, 3, 50)]
    if isinstance(specimen.link, tk.Transformation):
        yield "stability", lambda one: [_at(one.link, d_in) for d_in in DISTANCES]
        yield "image", lambda one: [_collected(one.link(x)) for x in one.pair]


def _collected(image: Any) -> Any:
    """An image; of a frame the number of its rows, since which items are kept may be drawn."""
    lazy = image.collect() if hasattr(image, "collect") else image
    return len(lazy.rows()) if hasattr(lazy, "rows") else lazy


def _documents(proof: Any) -> list[str]:
    """The names of the documents, without folders."""
    return sorted(str(one.name).rpartition("/")[2] for one in (proof, *proof.parts))


def _at(link: Any, d_in: Any) -> Any:
    try:
        return link.map(d_in)
    except tk.errors.ParameterError as error:
        return f"{type(error).__name__}: {error}"


def _drawn(specimen: Any, name: str) -> Any:
    """Cells of a few releases on each neighbour."""
    with scripted(name):
        return [str(specimen.cell(specimen.released, x)) for x in specimen.pair for _ in range(5)]
