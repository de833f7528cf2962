"""``python -m opendp_topk.apps.cli``."""

from . import main

main()
