"""HTML pages of audits: the claims, their proofs and the verifier's findings, and the result of one audit by samples.

It may import errors, markup, proof and apps.audit.
"""
