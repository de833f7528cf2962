"""Measures, and spaces of scores, of many tests."""

import opendp_topk as tk

PURE, RANGE, ZCDP = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
PROFILE = tk.PrivacyProfile()
INTEGERS, FLOATS = tk.VectorDomain(tk.AtomDomain(int)), tk.VectorDomain(tk.AtomDomain(float))
MONOTONIC = tk.LInfDistance(monotonic=True)
