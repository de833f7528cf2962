"""Plugin for pytest: checks of privacy claims in the tests of other projects.

It may import apps.audit.
"""
