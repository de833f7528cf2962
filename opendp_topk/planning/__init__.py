"""What a release would be before there is one: the query, the measurement with the least noise that meets it, and what
it promises.

It may import errors, markup, numerics, tables, proof, noises, spaces, spaces.curves, distributions, core,
transformations, measurements, combinators, ledger and audit.
"""
