"""The site: ``python -m docs.site FOLDER`` makes pages of documents, docstrings and proofs (extra ``site``).

What it writes works from a disk and loads nothing from elsewhere. Lists of pages, public names and proofs are read
from the repository, so that a new one appears by itself.
"""
