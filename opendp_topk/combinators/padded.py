"""A release at a public deadline: neither earlier, where it was ready before, nor later."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from ..core.claims import attach_claim, proved_by
from ..core.measurement import Declared, Measurement
from ..core.repeatable import PaddedFunction, block_maxima_sign, parse_seconds
from ..errors import ParameterTypeError, SpaceError, checks
from ..errors.checks import Number
from ..numerics.arithmetic import one_minus_exp_up, to_fraction
from ..proof import Proof
from ..spaces.measures import Approximate, MaxDivergence, split_delta

_LARGE = 50  # an epsilon above which nothing is promised: its exponential has 22 digits, and bounds on it fewer


@proved_by("combinators/padded")
def make_padded(measurement: Measurement, *, seconds: Number, missed: Number | None = None) -> Measurement:
    """The same measurement, whose answer comes ``seconds`` after the call and never before.

    The clock starts before the argument is checked. An error is held back as an answer is. Where the computation takes
    longer there is a :class:`DeadlineError` and no answer, and the cost counts as spent, in a ledger too. The error
    comes when the computation ends, and tells that it took long.

    Args:
        measurement: Any measurement that is not interactive, under any measure; the whole chain, from the data to
            what is published.
        seconds: The deadline, above 0 and at most 10^6. It must be chosen without the data, so that every possible
            input meets it, tables with more rows included.
        missed: If given, what the map says is true of the answer and of its time together, provided that on *every*
            input the deadline is missed with at most this probability, in (0, 1). This is yours to know: nothing
            checks it, and the status of the proof says so. The measure must then be ``MaxDivergence()`` or
            ``Approximate(MaxDivergence())``: others are converted first.

    Returns:
        A :class:`Measurement` on the same inputs. With ``missed`` its measure is ``Approximate(MaxDivergence())``, and
        it declares no law, accuracy or probability of success, which speak of answers that are always given.

    Privacy:
        Without ``missed`` the map of ``measurement``: that of the answer, as everywhere, for those who do not see
        whether the deadline was missed. With it (epsilon, delta + (1 + e^epsilon) missed), where (epsilon, delta) is
        the map of ``measurement``, and delta is 0 under ``MaxDivergence()``. No smaller delta holds under this
        assumption. Above an epsilon of 50 the delta is 1.

        Seen are the answer and the moment when it comes. What else the computation leaves behind (load, memory,
        caches, the traffic of a remote table, the time of the processor) is not covered.

    Raises:
        ParameterError: ``seconds`` or ``missed`` is out of range.
        ParameterTypeError: An argument has the wrong type, or with ``missed`` the measure is another.
        SpaceError: The measurement is interactive (pad its queries instead) or padded already.

    Runtime:
        ``seconds``, of which the processor works as long as ``measurement`` does.

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
        raise SpaceError("measurement must not be interactive: its queries are answered later, so pad each of them")
    if block_maxima_sign(measurement.function) is None:  # [check-padded]
        raise SpaceError("measurement must not be padded already: pad once, the whole chain, with its one deadline")
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
    assumed = f"on every input the deadline of {float(length):g} seconds is missed with at most {float(beta):g}"
    return attach_claim(timed, Proof(None, proof.parts, assumption=assumed))  # [assumed]
    # end-proof-region: padded
