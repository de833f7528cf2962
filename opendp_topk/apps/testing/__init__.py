"""Claims of privacy among the tests of other projects: a plugin for pytest.

It may import apps.audit.
"""
