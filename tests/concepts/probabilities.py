"""Functions that compute probabilities, as those of other libraries do, in the form that the verifier takes."""

from collections.abc import Callable, Mapping
from typing import Any

import opendp_topk as tk


def of_probabilities(
    function: Callable[[Any], Any], *space: Any, privacy_map: Callable[[Any], Any], **parameters: Any
) -> tk.Measurement:
    """A measurement whose outcomes are the keys or the indices of what ``function`` returns."""

    def distribution(scores: Any) -> Mapping[Any, Any]:
        table = function(scores)
        return table if isinstance(table, Mapping) else dict(enumerate(table))

    return tk.make_user_measurement(
        *space, function=function, privacy_map=privacy_map, parameters=parameters, distribution=distribution
    )
