"""Escaping of text from outside: elements and tables of HTML, lines of terminals, and cells of spreadsheets.

It may import nothing of the package.
"""
