"""Release at a public deadline, to protect against timing attacks: never earlier, and an error if it is late."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from ..core.claims import attach_claim, proved_by
from ..core.measurement import Declared, Measurement
from ..core.repeatable import PaddedFunction, block_maxima_sign, parse_seconds
from ..errors import ParameterTypeError, SpaceError, checks
from ..errors.checks import Number
from ..errors.experimental import mark_experimental
from ..numerics.arithmetic import one_minus_exp_up, to_fraction
from ..proof import Proof
from ..spaces.measures import Approximate, MaxDivergence, split_delta

_LARGE = 50  # above this epsilon delta is 1: exp(epsilon) has more than 22 digits, and the bounds on it have fewer


@proved_by("combinators/padded")
@mark_experimental("its arguments may change, and what it promises about time")
def make_padded(measurement: Measurement, *, seconds: Number, missed: Number | None = None) -> Measurement:
    """Delay the answer of a measurement until ``seconds`` after the call.

    The clock starts before the argument is checked. Errors are delayed as well. If the computation takes longer than
    ``seconds``, a :class:`DeadlineError` is raised without an answer, and the loss still counts as spent, also in a
    ledger. The error is raised when the computation ends, so its time reveals how long the computation took.

    Experimental: its arguments may change, and what it promises about time.

    Args:
        measurement: A measurement under any measure that is not interactive: the whole chain, from the data to the
            published result.
        seconds: The deadline, above 0 and at most 10^6. Choose it without looking at the data, large enough for every
            possible input, including tables with more rows.
        missed: The probability, in (0, 1), with which the deadline is missed at most, on *every* input. If given, the
            map is valid for the answer and its time together. You must know this probability: nothing checks it, and
            the status of the proof shows it as an assumption. The measure must then be ``MaxDivergence()`` or
            ``Approximate(MaxDivergence())``: convert others first. The default None makes no claim about the time.

    Returns:
        A :class:`Measurement` on the same inputs. With ``missed`` its measure is ``Approximate(MaxDivergence())``. It
        then declares no output distribution, accuracy or probability of success, because these assume that there always
        is an answer.

    Privacy:
        Without ``missed`` the map of ``measurement``: the loss of the answer to an observer who does not see whether
        the deadline was missed. With ``missed`` (epsilon, delta + (1 + e^epsilon) missed), where (epsilon, delta) is
        the map of ``measurement``, and delta is 0 under ``MaxDivergence()``. For delta = 0 this is tight under the
        assumption. Above an epsilon of 50 the delta is 1.

        The observer sees the answer and its time. Other side channels of the computation (load, memory, caches, the
        traffic of a remote table, processor time) are not covered.

    Raises:
        ParameterError: ``seconds`` or ``missed`` is out of range.
        ParameterTypeError: An argument has the wrong type, or ``missed`` is given and the measure is another one.
        SpaceError: The measurement is interactive (pad its queries instead) or already padded.

        On a call: DeadlineError if the computation takes longer than ``seconds``.

    Runtime:
        ``seconds``. The processor is busy as long as it is for ``measurement``.

    Proof: proofs/combinators/padded.tex

    References:
        Ratliff and Vadhan, "A Framework for Differential Privacy Against Timing Attacks" (2024).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> top2 = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=2, scale=8.0)
        >>> padded = tk.make_padded(top2, seconds=2)
        >>> padded.map(1)
        0.25
        >>> tk.make_padded(top2, seconds=2, missed=1e-9).map(1)
        (0.25, 2.2840254166877417e-09)
    """
    # proof-region: padded
    checks.require_instance(
        "measurement", measurement, Measurement, "a measurement, such as make_* constructors return"
    )
    length = parse_seconds(seconds, "seconds")  # [check-seconds]
    if measurement.interactive:  # [check-interactive]
        raise SpaceError("measurement must not be interactive: pad each of its queries, which are answered later")
    if block_maxima_sign(measurement.function) is None:  # [check-padded]
        raise SpaceError("measurement must not already be padded: pad the whole chain once, with one deadline")
    padded = replace(
        measurement,
        function=PaddedFunction(measurement, length),  # [padded]
        parameters={**measurement.parameters, "seconds": seconds},
    )
    proof = Proof(None, (measurement.proof,))
    if missed is None:
        return attach_claim(padded, proof)  # [same-map]
    beta = to_fraction(checks.require_probability(missed, "missed"))  # [check-missed]
    if measurement.output_measure not in (MaxDivergence(), Approximate(MaxDivergence())):  # [check-measure]
        raise ParameterTypeError(
            "with missed, measurement must have the output measure MaxDivergence() or Approximate(MaxDivergence()), "
            f"not {measurement.output_measure!r}: convert it first, as by make_zCDP_to_approxDP and make_fix_delta"
        )

    def privacy_map(d_in: Any) -> Any:
        epsilon, delta = split_delta(measurement.output_measure, measurement.exact_map(d_in))
        if epsilon > _LARGE:
            return epsilon, 1  # [large]
        return epsilon, min(
            Fraction(1), delta + (1 + 1 / (1 - one_minus_exp_up(to_fraction(epsilon)))) * beta
        )  # [timed-map]

    timed = replace(
        padded,
        output_measure=Approximate(MaxDivergence()),
        privacy_map=privacy_map,
        parameters={**padded.parameters, "missed": missed},
        declared=Declared(
            n_candidates=measurement.declared.n_candidates,
            scores_input=measurement.declared.scores_input,
            candidates=measurement.declared.candidates,
        ),  # [nothing-declared]
    )
    assumed = (
        f"on every input the deadline of {float(length):g} seconds is missed with probability at most {float(beta):g}"
    )
    return attach_claim(timed, Proof(None, proof.parts, assumption=assumed))  # [assumed]
    # end-proof-region: padded
