"""What an audit says of a claim: a word, and the exit code that goes with it, the same wherever one is read.

By enumeration a claim holds or fails. By samples it is refuted or not; neither is a proof that it is kept. What an
effort could not have refuted, whatever it saw, it has not tested.
"""

from __future__ import annotations

HOLDS, FAILS = "holds", "fails"
REFUTED, NOT_REFUTED = "refuted", "not refuted"
NOT_TESTED = "not tested"

TONES = {HOLDS: "good", NOT_REFUTED: "open", FAILS: "bad", REFUTED: "bad", NOT_TESTED: "warn"}
"""Of the colour in which the word is shown: green, blue, red or yellow on a terminal and on a page."""

EXIT_CODES = {HOLDS: 0, NOT_REFUTED: 0, FAILS: 1, REFUTED: 1, NOT_TESTED: 3}
"""Of a command that audits; 2 says that its command line is wrong."""
