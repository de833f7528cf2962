"""Faults in what is held back until a deadline: answers too early or too late, time that is not counted."""

from __future__ import annotations

from ..fault import Fault

FAULTS = (
    Fault(
        "answered-early",
        "a sleep that the system ends early ends the wait",
        "core/repeatable.py",
        "while (left := ends - time.monotonic_ns()) > 0:  # [not-before]",
        "if (left := ends - time.monotonic_ns()) > 0:  # [not-before]",
    ),
    Fault(
        "errors-at-once",
        "an error is raised as soon as it happens, and its moment tells of the data",
        "core/repeatable.py",
        "except Exception as error:",
        "except ZeroDivisionError as error:",
    ),
    Fault(
        "late-is-an-answer",
        "what took longer than the deadline is handed over",
        "core/repeatable.py",
        "if time.monotonic_ns() > ends:  # [over]",
        "if time.monotonic_ns() > 2 * ends:  # [over]",
    ),
    Fault(
        "miss-costs-once",
        "a missed deadline is paid for by its probability alone",
        "combinators/padded.py",
        "delta + (1 + 1 / (1 - one_minus_exp_up(to_fraction(epsilon)))) * beta\n        )",
        "delta + beta)",
    ),
    Fault(
        "late-clock",
        "the clock starts when the argument was checked",
        "core/measurement.py",
        "        elif sign is None:\n            return self.function(UncheckedArgument(value, self.input_domain))",
        "        elif sign is None:\n            return self.function(self.input_domain.validate(value))",
    ),
    Fault(
        "time-of-draw",
        "the record of a padded release tells when it was drawn",
        "apps/cli/release.py",
        "made if pad is None else replace(made, time=started)",
        "made",
    ),
)
