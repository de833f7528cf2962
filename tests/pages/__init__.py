"""The pages that are written by a program: ``python -m tests.pages`` writes all of them.

What a reader could look up in the package, in the documents or in the tests is read there, so that nobody keeps lists.
"""
