"""Golden cases: what the library says and does, recorded, so that a change that must change nothing is held against it.

A case has a name, which speaks of constructors, measures and sizes and never of modules, and a value: a map, a law, a
curve, a refusal, a release replayed from scripted digits, the output of a command. ``python -m tests.golden --check``
computes all anew and says what differs; ``--write --why "..."`` records anew. A case is no evidence that a value is
right: other tests are. It tells that a value is another one than before.
"""
