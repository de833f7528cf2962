"""The figures of the papers, from the library's proved formulas: ``python -m docs.experiments --help``.

It needs the extras ``plot`` and ``cli``. Nothing of it is in the wheel.
"""
