"""Distribution of each noise in a race, for exact output distributions and probabilities of success.

It may import numerics.

No release loads this package.
"""
