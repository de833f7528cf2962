"""``python -m opendp_topk.cli``."""

from . import main

main()
