"""The plugin for pytest, run as its users run it."""
