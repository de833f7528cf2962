"""Plans of releases: a query, the measurement with the least noise that meets its budget, and its accuracy guarantees.

The package also contains release records and their verification.

It may import errors, markup, numerics, tables, proof, sampling.noises, spaces, spaces.curves, sampling.distributions,
core, transformations, measurements, combinators, apps.ledger and apps.audit.
"""
