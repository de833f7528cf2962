"""What each noise is in a race, for exact laws and probabilities of success; no release loads it.

It may import numerics.
"""
