"""Exact sampling and exact output distributions, which know nothing of privacy."""
