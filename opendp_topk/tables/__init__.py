"""The one adapter to data frames and files: columns of identifiers in, counts out.

Imports errors alone; narwhals and its back ends are loaded when a table is used.
"""
