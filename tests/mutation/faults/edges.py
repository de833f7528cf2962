"""Faults around the mechanisms: data, arguments, promises, budgets and proofs."""

from __future__ import annotations

from tests.mutation.fault import Fault

FAULTS = (
    Fault(
        "empty-k",
        "k = 0 is accepted",
        "errors/checks.py",
        "if number < 1:",
        "if number < 0:",
    ),
    Fault(
        "nan-scores",
        "scores that are no numbers are accepted",
        "spaces/domains.py",
        "np.isfinite(array[start : start + _CHUNK]).all()",
        "not np.isinf(array[start : start + _CHUNK]).any()",
    ),
    Fault(
        "talkative-error",
        "an error quotes the data",
        "spaces/domains.py",
        'raise DataError(f"scores must hold exactly {self.size} elements, the size of the input domain")',
        'raise DataError(f"scores must hold exactly {self.size} elements, not {array.tolist()}")',
    ),
    Fault(
        "read-again",
        "a table is read again whenever it is counted",
        "tables/rows.py",
        "                unread, self._unread = self._unread, None  # [once]\n"
        "                if unread is None:\n"
        '                    raise TableError("the table could not be read before, and it is read once: start from '
        'it again")\n'
        "                self._held = run_guarded(lambda: self._store_batches(unread()))  # [snapshot]\n"
        "            return self._held",
        "                unread = self._unread\n"
        "                assert unread is not None\n"
        "                return run_guarded(lambda: self._store_batches(unread()))\n"
        "            return self._held",
    ),
    Fault(
        "null-users",
        "rows without a user are counted as those of one more user",
        "tables/frames.py",
        "pairs = pairs.drop_nulls()  # [drop-nulls]",
        'pairs = pairs.drop_nulls("item")  # [drop-nulls]',
    ),
    Fault(
        "candidates-from-data",
        "candidates whom nobody has are left out, so that the list depends on the data",
        "transformations/count_by_item.py",
        "return count_distinct_users(rows, self.items)  # [count]",
        "return (lambda counts: counts[counts > 0])(count_distinct_users(rows, self.items))  # [count]",
    ),
    Fault(
        "counts-for-ranges",
        "noisy counts are accepted where no bound on a single score is known",
        "measurements/select_then_count.py",
        "input_domain, input_metric, LInfDistance,",
        "input_domain, input_metric, object,",
    ),
    Fault(
        "accuracy-too-small",
        "the accuracy of one-shot Gumbel top-k forgets its k choices",
        "sampling/distributions/one_shot_accuracy.py",
        "sides * noise.tail * (k if noise.is_max_stable else 1)",
        "sides * noise.tail",
    ),
    Fault(
        "accuracy-one-sided",
        "the accuracy of Laplace noise forgets that it pulls both ways",
        "sampling/distributions/one_shot_accuracy.py",
        "scaled_log_up(sides * tau, odds",
        "scaled_log_up(tau, odds",
    ),
    Fault(
        "ledger-late",
        "a ledger releases before it debits",
        "apps/ledger/ledger.py",
        "        reserved = self.reserve(\n"
        "            measurement, d_in=d_in, delta=delta, label=label, at_most=at_most, shared=shared, once=once, "
        "**words\n"
        "        )\n"
        "        return reserved.release(data)  # [debit-first]\n",
        "        released = measurement.invoke(data)\n"
        "        self.reserve(measurement, d_in=d_in, delta=delta, label=label, at_most=at_most, shared=shared)\n"
        "        return released\n",
    ),
    Fault(
        "ledger-forgetful",
        "a ledger holds each release against its whole budget",
        "apps/ledger/journal.py",
        "or not self.account.is_total_allowed(after := add_amounts(before, extra))",
        "or not self.account.is_total_allowed(extra)\n                or not (after := add_amounts(before, extra))",
    ),
    Fault(
        "filter-admits",
        "a filter looks at what was spent before a query instead of after it",
        "combinators/privacy_filter.py",
        "measure.at_most(loss(d_in, query), d_out)",
        "measure.at_most(loss(d_in, None), d_out)",
    ),
)
