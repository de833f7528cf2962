"""The one adapter to data frames and files: columns of identifiers in, counts out.

It may import errors.
"""
