"""One-shot selection on scores that come in parts: each part yields its finalists, from which the winners are taken.

Proof: proofs/measurements/in_parts.tex
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from ..core.measurement import Measurement
from ..core.repeatable import RepeatableFunction
from ..errors import DataError, ForeignError, ParameterError, ParameterTypeError, checks
from ..errors.experimental import mark_experimental
from ..sampling.samplers.merge import Part, Race, finish_race, merge_finalists, select_part_finalists
from ..spaces.domains import VectorDomain

_TOGETHER = 64  # parts merged at a time, which bounds the number in memory


# proof-region: in_parts
def require_race(measurement: Any) -> tuple[Race, VectorDomain]:
    """Return the race whose winners ``measurement`` releases, and the domain of its scores.

    Raises:
        ParameterError: ``measurement`` is not a race, or a function is chained to it.
    """
    checks.require_instance(
        "measurement", measurement, Measurement, "a measurement, such as make_report_noisy_top_k returns"
    )
    race = measurement.function.race if isinstance(measurement.function, RepeatableFunction) else None
    domain = measurement.input_domain
    if not isinstance(race, Race) or not isinstance(domain, VectorDomain):  # [race-only]
        raise ParameterError(
            "measurement must be a one-shot selection (report_noisy_top_k, "
            "exponential_mechanism or permute_and_flip) without post-processing: only these can be run in "
            "parts. Apply post-processing to the release"
        )
    return race, domain


def find_finalists(measurement: Measurement, scores: Any, labels: Sequence[Any] | None = None) -> Part:
    """Return the finalists among ``scores``, which are validated before anything is drawn.

    By default the labels are positions.
    """
    race, domain = require_race(measurement)
    values = domain.element_domain.validate_array(scores)  # [validate]
    return select_part_finalists(range(len(values)) if labels is None else labels, values, race)  # [partial]


def merge_parts(parts: Iterable[Part], race: Race) -> Part:
    """Merge all parts into one, as they come."""
    held: list[Part] = []
    for part in parts:
        held.append(part)
        if len(held) == _TOGETHER:
            held = [merge_finalists(held, race)]  # [merge-some]
    if not held:
        raise DataError("scores must contain at least one element")  # [no-parts]
    return merge_finalists(held, race)  # [merge-all]


def winner_labels(measurement: Measurement, whole: Part) -> list[Any]:
    """Return the labels of the winners in ``whole``, the merged parts, after a check of the number of scores."""
    race, domain = require_race(measurement)
    if whole.size == 0:
        raise DataError("scores must contain at least one element")  # [not-empty]
    if domain.size is not None and whole.size != domain.size:
        raise DataError(f"scores must contain exactly {domain.size} elements, the size of the input domain")  # [size]
    if whole.size < race.k:
        raise DataError(f"scores must contain at least k elements ({race.k})")  # [length]
    return finish_race(whole, race)  # [finish]


@dataclass(frozen=True)
class FinalistFinder:
    """A picklable function that finds the finalists of one numbered part."""

    measurement: Measurement

    def __call__(self, numbered: tuple[int, Any]) -> tuple[int, Part]:
        number, scores = numbered
        return number, find_finalists(self.measurement, scores)  # [race-one]


def _iterate_parts(parts: Any) -> Iterator[Any]:
    try:
        return iter(parts)
    except TypeError:
        pass
    raise ParameterTypeError(f"parts must be an iterable of arrays, columns or lists, not {type(parts).__name__}")


@mark_experimental("its arguments may change")
def release_in_parts(measurement: Measurement, parts: Iterable[Any], *, map: Callable[..., Any] = map) -> Any:
    """Release a one-shot selection on scores that come in parts, such as batches of a frame or chunks of an array.

    The concatenation of the parts is the argument of ``measurement``, and the release has the output distribution of
    ``measurement`` on it. Each part is reduced to at most k finalists with the random digits drawn for them, and the
    winners are found among the finalists. So only one part at a time has to be in memory or in one process.

    Experimental: its arguments may change.

    Args:
        measurement: A one-shot selection as its constructor returns it: ``make_report_noisy_top_k``,
            ``make_exponential_mechanism`` or ``make_permute_and_flip``.
        parts: Arrays, columns or lists of scores, in the order of the candidates. A part may be empty.
        map: A function that applies a function to each element of an iterable and returns an iterable of the results,
            in any order: the built-in ``map`` (the default, one part after another), or that of an executor or of a
            process pool. If it calls the function again for a part, it must drop the earlier result.

    Returns:
        The release of ``measurement``: indices into the concatenated parts.

    Privacy:
        The same as ``measurement``: the privacy map is ``measurement.map``. Pay for the release with
        ``Ledger.reserve(measurement)``. The data that ``map`` transfers is as sensitive as the scores.

    Raises:
        ParameterError: ``measurement`` is not a one-shot selection, or a function is chained to it.
        ParameterTypeError: ``parts`` is not iterable, or ``map`` is not callable.
        DataError: The scores are not a member of the input domain, or are fewer than k. Nothing was released.
        ForeignError: ``map`` lost a part or returned one twice. Nothing was released.

    Runtime:
        A race for each part, plus a few milliseconds per 64 parts at k = 10. A part sends about 60 bytes per finalist.

    Proof: proofs/measurements/in_parts.tex

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> top2 = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=1.0)
        >>> tk.release_in_parts(top2, [[0, 900], [], [1800, 3, 1]])
        array([2, 1])
    """
    race, _ = require_race(measurement)
    checks.require_callable("map", map)
    stream = _iterate_parts(parts)
    handed: list[int | None] = []
    sizes: dict[int, int] = {}

    def number_parts() -> Iterator[tuple[int, Any]]:
        for number, scores in enumerate(stream):
            handed.append(number)
            yield number, scores  # [number]
        handed.append(None)  # [end]

    def iterate_finalists() -> Iterator[Part]:
        for number, part in map(FinalistFinder(measurement), number_parts()):
            if number in sizes:
                raise ForeignError("map returned a part twice: nothing was released")  # [once]
            sizes[number] = part.size
            yield replace(part, labels=tuple((number, place) for place in part.labels))  # [label]

    whole = merge_parts(iterate_finalists(), race)
    if handed != [*sorted(sizes), None]:
        raise ForeignError("map did not return every part: nothing was released")  # [every-part]
    starts = list(accumulate((sizes[number] for number in sorted(sizes)), initial=0))  # [starts]
    found = [starts[number] + place for number, place in winner_labels(measurement, whole)]
    return measurement.declared.decode(tuple(found))  # [decode]


# end-proof-region: in_parts
