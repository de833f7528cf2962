"""Exact sampling: digits from the operating system, drawn until what is released is certain.

Imports errors, numerics and noises; nothing here knows of privacy.
"""
