"""``python -m opendp_topk`` is the command ``opendp-topk``."""

from .apps.cli import main

if __name__ == "__main__":
    main()
