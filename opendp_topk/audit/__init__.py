"""Checks of the library's own claims."""
