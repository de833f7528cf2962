"""Plans and records of releases: the query, the measurement with the least noise that meets it, and its accuracy.

It may import errors, markup, numerics, tables, proof, sampling.noises, spaces, spaces.curves, sampling.distributions,
core, transformations, measurements, combinators and apps.ledger.
"""
