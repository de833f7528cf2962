"""Mechanisms as others write them, right and broken, and what the search by samples finds of them.

``python -m tests.audit.corpus`` prints the table of docs/audited.md.
"""
