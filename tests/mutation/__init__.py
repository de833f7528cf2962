"""Faults that somebody could make, planted in copies of the checkout: which of the ordinary tests notices each.

The tests that count are those of behaviour: a test that fails where code of a proof has changed without effect, such as
a comparison of pins, kills nothing (see ``control``).
"""
