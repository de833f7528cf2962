"""Randomised functions with a privacy map: one ``make_*`` constructor a file.

What they share lies in files with an underscore.

Imports core and everything below it, samplers and distributions among them.
"""
