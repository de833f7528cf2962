"""What a release would be before there is one: the query, the measurement with the least noise that meets it, and what
it promises.

It may import errors, markup, numerics, tables, proof, sampling.noises, spaces, spaces.curves, sampling.distributions,
core, transformations, measurements, combinators, apps.ledger and apps.audit.
"""
